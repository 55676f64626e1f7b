//! Mean, deviations and their intervals, from exact integer sums: nothing cancels before the last step.

use crate::recorder::Values;
use crate::statistics::correlation::Effective;
use crate::statistics::quantile::Ranked;

/// Mean in nanoseconds; `None` without values.
pub fn mean(values: &Values) -> Option<f64> {
    let whole = Whole::of(values)?;
    Some(whole.quotient as f64 + whole.remainder as f64 / whole.count as f64)
}

/// Sample standard deviation (n - 1) in nanoseconds; `None` below two values.
pub fn stddev(values: &Values) -> Option<f64> {
    let whole = Whole::of(values).filter(|whole| whole.count > 1)?;
    Some((whole.squares(values)? / (whole.count - 1) as f64).sqrt())
}

/// Population standard deviation (n) in nanoseconds, ping's mdev; `None` without values.
pub fn mdev(values: &Values) -> Option<f64> {
    let whole = Whole::of(values)?;
    Some((whole.squares(values)? / whole.count as f64).sqrt())
}

/// Half the width of the mean's 95 % interval in nanoseconds: t · stddev / √ESS. `None` below two values, or where the
/// effective size is not known.
pub fn mean_interval(values: &Values, effective: Option<Effective>) -> Option<f64> {
    let effective = effective?;
    let half = effective.student() * stddev(values)? / effective.size.sqrt();
    half.is_finite().then_some(half)
}

/// Median absolute deviation from the median, unscaled, in nanoseconds; both medians by nearest rank. `None` without
/// values.
pub fn mad(ranked: &Ranked) -> Option<f64> {
    let median = ranked.quantile(0.5)?;
    let mut deviations: Vec<(u64, u64)> =
        ranked.weights().into_iter().map(|(value, count)| (value.abs_diff(median), count)).collect();
    deviations.sort_unstable();
    let mut left = ranked.count().div_ceil(2);
    let middle = deviations.into_iter().find(|&(_, count)| {
        left = left.saturating_sub(count);
        left == 0
    });
    middle.map(|(deviation, _)| deviation as f64)
}

/// A sum divided by its count in integers.
struct Whole {
    count: u128,
    quotient: u128,
    remainder: u128,
}

impl Whole {
    fn of(values: &Values) -> Option<Self> {
        let count = u128::from(values.count());
        let quotient = values.sum().checked_div(count)?;
        Some(Self { count, quotient, remainder: values.sum() % count })
    }

    /// Sum of squared deviations from the mean, Σx² - (Σx)²/n. With Σx = q·n + r it is Σx² - q²n - 2qr - r²/n, whose
    /// terms are integers that fit 128 bits, but for the fraction of the last. `None` where the sum of squares did not.
    fn squares(&self, values: &Values) -> Option<f64> {
        let Self { count, quotient, remainder } = *self;
        let about_quotient = quotient
            .checked_mul(quotient)
            .and_then(|square| square.checked_mul(count))
            .and_then(|most| most.checked_add(2 * quotient * remainder))
            .and_then(|most| values.sum_of_squares().checked_sub(most))?;
        let correction = remainder * remainder;
        let whole = about_quotient.checked_sub(correction / count)?;
        Some((whole as f64 - (correction % count) as f64 / count as f64).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(list: &[u64]) -> Values {
        let mut all = Values::new();
        for &value in list {
            all.record(value);
        }
        all
    }

    #[test]
    fn a_small_sample_by_hand() {
        let all = values(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((mean(&all), mdev(&all)), (Some(5.0), Some(2.0)));
        assert_eq!(stddev(&all), Some((32.0_f64 / 7.0).sqrt()));
        // Deviations from the median 4: 2 0 0 0 1 1 3 5, the fourth smallest of eight is 1.
        assert_eq!(mad(&Ranked::exact(vec![2, 4, 4, 4, 5, 5, 7, 9])), Some(1.0));
    }

    #[test]
    fn a_deviation_of_nanoseconds_at_an_hour_is_not_cancelled() {
        // An hour is 3.6e12 ns; squares of 1e25 differ in their last digits, far below a float's 16.
        let hour = 3_600_000_000_000;
        let all = values(&[hour - 1, hour, hour + 1]);
        assert_eq!(stddev(&all), Some(1.0));
        assert_eq!(mean(&all), Some(hour as f64));
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let none = Values::new();
        assert_eq!((mean(&none), stddev(&none), mdev(&none), mad(&Ranked::exact(vec![]))), (None, None, None, None));
        let one = values(&[7]);
        assert_eq!((mean(&one), stddev(&one), mdev(&one)), (Some(7.0), None, Some(0.0)));
        assert_eq!(mean_interval(&one, Some(Effective { size: 1.0, freedom: 1.0 })), None);
        assert_eq!(mean_interval(&values(&[1, 2, 3]), None), None);
    }

    #[test]
    fn the_means_interval_is_students() {
        let all = values(&[2, 4, 4, 4, 5, 5, 7, 9]);
        let half = mean_interval(&all, Some(Effective { size: 4.0, freedom: 3.0 })).unwrap();
        // t(0.975, 3) = 3.182446305284263.
        let wanted = 3.182_446_305_284_263 * (32.0_f64 / 7.0).sqrt() / 2.0;
        assert!((half - wanted).abs() < 1e-6, "{half} {wanted}");
    }

    /// Σ(n·x - Σx)² / n² in integers: the sum of squared deviations by its definition, rounded once.
    fn oracle(list: &[u64]) -> f64 {
        let n = list.len() as i128;
        let sum: i128 = list.iter().map(|&x| i128::from(x)).sum();
        let squares: i128 = list.iter().map(|&x| (n * i128::from(x) - sum).pow(2)).sum();
        squares as f64 / (n * n) as f64
    }

    proptest! {
        #[test]
        fn deviations_are_exact(floor in 0_u64..1 << 41, list in prop::collection::vec(0_u64..1 << 41, 2..60), narrow: bool) {
            let list: Vec<u64> = list.into_iter().map(|x| floor + if narrow { x % 5 } else { x }).collect();
            let all = values(&list);
            let wanted = (oracle(&list) / (list.len() - 1) as f64).sqrt();
            let found = stddev(&all).unwrap();
            prop_assert!((found - wanted).abs() <= wanted * 1e-14, "{} {}", found, wanted);
        }

        #[test]
        fn the_mad_is_the_sorted_deviations_median(list in prop::collection::vec(0_u64..2_048, 1..200)) {
            let ranked = Ranked::exact(list.clone());
            let median = ranked.quantile(0.5).unwrap();
            let mut deviations: Vec<u64> = list.iter().map(|x| x.abs_diff(median)).collect();
            deviations.sort_unstable();
            prop_assert_eq!(mad(&ranked), Some(deviations[(list.len() - 1) / 2] as f64));
            prop_assert_eq!(mad(&Ranked::counted(&values(&list))), mad(&ranked));
        }
    }
}
