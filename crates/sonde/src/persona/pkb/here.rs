//! Who carries out: machines by `sonde lab cloud`, plans as `sonde run` does.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use logbook::host::Host;
use logbook::record::{Record, Tool};
use logbook::run::{Format, RunDocument, Stage, VERSION};
use logbook::shelf::{CellFilter, Shelf};
use measure::unit::Nanos;

use crate::command::run::plan::Asked;
use crate::command::run::{self, wanted};
use crate::command::runs::place::StoreOptions;
use crate::command::{done_by, rtt};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::pkb::ask::Ask;
use crate::persona::pkb::carry_out::{Carried, Order, Runner, Samples};
use crate::persona::pkb::provision::Machines;
use crate::persona::pkb::samples;

/// How long a host may take until its agent is there: a machine that was just made is still starting.
const PATIENCE: Nanos = Nanos::secs(120);

/// This program itself.
pub struct Here<'a> {
    output: &'a Arc<Output>,
    store: StoreOptions,
}

impl<'a> Here<'a> {
    /// One that keeps what it finds where `sonde run` does.
    pub fn new(output: &'a Arc<Output>) -> Self {
        Self { output, store: StoreOptions { store: super::variable("SONDE_STORE").map(Into::into) } }
    }

    /// The run of this order: what earlier stages left of it, or a new one.
    fn asked(&self, order: &Order<'_>, hosts: Vec<Host>) -> Result<Asked, Failure> {
        let stages = order.stages.iter().copied().filter(|stage| is_of_hosts(*stage)).collect();
        if order.resume && self.store.is_there() {
            let shelf = self.store.open(self.output)?;
            if let Ok(mut run) = shelf.run(order.id) {
                let measured = run.cells.iter().filter(|cell| cell.record.is_some() && cell.failure.is_none());
                let done = measured.map(|cell| cell.place.clone()).collect();
                run.checks.clear();
                return Ok(Asked { run, done, stages });
            }
        }
        let mut plan = order.plan.clone();
        if order.machines.is_some() {
            plan.hosts = hosts;
        }
        plan.seed.get_or_insert_with(rtt::drawn_seed);
        let run = RunDocument {
            planned: Some(wanted(&plan) as u64),
            format: Format::Run,
            version: VERSION,
            id: order.id,
            tool: Tool { name: env!("CARGO_PKG_NAME").into(), version: env!("CARGO_PKG_VERSION").into() },
            command: order.command.to_vec(),
            started: rtt::now(),
            plan,
            hosts: Vec::new(),
            checks: Vec::new(),
            cells: Vec::new(),
            stages: Vec::new(),
            ended: None,
        };
        Ok(Asked { run, done: BTreeSet::new(), stages })
    }

    /// What the hosts do.
    fn on_hosts(&self, order: &Order<'_>, hosts: Vec<Host>) -> Result<Carried, Failure> {
        let asked = self.asked(order, hosts)?;
        if asked.stages.is_empty() {
            return Ok(Carried { run: asked.run, records: Vec::new() });
        }
        let mut records = self.earlier(order, &asked)?;
        let heard = Mutex::new(Vec::new());
        let hear = |record: &Record| heard.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        let carried = run::carry(asked, &self.store, PATIENCE, &hear, self.output)?;
        if let Err(failure) = carried.kept {
            self.output.aside(&failure.text());
        }
        records.extend(heard.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(Carried { run: carried.run, records })
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

    /// One of our commands, which ends well or says why not.
    fn command(&self, words: &[String]) -> Result<(), Failure> {
        match done_by(words, self.output)? {
            Exit::Done => Ok(()),
            exit => Err(Failure { exit, ..Failure::usage(format!("`sonde {}` did not end well", words.join(" "))) }),
        }
    }
}

impl Runner for Here<'_> {
    fn carry_out(&self, order: &Order<'_>) -> Result<Carried, Failure> {
        let Some(machines) = order.machines else { return self.on_hosts(order, Vec::new()) };
        let name = Machines::run(order.run_uri, order.place);
        let file = order.folder.join(format!("{}.hosts.toml", order.uid));
        let path = file.display().to_string();
        if order.stages.contains(&Stage::Provision) {
            self.command(&machines.up(&name, &path))?;
        }
        // Machines that were made are removed whatever becomes of the rest.
        let carried = match order.stages {
            [Stage::Teardown] => self.on_hosts(order, Vec::new()),
            _ => hosts(&file).and_then(|hosts| self.on_hosts(order, hosts)),
        };
        if order.stages.contains(&Stage::Teardown) {
            self.command(&Machines::down(&name))?;
        }
        let mut carried = carried?;
        let made = order.stages.iter().filter(|stage| !is_of_hosts(**stage));
        carried.run.stages.extend(made);
        carried.run.stages.sort_unstable();
        carried.run.stages.dedup();
        Ok(carried)
    }

    fn samples(&self, ask: &Ask, carried: &Carried) -> Result<Samples, Failure> {
        Ok(samples::of(ask, carried))
    }
}

/// Whether a stage is done on hosts, not on a cloud.
fn is_of_hosts(stage: Stage) -> bool {
    !matches!(stage, Stage::Provision | Stage::Teardown)
}

/// The machines that were made.
fn hosts(file: &Path) -> Result<Vec<Host>, Failure> {
    let name = file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new("."));
    lab::inventory::load(&name, folder).map_err(|told| {
        Failure { told, ..Failure::usage("") }.hint("were these machines made? --run_stage=provision does")
    })
}
