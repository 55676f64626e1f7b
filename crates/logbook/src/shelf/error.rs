//! Reasons for which something could not be kept or had.

use std::io;

use uuid::Uuid;

use crate::document::Unwritable;
use crate::read::ReadError;

/// A fault of a store, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct ShelfError {
    /// The store.
    pub place: String,
    /// The fault.
    #[source]
    pub fault: Fault,
}

/// Fault of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// There is none.
    #[error("no run store exists yet")]
    Absent,
    /// Its folder could not be made, or its file not be looked at.
    #[error("cannot access it: {0}")]
    System(#[source] io::Error),
    /// The file is something else.
    #[error("this is not a sonde store: {0}")]
    NotOurs(String),
    /// The file is no longer what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// A later program made it.
    #[error("a store of version {version}, which is newer than this program supports (up to {newest})")]
    Later {
        /// Its version.
        version: i64,
        /// The newest that is known.
        newest: i64,
    },
    /// Somebody else writes, for longer than was waited.
    #[error("another process is writing and did not finish in time")]
    Busy,
    /// Nothing may be written.
    #[error("it is read-only")]
    ReadOnly,
    /// There is no room.
    #[error("the disk is full")]
    Full,
    /// Anything else that the engine says.
    #[error("{0}")]
    Engine(String),
    /// The document itself cannot be written.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// A kept thing cannot be read.
    #[error("{what} cannot be read: {fault}")]
    Unread {
        /// The run, cell or record.
        what: String,
        /// Reason.
        #[source]
        fault: ReadError,
    },
    /// Something else is kept under that name.
    #[error("{what} is already stored with different content, and stored content is never rewritten")]
    Taken {
        /// The run, cell or record.
        what: String,
    },
    /// A cell and the record given with it do not belong together.
    #[error("the cell names {} but comes with {}", named(.cell.as_ref()), named(.given.as_ref()))]
    Mismatch {
        /// The record that the cell names.
        cell: Option<Uuid>,
        /// The record that was given.
        given: Option<Uuid>,
    },
    /// There is no such run or record.
    #[error("no {what} starts with `{word}`")]
    Unknown {
        /// `run`, `record` or both.
        what: &'static str,
        /// As it was asked for.
        word: String,
    },
    /// There are several.
    #[error("`{word}` is the start of several names: {}", .names.join(", "))]
    Ambiguous {
        /// As it was asked for.
        word: String,
        /// Some of them.
        names: Vec<String>,
    },
    /// No run is kept.
    #[error("no run is stored yet")]
    Empty,
}

fn named(id: Option<&Uuid>) -> String {
    id.map_or_else(|| "no record".to_owned(), |id| format!("record {id}"))
}

impl Fault {
    /// Returns true where the store itself is in trouble, so that nothing can be kept; otherwise the fault is of the thing
    /// that was to be kept.
    pub fn is_of_store(&self) -> bool {
        !matches!(
            self,
            Self::Unwritable(_)
                | Self::Unread { .. }
                | Self::Taken { .. }
                | Self::Mismatch { .. }
                | Self::Unknown { .. }
                | Self::Ambiguous { .. }
                | Self::Empty
        )
    }
}

impl ShelfError {
    /// Next step for the reader.
    pub fn hint(&self) -> &'static str {
        match &self.fault {
            Fault::Absent | Fault::Empty => {
                "`sonde run PLAN` makes a run; --store or SONDE_STORE says where another store lies"
            }
            Fault::System(_) => "see what the system says about that file and its folder, or name another with --store",
            Fault::NotOurs(_) => "name the store with --store or SONDE_STORE; this file is left as it is",
            Fault::Damaged(_) => {
                "take it from a copy, or save what can be read with `sqlite3 FILE .recover`; until then name another with --store"
            }
            Fault::Later { .. } => "take the sonde that made it, or a later one",
            Fault::Busy => "wait for the other to end, or see who holds the file (fuser FILE)",
            Fault::ReadOnly => {
                "see who may write the file, its folder and its file system, or name another with --store"
            }
            Fault::Full => "free some space there, or name another store with --store",
            Fault::Engine(_) => {
                "see what it says; `sqlite3 FILE 'PRAGMA integrity_check'` tells whether the file is sound"
            }
            Fault::Unwritable(_) | Fault::Mismatch { .. } => {
                "this is a fault of sonde: report it with the command line"
            }
            Fault::Unread { fault, .. } => fault.hint(),
            Fault::Taken { .. } => "two measurements have one name: one of them was changed by hand",
            Fault::Unknown { .. } => "`sonde runs` lists them; --store or SONDE_STORE says where another store lies",
            Fault::Ambiguous { .. } => "give more digits",
        }
    }
}
