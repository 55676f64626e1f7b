//! Runner on this machine: machines by `sonde lab cloud`, plans as `sonde run` does.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use logbook::document::Head;
use logbook::record::Record;
use logbook::run::RunDocument;
use logbook::shelf::{CellFilter, Shelf};
use measure::unit::Nanos;

use crate::command::run::plan::Asked;
use crate::command::run::{self, wanted};
use crate::command::runs::place::StoreOptions;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::pkb::ask::Ask;
use crate::persona::pkb::carry_out::{Carried, Order, Runner, Samples};
use crate::persona::pkb::samples;
use crate::program::tool;
use crate::system::variable;
use crate::system::{drawn_seed, now};

/// Longest wait for a host until its agent is there: a machine that was just made is still starting.
const PATIENCE: Nanos = Nanos::secs(120);

/// This program itself.
pub struct Here<'a> {
    output: &'a Arc<Output>,
    store: StoreOptions,
}

impl<'a> Here<'a> {
    /// One that keeps what it finds where `sonde run` does.
    pub fn new(output: &'a Arc<Output>) -> Self {
        Self { output, store: StoreOptions { store: variable("SONDE_STORE").map(Into::into) } }
    }

    /// The run of this order: what earlier stages left of it, or a new one.
    fn asked(&self, order: &Order<'_>) -> Result<Asked, Failure> {
        let stages = order.stages.to_vec();
        if order.resume && self.store.is_there() {
            let shelf = self.store.open(self.output)?;
            if let Ok(mut run) = shelf.run(order.id) {
                let measured = run.cells.iter().filter(|cell| cell.record.is_some() && cell.failure.is_none());
                let done = measured.map(|cell| cell.place.clone()).collect();
                run.checks.clear();
                return Ok(Asked { run, done, stages, programs: Vec::new() });
            }
        }
        let mut plan = order.plan.clone();
        plan.seed.get_or_insert_with(drawn_seed);
        let planned = wanted(&plan) as u64;
        let head = Head::new(order.id, tool(), order.command.to_vec(), now());
        let run = RunDocument::new(head, plan, Some(planned));
        Ok(Asked { run, done: BTreeSet::new(), stages, programs: Vec::new() })
    }

    /// Records of cells that an earlier stage measured.
    fn earlier(&self, order: &Order<'_>, asked: &Asked) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::new();
        if !asked.done.is_empty() {
            self.store.open(self.output)?.records_of(order.id, &CellFilter::default(), &mut |_, record| {
                records.push(record);
                ControlFlow::Continue(())
            })?;
        }
        Ok(records)
    }
}

impl Runner for Here<'_> {
    fn carry_out(&self, order: &Order<'_>) -> Result<Carried, Failure> {
        let asked = self.asked(order)?;
        let mut records = self.earlier(order, &asked)?;
        let heard = Mutex::new(Vec::new());
        let hear = |record: &Record| heard.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        let carried = run::carry(asked, &self.store, PATIENCE, &hear, self.output)?;
        for failure in [carried.kept, carried.removed].into_iter().filter_map(Result::err) {
            self.output.aside(&failure.text());
        }
        records.extend(heard.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(Carried { run: carried.run, records })
    }

    fn samples(&self, ask: &Ask, carried: &Carried) -> Result<Samples, Failure> {
        Ok(samples::of(ask, carried))
    }
}
