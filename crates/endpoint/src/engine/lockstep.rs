//! One request in flight: send, wait, stamp, record. Over one connection, or over several that take turns.
//!
//! This loop measures the cost of a transaction, so it must itself cost least: the choice of the next connection hides
//! behind the next edge.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use measure::event::{Details, Event, Fate};
use measure::recorder::{Recorder, Sequence};
use measure::schedule::Due;
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};

use super::edge::Edges;
use super::pacing::Pacer;
use super::spell::Spells;
use super::split::{Splits, StampedExchange};
use super::turns::Turns;
use super::warm_up::{Trial, WarmUp, Warmed};
use super::{Ended, Flow, Outlet, Run, Told, fate_of, finish, sample};

/// Lost requests remembered, so that a reply that comes after all is reported as late.
const REMEMBERED: usize = 4_096;

/// The engine for a window of one.
#[derive(Debug)]
pub struct Lockstep<'a, L, W> {
    /// The connection in use.
    flow: Flow<L, W>,
    turns: Turns<L, W>,
    told: Told<'a>,
    outlet: Outlet,
    recorder: Recorder,
    splits: Splits,
    spells: Spells,
    /// Without an answer so far, oldest first.
    lost: VecDeque<u64>,
    /// The number of the first recorded request.
    base: u64,
    scheduled: bool,
    sequence: Sequence,
    patience: Patience,
    /// Set by a request without a reply, until one comes: until then the loop looks up at each edge.
    silent: bool,
}

/// Time that a reply is waited for.
#[derive(Clone, Copy, Debug)]
struct Patience {
    timeout: Nanos,
    /// No reply is waited for any longer.
    last_call: Instant,
}

impl Patience {
    #[inline]
    fn until(self, sent: Instant) -> Instant {
        sent.after(self.timeout).min(self.last_call)
    }
}

/// Result of one request.
#[derive(Clone, Copy)]
enum Answer {
    Sound,
    /// Sound, but after the timeout: a wait may end later than its limit.
    Late,
    Corrupt,
    /// An ICMP error or a reset says that no reply will come.
    Refused,
    Nothing,
    Fault(Fault),
}

impl<'a, L: Link, W: Wire> Lockstep<'a, L, W> {
    /// An engine for `flows`, at least one.
    ///
    /// # Panics
    /// Without a flow.
    pub fn new(mut flows: Vec<Flow<L, W>>, told: Told<'a>, outlet: Outlet) -> Self {
        for flow in &mut flows {
            flow.wire.open(&mut flow.request);
        }
        let flow = flows.swap_remove(0);
        let mut recorder = Recorder::new(told.method.loop_kind(), told.exact_in_succession());
        recorder.over(flow.index);
        let turns = Turns::new(flow.index, flows, told.turn(), told.method.seed);
        let scheduled = told.method.schedule.has_instants();
        let patience = Patience { timeout: told.method.timeout_ns, last_call: Instant::NEVER };
        Self {
            flow,
            turns,
            told,
            outlet,
            recorder,
            splits: Splits::default(),
            spells: Spells::new(Instant(0), None),
            lost: VecDeque::new(),
            base: 0,
            scheduled,
            sequence: Sequence::default(),
            patience,
            silent: false,
        }
    }

    /// Runs to the end.
    pub fn run(mut self) -> Run {
        let warmed = match self.warm_up() {
            Ok(warmed) => warmed,
            Err(ended) => {
                let now = self.flow.link.now();
                self.recorder.begin(now, None);
                return finish(self.told.thread, self.recorder, Vec::new(), now, self.splits, ended, self.outlet);
            }
        };
        let start = self.flow.link.now();
        self.recorder.begin(start, warmed.first);
        self.outlet.push(Event::Started { thread: self.told.thread, at: start });
        let (ended, at) = self.record(start);
        let flows = self.turns.counts(self.recorder.counts());
        let run = finish(self.told.thread, self.recorder, flows, at, self.splits, ended, self.outlet);
        Run { warmed, ..run }
    }

    fn warm_up(&mut self) -> Result<Warmed, Ended> {
        let start = self.flow.link.now();
        let Some(mut warm_up) = WarmUp::new(start, &self.told) else { return Ok(Warmed::default()) };
        let edges = Edges::new(start.after(Nanos::secs(86_400)), &self.told);
        let mut pacer = Pacer::new(self.told.method.pacing);
        loop {
            if self.told.stop.requested() {
                return Err(Ended::Stopped);
            }
            pacer.keep(&mut self.flow.link, warm_up.due(), &edges);
            let (sent, answer) = self.exchange(self.base, Flags::WARM_UP);
            let now = self.flow.link.received();
            let trial = match answer {
                Answer::Sound => Trial::Answered(now.since(sent)),
                Answer::Late | Answer::Corrupt | Answer::Refused | Answer::Nothing => Trial::Unanswered,
                Answer::Fault(fault) => Trial::Fault(fault),
            };
            // The other results mean that a reply came, or none will: the next reply is not theirs.
            if matches!(answer, Answer::Nothing) {
                self.forget(self.base);
            }
            self.base += 1;
            self.next_turn();
            if !warm_up.goes_on(trial, now).map_err(Ended::Broken)? {
                return Ok(warm_up.warmed());
            }
        }
    }

    /// The measuring loop. Returns why it ended, and when.
    fn record(&mut self, start: Instant) -> (Ended, Instant) {
        let mut edges = Edges::new(start, &self.told);
        self.patience.last_call = edges.last_call();
        self.spells = Spells::new(start, self.told.method.traffic.stamps());
        edges.set_stamp(self.spells.due());
        let mut due = Due::new(self.told.method.schedule, start, 0, 1, self.told.method.seed);
        let mut pacer = Pacer::new(self.told.method.pacing);
        let last = self.told.share_of_count().map_or(u64::MAX, |count| self.base + count);
        let scheduled = self.scheduled;
        let mut seq = self.base;
        while seq < last {
            let mut intended = None;
            if scheduled {
                match self.await_due(&mut pacer, &mut due, &mut edges) {
                    Ok(at) => intended = at,
                    Err(ended) => return (ended, self.flow.link.now()),
                }
            }
            let (sent, answer) = self.exchange(seq, Flags::NONE);
            let received = self.flow.link.received();
            // The usual case alone is kept short.
            if matches!(answer, Answer::Sound) && !edges.any_due(received) {
                self.answered(seq, intended, sent, received);
                seq += 1;
                continue;
            }
            // No wait is longer than the timeout without an edge in it: only there can a reply have come too late.
            let at_edge = edges.any_due(received);
            match if at_edge { self.in_time(answer, sent, received) } else { answer } {
                Answer::Sound => self.answered(seq, intended, sent, received),
                other => {
                    if let Some(ended) = self.missed(other, seq, intended, sent) {
                        return (ended, received);
                    }
                    // One that is refused passes no edge, and the next reply ends the silence.
                    edges.look_up(received);
                }
            }
            seq += 1;
            if at_edge {
                if let Some(ended) = edges.pass(received, &self.told, &mut self.recorder, &mut self.outlet) {
                    return (ended, received);
                }
                if edges.stamp_due(received)
                    && let Some(ended) = self.stamp_some(&mut seq, last, &mut pacer, &mut due, &mut edges)
                {
                    return (ended, self.flow.link.now());
                }
                if edges.turn_over(received, self.turns.length) {
                    self.next_turn();
                }
                // The wait for what did not come passed an edge: the next reply is looked at as well.
                if self.silent {
                    edges.look_up(received);
                }
            }
        }
        (Ended::Complete, self.flow.link.now())
    }

    /// Records an exchange that was answered in time.
    #[inline]
    fn answered(&mut self, seq: u64, intended: Option<Instant>, sent: Instant, received: Instant) {
        self.recorder.answered(sent, received);
        if self.told.samples {
            self.tell(seq, intended, sent, Some(received), Fate::Answered);
        }
    }

    /// The next connection is used from here on; of one alone the same.
    #[cold]
    fn next_turn(&mut self) {
        self.turns.next(&mut self.flow, &mut self.lost, self.recorder.counts());
        self.recorder.over(self.flow.index);
    }

    /// Waits for the next due instant; ticks that went by while the last reply was out are missed, and counted.
    fn await_due(&mut self, pacer: &mut Pacer, due: &mut Due<'_>, edges: &mut Edges) -> Result<Option<Instant>, Ended> {
        let mut now = self.flow.link.now();
        let missed = due.skip_to(now);
        if missed > 0 {
            self.recorder.ticks_missed(missed);
        }
        let at = due.peek();
        while let Some(at) = at.filter(|at| now < *at) {
            now = pacer.keep(&mut self.flow.link, at, edges);
            if edges.due(now) {
                if let Some(ended) = edges.pass(now, &self.told, &mut self.recorder, &mut self.outlet) {
                    return Err(ended);
                }
                if self.silent {
                    edges.look_up(now);
                }
            }
        }
        due.advance();
        Ok(at)
    }

    /// One request and the wait for its answer; the send stamp is the last thing before the send call.
    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    fn exchange(&mut self, seq: u64, flags: Flags) -> (Instant, Answer) {
        self.flow.wire.prepare(&mut self.flow.request, seq, flags);
        if let Err(fault) = self.flow.link.ready() {
            return (self.flow.link.now(), Answer::Fault(fault));
        }
        let sent = self.flow.link.now();
        if let Err(fault) = self.flow.link.send(self.flow.wire.prepared(&self.flow.request)) {
            return (sent, Answer::Fault(fault));
        }
        (sent, self.await_answer(seq, self.patience.until(sent)))
    }

    /// The answer, late where it came after its timeout: a coarse wait may have ended after it. The first after one that did not come is noted.
    #[cold]
    fn in_time(&mut self, answer: Answer, sent: Instant, received: Instant) -> Answer {
        match answer {
            Answer::Sound if received > sent.after(self.patience.timeout) => Answer::Late,
            Answer::Sound if self.silent => {
                self.recorder.heard(received);
                self.silent = false;
                Answer::Sound
            }
            other => other,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    fn await_answer(&mut self, seq: u64, until: Instant) -> Answer {
        let Flow { link, wire, request, reply, expected, .. } = &mut self.flow;
        match link.receive(reply, until) {
            Ok(Some(length)) => {
                let whole = expected.is_none_or(|expected| expected == length);
                if whole && wire.answers(request, &reply[..length]) {
                    return Answer::Sound;
                }
                self.look_closer(length, seq, until)
            }
            Ok(None) => Answer::Nothing,
            Err(fault) => Answer::Fault(fault),
        }
    }

    /// Reads the kind of a message of `length`; the wait continues where it was not the answer.
    #[cold]
    #[inline(never)]
    fn look_closer(&mut self, mut length: usize, seq: u64, until: Instant) -> Answer {
        loop {
            match self.flow.read(length, self.oldest(seq)) {
                Reading::Reply(number) if number == seq => return Answer::Sound,
                Reading::Refused(number) if number == seq => return Answer::Refused,
                Reading::Corrupt(number) if number.is_none_or(|number| number == seq) => return Answer::Corrupt,
                other => self.unexpected(other, seq),
            }
            if self.is_out_of_time(until) {
                return Answer::Nothing;
            }
            length = match self.flow.link.receive(&mut self.flow.reply, until) {
                Ok(Some(length)) => length,
                Ok(None) => return Answer::Nothing,
                Err(fault) => return Answer::Fault(fault),
            };
        }
    }

    /// A peer that floods us always has something to be read: the link alone would never give up.
    fn is_out_of_time(&self, until: Instant) -> bool {
        self.flow.link.now() >= until || self.told.stop.requested()
    }

    /// Handles a message that is not the answer awaited: late, a duplicate, or a stray.
    #[cold]
    fn unexpected(&mut self, reading: Reading, seq: u64) {
        // A refusal that comes too late is a late reply too: somebody asked for it.
        let (Reading::Reply(number) | Reading::Refused(number)) = reading else { return self.recorder.stray() };
        if self.base <= number && number < seq {
            self.recorder.heard(self.flow.link.now());
        }
        if let Some(place) = self.lost.iter().position(|lost| *lost == number) {
            self.lost.remove(place);
            if number >= self.base {
                self.recorder.came_late();
            }
        } else if number < seq {
            if number >= self.base {
                self.recorder.duplicated();
            }
        } else {
            self.recorder.stray();
        }
    }

    /// A request ended without an answer. `Some`: so does the run.
    #[cold]
    fn missed(&mut self, answer: Answer, seq: u64, intended: Option<Instant>, sent: Instant) -> Option<Ended> {
        let fate = match answer {
            Answer::Nothing => Fate::Lost,
            Answer::Late => Fate::Late,
            Answer::Corrupt | Answer::Sound => Fate::Corrupt,
            Answer::Refused => Fate::Refused,
            Answer::Fault(fault) => fate_of(fault),
        };
        if fate == Fate::Lost {
            if self.told.stop.requested() {
                // Stopped while waiting: whether it would have been answered is not known, so it is not counted.
                return Some(Ended::Stopped);
            }
            self.forget(seq);
        }
        self.recorder.ended(fate, &mut self.sequence, seq - self.base, super::slip(intended, sent));
        self.recorder.heard_until(sent);
        // A peer that says that it did nothing is heard.
        if matches!(answer, Answer::Refused) {
            self.recorder.heard(self.flow.link.now());
        } else {
            self.recorder.unanswered(fate, sent);
        }
        self.silent = true;
        if fate.is_reply() {
            self.recorder.heard(self.flow.link.now());
        }
        if self.told.samples {
            let sent = (fate != Fate::SendFailed).then_some(sent);
            let details = self.flow.link.details();
            let unread = matches!(answer, Answer::Nothing | Answer::Fault(_));
            let details = if unread { details.map(Details::without_reply) } else { details };
            self.outlet.push(sample(self.flow.index, seq - self.base, intended, sent, None, fate, details));
        }
        match answer {
            Answer::Fault(fault) if fault.ends_the_run() => Some(Ended::Broken(fault)),
            Answer::Fault(fault) => super::refusals_end(&self.told, self.recorder.counts(), fault),
            _ => None,
        }
    }

    /// Gives a request up: its reply counts as late where it comes after all, and where the wire can recognise it.
    fn forget(&mut self, seq: u64) {
        if !W::KNOWS_LATE {
            return;
        }
        if self.lost.len() == REMEMBERED {
            self.lost.pop_front();
        }
        self.lost.push_back(seq);
    }

    /// The oldest request without an answer while `seq` is out: what a wire without numbers takes the next reply for.
    fn oldest(&self, seq: u64) -> u64 {
        self.lost.front().copied().unwrap_or(seq)
    }

    #[cold]
    fn tell(&mut self, seq: u64, intended: Option<Instant>, sent: Instant, received: Option<Instant>, fate: Fate) {
        let details = self.flow.link.details();
        self.outlet.push(sample(self.flow.index, seq - self.base, intended, Some(sent), received, fate, details));
    }

    /// A spell of stamped exchanges. `Some`: the run is over.
    #[cold]
    fn stamp_some(
        &mut self,
        seq: &mut u64,
        last: u64,
        pacer: &mut Pacer,
        due: &mut Due<'_>,
        edges: &mut Edges,
    ) -> Option<Ended> {
        self.spells.begin(self.flow.link.now());
        self.flow.link.stamp_arrivals(true);
        let mut ended = None;
        while *seq + 1 < last {
            match self.stamped_pair(seq, pacer, due, edges) {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(why) => {
                    ended = why;
                    break;
                }
            }
        }
        if self.spells.pauses() {
            self.flow.link.stamp_arrivals(false);
        }
        edges.set_stamp(self.spells.end(self.flow.link.now()));
        ended
    }

    /// Two exchanges: one that announces to the peer that the next is stamped, and the stamped one. Both are recorded
    /// like any other. `Break`: the spell is over, and so is the run where it says why.
    fn stamped_pair(
        &mut self,
        seq: &mut u64,
        pacer: &mut Pacer,
        due: &mut Due<'_>,
        edges: &mut Edges,
    ) -> ControlFlow<Option<Ended>> {
        let mut is_last = false;
        for stamped in [false, true] {
            let mut intended = None;
            if self.scheduled {
                match self.await_due(pacer, due, edges) {
                    Ok(at) => intended = at,
                    Err(ended) => return ControlFlow::Break(Some(ended)),
                }
            }
            // A stamped exchange is judged and recorded before its stamps are collected.
            let (sent, received, answer) = if stamped {
                is_last = self.spells.is_last(self.flow.link.now());
                let ends = if is_last && self.spells.pauses() { Flags::LAST_STAMPED } else { Flags::NONE };
                let (sent, received, answer) = self.exchange_stamped(*seq, Flags::STAMPED.with(ends));
                (sent, received.unwrap_or_else(|| self.flow.link.now()), answer)
            } else {
                let (sent, answer) = self.exchange(*seq, Flags::ANNOUNCE);
                let received = self.flow.link.now();
                (sent, received, self.in_time(answer, sent, received))
            };
            match answer {
                Answer::Sound => {
                    if !stamped {
                        self.recorder.answered(sent, received);
                    }
                    if self.told.samples {
                        self.tell(*seq, intended, sent, Some(received), Fate::Answered);
                    }
                }
                other => {
                    let ended = self.missed(other, *seq, intended, sent);
                    *seq += 1;
                    return ControlFlow::Break(ended);
                }
            }
            *seq += 1;
        }
        if is_last { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
    }

    /// An exchange of which the kernels of both ends tell when it passed. Records it too, before its stamps are
    /// collected; gives when it was sent and answered.
    fn exchange_stamped(&mut self, seq: u64, flags: Flags) -> (Instant, Option<Instant>, Answer) {
        self.flow.link.departure();
        self.flow.wire.prepare(&mut self.flow.request, seq, flags);
        if let Err(fault) = self.flow.link.ready() {
            return (self.flow.link.now(), None, Answer::Fault(fault));
        }
        let sent = self.flow.link.now();
        let at = match self.flow.link.send_stamped(self.flow.wire.prepared(&self.flow.request)) {
            Ok(at) => at,
            Err(fault) => return (sent, None, Answer::Fault(fault)),
        };
        let until = self.patience.until(sent);
        loop {
            let reply = match self.flow.link.receive_stamped(&mut self.flow.reply, until) {
                Ok(Some(reply)) => reply,
                Ok(None) => return (sent, None, Answer::Nothing),
                Err(fault) => return (sent, None, Answer::Fault(fault)),
            };
            let received = self.flow.link.now();
            match self.flow.read(reply.length, self.oldest(seq)) {
                Reading::Reply(number) if number == seq => {
                    let answer = self.in_time(Answer::Sound, sent, received);
                    if !matches!(answer, Answer::Sound) {
                        return (sent, Some(received), answer);
                    }
                    self.recorder.answered(sent, received);
                    if let (Some(at), Some(round_trip)) = (at, received.since(sent)) {
                        let departure = self.flow.link.departure();
                        let peer = self.flow.wire.peer_stamps(&self.flow.reply[..reply.length]);
                        // The first of a spell may come before the kernel stamps.
                        if reply.kernel.is_none() {
                            return (sent, Some(received), Answer::Sound);
                        }
                        self.spells.stamped();
                        let settled = self.splits.add(StampedExchange { sent: at, departure, reply, peer, round_trip });
                        if let Some(parts) = settled.filter(|_| self.told.samples) {
                            self.outlet.push(Event::Split(parts));
                        }
                    }
                    return (sent, Some(received), Answer::Sound);
                }
                Reading::Refused(number) if number == seq => return (sent, Some(received), Answer::Refused),
                Reading::Corrupt(number) if number.is_none_or(|number| number == seq) => {
                    return (sent, Some(received), Answer::Corrupt);
                }
                other => self.unexpected(other, seq),
            }
            if self.is_out_of_time(until) {
                return (sent, None, Answer::Nothing);
            }
        }
    }
}
