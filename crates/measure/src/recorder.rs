//! Counts what became of every request and keeps how long each took, in bounded memory and a few nanoseconds.
//!
//! An engine owns one [`Recorder`] per thread and calls it after each exchange; nothing here reads a clock, locks or
//! allocates while it runs. Up to [`EXACT`] values are kept as they came, so that quantiles are exact and the sequence
//! can be examined; beyond, the histogram goes on with three significant digits and an evenly thinned series remains.
//!
//! Invariant: `counts.scheduled` is the sum of the fates. Not here: what the numbers mean (`statistics`).

use hdrhistogram::Histogram;

use crate::event::{Counts, Fate, Second};
use crate::method::LoopKind;
use crate::unit::{Instant, Nanos};

/// Values kept exactly, over all threads of a measurement.
pub const EXACT: usize = 1_000_000;
/// The longest time a histogram holds, 1 h; what is longer is counted as saturated and held as this.
pub const LONGEST: Nanos = Nanos::secs(3_600);

/// Values below this are counted one by one; above, 1024 counters share each doubling: three significant digits, and
/// the very layout of an `HdrHistogram` of these bounds.
const UNIT_VALUES: u64 = 2_048;
/// Bits of a value that its counter keeps, beyond the leading one.
const KEPT_BITS: u32 = 10;
/// Counters it takes up to [`LONGEST`].
const COUNTERS: usize = slot(LONGEST.0) + 1;

/// The counter of a time of at most [`LONGEST`].
#[inline]
const fn slot(nanos: u64) -> usize {
    let shift = (nanos | (UNIT_VALUES - 1)).ilog2() - KEPT_BITS;
    ((shift as usize) << KEPT_BITS) + (nanos >> shift) as usize
}

/// The shortest time that counter `slot` holds.
const fn floor_of(slot: usize) -> u64 {
    let shift = (slot >> KEPT_BITS).saturating_sub(1);
    ((slot - (shift << KEPT_BITS)) as u64) << shift
}

/// A distribution of times: counts with three significant digits, and exact moments and extremes beside them.
///
/// The counters are laid out as `HdrHistogram` lays out its own, and become one in [`Values::histogram`]; recording
/// is done here because the library's way to a counter takes five times as many instructions.
#[derive(Clone, Debug)]
pub struct Values {
    counters: Box<[u64; COUNTERS]>,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    /// Since the last [`Values::settle`]; those before are in `settled`.
    extremes: Extremes,
    settled: Extremes,
    saturated: u64,
}

/// Shortest and longest of some times; the shortest above the longest where there were none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extremes {
    min: u64,
    max: u64,
}

impl Extremes {
    const NONE: Self = Self { min: u64::MAX, max: 0 };

    /// By branches that are hardly ever taken: a new extreme is rare after the first few.
    #[inline]
    fn see(&mut self, nanos: u64) {
        if nanos < self.min {
            self.lower(nanos);
        }
        if nanos > self.max {
            self.raise(nanos);
        }
    }

    #[cold]
    fn lower(&mut self, nanos: u64) {
        self.min = nanos;
    }

    #[cold]
    fn raise(&mut self, nanos: u64) {
        self.max = nanos;
    }

    fn with(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Default for Values {
    fn default() -> Self {
        Self::new()
    }
}

impl Values {
    /// An empty distribution.
    pub fn new() -> Self {
        // Written, not just reserved: a page fault must not fall into the measurement.
        let mut counters = vec![1; COUNTERS];
        std::hint::black_box(&mut counters).fill(0);
        let counters = counters.try_into().expect("the length is the array's");
        let (extremes, settled) = (Extremes::NONE, Extremes::NONE);
        Self { counters, count: 0, sum: 0, sum_of_squares: 0, extremes, settled, saturated: 0 }
    }

    /// Adds one time.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        if nanos <= LONGEST.0 {
            self.counters[slot(nanos)] += 1;
        } else {
            self.saturate();
        }
        self.count += 1;
        self.sum += u128::from(nanos);
        self.sum_of_squares += u128::from(nanos) * u128::from(nanos);
        self.extremes.see(nanos);
    }

    #[cold]
    fn saturate(&mut self) {
        self.counters[COUNTERS - 1] += 1;
        self.saturated += 1;
    }

    /// Gives the extremes since this was last called, and starts anew: a second is over.
    fn settle(&mut self) -> Extremes {
        let since = std::mem::replace(&mut self.extremes, Extremes::NONE);
        self.settled = self.settled.with(since);
        since
    }

    /// Adds all of another distribution: counts are merged, never quantiles.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counters.iter_mut().zip(other.counters.iter()) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.settled = self.settled.with(other.extremes).with(other.settled);
        self.saturated += other.saturated;
    }

    /// How many times it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest, exactly.
    pub fn min(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.settled.min.min(self.extremes.min)))
    }

    /// The longest, exactly.
    pub fn max(&self) -> Option<Nanos> {
        (self.count > 0).then_some(Nanos(self.settled.max.max(self.extremes.max)))
    }

    /// Sum of all, exactly.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Sum of all squares, exactly.
    pub fn sum_of_squares(&self) -> u128 {
        self.sum_of_squares
    }

    /// How many were longer than the histogram holds.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The counts by value, three significant digits, as a new `HdrHistogram`.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram =
            Histogram::new_with_bounds(1, LONGEST.0, 3).expect("three digits up to an hour are valid bounds");
        for (slot, count) in self.counters.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.record_n(floor_of(slot), *count).expect("no counter is beyond the bounds");
        }
        histogram
    }
}

/// One kept exchange: where it stood among the answered ones of its thread, and its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its place among the answered, from 0, in order of arrival.
    pub index: u64,
    /// Response time in nanoseconds: from the intended instant in an open loop, from the send in a closed one.
    pub response: u64,
    /// Send instant minus intended instant, in nanoseconds; 0 in a closed loop. Service time is response minus slip.
    pub slip: u64,
}

/// Keeps every value while there is room, then every second, every fourth …: always an even thinning of the whole run.
///
/// When full, slots whose index is no multiple of the new stride are overwritten one by one as new values come, so
/// no step ever costs more than a few slots: a pause here would be a pause in the measurement.
#[derive(Clone, Debug)]
struct Thinning {
    slots: Box<[Kept]>,
    filled: usize,
    stride: u64,
    next: u64,
    cursor: usize,
}

impl Thinning {
    fn new(capacity: usize) -> Self {
        // Written once now, so that no page fault falls into the measurement.
        let slots = vec![Kept { index: 1, ..Kept::default() }; capacity].into_boxed_slice();
        Self { slots, filled: 0, stride: 1, next: 0, cursor: capacity }
    }

    #[inline]
    fn offer(&mut self, index: u64, response: u64, slip: u64) {
        if index != self.next {
            return;
        }
        self.next += self.stride;
        if let Some(slot) = self.slots.get_mut(self.filled) {
            *slot = Kept { index, response, slip };
            self.filled += 1;
        } else {
            self.replace(index, response, slip);
        }
    }

    #[cold]
    fn replace(&mut self, index: u64, response: u64, slip: u64) {
        let kept = Kept { index, response, slip };
        loop {
            if self.cursor == self.slots.len() {
                // A round is over: from here on every second of those kept so far is given up.
                self.stride *= 2;
                self.cursor = 0;
            }
            self.next = kept.index.next_multiple_of(self.stride);
            if self.next != kept.index {
                return;
            }
            while let Some(slot) = self.slots.get_mut(self.cursor) {
                self.cursor += 1;
                if !slot.index.is_multiple_of(self.stride) {
                    *slot = kept;
                    self.next += self.stride;
                    return;
                }
            }
        }
    }

    fn finish(mut self) -> Series {
        let stride = self.stride;
        let mut samples = std::mem::take(&mut self.slots).into_vec();
        samples.truncate(self.filled);
        if stride > 1 {
            samples.retain(|kept| kept.index.is_multiple_of(stride));
            samples.sort_unstable_by_key(|kept| kept.index);
        }
        Series { stride, samples }
    }
}

/// The kept exchanges of one thread in order of arrival: all of them (`stride` 1), or every `stride`-th.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// 1: every answered exchange is here. n: those whose index is a multiple of n.
    pub stride: u64,
    /// The exchanges, by index.
    pub samples: Vec<Kept>,
}

/// What a thread's engine tells of its exchanges, and what is left of it at the end.
#[derive(Clone, Debug)]
pub struct Recorder {
    kind: LoopKind,
    counts: Counts,
    response: Values,
    /// Only in open loops, as is `slip`: a closed loop has one time.
    service: Option<Box<Values>>,
    slip: Option<Box<Values>>,
    thinning: Thinning,
    arrivals: Arrivals,
    began: Instant,
    seconds: Vec<Second>,
    edge: Edge,
    first: Option<Nanos>,
}

/// State at the start of the present second.
#[derive(Clone, Copy, Debug)]
struct Edge {
    at: Instant,
    counts: Counts,
    sum: u128,
    recorded: u64,
}

/// Where the numbers of one connection stand. Order and runs of losses have a meaning within a connection alone, so each
/// has one of these, also where several share a recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// RFC 4737: what arrives below it is reordered.
    next_expected: u64,
    /// The present run of losses.
    run: u64,
    last_lost: Option<u64>,
}

/// What was seen of the order of arrival, all connections together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Reordered arrivals by how far they lag behind the largest number seen, in powers of two from 1.
    pub extents: [u64; 16],
    /// Longest run of consecutive losses, and how many runs there were (RFC 3357 loss periods).
    pub loss_periods: LossPeriods,
}

/// Runs of consecutive losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPeriods {
    /// How many runs of consecutive losses there were.
    pub periods: u64,
    /// The longest of them.
    pub longest: u64,
}

impl LossPeriods {
    /// Number `seq` of a connection is lost. Its numbers come in ascending order.
    pub fn lost(&mut self, of: &mut Sequence, seq: u64) {
        let goes_on = seq > 0 && of.last_lost == Some(seq - 1);
        of.run = if goes_on { of.run + 1 } else { 1 };
        of.last_lost = Some(seq);
        self.periods += u64::from(!goes_on);
        self.longest = self.longest.max(of.run);
    }
}

impl Recorder {
    /// A recorder for one thread of a measurement, keeping at most `exact` values as they came.
    pub fn new(kind: LoopKind, exact: usize) -> Self {
        let open = || (kind == LoopKind::Open).then(|| Box::new(Values::new()));
        Self {
            kind,
            counts: Counts::default(),
            response: Values::new(),
            service: open(),
            slip: open(),
            thinning: Thinning::new(exact.max(2)),
            arrivals: Arrivals::default(),
            began: Instant(0),
            seconds: Vec::with_capacity(4_096),
            edge: Edge::at(Instant(0)),
            first: None,
        }
    }

    /// Recording starts at `now`; `first` is how long the very first exchange of the warm-up took.
    pub fn begin(&mut self, now: Instant, first: Option<Nanos>) {
        self.began = now;
        self.edge = Edge::at(now);
        self.first = first;
    }

    /// A request of a closed loop left at `sent` and its reply was there at `received`.
    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    pub fn answered(&mut self, sent: Instant, received: Instant) {
        let index = self.counts.answered;
        self.counts.scheduled += 1;
        self.counts.answered += 1;
        match received.since(sent) {
            Some(Nanos(response)) => {
                self.response.record(response);
                self.thinning.offer(index, response, 0);
            }
            None => self.clock_stepped(),
        }
    }

    /// A request of an open loop was due at `intended`, left at `sent`, and its reply was there at `received`.
    #[inline]
    pub fn answered_as_scheduled(&mut self, intended: Instant, sent: Instant, received: Instant) {
        let index = self.counts.answered;
        self.counts.scheduled += 1;
        self.counts.answered += 1;
        let times = (received.since(intended), received.since(sent), sent.since(intended));
        let (Some(Nanos(response)), Some(Nanos(service)), Some(Nanos(slip))) = times else {
            return self.clock_stepped();
        };
        self.response.record(response);
        if let (Some(services), Some(slips)) = (self.service.as_mut(), self.slip.as_mut()) {
            services.record(service);
            slips.record(slip);
        }
        self.thinning.offer(index, response, slip);
    }

    #[cold]
    fn clock_stepped(&mut self) {
        self.counts.clock_steps += 1;
        // The series keeps its even spacing: an index without a time moves the next one on.
        if self.thinning.next < self.counts.answered {
            self.thinning.next += self.thinning.stride;
        }
    }

    /// Request `seq` of a connection ended otherwise than answered. `sent_late_by` is its slip where it was scheduled and sent:
    /// a request that was lost was sent late all the same.
    pub fn ended(&mut self, fate: Fate, of: &mut Sequence, seq: u64, sent_late_by: Option<Nanos>) {
        debug_assert!(fate != Fate::Answered, "an answer has times: see answered");
        self.counts.end(fate);
        if fate == Fate::Lost {
            self.arrivals.loss_periods.lost(of, seq);
        }
        if let (Some(slips), Some(Nanos(slip))) = (self.slip.as_mut(), sent_late_by) {
            slips.record(slip);
        }
    }

    /// The reply to a request already counted as lost has come after all.
    pub fn came_late(&mut self) {
        self.counts.lost -= 1;
        self.counts.late += 1;
    }

    /// A further copy of a reply came.
    pub fn duplicated(&mut self) {
        self.counts.duplicated += 1;
    }

    /// Something came that belongs to no request.
    pub fn stray(&mut self) {
        self.counts.strays += 1;
    }

    /// Instants of a closed loop's schedule went by while the window was full.
    pub fn ticks_missed(&mut self, count: u64) {
        self.counts.ticks_missed += count;
    }

    /// The first copy of the reply to request `seq` of a connection has arrived: notes whether it was overtaken.
    #[inline]
    pub fn arrived(&mut self, of: &mut Sequence, seq: u64) {
        if seq >= of.next_expected {
            of.next_expected = seq + 1;
        } else {
            self.overtaken(of.next_expected - 1 - seq);
        }
    }

    #[cold]
    fn overtaken(&mut self, extent: u64) {
        self.counts.reordered += 1;
        let class = (u64::BITS - 1 - extent.max(1).leading_zeros()).min(15);
        self.arrivals.extents[class as usize] += 1;
    }

    /// The present second ends at `now`: what it held.
    pub fn second(&mut self, now: Instant) -> Second {
        let recorded = self.response.count() - self.edge.recorded;
        let sum = self.response.sum() - self.edge.sum;
        let some = recorded > 0;
        let Extremes { min, max } = self.response.settle();
        let second = Second {
            at_ns: self.edge.at.since(self.began).unwrap_or(Nanos::ZERO),
            length_ns: now.since(self.edge.at).unwrap_or(Nanos::ZERO),
            counts: self.counts.since(&self.edge.counts),
            min_ns: some.then_some(Nanos(min)),
            mean_ns: some.then(|| sum as f64 / recorded as f64),
            max_ns: some.then_some(Nanos(max)),
        };
        self.edge = Edge { at: now, counts: self.counts, sum: self.response.sum(), recorded: self.response.count() };
        if self.seconds.len() < self.seconds.capacity() {
            self.seconds.push(second);
        }
        second
    }

    /// Closes the second that the end of the run cuts short; `None` where nothing ended in it.
    pub fn last_second(&mut self, now: Instant) -> Option<Second> {
        (self.counts != self.edge.counts).then(|| self.second(now))
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The response times so far.
    pub fn response(&self) -> &Values {
        &self.response
    }

    /// Ends the recording at `now`: the last second, shorter than the others, is closed too.
    pub fn finish(mut self, now: Instant) -> Recording {
        self.last_second(now);
        Recording {
            kind: self.kind,
            counts: self.counts,
            response: self.response,
            service: self.service.map(|values| *values),
            slip: self.slip.map(|values| *values),
            series: vec![self.thinning.finish()],
            extents: self.arrivals.extents,
            loss_periods: self.arrivals.loss_periods,
            seconds: vec![self.seconds],
            began: self.began,
            ended: now,
            first: self.first,
        }
    }
}

impl Edge {
    fn at(at: Instant) -> Self {
        Self { at, counts: Counts::default(), sum: 0, recorded: 0 }
    }
}

/// All that was recorded, of one thread or of several merged.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Open or closed.
    pub kind: LoopKind,
    /// Fates and what stands beside them.
    pub counts: Counts,
    /// Response times of the answered: from the intended instant (open loop) or from the send (closed).
    pub response: Values,
    /// Service times of the answered, from the send; open loops only.
    pub service: Option<Values>,
    /// How late requests were sent; open loops only.
    pub slip: Option<Values>,
    /// The kept exchanges, a series for each thread.
    pub series: Vec<Series>,
    /// Reordered arrivals by extent: class k holds those 2^k to 2^(k+1)-1 behind.
    pub extents: [u64; 16],
    /// Runs of consecutive losses.
    pub loss_periods: LossPeriods,
    /// The seconds, a list for each thread.
    pub seconds: Vec<Vec<Second>>,
    /// When recording began.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
    /// How long the very first exchange took, cold; absent where it was not answered.
    pub first: Option<Nanos>,
}

impl Recording {
    /// Adds the recording of another thread of the same measurement.
    pub fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.response.merge(&other.response);
        for (mine, theirs) in [(&mut self.service, &other.service), (&mut self.slip, &other.slip)] {
            if let (Some(mine), Some(theirs)) = (mine.as_mut(), theirs.as_ref()) {
                mine.merge(theirs);
            }
        }
        self.series.extend(other.series);
        for (mine, theirs) in self.extents.iter_mut().zip(other.extents) {
            *mine += theirs;
        }
        self.loss_periods.periods += other.loss_periods.periods;
        self.loss_periods.longest = self.loss_periods.longest.max(other.loss_periods.longest);
        self.seconds.extend(other.seconds);
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
        self.first = self.first.or(other.first);
    }

    /// Every answered exchange's response time as it came, when all were kept: then quantiles are exact.
    pub fn exact(&self) -> Option<Vec<u64>> {
        let all = self.series.iter().all(|series| series.stride == 1);
        all.then(|| self.series.iter().flat_map(|series| series.samples.iter().map(|kept| kept.response)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn closed(exact: usize) -> Recorder {
        let mut recorder = Recorder::new(LoopKind::Closed, exact);
        recorder.begin(Instant(0), None);
        recorder
    }

    #[test]
    fn moments_and_extremes_are_exact() {
        let mut recorder = closed(16);
        for rtt in [30_u64, 10, 20] {
            recorder.answered(Instant(1_000), Instant(1_000 + rtt));
        }
        let recording = recorder.finish(Instant(5_000));
        assert_eq!(recording.response.min(), Some(Nanos(10)));
        assert_eq!(recording.response.max(), Some(Nanos(30)));
        assert_eq!(recording.response.sum(), 60);
        assert_eq!(recording.response.sum_of_squares(), 1_400);
        assert_eq!(recording.exact(), Some(vec![30, 10, 20]));
    }

    #[test]
    fn an_open_loop_counts_from_the_intended_instant() {
        let mut recorder = Recorder::new(LoopKind::Open, 16);
        recorder.begin(Instant(0), None);
        recorder.answered_as_scheduled(Instant(100), Instant(150), Instant(190));
        let recording = recorder.finish(Instant(1_000));
        assert_eq!(recording.response.max(), Some(Nanos(90)));
        assert_eq!(recording.service.unwrap().max(), Some(Nanos(40)));
        assert_eq!(recording.slip.unwrap().max(), Some(Nanos(50)));
        assert_eq!(recording.series[0].samples, vec![Kept { index: 0, response: 90, slip: 50 }]);
    }

    #[test]
    fn a_clock_that_steps_back_is_counted_and_is_in_no_distribution() {
        let mut recorder = closed(4);
        recorder.answered(Instant(100), Instant(90));
        for _ in 0..10 {
            recorder.answered(Instant(100), Instant(110));
        }
        let recording = recorder.finish(Instant(200));
        assert_eq!(recording.counts.clock_steps, 1);
        assert_eq!((recording.counts.answered, recording.response.count()), (11, 10));
        assert!(recording.series[0].samples.iter().all(|kept| kept.response == 10));
        assert!(recording.series[0].samples.len() >= 2);
    }

    #[test]
    fn seconds_hold_what_ended_in_them_and_add_up() {
        let mut recorder = closed(16);
        recorder.answered(Instant(0), Instant(40));
        recorder.ended(Fate::Lost, &mut Sequence::default(), 1, None);
        let one = recorder.second(Instant(1_000_000_000));
        assert_eq!((one.counts.answered, one.counts.lost), (1, 1));
        assert_eq!((one.min_ns, one.mean_ns, one.max_ns), (Some(Nanos(40)), Some(40.0), Some(Nanos(40))));
        let two = recorder.second(Instant(2_000_000_000));
        assert_eq!((two.counts.scheduled, two.min_ns, two.mean_ns), (0, None, None));
        recorder.answered(Instant(0), Instant(60));
        let recording = recorder.finish(Instant(2_500_000_000));
        assert_eq!(recording.seconds[0].len(), 3);
        assert_eq!(recording.seconds[0][2].length_ns, Nanos::millis(500));
        assert_eq!(recording.seconds[0].iter().map(|s| s.counts.scheduled).sum::<u64>(), 3);
    }

    #[test]
    fn an_overtaken_reply_is_reordered_with_its_extent() {
        let mut recorder = closed(16);
        let mut sequence = Sequence::default();
        for seq in [0, 2, 1, 7, 3] {
            recorder.arrived(&mut sequence, seq);
        }
        assert_eq!(recorder.counts().reordered, 2);
        assert_eq!(recorder.arrivals.extents[0], 1); // 1 behind 2
        assert_eq!(recorder.arrivals.extents[2], 1); // 3 behind 7: 4
    }

    #[test]
    fn consecutive_losses_are_one_period() {
        let (mut periods, mut sequence) = (LossPeriods::default(), Sequence::default());
        for seq in [3, 4, 5, 9] {
            periods.lost(&mut sequence, seq);
        }
        assert_eq!((periods.periods, periods.longest), (2, 3));
    }

    #[test]
    fn connections_neither_overtake_each_other_nor_lose_together() {
        let mut recorder = closed(16);
        let mut sequences = [Sequence::default(); 2];
        for (connection, seq) in [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1)] {
            recorder.arrived(&mut sequences[connection], seq);
        }
        assert_eq!(recorder.counts().reordered, 0);
        for (connection, seq) in [(0, 3), (1, 2), (0, 4), (1, 3), (1, 4)] {
            recorder.ended(Fate::Lost, &mut sequences[connection], seq, None);
        }
        let periods = recorder.arrivals.loss_periods;
        assert_eq!((periods.periods, periods.longest), (2, 3));
    }

    #[test]
    fn a_time_beyond_the_histogram_is_counted_as_saturated() {
        let mut values = Values::new();
        values.record(LONGEST.0 + 1);
        assert_eq!((values.saturated(), values.max()), (1, Some(Nanos(LONGEST.0 + 1))));
    }

    proptest! {
        #[test]
        fn thinning_is_even_and_bounded(count in 0_u64..5_000, capacity in 2_usize..300) {
            let mut recorder = closed(capacity);
            for index in 0..count {
                recorder.answered(Instant(0), Instant(index));
            }
            let series = recorder.finish(Instant(9_999)).series.remove(0);
            prop_assert!(series.samples.len() <= capacity);
            let expected: Vec<u64> = (0..count).step_by(series.stride as usize).collect();
            let kept: Vec<u64> = series.samples.iter().map(|kept| kept.index).collect();
            // All of the old half is there; of the newest round at most what has not been reached yet is missing.
            prop_assert_eq!(&kept[..], &expected[..kept.len()]);
            prop_assert_eq!(kept.len(), expected.len());
            prop_assert!(series.samples.iter().all(|kept| kept.response == kept.index));
            prop_assert!(count <= capacity as u64 || series.samples.len() * 2 >= capacity - 1);
        }

        #[test]
        fn the_counters_are_those_of_an_hdr_histogram(values in prop::collection::vec(prop_oneof![0_u64..5_000, 0_u64..100_000_000, 0..LONGEST.0 + 2_000], 0..200)) {
            let mut ours = Values::new();
            let mut theirs = Histogram::<u64>::new_with_bounds(1, LONGEST.0, 3).unwrap();
            for value in values {
                ours.record(value);
                theirs.saturating_record(value);
            }
            prop_assert_eq!(ours.histogram(), theirs);
        }

        #[test]
        fn merging_is_the_same_as_recording_together(left in prop::collection::vec(1_u64..1_000_000_000, 0..200), right in prop::collection::vec(1_u64..1_000_000_000, 0..200)) {
            let mut together = Values::new();
            let (mut one, mut other) = (Values::new(), Values::new());
            for v in &left { together.record(*v); one.record(*v); }
            for v in &right { together.record(*v); other.record(*v); }
            one.merge(&other);
            prop_assert_eq!(one.histogram(), together.histogram());
            prop_assert_eq!((one.count(), one.sum(), one.sum_of_squares(), one.min(), one.max()), (together.count(), together.sum(), together.sum_of_squares(), together.min(), together.max()));
        }
    }
}
