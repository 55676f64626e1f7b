//! A thread's time on a CPU and its waits for one: read by the thread itself at its start and at its end.
//!
//! A thread that has ended leaves no trace in `/proc`, so it reads its own facts while it lives and hands the
//! difference over with its result. Not here: what is judged of it (`measure::verdict`).

use std::fs;

use measure::unit::{Instant, Nanos};

use crate::clock::Monotonic;

/// A thread's time from the scheduler since it began, and the time of the reading.
///
/// From `/proc/thread-self/schedstat`: nanoseconds on a CPU, nanoseconds ready to run but waiting for one, both since
/// the thread began (kernel documentation, scheduler/sched-stats). The wait of the present moment is not yet in it: a
/// thread that reads this is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Time of the reading, monotonic.
    pub at: Instant,
    /// Time on a CPU, nanoseconds.
    pub ran_ns: Nanos,
    /// Time ready to run but waiting for a CPU, nanoseconds.
    pub waited_ns: Nanos,
}

impl ThreadFacts {
    /// The calling thread's own. `None` where the kernel keeps no scheduler statistics (`CONFIG_SCHED_INFO`) or
    /// `/proc` is not mounted. Opens a file: for the start and the end of a thread, not for its loop.
    pub fn own() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?, Monotonic::now())
    }

    /// Those of the thread `tid` of this process; `None` also where it has ended.
    pub fn of(tid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?, Monotonic::now())
    }

    /// From the text of a `schedstat` file, read at `at`. `None` where it is no such text, or says that nothing was ever
    /// run, which a thread that reads it disproves: statistics are off.
    pub fn parse(text: &str, at: Instant) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let ran = numbers.next()?.ok()?;
        let waited = numbers.next()?.ok()?;
        let slices = numbers.next()?.ok()?;
        (slices > 0).then_some(Self { at, ran_ns: Nanos(ran), waited_ns: Nanos(waited) })
    }

    /// Returns the differences from `earlier`, which the same thread read. `None` where a counter or the clock went
    /// back.
    pub fn since(&self, earlier: &Self) -> Option<ThreadSpan> {
        Some(ThreadSpan {
            watched_ns: self.at.since(earlier.at)?,
            ran_ns: Nanos(self.ran_ns.0.checked_sub(earlier.ran_ns.0)?),
            waited_ns: Nanos(self.waited_ns.0.checked_sub(earlier.waited_ns.0)?),
        })
    }
}

/// A thread's time from the scheduler over a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSpan {
    /// Length of the span, nanoseconds.
    pub watched_ns: Nanos,
    /// Part of the span on a CPU, nanoseconds.
    pub ran_ns: Nanos,
    /// Part of the span ready to run but waiting for a CPU, nanoseconds.
    pub waited_ns: Nanos,
}

impl ThreadSpan {
    /// Share of the time spent waiting for a CPU, 0 to 1; `None` over no time.
    pub fn waited_share(&self) -> Option<f64> {
        (self.watched_ns.0 > 0).then(|| self.waited_ns.0 as f64 / self.watched_ns.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn schedstat_is_read_field_by_field() {
        let facts = ThreadFacts::parse("4821 2631 7\n", Instant(5)).unwrap();
        assert_eq!(facts, ThreadFacts { at: Instant(5), ran_ns: Nanos(4_821), waited_ns: Nanos(2_631) });
    }

    #[test_case(""; "empty")]
    #[test_case("12 13"; "a field short")]
    #[test_case("12 x 3"; "no number")]
    #[test_case("0 0 0"; "statistics off")]
    fn what_is_no_schedstat_is_absent(text: &str) {
        assert_eq!(ThreadFacts::parse(text, Instant(0)), None);
    }

    #[test]
    fn a_share_is_of_the_time_watched() {
        let before = ThreadFacts { at: Instant(100), ran_ns: Nanos(10), waited_ns: Nanos(5) };
        let after = ThreadFacts { at: Instant(1_100), ran_ns: Nanos(700), waited_ns: Nanos(255) };
        assert_eq!(after.since(&before).unwrap().waited_share(), Some(0.25));
        assert_eq!(before.since(&after), None);
        assert_eq!(before.since(&before).unwrap().waited_share(), None);
    }

    #[test]
    fn a_thread_that_works_sees_its_own_time_grow() {
        let before = ThreadFacts::own().expect("this kernel keeps scheduler statistics");
        while Monotonic::now().since(before.at).unwrap() < Nanos::millis(20) {}
        let span = ThreadFacts::own().unwrap().since(&before).unwrap();
        assert!(span.watched_ns >= Nanos::millis(20));
        // The rest of the span would be sleep or steal; it did not sleep. The kernel accounts at ticks and switches, so
        // a read may lag by a tick (10 ms at HZ=100).
        assert!(span.ran_ns.0 + span.waited_ns.0 >= Nanos::millis(8).0, "{span:?}");
        assert!(span.ran_ns.0 + span.waited_ns.0 <= span.watched_ns.0 + Nanos::millis(20).0, "{span:?}");
    }
}
