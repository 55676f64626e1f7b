//! The centre of a monitor: it tells agents what to measure, takes what they tell, has it kept and judged, and shows it.
//!
//! One thread holds all of it and waits for what happens: lines of agents, the store's answers, the next second.

pub mod cells;
#[cfg(test)]
mod clock_steps;
pub mod foresight;
pub mod host;
mod incidents;
pub mod keeper;
pub mod mesh;
pub mod pending;
pub mod picture;
mod planned;
pub mod reference;
mod shown;
pub mod state;
pub mod switchboard;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::monitor::plan::MonitorPlan;
use logbook::monitor::talk::{Beat, Order, Over, Told, VERSION};
use measure::lookout::incident::Incident;
use measure::lookout::{Lookout, Mesh};
use uuid::Uuid;

use self::cells::Live;
use self::host::Host;
use self::keeper::{Beside, Keeper, Kept};
use self::pending::{Pending, Taken};
use self::picture::IncidentNow;
pub use self::planned::{epoch, told};
use self::planned::{key, retention, settings};
use self::state::State;
use self::switchboard::{Heard, Switchboard};
use crate::discovery::PlanReader;
use crate::serve::board::Board;
use crate::store::{self, Cell, KeptSilence, Store};
use crate::telling::{Fault, Telling};

/// After a second's end, how long its agents have to tell it before it is judged, beside the timeout, seconds.
const WAY: u64 = 1;
/// Incidents that are over and still shown.
const PAST: usize = 50;
/// Interval at which beats are handed to the store, and the state is written where a restart must know of news, seconds.
const KEEP: u64 = 10;
/// Interval at which the state is written without such news, seconds: that of a thousand hosts has tens of megabytes.
const ALL: u64 = 300;
/// An agent that told nothing for so long has what was gathered of it kept, seconds.
const QUIET: u64 = 120;
/// Cells without a reference that are looked up at a time, and the shortest interval between two rounds of such looks, seconds.
const LOOKED_UP: usize = 8;
const AGAIN: u64 = 3_600;
/// Hosts that are being reached at a time: for each the program may have to be compressed and sent.
const AT_ONCE: usize = 12;
/// Days of seven, for the rate of false alarms.
const WEEK: f64 = 7.0;

/// Event that a centre handles.
#[derive(Debug)]
pub enum Event {
    /// Something came over the line of this number.
    Heard(u64, Heard),
    /// Standard error of the process that led to an agent, when it ended.
    Said(u64, String),
    /// The store answered.
    Kept(Kept),
    /// Somebody could not be told.
    NotTold(Fault),
    /// The plan may have changed.
    Reload,
    /// It is to end.
    End,
}

/// Tools of a centre.
#[derive(Debug)]
pub struct Tools {
    /// The program that measures.
    pub sonde: PathBuf,
    /// Folder of the centre's state beside the store.
    pub folder: PathBuf,
    /// The key that agents share.
    pub key: String,
    /// Reads the plan anew.
    pub plan: PlanReader,
    /// Says a line to whoever started the monitor.
    pub say: fn(&str),
}

/// A silence that is about an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Silent {
    /// The first second in which it is not, since 1970.
    until: u64,
    /// Reason, as somebody wrote it.
    why: Option<String>,
}

/// The centre.
pub struct Centre {
    tools: Tools,
    plan: MonitorPlan,
    mesh: Mesh,
    epoch: u64,
    revision: u64,
    hosts: Vec<Host>,
    /// Place of the host that a line leads to.
    lines: HashMap<u64, usize>,
    next_line: u64,
    live: Vec<Live>,
    /// Places of the mesh's hosts, by name.
    ids: HashMap<String, u32>,
    pending: Pending,
    /// Last beat of each start of an agent up to which the store has all.
    kept: BTreeMap<Uuid, u64>,
    /// Last beat up to which all was counted and judged: beats that are told again for the store's sake are not counted
    /// again.
    counted: BTreeMap<Uuid, u64>,
    incidents: BTreeMap<u64, Incident>,
    /// Silences that somebody asked for, beside those of the plan.
    silences: Vec<KeptSilence>,
    /// Silence about each of them, as receivers know it, with its end and its reason.
    silent: BTreeMap<u64, Silent>,
    past: VecDeque<IncidentNow>,
    unkept: Vec<store::Incident>,
    marks: Vec<store::Mark>,
    /// Place at which the look at cells without a reference stands, and its begin.
    looked_up: (usize, u64),
    /// Incidents, assignments, agents that stand or references are others than was written down.
    has_news: bool,
    store_fault: Option<String>,
    lookout: Lookout,
    keeper: Keeper,
    telling: Telling,
    board: Arc<Board>,
    switchboard: Switchboard,
    events: Sender<Event>,
    state: State,
    zone: TimeZone,
    stepped: u64,
}

impl Centre {
    /// One that has what it knew before from its folder and the store.
    ///
    /// # Errors
    /// The store cannot be read; the system starts no thread.
    pub fn new(
        tools: Tools,
        plan: MonitorPlan,
        mut store: Box<dyn Store>,
        telling: Telling,
        board: Arc<Board>,
        events: Sender<Event>,
    ) -> Result<Self> {
        let now = now();
        let (state, known) = State::read(&tools.folder)?.with(());
        let kept = store.kept()?;
        let marks = store.marks(now.saturating_sub(14 * 86_400), now + 1)?;
        let silences = store.silences(now)?;
        let keeper_events = events.clone();
        let retention = retention(&plan);
        let keeper = Keeper::start(store, retention, move |kept| {
            let _gone = keeper_events.send(Event::Kept(kept));
        })?;
        let heard = events.clone();
        let switchboard = Switchboard::start(move |line, what| heard.send(Event::Heard(line, what)).is_ok())?;
        let epoch = epoch(&plan, now);
        let mesh = mesh::mesh(&plan, state.seed, epoch);
        let lookout = Lookout::restored(settings(&plan, &mesh), mesh.clone(), known);
        let incidents = state.incidents.iter().map(|incident| (incident.id, incident.clone())).collect();
        let mut centre = Self {
            tools,
            plan,
            mesh,
            epoch,
            revision: state.revision,
            hosts: Vec::new(),
            lines: HashMap::new(),
            next_line: 1,
            live: Vec::new(),
            ids: HashMap::new(),
            pending: Pending::default(),
            kept,
            counted: BTreeMap::new(),
            incidents,
            silences,
            silent: BTreeMap::new(),
            past: state.past.clone(),
            unkept: Vec::new(),
            marks,
            looked_up: (0, now),
            has_news: true,
            store_fault: None,
            lookout,
            keeper,
            telling,
            board,
            switchboard,
            events,
            state,
            zone: TimeZone::system(),
            stepped: now,
        };
        centre.hosts = (0..centre.plan.hosts.len()).map(|at| Host::new(at as u32, now)).collect();
        for (host, known) in centre.hosts.iter_mut().zip(&centre.plan.hosts) {
            host.stands_since = centre.state.stood.contains(&known.name).then_some(0);
        }
        centre.settle_in();
        centre.end_unwatched(now);
        centre.note_open(now);
        Ok(centre)
    }

    /// Runs until it is to end; then what was gathered is kept.
    ///
    /// # Errors
    /// The state cannot be written at the end.
    pub fn run(mut self, inbox: &Receiver<Event>, mut watched: impl FnMut()) -> Result<()> {
        loop {
            let wait = until_next_second();
            match inbox.recv_timeout(wait) {
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = now();
            if now > self.stepped {
                self.stepped = now;
                self.second(now);
                watched();
            }
        }
        self.finish(inbox)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Heard(line, Heard::Line(text)) => {
                self.heard(line, &text);
                self.switchboard.backlog.done(text.len());
            }
            Event::Heard(line, Heard::Gone(why)) => {
                if let Some(at) = self.lines.get(&line).copied() {
                    self.hosts[at].gone(&why, now());
                    // The reason for its end may still come by its standard error: until then the line's number leads here.
                    if self.hosts[at].last_words.take().is_some() {
                        self.lines.remove(&line);
                    }
                }
            }
            Event::Said(line, text) => match self.lines.get(&line).copied() {
                // The end of the line itself has still to be heard.
                Some(at) if self.hosts[at].line == Some(line) => self.hosts[at].last_words = Some(text),
                Some(at) => {
                    self.hosts[at].said(&text);
                    self.lines.remove(&line);
                }
                None => {}
            },
            Event::Kept(kept) => self.kept(kept),
            Event::NotTold(fault) => self.say(&format!("{}: {}", fault.receiver, fault.text)),
            Event::Reload => self.reload(),
            Event::End => {}
        }
    }

    fn heard(&mut self, line: u64, text: &[u8]) {
        let Some(at) = self.lines.get(&line).copied().filter(|at| self.hosts[*at].line == Some(line)) else { return };
        // A line of a later version that is not known here is none of ours.
        let Ok(told) = serde_json::from_slice::<Told>(text) else { return };
        match told {
            Told::Hello(hello) if hello.version != VERSION => {
                let why = format!("its agent speaks version {} and this monitor {VERSION}", hello.version);
                self.hang_up(at, &why);
            }
            Told::Hello(hello) => {
                self.hosts[at].hello(&hello, wall_ns());
                self.reach_due(now());
                self.begin(line, hello.instance);
                if hello.revision != Some(self.revision) {
                    self.assign(at);
                }
            }
            Told::Instance { instance, .. } => {
                self.hosts[at].instance = Some(instance);
                self.begin(line, instance);
            }
            Told::Beat(beat) => self.beat(at, &beat),
            Told::Counters(counters) => self.hosts[at].agent.counters = Some(counters),
            Told::Trouble { to, over, text } => self.hosts[at].trouble(&to, over, &text),
            Told::Replaced => self.hang_up(at, "another monitor has taken it over"),
            Told::Here => {}
        }
    }

    /// Beats of a start of an agent are about to come: it hears which are kept.
    fn begin(&mut self, line: u64, instance: Uuid) {
        let kept = self.kept.get(&instance).copied().unwrap_or(0);
        self.pending.begin(instance, kept);
        if kept > 0 {
            self.order(line, &Order::Kept { instance, upto: kept });
        }
    }

    fn hang_up(&mut self, at: usize, why: &str) {
        if let Some(line) = self.hosts[at].line {
            self.switchboard.hang_up(line);
            self.lines.remove(&line);
        }
        self.hosts[at].gone(why, now());
    }

    fn beat(&mut self, at: usize, beat: &Beat) {
        let Some(instance) = self.hosts[at].instance else { return };
        let now = now();
        let second = self.hosts[at].second_of(beat.at, now);
        let name = self.plan.hosts[at].name.clone();
        let spans: Vec<_> = beat.cells.iter().map(|cell| (cell, cell.span(&beat.own))).collect();
        let told = spans.iter().map(|(cell, span)| (cell.to.as_str(), cell.over(), span));
        if self.pending.take(instance, (beat.seq, second), &name, told) == Taken::Again {
            return;
        }
        let counted = self.counted.entry(instance).or_default();
        if beat.seq <= *counted {
            return;
        }
        *counted = beat.seq;
        let host = &mut self.hosts[at];
        (host.agent.slip_ns, host.agent.cpu_pressure) = (beat.own.slip_ns, beat.own.cpu_pressure);
        host.heard(second, now);
        let zones = &self.mesh.hosts;
        let mut totals = self.board.totals();
        let mut judged = Vec::with_capacity(spans.len());
        for (cell, span) in &spans {
            let Some(id) = self.cell(at as u32, &cell.to, cell.over()) else { continue };
            let far = self.mesh.cells[id as usize].to as usize;
            let between = (zones[at].zone.as_deref(), zones[far].zone.as_deref());
            totals.take((&name, &cell.to, cell.over()), between, second, span);
            self.live[id as usize].take(second, span);
            if far >= self.hosts.len() {
                self.live[id as usize].hear(second, span, (&cell.replies, cell.certified_until_s));
            }
            // A target without an agent is asked as it is; an agent that is not put there yet, or that was asked before it
            // was, is no fault of anybody's.
            if let Some(far) = self.hosts.get_mut(far) {
                let stood = far.stood(second);
                if span.counts.answered > 0 && far.stands_since.is_none() {
                    (far.stands_since, self.has_news) = (Some(second), true);
                }
                if !stood && !self.live[id as usize].was_answered {
                    continue;
                }
            }
            judged.push((id, span));
        }
        drop(totals);
        self.lookout.beat(self.hosts[at].id, second, beat.own.punctuality(), &judged);
    }

    /// Does the work of each second.
    fn second(&mut self, now: u64) {
        for change in self.lookout.step(now) {
            self.change(&change, now);
        }
        self.hosts.iter_mut().for_each(|host| host.listen(now));
        self.judge_silences(now);
        self.reach_due(now);
        if epoch(&self.plan, now) != self.epoch {
            self.epoch = epoch(&self.plan, now);
            self.redraw();
        }
        if now.is_multiple_of(KEEP) {
            self.pending.close_before(now.saturating_sub(QUIET));
            self.hand_over(now);
            if self.has_news || now.is_multiple_of(ALL) {
                match self.keep_state() {
                    Ok(()) => self.has_news = false,
                    Err(error) => self.say(&format!("{error:#}: after a restart incidents may be told again")),
                }
            }
        }
        self.board.show(self.picture(now));
    }

    /// Reaches for the hosts that are due, a few at a time.
    fn reach_due(&mut self, now: u64) {
        let reached = self.hosts.iter().filter(|host| host.is_being_reached()).count();
        let due = self.hosts.iter().enumerate().filter_map(|(at, host)| Some((host.again?, at)));
        let mut due: Vec<(u64, usize)> = due.filter(|(again, _)| *again <= now).collect();
        // Whoever has waited longest comes first: hosts that are away hold up none of the others for ever.
        due.sort_unstable();
        due.truncate(AT_ONCE.saturating_sub(reached));
        for (_, at) in due {
            self.reach(at);
        }
    }

    fn hand_over(&mut self, now: u64) {
        let parts = self.pending.hand_over();
        let incidents = std::mem::take(&mut self.unkept);
        let unknown = self.without_reference(now);
        self.keeper.keep(parts, incidents, unknown, now);
    }

    /// The next few cells of which it is not known what is normal.
    fn without_reference(&mut self, now: u64) -> Vec<Cell> {
        let (next, begun) = &mut self.looked_up;
        if *next >= self.mesh.cells.len() && now >= *begun + AGAIN {
            (*next, *begun) = (0, now);
        }
        let mut found = Vec::new();
        while let Some(cell) = self.mesh.cells.get(*next).filter(|_| found.len() < LOOKED_UP) {
            if self.lookout.lacks_reference(*next as u32) {
                let (from, to, over) = key(&self.mesh, cell);
                found.extend(Over::named(&over).map(|over| Cell { from, to, over }));
            }
            *next += 1;
        }
        found
    }

    fn reach(&mut self, at: usize) {
        let line = self.next_line;
        self.next_line += 1;
        let state = self.state.folder_of(&self.plan, &self.plan.hosts[at].name);
        let events = self.events.clone();
        match self.hosts[at].reach(line, &state, &self.tools.sonde, &events) {
            Ok((from, to)) => {
                self.lines.insert(line, at);
                self.switchboard.connect(line, from, to);
                let host = serde_json::to_string(&self.plan.hosts[at]).expect("a host has string keys alone");
                self.switchboard.say(line, format!("{host}\n"));
            }
            Err(error) => self.hosts[at].gone(&format!("{error:#}"), now()),
        }
    }

    fn order(&self, line: u64, order: &Order) {
        let text = serde_json::to_string(order).expect("our types have string keys alone");
        self.switchboard.say(line, format!("{text}\n"));
    }

    fn kept(&mut self, kept: Kept) {
        match kept {
            Kept::Parts(upto, parts) => {
                self.pending.settled(parts);
                for (instance, upto) in upto {
                    self.kept.insert(instance, upto);
                    let line =
                        self.hosts.iter().find(|host| host.instance == Some(instance)).and_then(|host| host.line);
                    if let Some(line) = line {
                        self.order(line, &Order::Kept { instance, upto });
                    }
                }
                // Beats that were left with the agents while the store was away are told anew over a new line.
                if self.pending.left_some && self.store_fault.is_none() {
                    self.pending.left_some = false;
                    (0..self.hosts.len()).for_each(|at| self.hang_up(at, "the store was away"));
                }
            }
            Kept::Overlap(instance, kept, parts) => {
                self.pending.settled(parts);
                self.kept.insert(instance, kept);
                self.pending.forget(instance, kept);
                if let Some(at) = self.hosts.iter().position(|host| host.instance == Some(instance)) {
                    self.hang_up(at, "its seconds are told anew");
                }
            }
            Kept::Fault(fault) => {
                if self.store_fault.is_none() != fault.is_none() {
                    match &fault {
                        Some(fault) => self.say(&format!("history is not kept: {fault}; agents hold it until it is")),
                        None => self.say("history is kept again"),
                    }
                }
                self.store_fault = fault;
            }
            Kept::Beside(Beside { marks, baselines, silences, references }) => {
                (self.marks, self.silences) = (marks, silences);
                for (cell, hours) in references {
                    let from = self.ids.get(&cell.from).copied();
                    if let Some(id) = from.and_then(|from| self.cell(from, &cell.to, cell.over)) {
                        self.lookout.reference(id, &hours);
                        self.has_news = true;
                    }
                }
                self.accept(&baselines, now());
            }
        }
    }

    fn keep_state(&mut self) -> Result<()> {
        self.state.revision = self.revision;
        self.state.incidents = self.incidents.values().cloned().collect();
        self.state.past.clone_from(&self.past);
        let stood = self.plan.hosts.iter().zip(&self.hosts).filter(|(_, host)| host.stands_since.is_some());
        self.state.stood = stood.map(|(host, _)| host.name.clone()).collect();
        self.state.clone().with(&self.lookout).0.write(&self.tools.folder)
    }

    fn finish(mut self, inbox: &Receiver<Event>) -> Result<()> {
        let now = now();
        for host in &mut self.hosts {
            host.end();
        }
        self.pending.close_before(u64::MAX);
        self.hand_over(now);
        self.keep_state()?;
        let say = self.tools.say;
        self.keeper.finish();
        // The last fault of the store is worth hearing; agents keep the beats that it did not take.
        for event in inbox.try_iter() {
            if let Event::Kept(Kept::Fault(Some(fault))) = event {
                say(&format!("history is not kept: {fault}; agents hold it until it is"));
            }
        }
        Ok(())
    }

    fn say(&self, text: &str) {
        let at = Timestamp::now().to_zoned(self.zone.clone());
        (self.tools.say)(&format!("{} {text}", at.strftime("%H:%M:%S")));
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    wall_ns() / 1_000_000_000
}

fn wall_ns() -> u64 {
    u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default()
}

fn until_next_second() -> Duration {
    /// A second is judged a little after it began, so that what is told at its start is in.
    const LATER: u64 = 100_000_000;
    Duration::from_nanos(1_000_000_000 + LATER - wall_ns() % 1_000_000_000)
}
