//! What was seen of one way, by second and by minute: counts and distributions that add up exactly.

use std::collections::{BTreeMap, VecDeque};

use measure::event::Counts;
use measure::outcome::Standing;
use measure::statistics::payload;
use measure::statistics::quantile::{rank, standing};
use measure::unit::Nanos;

/// Seconds that are kept: an hour of them.
const SECONDS: usize = 3_600;
/// Minutes that are kept: a day of them.
const MINUTES: usize = 1_440;
/// Seconds of a minute.
pub const MINUTE: u64 = 60;

/// Response times, counted by the buckets of a histogram of three digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: BTreeMap<u64, u64>,
    count: u64,
}

impl Distribution {
    /// The one that a second's payload carries; `None` where it carries none.
    pub fn of(payload: &str) -> Option<Self> {
        let buckets = payload::buckets(&payload::decode(payload).ok()?);
        let mut found = Self::default();
        for (Nanos(value), count) in buckets {
            found.put(value, count);
        }
        Some(found)
    }

    /// Counts `count` values of about `value` nanoseconds.
    pub fn put(&mut self, value: u64, count: u64) {
        *self.counts.entry(value).or_default() += count;
        self.count += count;
    }

    /// Takes in another.
    pub fn add(&mut self, other: &Self) {
        other.counts.iter().for_each(|(value, count)| self.put(*value, *count));
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Buckets that hold something, ascending: their middle in nanoseconds, and how many values.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(value, count)| (*value, *count))
    }

    /// The value at quantile `q`, 0 to 1, nanoseconds: the smallest that at least that share is not above. `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = rank(q, self.count)?;
        let mut upto = 0;
        self.counts.iter().find_map(|(value, count)| {
            upto += count;
            (upto >= rank).then_some(*value)
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// What ended in it.
    pub counts: Counts,
    /// How long the answers took.
    pub times: Distribution,
    /// The longest of them, exactly.
    pub max: Option<Nanos>,
}

impl Span {
    /// Takes in another.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.times.add(&other.times);
        self.max = self.max.max(other.max);
    }

    /// Share of the requests that left and were not answered in time, 0 to 1. `None` where none left.
    pub fn lost_share(&self) -> Option<f64> {
        let sent = self.counts.messages_sent();
        (sent > 0).then(|| sent.saturating_sub(self.counts.answered) as f64 / sent as f64)
    }
}

/// The past of one way. Seconds are counted from the start of the watch.
#[derive(Clone, Debug, Default)]
pub struct History {
    seconds: VecDeque<(u64, Span)>,
    minutes: VecDeque<(u64, Span)>,
    whole: Span,
}

impl History {
    /// Takes in what happened in second `at`, which is not before one that was taken in.
    pub fn push(&mut self, at: u64, span: &Span) {
        self.whole.add(span);
        put(&mut self.seconds, at, span, SECONDS);
        put(&mut self.minutes, at / MINUTE, span, MINUTES);
    }

    /// All of it.
    pub fn whole(&self) -> &Span {
        &self.whole
    }

    /// The latest second that was told of.
    pub fn latest(&self) -> Option<u64> {
        self.seconds.back().map(|(at, _)| *at)
    }

    /// What happened in the seconds from `from` to before `to`: by minutes where the seconds are gone, whole ones alone.
    pub fn between(&self, from: u64, to: u64) -> Span {
        let mut found = Span::default();
        let first = self.seconds.front().map_or(u64::MAX, |(at, _)| *at);
        let is_whole =
            |minute: u64| minute * MINUTE >= from && (minute + 1) * MINUTE <= to.min(first.next_multiple_of(MINUTE));
        let by_minute = self.minutes.iter().take_while(|_| from < first).filter(|(minute, _)| is_whole(*minute));
        let end = by_minute.clone().last().map_or(from, |(minute, _)| (minute + 1) * MINUTE);
        by_minute.for_each(|(_, span)| found.add(span));
        let seconds = self.seconds.iter().filter(|(at, _)| (end.max(from)..to).contains(at));
        seconds.for_each(|(_, span)| found.add(span));
        found
    }

    /// The seconds from `from` to before `to` of which anything is known, in order.
    pub fn seconds(&self, from: u64, to: u64) -> impl Iterator<Item = &Span> {
        self.seconds.iter().filter(move |(at, _)| (from..to).contains(at)).map(|(_, span)| span)
    }
}

fn put(spans: &mut VecDeque<(u64, Span)>, at: u64, span: &Span, most: usize) {
    match spans.back_mut() {
        // A clock that stepped back puts two into one.
        Some((last, held)) if *last >= at => held.add(span),
        _ => spans.push_back((at, span.clone())),
    }
    if spans.len() > most {
        spans.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second in which `answered` requests took `took` ns, and one was lost.
    fn second(took: u64, answered: u64) -> Span {
        let mut times = Distribution::default();
        times.put(took, answered);
        let counts = Counts { scheduled: answered + 1, answered, lost: 1, ..Counts::default() };
        Span { counts, times, max: Some(Nanos(took)) }
    }

    #[test]
    fn all_that_is_put_in_adds_up_whatever_was_dropped() {
        let mut history = History::default();
        for at in 0..10_000 {
            history.push(at, &second(at + 1, 3));
        }
        assert_eq!(history.whole().counts.answered, 30_000);
        assert_eq!(history.whole().times.count(), 30_000);
        assert_eq!(history.whole().lost_share(), Some(0.25));
        // Seconds from 6,400 on are kept; before, whole minutes.
        assert_eq!(history.between(9_990, 10_000).counts.answered, 30);
        assert_eq!(history.between(0, 10_000).counts.answered, 30_000);
        assert_eq!(history.between(0, 600).counts.answered, 1_800);
        assert_eq!(history.between(6_360, 6_420).counts.answered, 180, "across the edge");
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
        let mut values = measure::recorder::Values::new();
        for nanos in [1_000, 2_000, 2_000] {
            values.record(nanos);
        }
        let read = Distribution::of(&payload::encode(&values.histogram())).unwrap();
        assert_eq!(read.buckets().map(|(_, count)| count).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Distribution::of("no histogram"), None);
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        let nothing = History::default();
        assert_eq!(nothing.between(0, 10), Span::default());
        assert_eq!((nothing.latest(), nothing.whole().lost_share()), (None, None));
    }
}
