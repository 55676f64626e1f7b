//! `sonde export`: records as a table, one row each, or as they are, one line each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use logbook::shelf::Shelf;
use logbook::store::StoreError;
use logbook::store::draft::Draft;
use report::flat::{self, Table};
use report::samples;
use report::samples::pkb::Publisher;

use crate::command::deliver;
use crate::command::gather;
use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{self, Words};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde export runs/*.json -o all.csv        one row per record, units in the column names
  sonde export runs/ -o all.parquet          every record of a folder, for data frames
  sonde export found.json -o probes.csv      one row for each probe of a search
  sonde export run.json                      CSV on standard output
  sonde export last -o mesh.parquet          every record of the latest run, with its place and labels
  sonde export last --format jsonl           the records themselves, one per line
  sonde export db1.json --format markdown    a short table to paste into an issue
  sonde export last --format pkb             samples as PerfKit Benchmarker publishes them
";

/// Arguments of `sonde export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportOptions {
    /// Records, searches and studies (files written by -o FILE.json or --json, or folders), - for standard input, or a stored run by the
    /// first digits of its ID or `last`
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Write to FILE: .csv, .parquet, .jsonl or .md; repeatable [default: standard output]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Vec<Target>,
    /// Format [default: by the file name; CSV on standard output]
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<Form>,
    /// Write names into CSV as they are, also those that a spreadsheet would take for a formula; otherwise an apostrophe precedes them
    #[arg(long)]
    raw_names: bool,
    #[command(flatten)]
    place: StoreOptions,
}

/// A form that records are exported in: a further one is a value here, a word in `Target`, and an arm of what makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A table as text
    Csv,
    /// A table in columns, for data frames
    Parquet,
    /// The records, one JSON object per line
    Jsonl,
    /// A short table for an issue tracker, in units for people
    Markdown,
    /// Samples of `PerfKit` Benchmarker, one JSON object per line; only for runs of plans
    Pkb,
}

/// A file, with the form that its ending names, where it names one.
#[derive(Clone, Debug)]
struct Target {
    path: PathBuf,
    form: Option<Form>,
}

impl FromStr for Target {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = PathBuf::from(text);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let form = match ending.as_deref() {
            Some("csv") => Some(Form::Csv),
            Some("parquet") => Some(Form::Parquet),
            Some("jsonl" | "ndjson") => Some(Form::Jsonl),
            Some("md") => Some(Form::Markdown),
            _ => None,
        };
        Ok(Self { path, form })
    }
}

impl From<Form> for flat::Form {
    /// Samples are none of records: they are made on a way of their own.
    fn from(form: Form) -> Self {
        match form {
            Form::Csv => Self::Csv,
            Form::Parquet => Self::Parquet,
            Form::Markdown => Self::Markdown,
            Form::Jsonl | Form::Pkb => Self::Lines,
        }
    }
}

/// Writes the table.
///
/// # Errors
/// No record that can be read, a file that cannot be written.
pub fn run(options: &ExportOptions, output: &Output) -> Result<Exit, Failure> {
    let targets = options.output.iter().map(|target| Ok((target.path.as_path(), form(target, options.format)?)));
    let targets = targets.collect::<Result<Vec<(&Path, Form)>, Failure>>()?;
    let printed = options.format.unwrap_or(Form::Csv);
    if targets.is_empty() && printed == Form::Parquet {
        return Err(Failure::usage("Parquet is not text: it goes into a file").hint("give -o FILE.parquet"));
    }
    for (path, _) in &targets {
        deliver::check_path(path)?;
    }
    if printed == Form::Pkb || targets.iter().any(|(_, form)| *form == Form::Pkb) {
        return pkb(options, &targets, output);
    }
    if targets.is_empty() {
        return print(options, printed, output);
    }
    let begun = targets.iter().map(|(path, form)| Ok((*path, table(path, *form)?.raw(options.raw_names))));
    let mut tables = begun.collect::<Result<Vec<(&Path, Table<Draft>)>, Failure>>()?;
    gather::each(&options.records, &options.place, output, &mut |item| {
        tables.iter_mut().try_for_each(|(path, table)| table.add(&item).map_err(|cause| not_written(path, cause)))
    })?;
    for (path, table) in tables {
        let (draft, rows) = table.finish().map_err(|cause| not_written(path, cause))?;
        draft.finish()?;
        output.note(&format!("{}: {}\n", path.display(), report::number::count(rows, "row", "rows")));
    }
    Ok(Exit::Done)
}

fn table(path: &Path, form: Form) -> Result<Table<Draft>, Failure> {
    Table::new(form.into(), Draft::begin(path)?).map_err(|cause| not_written(path, cause))
}

/// The table on standard output.
fn print(options: &ExportOptions, form: Form, output: &Output) -> Result<Exit, Failure> {
    let no_table = |cause: std::io::Error| Failure::usage(format!("standard output: no table: {cause}"));
    // Begun with the first record: where there is none, nothing is printed.
    let mut table = None;
    let told = gather::each(&options.records, &options.place, output, &mut |item| {
        if table.is_none() {
            let begun = Table::new(form.into(), BufWriter::new(output)).map_err(no_table)?;
            table = Some(begun.raw(options.raw_names));
        }
        table.as_mut().map_or(Ok(()), |table| table.add(&item)).map_err(no_table)
    });
    let told = told.and_then(|_| table.map_or(Ok(()), |table| table.finish().map(|_| ())).map_err(no_table));
    // A reader that went away has what it wanted.
    told.map(|()| Exit::Done).or_else(|failure| if output.is_open() { Err(failure) } else { Ok(Exit::Done) })
}

fn not_written(path: &Path, cause: std::io::Error) -> Failure {
    Failure::from(StoreError::written(path, cause)).about(path.display().to_string())
}

/// Writes samples of runs: they tell of pairs of hosts, which a record alone does not know.
fn pkb(options: &ExportOptions, targets: &[(&Path, Form)], output: &Output) -> Result<Exit, Failure> {
    if targets.iter().any(|(_, form)| *form != Form::Pkb) {
        return Err(Failure::usage("--format pkb: files of another form beside it").hint("export these by themselves"));
    }
    if targets.is_empty() {
        let told = samples_of(options, &mut [(Path::new("standard output"), BufWriter::new(output))], output);
        return told
            .map(|_| Exit::Done)
            .or_else(|failure| if output.is_open() { Err(failure) } else { Ok(Exit::Done) });
    }
    let begun = targets.iter().map(|(path, _)| Ok((*path, Draft::begin(path)?)));
    let mut drafts = begun.collect::<Result<Vec<(&Path, Draft)>, Failure>>()?;
    let told = samples_of(options, &mut drafts, output)?;
    for (path, draft) in drafts {
        draft.finish()?;
        output.note(&format!("{}: {}\n", path.display(), report::number::count(told as u64, "sample", "samples")));
    }
    Ok(Exit::Done)
}

/// Writes the samples into each of `outs`; how many.
fn samples_of<W: Write>(options: &ExportOptions, outs: &mut [(&Path, W)], output: &Output) -> Result<usize, Failure> {
    let words = RefCell::new(Words::new(&options.place, output));
    let mut told = 0;
    for name in &options.records {
        let run = word::run_document(&name.to_string_lossy(), &mut words.borrow_mut())?;
        let record = |id| words.borrow_mut().shelf().ok().and_then(|shelf| shelf.record(id).ok());
        let mut all = Each(outs);
        let written = samples::pkb::write(&mut all, &run, &BTreeMap::new(), &Publisher::default(), &record);
        told += written.map_err(|fault| Failure::usage(format!("{}: no samples: {fault}", name.display())))?;
    }
    for (path, out) in outs {
        out.flush().map_err(|cause| not_written(path, cause))?;
    }
    Ok(told)
}

/// Several that are written the same.
struct Each<'a, 'p, W>(&'a mut [(&'p Path, W)]);

impl<W: Write> Write for Each<'_, '_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.iter_mut().try_for_each(|(_, out)| out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.iter_mut().try_for_each(|(_, out)| out.flush())
    }
}

fn form(target: &Target, asked: Option<Form>) -> Result<Form, Failure> {
    asked.or(target.form).ok_or_else(|| {
        let name = target.path.display().to_string();
        let what = format!("{name}: ends in no form of records: .csv, .parquet, .jsonl or .md");
        Failure::usage(what).hint("end it in one of them, or say --format").about(name)
    })
}
