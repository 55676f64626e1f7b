//! Hands a record, a search, a study or a first look over: printed as text or JSON, and written into the files asked for, as pages
//! and charts too.

use std::path::Path;

use logbook::document::{Form as _, Unwritable};
use logbook::look::LookDocument;
use logbook::read::Document;
use logbook::record::Record;
use logbook::run::RunDocument;
use logbook::run_comparison::RunComparisonDocument;
use logbook::search::SearchDocument;
use logbook::store;
use logbook::study::StudyDocument;
use report::flat::{self, Item, Table};
use report::text;

use crate::command::pages::{self, Form};
use crate::command::result_options::{Export, ResultOptions};
use crate::command::value::{Destination, Format};
use crate::failure::Failure;
use crate::output::{self, Output};

/// Refuses files that cannot be written before anything is measured.
///
/// # Errors
/// The first such file.
pub fn check(options: &ResultOptions) -> Result<(), Failure> {
    options.output.iter().try_for_each(|destination| check_path(&destination.path))
}

/// Refuses another form than the screen's for what has no rows: `what` is its name.
///
/// # Errors
/// Where one was asked for.
pub fn without_export(options: &ResultOptions, what: &str) -> Result<(), Failure> {
    match options.export {
        Some(Export::Markdown) => Err(Failure::usage(format!("--export markdown: there is no table of {what}"))
            .hint("remove it; `sonde export last --format markdown` has a row for each record")
            .about("--export")),
        None => Ok(()),
    }
}

/// Refuses a file in a folder that is not there, and a folder in place of a file.
///
/// # Errors
/// The fault.
pub fn check_path(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.display().to_string();
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("{name}: its folder is not there"))
            .hint("make the folder first")
            .about(name));
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("{name}: is a folder")).hint("give a file").about(name));
    }
    Ok(())
}

/// Writes a file whole or not at all.
///
/// # Errors
/// The system's own error.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    store::write(path, content).map_err(|error| Failure::from(error).about(path.display().to_string()))
}

/// Prints the record, then writes the files. Every file is tried; the first fault is told.
///
/// # Errors
/// A record that is no JSON, a file that cannot be written.
pub fn record(record: &Record, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let told = Told {
        text: &|| text::render(record, output.style()),
        json: &|| record.to_json(),
        document: &|| Some(Document::Record(Box::new(record.clone()))),
    };
    deliver(&told, options, output)
}

/// Writes the files alone: what is printed is something else.
///
/// # Errors
/// As [`record`].
pub fn record_to_files(record: &Record, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let told = Told {
        text: &|| text::render(record, output.style()),
        json: &|| record.to_json(),
        document: &|| Some(Document::Record(Box::new(record.clone()))),
    };
    write_all(&told, options)
}

/// Likewise a search.
///
/// # Errors
/// A search that is no JSON, a file that cannot be written.
pub fn search(found: &SearchDocument, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let told = Told {
        text: &|| report::search::render(found, output.style()),
        json: &|| found.to_json(),
        document: &|| Some(Document::Search(Box::new(found.clone()))),
    };
    deliver(&told, options, output)
}

/// Likewise a study.
///
/// # Errors
/// A study that is no JSON, a file that cannot be written.
pub fn study(found: &StudyDocument, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let told = Told {
        text: &|| report::study::render(found, output.style()),
        json: &|| found.to_json(),
        document: &|| Some(Document::Study(Box::new(found.clone()))),
    };
    deliver(&told, options, output)
}

/// Likewise a run of a plan.
///
/// # Errors
/// A run that is no JSON, a file that cannot be written.
pub fn run(found: &RunDocument, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let told = Told {
        text: &|| report::run::render(found, output.style()),
        json: &|| found.to_json(),
        document: &|| Some(Document::Run(Box::new(found.clone()))),
    };
    deliver(&told, options, output)
}

/// Likewise two runs, compared.
///
/// # Errors
/// Numbers that are no JSON, a file that cannot be written.
pub fn run_comparison(found: &RunComparisonDocument, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let text = || report::run::comparison::render(found, output.style());
    deliver(&Told { text: &text, json: &|| found.to_json(), document: &|| None }, options, output)
}

/// Delivers a quick survey.
///
/// # Errors
/// A survey that is no JSON, a file that cannot be written.
pub fn look(found: &LookDocument, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    let text = || report::look::render(found, output.style());
    let document = || Some(Document::Look(Box::new(found.clone())));
    deliver(&Told { text: &text, json: &|| found.to_json(), document: &document }, options, output)
}

/// A result in each of its forms, made when it is wanted.
struct Told<'a> {
    text: &'a dyn Fn() -> String,
    json: &'a dyn Fn() -> Result<String, Unwritable>,
    /// The document of pages and charts; `None`: there are none of it.
    document: &'a dyn Fn() -> Option<Document>,
}

impl Told<'_> {
    fn json(&self) -> Result<String, Failure> {
        Ok((self.json)()?)
    }

    /// A row for each record in it; of a quick survey its own rows.
    fn markdown(&self) -> Result<String, Failure> {
        let unwritten = |error: std::io::Error| Failure::usage(format!("--export markdown: {error}"));
        let document = match (self.document)() {
            Some(Document::Look(found)) => return Ok(report::look::markdown(&found)),
            Some(document) if !matches!(document, Document::Run(_)) => document,
            _ => {
                let failure = Failure::usage("--export markdown: there is no table of this");
                return Err(failure.hint("remove it, or use --json"));
            }
        };
        let mut table = Table::new(flat::Form::Markdown, Vec::new()).map_err(unwritten)?;
        table.add(&Item { name: "-".to_owned(), document, place: None }).map_err(unwritten)?;
        let (octets, _) = table.finish().map_err(unwritten)?;
        Ok(String::from_utf8_lossy(&octets).into_owned())
    }

    fn report(&self, name: &str, form: Form) -> Result<Vec<u8>, Failure> {
        let none =
            || Failure::usage(format!("{name}: there is no page and no chart of this")).hint("write .json or .txt");
        pages::told(name, (self.document)().ok_or_else(none)?, form)
    }
}

fn deliver(told: &Told<'_>, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    print(told, options, output)?;
    write_all(told, options)
}

fn print(told: &Told<'_>, options: &ResultOptions, output: &Output) -> Result<(), Failure> {
    if options.json {
        output.result(&told.json()?);
    } else if let Some(Export::Markdown) = options.export {
        output.result(&told.markdown()?);
    } else if !options.json_lines {
        output.result(&(told.text)());
    }
    Ok(())
}

/// Writes the files. Every one is tried; the first fault is told.
fn write_all(told: &Told<'_>, options: &ResultOptions) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for Destination { path, format } in &options.output {
        let name = path.display().to_string();
        let content = match format {
            Format::Json => told.json()?.into_bytes(),
            Format::Text => output::plain(&(told.text)()).into_bytes(),
            Format::JsonLines => continue,
            Format::Report(form) => match told.report(&name, *form) {
                Ok(content) => content,
                Err(failure) => {
                    faults.push(failure.about(name));
                    continue;
                }
            },
        };
        faults.extend(write(path, &content).err());
    }
    faults.into_iter().next().map_or(Ok(()), Err)
}
