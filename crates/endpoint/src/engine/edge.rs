//! The next instant at which a measuring loop has to look up from its exchanges.

use measure::event::Event;
use measure::recorder::Recorder;
use measure::statistics::settled::{LOOKED_AT, Watch};
use measure::unit::{Instant, Nanos};

use super::{Ended, Outlet, Told};
use crate::stop::GLANCE;

/// From one question whether a quantile that ends the run is known to the next, whatever the interval of the series.
const WATCH: Nanos = Nanos::millis(100);
/// No interval of the series is shorter: each costs an event.
const SHORTEST: Nanos = Nanos::millis(1);

/// The instants at which something besides exchanging is due; the loop compares its stamps with the earliest alone.
#[derive(Clone, Debug)]
pub struct Edges {
    /// The earliest of all but the stamp: what ends a wait.
    next: Instant,
    /// The earliest of all: what a loop compares with after an exchange.
    first: Instant,
    interval: Nanos,
    second: Instant,
    watch: Instant,
    glance: Instant,
    /// From one glance to the next: never longer than a request's timeout.
    grain: Nanos,
    stamp: Instant,
    /// Start of the next connection's turn.
    turn: Instant,
    end: Instant,
    /// End of the wait for replies.
    last_call: Instant,
    /// Watches the quantile of `--until`, on one thread for all.
    settling: Option<Watch>,
}

impl Edges {
    /// Edges of a run that starts at `start`.
    pub fn new(start: Instant, told: &Told<'_>) -> Self {
        let end = told.method.stop.after_ns.map_or(Instant::NEVER, |length| start.after(length));
        let grain = GLANCE.min(told.method.timeout_ns);
        let interval = told.interval.max(SHORTEST);
        let settling = told.method.stop.settled.filter(|_| told.thread == 0).map(Watch::new);
        let mut edges = Self {
            next: start,
            first: start,
            interval,
            second: start.after(interval),
            watch: if settling.is_some() { start.after(WATCH) } else { Instant::NEVER },
            grain,
            glance: start.after(grain),
            stamp: Instant::NEVER,
            turn: told.turn().map_or(Instant::NEVER, |length| start.after(length)),
            end,
            last_call: told.method.stop.linger_ns.map_or(Instant::NEVER, |linger| end.after(linger)),
            settling,
        };
        edges.settle();
        edges
    }

    /// Returns true where something is due at `now`, a stamped exchange included.
    #[inline]
    pub fn any_due(&self, now: Instant) -> bool {
        now >= self.first
    }

    /// Returns true where something is due at `now` that ends a wait.
    #[inline]
    pub fn due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// The earliest that ends a wait: none may last longer.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// End of the run by time; [`Instant::NEVER`] where it has none.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// End of the wait for replies, where the run ends by time.
    pub fn last_call(&self) -> Instant {
        self.last_call
    }

    /// Deals with what is due at `now`: closes seconds, looks whether to stop. `Some`: the run is over.
    #[cold]
    pub fn pass(
        &mut self,
        now: Instant,
        told: &Told<'_>,
        recorder: &mut Recorder,
        outlet: &mut Outlet,
    ) -> Option<Ended> {
        let mut ended = None;
        if now >= self.second {
            let second = recorder.second(now);
            outlet.push(Event::Second { thread: told.thread, second });
            self.second = following(self.second, self.interval, now);
        }
        if now >= self.watch {
            self.watch = following(self.watch, WATCH, now);
            if self
                .settling
                .as_mut()
                .is_some_and(|watch| watch.is_enough(recorder.response(), || recorder.latest(LOOKED_AT)))
            {
                told.settled.request();
            }
        }
        if now >= self.glance {
            self.glance = now.after(self.grain);
            if told.settled.requested() {
                ended = Some(Ended::Complete);
            }
            if told.stop.requested() {
                ended = Some(Ended::Stopped);
            }
        }
        if now >= self.end {
            ended = Some(Ended::Complete);
        }
        self.settle();
        ended
    }

    /// From `at` on stamps have to be looked after.
    pub fn set_stamp(&mut self, at: Instant) {
        self.stamp = at;
        self.settle();
    }

    /// True where the turn of the connection in use is over at `now`; then the next one lasts `length`.
    pub fn turn_over(&mut self, now: Instant, length: Nanos) -> bool {
        let over = now >= self.turn;
        if over {
            self.turn = now.after(length);
            self.settle();
        }
        over
    }

    /// The loop looks up after its next exchange, whatever is due.
    pub fn look_up(&mut self, now: Instant) {
        self.first = now;
    }

    /// Returns true where stamps are due to be read at `now`.
    pub fn stamp_due(&self, now: Instant) -> bool {
        now >= self.stamp
    }

    fn settle(&mut self) {
        self.next = self.second.min(self.watch).min(self.glance).min(self.end);
        self.first = self.next.min(self.stamp).min(self.turn);
    }
}

/// The first instant after `now` on the grid of `step` that `due` lies on: intervals missed in a stall become one.
pub(crate) fn following(due: Instant, step: Nanos, now: Instant) -> Instant {
    let behind = now.since(due).unwrap_or(Nanos::ZERO).0 / step.0;
    due.after(Nanos(step.0.saturating_mul(behind + 1)))
}
