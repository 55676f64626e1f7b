//! Counts the payload of a stream while it runs: two additions a call, and nothing else.
//!
//! An engine owns one [`Meter`] per thread. Nothing here reads a clock or locks; memory is taken at the start and, now and
//! then, at the end of an interval.

use super::{Carried, Interval, Sight};
use crate::method::LoopKind;
use crate::recorder::{Recorder, Recording};
use crate::unit::{Instant, Nanos};

/// Intervals kept where nobody chose another number; where there are more, each two become one.
pub const MOST: usize = 1 << 16;
/// Intervals that there is room for from the start.
const ROOM: usize = 4_096;

/// The counts of one thread.
#[derive(Clone, Debug)]
pub struct Meter {
    carried: Carried,
    began: Instant,
    edge: Instant,
    at_edge: Carried,
    /// State of the way at the last edge, and at the beginning of the count.
    seen: Sight,
    seen_at_start: Sight,
    /// Payload before the count began.
    omitted: Carried,
    intervals: Vec<Interval>,
    /// Intervals kept at most; even.
    most: usize,
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
            seen: Sight::default(),
            seen_at_start: Sight::default(),
            omitted: Carried::default(),
            intervals: Vec::with_capacity(ROOM),
            most: MOST,
            calls: (keeps > 0).then(|| Box::new(Recorder::new(LoopKind::Closed, keeps))),
        }
    }

    /// The same that keeps no more than `most` intervals, and two at least.
    #[must_use]
    pub fn keeping(self, most: usize) -> Self {
        let most = (most.max(2)) & !1;
        Self { intervals: Vec::with_capacity(ROOM.min(most)), most, ..self }
    }

    /// Starts the count at `now`; earlier counts become the warm-up's, and `seen` is the state of the way then.
    pub fn begin(&mut self, now: Instant, seen: Sight) {
        self.omitted.add(&self.carried);
        (self.seen, self.seen_at_start) = (seen, seen);
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

    /// A call carried `datagrams` of `bytes` in all.
    #[inline]
    pub fn moved_many(&mut self, bytes: usize, datagrams: usize) {
        self.carried.bytes.0 += bytes as u64;
        self.carried.calls += datagrams as u64;
    }

    /// A call found no room on our own side.
    pub fn failed(&mut self) {
        self.carried.failed_calls += 1;
    }

    /// Returns true where durations are kept.
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

    /// Returns the payload so far.
    #[inline]
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Ends the present interval at `now`, with `sight` as the state of the way, and returns it.
    pub fn interval(&mut self, now: Instant, sight: Sight) -> Interval {
        let within = sight.since(&self.seen);
        let interval = Interval {
            at_ns: self.edge.since(self.began).unwrap_or(Nanos::ZERO),
            length_ns: now.since(self.edge).unwrap_or(Nanos::ZERO),
            carried: self.carried.since(&self.at_edge),
            tcp: sight.tcp,
            datagrams: within.datagrams,
            frames: within.frames,
            omitted: false,
        };
        (self.edge, self.at_edge, self.seen) = (now, self.carried, sight);
        if self.intervals.len() == self.most {
            self.halve();
        }
        self.intervals.push(interval);
        interval
    }

    /// Closes the interval that the end of the stream cuts short; `None` where nothing was carried in it.
    pub fn last_interval(&mut self, now: Instant, sight: Sight) -> Option<Interval> {
        (self.carried != self.at_edge).then(|| self.interval(now, sight))
    }

    /// Ends the count at `now`, when the way knows `sight`: the last interval is closed too. Transit times of the whole are
    /// in the sight of a total.
    pub fn finish(mut self, now: Instant, sight: Sight) -> Metered {
        self.last_interval(now, sight);
        let stream = StreamCount {
            carried: self.carried,
            intervals: self.intervals,
            sight: sight.since(&self.seen_at_start),
            omitted: self.omitted,
            omitted_sight: self.seen_at_start,
            began: self.began,
            ended: now,
        };
        Metered {
            carried: self.carried,
            streams: vec![stream],
            calls: self.calls.map(|calls| calls.finish(now)),
            began: self.began,
            ended: now,
        }
    }

    fn halve(&mut self) {
        let pairs = self.intervals.chunks_exact(2);
        self.intervals = pairs.map(|pair| pair[0].then(&pair[1])).collect();
        self.intervals.reserve(self.most / 2);
    }
}

/// Counts of one stream.
#[derive(Clone, Debug)]
pub struct StreamCount {
    /// All that was carried.
    pub carried: Carried,
    /// Its intervals.
    pub intervals: Vec<Interval>,
    /// State of the way over that time.
    pub sight: Sight,
    /// Payload of the warm-up before.
    pub omitted: Carried,
    /// State of the way at the end of the warm-up.
    pub omitted_sight: Sight,
    /// Beginning of the count.
    pub began: Instant,
    /// End of the count.
    pub ended: Instant,
}

/// Counts of one thread or of several merged.
#[derive(Clone, Debug)]
pub struct Metered {
    /// All that was carried.
    pub carried: Carried,
    /// Each stream's part, in the order of their threads.
    pub streams: Vec<StreamCount>,
    /// Durations of the calls; absent unless requested.
    pub calls: Option<Recording>,
    /// Beginning of the count.
    pub began: Instant,
    /// End of the count.
    pub ended: Instant,
}

impl Metered {
    /// Adds the counts of another thread of the same stream.
    pub fn merge(&mut self, other: Self) {
        self.carried.add(&other.carried);
        self.streams.extend(other.streams);
        match (&mut self.calls, other.calls) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
    }

    /// Moves the end to `ended`, where that is earlier: the time after it was waited in vain.
    pub fn end_at(&mut self, ended: Instant) {
        self.ended = self.ended.min(ended);
        for stream in &mut self.streams {
            stream.ended = stream.ended.min(ended);
        }
    }

    /// The intervals, a list for each stream.
    pub fn intervals(&self) -> impl Iterator<Item = &[Interval]> {
        self.streams.iter().map(|stream| stream.intervals.as_slice())
    }

    /// From the beginning to the end.
    pub fn elapsed(&self) -> Nanos {
        self.ended.since(self.began).unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::interval::arrivals::Datagrams;
    use crate::unit::Bytes;

    const NOTHING: Sight = Sight { tcp: None, datagrams: None, frames: None };

    #[test]
    fn intervals_are_what_came_between_edges_and_the_last_may_be_short() {
        let mut meter = Meter::new(0);
        meter.moved(7);
        meter.begin(Instant(100), NOTHING);
        meter.moved(10);
        meter.moved(20);
        let first = meter.interval(Instant(1_100), NOTHING);
        let carried = Carried { bytes: Bytes(30), calls: 2, failed_calls: 0 };
        assert_eq!(first, Interval { length_ns: Nanos(1_000), carried, ..Interval::default() });
        meter.failed();
        meter.moved(5);
        let metered = meter.finish(Instant(1_200), NOTHING);
        let carried = Carried { bytes: Bytes(5), calls: 1, failed_calls: 1 };
        let last = Interval { at_ns: Nanos(1_000), length_ns: Nanos(100), carried, ..Interval::default() };
        assert_eq!(metered.streams[0].intervals, [first, last]);
        assert_eq!(metered.streams[0].omitted.bytes, Bytes(7));
        assert_eq!(metered.carried, Carried { bytes: Bytes(35), calls: 3, failed_calls: 1 });
        assert_eq!(metered.elapsed(), Nanos(1_100));
    }

    #[test]
    fn an_end_without_anything_since_the_edge_adds_no_interval() {
        let mut meter = Meter::new(0);
        meter.begin(Instant(0), NOTHING);
        meter.moved(1);
        meter.interval(Instant(10), NOTHING);
        assert_eq!(meter.finish(Instant(20), NOTHING).streams[0].intervals.len(), 1);
    }

    #[test_case(MOST, MOST; "as many as usual")]
    #[test_case(7, 6; "an odd number")]
    #[test_case(0, 2; "none")]
    fn more_intervals_than_are_kept_become_longer_ones_that_still_add_up(asked: usize, most: usize) {
        let mut meter = Meter::new(0).keeping(asked);
        meter.begin(Instant(0), NOTHING);
        let count = most as u64 * 2 + 3;
        for n in 1..=count {
            meter.moved(3);
            meter.interval(Instant(n * 10), NOTHING);
        }
        let metered = meter.finish(Instant(count * 10), NOTHING);
        let intervals = &metered.streams[0].intervals;
        assert!(intervals.len() <= most);
        assert_eq!(intervals.iter().map(|interval| interval.carried.bytes.0).sum::<u64>(), count * 3);
        assert!(intervals.windows(2).all(|pair| pair[0].at_ns.0 + pair[0].length_ns.0 == pair[1].at_ns.0));
    }

    #[test]
    fn what_a_way_counted_is_told_by_interval_and_without_the_warm_up() {
        let received = |received| {
            let datagrams = Datagrams { expected: received + 1, received, lost: 1, ..Datagrams::default() };
            Sight { datagrams: Some(datagrams), ..NOTHING }
        };
        let mut meter = Meter::new(0);
        meter.begin(Instant(0), NOTHING);
        meter.moved(9);
        meter.begin(Instant(10), received(5));
        meter.moved(9);
        let interval = meter.interval(Instant(20), received(8));
        meter.moved_many(18, 2);
        let metered = meter.finish(Instant(30), received(10));
        let stream = &metered.streams[0];
        let told = |datagrams: Option<Datagrams>| datagrams.map(|datagrams| (datagrams.received, datagrams.lost));
        assert_eq!((told(interval.datagrams), told(stream.sight.datagrams)), (Some((3, 0)), Some((5, 0))));
        assert_eq!(told(stream.omitted_sight.datagrams), Some((5, 1)));
        assert_eq!((stream.omitted.bytes, stream.carried.bytes, stream.carried.calls), (Bytes(9), Bytes(27), 3));
    }
}
