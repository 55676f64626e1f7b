//! Notices changes of a mesh of hosts while it is measured: which part became slower, lossy or silent, since when and by how much.
//!
//! Seconds go in as agents report them; incidents come out. Time comes in as an argument. The method and its promise stand in
//! `docs/explain/noticing.md`.

pub mod agent;
mod agents;
mod changes;
mod culprit;
pub mod delay;
mod evidence;
pub mod incident;
mod incidents;
mod kept;
mod level;
mod parts;
mod place;
mod silence;
mod silences;
mod slot;
mod stream;

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use self::agent::{Agent, Punctuality};
use self::incident::{Change, Ending, Kind, Role, Scope};
use self::incidents::{Incidents, Open};
use self::parts::{Part, parts};
use self::place::Placed;
use self::silence::Silence;
use self::slot::SLOT;
use self::stream::{Gathered, PENDING, Stream, Together};
use crate::span::Span;
use crate::unit::Nanos;

/// Longest time to wait for the seconds of a slot, seconds.
const LONGEST_SETTLE: u64 = 10;
/// Streams of a cell: slower, faster, tail, loss and drift; of a part: the first two and loss.
const STREAMS: (f64, f64) = (5.0, 3.0);
/// Seconds in which an incident's place is looked for again.
const YOUNG: u64 = 900;
/// Slots between two looks.
const LOOK: u64 = 12;
/// Seconds that other cells are waited for when the first is silent.
const COMPANY: u64 = 1;
/// Count that a cell is expected to be silent by itself, for the likelihood.
const SILENT_ALONE: f64 = 0.01;
/// Share of a scope's active cells that have to be silent.
const ALL_SILENT: f64 = 0.9;
/// Slots that may have passed unseen before everything begins anew.
const LONG_GAP: u64 = 100;

/// A host that is watched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Name of its zone; hosts without one are in one zone together, which has no name.
    pub zone: Option<String>,
    /// Name of the machine that it shares with others; absent: one of its own, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
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

/// Promised rate of false alarms, and the time to wait for data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Cell-days between two false alarms, as an expectation.
    pub cell_days: f64,
    /// Time after a second's end until its seconds of all agents are expected to be here, seconds: the longest timeout and the way to
    /// the centre. Data that arrives later is not judged.
    pub settle: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cell_days: 1_000.0, settle: 2 }
    }
}

/// State that outlives the process, as a [`Lookout`] is written; its content is the lookout's own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct State {
    closed: Option<u64>,
    agents: Vec<(String, Agent)>,
    cells: Vec<(String, String, String, Stream, Silence)>,
    together: Vec<(Scope, Together)>,
    incidents: Incidents,
}

/// Written as [`State`] without a copy of the state of tens of thousands of cells.
impl Serialize for Lookout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let agents = || self.mesh.hosts.iter().map(|host| &host.name).zip(&self.agents);
        let cells = || {
            let cells = self.keys().zip(self.streams.iter().zip(&self.silences));
            cells.map(|((from, to, over), (stream, silence))| (from, to, over, stream, silence))
        };
        let together = || {
            let parts = self.parts.iter().zip(&self.together);
            parts.filter_map(|(part, own)| Some((&part.scope, own.as_ref()?)))
        };
        let mut state = serializer.serialize_struct("State", 5)?;
        state.serialize_field("closed", &self.closed)?;
        state.serialize_field("agents", &Each(agents))?;
        state.serialize_field("cells", &Each(cells))?;
        state.serialize_field("together", &Each(together))?;
        state.serialize_field("incidents", &self.incidents)?;
        state.end()
    }
}

/// A sequence that is written as it is made.
struct Each<F>(F);

impl<F: Fn() -> I, I: Iterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Watches a mesh.
#[derive(Clone, Debug)]
pub struct Lookout {
    settings: Settings,
    mesh: Mesh,
    parts: Vec<Part>,
    of: Vec<Vec<u32>>,
    /// Cells that each host probes.
    probed: Vec<Vec<CellId>>,
    /// Machines with several probing hosts, and these.
    machines: BTreeMap<String, Vec<usize>>,
    /// Evidence that tells a change.
    limit: f64,
    /// Last slot that was judged.
    closed: Option<u64>,
    agents: Vec<Agent>,
    streams: Vec<Stream>,
    silences: Vec<Silence>,
    gathered: Vec<Gathered>,
    /// Most parts have none.
    together: Vec<Option<Box<Together>>>,
    incidents: Incidents,
    /// Second in which a cell was found silent whose incident waits for company.
    waiting: Option<u64>,
    /// Beginning of the latest look without a pause, and its latest second: no agent is silent for a time without listening.
    since: u64,
    stepped: Option<u64>,
}

/// Seconds between two looks after which nobody listened in between.
const PAUSE: u64 = 5;

impl Lookout {
    /// A lookout that knows nothing yet.
    pub fn new(settings: Settings, mesh: Mesh) -> Self {
        let (parts, of) = parts(&mesh);
        let mut probed = vec![Vec::new(); mesh.hosts.len()];
        for (cell, id) in mesh.cells.iter().zip(0..) {
            probed[cell.from as usize].push(id);
        }
        let mut machines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, host) in mesh.hosts.iter().enumerate().filter(|(at, _)| !probed[*at].is_empty()) {
            host.machine.iter().for_each(|machine| machines.entry(machine.clone()).or_default().push(at));
        }
        machines.retain(|_, hosts| hosts.len() > 1);
        let (cells, watched) = (mesh.cells.len(), parts.iter().filter(|part| part.together).count());
        Self {
            settings: Settings { settle: settings.settle.min(LONGEST_SETTLE), ..settings },
            limit: limit(&settings, cells, watched as f64),
            closed: None,
            agents: vec![Agent::default(); mesh.hosts.len()],
            streams: vec![Stream::default(); cells],
            silences: vec![Silence::default(); cells],
            gathered: vec![Gathered::default(); cells],
            together: parts.iter().map(|part| part.together.then(Box::default)).collect(),
            incidents: Incidents::default(),
            waiting: None,
            since: 0,
            stepped: None,
            mesh,
            parts,
            of,
            probed,
            machines,
        }
    }

    /// Continues from a saved state. Cells and incidents that the mesh no longer has are dropped.
    pub fn restored(settings: Settings, mesh: Mesh, state: State) -> Self {
        let mut found = Self::new(settings, mesh);
        found.closed = state.closed;
        for (name, agent) in state.agents {
            if let Some(id) = found.mesh.hosts.iter().position(|host| host.name == name) {
                found.agents[id] = agent;
            }
        }
        let ids: BTreeMap<_, _> = found.keys().zip(0_usize..).collect();
        let kept: Vec<_> = state
            .cells
            .into_iter()
            .filter_map(|(from, to, over, stream, silence)| {
                Some((*ids.get(&(from.as_str(), to.as_str(), over.as_str()))?, stream, silence))
            })
            .collect();
        for (id, stream, silence) in kept {
            (found.streams[id], found.silences[id]) = (stream, silence);
        }
        let mut together: BTreeMap<_, _> = state.together.into_iter().collect();
        for (part, own) in found.parts.iter().zip(&mut found.together) {
            if let (Some(own), Some(kept)) = (own.as_mut(), together.remove(&part.scope)) {
                **own = kept;
            }
        }
        let mut incidents = state.incidents;
        incidents.settle_in(|scope| found.cells_of(scope));
        found.incidents = incidents;
        found.hold();
        found
    }

    /// Continues over other cells: those that stay keep their state.
    #[must_use]
    pub fn over(self, settings: Settings, mesh: Mesh) -> Self {
        let owned = |key: (&str, &str, &str)| (key.0.to_owned(), key.1.to_owned(), key.2.to_owned());
        let keys: Vec<_> = self.keys().map(owned).collect();
        let known = keys.into_iter().zip(self.streams.into_iter().zip(self.silences));
        let together = self.parts.into_iter().zip(self.together);
        let state = State {
            closed: self.closed,
            agents: self.mesh.hosts.into_iter().map(|host| host.name).zip(self.agents).collect(),
            cells: known.map(|((from, to, over), (stream, silence))| (from, to, over, stream, silence)).collect(),
            together: together.filter_map(|(part, own)| Some((part.scope, *own?))).collect(),
            incidents: self.incidents,
        };
        Self::restored(settings, mesh, state)
    }

    fn keys(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let name = |host: HostId| self.mesh.hosts[host as usize].name.as_str();
        self.mesh.cells.iter().map(move |cell| (name(cell.from), name(cell.to), cell.over.as_str()))
    }

    /// Returns true for a cell without reference medians of the hours of the week: see [`Lookout::reference`].
    pub fn lacks_reference(&self, cell: CellId) -> bool {
        self.streams.get(cell as usize).is_some_and(|stream| stream.season.is_none())
    }

    /// Sets the normal median of a cell's response times in each hour of the week, from 0 at Monday 00:00 UTC to 167.
    /// Hours without one take the median of those that have one. The cell's level is unchanged, and is from now on
    /// compared with these.
    pub fn reference(&mut self, cell: CellId, hours: &[(u8, Nanos)]) {
        let Some(stream) = self.streams.get_mut(cell as usize) else { return };
        let known = hours.iter().filter(|(hour, median)| *hour < 168 && median.0 > 0);
        let known: Vec<(u8, f64)> = known.map(|(hour, median)| (*hour, (median.0 as f64).ln())).collect();
        let mut all: Vec<f64> = known.iter().map(|(_, at)| *at).collect();
        let Some(middle) = culprit::median(&mut all) else { return };
        let mut season = vec![middle as f32; 168];
        for (hour, at) in known {
            season[usize::from(hour)] = at as f32;
        }
        stream.refer(season, self.closed.unwrap_or(0));
    }

    /// Takes a second of a host's agent: `second` since 1970, how punctual it was, and its cells. Its cells are those that it probes.
    /// A second that comes before the first [`Lookout::step`], after it was judged, or more than 15 seconds before its time is not taken: then the
    /// answer is false.
    pub fn beat(&mut self, host: HostId, second: u64, own: Punctuality, cells: &[(CellId, &Span)]) -> bool {
        let slot = second / SLOT;
        // Only the caller's clock begins the time: one agent's clock may be wrong.
        let Some(closed) = self.closed.filter(|closed| slot <= closed + PENDING) else { return false };
        if let Some(agent) = self.agents.get_mut(host as usize) {
            agent.take(second, own);
        }
        if slot <= closed {
            return false;
        }
        let disturbed = own == Punctuality::Disturbed;
        for (id, span) in cells {
            let at = *id as usize;
            if self.mesh.cells.get(at).is_none_or(|cell| cell.from != host) {
                continue;
            }
            // A disturbed second says that somebody answers, and nothing else.
            if disturbed && span.counts.answered == 0 {
                continue;
            }
            let goes_on = self.silences[at].take(second, span, self.streams[at].usual.normal());
            if !disturbed {
                self.gathered[at].take(second, span, goes_on);
            }
        }
        true
    }

    /// Judges everything up to `now`, seconds since 1970: to be called once a second, or later for several.
    pub fn step(&mut self, now: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.stepped.is_none_or(|stepped| now > stepped + PAUSE) {
            self.since = now;
        }
        self.stepped = Some(now);
        self.judge_agents(now, &mut changes);
        self.judge_silence(now, &mut changes);
        let Some(last) = (now.saturating_sub(self.settings.settle) / SLOT).checked_sub(1) else { return changes };
        let closed = *self.closed.get_or_insert(last);
        if last > closed + LONG_GAP {
            self.closed = Some(last - PENDING);
        }
        while self.closed.is_some_and(|closed| closed < last) {
            let slot = self.closed.map_or(last, |closed| closed + 1);
            self.close(slot, now, &mut changes);
            self.closed = Some(slot);
        }
        changes
    }

    /// Takes the present state of an incident's cells as normal, since a person said so, and ends it. Empty where there is no such incident, and where it is
    /// none of how fast or how surely is answered.
    pub fn accept(&mut self, incident: u64, now: u64) -> Vec<Change> {
        let is_gradual = |open: &incident::Incident| open.id == incident && Kind::GRADUAL.contains(&open.kind);
        if !self.open().any(is_gradual) {
            return Vec::new();
        }
        let Some(open) = self.incidents.take(incident) else { return Vec::new() };
        let since = (now / SLOT).saturating_sub(LOOK);
        for cell in &open.cells {
            self.streams[*cell as usize].accept(since);
        }
        self.calm(&open.cells, now / SLOT);
        self.hold();
        vec![Change::Ended { incident: open.incident, at: now, ending: Ending::Accepted }]
    }

    /// Incidents that have begun and not ended.
    pub fn open(&self) -> impl Iterator<Item = &incident::Incident> {
        self.incidents.open.iter().map(|open| &open.incident)
    }

    fn merge(&mut self, kind: Kind, placed: Placed, now: u64, changes: &mut Vec<Change>) {
        let part = placed.part.map(|part| (&self.parts[part], part));
        self.incidents.merge(kind, placed, part, self.streams.len(), now, changes);
    }

    fn finish(&mut self, ended: Vec<(Open, u64)>, now: u64, changes: &mut Vec<Change>) {
        for (open, at) in ended {
            self.calm(&open.cells, now / SLOT);
            open.cells.iter().for_each(|cell| self.streams[*cell as usize].crept = None);
            changes.push(Change::Ended { incident: open.incident, at, ending: Ending::Resolved });
        }
        if !changes.is_empty() {
            self.hold();
        }
    }
}

/// The cells that a host probes.
fn client(host: &str) -> Scope {
    Scope::Host { host: host.to_owned(), role: Role::Client }
}

/// Evidence at which a change is told: as many slots as all streams together have between two false alarms.
fn limit(settings: &Settings, cells: usize, watched: f64) -> f64 {
    let cells = (cells as f64).max(1.0);
    let slots_a_day = 86_400.0 / SLOT as f64;
    settings.cell_days * slots_a_day * (STREAMS.0 * cells + STREAMS.1 * watched) / cells
}
