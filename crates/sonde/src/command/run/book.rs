//! The findings of a run, kept as they come: in the store, in its document, and on the progress line.

use std::sync::{Mutex, MutexGuard, PoisonError};

use endpoint::reflector::PORT;
use lab::campaign::Watcher;
use logbook::plan::Plan;
use logbook::record::{Ended, Record};
use logbook::run::{Cell, HostSeen, PairCheck, RunDocument, Stage};
use logbook::shelf::Progress;
use logbook::shelf::keeper::{Keeper, Kept, Lost};

use crate::command::runs::place::{self, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;

/// A run that goes on.
pub struct Book<'a> {
    run: Mutex<RunDocument>,
    keeper: Keeper,
    wanted: usize,
    lost: Mutex<Option<Failure>>,
    hear: &'a (dyn Fn(&Record) + Sync),
    output: &'a Output,
}

impl<'a> Book<'a> {
    /// Begins to keep `run` in `store`; `hear` is told each record beside.
    ///
    /// # Errors
    /// Neither the store nor a file beside it takes it.
    pub fn open(
        run: RunDocument,
        store: &StoreOptions,
        hear: &'a (dyn Fn(&Record) + Sync),
        output: &'a Output,
    ) -> Result<Self, Failure> {
        let keeper = store.keeper(output)?;
        let wanted = super::wanted(&run.plan);
        let book = Self { run: Mutex::new(run), keeper, wanted, lost: Mutex::default(), hear, output };
        let begun = book.keeper.begin(&book.run());
        book.kept(begun);
        let lost = book.lost().take();
        lost.map_or(Ok(book), Err)
    }

    /// The plan that is carried out.
    pub fn plan(&self) -> Plan {
        self.run().plan.clone()
    }

    /// A stage is done.
    pub fn reached(&self, stage: Stage) {
        let mut run = self.run();
        if !run.stages.contains(&stage) {
            run.stages.push(stage);
        }
        drop(run);
        self.advance();
    }

    /// The facts of a host at the end.
    pub fn last_seen(&self, seen: &HostSeen) {
        let mut run = self.run();
        match run.hosts.iter_mut().find(|host| host.host == seen.host) {
            Some(host) => host.clone_from(seen),
            None => run.hosts.push(seen.clone()),
        }
        let RunDocument { plan, hosts, .. } = &mut *run;
        hosts.sort_by_key(|seen| plan.hosts.iter().position(|host| host.name == seen.host));
    }

    /// Ends it: the document, and what could not be kept of it.
    pub fn close(self, ended: Ended) -> (RunDocument, Result<(), Failure>) {
        self.run().ended = Some(ended);
        self.advance();
        self.output.progress_done();
        let Self { run, lost, .. } = self;
        let lost = lost.into_inner().unwrap_or_else(PoisonError::into_inner);
        (run.into_inner().unwrap_or_else(PoisonError::into_inner), lost.map_or(Ok(()), Err))
    }

    fn advance(&self) {
        let (id, progress) = {
            let run = self.run();
            (run.head.id, Progress::of(&run))
        };
        let kept = self.keeper.advance(id, progress);
        self.kept(kept);
    }

    /// Tells where something is that is not where it should be.
    fn kept(&self, kept: Result<Kept, Box<Lost>>) {
        if let Err(lost) = place::tell(kept, self.output) {
            let failure = Failure::usage(lost.to_string()).hint(lost.shelf.hint());
            let mut first = self.lost();
            if first.is_none() {
                self.output.complain(&failure);
            }
            first.get_or_insert(failure);
        }
    }

    fn run(&self) -> MutexGuard<'_, RunDocument> {
        // A thread that panicked held a whole value at every moment.
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self) -> MutexGuard<'_, Option<Failure>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Book<'_> {
    fn seen(&self, host: &HostSeen) {
        if let Some(failure) = &host.lost {
            self.output.complain(&Failure { told: failure.clone(), ..Failure::usage("") });
        }
        let wanted = self.run().plan.port.unwrap_or(PORT);
        if let Some(port) = host.port.filter(|port| *port != wanted && host.lost.is_none()) {
            self.output.note(&format!("note: {}: port {wanted} is taken; this run uses {port} there\n", host.host));
        }
        self.last_seen(host);
    }

    fn checked(&self, check: &PairCheck) {
        let id = {
            let mut run = self.run();
            run.checks.push(check.clone());
            run.head.id
        };
        let kept = self.keeper.check(id, check.clone());
        self.kept(kept);
    }

    fn ended(&self, cell: Cell, record: Option<Box<Record>>) {
        let id = {
            let mut run = self.run();
            run.cells.push(cell.clone());
            run.head.id
        };
        if let Some(record) = record.as_deref() {
            (self.hear)(record);
        }
        let kept = self.keeper.cell(id, cell, record.map(|record| *record));
        self.kept(kept);
    }

    fn going_on(&self, what: &str) {
        if self.output.shows_progress() {
            let done = self.run().cells.len();
            let line = format!("{done} of {} cells · {what}", self.wanted);
            self.output.progress(&line.chars().take(self.output.style().width.saturating_sub(3)).collect::<String>());
        }
    }
}
