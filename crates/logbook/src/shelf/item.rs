//! One thing to be kept, as a value: it can be put onto a shelf, written as a file, or handed back.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::Record;
use crate::run::{Cell, PairCheck, RunDocument};
use crate::shelf::error::ShelfError;
use crate::shelf::{Progress, Shelf};

/// One thing to be kept. Its kind stands outside of it: a tag within would have all readers of documents compiled a second time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// A run at its start.
    Begin {
        /// The run.
        run: Box<RunDocument>,
    },
    /// A cell with its record.
    Cell {
        /// The run it belongs to.
        run: Uuid,
        /// The cell.
        cell: Box<Cell>,
        /// Its record; absent where nothing was measured.
        record: Option<Box<Record>>,
    },
    /// Ports that answered at a pair.
    Check {
        /// The run it belongs to.
        run: Uuid,
        /// Result of the check.
        check: Box<PairCheck>,
    },
    /// Progress of a run.
    Advance {
        /// The run.
        run: Uuid,
        /// The progress.
        progress: Box<Progress>,
    },
    /// A record that belongs to no run.
    Record {
        /// The record.
        record: Box<Record>,
    },
}

impl Item {
    /// The run it belongs to, or the record that stands alone.
    pub fn owner(&self) -> Uuid {
        match self {
            Self::Begin { run } => run.head.id,
            Self::Cell { run, .. } | Self::Check { run, .. } | Self::Advance { run, .. } => *run,
            Self::Record { record } => record.head.id,
        }
    }

    /// Puts it onto `shelf`.
    ///
    /// # Errors
    /// Errors of `shelf`.
    pub fn put(&self, shelf: &mut dyn Shelf) -> Result<(), ShelfError> {
        match self {
            Self::Begin { run } => shelf.begin(run),
            Self::Cell { run, cell, record } => shelf.add_cell(*run, cell, record.as_deref()),
            Self::Check { run, check } => shelf.add_check(*run, check),
            Self::Advance { run, progress } => shelf.advance(*run, progress),
            Self::Record { record } => shelf.add_record(record),
        }
    }
}
