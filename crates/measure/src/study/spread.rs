//! Where the runs of one setting lie, and how far they lie apart.

use crate::statistics::paired;
use crate::statistics::quantile::interval_ranks;

/// Median and ends of some runs' numbers, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Their median.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Kind of interval that the ends form.
    pub ends: Ends,
    /// Number of runs.
    pub runs: usize,
}

/// Kind of interval that the ends of a spread form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The least and the most of so few runs: no interval.
    Range,
    /// A distribution-free 95 % interval of the median: from 6 runs up.
    Interval,
}

impl Spread {
    /// Summarises the numbers that are present; `None` where there is none, or one is not finite.
    ///
    /// ```
    /// use measure::study::spread::Spread;
    /// let spread = Spread::of(&[Some(3.0), None, Some(1.0), Some(2.0)]).unwrap();
    /// assert_eq!((spread.median, spread.low, spread.high), (2.0, 1.0, 3.0));
    /// ```
    pub fn of(numbers: &[Option<f64>]) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.iter().copied().flatten().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = paired::median(&sorted)?;
        let count = sorted.len() as u64;
        let ranks = interval_ranks(0.5, count, count as f64);
        let at = |rank: u64| sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied();
        let interval = ranks.low.zip(ranks.high).and_then(|(low, high)| Some((at(low)?, at(high)?)));
        let range = (*sorted.first()?, *sorted.last()?);
        let ends = if interval.is_some() { Ends::Interval } else { Ends::Range };
        let (low, high) = interval.unwrap_or(range);
        Some(Self { median, low, high, ends, runs: sorted.len() })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(1, 1.0, (1.0, 1.0), Ends::Range; "one run")]
    #[test_case(5, 3.0, (1.0, 5.0), Ends::Range; "too few for an interval")]
    #[test_case(6, 3.5, (1.0, 6.0), Ends::Interval; "the fewest that have one")]
    #[test_case(20, 10.5, (6.0, 15.0), Ends::Interval; "within the range")]
    fn few_runs_have_a_range_and_more_an_interval(runs: u32, median: f64, ends: (f64, f64), kind: Ends) {
        let numbers: Vec<Option<f64>> = (1..=runs).rev().map(|run| Some(f64::from(run))).collect();
        let spread = Spread::of(&numbers).unwrap();
        assert_eq!((spread.median, (spread.low, spread.high), spread.ends), (median, ends, kind));
        assert_eq!(spread.runs, runs as usize);
    }

    #[test]
    fn where_there_is_no_number_there_is_no_spread() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[None]), None);
        assert_eq!(Spread::of(&[Some(f64::NAN)]), None);
    }
}
