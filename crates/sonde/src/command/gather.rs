//! Reads the records that a command is given: files, folders, standard input, and what is kept in the store. A file that
//! cannot be read is reported, and kept beside.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use logbook::read::Document;
use logbook::run::Cell;
use logbook::shelf::{CellFilter, Found, Shelf, short};
use logbook::store;
use logbook::whole;
use report::flat::{InRun, Item};
use uuid::Uuid;

use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{Named, Words};
use crate::failure::Failure;
use crate::output::Output;

/// The documents that were found.
pub struct Gathered {
    /// Documents with the names of their files, in the order given; at least one. A run of the store is its records.
    pub found: Vec<Item>,
    /// A document that could not be read.
    pub unread: Vec<Unread>,
}

/// A file that holds nothing to tell of.
pub struct Unread {
    /// Its name.
    pub name: String,
    /// The reason, and the action to try.
    pub failure: Failure,
}

/// Reads what `words` name; of a folder every `.json` and `.jsonl` in it, by name; of a run that is kept every record. Each that cannot be read is told on standard error.
///
/// # Errors
/// Where none can be read: the first that cannot.
pub fn all(words: &[PathBuf], place: &StoreOptions, output: &Output) -> Result<Gathered, Failure> {
    let mut found = Vec::new();
    let unread = each(words, place, output, &mut |item| {
        found.push(item);
        Ok(())
    })?;
    Ok(Gathered { found, unread })
}

/// The same one at a time, handed over as it is read; what could not be read.
///
/// # Errors
/// Where none can be read: the first that cannot. Errors of `take`: then nothing more is read.
pub fn each(
    words: &[PathBuf],
    place: &StoreOptions,
    output: &Output,
    take: &mut dyn FnMut(Item) -> Result<(), Failure>,
) -> Result<Vec<Unread>, Failure> {
    let mut store = Words::new(place, output);
    let mut reading = Reading { take, taken: 0, unread: Vec::new() };
    for path in words {
        let name = path.display().to_string();
        match store.find(path) {
            Ok(Named::File(path)) => match files(&path) {
                Ok(files) => files.iter().try_for_each(|file| reading.file(file))?,
                Err(failure) => reading.unread.push(Unread { name, failure }),
            },
            Ok(Named::Kept(Found::Run(id))) => reading.run(id, &name, &mut store)?,
            Ok(Named::Kept(Found::Record(id))) => reading.record(id, &name, &mut store)?,
            Err(failure) => reading.unread.push(Unread { name, failure }),
        }
    }
    let Reading { taken, unread, .. } = reading;
    if taken == 0 {
        let mut unread = unread.into_iter().map(|file| file.failure);
        let first = unread.next().unwrap_or_else(|| Failure::usage("no records").hint("give files or folders of them"));
        unread.for_each(|failure| output.complain(&failure));
        return Err(first);
    }
    for file in &unread {
        output.complain(&file.failure);
    }
    Ok(unread)
}

/// The documents read so far, and who takes them.
struct Reading<'a> {
    take: &'a mut dyn FnMut(Item) -> Result<(), Failure>,
    taken: usize,
    unread: Vec<Unread>,
}

impl Reading<'_> {
    fn hand(&mut self, item: Item) -> Result<(), Failure> {
        self.taken += 1;
        (self.take)(item)
    }

    fn file(&mut self, file: &Path) -> Result<(), Failure> {
        let name = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
        match read(file) {
            Ok(document) => return self.hand(Item { name, document, place: None }),
            Err(failure) => self.unread.push(Unread { name, failure }),
        }
        Ok(())
    }

    fn record(&mut self, id: Uuid, word: &str, store: &mut Words<'_>) -> Result<(), Failure> {
        match store.shelf().and_then(|shelf| Ok(shelf.record(id)?)) {
            Ok(record) => {
                let name = format!("record {}", short(id));
                return self.hand(Item { name, document: Document::Record(Box::new(record)), place: None });
            }
            Err(failure) => self.unread.push(Unread { name: word.to_owned(), failure }),
        }
        Ok(())
    }

    /// The records of a run that is kept.
    fn run(&mut self, id: Uuid, word: &str, store: &mut Words<'_>) -> Result<(), Failure> {
        let (before, mut told) = (self.taken, Ok(()));
        let read = store.shelf().and_then(|shelf| {
            let run = Arc::new(shelf.head(id)?);
            let mut each = |cell: Cell, record| {
                let place = &cell.place;
                let name = format!("{} {} → {} {} #{}", short(id), place.from, place.to, place.method, place.repeat);
                let place = Some(InRun { run: Arc::clone(&run), cell });
                told = self.hand(Item { name, document: Document::Record(Box::new(record)), place });
                if told.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            Ok(shelf.records_of(id, &CellFilter::default(), &mut each)?)
        });
        told?;
        let nothing = || {
            let what = format!("run {}: nothing was measured, so that it has no record", short(id));
            Failure::usage(what).hint(format!("`sonde show {}` says why", short(id)))
        };
        let failure = read.err().or_else(|| (self.taken == before).then(nothing));
        self.unread.extend(failure.map(|failure| Unread { name: word.to_owned(), failure }));
        Ok(())
    }
}

/// The files that `path` stands for.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let name = path.display().to_string();
    let cannot =
        |error: std::io::Error| Failure::usage(format!("{name}: cannot read the folder: {error}")).about(&name);
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(cannot)? {
        let file = entry.map_err(cannot)?.path();
        if file.extension().is_some_and(|ending| ending == "json" || ending == "jsonl") {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(format!("{name}: no .json or .jsonl in this folder")).about(&name));
    }
    files.sort();
    Ok(files)
}

/// The document in a file, or on standard input.
///
/// # Errors
/// The system's own error, and a text that is no document.
pub fn read(file: &Path) -> Result<Document, Failure> {
    if file != Path::new("-") {
        return store::read_document(file).map_err(|error| Failure::from(error).about(file.display().to_string()));
    }
    let text = whole::octets(std::io::stdin(), whole::LONGEST).and_then(whole::words);
    let text = text.and_then(|text| store::of_its_kind(&text).map(|()| text));
    let text = text.map_err(|error| Failure::usage(format!("standard input: cannot read it: {error}")))?;
    Document::read(&text).map_err(|fault| Failure::usage(format!("standard input: {fault}")).hint(fault.hint()))
}
