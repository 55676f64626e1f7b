//! Notices changes of a mesh of hosts while it is measured: which part became slower, lossy or silent, since when and by how much.
//!
//! Seconds go in as agents report them; incidents come out. Time comes in as an argument. The method and its promise stand in
//! `docs/explain/noticing.md`.

pub mod incident;

use serde::{Deserialize, Serialize};

use self::incident::Change;
use crate::span::{Distribution, Span};

/// A host that is watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Name of its zone; hosts without one are in one zone together, which has no name.
    pub zone: Option<String>,
}

/// Index of a host in [`Mesh::hosts`].
pub type HostId = u32;
/// Index of a cell in [`Mesh::cells`].
pub type CellId = u32;

/// A cell: an ordered pair of hosts and a way of asking.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The probing host.
    pub from: HostId,
    /// The answering host.
    pub to: HostId,
    /// Name of the way of asking, as the plan writes it.
    pub over: String,
}

/// Hosts and cells that are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mesh {
    /// The hosts, each name once.
    pub hosts: Vec<Host>,
    /// The cells, each once.
    pub cells: Vec<Cell>,
}

/// What is promised and waited for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Cell-days between two false alarms, as an expectation.
    pub cell_days: f64,
    /// Time after a second's end until its seconds of all agents are expected to be here, seconds: the longest timeout and the way to
    /// the centre. What comes later is not judged.
    pub settle: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cell_days: 1_000.0, settle: 2 }
    }
}

/// State that outlives the process; its content is the lookout's own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct State {}

/// Watches a mesh.
#[derive(Clone, Debug)]
pub struct Lookout {
    settings: Settings,
    mesh: Mesh,
}

impl Lookout {
    /// A lookout that knows nothing yet.
    pub fn new(settings: Settings, mesh: Mesh) -> Self {
        Self { settings, mesh }
    }

    /// The same that goes on from a state that was saved. Cells and incidents that the mesh no longer has are dropped.
    pub fn restored(settings: Settings, mesh: Mesh, _state: State) -> Self {
        Self::new(settings, mesh)
    }

    /// State for [`Lookout::restored`].
    pub fn state(&self) -> State {
        State::default()
    }

    /// Sets the distribution of a cell's response times that is normal in an hour of the week, from 0 at Monday 00:00 UTC to 167.
    pub fn reference(&mut self, _cell: CellId, _hour: u8, _times: &Distribution) {}

    /// Takes a second of a host's agent: `second` since 1970, whether it was disturbed, and its cells.
    /// A second that comes after it was judged is not taken: then the answer is false.
    pub fn beat(&mut self, _host: HostId, _second: u64, _disturbed: bool, _cells: &[(CellId, &Span)]) -> bool {
        true
    }

    /// Judges everything up to `now`, seconds since 1970: to be called once a second, or later for several.
    pub fn step(&mut self, _now: u64) -> Vec<Change> {
        Vec::new()
    }

    /// Takes the present state of an incident's cells as normal, since a person said so, and ends it. Empty where there is no such incident.
    pub fn accept(&mut self, _incident: u64, _now: u64) -> Vec<Change> {
        Vec::new()
    }
}
