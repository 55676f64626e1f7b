//! Notices changes of a mesh of hosts while it is measured: which part became slower, lossy or silent, since when and by how much.
//!
//! Seconds go in as agents report them; incidents come out. Time comes in as an argument. The method and its promise stand in
//! `docs/explain/noticing.md`.

pub mod agent;
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
mod slot;
mod stream;

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use self::agent::{Agent, Own, Punctuality};
use self::culprit::{Seen, culprits};
use self::incident::{Change, Ending, Kind, Onset, Role, Scope, Size};
use self::incidents::{Incidents, Open};
use self::parts::{Part, parts};
use self::place::{Placed, View};
use self::silence::Silence;
use self::slot::SLOT;
use self::stream::{CREEPS, Gathered, Growing, Growth, Held, PENDING, Stream, Together};
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

/// State that outlives the process, as a [`Lookout`] is written; its content is the lookout's own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct State {
    closed: Option<u64>,
    agents: Vec<(String, Agent)>,
    cells: Vec<(String, String, String, Stream, Silence)>,
    together: Vec<(Scope, Together)>,
    incidents: Incidents,
}

/// Written as [`State`]: a copy of what is known of tens of thousands of cells is not made for that.
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
    /// Since when it was looked without a pause, and when last: what nobody listened to is no agent's silence.
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

    /// The same that goes on from a state that was saved. Cells and incidents that the mesh no longer has are dropped.
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

    /// The same over other cells: those that stay keep what is known of them.
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

    /// True for a cell of which it is not known what is normal in an hour of the week: see [`Lookout::reference`].
    pub fn lacks_reference(&self, cell: CellId) -> bool {
        self.streams.get(cell as usize).is_some_and(|stream| stream.season.is_none())
    }

    /// Sets the median of a cell's response times that is normal in an hour of the week, from 0 at Monday 00:00 UTC to 167. Hours without one take the
    /// median of those that have one. The cell's level stays what it is, and is from now on compared with that.
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

    fn judge_agents(&mut self, now: u64, changes: &mut Vec<Change>) {
        let (settle, since) = (self.settings.settle, self.since);
        let probing: Vec<usize> = (0..self.probed.len()).filter(|host| !self.probed[*host].is_empty()).collect();
        let quiet = probing.iter().filter(|host| self.agents[**host].is_silent(now, settle, since)).count();
        // Where nobody reports, that is one fact: it may be this end.
        let had = self.incidents.has(Kind::AgentSilent, &Scope::Everything);
        let all = quiet > 1 && if had { quiet * 2 > probing.len() } else { quiet == probing.len() };
        let last = self.agents.iter().filter_map(|agent| agent.last).max();
        let scope = Scope::Everything;
        self.tell(&Fact { kind: Kind::AgentSilent, scope, is: all, last, size: None }, now, changes);
        self.judge_machines(now, changes);
        for host in probing {
            let (agent, name) = (self.agents[host], &self.mesh.hosts[host].name);
            let scope = client(name);
            let had = |kind| self.incidents.has(kind, &scope);
            let alone = had(Kind::AgentSilent) || !(all || self.incidents.is_host_lost(name));
            let is_silent = agent.is_silent(now, settle, since) && alone;
            let had_overload = had(Kind::Overloaded);
            // Of what its machine is told, it is not told itself.
            let is_overloaded = agent.is_overloaded(had_overload)
                && (had_overload || !self.incidents.is_overloaded(&self.mesh.hosts[host]));
            let size = agent.disturbed().map(Size::Disturbed);
            let silent =
                Fact { kind: Kind::AgentSilent, scope: scope.clone(), is: is_silent, last: agent.last, size: None };
            self.tell(&silent, now, changes);
            self.tell(&Fact { kind: Kind::Overloaded, scope, is: is_overloaded, last: None, size }, now, changes);
        }
    }

    /// Where most hosts of a machine are late, that is one fact.
    fn judge_machines(&mut self, now: u64, changes: &mut Vec<Change>) {
        for (machine, hosts) in self.machines.clone() {
            let scope = Scope::Machine { machine };
            let had = self.incidents.has(Kind::Overloaded, &scope);
            let agents: Vec<Agent> = hosts.iter().map(|host| self.agents[*host]).collect();
            let is = Agent::is_machine_overloaded(&agents, had);
            let size = agents.iter().filter_map(Agent::disturbed).max_by(f64::total_cmp).map(Size::Disturbed);
            self.tell(&Fact { kind: Kind::Overloaded, scope, is, last: None, size }, now, changes);
            let Some(Change::Began { incident }) = changes.last().filter(|_| is && !had) else { continue };
            let into = incident.id;
            for host in hosts {
                let scope = client(&self.mesh.hosts[host].name);
                changes.extend(self.incidents.merge_scope(Kind::Overloaded, &scope, into, now));
            }
        }
    }

    /// Cells that an incident of this scope is about.
    fn cells_of(&self, scope: &Scope) -> Vec<CellId> {
        let of = |is: &dyn Fn(&Cell) -> bool| {
            self.mesh.cells.iter().zip(0..).filter(|(cell, _)| is(cell)).map(|(_, id)| id).collect()
        };
        let named = |at: HostId| &self.mesh.hosts[at as usize];
        match scope {
            Scope::Everything | Scope::Unknown => of(&|_| true),
            Scope::Machine { machine } => of(&|cell| named(cell.from).machine.as_ref() == Some(machine)),
            Scope::Host { host, role } => of(&|cell| {
                (*role != Role::Server && named(cell.from).name == *host)
                    || (*role != Role::Client && named(cell.to).name == *host)
            }),
            scope => self.parts.iter().find(|part| part.scope == *scope).map_or(Vec::new(), |part| part.cells.clone()),
        }
    }

    fn tell(&mut self, fact: &Fact, now: u64, changes: &mut Vec<Change>) {
        let had = self.incidents.has(fact.kind, &fact.scope);
        if fact.is && !had {
            let affected = self.cells_of(&fact.scope);
            let onset = match fact.last {
                Some(last) => Onset { earliest: last + 1, likely: last + 1, latest: last + 2 },
                // Told after a part of a minute, in which it began.
                None => Onset { earliest: now.saturating_sub(60), likely: now.saturating_sub(20), latest: now },
            };
            let of = affected.len();
            let placed = Placed { part: None, size: fact.size, onset, affected, direction: None };
            changes.push(self.incidents.begin(fact.kind, fact.scope.clone(), placed, of, now));
        } else if !fact.is && had {
            changes.extend(self.incidents.end_scope(fact.kind, &fact.scope, now));
        }
    }

    fn judge_silence(&mut self, now: u64, changes: &mut Vec<Change>) {
        let silent: Vec<bool> = self
            .silences
            .iter()
            .zip(&self.streams)
            .map(|(cell, stream)| cell.is_active(now) && cell.is_silent(stream.usual.normal()))
            .collect();
        self.end_silence(now, changes);
        let covered = self.incidents.cells(Kind::Silent, self.streams.len());
        let news = silent.iter().zip(&covered).any(|(silent, covered)| *silent && !covered);
        if !news {
            self.waiting = None;
            return;
        }
        let suspects =
            self.silences.iter().zip(&silent).any(|(cell, silent)| !silent && cell.is_active(now) && cell.is_suspect());
        if suspects && now < *self.waiting.get_or_insert(now) + COMPANY {
            return;
        }
        self.waiting = None;
        self.place_silence(now, &silent, changes);
    }

    fn place_silence(&mut self, now: u64, silent: &[bool], changes: &mut Vec<Change>) {
        let old = self.incidents.older(Kind::Silent, now.saturating_sub(60), self.streams.len());
        let is_down = |id: usize| {
            !old[id] && (silent[id] || (self.silences[id].is_active(now) && self.silences[id].is_suspect()))
        };
        let counts = (0..self.streams.len())
            .map(|id| {
                let expected = if self.silences[id].is_active(now) && !old[id] { SILENT_ALONE } else { 1e-9 };
                (f64::from(u8::from(is_down(id))), expected)
            })
            .collect();
        let Some((names, _)) = culprits(&self.parts, &self.of, &Seen::Count(counts)) else { return };
        let down: Vec<CellId> = (0..self.streams.len()).filter(|id| is_down(*id)).map(|id| id as CellId).collect();
        let whole = |part: &usize| {
            let active = self.parts[*part].cells.iter().filter(|cell| self.silences[**cell as usize].is_active(now));
            let (count, of) =
                active.fold((0, 0), |sum, cell| (sum.0 + usize::from(is_down(*cell as usize)), sum.1 + 1));
            count as f64 >= ALL_SILENT * f64::from(of)
        };
        let is_named = |part: &usize| whole(part) || self.is_in_trouble(*part);
        let names: Vec<Option<usize>> = if names.is_empty() || !names.iter().all(is_named) {
            vec![None]
        } else {
            names.into_iter().map(|part| Some(self.with_its_agent(part, now))).collect()
        };
        for part in names {
            let affected: Vec<CellId> = match part {
                Some(part) => {
                    down.iter().copied().filter(|cell| self.parts[part].cells.binary_search(cell).is_ok()).collect()
                }
                None => down.clone(),
            };
            let onset = self.fell_silent(&affected, now);
            let placed = Placed { part, size: None, onset, affected, direction: None };
            self.merge(Kind::Silent, placed, now, changes);
        }
    }

    fn fell_silent(&self, cells: &[CellId], now: u64) -> Onset {
        let cells = || cells.iter().map(|cell| &self.silences[*cell as usize]);
        let latest = cells().filter_map(|cell| cell.since).max().unwrap_or(now);
        let earliest = cells().filter_map(|cell| cell.answered).min().unwrap_or(latest).min(latest);
        let likely = cells().filter_map(|cell| cell.since).min().unwrap_or(latest);
        Onset { earliest, likely, latest: latest + 1 }
    }

    /// True for a host whose agent is told to report nothing, or to be late itself: it answers some and not others by that.
    fn is_in_trouble(&self, part: usize) -> bool {
        let Scope::Host { host, .. } = &self.parts[part].scope else { return false };
        [Kind::AgentSilent, Kind::Overloaded].iter().any(|kind| self.incidents.has(*kind, &client(host)))
    }

    /// A host that nobody reaches and whose own agent reports nothing is lost in both roles.
    fn with_its_agent(&self, part: usize, now: u64) -> usize {
        let Scope::Host { host, role: Role::Server } = &self.parts[part].scope else { return part };
        let id = self.mesh.hosts.iter().position(|known| known.name == *host);
        let quiet = id.is_some_and(|id| self.agents[id].last.is_none_or(|last| last + self.settings.settle < now));
        let both = Scope::Host { host: host.clone(), role: Role::Both };
        self.parts.iter().position(|part| quiet && part.scope == both).unwrap_or(part)
    }

    fn end_silence(&mut self, now: u64, changes: &mut Vec<Change>) {
        let silences = &self.silences;
        let ended = self.incidents.quiet(Kind::Silent, now, |open| {
            let active: Vec<_> = open.cells.iter().filter(|cell| silences[**cell as usize].is_active(now)).collect();
            let back = active.iter().filter(|cell| !silences[***cell as usize].is_suspect()).count();
            (!active.is_empty()).then_some((back * 2 > active.len(), true))
        });
        self.finish(ended, now, changes);
    }

    /// Judges a slot whose seconds are all here.
    fn close(&mut self, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let (mut alarms, mut drifted) = (Alarms::default(), None);
        let own: Vec<Own> = self.agents.iter().map(|agent| agent.slot(slot * SLOT)).collect();
        let mut values = Vec::new();
        for (id, gathered) in self.gathered.iter_mut().enumerate() {
            let Cell { from, to, .. } = self.mesh.cells[id];
            let losses = gathered.take_out(slot, (own[from as usize], own[to as usize]), &mut values);
            let stream = &mut self.streams[id];
            let (held, off) = stream.close(slot, &mut values, &losses);
            if stream.held {
                stream.calm(slot);
                continue;
            }
            alarms.take(&held, self.limit, &stream.growth);
            if held.drift >= self.limit / CREEPS as f64 {
                drifted = Some(stream.growth.drift.since);
            }
            if held.any(self.limit) {
                stream.calm(slot);
            }
            for part in &self.of[id] {
                if let Some(together) = &mut self.together[*part as usize] {
                    together.take(off, &losses);
                }
            }
        }
        if let Some(since) = drifted {
            self.streams.iter_mut().filter(|stream| !stream.held).for_each(|stream| stream.fall_back(since));
            alarms.slower(slot.saturating_sub(2 * LOOK));
        }
        for together in self.together.iter_mut().flatten() {
            let held = together.close(slot);
            alarms.take(&held, self.limit, &together.growth);
            if held.any(self.limit) {
                together.calm(slot);
            }
        }
        self.end_changes(slot, now, changes);
        for (kind, since) in Kind::GRADUAL.into_iter().zip(alarms.0) {
            let again =
                slot.is_multiple_of(LOOK).then(|| self.incidents.youngest_onset(kind, now.saturating_sub(YOUNG)));
            if let Some(since) = since.or(again.flatten().map(|onset| onset / SLOT)) {
                self.place(kind, since.min(slot.saturating_sub(1)), slot, now, changes);
            }
        }
    }

    fn place(&mut self, kind: Kind, since: u64, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let mut masked = self.incidents.older(kind, now.saturating_sub(YOUNG), self.streams.len());
        for other in [Kind::Slower, Kind::Faster, Kind::Silent] {
            let apart = (kind == Kind::Loss && other == Kind::Silent) || (kind.is_latency() && other.is_latency());
            if apart && other != kind {
                let cells = self.incidents.cells(other, self.streams.len());
                masked.iter_mut().zip(cells).for_each(|(masked, cell)| *masked |= cell);
            }
        }
        for (id, cell) in self.mesh.cells.iter().enumerate() {
            masked[id] |=
                [cell.from, cell.to].iter().any(|host| self.incidents.is_overloaded(&self.mesh.hosts[*host as usize]));
        }
        let view = View { parts: &self.parts, of: &self.of, streams: &self.streams, masked: &masked, now: slot };
        let told = changes.len();
        for placed in view.place(kind, since) {
            self.merge(kind, placed, now, changes);
        }
        if changes.len() > told {
            let cells = self.incidents.cells(kind, self.streams.len());
            let cells: Vec<CellId> = (0..).zip(cells).filter(|(_, is)| *is).map(|(cell, _)| cell).collect();
            self.calm(&cells, slot);
        }
        self.hold();
    }

    fn merge(&mut self, kind: Kind, placed: Placed, now: u64, changes: &mut Vec<Change>) {
        let part = placed.part.map(|part| (&self.parts[part], part));
        self.incidents.merge(kind, placed, part, self.streams.len(), now, changes);
    }

    fn end_changes(&mut self, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let since = slot.saturating_sub(LOOK);
        for kind in Kind::GRADUAL {
            let streams = &self.streams;
            let ended = self.incidents.quiet(kind, now, |open| open.is_quiet(streams, since));
            self.finish(ended, now, changes);
        }
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

    fn calm(&mut self, cells: &[CellId], slot: u64) {
        for cell in cells {
            self.streams[*cell as usize].calm(slot);
            for part in &self.of[*cell as usize] {
                if let Some(together) = &mut self.together[*part as usize] {
                    together.calm(slot);
                }
            }
        }
    }

    /// Levels of cells with an open incident do not follow.
    fn hold(&mut self) {
        let mut held = vec![false; self.streams.len()];
        for kind in Kind::GRADUAL {
            held.iter_mut().zip(self.incidents.cells(kind, self.streams.len())).for_each(|(held, cell)| *held |= cell);
        }
        self.streams.iter_mut().zip(held).for_each(|(stream, held)| stream.held = held);
    }
}

/// The cells that a host probes.
fn client(host: &str) -> Scope {
    Scope::Host { host: host.to_owned(), role: Role::Client }
}

/// What is known of one agent, of those of a machine, or of all.
struct Fact {
    kind: Kind,
    scope: Scope,
    is: bool,
    /// Last second that was reported, where that is what it is about.
    last: Option<u64>,
    size: Option<Size>,
}

/// Evidence at which a change is told: as many slots as all streams together have between two false alarms.
fn limit(settings: &Settings, cells: usize, watched: f64) -> f64 {
    let cells = (cells as f64).max(1.0);
    let slots_a_day = 86_400.0 / SLOT as f64;
    settings.cell_days * slots_a_day * (STREAMS.0 * cells + STREAMS.1 * watched) / cells
}

/// The slots since which kinds of change grow that reached the limit, in the order of [`Kind::GRADUAL`].
#[derive(Default)]
struct Alarms([Option<u64>; 4]);

impl Alarms {
    fn slower(&mut self, since: u64) {
        self.0[1] = Some(self.0[1].map_or(since, |at| at.min(since)));
    }

    fn take(&mut self, held: &Held, limit: f64, growth: &Growth) {
        let kinds: [(f64, &Growing); 4] = [
            (held.loss, &growth.loss),
            (held.slower, &growth.slower),
            (held.faster, &growth.faster),
            (held.tail, &growth.tail),
        ];
        for (earliest, (evidence, growing)) in self.0.iter_mut().zip(kinds) {
            if evidence >= limit {
                *earliest = Some(earliest.map_or(growing.since, |at| at.min(growing.since)));
            }
        }
    }
}
