//! Counts what a stream carries while it runs: two additions a call, and nothing else.
//!
//! An engine owns one [`Meter`] per thread. Nothing here reads a clock or locks; memory is taken beforehand and, now and
//! then, at the end of an interval.

use super::{Carried, Interval};
use crate::method::LoopKind;
use crate::recorder::{Recorder, Recording};
use crate::unit::{Instant, Nanos};

/// Intervals kept; where there are more, each two become one.
const MOST: usize = 1 << 16;

/// The counts of one thread.
#[derive(Clone, Debug)]
pub struct Meter {
    carried: Carried,
    began: Instant,
    edge: Instant,
    at_edge: Carried,
    intervals: Vec<Interval>,
    /// Only where durations are kept: it takes two readings of the clock to have one.
    calls: Option<Box<Recorder>>,
}

impl Meter {
    /// A meter that keeps the duration of as many calls as they came, and of the others to three digits; 0: none at all.
    pub fn new(keeps: usize) -> Self {
        Self {
            carried: Carried::default(),
            began: Instant(0),
            edge: Instant(0),
            at_edge: Carried::default(),
            intervals: Vec::with_capacity(4_096),
            calls: (keeps > 0).then(|| Box::new(Recorder::new(LoopKind::Closed, keeps))),
        }
    }

    /// The stream starts at `now`; what was counted before is forgotten.
    pub fn begin(&mut self, now: Instant) {
        (self.carried, self.at_edge) = (Carried::default(), Carried::default());
        (self.began, self.edge) = (now, now);
        self.intervals.clear();
        if let Some(calls) = &mut self.calls {
            calls.begin(now, None);
        }
    }

    /// A call carried `bytes`.
    #[inline]
    pub fn moved(&mut self, bytes: usize) {
        self.carried.bytes.0 += bytes as u64;
        self.carried.calls += 1;
    }

    /// A call found no room on our own side.
    pub fn failed(&mut self) {
        self.carried.failed_calls += 1;
    }

    /// Whether durations are kept.
    #[inline]
    pub fn times_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// The latest call began at `before` and was over at `after`.
    #[inline]
    pub fn took(&mut self, before: Instant, after: Instant) {
        if let Some(calls) = &mut self.calls {
            calls.answered(before, after);
        }
    }

    /// What was carried so far.
    #[inline]
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// The present interval ends at `now`: what it held.
    pub fn interval(&mut self, now: Instant) -> Interval {
        let interval = Interval {
            at_ns: self.edge.since(self.began).unwrap_or(Nanos::ZERO),
            length_ns: now.since(self.edge).unwrap_or(Nanos::ZERO),
            carried: self.carried.since(&self.at_edge),
        };
        (self.edge, self.at_edge) = (now, self.carried);
        if self.intervals.len() == MOST {
            self.halve();
        }
        self.intervals.push(interval);
        interval
    }

    /// Closes the interval that the end of the stream cuts short; `None` where nothing was carried in it.
    pub fn last_interval(&mut self, now: Instant) -> Option<Interval> {
        (self.carried != self.at_edge).then(|| self.interval(now))
    }

    /// Ends the count at `now`: the last interval is closed too.
    pub fn finish(mut self, now: Instant) -> Metered {
        self.last_interval(now);
        Metered {
            carried: self.carried,
            intervals: vec![self.intervals],
            calls: self.calls.map(|calls| calls.finish(now)),
            began: self.began,
            ended: now,
        }
    }

    fn halve(&mut self) {
        let pairs = self.intervals.chunks_exact(2);
        self.intervals = pairs.map(|pair| pair[0].then(&pair[1])).collect();
        self.intervals.reserve(MOST / 2);
    }
}

/// What was counted, of one thread or of several merged.
#[derive(Clone, Debug)]
pub struct Metered {
    /// All that was carried.
    pub carried: Carried,
    /// The intervals, a list for each thread.
    pub intervals: Vec<Vec<Interval>>,
    /// How long the calls took, where that was asked for.
    pub calls: Option<Recording>,
    /// When it began.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
}

impl Metered {
    /// Adds what another thread of the same stream counted.
    pub fn merge(&mut self, other: Self) {
        self.carried.add(&other.carried);
        self.intervals.extend(other.intervals);
        match (&mut self.calls, other.calls) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
    }

    /// From the beginning to the end.
    pub fn elapsed(&self) -> Nanos {
        self.ended.since(self.began).unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Bytes;

    #[test]
    fn intervals_are_what_came_between_edges_and_the_last_may_be_short() {
        let mut meter = Meter::new(0);
        meter.moved(7);
        meter.begin(Instant(100));
        meter.moved(10);
        meter.moved(20);
        let first = meter.interval(Instant(1_100));
        let carried = Carried { bytes: Bytes(30), calls: 2, failed_calls: 0 };
        assert_eq!(first, Interval { at_ns: Nanos(0), length_ns: Nanos(1_000), carried });
        meter.failed();
        meter.moved(5);
        let metered = meter.finish(Instant(1_200));
        let carried = Carried { bytes: Bytes(5), calls: 1, failed_calls: 1 };
        let last = Interval { at_ns: Nanos(1_000), length_ns: Nanos(100), carried };
        assert_eq!(metered.intervals, [vec![first, last]]);
        assert_eq!(metered.carried, Carried { bytes: Bytes(35), calls: 3, failed_calls: 1 });
        assert_eq!(metered.elapsed(), Nanos(1_100));
    }

    #[test]
    fn an_end_without_anything_since_the_edge_adds_no_interval() {
        let mut meter = Meter::new(0);
        meter.begin(Instant(0));
        meter.moved(1);
        meter.interval(Instant(10));
        assert_eq!(meter.finish(Instant(20)).intervals[0].len(), 1);
    }

    #[test]
    fn more_intervals_than_are_kept_become_longer_ones_that_still_add_up() {
        let mut meter = Meter::new(0);
        meter.begin(Instant(0));
        let count = MOST as u64 * 2 + 3;
        for n in 1..=count {
            meter.moved(3);
            meter.interval(Instant(n * 10));
        }
        let metered = meter.finish(Instant(count * 10));
        let intervals = &metered.intervals[0];
        assert!(intervals.len() <= MOST);
        assert_eq!(intervals.iter().map(|interval| interval.carried.bytes.0).sum::<u64>(), count * 3);
        assert!(intervals.windows(2).all(|pair| pair[0].at_ns.0 + pair[0].length_ns.0 == pair[1].at_ns.0));
    }
}
