//! Keeper of a run's results: onto the shelf, else into the spool, else back into the caller's hands. Nothing is lost on the
//! way.
//!
//! Spooled things go onto the shelf first once that takes things again, so that the order in which they were given stays.
//! Not here: telling anyone; what there is to tell is returned.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::record::Record;
use crate::run::{Cell, PairCheck, RunDocument};
use crate::shelf::error::{Fault, ShelfError};
use crate::shelf::item::Item;
use crate::shelf::spool::{self, Spool, Taken};
use crate::shelf::sqlite::SqliteShelf;
use crate::shelf::{Progress, Shelf};
use crate::store::StoreError;

/// Longest wait of a write for another process: its transactions take milliseconds, so that one of ten seconds is stuck.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the shelf, with how long to wait for others.
type Opener = Box<dyn Fn(Duration) -> Result<Box<dyn Shelf>, ShelfError> + Send>;

/// Keeps what it is given. Threads may share it.
pub struct Keeper {
    state: Mutex<State>,
}

struct State {
    open: Opener,
    shelf: Option<Box<dyn Shelf>>,
    spool: Spool,
    /// Files of ours that wait since the shelf is in trouble, the oldest first.
    waiting: VecDeque<PathBuf>,
}

/// State of shelf and spool when a keeper was made.
#[derive(Debug, Default)]
pub struct Opening {
    /// Things that had been spooled before.
    pub spooled: Taken,
    /// Error of the spool where it could not be looked at.
    pub spool: Option<StoreError>,
    /// Reason for which nothing can be put onto the shelf for now; it is tried again with each thing that is kept.
    pub shelf: Option<ShelfError>,
}

/// Place of a thing that was kept.
#[derive(Debug)]
pub enum Kept {
    /// On the shelf.
    Stored {
        /// Things that had waited and are there now too, a count.
        caught_up: u64,
    },
    /// In a file, until the shelf takes it.
    Spooled {
        /// Its file.
        path: PathBuf,
        /// Reason for which it is not on the shelf.
        why: ShelfError,
        /// True for the first of its row: the one to report.
        first: bool,
    },
}

/// Neither the shelf nor the spool takes it: the caller has it again.
#[derive(Debug, thiserror::Error)]
#[error("nothing could be stored: {shelf}; the spool failed too: {spool}")]
pub struct Lost {
    /// The thing that was to be kept.
    pub item: Item,
    /// Error of the shelf.
    pub shelf: ShelfError,
    /// Error of the spool.
    #[source]
    pub spool: StoreError,
}

impl Keeper {
    /// Keeps in the store of `file` and the spool beside it. The things that wait there are put onto the shelf first.
    pub fn at(file: &Path) -> (Self, Opening) {
        let path = file.to_owned();
        let open =
            move |patience| -> Result<Box<dyn Shelf>, ShelfError> { Ok(Box::new(SqliteShelf::open(&path, patience)?)) };
        Self::new(Box::new(open), Spool::beside(file))
    }

    /// Keeps on what `open` opens, else in `spool`.
    pub fn new(open: Opener, spool: Spool) -> (Self, Opening) {
        let mut opening = Opening::default();
        let mut shelf = match open(PATIENCE) {
            Ok(shelf) => Some(shelf),
            Err(error) => {
                opening.shelf = Some(error);
                None
            }
        };
        if let Some(shelf) = &mut shelf {
            match spool.take_all(shelf.as_mut()) {
                Ok(taken) => opening.spooled = taken,
                Err(error) => opening.spool = Some(error),
            }
        }
        (Self { state: Mutex::new(State { open, shelf, spool, waiting: VecDeque::new() }) }, opening)
    }

    /// Keeps `item`.
    ///
    /// # Errors
    /// Where neither the shelf nor the spool takes it: it is given back.
    pub fn keep(&self, item: Item) -> Result<Kept, Box<Lost>> {
        self.state().keep(item)
    }

    /// Keeps a run at its start.
    ///
    /// # Errors
    /// As [`Keeper::keep`].
    pub fn begin(&self, run: &RunDocument) -> Result<Kept, Box<Lost>> {
        self.keep(Item::Begin { run: Box::new(run.clone()) })
    }

    /// Keeps a cell with its record.
    ///
    /// # Errors
    /// As [`Keeper::keep`].
    pub fn cell(&self, run: Uuid, cell: Cell, record: Option<Record>) -> Result<Kept, Box<Lost>> {
        self.keep(Item::Cell { run, cell: Box::new(cell), record: record.map(Box::new) })
    }

    /// Keeps what answered at a pair.
    ///
    /// # Errors
    /// As [`Keeper::keep`].
    pub fn check(&self, run: Uuid, check: PairCheck) -> Result<Kept, Box<Lost>> {
        self.keep(Item::Check { run, check: Box::new(check) })
    }

    /// Keeps how far a run is.
    ///
    /// # Errors
    /// As [`Keeper::keep`].
    pub fn advance(&self, run: Uuid, progress: Progress) -> Result<Kept, Box<Lost>> {
        self.keep(Item::Advance { run, progress: Box::new(progress) })
    }

    /// Keeps a record that belongs to no run.
    ///
    /// # Errors
    /// As [`Keeper::keep`].
    pub fn record(&self, record: Record) -> Result<Kept, Box<Lost>> {
        self.keep(Item::Record { record: Box::new(record) })
    }

    /// Asks the shelf something, opened now where it could not be before.
    ///
    /// # Errors
    /// Errors of opening the shelf, and of `ask`.
    pub fn ask<T>(&self, ask: impl FnOnce(&dyn Shelf) -> Result<T, ShelfError>) -> Result<T, ShelfError> {
        let mut state = self.state();
        state.opened()?;
        match &state.shelf {
            Some(shelf) => ask(shelf.as_ref()),
            None => Err(ShelfError { place: state.spool.folder().display().to_string(), fault: Fault::Absent }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked left at worst a transaction that was rolled back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep(&mut self, item: Item) -> Result<Kept, Box<Lost>> {
        let waited = !self.waiting.is_empty();
        match self.store(&item) {
            Ok(caught_up) => {
                if let (true, Some(shelf)) = (waited, &mut self.shelf) {
                    shelf.wait(PATIENCE);
                    self.spool.tidy();
                }
                Ok(Kept::Stored { caught_up })
            }
            Err(why) => self.spooled(item, why, waited),
        }
    }

    /// Writes `item` beside the shelf.
    fn spooled(&mut self, item: Item, why: ShelfError, waited: bool) -> Result<Kept, Box<Lost>> {
        let of_store = why.fault.is_of_store();
        if of_store {
            // It is opened anew with the next thing: a disk may have room or be writable then, and who waited in vain once need not
            // wait with each thing that comes.
            self.shelf = None;
        }
        match self.spool.add(&item) {
            Ok(path) => {
                if of_store {
                    self.waiting.push_back(path.clone());
                }
                Ok(Kept::Spooled { path, first: !(waited && of_store), why })
            }
            Err(spool) => Err(Box::new(Lost { item, shelf: why, spool })),
        }
    }

    /// Puts what waits and then `item` onto the shelf; how much had waited.
    fn store(&mut self, item: &Item) -> Result<u64, ShelfError> {
        self.opened()?;
        let Some(shelf) = &mut self.shelf else {
            return Err(ShelfError { place: self.spool.folder().display().to_string(), fault: Fault::Absent });
        };
        let mut caught_up = 0;
        while let Some(path) = self.waiting.front() {
            match spool::take(path, shelf.as_mut()) {
                Ok(()) => caught_up += 1,
                Err(spool::Why::Shelf(error)) if error.fault.is_of_store() => return Err(error),
                // It stays in its file, and is told of when the spool is taken as a whole.
                Err(_) => {}
            }
            self.waiting.pop_front();
        }
        item.put(shelf.as_mut())?;
        Ok(caught_up)
    }

    fn opened(&mut self) -> Result<(), ShelfError> {
        if self.shelf.is_none() {
            let patience = if self.waiting.is_empty() { PATIENCE } else { Duration::ZERO };
            self.shelf = Some((self.open)(patience)?);
        }
        Ok(())
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("spool", &self.state().spool).finish_non_exhaustive()
    }
}
