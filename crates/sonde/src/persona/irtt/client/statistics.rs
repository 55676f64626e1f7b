//! Sums over durations as the original keeps them: whole nanoseconds with a sign, a running mean and variance, the median.

use serde::{Serialize, Serializer};

/// Sums over durations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Their number.
    pub n: u64,
    /// Their sum.
    pub total: i64,
    /// The shortest.
    pub min: i64,
    /// The longest.
    pub max: i64,
    /// The median, where it was found.
    pub median: Option<i64>,
    mean: f64,
    /// Sum of the squares of their distances from the mean.
    squares: f64,
}

impl Statistics {
    /// Takes a duration.
    pub fn push(&mut self, nanos: i64) {
        let is_first = self.n == 0;
        self.min = if is_first { nanos } else { self.min.min(nanos) };
        self.max = if is_first { nanos } else { self.max.max(nanos) };
        self.total = self.total.wrapping_add(nanos);
        self.n += 1;
        let (value, before) = (nanos as f64, self.mean);
        self.mean += (value - before) / self.n as f64;
        self.squares += (value - before) * (value - self.mean);
    }

    /// Sums and median of these durations.
    pub fn of(durations: impl Iterator<Item = i64>) -> Self {
        let all: Vec<i64> = durations.collect();
        let mut statistics = Self::default();
        for nanos in &all {
            statistics.push(*nanos);
        }
        statistics.find_median(all);
        statistics
    }

    /// Finds the median of the durations taken, which are `all`.
    pub fn find_median(&mut self, mut all: Vec<i64>) {
        all.sort_unstable();
        let upper = all.get(all.len() / 2).copied();
        let lower = if all.len().is_multiple_of(2) { all.get((all.len() / 2).wrapping_sub(1)).copied() } else { upper };
        self.median = lower.zip(upper).map(|(lower, upper)| f64::midpoint(lower as f64, upper as f64) as i64);
    }

    /// The mean, cut to a whole nanosecond.
    pub fn mean(&self) -> i64 {
        self.mean as i64
    }

    /// The variance of the durations as a sample, square nanoseconds; 0 of fewer than two.
    pub fn variance(&self) -> f64 {
        if self.n > 1 { self.squares / (self.n - 1) as f64 } else { 0.0 }
    }

    /// The standard deviation, cut to a whole nanosecond.
    pub fn deviation(&self) -> i64 {
        self.variance().sqrt() as i64
    }
}

#[derive(Serialize)]
struct Form {
    total: i64,
    n: u64,
    min: i64,
    max: i64,
    mean: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<i64>,
    stddev: i64,
    variance: i64,
}

/// The keys of the original, which leaves out a median of 0.
impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { n, total, min, max, median, .. } = *self;
        let (mean, stddev, variance) = (self.mean(), self.deviation(), self.variance() as i64);
        let median = median.filter(|median| *median != 0);
        Form { total, n, min, max, mean, median, stddev, variance }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test]
    fn sums_are_those_of_a_sample() {
        let statistics = Statistics::of([4, 7, 13, 16].into_iter());
        assert_eq!((statistics.n, statistics.total, statistics.min, statistics.max), (4, 40, 4, 16));
        assert_eq!((statistics.mean(), statistics.median, statistics.variance()), (10, Some(10), 30.0));
        assert_eq!(statistics.deviation(), 5);
    }

    #[test_case(&[], None; "of nothing")]
    #[test_case(&[3], Some(3); "of one")]
    #[test_case(&[9, 2], Some(5); "of two, cut")]
    #[test_case(&[9, 2, 4], Some(4); "of three")]
    #[test_case(&[-3, -4], Some(-3); "below zero, cut towards it")]
    fn a_median_is_the_middle(durations: &[i64], median: Option<i64>) {
        assert_eq!(Statistics::of(durations.iter().copied()).median, median);
    }

    #[test]
    fn the_json_has_the_keys_of_the_original() {
        let json = |statistics: &Statistics| serde_json::to_string(statistics).unwrap();
        let none = r#"{"total":0,"n":0,"min":0,"max":0,"mean":0,"stddev":0,"variance":0}"#;
        assert_eq!(json(&Statistics::default()), none);
        let two = r#"{"total":30,"n":2,"min":10,"max":20,"mean":15,"median":15,"stddev":7,"variance":50}"#;
        assert_eq!(json(&Statistics::of([20, 10].into_iter())), two);
    }

    proptest! {
        #[test]
        fn sums_agree_with_their_definitions(durations in prop::collection::vec(-1_000_000_000..1_000_000_000_i64, 2..40)) {
            let statistics = Statistics::of(durations.iter().copied());
            let mean = durations.iter().sum::<i64>() as f64 / durations.len() as f64;
            let squares: f64 = durations.iter().map(|nanos| (*nanos as f64 - mean).powi(2)).sum();
            let variance = squares / (durations.len() - 1) as f64;
            prop_assert!((statistics.mean() as f64 - mean).abs() <= 1.001, "{} {mean}", statistics.mean());
            prop_assert!((statistics.variance() - variance).abs() <= variance * 1e-6 + 1e-3);
            let (below, above) = durations.iter().partition::<Vec<&i64>, _>(|nanos| **nanos < statistics.median.unwrap());
            prop_assert!(below.len() <= durations.len() / 2 && !above.is_empty());
        }
    }
}
