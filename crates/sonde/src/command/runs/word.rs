//! Words of the command line that name a file, or something in the store.

use std::path::{Path, PathBuf};

use logbook::read::Document;
use logbook::run::RunDocument;
use logbook::shelf::error::{Fault, ShelfError};
use logbook::shelf::sqlite::SqliteShelf;
use logbook::shelf::{Found, LAST, Shelf, digits};

use crate::command::gather;
use crate::command::runs::place::StoreOptions;
use crate::failure::Failure;
use crate::output::Output;

/// The object that a word names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A file or a folder, or standard input.
    File(PathBuf),
    /// Something in the store.
    Kept(Found),
}

/// The store, opened when the first word asks for it.
#[derive(Debug)]
pub struct Words<'a> {
    options: &'a StoreOptions,
    output: &'a Output,
    shelf: Option<SqliteShelf>,
}

impl<'a> Words<'a> {
    /// Words of a command with these options.
    pub fn new(options: &'a StoreOptions, output: &'a Output) -> Self {
        Self { options, output, shelf: None }
    }

    /// The object that `word` names: a file that is there, else what the store has under that name, else a file that is missing.
    ///
    /// # Errors
    /// A word that can be a name and is none.
    pub fn find(&mut self, word: &Path) -> Result<Named, Failure> {
        let text = word.to_string_lossy();
        if word.exists() || !may_be_name(&text) {
            return Ok(Named::File(word.to_owned()));
        }
        let found = self.shelf().and_then(|shelf| Ok(shelf.find(&text)?));
        found.map(Named::Kept).map_err(|mut failure| {
            failure.told.what = format!("no stored run and no file `{text}`: {}", failure.told.what);
            failure.about(text)
        })
    }

    /// The run that `word` names; `None` where it may as well be something else.
    ///
    /// # Errors
    /// A store that cannot be read, a word that starts several names.
    pub fn run(&mut self, word: &str) -> Result<Option<uuid::Uuid>, Failure> {
        if !may_be_name(word) || !self.options.is_there() {
            return Ok(None);
        }
        match self.shelf()?.find(word) {
            Ok(Found::Run(id)) => Ok(Some(id)),
            Ok(Found::Record(_)) | Err(ShelfError { fault: Fault::Unknown { .. } | Fault::Empty, .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The store.
    ///
    /// # Errors
    /// The error of opening it.
    pub fn shelf(&mut self) -> Result<&SqliteShelf, Failure> {
        let shelf = match self.shelf.take() {
            Some(shelf) => shelf,
            None => self.options.open(self.output)?,
        };
        Ok(self.shelf.insert(shelf))
    }
}

/// The run that `word` names: a file with its document, or one that is kept.
///
/// # Errors
/// A word that names none.
pub fn run_document(word: &str, words: &mut Words<'_>) -> Result<RunDocument, Failure> {
    let none = || {
        Failure::usage(format!("{word}: is not a run of a plan")).hint("`sonde runs` lists the stored runs").about(word)
    };
    match words.find(Path::new(word))? {
        Named::Kept(Found::Run(id)) => Ok(words.shelf()?.run(id)?),
        Named::Kept(Found::Record(_)) => Err(none()),
        Named::File(file) => match gather::read(&file)? {
            Document::Run(run) => Ok(*run),
            _ => Err(none()),
        },
    }
}

fn may_be_name(word: &str) -> bool {
    word == LAST || digits(word).is_some()
}
