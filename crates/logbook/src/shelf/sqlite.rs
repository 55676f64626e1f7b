//! A shelf in one file: `SQLite`, with its journal beside it (`FILE-wal`, `FILE-shm`) while it is open.
//!
//! An acknowledged write is on the disk: the journal is written ahead (WAL) and flushed with each transaction
//! (`synchronous=FULL`), which costs some milliseconds where a cell takes seconds, so that neither a killed process nor a
//! power cut takes any of it. A process that is killed leaves a journal that the next one reads.

mod find;
mod form;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use uuid::Uuid;

pub use self::form::is_made_by;
use crate::record::Record;
use crate::run::{Cell, PairCheck, RunDocument};
use crate::shelf::error::{Fault, ShelfError};
use crate::shelf::keeper::PATIENCE;
use crate::shelf::{
    CellFilter, EachRecord, Found, Progress, RecordFilter, RecordSummary, RunFilter, RunSummary, Shelf,
};

/// The number by which our files are told from other programs' `SQLite` files: the letters `sond`.
const APPLICATION: i64 = 0x736f_6e64;

/// A store in a file.
pub struct SqliteShelf {
    path: PathBuf,
    connection: Connection,
}

impl SqliteShelf {
    /// The store in the file at `path`, made where there is none, brought to the present form where an older program made it. A
    /// file that may not be written is opened all the same: it can be read.
    ///
    /// # Errors
    /// A file that is something else, that is damaged, that a later program made; and what the system says.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, ShelfError> {
        let fault = |fault| ShelfError { place: path.display().to_string(), fault };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            std::fs::create_dir_all(folder).map_err(|cause| fault(Fault::System(cause)))?;
        }
        match Self::opened(path, patience) {
            // A file in the form of WAL wants a journal beside it; where none can be made and none is needed it is read as it is.
            Err(first @ (Fault::Engine(_) | Fault::ReadOnly | Fault::Full)) if is_settled(path) => {
                // The first error is the one to report.
                Self::unchanging(path).map_err(|_| first)
            }
            other => other,
        }
        .map_err(fault)
    }

    /// The same where the file has to be there already: for those who read.
    ///
    /// # Errors
    /// As [`SqliteShelf::open`], and where there is none.
    pub fn open_existing(path: &Path) -> Result<Self, ShelfError> {
        match std::fs::metadata(path) {
            Ok(_) => Self::open(path, PATIENCE),
            Err(cause) => {
                let absent = cause.kind() == std::io::ErrorKind::NotFound;
                let fault = if absent { Fault::Absent } else { Fault::System(cause) };
                Err(ShelfError { place: path.display().to_string(), fault })
            }
        }
    }

    fn opened(path: &Path, patience: Duration) -> Result<Self, Fault> {
        if path.is_dir() {
            return Err(Fault::NotOurs("it is a folder".to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(|error| of_engine(&error))?;
        form::prepare(&mut connection, patience)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// The file as one that nobody changes: for file systems that are read-only.
    fn unchanging(path: &Path) -> Result<Self, Fault> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(address(path), flags).map_err(|error| of_engine(&error))?;
        form::prepare(&mut connection, Duration::ZERO)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Complaints of `SQLite`'s own check of the whole file, of which a sound file has none. Takes as long as reading the
    /// file.
    ///
    /// # Errors
    /// A file that cannot even be checked.
    pub fn complaints(&self) -> Result<Vec<String>, ShelfError> {
        let all = || -> rusqlite::Result<Vec<String>> {
            let mut check = self.connection.prepare("PRAGMA integrity_check")?;
            let mut said = check.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
            let mut keys = self.connection.prepare("PRAGMA foreign_key_check")?;
            said.extend(keys.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?);
            said.retain(|line| line != "ok");
            Ok(said)
        };
        all().map_err(|error| self.failed(of_engine(&error)))
    }

    fn failed(&self, fault: Fault) -> ShelfError {
        ShelfError { place: self.place(), fault }
    }
}

/// Returns true where a file is there with nothing beside it that has still to be read into it.
fn is_settled(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    path.is_file() && std::fs::metadata(journal).map_or(true, |journal| journal.len() == 0)
}

/// The file as the engine's address for one that does not change.
fn address(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut address = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            address.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(address, "%{byte:02x}");
        }
    }
    address + "?immutable=1"
}

/// Error of the engine, as one of ours.
fn of_engine(error: &rusqlite::Error) -> Fault {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
        Some(ErrorCode::ReadOnly) => Fault::ReadOnly,
        Some(ErrorCode::DiskFull) => Fault::Full,
        Some(ErrorCode::NotADatabase) => Fault::NotOurs("it is no SQLite file".to_owned()),
        Some(ErrorCode::DatabaseCorrupt) => Fault::Damaged(error.to_string()),
        _ => Fault::Engine(error.to_string()),
    }
}

impl Shelf for SqliteShelf {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn wait(&mut self, patience: Duration) {
        // It only sets a number; were it to fail, the wait stays as it was.
        let _ = self.connection.busy_timeout(patience);
    }

    fn begin(&mut self, run: &RunDocument) -> Result<(), ShelfError> {
        write::begin(&mut self.connection, run).map_err(|fault| self.failed(fault))
    }

    fn add_cell(&mut self, run: Uuid, cell: &Cell, record: Option<&Record>) -> Result<(), ShelfError> {
        write::add_cell(&mut self.connection, run, cell, record).map_err(|fault| self.failed(fault))
    }

    fn add_check(&mut self, run: Uuid, check: &PairCheck) -> Result<(), ShelfError> {
        write::add_check(&mut self.connection, run, check).map_err(|fault| self.failed(fault))
    }

    fn advance(&mut self, run: Uuid, progress: &Progress) -> Result<(), ShelfError> {
        write::advance(&mut self.connection, run, progress).map_err(|fault| self.failed(fault))
    }

    fn add_record(&mut self, record: &Record) -> Result<(), ShelfError> {
        write::add_record(&mut self.connection, record).map_err(|fault| self.failed(fault))
    }

    fn remove(&mut self, run: Uuid) -> Result<(), ShelfError> {
        write::remove(&mut self.connection, run).map_err(|fault| self.failed(fault))
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, ShelfError> {
        find::runs(&self.connection, filter).map_err(|fault| self.failed(fault))
    }

    fn records(&self, filter: &RecordFilter) -> Result<Vec<RecordSummary>, ShelfError> {
        find::records(&self.connection, filter).map_err(|fault| self.failed(fault))
    }

    fn find(&self, word: &str) -> Result<Found, ShelfError> {
        find::find(&self.connection, word).map_err(|fault| self.failed(fault))
    }

    fn run(&self, id: Uuid) -> Result<RunDocument, ShelfError> {
        find::run(&self.connection, id).map_err(|fault| self.failed(fault))
    }

    fn head(&self, id: Uuid) -> Result<RunDocument, ShelfError> {
        find::head(&self.connection, id).map_err(|fault| self.failed(fault))
    }

    fn record(&self, id: Uuid) -> Result<Record, ShelfError> {
        find::record(&self.connection, id).map_err(|fault| self.failed(fault))
    }

    fn records_of(&self, run: Uuid, filter: &CellFilter, each: EachRecord<'_>) -> Result<(), ShelfError> {
        find::records_of(&self.connection, run, filter, each).map_err(|fault| self.failed(fault))
    }
}

impl fmt::Debug for SqliteShelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteShelf").field("path", &self.path).finish_non_exhaustive()
    }
}
