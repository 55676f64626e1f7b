//! The bulk engine: one connection, one way, as many calls as fit or as a schedule lets go.
//!
//! Between two calls there are two additions and a look at a cheap clock: no allocation, no lock, no log line. Two
//! readings of the exact clock a call are paid only where the durations of calls are kept.

use std::fmt;

use measure::event::Event;
use measure::method::{Method, Pacing, Schedule};
use measure::recorder::EXACT;
use measure::schedule::Due;
use measure::throughput::meter::{MOST, Meter, Metered};
use measure::throughput::{Carried, Interval};
use measure::unit::{Instant, Nanos};
use protocol::bulk::{Bulk, Call};

use super::pacing::Pacer;
use super::{Ended, Outlet};
use crate::stop::{GLANCE, Stop};

/// No interval of the series is shorter: each costs an event.
const SHORTEST: Nanos = Nanos::millis(1);

/// Settings of the engine besides its way.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Schedule of the calls.
    pub schedule: Schedule,
    /// Pacing: the way a scheduled time is waited for.
    pub pacing: Pacing,
    /// True where calls are skipped whose time passed while another went on, or while the thread did not run: fewer
    /// calls, and never several at once.
    pub even: bool,
    /// Seed of the schedule's draws.
    pub seed: u64,
    /// Duration at the start in which payload is not counted.
    pub warm_up: Nanos,
    /// Ends after this time, warm-up not included.
    pub after: Option<Nanos>,
    /// Ends with the call that reaches so many bytes, warm-up not included.
    pub bytes: Option<u64>,
    /// Ends with the call that reaches so many calls, or datagrams, warm-up not included.
    pub calls: Option<u64>,
    /// Length of an interval of the series; at least a millisecond.
    pub interval: Nanos,
    /// Most intervals that are kept; beyond that, each two become one.
    pub intervals: usize,
    /// Most durations of calls that are kept as they are; 0: none is taken.
    pub keeps: usize,
    /// The number of this thread, from 0.
    pub thread: u32,
    /// Set for an early end.
    pub stop: &'a Stop,
    /// Asked about every tenth of a second, with what was carried so far, whether to stop; warm-up included.
    pub halt: Option<Halt<'a>>,
}

/// Question to the caller of a running stream: whether the peer is still there, say. True: stop.
#[derive(Clone, Copy)]
pub struct Halt<'a>(pub &'a dyn Fn(&Carried) -> bool);

impl fmt::Debug for Halt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Halt(…)")
    }
}

impl<'a> Plan<'a> {
    /// As many calls as fit until `stop` is requested, not timed.
    pub fn unbounded(stop: &'a Stop) -> Self {
        Self {
            schedule: Schedule::BackToBack,
            pacing: Pacing::Hybrid,
            even: false,
            seed: 0,
            warm_up: Nanos::ZERO,
            after: None,
            bytes: None,
            calls: None,
            interval: measure::event::INTERVAL,
            intervals: MOST,
            keeps: 0,
            thread: 0,
            stop,
            halt: None,
        }
    }

    /// As `method` says, on thread `thread`, which has an even share of the bytes; `timed`: with the durations of calls.
    pub fn of(method: &Method, thread: u32, timed: bool, interval: Nanos, stop: &'a Stop) -> Self {
        let threads = method.spread.threads.max(1);
        let (number, count) = (u64::from(thread), u64::from(threads));
        Self {
            schedule: method.schedule,
            pacing: method.pacing,
            even: false,
            seed: method.seed,
            warm_up: method.warm_up_ns,
            after: method.stop.after_ns,
            bytes: method.stop.bytes.map(|bytes| bytes.0 / count + u64::from(number < bytes.0 % count)),
            calls: None,
            interval,
            intervals: MOST,
            keeps: if timed { EXACT / threads as usize } else { 0 },
            thread,
            stop,
            halt: None,
        }
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Streamed<B> {
    /// The way, to be closed as the peer expects.
    pub way: B,
    /// Payload carried. Its time ends with the last call: a caller that waits for the rest to arrive sets a later end.
    pub metered: Metered,
    /// Cause of the end; [`Ended::Complete`] also where the sender ended it.
    pub ended: Ended,
}

/// Streams over `way` as `plan` says, on this thread, until it ends. Events go to `outlet`, where there is one.
pub fn run<B: Bulk>(way: B, plan: &Plan<'_>, outlet: Option<Outlet>) -> Streamed<B> {
    let start = way.now();
    let meter = Meter::new(plan.keeps).keeping(plan.intervals);
    let course = Course::new(start, plan);
    let due = Due::new(plan.schedule, start, 0, 1, plan.seed);
    Engine { way, plan, outlet, meter, course, due, pacer: Pacer::new(plan.pacing), owes: false, began: false }
        .run(start)
}

struct Engine<'a, B> {
    way: B,
    plan: &'a Plan<'a>,
    outlet: Option<Outlet>,
    meter: Meter,
    course: Course,
    due: Due<'static>,
    pacer: Pacer,
    /// The call that was due waited in vain: it is made again before the next is due.
    owes: bool,
    /// True once a call was made.
    began: bool,
}

impl<B: Bulk> Engine<'_, B> {
    fn run(mut self, start: Instant) -> Streamed<B> {
        let sight = self.way.begin();
        self.meter.begin(start, sight);
        if self.plan.warm_up == Nanos::ZERO {
            self.tell(Event::Started { thread: self.plan.thread, at: start });
        }
        let paced = self.plan.schedule != Schedule::BackToBack;
        let timed = self.meter.times_calls();
        let (last, last_call) = (self.plan.bytes.unwrap_or(u64::MAX), self.plan.calls.unwrap_or(u64::MAX));
        let ended = loop {
            if paced
                && !self.owes
                && let Err(ended) = self.await_due()
            {
                break ended;
            }
            let now = match self.call(timed) {
                Ok(now) => now,
                Err(ended) => break ended,
            };
            if now >= self.course.next
                && let Some(ended) = self.pass()
            {
                break ended;
            }
            let carried = self.meter.carried();
            if (carried.bytes.0 >= last || carried.calls >= last_call) && self.course.counting {
                break Ended::Complete;
            }
        };
        self.finish(ended)
    }

    /// One call, and what it did. Returns about when it was over.
    #[inline]
    fn call(&mut self, timed: bool) -> Result<Instant, Ended> {
        let before = if timed { self.way.now() } else { Instant(0) };
        let called = self.way.call();
        let now = if timed { self.way.now() } else { self.way.recently() };
        (self.owes, self.began) = (false, true);
        match called {
            Ok(Call::Moved(bytes)) => {
                self.meter.moved(bytes);
                if timed {
                    self.meter.took(before, now);
                }
            }
            Ok(Call::MovedMany { bytes, datagrams }) => {
                self.meter.moved_many(bytes, datagrams);
                if timed {
                    self.meter.took(before, now);
                }
            }
            Ok(Call::Nothing) => self.owes = true,
            Ok(Call::End) => return Err(Ended::Complete),
            Err(fault) if fault.ends_the_run() => return Err(Ended::Broken(fault)),
            // The fault is about an earlier datagram; this one was not sent either.
            Ok(Call::Failed) | Err(_) => self.meter.failed(),
        }
        Ok(now)
    }

    /// Waits for the next scheduled time. Late calls go out at once, unless they are to be skipped: the schedule is not
    /// shifted. The first call that is due within the time is made however late it is: a peer that received nothing
    /// reports nothing.
    fn await_due(&mut self) -> Result<(), Ended> {
        while let Some(at) = self.due.peek() {
            let mut now = self.way.now();
            let wake = self.pacer.wake(at);
            // No further than to the next look: a long interval does not keep the thread from it.
            while now < wake && now < self.course.next {
                let step = wake.min(self.course.next);
                self.way.sleep(step);
                now = self.way.now();
                if step == wake {
                    self.pacer.woke(wake, now);
                }
            }
            while now < at && now >= wake && now < self.course.next {
                self.way.spin(at);
                now = self.way.now();
            }
            if now >= self.course.next
                && let Some(ended) = self.pass()
                && (self.began || ended != Ended::Complete || at >= self.course.end)
            {
                return Err(ended);
            }
            if now >= at {
                break;
            }
        }
        self.due.advance();
        if self.plan.even {
            self.due.skip_to(self.way.now());
        }
        Ok(())
    }

    /// Deals with what is due now: the end of the warm-up, an interval, a look whether to stop.
    #[cold]
    fn pass(&mut self) -> Option<Ended> {
        let now = self.way.now();
        if !self.course.counting && now >= self.course.counts_from {
            self.interval(now);
            self.course.count_from(now, self.plan);
            let sight = self.way.begin();
            self.meter.begin(now, sight);
            self.tell(Event::Started { thread: self.plan.thread, at: now });
        }
        if now >= self.course.edge {
            self.course.edge = super::edge::following(self.course.edge, self.course.interval, now);
            let sight = self.way.sight();
            let interval = self.meter.interval(now, sight);
            self.tell_interval(&interval);
        }
        if now >= self.course.end {
            return Some(Ended::Complete);
        }
        let looks = now >= self.course.glance;
        self.course.settle(now);
        let halted = |halt: Halt<'_>| (halt.0)(self.meter.carried());
        (self.plan.stop.requested() || looks && self.plan.halt.is_some_and(halted)).then_some(Ended::Stopped)
    }

    /// Closes the interval that is cut short now, where anything was carried in it.
    fn interval(&mut self, now: Instant) {
        let sight = self.way.sight();
        if let Some(interval) = self.meter.last_interval(now, sight) {
            self.tell_interval(&interval);
        }
    }

    fn tell_interval(&mut self, interval: &Interval) {
        let interval = Box::new(Interval { omitted: !self.course.counting, ..*interval });
        self.tell(Event::Carried { thread: self.plan.thread, interval });
    }

    fn tell(&mut self, event: Event) {
        if let Some(outlet) = &mut self.outlet {
            outlet.push(event);
        }
    }

    fn finish(mut self, ended: Ended) -> Streamed<B> {
        let now = self.way.now();
        self.interval(now);
        // Cut short in the warm-up: what went through until then was not to be counted.
        if !self.course.counting {
            let sight = self.way.begin();
            self.meter.begin(now, sight);
        }
        let total = self.way.total();
        if let Some(outlet) = self.outlet {
            outlet.finish();
        }
        Streamed { way: self.way, metered: self.meter.finish(now, total), ended }
    }
}

/// The instants at which something besides calling is due; the loop compares with the earliest alone.
#[derive(Clone, Debug)]
struct Course {
    next: Instant,
    glance: Instant,
    edge: Instant,
    interval: Nanos,
    end: Instant,
    counts_from: Instant,
    counting: bool,
}

impl Course {
    fn new(start: Instant, plan: &Plan<'_>) -> Self {
        let counts_from = start.after(plan.warm_up);
        let interval = plan.interval.max(SHORTEST);
        let mut course = Self {
            next: start,
            glance: start.after(GLANCE),
            edge: start.after(interval),
            interval,
            end: Instant::NEVER,
            counts_from,
            counting: false,
        };
        if plan.warm_up == Nanos::ZERO {
            course.count_from(start, plan);
        }
        course.settle(start);
        course
    }

    fn count_from(&mut self, now: Instant, plan: &Plan<'_>) {
        self.counting = true;
        self.edge = now.after(self.interval);
        self.end = plan.after.map_or(Instant::NEVER, |length| now.after(length));
    }

    fn settle(&mut self, now: Instant) {
        if now >= self.glance {
            self.glance = now.after(GLANCE);
        }
        // The warm-up has intervals of its own.
        let warm = if self.counting { Instant::NEVER } else { self.counts_from };
        self.next = self.glance.min(self.edge).min(self.end).min(warm);
    }
}
