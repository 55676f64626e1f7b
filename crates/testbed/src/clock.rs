//! A clock that goes only where it is told to: virtual time, shared by all that hold a copy.
//!
//! Two times are told apart. *True* time is what the path runs on and never goes back. The *reading* is what
//! [`Clock::now`] returns: true time less all steps back that were injected so far. Without steps they are the same.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use measure::clock::Clock;
use measure::unit::{Instant, Nanos};

/// Calls without time passing after which a loop is taken for one that would never end.
const STANDSTILL: u64 = 10_000_000;

/// A virtual clock. Copies are hands of the same clock.
#[derive(Clone, Debug)]
pub struct VirtualClock(Rc<Works>);

#[derive(Debug)]
struct Works {
    start: Instant,
    now: Cell<Instant>,
    tick: Cell<Nanos>,
    still: Cell<u64>,
    /// Steps back of the reading: the instant in true time, and the length, in order of time.
    steps: RefCell<Vec<(Instant, Nanos)>>,
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl VirtualClock {
    /// A clock at 1000 s: far enough from 0 that going back before the start is no special case.
    pub fn new() -> Self {
        Self::starting(Instant(1_000_000_000_000))
    }

    /// A clock at `start`.
    pub fn starting(start: Instant) -> Self {
        Self(Rc::new(Works {
            start,
            now: Cell::new(start),
            tick: Cell::new(Nanos::ZERO),
            still: Cell::new(0),
            steps: RefCell::new(Vec::new()),
        }))
    }

    /// The same clock, whose every reading takes `tick` of true time: what reading a clock costs, and what makes a
    /// loop end that does nothing but read it.
    #[must_use]
    pub fn ticking(self, tick: Nanos) -> Self {
        self.0.tick.set(tick);
        self
    }

    /// The same clock, which goes back by `by` when `after` of true time has passed since its start.
    #[must_use]
    pub fn stepping_back(self, after: Nanos, by: Nanos) -> Self {
        let mut steps = self.0.steps.borrow_mut();
        steps.push((self.0.start.after(after), by));
        steps.sort_by_key(|step| step.0);
        drop(steps);
        self
    }

    /// True time when the clock was made.
    pub fn start(&self) -> Instant {
        self.0.start
    }

    /// True time, which never goes back. Asking takes none of it.
    pub fn true_now(&self) -> Instant {
        self.0.now.get()
    }

    /// True time since the clock was made.
    pub fn elapsed(&self) -> Nanos {
        Nanos(self.true_now().0 - self.0.start.0)
    }

    /// Lets time pass until true time is `at`; an instant in the past changes nothing.
    ///
    /// # Panics
    /// At [`Instant::NEVER`]: nothing would ever happen again.
    pub fn pass_until(&self, at: Instant) {
        assert!(at != Instant::NEVER, "waiting for ever: no message is under way and no instant was given");
        if at > self.0.now.get() {
            self.0.now.set(at);
            self.0.still.set(0);
        }
    }

    /// Lets `span` of true time pass.
    pub fn pass(&self, span: Nanos) {
        self.pass_until(self.true_now().after(span));
    }

    /// The first instant of true time, not before the present one, at which the clock reads `reading` or later.
    pub fn true_instant_of(&self, reading: Instant) -> Instant {
        if reading == Instant::NEVER {
            return Instant::NEVER;
        }
        let now = self.true_now();
        let steps = self.0.steps.borrow();
        let mut behind = Nanos::ZERO;
        let mut since = Instant(0);
        for &(at, by) in steps.iter() {
            // The reading reached before this step, in the stretch that begins at the step before.
            let reached = reading.after(behind).max(since).max(now);
            if reached < at {
                return reached;
            }
            behind = Nanos(behind.0 + by.0);
            since = at;
        }
        reading.after(behind).max(since).max(now)
    }

    /// Counts a call that lets no time pass.
    ///
    /// # Panics
    /// Panics once time has stood still for ten million calls: the loop under test would not end on a real clock either, or
    /// it polls and needs a clock that ticks ([`VirtualClock::ticking`]) or polls that take time.
    pub fn stand_still(&self) {
        let still = self.0.still.get() + 1;
        self.0.still.set(still);
        assert!(still < STANDSTILL, "virtual time stands still at {} after the start", self.elapsed());
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        let now = self.true_now();
        let steps = self.0.steps.borrow();
        let behind = steps.iter().take_while(|(at, _)| *at <= now).map(|(_, by)| by.0).sum();
        match self.0.tick.get() {
            Nanos::ZERO => self.stand_still(),
            tick => self.pass(tick),
        }
        now.before(Nanos(behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant(ns)
    }

    #[test]
    fn time_passes_only_when_told_and_for_all_copies() {
        let clock = VirtualClock::starting(at(100));
        let copy = clock.clone();
        assert_eq!((clock.now(), clock.now()), (at(100), at(100)));
        copy.pass(Nanos(7));
        assert_eq!(clock.now(), at(107));
        clock.pass_until(at(50));
        assert_eq!((clock.now(), clock.elapsed()), (at(107), Nanos(7)));
    }

    #[test]
    fn a_reading_costs_its_tick_afterwards() {
        let clock = VirtualClock::starting(at(0)).ticking(Nanos(25));
        assert_eq!((clock.now(), clock.now(), clock.true_now()), (at(0), at(25), at(50)));
    }

    #[test]
    fn a_step_back_is_read_and_true_time_goes_on() {
        let clock = VirtualClock::starting(at(1_000)).stepping_back(Nanos(500), Nanos(300));
        clock.pass(Nanos(499));
        assert_eq!(clock.now(), at(1_499));
        clock.pass(Nanos(1));
        assert_eq!((clock.now(), clock.true_now()), (at(1_200), at(1_500)));
    }

    #[test]
    fn a_reading_is_found_in_true_time_on_either_side_of_a_step() {
        let clock = VirtualClock::starting(at(1_000)).stepping_back(Nanos(500), Nanos(300));
        assert_eq!(clock.true_instant_of(at(1_400)), at(1_400));
        assert_eq!(clock.true_instant_of(at(1_600)), at(1_900), "the clock has stepped back before it reads so late");
        clock.pass(Nanos(500));
        assert_eq!(clock.true_instant_of(at(1_400)), at(1_700), "read a second time");
        assert_eq!(clock.true_instant_of(at(1_100)), at(1_500), "has been read already: now");
        assert_eq!(clock.true_instant_of(Instant::NEVER), Instant::NEVER);
    }

    #[test]
    #[should_panic(expected = "waiting for ever")]
    fn waiting_for_ever_is_a_fault_of_the_test() {
        VirtualClock::new().pass_until(Instant::NEVER);
    }

    #[test]
    #[should_panic(expected = "virtual time stands still")]
    fn a_loop_that_lets_no_time_pass_ends_in_a_panic() {
        let clock = VirtualClock::new();
        let end = clock.start().after(Nanos(1));
        while clock.now() < end {}
    }
}
