//! Reads the records that a command is given: files, folders, standard input, and what is kept in the store. What cannot be read is told, and kept beside.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use logbook::read::Document;
use logbook::run::{Cell, RunDocument};
use logbook::shelf::{CellFilter, Found, Shelf, short};
use logbook::store;
use report::flat::{InRun, Item};
use uuid::Uuid;

use crate::command::runs::place::StoreOptions;
use crate::command::runs::word::{Named, Words};
use crate::failure::Failure;
use crate::output::Output;

/// What was found.
pub struct Gathered {
    /// Documents with the names of their files, in the order given; at least one. A run of the store is its records.
    pub found: Vec<Item>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// A file that holds nothing to tell of.
pub struct Unread {
    /// Its name.
    pub name: String,
    /// Why not, and what to try.
    pub failure: Failure,
}

/// Reads what `words` name; of a folder every `.json` and `.jsonl` in it, by name; of a run that is kept every record. Each that cannot be read is told on standard error.
///
/// # Errors
/// Where none can be read: the first that cannot.
pub fn all(words: &[PathBuf], place: &StoreOptions, output: &Output) -> Result<Gathered, Failure> {
    let mut store = Words::new(place, output);
    let mut gathered = Gathered { found: Vec::new(), unread: Vec::new() };
    for path in words {
        let taken = match store.find(path) {
            Ok(Named::File(path)) => files(&path).map(|files| files.iter().for_each(|file| gathered.take(file))),
            Ok(Named::Kept(found)) => kept(found, &mut store).map(|items| gathered.found.extend(items)),
            Err(failure) => Err(failure),
        };
        match taken {
            Ok(()) => {}
            Err(failure) => gathered.unread.push(Unread { name: path.display().to_string(), failure }),
        }
    }
    if gathered.found.is_empty() {
        let mut unread = gathered.unread.into_iter().map(|file| file.failure);
        let first = unread.next().unwrap_or_else(|| Failure::usage("no records").hint("give files or folders of them"));
        unread.for_each(|failure| output.aside(&failure.text()));
        return Err(first);
    }
    gathered.unread.iter().for_each(|file| output.aside(&file.failure.text()));
    Ok(gathered)
}

impl Gathered {
    fn take(&mut self, file: &Path) {
        let name = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
        match read(file) {
            Ok(document) => self.found.push(Item { name, document, place: None }),
            Err(failure) => self.unread.push(Unread { name, failure }),
        }
    }
}

/// The records of a run that is kept, or the one.
fn kept(found: Found, store: &mut Words<'_>) -> Result<Vec<Item>, Failure> {
    match found {
        Found::Run(id) => of_run(id, store),
        Found::Record(id) => {
            let record = store.shelf()?.record(id)?;
            let name = format!("record {}", short(id));
            Ok(vec![Item { name, document: Document::Record(Box::new(record)), place: None }])
        }
    }
}

fn of_run(id: Uuid, store: &mut Words<'_>) -> Result<Vec<Item>, Failure> {
    let shelf = store.shelf()?;
    let run = Arc::new(RunDocument { cells: Vec::new(), ..shelf.run(id)? });
    let mut items = Vec::new();
    let mut each = |cell: Cell, record| {
        let place = &cell.place;
        let name = format!("{} {} → {} {} #{}", short(id), place.from, place.to, place.method, place.repeat);
        let place = Some(InRun { run: Arc::clone(&run), cell });
        items.push(Item { name, document: Document::Record(Box::new(record)), place });
        ControlFlow::Continue(())
    };
    shelf.records_of(id, &CellFilter::default(), &mut each)?;
    if items.is_empty() {
        let what = format!("run {}: nothing was measured, so that it has no record", short(id));
        return Err(Failure::usage(what).hint(format!("`sonde show {}` says why", short(id))));
    }
    Ok(items)
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
/// What the system says, and what is no document.
pub fn read(file: &Path) -> Result<Document, Failure> {
    if file != Path::new("-") {
        return store::read_document(file).map_err(|error| Failure::from(error).about(file.display().to_string()));
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input: cannot read it: {error}")))?;
    Document::read(&text).map_err(|fault| Failure::usage(format!("standard input: {fault}")).hint(fault.hint()))
}
