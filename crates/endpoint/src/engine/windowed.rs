//! Any window, any schedule, any number of connections on one thread.
//!
//! Departures leave at their due instants whether or not replies came (open loop), or as soon as the window has room
//! (closed). While nothing is due the sockets are watched; a reply is stamped as soon as the kernel hands it over.
//!
//! Most messages of a load go one way: they are numbered, sent and counted like the others, and then forgotten.

mod arrivals;
mod departures;
mod lane;
mod one_way;
mod stamping;
mod volley;
mod waiting;
mod warming;

use measure::event::Event;
use measure::method::{Load, Schedule, Waiting, Window};
use measure::recorder::{Held, Recorder};
use measure::unit::{Instant, Nanos};
use protocol::link::Link;
use protocol::wire::Wire;

use super::edge::Edges;
use super::gap::Gap;
use super::outstanding::State;
use super::pacing::Pacer;
use super::spell::Spells;
use super::split::Splits;
use super::{Ended, Flow, Outlet, Run, Told, finish};
use lane::Lane;
use stamping::Stamp;
use volley::Volley;

/// So shortly before a due instant the sockets are left alone and only the clock is read: one poll of a socket takes
/// about as long.
const QUIET: Nanos = Nanos(1_500);
/// Requests that leave a connection before the sockets are looked at again: a sender behind its schedule must not keep
/// replies waiting for their stamp.
const AT_ONCE: usize = 32;

/// The engine for everything but a window of one on one connection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is looked at by itself, and all go together")]
pub struct Windowed<'a, L, W> {
    links: Vec<L>,
    lanes: Vec<Lane<'a, W>>,
    told: Told<'a>,
    outlet: Outlet,
    recorder: Recorder,
    splits: Splits,
    spells: Spells,
    /// The lane of which exchanges are stamped now.
    spell: Option<usize>,
    pacer: Pacer,
    open: bool,
    scheduled: bool,
    polling: bool,
    /// Longest time for which the limit on requests in flight holds a request back; absent: no limit of time.
    gap: Option<Gap>,
    window: u64,
    budget: u64,
    /// The lane whose turn it is first.
    first: usize,
    /// Order of the volleys; absent where requests leave one by one.
    volley: Option<Volley>,
    /// The load that is measured; absent for exchanges.
    load: Option<&'a Load>,
    /// Since when something due has been held back, and by what.
    held: Option<(Held, Instant)>,
    /// Intended instants of the messages of one batch.
    batch: Vec<Option<Instant>>,
    stamp: Stamp,
    latest: Instant,
    /// Time at which the latest message left.
    sent: Instant,
    /// Set where a wait has just told which links have something.
    looked: bool,
}

impl<'a, L: Link, W: Wire> Windowed<'a, L, W> {
    /// An engine for `flows`, at least one.
    pub fn new(flows: Vec<Flow<L, W>>, told: Told<'a>, outlet: Outlet) -> Self {
        let traffic = &told.method.traffic;
        let window = match traffic.window() {
            // In an open loop too a connection makes one after the other, and what waits for its turn is late by that.
            _ if traffic.connects() => 1,
            Window::Closed(n) | Window::Volley(n) => u64::from(n),
            Window::Open { cap } => (u64::from(cap) / u64::from(told.method.spread.connections)).max(1),
        };
        let mut links = Vec::with_capacity(flows.len());
        let mut lanes = Vec::with_capacity(flows.len());
        for Flow { link, wire, index, request, reply, expected } in flows {
            links.push(link);
            lanes.push(Lane::new(wire, index, request, reply, expected, window, &told));
        }
        Self {
            recorder: Recorder::of(told.method, told.exact()),
            pacer: Pacer::new(told.method.pacing),
            open: matches!(traffic.window(), Window::Open { .. }),
            load: traffic.load(),
            scheduled: told.method.schedule.has_instants(),
            polling: told.method.waiting == Waiting::Spin,
            gap: Gap::of(told.method.schedule),
            budget: budget(&told),
            first: 0,
            volley: Volley::of(told.method),
            held: None,
            batch: Vec::new(),
            splits: Splits::default(),
            spells: Spells::new(Instant(0), None),
            spell: None,
            stamp: Stamp::Idle,
            latest: Instant(0),
            sent: Instant(0),
            looked: false,
            links,
            lanes,
            told,
            outlet,
            window,
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Run {
        let warmed = self.warm_up();
        let start = self.links[0].now();
        (self.latest, self.sent) = (start, start);
        self.lanes.iter_mut().for_each(|lane| lane.requests.begin());
        self.links.iter_mut().for_each(|link| _ = link.held());
        let before = warmed.unwrap_or_default();
        self.recorder.begin(start, before.first);
        let ended = match warmed {
            Ok(_) => {
                self.outlet.push(Event::Started { thread: self.told.thread, at: start });
                self.record(start)
            }
            Err(ended) => ended,
        };
        if self.is_load() {
            self.recorder.sent_until(self.sent);
            let held = self.links.iter_mut().map(Link::held);
            held.for_each(|span| self.recorder.held_back(Held::Socket, span));
        }
        let flows = self.lanes.iter().map(Lane::counts).collect();
        let run = finish(self.told.thread, self.recorder, flows, self.latest, self.splits, ended, self.outlet);
        Run { warmed: before, ..run }
    }

    fn record(&mut self, start: Instant) -> Ended {
        let mut edges = Edges::new(start, &self.told);
        self.spells = Spells::new(start, self.told.method.traffic.stamps());
        edges.set_stamp(self.spells.due());
        for lane in &mut self.lanes {
            lane.begin(start, &self.told);
        }
        loop {
            if let Err(ended) = self.turn(&mut edges) {
                let over = self.links[0].now().min(edges.end());
                self.release(over);
                let ended = self.drain(&mut edges, ended);
                self.close_schedule(&edges, ended);
                return ended;
            }
        }
    }

    /// A schedule that was kept to its end lasts until its next request would have been due, or until its time is over:
    /// ten requests at one a second take ten seconds, not nine.
    fn close_schedule(&mut self, edges: &Edges, ended: Ended) {
        // A trace has nothing behind its last message.
        let next = self.lanes.iter().filter_map(|lane| lane.due.peek()).min().filter(|next| *next != Instant::NEVER);
        if let (Ended::Complete, Some(next)) = (ended, next) {
            // Messages that were due and had not left at the end of the time do not make it shorter.
            let is_over = self.budget > 0 && self.links[0].now() >= edges.end();
            let until = if is_over { edges.end() } else { next.min(edges.end()) };
            self.latest = self.latest.max(until);
        }
    }

    /// One turn: what is due leaves, what came is taken, what is overdue is lost; then wait. `Err`: departures are over.
    fn turn(&mut self, edges: &mut Edges) -> Result<(), Ended> {
        let mut now = self.links[0].now();
        let load = self.is_load();
        let more = match self.volley {
            Some(_) => self.depart_volley(&mut now, edges)?,
            None if load => self.depart_load(&mut now, edges)?,
            None => self.depart(&mut now, edges)?,
        };
        let took = match self.volley {
            // The wait takes what comes.
            Some(_) if !more && self.sole_blocking_lane().is_some() => false,
            Some(_) => self.receive_expected()?,
            None if load && more => self.receive_expected()?,
            // Likewise where a reply alone makes room: a look before the wait would be a call for nothing.
            None if self.waits_for_a_reply() => false,
            None => self.receive_all()?,
        };
        now = self.links[0].now();
        self.expire(now);
        if edges.any_due(now) {
            if let Some(ended) = edges.pass(now, &self.told, &mut self.recorder, &mut self.outlet) {
                return Err(ended);
            }
            self.plan_stamp(now, edges);
        }
        if self.budget == 0 || self.is_played() {
            return Err(Ended::Complete);
        }
        if !took && !more {
            self.wait(now, edges)?;
        }
        Ok(())
    }

    /// Returns true where the only task is to wait for a reply on the only lane, as in a flood with all requests in
    /// flight.
    #[inline]
    fn waits_for_a_reply(&self) -> bool {
        let full = |lane: usize| self.lanes[lane].behind() >= self.window;
        self.gap.is_some() && self.budget > 0 && self.sole_blocking_lane().is_some_and(full)
    }

    /// Returns true where messages may go one way.
    #[inline]
    fn is_load(&self) -> bool {
        self.load.is_some()
    }

    /// Returns true where the trace is at its end on each lane.
    fn is_played(&self) -> bool {
        self.lanes.iter().all(|lane| lane.due.is_over())
    }

    /// Something due cannot leave at `now`, for this reason.
    #[cold]
    fn hold(&mut self, by: Held, now: Instant) {
        match self.held {
            Some((before, _)) if before == by => {}
            _ => {
                self.release(now);
                self.held = Some((by, now));
            }
        }
    }

    /// Notes that messages held back leave at `now`.
    #[inline]
    fn release(&mut self, now: Instant) {
        if let Some((by, since)) = self.held.take() {
            self.recorder.held_back(by, now.since(since).unwrap_or_default());
        }
    }
}

/// Messages this thread may send. A trace carries its own number, for each connection.
fn budget(told: &Told<'_>) -> u64 {
    match told.method.schedule {
        Schedule::Trace { .. } => u64::MAX,
        _ => told.share_of_count().unwrap_or(u64::MAX),
    }
}

/// State of a request that was given up: where the wire cannot recognise a late reply, the request is done.
fn given_up<W: Wire>() -> State {
    if W::KNOWS_LATE { State::Lost } else { State::Done }
}
