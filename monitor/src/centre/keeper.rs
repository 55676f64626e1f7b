//! The thread that keeps: it owns the store, so that one that is away holds nobody else up.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use measure::unit::Nanos;
use uuid::Uuid;

use super::reference;
use crate::store::error::{Fault, StoreError};
use crate::store::{Baseline, Batch, Cell, Incident, KeptSilence, Level, Mark, Retention, Store};

/// Wait before a store that did not take something is tried again: twice as long each time, up to the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Time after its end at which an interval is made of its parts, seconds: parts that come a little late are in it then.
const LATE: u64 = 120;
/// Time for which marks are shown, seconds.
const MARKS: u64 = 14 * 86_400;

/// Message of the keeper.
#[derive(Debug)]
pub enum Kept {
    /// Parts are kept: up to which beat of which start of an agent, and how many parts.
    Parts(Vec<(Uuid, u64)>, usize),
    /// A start of an agent overlaps with what is kept: it has to tell again from after that beat. The batch is tried again without it.
    Overlap(Uuid, u64, usize),
    /// The store does not take it now; absent: it does again.
    Fault(Option<String>),
    /// Notes of people in the store, and the references.
    Beside(Beside),
}

/// Notes of people in the store, and the references that follow from the history.
#[derive(Debug)]
pub struct Beside {
    /// The marks of the last days.
    pub marks: Vec<Mark>,
    /// Stretches of time that were accepted as how things should be.
    pub baselines: Vec<Baseline>,
    /// Silences that somebody asked for and that are not over.
    pub silences: Vec<KeptSilence>,
    /// References of the cells that were asked for: the medians that are normal in hours of the week.
    pub references: Vec<(Cell, Vec<(u8, Nanos)>)>,
}

/// Work of the keeper.
#[derive(Debug)]
struct Errand {
    batch: Batch,
    /// Cells of which it is not known what is normal.
    unknown: Vec<Cell>,
    now: u64,
}

/// The way to the keeper.
#[derive(Debug)]
pub struct Keeper {
    errands: Sender<Errand>,
    thread: thread::JoinHandle<()>,
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system starts none.
    pub fn start(store: Box<dyn Store>, retention: Retention, tell: impl Fn(Kept) + Send + 'static) -> Result<Self> {
        let (errands, inbox) = mpsc::channel();
        let clerk = Clerk { store, retention, tell, inbox, rolled: None, is_failing: false };
        let thread = thread::Builder::new().name("keeper".to_owned()).spawn(move || clerk.run())?;
        Ok(Self { errands, thread })
    }

    /// Has a batch kept at second `now`, and what is normal of cells looked up.
    pub fn keep(&self, parts: Vec<crate::store::Part>, incidents: Vec<Incident>, unknown: Vec<Cell>, now: u64) {
        let batch = Batch { parts, incidents, marks: Vec::new() };
        // The thread ends after this end alone.
        let _gone = self.errands.send(Errand { batch, unknown, now });
    }

    /// Waits until all is kept that can be.
    pub fn finish(self) {
        drop(self.errands);
        let _ended = self.thread.join();
    }
}

struct Clerk<T> {
    store: Box<dyn Store>,
    retention: Retention,
    tell: T,
    inbox: Receiver<Errand>,
    /// The hour in which old things were removed last.
    rolled: Option<u64>,
    /// True once it was reported that the store does not work, and until it does again.
    is_failing: bool,
}

impl<T: Fn(Kept)> Clerk<T> {
    fn run(mut self) {
        while let Ok(Errand { batch, unknown, now }) = self.inbox.recv() {
            if !self.insist(batch) {
                return;
            }
            match self.tend(&unknown, now) {
                Ok(beside) => {
                    self.is_well();
                    (self.tell)(Kept::Beside(beside));
                }
                Err(error) => self.failed(&error),
            }
        }
    }

    fn failed(&mut self, error: &StoreError) {
        self.is_failing = true;
        (self.tell)(Kept::Fault(Some(error.to_string())));
    }

    /// Whatever failed before works again.
    fn is_well(&mut self) {
        if std::mem::take(&mut self.is_failing) {
            (self.tell)(Kept::Fault(None));
        }
    }

    /// Keeps the batch, however long that takes; `false`: nobody waits for it any more.
    fn insist(&mut self, mut batch: Batch) -> bool {
        let mut wait = FIRST;
        let mut failed = false;
        loop {
            match self.store.keep(&batch) {
                Ok(()) => break,
                Err(StoreError { fault: Fault::Overlap { instance, kept, .. }, .. }) => {
                    let before = batch.parts.len();
                    batch.parts.retain(|part| part.instance != instance);
                    (self.tell)(Kept::Overlap(instance, kept, before - batch.parts.len()));
                }
                Err(error) => {
                    failed = true;
                    self.failed(&error);
                    if !self.rest(&mut batch, wait) {
                        return false;
                    }
                    wait = (wait * 2).min(LONGEST);
                }
            }
        }
        if failed {
            self.is_well();
        }
        let mut upto = std::collections::BTreeMap::new();
        batch.parts.iter().for_each(|part| {
            upto.insert(part.instance, part.last);
        });
        (self.tell)(Kept::Parts(upto.into_iter().collect(), batch.parts.len()));
        true
    }

    /// Waits, and takes what comes meanwhile into the batch: it is kept with it.
    fn rest(&mut self, batch: &mut Batch, wait: Duration) -> bool {
        match self.inbox.recv_timeout(wait) {
            // The references of its cells are asked for again.
            Ok(Errand { batch: next, .. }) => {
                batch.parts.extend(next.parts);
                batch.incidents.extend(next.incidents);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            // The centre ends, and the store is away: what is not kept stays with the agents.
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Makes hours and days that are due, removes what is too old once an hour, and looks up what stands beside.
    fn tend(&mut self, unknown: &[Cell], now: u64) -> Result<Beside, StoreError> {
        for (level, at) in self.store.due(now.saturating_sub(LATE))? {
            self.store.roll(level, at)?;
        }
        if self.rolled != Some(now / 3_600) {
            self.store.retain(now, &self.retention)?;
            self.rolled = Some(now / 3_600);
        }
        let (baselines, mut references) = (self.store.baselines()?, Vec::new());
        for cell in unknown {
            // Times before somebody accepted a stretch show how things were, and not how they should be.
            let is_meant =
                |hosts: &[String]| hosts.is_empty() || [&cell.from, &cell.to].iter().any(|host| hosts.contains(host));
            let accepted = baselines.iter().filter(|baseline| is_meant(&baseline.hosts)).map(|baseline| baseline.from);
            let from = accepted.fold(now.saturating_sub(reference::PAST), u64::max).min(now);
            // A row that cannot be read keeps nothing from being kept; whoever asks for that history is told.
            let hours = self.store.history(cell, Level::Hour, from, now).unwrap_or_default();
            references.extend(reference::of(&hours).map(|hours| (cell.clone(), hours)));
        }
        let marks = self.store.marks(now.saturating_sub(MARKS), now + 1)?;
        let silences = self.store.silences(now)?;
        Ok(Beside { marks, baselines, silences, references })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::store::Purpose;
    use crate::store::place::open;

    /// Nothing is wrong with what is to be kept, but with what is looked up beside it.
    #[test]
    fn what_works_again_is_told_whatever_failed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("monitor.db");
        let store = open(file.to_str(), Purpose::Keep).unwrap();
        let beside = rusqlite::Connection::open(&file).unwrap();
        let (sender, told) = mpsc::channel();
        let keeper = Keeper::start(store, Retention::default(), move |kept| sender.send(kept).unwrap()).unwrap();
        let until = |now: u64, is: fn(&Kept) -> bool| {
            keeper.keep(Vec::new(), Vec::new(), Vec::new(), now);
            told.iter().find(is).unwrap()
        };
        beside.execute("ALTER TABLE marks RENAME TO elsewhere", []).unwrap();
        let failed = until(1_000_000, |kept| matches!(kept, Kept::Fault(_)));
        assert!(matches!(failed, Kept::Fault(Some(_))), "{failed:?}");
        beside.execute("ALTER TABLE elsewhere RENAME TO marks", []).unwrap();
        let again = until(1_000_010, |kept| matches!(kept, Kept::Fault(_) | Kept::Beside(_)));
        assert!(matches!(again, Kept::Fault(None)), "{again:?}");
        keeper.finish();
    }
}
