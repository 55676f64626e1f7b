//! A distribution of times in bounded memory: an array of counters with exact moments and extremes beside it.

use hdrhistogram::Histogram;

use crate::unit::Nanos;

/// The longest time a histogram holds, 1 h; a longer one is counted as saturated and held as this.
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
pub(super) struct Extremes {
    pub(super) min: u64,
    pub(super) max: u64,
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
    pub(super) fn settle(&mut self) -> Extremes {
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

    /// Returns the number of times that it holds.
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

    /// Returns the number of times that were longer than the histogram holds.
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
