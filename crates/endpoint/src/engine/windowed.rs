//! Any window, any schedule, any number of connections on one thread.
//!
//! Departures leave at their due instants whether or not replies came (open loop), or as soon as the window has room
//! (closed). While nothing is due the sockets are watched; a reply is stamped as soon as the kernel hands it over.

use measure::event::{Event, Fate};
use measure::method::{Pacing, Schedule, Waiting, Window};
use measure::recorder::{Recorder, Sequence};
use measure::schedule::Due;
use measure::unit::{Instant, Nanos};
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};

use super::edge::Edges;
use super::outstanding::{Outstanding, Request, State};
use super::pacing::Pacer;
use super::spell::Spells;
use super::split::{Splits, StampedExchange};
use super::warm_up::{Trial, WarmUp};
use super::{Ended, Flow, Outlet, Run, Told, fate_of, finish, sample, slip};
use crate::stop::Stop;

/// So shortly before a due instant the sockets are left alone and only the clock is read: one poll of a socket takes
/// about as long.
const QUIET: Nanos = Nanos(1_500);
/// So many requests leave a connection before the sockets are looked at again: a sender behind its schedule must not
/// keep replies waiting for their stamp.
const AT_ONCE: usize = 32;

/// The engine for everything but a window of one on one connection.
#[derive(Debug)]
pub struct Windowed<'a, L, W> {
    links: Vec<L>,
    lanes: Vec<Lane<W>>,
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
    window: u64,
    budget: u64,
    stamp: Stamp,
    latest: Instant,
}

/// A stamped exchange on its way through its three steps; at most one of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stamp {
    /// None wanted now.
    Idle,
    /// The next departure of this lane announces it.
    Announce(usize),
    /// The departure of this lane after that is stamped.
    Send(usize),
    /// It left with this number; its reply is awaited.
    Await {
        lane: usize,
        seq: u64,
        sent: u64,
        departure: Departure,
        /// None of this spell comes after it.
        last: bool,
    },
}

/// A connection with its outstanding requests.
#[derive(Debug)]
struct Lane<W> {
    wire: W,
    index: u32,
    request: Vec<u8>,
    reply: Vec<u8>,
    expected: Option<usize>,
    due: Due<'static>,
    requests: Outstanding,
    /// Number of the first recorded request.
    base: u64,
    /// Of its numbers, as recorded.
    sequence: Sequence,
    blocked: bool,
}

impl<'a, L: Link, W: Wire> Windowed<'a, L, W> {
    /// An engine for `flows`, at least one.
    pub fn new(flows: Vec<Flow<L, W>>, told: Told<'a>, outlet: Outlet) -> Self {
        let window = match told.method.window {
            Window::Closed(n) => u64::from(n),
            Window::Open { cap } => (u64::from(cap) / u64::from(told.method.spread.connections)).max(1),
        };
        let mut links = Vec::with_capacity(flows.len());
        let mut lanes = Vec::with_capacity(flows.len());
        for Flow { link, mut wire, index, mut request, reply, expected } in flows {
            wire.open(&mut request);
            links.push(link);
            let due = Due::new(Schedule::BackToBack, Instant(0), 0, 1, 0);
            let requests = Outstanding::new(window);
            lanes.push(Lane {
                wire,
                index,
                request,
                reply,
                expected,
                due,
                requests,
                base: 0,
                sequence: Sequence::default(),
                blocked: false,
            });
        }
        Self {
            recorder: Recorder::new(told.method.loop_kind(), told.exact()),
            pacer: Pacer::new(told.method.pacing),
            open: matches!(told.method.window, Window::Open { .. }),
            scheduled: told.method.schedule != Schedule::BackToBack,
            polling: told.method.waiting == Waiting::Spin,
            budget: told.share_of_count().unwrap_or(u64::MAX),
            splits: Splits::default(),
            spells: Spells::new(Instant(0), None),
            spell: None,
            stamp: Stamp::Idle,
            latest: Instant(0),
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
        self.latest = start;
        self.lanes.iter_mut().for_each(|lane| lane.requests.begin());
        self.recorder.begin(start, warmed.unwrap_or_default());
        let ended = match warmed {
            Ok(_) => {
                self.outlet.push(Event::Started { thread: self.told.thread, at: start });
                self.record(start)
            }
            Err(ended) => ended,
        };
        finish(self.told.thread, self.recorder, self.latest, self.splits, ended, self.outlet)
    }

    /// One request at a time on the connections in turn, unrecorded.
    fn warm_up(&mut self) -> Result<Option<Nanos>, Ended> {
        let start = self.links[0].now();
        let Some(mut warm_up) = WarmUp::new(start, &self.told) else { return Ok(None) };
        let edges = Edges::new(start.after(Nanos::secs(86_400)), &self.told);
        for turn in (0..self.lanes.len()).cycle() {
            if self.told.stop.requested() {
                return Err(Ended::Stopped);
            }
            self.pacer.keep(&self.links[turn], warm_up.due(), &edges);
            let trial = self.trial(turn);
            let now = self.links[turn].now();
            if !warm_up.goes_on(trial, now).map_err(Ended::Broken)? {
                break;
            }
        }
        Ok(warm_up.first())
    }

    fn trial(&mut self, turn: usize) -> Trial {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let seq = lane.requests.take_number();
        lane.base = lane.requests.next();
        lane.wire.prepare(&mut lane.request, seq, Flags::WARM_UP);
        let ready = link.ready();
        let sent = link.now();
        let handed_over = ready.and_then(|()| link.send(&lane.request));
        lane.requests.note(seq, None, sent, handed_over.is_ok());
        if let Err(fault) = handed_over {
            return Trial::Fault(fault);
        }
        let until = sent.after(self.told.method.timeout_ns);
        match push(link, until, self.told.stop) {
            Ok(whole) => lane.blocked = !whole,
            Err(fault) => {
                lane.requests.settle(seq, State::Done);
                return Trial::Fault(fault);
            }
        }
        loop {
            match link.receive(&mut lane.reply, until) {
                Ok(Some(length)) => {
                    let now = link.now();
                    let reading = lane.wire.identify(&lane.reply[..length], lane.requests.owed());
                    if let Reading::Reply(number) = reading {
                        lane.requests.settle(number, State::Done);
                    }
                    if reading == Reading::Reply(seq) {
                        return Trial::Answered(now.since(sent));
                    }
                    if now >= until || self.told.stop.requested() {
                        lane.requests.settle(seq, given_up::<W>());
                        return Trial::Unanswered;
                    }
                }
                Ok(None) => {
                    lane.requests.settle(seq, given_up::<W>());
                    return Trial::Unanswered;
                }
                Err(fault) => {
                    lane.requests.settle(seq, State::Done);
                    return Trial::Fault(fault);
                }
            }
        }
    }

    fn record(&mut self, start: Instant) -> Ended {
        let mut edges = Edges::new(start, &self.told);
        self.spells = Spells::new(start, self.told.method.stamps);
        edges.set_stamp(self.spells.due());
        let connections = self.told.method.spread.connections;
        for lane in &mut self.lanes {
            lane.due = Due::new(self.told.method.schedule, start, lane.index, connections, self.told.method.seed);
        }
        loop {
            if let Err(ended) = self.turn(&mut edges) {
                let ended = self.drain(&mut edges, ended);
                self.close_schedule(&edges, ended);
                return ended;
            }
        }
    }

    /// A schedule that was kept to its end lasts until its next request would have been due, or until its time is over:
    /// ten requests at one a second take ten seconds, not nine.
    fn close_schedule(&mut self, edges: &Edges, ended: Ended) {
        let next = self.lanes.iter().filter_map(|lane| lane.due.peek()).min();
        if let (Ended::Complete, Some(next)) = (ended, next) {
            self.latest = self.latest.max(next.min(edges.end()));
        }
    }

    /// One turn: what is due leaves, what came is taken, what is overdue is lost; then wait. `Err`: departures are over.
    fn turn(&mut self, edges: &mut Edges) -> Result<(), Ended> {
        let mut now = self.links[0].now();
        self.depart(&mut now, edges)?;
        let took = self.receive_all()?;
        now = self.links[0].now();
        self.expire(now);
        if edges.any_due(now) {
            if let Some(ended) = edges.pass(now, &self.told, &mut self.recorder, &mut self.outlet) {
                return Err(ended);
            }
            self.plan_stamp(now, edges);
        }
        if self.budget == 0 {
            return Err(Ended::Complete);
        }
        if !took {
            self.wait(now, edges)?;
        }
        Ok(())
    }

    /// Sends everything that is due and fits its window.
    fn depart(&mut self, now: &mut Instant, edges: &Edges) -> Result<(), Ended> {
        for turn in 0..self.lanes.len() {
            for _ in 0..AT_ONCE {
                let lane = &mut self.lanes[turn];
                if lane.blocked {
                    lane.blocked = !self.links[turn].flush().map_err(Ended::Broken)?;
                }
                if self.budget == 0 || lane.blocked || lane.requests.waiting() >= self.window {
                    break;
                }
                let intended = if self.scheduled {
                    match lane.due.peek() {
                        Some(due) if due <= *now && due < edges.end() => Some(due),
                        _ => break,
                    }
                } else {
                    None
                };
                *now = self.send(turn, intended)?;
                if edges.due(*now) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends one request, not before its intended instant. All is ready before that comes, and the reading of the clock
    /// that ends the wait is the send stamp, the last thing before the send call.
    fn send(&mut self, turn: usize, intended: Option<Instant>) -> Result<Instant, Ended> {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        let seq = lane.requests.take_number();
        lane.due.advance();
        self.budget -= 1;
        let flags = match self.stamp {
            Stamp::Announce(wanted) if wanted == turn => Flags::ANNOUNCE,
            Stamp::Send(wanted) if wanted == turn => Flags::STAMPED,
            _ => Flags::NONE,
        };
        let last = flags == Flags::STAMPED && self.spells.is_last(self.latest);
        let ends = if last && self.spells.pauses() { Flags::LAST_STAMPED } else { Flags::NONE };
        lane.wire.prepare(&mut lane.request, seq, flags.with(ends));
        let ready = link.ready();
        if flags == Flags::STAMPED {
            link.departure();
        }
        let due = intended.unwrap_or(Instant(0));
        let mut sent = link.now();
        while sent < due {
            link.spin(due);
            sent = link.now();
        }
        let (result, stamp) = if let Err(fault) = ready {
            (Err(fault), Stamp::Idle)
        } else if flags == Flags::STAMPED {
            let sent_at = link.send_stamped(&lane.request);
            (sent_at.map(|_| ()), stamped(turn, seq, sent_at, last))
        } else {
            (link.send(&lane.request), if flags == Flags::ANNOUNCE { Stamp::Send(turn) } else { self.stamp })
        };
        self.stamp = stamp;
        self.latest = sent;
        lane.requests.note(seq, intended, sent, result.is_ok());
        match result {
            Ok(()) => {
                lane.blocked = !link.flush().map_err(Ended::Broken)?;
            }
            Err(fault) => self.not_sent(turn, seq, intended, sent, fault)?,
        }
        Ok(sent)
    }

    #[cold]
    fn not_sent(
        &mut self,
        turn: usize,
        seq: u64,
        intended: Option<Instant>,
        sent: Instant,
        fault: Fault,
    ) -> Result<(), Ended> {
        let lane = &mut self.lanes[turn];
        let (seq, index, fate) = (seq - lane.base, lane.index, fate_of(fault));
        self.recorder.ended(fate, &mut lane.sequence, seq, slip(intended, sent));
        if self.told.samples {
            let sent = (fate != Fate::SendFailed).then_some(sent);
            self.outlet.push(sample(index, seq, intended, sent, None, fate));
        }
        if fault.ends_the_run() { Err(Ended::Broken(fault)) } else { Ok(()) }
    }

    /// Takes every reply that is there. Returns whether one was.
    fn receive_all(&mut self) -> Result<bool, Ended> {
        let mut took = false;
        for turn in 0..self.lanes.len() {
            // A peer that floods us must not keep us from what is due.
            for _ in 0..AT_ONCE {
                if !self.receive_one(turn)? {
                    break;
                }
                took = true;
                // In a window back to back a reply makes room for the next request, which should leave at once.
                if !self.scheduled {
                    break;
                }
                if self.lanes[turn].requests.waiting() == 0 {
                    break;
                }
            }
        }
        Ok(took)
    }

    fn receive_one(&mut self, turn: usize) -> Result<bool, Ended> {
        if matches!(self.stamp, Stamp::Await { lane, .. } if lane == turn) {
            return self.receive_one_stamped(turn);
        }
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        match link.try_receive(&mut lane.reply) {
            Ok(Some(length)) => {
                let received = link.now();
                self.arrived(turn, length, received);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(fault) => self.refused(turn, fault).map(|()| true),
        }
    }

    #[cold]
    fn receive_one_stamped(&mut self, turn: usize) -> Result<bool, Ended> {
        let (link, lane) = (&mut self.links[turn], &mut self.lanes[turn]);
        match link.try_receive_stamped(&mut lane.reply) {
            Ok(Some(reply)) => {
                let received = link.now();
                let answered = self.arrived(turn, reply.length, received);
                self.settle_stamp(turn, answered, reply, received);
                Ok(true)
            }
            Ok(None) => {
                // Stamps of the departure wake the poll too: they are taken so that it can sleep again.
                let news = link.departure();
                if let Stamp::Await { departure, .. } = &mut self.stamp {
                    departure.sched = departure.sched.or(news.sched);
                    departure.driver = departure.driver.or(news.driver);
                }
                Ok(false)
            }
            Err(fault) => self.refused(turn, fault).map(|()| true),
        }
    }

    fn settle_stamp(&mut self, turn: usize, answered: Option<(u64, Instant)>, reply: Stamped, received: Instant) {
        let Stamp::Await { lane, seq, sent, departure, last } = self.stamp else { return };
        let Some((number, left)) = answered else { return };
        if lane != turn || number != seq {
            return;
        }
        self.stamp = if last { Stamp::Idle } else { Stamp::Announce(turn) };
        let news = self.links[turn].departure();
        let departure = Departure { sched: departure.sched.or(news.sched), driver: departure.driver.or(news.driver) };
        let lane = &self.lanes[turn];
        let peer = lane.wire.peer_stamps(&lane.reply[..reply.length]);
        // The first of a spell may come before the kernel stamps.
        if let (Some(round_trip), Some(_)) = (received.since(left), reply.kernel) {
            self.spells.stamped();
            self.splits.add(StampedExchange { sent, departure, reply, peer, round_trip });
        }
    }

    /// A message came: whose answer is it, and was it in time? Returns the request it answers and when that left.
    #[inline]
    fn arrived(&mut self, turn: usize, length: usize, received: Instant) -> Option<(u64, Instant)> {
        let lane = &mut self.lanes[turn];
        let mut reading = lane.wire.identify(&lane.reply[..length], lane.requests.owed());
        if let (Reading::Reply(seq), Some(expected)) = (reading, lane.expected)
            && expected != length
        {
            reading = Reading::Corrupt(Some(seq));
        }
        let Reading::Reply(seq) = reading else {
            self.unsound(turn, reading);
            return None;
        };
        let request = lane.requests.find(seq);
        let Some(request) = request.filter(|request| request.seq >= lane.base) else {
            self.stale(turn, seq);
            return None;
        };
        if request.state == State::Waiting && received > request.sent.after(self.told.method.timeout_ns) {
            // A wait may end later than it was asked to: what it then brings is late, though nothing had expired yet.
            self.end_early(turn, request, Fate::Late);
            return None;
        }
        match request.state {
            State::Waiting => {
                self.answered(turn, request, received);
                Some((seq, request.sent))
            }
            State::Lost => {
                lane.requests.settle(seq, State::Done);
                self.recorder.came_late();
                None
            }
            State::Done => {
                self.recorder.duplicated();
                None
            }
        }
    }

    #[inline]
    fn answered(&mut self, turn: usize, request: Request, received: Instant) {
        self.make_room(turn, received);
        let lane = &mut self.lanes[turn];
        lane.requests.settle(request.seq, State::Done);
        self.recorder.arrived(&mut lane.sequence, request.seq - lane.base);
        self.latest = received;
        match request.intended {
            Some(due) if self.open => self.recorder.answered_as_scheduled(due, request.sent, received),
            _ => self.recorder.answered(request.sent, received),
        }
        if self.told.samples {
            self.tell(turn, request, Some(received), Fate::Answered);
        }
    }

    /// A reply to something before the recording began, or to a request long forgotten.
    #[cold]
    fn stale(&mut self, turn: usize, seq: u64) {
        let lane = &mut self.lanes[turn];
        if seq < lane.base {
            lane.requests.settle(seq, State::Done);
        } else {
            self.recorder.stray();
        }
    }

    #[cold]
    fn unsound(&mut self, turn: usize, reading: Reading) {
        let Reading::Corrupt(number) = reading else { return self.recorder.stray() };
        // Where it cannot be told which request it answers, the oldest outstanding one ends by it.
        let requests = &mut self.lanes[turn].requests;
        let named = number.and_then(|seq| requests.find(seq)).filter(|request| request.state == State::Waiting);
        match named.or_else(|| requests.oldest_waiting()) {
            Some(request) => self.end_early(turn, request, Fate::Corrupt),
            None => self.recorder.stray(),
        }
    }

    /// The link reports an error that belongs to something sent before: the oldest outstanding request ends by it.
    #[cold]
    fn refused(&mut self, turn: usize, fault: Fault) -> Result<(), Ended> {
        if fault.ends_the_run() {
            return Err(Ended::Broken(fault));
        }
        if let Some(request) = self.lanes[turn].requests.oldest_waiting() {
            self.end_early(turn, request, fate_of(fault));
        }
        Ok(())
    }

    /// One request of a lane is no longer outstanding. In a closed loop the ticks that went by while its window was
    /// full are missed: the next request leaves at the next tick.
    #[inline]
    fn make_room(&mut self, turn: usize, now: Instant) {
        let lane = &mut self.lanes[turn];
        if self.scheduled && !self.open && lane.requests.waiting() >= self.window {
            let missed = lane.due.skip_to(now);
            self.recorder.ticks_missed(missed);
        }
    }

    fn end_early(&mut self, turn: usize, request: Request, fate: Fate) {
        let now = self.links[turn].now();
        self.make_room(turn, now);
        let lane = &mut self.lanes[turn];
        lane.requests.settle(request.seq, if fate == Fate::Lost { given_up::<W>() } else { State::Done });
        self.recorder.ended(fate, &mut lane.sequence, request.seq - lane.base, slip(request.intended, request.sent));
        if matches!(self.stamp, Stamp::Await { lane, seq, .. } if lane == turn && seq == request.seq) {
            self.stamp = Stamp::Idle;
            self.splits.interrupted();
        }
        if self.told.samples {
            self.tell(turn, request, None, fate);
        }
    }

    /// Requests whose timeout has passed are lost; they leave their window.
    fn expire(&mut self, now: Instant) {
        let timeout = self.told.method.timeout_ns;
        for turn in 0..self.lanes.len() {
            while let Some(request) = self.lanes[turn].requests.overdue(now, timeout) {
                self.end_early(turn, request, Fate::Lost);
            }
        }
    }

    fn next_expiry(&mut self) -> Instant {
        let timeout = self.told.method.timeout_ns;
        let expiries = self.lanes.iter_mut().filter_map(|lane| lane.requests.oldest_waiting());
        expiries.map(|request| request.sent.after(timeout)).min().unwrap_or(Instant::NEVER)
    }

    /// When the next departure that fits its window is due, and on which lane; `None` when each waits for room.
    fn next_due(&self) -> Option<(Instant, usize)> {
        self.lanes
            .iter()
            .enumerate()
            .filter(|(_, lane)| lane.requests.waiting() < self.window && !lane.blocked)
            .filter_map(|(turn, lane)| lane.due.peek().map(|due| (due, turn)))
            .min()
    }

    /// Waits until something comes, something is due, or something else has to be looked at.
    fn wait(&mut self, now: Instant, edges: &Edges) -> Result<(), Ended> {
        let limit = edges.next().min(self.next_expiry());
        let next = if self.scheduled { self.next_due() } else { None };
        let Some(only) = self.sole_blocking_lane() else { return self.wait_for_any(now, next, limit) };
        // Back to back on one connection there is nothing to do but wait for its reply: one call instead of two.
        let (link, lane) = (&mut self.links[only], &mut self.lanes[only]);
        match link.receive(&mut lane.reply, limit) {
            Ok(Some(length)) => {
                let received = link.now();
                self.arrived(only, length, received);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(fault) => self.refused(only, fault),
        }
    }

    fn sole_blocking_lane(&self) -> Option<usize> {
        let sole = self.lanes.len() == 1 && !self.scheduled && self.stamp == Stamp::Idle && !self.lanes[0].blocked;
        sole.then_some(0)
    }

    fn wait_for_any(&mut self, now: Instant, next: Option<(Instant, usize)>, limit: Instant) -> Result<(), Ended> {
        let wake = self.pacer.wake(next.map_or(Instant::NEVER, |(due, _)| due));
        if now < wake.min(limit) {
            let until = wake.min(limit);
            L::wait_any(&mut self.links, until);
            let now = self.links[0].now();
            if until == wake && now >= wake && !self.polling {
                self.pacer.woke(wake, now);
            }
            return Ok(());
        }
        self.spin_towards(now, next, limit)
    }

    /// The last stretch before a departure. With replies outstanding the sockets are polled until shortly before;
    /// otherwise only the clock is read, by [`Self::send`] itself where nothing else comes before the departure.
    fn spin_towards(&mut self, mut now: Instant, next: Option<(Instant, usize)>, limit: Instant) -> Result<(), Ended> {
        let until = next.map_or(limit, |(due, _)| due.min(limit));
        if self.told.method.pacing == Pacing::Sleep {
            return Ok(());
        }
        let expecting = self.lanes.iter().any(|lane| lane.requests.waiting() > 0);
        if expecting && now < until.before(QUIET) {
            return Ok(());
        }
        if let Some((_, turn)) = next.filter(|(due, _)| *due < limit) {
            return self.send(turn, Some(until)).map(|_| ());
        }
        while now < until {
            self.links[0].spin(until);
            now = self.links[0].now();
        }
        Ok(())
    }

    /// Departures are over: replies still out are waited for, each until its timeout, unless there is no point.
    fn drain(&mut self, edges: &mut Edges, ended: Ended) -> Ended {
        if ended != Ended::Complete {
            return ended;
        }
        while self.lanes.iter().any(|lane| lane.requests.waiting() > 0) {
            if self.told.stop.requested() {
                // What is still out has no end, so the run has not come to its own.
                return Ended::Stopped;
            }
            if let Err(broken) = self.flush_all() {
                return broken;
            }
            let took = match self.receive_all() {
                Ok(took) => took,
                Err(broken) => return broken,
            };
            let now = self.links[0].now();
            self.expire(now);
            if edges.due(now) {
                // The end has been passed already; seconds still go by.
                let _passed = edges.pass(now, &self.told, &mut self.recorder, &mut self.outlet);
            }
            if !took {
                let until = self.next_expiry().min(now.after(crate::socket::GLANCE));
                L::wait_any(&mut self.links, until);
            }
        }
        ended
    }

    /// What is left of messages that did not fit at once goes on, as far as it can without waiting.
    fn flush_all(&mut self) -> Result<(), Ended> {
        for (link, lane) in self.links.iter_mut().zip(&mut self.lanes).filter(|(_, lane)| lane.blocked) {
            lane.blocked = !link.flush().map_err(Ended::Broken)?;
        }
        Ok(())
    }

    fn plan_stamp(&mut self, now: Instant, edges: &mut Edges) {
        if !edges.stamp_due(now) {
            return;
        }
        let next = match (self.stamp, self.spell) {
            (Stamp::Idle, None) => {
                // The connections in turn; their number has no common factor with the clock.
                let turn = (now.0 / 1_024) as usize % self.lanes.len();
                self.links[turn].stamp_arrivals(true);
                (self.stamp, self.spell) = (Stamp::Announce(turn), Some(turn));
                self.spells.begin(now)
            }
            (Stamp::Idle, Some(turn)) => {
                if self.spells.pauses() {
                    self.links[turn].stamp_arrivals(false);
                }
                self.spell = None;
                self.spells.end(now)
            }
            _ => Spells::look(now),
        };
        edges.set_stamp(next);
    }

    #[cold]
    fn tell(&mut self, turn: usize, request: Request, received: Option<Instant>, fate: Fate) {
        let lane = &self.lanes[turn];
        self.outlet.push(sample(
            lane.index,
            request.seq - lane.base,
            request.intended,
            Some(request.sent),
            received,
            fate,
        ));
    }
}

/// Hands over what is left of a message, until `until` at the most; `true` when nothing is left.
fn push<L: Link>(link: &mut L, until: Instant, stop: &Stop) -> Result<bool, Fault> {
    loop {
        if link.flush()? {
            return Ok(true);
        }
        let now = link.now();
        if now >= until || stop.requested() {
            return Ok(false);
        }
        L::wait_any(std::slice::from_mut(link), until.min(now.after(crate::socket::GLANCE)));
    }
}

/// How a request stands that was given up: where the wire cannot tell a late reply, nothing can come of it any more.
fn given_up<W: Wire>() -> State {
    if W::KNOWS_LATE { State::Lost } else { State::Done }
}

fn stamped(lane: usize, seq: u64, sent: Result<Option<u64>, Fault>, last: bool) -> Stamp {
    match sent {
        Ok(Some(sent)) => Stamp::Await { lane, seq, sent, departure: Departure::default(), last },
        _ => Stamp::Idle,
    }
}
