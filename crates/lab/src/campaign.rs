//! A plan carried out over its hosts: agents, what answers between them, and the cells, round by round.
//!
//! Hosts are independent of each other: one that cannot be reached, or is lost in the middle, costs its own cells and nothing
//! else, and every wait for it is bounded. Results go out as they come; nothing is kept here.

pub mod cells;
pub mod check;
pub mod crew;
mod fan;
pub mod rule;

use endpoint::stop::Stop;
use logbook::host::data::Family;
use logbook::moment::Moment;
use logbook::plan::Plan;
use logbook::record::Record;
use logbook::run::{Cell, HostSeen, PairCheck};
use measure::unit::Nanos;

use crate::transport::Program;
use crate::transport::ways::Ways;

/// File of a key, for a process that an agent starts: nothing else is on its standard input.
pub(crate) const KEY_FILE: &str = "/dev/stdin";

/// A way of measuring, ready to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name in the plan.
    pub name: String,
    /// The measuring command's name and its options, without a host.
    pub words: Vec<String>,
    /// Its need at the far side.
    pub needs: Needs,
    /// The family of addresses that it wants; absent: either.
    pub family: Option<Family>,
    /// Expected duration, with its preparation and end.
    pub lasts: Nanos,
    /// Longest duration, where the far side is silent.
    pub most: Nanos,
}

/// Need of a method at the far side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A reflector of ours: it is asked for with the run's key.
    Reflector,
    /// Somebody who accepts connections at the run's port, whoever that is.
    Port,
    /// Nothing but a kernel that answers echoes.
    Echo,
    /// A server that the method names itself: a program that is there already, or a port.
    ItsOwn,
}

impl Needs {
    /// Returns true where a server of ours has to be at the far side.
    pub fn server(self) -> bool {
        matches!(self, Self::Reflector | Self::Port)
    }
}

/// Receiver of a campaign's results, called from several threads.
pub trait Watcher: Sync {
    /// A host answered, or was given up: then, or later.
    fn seen(&self, host: &HostSeen);
    /// A pair was checked for the ports that answer.
    fn checked(&self, check: &PairCheck);
    /// A cell came to its end, with its record where there is one.
    fn ended(&self, cell: Cell, record: Option<Box<Record>>);
    /// The present step, for a person.
    fn going_on(&self, what: &str);
}

/// A plan and what it takes to carry it out.
pub struct Campaign<'a> {
    /// The plan, its inventories among its hosts.
    pub plan: &'a Plan,
    /// Its methods, in its order.
    pub measures: &'a [Measure],
    /// The ways to its hosts.
    pub ways: &'a Ways,
    /// The program that hosts are given.
    pub program: &'a Program,
    /// The key of this run, as a key's file holds it.
    pub key: &'a str,
    /// The port of the far side.
    pub port: u16,
    /// Longest wait for a host until it has its agent, and then for a sign of it.
    pub patience: Nanos,
    /// The wish to stop.
    pub stop: &'a Stop,
    /// Tells the time of day.
    pub now: &'a (dyn Fn() -> Moment + Sync),
    /// Receiver of the results.
    pub watcher: &'a dyn Watcher,
}
