//! Counts and the distribution of one way in a stretch of time. They add up exactly, so that seconds make minutes and minutes
//! make hours.
//!
//! Sums in any order and any grouping are the same: counters are added, extremes are the outermost.

mod octets;

use hdrhistogram::Histogram;

use crate::event::Counts;
use crate::outcome::Standing;
use crate::recorder::LONGEST;
use crate::statistics::payload::{self, NoHistogram};
use crate::statistics::quantile::{rank, standing};
use crate::unit::Nanos;

pub use octets::NoSpan;

/// Significant digits of the distribution that is kept for long: a bucket is at most 0.78 % wide.
const KEPT_DIGITS: u8 = 2;
/// Leading bits of a value that [`coarse`] keeps: an `HdrHistogram` of two digits has 256 counters below its first doubling.
const KEPT_BITS: u32 = 8;

/// The middle of the bucket of two significant digits that holds `nanos`, as an `HdrHistogram` that begins at 1 ns has them: a value below 256 is its own.
/// The middle of a bucket of three digits comes into the bucket of two that the value itself comes into.
pub fn coarse(nanos: u64) -> u64 {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(KEPT_BITS);
    ((nanos >> shift) << shift) + ((1 << shift) >> 1)
}

/// The furthest value, nanoseconds: 292 years.
const FURTHEST: u64 = u64::MAX >> 1;
/// Octets by which a distribution grows: twice as many each time would leave half of a monitor's memory empty.
const GROWS: usize = 24;
/// Octets that are free before a bucket is put: as many as one takes that follows another closely.
const ROOM: usize = 12;

/// Response times, counted by the middles of a histogram's buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Buckets that hold something, ascending, each as [`Distribution::push`] writes it: of tens of thousands of minutes that a monitor has in memory each
    /// has a few dozen.
    octets: Vec<u8>,
    count: u64,
}

/// Reads buckets.
struct Buckets<'a> {
    rest: &'a [u8],
    at: u64,
}

impl Iterator for Buckets<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let head = octets::take(&mut self.rest).ok()?;
        self.at += head >> 1;
        let count = if head & 1 == 1 { octets::take(&mut self.rest).ok()? } else { 1 };
        Some((self.at, count))
    }
}

impl Distribution {
    /// The one that a second's payload carries; `None` where it carries none.
    pub fn of(payload: &str) -> Option<Self> {
        Some(Self::of_histogram(&payload::decode(payload).ok()?))
    }

    /// The one that octets of an `HdrHistogram` V2 carry.
    ///
    /// # Errors
    /// They carry none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NoHistogram> {
        Ok(Self::of_histogram(&payload::from_bytes(bytes)?))
    }

    fn of_histogram(histogram: &Histogram<u64>) -> Self {
        Self::ascending(payload::buckets(histogram).into_iter().map(|(Nanos(value), count)| (value, count)))
    }

    /// Builds one from buckets whose middles ascend; those of the same middle follow each other.
    fn ascending(buckets: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut buckets = buckets.map(|(value, count)| (value.min(FURTHEST), count)).peekable();
        let (mut found, mut before) = (Self::default(), 0);
        while let Some((value, mut count)) = buckets.next() {
            while let Some((_, more)) = buckets.next_if(|(next, _)| *next == value) {
                count += more;
            }
            found.push(before, value, count);
            before = value;
        }
        found
    }

    /// Appends a bucket, whose value is beyond `before`, the last one: their distance, doubled, and one more where the count follows, which is 1 otherwise.
    fn push(&mut self, before: u64, value: u64, count: u64) {
        octets::put(&mut self.octets, (value - before) << 1 | u64::from(count != 1));
        if count != 1 {
            octets::put(&mut self.octets, count);
        }
        self.count += count;
    }

    /// Encodes an `HdrHistogram` V2 of two digits, not compressed. Times above an hour count as an hour.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut histogram =
            Histogram::new_with_bounds(1, LONGEST.0, KEPT_DIGITS).expect("two digits up to an hour are valid bounds");
        self.buckets().for_each(|(value, count)| histogram.saturating_record_n(value, count));
        payload::to_bytes(&histogram)
    }

    /// Coarsens it to buckets of two digits, the form that is kept for long.
    #[must_use]
    pub fn coarsened(&self) -> Self {
        Self::ascending(self.buckets().map(|(value, count)| (coarse(value), count)))
    }

    /// Counts `count` values of about `value` nanoseconds.
    pub fn put(&mut self, value: u64, count: u64) {
        let value = value.min(FURTHEST);
        let end = self.octets.len();
        if self.octets.capacity() < end + ROOM {
            self.octets.reserve_exact(GROWS);
        }
        // The bucket from `at` to `upto` is the value's own, or the one that it comes before.
        let (mut at, mut before, mut upto, mut next) = (0, 0, end, None);
        let mut buckets = self.read();
        while let Some((known, held)) = buckets.next() {
            upto = end - buckets.rest.len();
            if known >= value {
                next = Some((known, held));
                break;
            }
            (at, before) = (upto, known);
        }
        match next {
            Some((known, held)) => {
                self.count -= held;
                if known == value {
                    self.push(before, value, count + held);
                } else {
                    self.push(before, value, count);
                    self.push(value, known, held);
                }
                // The octets written at the end go to their place.
                self.octets[upto..].rotate_left(end - upto);
                self.octets.drain(at..upto);
            }
            None => self.push(before, value, count),
        }
    }

    /// Adds another. Its own octets between two buckets of the other are copied unchanged.
    pub fn add(&mut self, other: &Self) {
        // The sum of both is no longer than both: a distance is parted into two of which none is longer.
        let octets = Vec::with_capacity(self.octets.len() + other.octets.len());
        let mut sum = Self { octets, count: 0 };
        let (end, mut own) = (self.octets.len(), self.read());
        let (mut next, mut before) = (own.next(), 0);
        for (value, count) in other.read() {
            if let Some((known, held)) = next.filter(|(known, _)| *known < value) {
                sum.push(before, known, held);
                let from = end - own.rest.len();
                let mut upto = from;
                (before, next) = (known, own.next());
                while let Some((known, _)) = next.filter(|(known, _)| *known < value) {
                    upto = end - own.rest.len();
                    (before, next) = (known, own.next());
                }
                sum.octets.extend_from_slice(&self.octets[from..upto]);
            }
            let same = next.filter(|(known, _)| *known == value);
            sum.push(before, value, count + same.map_or(0, |(_, held)| held));
            before = value;
            if same.is_some() {
                next = own.next();
            }
        }
        if let Some((known, held)) = next {
            sum.push(before, known, held);
            sum.octets.extend_from_slice(own.rest);
        }
        sum.count = self.count + other.count;
        if sum.octets.capacity() > sum.octets.len() + GROWS {
            sum.octets.shrink_to_fit();
        }
        *self = sum;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of values above `value` nanoseconds, by the middles of their buckets.
    pub fn above(&self, value: u64) -> u64 {
        self.buckets().filter(|(known, _)| *known > value).map(|(_, count)| count).sum()
    }

    /// Buckets that hold something, ascending: their middle in nanoseconds, and how many values.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.read()
    }

    fn read(&self) -> Buckets<'_> {
        Buckets { rest: &self.octets, at: 0 }
    }

    /// The value at quantile `q`, 0 to 1, nanoseconds: the smallest that at least that share is not above. `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = rank(q, self.count)?;
        let mut upto = 0;
        self.buckets().find_map(|(value, count)| {
            upto += count;
            (upto >= rank).then_some(value)
        })
    }

    /// The same where enough values lie beyond it for it to be printed, and whether they are few.
    pub fn printed(&self, q: f64) -> Option<(u64, bool)> {
        match standing(q, self.count) {
            Standing::TooFew => None,
            standing => Some((self.quantile(q)?, standing == Standing::Rough)),
        }
    }
}

/// A stretch of time of one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Requests that ended in it, by status.
    pub counts: Counts,
    /// Lost requests that did not reach the far end, a count; 0 where it did not report.
    pub lost_out: u64,
    /// Lost requests that reached the far end, so that their replies were lost, a count; 0 where it did not report.
    pub lost_back: u64,
    /// Seconds of it in which the asking host was itself late or lost something of its own: they show nothing of the network.
    pub disturbed: u64,
    /// Response times of the answers.
    pub times: Distribution,
    /// Their sum in nanoseconds, exactly; 0 where nobody added it up.
    pub sum_ns: u64,
    /// The shortest of them, exactly; absent likewise, or where there was none.
    pub min: Option<Nanos>,
    /// The longest of them, exactly.
    pub max: Option<Nanos>,
}

impl Span {
    /// Counts an answer that took so long.
    pub fn answer(&mut self, took: Nanos) {
        self.counts.end(crate::event::Fate::Answered);
        self.times.put(coarse(took.0), 1);
        self.sum_ns = self.sum_ns.saturating_add(took.0);
        self.min = outermost(self.min, Some(took), Nanos::min);
        self.max = self.max.max(Some(took));
    }

    /// Takes in another.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.lost_out += other.lost_out;
        self.lost_back += other.lost_back;
        self.disturbed += other.disturbed;
        self.times.add(&other.times);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min = outermost(self.min, other.min, Nanos::min);
        self.max = self.max.max(other.max);
    }

    /// Share of the requests that left and were not answered in time, 0 to 1. `None` where none left.
    pub fn lost_share(&self) -> Option<f64> {
        let sent = self.counts.messages_sent();
        (sent > 0).then(|| sent.saturating_sub(self.counts.answered) as f64 / sent as f64)
    }
}

fn outermost(one: Option<Nanos>, other: Option<Nanos>, of: fn(Nanos, Nanos) -> Nanos) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(of(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_coarse_bucket_is_the_one_of_a_histogram_of_two_digits() {
        let histogram = Histogram::<u64>::new_with_bounds(1, LONGEST.0, KEPT_DIGITS).unwrap();
        for value in (0..4_000).chain((12..41).flat_map(|k| [(1_u64 << k) - 1, 1 << k, (1 << k) + 1])) {
            assert_eq!(coarse(value), histogram.median_equivalent(value), "{value}");
        }
    }

    proptest! {
        #[test]
        fn what_three_digits_hold_comes_into_the_bucket_of_two_that_its_value_does(value in 1_u64..3_600_000_000_000) {
            let fine = Histogram::<u64>::new_with_bounds(1, LONGEST.0, 3).unwrap();
            prop_assert_eq!(coarse(fine.median_equivalent(value)), coarse(value));
        }

        #[test]
        fn octets_carry_what_was_kept(values in proptest::collection::vec(1_u64..3_600_000_000_000, 0..50)) {
            let mut span = Span::default();
            for value in &values {
                span.answer(Nanos(*value));
            }
            prop_assert_eq!(Distribution::from_bytes(&span.times.to_bytes()).unwrap(), span.times);
        }

        #[test]
        fn what_is_put_in_any_order_is_what_a_map_holds(
            near in proptest::collection::vec((0_u64..300, 1_u64..300), 0..80),
            far in proptest::collection::vec((any::<u64>(), 1_u64..1 << 40), 0..20),
        ) {
            let all: Vec<(u64, u64)> = near.into_iter().chain(far).collect();
            let (mut one, mut parts) = (Distribution::default(), [Distribution::default(), Distribution::default()]);
            let mut wanted = std::collections::BTreeMap::new();
            for (place, (value, count)) in all.into_iter().enumerate() {
                one.put(value, count);
                parts[place % 2].put(value, count);
                *wanted.entry(value.min(FURTHEST)).or_insert(0) += count;
            }
            let [mut sum, other] = parts;
            sum.add(&other);
            prop_assert_eq!(&sum, &one);
            prop_assert_eq!(one.count(), wanted.values().sum::<u64>());
            prop_assert_eq!(one.buckets().collect::<Vec<_>>(), wanted.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn any_tree_of_sums_is_the_sum_of_all(
            values in proptest::collection::vec(1_u64..60_000_000_000, 1..60),
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let mut whole = Span::default();
            for value in &values {
                whole.answer(Nanos(*value));
            }
            let mut parts = vec![Span::default(); 7];
            for (at, value) in values.iter().enumerate() {
                parts[cuts.iter().filter(|cut| **cut <= at).count()].answer(Nanos(*value));
            }
            // The later half first, then the earlier: order and grouping are of no matter.
            let (earlier, later) = parts.split_at(3);
            let sum = |parts: &[Span]| parts.iter().fold(Span::default(), |mut sum, part| {
                sum.add(part);
                sum
            });
            let mut found = sum(later);
            found.add(&sum(earlier));
            prop_assert_eq!(&found, &whole);
            prop_assert_eq!(found.times.to_bytes(), whole.times.to_bytes());
        }
    }

    #[test]
    fn a_quantile_is_that_of_all_values_merged_in_any_order() {
        let mut values: Vec<u64> = (1..=1_000).map(|k| k * k % 7_919 + 1).collect();
        let (mut first, mut second) = (Distribution::default(), Distribution::default());
        for (k, value) in values.iter().enumerate() {
            if k % 3 == 0 { first.put(*value, 1) } else { second.put(*value, 1) }
        }
        let mut other_way = second.clone();
        other_way.add(&first);
        first.add(&second);
        assert_eq!(first, other_way);
        values.sort_unstable();
        for (q, at) in [(0.5, 499), (0.9, 899), (0.99, 989), (1.0, 999)] {
            assert_eq!(first.quantile(q), Some(values[at]), "{q}");
        }
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn what_a_second_carries_is_read_and_what_is_none_is_not() {
        let mut values = crate::recorder::Values::new();
        for nanos in [1_000, 2_000, 2_000] {
            values.record(nanos);
        }
        let read = Distribution::of(&payload::encode(&values.histogram())).unwrap();
        assert_eq!(read.buckets().map(|(_, count)| count).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Distribution::of("no histogram"), None);
    }
}
