//! Records as files: written whole or not at all, one file each, never rewritten.
//!
//! A file appears under its name only when all of it is on the disk, so a reader never sees half a record and a full
//! disk leaves what was there. Not here: what a record means, and where a user's folders are.

pub mod draft;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use crate::document::{Form, Unwritable};
use crate::read::{Document, ReadError};
use crate::record::Record;
use crate::whole;
use draft::Draft;

/// A folder of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Adds `record` under its [`file_name`] and says where. Fails where that file is there already: a record is
    /// never rewritten.
    pub fn append(&self, record: &Record) -> Result<PathBuf, StoreError> {
        fs::create_dir_all(&self.folder).map_err(|cause| StoreError::io(Step::MakeFolder, &self.folder, cause))?;
        let path = self.folder.join(file_name(record));
        if path.exists() {
            return Err(StoreError::io(Step::Write, &path, io::ErrorKind::AlreadyExists.into()));
        }
        write(&path, &record.to_json()?)?;
        Ok(path)
    }
}

/// Default name of a record's file: the time at which it was started, in UTC, and its id, so that names sort by time and two
/// of one second differ: `20261020T120312Z-0199f2ab….json`.
pub fn file_name(record: &Record) -> String {
    let started = record.head.started.timestamp().to_zoned(TimeZone::UTC);
    format!("{}-{}.json", started.strftime("%Y%m%dT%H%M%SZ"), record.head.id.simple())
}

/// Writes `content` to `path` whole or not at all: an older file there stays as it was until the new one is on the disk.
///
/// A path that is no regular file (a pipe, a terminal, `/dev/null`) is written to directly.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), StoreError> {
    let mut draft = Draft::begin(path)?;
    draft.write_all(content.as_ref()).map_err(|cause| StoreError::io(Step::Write, path, cause))?;
    draft.finish()
}

/// The record in the file at `path`: a document, or the end of a stream of events.
pub fn read(path: &Path) -> Result<Record, StoreError> {
    Record::read(&text(path)?).map_err(|fault| StoreError::NoRecord { path: path.to_owned(), fault })
}

/// The document in the file at `path`, whichever of ours it is.
///
/// # Errors
/// Errors of the system, and text that is no document that can be read.
pub fn read_document(path: &Path) -> Result<Document, StoreError> {
    Document::read(&text(path)?).map_err(|fault| StoreError::NoRecord { path: path.to_owned(), fault })
}

fn text(path: &Path) -> Result<String, StoreError> {
    let text = whole::text(path, whole::LONGEST).and_then(|text| of_its_kind(&text).map(|()| text));
    text.map_err(|cause| StoreError::io(Step::Read, path, cause))
}

/// Letters at the start of a document that say which it is.
const HEAD: usize = 256;

/// Refuses a record that is longer than one can be: only a run, which holds many, may be.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`].
pub fn of_its_kind(text: &str) -> io::Result<()> {
    let head = &text.as_bytes()[..text.len().min(HEAD)];
    let is_run = String::from_utf8_lossy(head).contains("sonde-run");
    if is_run { Ok(()) } else { whole::check(text.len() as u64, whole::RECORD) }
}

/// Reason for which a record could not be kept or had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system refused.
    #[error("{}: cannot {step}: {cause}", .path.display())]
    Io {
        /// Step that failed.
        step: Step,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        #[source]
        cause: io::Error,
    },
    /// The file was read, and holds no record.
    #[error("{}: {fault}", .path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// Fault of its text.
        #[source]
        fault: ReadError,
    },
    /// The record itself cannot be written.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

/// Step of work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the folder it belongs into.
    MakeFolder,
    /// Write it.
    Write,
    /// Read it.
    Read,
    /// Remove it.
    Remove,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MakeFolder => "make the folder",
            Self::Write => "write the record",
            Self::Read => "read the record",
            Self::Remove => "remove the file",
        })
    }
}

impl StoreError {
    fn io(step: Step, path: &Path, cause: io::Error) -> Self {
        Self::Io { step, path: path.to_owned(), cause }
    }

    /// Error of the system for a write to the file at `path`.
    pub fn written(path: &Path, cause: io::Error) -> Self {
        Self::io(Step::Write, path, cause)
    }

    /// Next step for the reader.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { cause, step, .. } => io_hint(cause.kind(), *step),
            Self::NoRecord { fault, .. } => fault.hint(),
            Self::Unwritable(_) => "this is a fault of sonde: report it with the command line",
        }
    }
}

fn io_hint(kind: io::ErrorKind, step: Step) -> &'static str {
    match (kind, step) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
            "the disk is full: free some space there, or write elsewhere with -o"
        }
        (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, Step::Read) => {
            "read it as the user it belongs to"
        }
        (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, _) => {
            "nothing may be written there: write elsewhere with -o"
        }
        (io::ErrorKind::NotFound, Step::Read) => "there is no such file: check the name",
        (io::ErrorKind::NotFound, _) => "the folder is not there: make it first",
        (io::ErrorKind::AlreadyExists, _) => "it is there already, and records are never rewritten",
        (io::ErrorKind::IsADirectory, _) => "that is a folder: give a file",
        (io::ErrorKind::InvalidData, _) => "the file is not text, so it holds no record",
        _ => "see what the system says about that file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use tempfile::tempdir;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    fn cause(error: &StoreError) -> Option<io::ErrorKind> {
        match error {
            StoreError::Io { cause, .. } => Some(cause.kind()),
            _ => None,
        }
    }

    #[test]
    fn what_is_kept_is_had_again_under_a_name_that_sorts_by_time() {
        let folder = tempdir().unwrap();
        let store = Store::new(folder.path().join("deep/runs"));
        let record = fixture::record();
        let path = store.append(&record).unwrap();
        assert_eq!(names(path.parent().unwrap()), ["20261020T120312Z-0199f2ab12347abc8def0123456789ab.json"]);
        assert_eq!(read(&path).unwrap(), record);
    }

    #[test]
    fn a_record_is_never_rewritten() {
        let folder = tempdir().unwrap();
        let store = Store::new(folder.path());
        let mut record = fixture::record();
        let path = store.append(&record).unwrap();
        record.head.command.clear();
        let error = store.append(&record).unwrap_err();
        assert_eq!(cause(&error), Some(io::ErrorKind::AlreadyExists));
        assert_eq!(read(&path).unwrap(), fixture::record());
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, "a long first text").unwrap();
        write(&path, "short").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "short");
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    }

    #[test]
    fn a_write_that_fails_leaves_nothing_behind() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write(&path, "text").unwrap_err();
        assert_eq!(cause(&error), Some(io::ErrorKind::IsADirectory));
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_full_disk_is_named_with_what_to_try() {
        // Always full, on every Linux; what is no regular file is written to directly.
        let error = write(Path::new("/dev/full"), "text").unwrap_err();
        assert_eq!(cause(&error), Some(io::ErrorKind::StorageFull));
        assert!(error.to_string().starts_with("/dev/full: cannot write the record: "), "{error}");
        assert!(error.hint().contains("free some space"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempdir().unwrap();
        let error = write(&folder.path().join("absent/a.json"), "text").unwrap_err();
        assert_eq!(cause(&error), Some(io::ErrorKind::NotFound));
        assert!(error.hint().contains("folder"));
    }

    #[test]
    fn a_file_without_a_record_says_so() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, "{}").unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(&error, StoreError::NoRecord { fault: ReadError::NotARecord { found: None }, .. }));
        assert_eq!(cause(&read(&folder.path().join("b.json")).unwrap_err()), Some(io::ErrorKind::NotFound));
    }
}
