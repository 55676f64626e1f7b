//! Sums of several streams: by interval, and in all.

use std::collections::{BTreeMap, BTreeSet};

use measure::interval::arrivals::Transit;
use measure::unit::Nanos;

use crate::persona::iperf::output::line::Span;
use crate::persona::iperf::output::tcp::Reads;
use crate::persona::iperf::run::parts::{self, Parts};

/// Streams that are told of together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Streams by number and way; whether each has ended.
    members: BTreeMap<(u32, bool), bool>,
    intervals: BTreeMap<u64, (Sum, BTreeSet<(u32, bool)>)>,
    whole: Option<Sum>,
}

/// Sum of several streams.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// Span of the sum.
    pub span: Span,
    /// Bytes.
    pub bytes: u64,
    /// Writes of senders, and those that failed.
    pub writes: (u64, u64),
    /// Segments retransmitted.
    pub retries: u64,
    /// Datagrams lost, and all that the numbers account for, of receivers.
    pub lost: (i64, u64),
    /// Datagrams that came after a later one.
    pub out_of_order: u64,
    /// Datagrams of either way.
    pub datagrams: u64,
    /// Times on the way to receivers, where the clocks plainly agree.
    pub transit: Option<Transit>,
    /// Reads of all readers; `None` where one does not tell.
    pub reads: Option<Reads>,
    /// Senders among them, and receivers.
    pub ways: (u32, u32),
}

impl Sum {
    fn of(parts: &Parts, sends: bool) -> Self {
        let seen = parts.datagrams.filter(|_| !sends).unwrap_or_default();
        Self {
            span: parts.span,
            bytes: parts.bytes,
            writes: if sends { (parts.calls, parts.failed) } else { (0, 0) },
            retries: parts.tcp.and_then(|tcp| tcp.retransmits).unwrap_or(0),
            lost: (seen.lost, seen.expected),
            out_of_order: seen.out_of_order,
            datagrams: parts.count(),
            transit: seen.transit.filter(parts::is_plausible),
            reads: parts.reads,
            ways: if sends { (1, 0) } else { (0, 1) },
        }
    }

    fn add(&mut self, other: &Self) {
        self.span.from = Nanos(self.span.from.0.min(other.span.from.0));
        self.span.to = Nanos(self.span.to.0.max(other.span.to.0));
        self.bytes += other.bytes;
        self.writes = (self.writes.0 + other.writes.0, self.writes.1 + other.writes.1);
        self.retries += other.retries;
        self.lost = (self.lost.0 + other.lost.0, self.lost.1 + other.lost.1);
        self.out_of_order += other.out_of_order;
        self.datagrams += other.datagrams;
        self.transit = self.transit.zip(other.transit).map(|(one, other)| together(&one, &other));
        self.reads = match (self.reads, other.reads) {
            (Some(one), Some(other)) => Some(Reads(std::array::from_fn(|place| one.0[place] + other.0[place]))),
            _ => None,
        };
        self.ways = (self.ways.0 + other.ways.0, self.ways.1 + other.ways.1);
    }
}

/// Times of both; how far they deviate is not told of a sum.
fn together(one: &Transit, other: &Transit) -> Transit {
    let count = one.count + other.count;
    let sum = one.mean_ns * one.count as f64 + other.mean_ns * other.count as f64;
    Transit {
        count,
        min_ns: one.min_ns.min(other.min_ns),
        mean_ns: if count > 0 { sum / count as f64 } else { 0.0 },
        max_ns: one.max_ns.max(other.max_ns),
        squares: 0.0,
    }
}

impl Group {
    /// A stream joins.
    pub fn join(&mut self, id: u32, sends: bool) {
        self.members.insert((id, sends), false);
    }

    /// Returns true where there are several: connections, or ways of one where `ways` count.
    pub fn is_several(&self, ways: bool) -> bool {
        let mut ids: Vec<u32> = self.members.keys().map(|(id, _)| *id).collect();
        ids.dedup();
        if ways { self.members.len() > 1 } else { ids.len() > 1 }
    }

    /// Streams that have joined.
    pub fn count(&self) -> u32 {
        self.members.len() as u32
    }

    /// An interval of a stream; `length`: of every interval. The sum, once all that go on have told theirs.
    pub fn interval(&mut self, id: u32, parts: &Parts, sends: bool, length: Nanos) -> Option<Sum> {
        let place = (parts.span.from.0 + length.0 / 2) / length.0.max(1);
        let sum = Sum::of(parts, sends);
        let (all, told) = match self.intervals.remove(&place) {
            Some((mut all, told)) => {
                all.add(&sum);
                (all, told)
            }
            None => (sum, BTreeSet::new()),
        };
        let told: BTreeSet<(u32, bool)> = told.into_iter().chain([(id, sends)]).collect();
        if self.members.iter().all(|(member, ended)| *ended || told.contains(member)) {
            return Some(all);
        }
        self.intervals.insert(place, (all, told));
        None
    }

    /// A stream ends. The sum of all, once all have.
    pub fn ended(&mut self, id: u32, parts: &Parts, sends: bool) -> Option<Sum> {
        self.members.insert((id, sends), true);
        let sum = Sum::of(parts, sends);
        match &mut self.whole {
            Some(whole) => whole.add(&sum),
            None => self.whole = Some(sum),
        }
        self.is_over().then_some(self.whole).flatten()
    }

    /// Intervals that waited for a stream that has ended, in order: of those that went on all have told theirs. An interval
    /// shorter than `length` is the rest of some streams and no interval of all.
    pub fn released(&mut self, length: Nanos) -> Vec<Sum> {
        let members = &self.members;
        let is_told =
            |told: &BTreeSet<(u32, bool)>| members.iter().all(|(member, ended)| *ended || told.contains(member));
        let mut released = Vec::new();
        self.intervals.retain(|_, (sum, told)| {
            let is_told = is_told(told);
            let span = sum.span.to.0.saturating_sub(sum.span.from.0);
            if is_told && span.saturating_mul(20) >= length.0.saturating_mul(19) {
                released.push(*sum);
            }
            !is_told
        });
        released
    }

    /// Returns true where all have ended.
    pub fn is_over(&self) -> bool {
        self.members.values().all(|ended| *ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(from: u64, to: u64, bytes: u64) -> Parts {
        Parts {
            span: Span { from: Nanos::millis(from), to: Nanos::millis(to) },
            bytes,
            calls: 1,
            failed: 0,
            tcp: None,
            flying: None,
            reported: false,
            datagrams: None,
            frames: None,
            reads: None,
            bursts: None,
            write_times: None,
        }
    }

    #[test]
    fn a_sum_waits_for_all_that_go_on() {
        let mut group = Group::default();
        group.join(1, true);
        group.join(2, true);
        let second = Nanos::secs(1);
        assert!(group.interval(1, &parts(0, 1_000, 10), true, second).is_none());
        assert!(group.interval(1, &parts(1_000, 2_000, 1), true, second).is_none());
        let sum = group.interval(2, &parts(0, 1_000, 20), true, second).unwrap();
        assert_eq!((sum.bytes, sum.ways, sum.span.to), (30, (2, 0), second));
        assert!(group.ended(1, &parts(0, 2_500, 100), true).is_none());
        let whole = group.ended(2, &parts(0, 2_400, 50), true).unwrap();
        assert_eq!((whole.bytes, whole.writes, whole.span.to), (150, (2, 0), Nanos::millis(2_500)));
        assert!(group.is_over() && group.is_several(false));
    }

    #[test]
    fn a_stream_that_ends_early_holds_no_sum_back() {
        let mut group = Group::default();
        group.join(1, true);
        group.join(2, true);
        let second = Nanos::secs(1);
        assert!(group.interval(1, &parts(0, 1_000, 10), true, second).is_none());
        assert!(group.interval(1, &parts(1_000, 2_000, 11), true, second).is_none());
        assert!(group.interval(1, &parts(2_000, 2_300, 1), true, second).is_none());
        assert!(group.released(second).is_empty());
        assert!(group.ended(2, &parts(0, 400, 5), true).is_none());
        let sums: Vec<(u64, u32)> = group.released(second).iter().map(|sum| (sum.bytes, sum.ways.0)).collect();
        assert_eq!(sums, [(10, 1), (11, 1)], "of the stream that went on, and no rest");
        assert!(group.released(second).is_empty());
    }

    #[test]
    fn two_ways_of_one_stream_are_several_where_ways_count() {
        let mut group = Group::default();
        group.join(1, true);
        group.join(1, false);
        assert!(group.is_several(true) && !group.is_several(false));
    }
}
