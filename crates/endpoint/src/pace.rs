//! Waiting for an instant: the room in which threads sleep.
//!
//! Instants are absolute; nothing here waits relative to "now". The caller's schedule decides what is late.

use measure::unit::{Instant, Nanos};
use rustix::thread::{ClockId, clock_nanosleep_absolute, sched_yield};

/// The margin before anything was seen, as method section 2 starts it.
const START: Nanos = Nanos::micros(60);
/// Never wake later than this before an instant: below it, waking itself takes as long.
const LEAST: Nanos = Nanos::micros(20);
/// Never spin longer than this before an instant.
const MOST: Nanos = Nanos::micros(500);
/// Width of a class of lateness.
const CLASS: u64 = 8_000;
/// Number of wake-ups after which older ones count half: the machine may have changed.
const MEMORY: u32 = 4_096;

/// Sleeps until `until`. Late by the wake-up; never early.
pub fn sleep_until(until: Instant) {
    let request =
        rustix::fs::Timespec { tv_sec: (until.0 / 1_000_000_000) as i64, tv_nsec: (until.0 % 1_000_000_000) as i64 };
    // Interrupted by a signal: the instant is absolute, so simply again.
    while clock_nanosleep_absolute(ClockId::Monotonic, &request) == Err(rustix::io::Errno::INTR) {}
}

/// Sets this thread's timer slack to 1 ns: the default of 50 us would show up whole in every sleep.
pub fn be_punctual() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer, touches no memory of ours and concerns this thread alone. Its only
    // failure is an unknown request on a kernel before 2.6.28, where the slack stays as it was.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Turns of a busy thread after which others of its priority may run: some milliseconds of looking in vain.
const TURNS: u32 = 4_096;

/// Lets others run now and then. A thread that is never without work, or polls, at real-time priority keeps its CPU from all
/// of the same priority for ever: from those too that are to tell it to stop.
#[derive(Debug, Default)]
pub struct Courtesy {
    turns: u32,
}

impl Courtesy {
    /// Counts a turn; now and then others have theirs behind it.
    #[inline]
    pub fn turn(&mut self) {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS) {
            sched_yield();
        }
    }
}

/// Lead of a wake-up over its instant: a high quantile of the lateness of wake-ups seen so far.
#[derive(Clone, Debug)]
pub struct Margin {
    classes: [u32; 64],
    seen: u32,
    width: Nanos,
}

impl Default for Margin {
    fn default() -> Self {
        Self { classes: [0; 64], seen: 0, width: START }
    }
}

impl Margin {
    /// Wake this long before the instant.
    pub fn now(&self) -> Nanos {
        self.width
    }

    /// A wake-up was `late`: what is seen once too late widens the margin at once, what is not seen any more narrows
    /// it slowly.
    pub fn woke(&mut self, late: Nanos) {
        let class = (late.0 / CLASS).min(63) as usize;
        self.classes[class] += 1;
        self.seen += 1;
        if late >= self.width {
            self.width = Nanos(late.0 + late.0 / 4).clamp(LEAST, MOST);
        }
        if self.seen.is_multiple_of(256) {
            self.settle();
        }
    }

    /// The upper edge of the class that holds the 99.9th percentile, and one class of room.
    fn settle(&mut self) {
        let beyond = self.seen / 1_000;
        let mut above = 0;
        let class = (0..64).rev().find(|&class| {
            above += self.classes[class];
            above > beyond
        });
        let edge = (class.unwrap_or(0) as u64 + 2) * CLASS;
        self.width = Nanos(edge).clamp(LEAST, MOST);
        if self.seen >= MEMORY {
            self.classes.iter_mut().for_each(|count| *count /= 2);
            self.seen = self.classes.iter().sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Monotonic;

    #[test]
    fn a_sleep_is_never_early() {
        for _ in 0..20 {
            let until = Monotonic::now().after(Nanos::micros(200));
            sleep_until(until);
            assert!(Monotonic::now() >= until);
        }
    }

    #[test]
    fn a_late_wake_up_widens_the_margin_at_once_and_calm_narrows_it() {
        let mut margin = Margin::default();
        margin.woke(Nanos::micros(180));
        assert_eq!(margin.now(), Nanos::micros(225));
        for _ in 0..20_000 {
            margin.woke(Nanos::micros(5));
        }
        assert_eq!(margin.now(), LEAST);
    }

    #[test]
    fn the_margin_is_bounded() {
        let mut margin = Margin::default();
        margin.woke(Nanos::millis(30));
        assert_eq!(margin.now(), MOST);
    }

    #[test]
    fn one_wake_up_in_a_thousand_may_be_late() {
        let mut margin = Margin::default();
        for n in 0..2_560 {
            margin.woke(if n % 100 == 0 { Nanos::micros(100) } else { Nanos::micros(10) });
        }
        assert!(margin.now() >= Nanos::micros(100), "1 % at 100 us: {}", margin.now());
    }
}
