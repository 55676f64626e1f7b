//! Autocorrelation and effective sample size: the information in a sample whose values resemble their neighbours.
//!
//! One stall slows many requests, so n values of a run say less than n independent ones: an interval computed with n
//! would be far too narrow. Everything here looks at a series in its order of time and knows nothing of what it means.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A series is brought to at most so many batch means first, which bounds the work: at most 2^13 × 2^12 products.
const BATCHES: usize = 8_192;
/// A series shorter than this says nothing about its correlation.
pub const SHORTEST: usize = 10;
/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Information in a series about its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// Independent values that would fix the mean as well, 1 to the length of the series.
    pub size: f64,
    /// Degrees of freedom with which that is known: few where the correlation reaches far into the series.
    pub freedom: f64,
}

impl Effective {
    /// Student's quantile for a two-sided 95 % interval that uses this size.
    pub fn student(&self) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
    }

    /// The size for intervals that know no degrees of freedom: smaller, so that a normal or binomial interval of it is
    /// as wide as Student's. At least 1.
    pub fn for_ranks(&self) -> f64 {
        (self.size * (Z / self.student()).powi(2)).max(1.0)
    }
}

/// Effective size of the series `value(0)` … `value(length - 1)` for its mean: n / (1 + 2 Σ ρ(k)), the sum by Geyer's
/// initial positive sequence (pairs of neighbouring lags until one is no longer positive; Geyer 1992).
///
/// A series longer than 8192 is first averaged in batches of equal length, whose means have the same long-run variance:
/// the lags examined then reach over half the run at a bounded cost. The sum is corrected for the mean being the
/// sample's own, and a series whose values alternate is never taken for more than its length. `None` for a series that
/// is too short or constant.
pub fn effective(length: usize, value: impl Fn(usize) -> f64) -> Option<Effective> {
    if length < SHORTEST {
        return None;
    }
    let size = length.div_ceil(BATCHES);
    let (variance, batches) = batch_means(length, size, value);
    if variance <= 0.0 {
        return None;
    }
    let sum = LongRun::of(&batches);
    // 1 + 2 Σ ρ(k); below 1 where values alternate, which is not taken as a gain.
    let longer = sum.variance * size as f64 / variance;
    if longer <= 1.0 {
        return Some(Effective { size: length as f64, freedom: length as f64 - 1.0 });
    }
    Some(Effective { size: (length as f64 / longer).max(1.0), freedom: sum.freedom })
}

/// Effective size for a quantile: that of the indicator "beyond `at`" in the series, which decides how much the share
/// beyond varies. Where nothing is greater than `at`, of the indicator "at least `at`"; `None` where that is constant
/// too, or the series too short.
pub fn effective_at(series: &[u64], at: u64) -> Option<Effective> {
    let share = |beyond: bool| f64::from(u8::from(beyond));
    effective(series.len(), |i| share(series[i] > at)).or_else(|| effective(series.len(), |i| share(series[i] >= at)))
}

/// Correlation of one value with the next, -1 to 1; `None` for a series that is too short or constant.
pub fn autocorrelation(series: &[u64]) -> Option<f64> {
    if series.len() < SHORTEST {
        return None;
    }
    let mean = series.iter().map(|&x| x as f64).sum::<f64>() / series.len() as f64;
    let variance: f64 = series.iter().map(|&x| (x as f64 - mean).powi(2)).sum();
    let next: f64 = series.windows(2).map(|pair| (pair[0] as f64 - mean) * (pair[1] as f64 - mean)).sum();
    (variance > 0.0).then(|| (next / variance).clamp(-1.0, 1.0))
}

/// Variance of the series, and the means of its batches of `size`, less the mean of all. An incomplete last batch
/// (less than one in 4096 values) is left out.
fn batch_means(length: usize, size: usize, value: impl Fn(usize) -> f64) -> (f64, Vec<f64>) {
    let used = length / size * size;
    let mean = (0..used).map(&value).sum::<f64>() / used as f64;
    let variance = (0..used).map(|i| (value(i) - mean).powi(2)).sum::<f64>() / used as f64;
    let batch = |start: usize| (start..start + size).map(|i| value(i) - mean).sum::<f64>() / size as f64;
    (variance, (0..used).step_by(size).map(batch).collect())
}

/// Long-run variance of a series: its variance times 1 + 2 Σ ρ(k).
struct LongRun {
    variance: f64,
    freedom: f64,
}

impl LongRun {
    /// Estimates the long-run variance of a series whose mean is 0.
    fn of(series: &[f64]) -> Self {
        let n = series.len();
        let covariance = |lag: usize| {
            let products = series.iter().zip(&series[lag..]).map(|(left, right)| left * right);
            products.sum::<f64>() / n as f64
        };
        let (mut sum, mut lag) = (-covariance(0), 0);
        while lag + 1 < n / 2 {
            let pair = covariance(lag) + covariance(lag + 1);
            if pair <= 0.0 {
                break;
            }
            sum += 2.0 * pair;
            lag += 2;
        }
        // The last lag summed; each of the 2·lags + 1 terms is low by a share 1/n of the sum, as the mean is the sample's.
        let terms = (2 * lag.saturating_sub(1) + 1) as f64;
        let kept = (1.0 - terms / n as f64).max(0.1);
        Self { variance: sum / kept, freedom: (n as f64 / terms - 1.0).max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::quantile::{Ranked, interval_ranks};
    use crate::statistics::simulated::{DEVIATION, MEAN, autoregressive, true_quantile};
    use crate::unit::Nanos;
    use proptest::prelude::*;
    use test_case::test_case;

    /// Share of trials in which `covers` holds, and four times its standard error where the truth is 95 %.
    fn coverage(trials: u32, seed: u64, mut covers: impl FnMut(&mut fastrand::Rng) -> bool) -> (f64, f64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let covered = (0..trials).filter(|_| covers(&mut rng)).count();
        (covered as f64 / f64::from(trials), 4.0 * (0.95 * 0.05 / f64::from(trials)).sqrt())
    }

    fn within(low: Option<Nanos>, high: Option<Nanos>, truth: u64) -> bool {
        low.is_none_or(|low| low.0 <= truth) && high.is_none_or(|high| truth <= high.0)
    }

    #[test_case(0.5, 0.9, 1_000; "median of a strongly correlated run")]
    #[test_case(0.9, 0.9, 1_000; "p90 of a strongly correlated run")]
    #[test_case(0.5, 0.9, 300; "median of a short one")]
    #[test_case(0.99, 0.5, 2_000; "p99 of a mildly correlated run")]
    #[test_case(0.5, 0.0, 500; "median of an independent one")]
    fn a_quantiles_interval_covers_the_truth(q: f64, phi: f64, n: usize) {
        let truth = true_quantile(q);
        let (rate, error) = coverage(500, 3, |rng| {
            let series = autoregressive(rng, n, phi);
            let ranked = Ranked::exact(series.clone());
            let effective = effective_at(&series, ranked.quantile(q).unwrap()).unwrap();
            let found = ranked.with_interval(q, effective.for_ranks());
            within(found.low_ns, found.high_ns, truth)
        });
        assert!(rate > 0.95 - error, "{rate} ± {error}");
    }

    #[test]
    fn ranks_that_take_correlated_values_for_independent_do_not() {
        // The control: without the effective size the same test fails by far (46 % in method.md).
        let truth = true_quantile(0.5);
        let (rate, _) = coverage(500, 3, |rng| {
            let ranked = Ranked::exact(autoregressive(rng, 1_000, 0.9));
            let ranks = interval_ranks(0.5, 1_000, 1_000.0);
            let at = |rank: Option<u64>| rank.and_then(|rank| ranked.at(rank)).map(Nanos);
            within(at(ranks.low), at(ranks.high), truth)
        });
        assert!((0.35..0.60).contains(&rate), "{rate}");
    }

    #[test_case(0.9, 1_000)]
    #[test_case(0.0, 50)]
    fn a_means_interval_covers_the_truth(phi: f64, n: usize) {
        let (rate, error) = coverage(500, 9, |rng| {
            let series = autoregressive(rng, n, phi);
            let effective = effective(n, |i| series[i] as f64).unwrap();
            let mean = series.iter().sum::<u64>() as f64 / n as f64;
            let squares: f64 = series.iter().map(|&x| (x as f64 - mean).powi(2)).sum();
            let deviation = (squares / (n as f64 - 1.0)).sqrt();
            (mean - MEAN).abs() <= effective.student() * deviation / effective.size.sqrt()
        });
        assert!(rate > 0.95 - error, "{rate} ± {error}");
    }

    #[test_case(0.0, 20_000)]
    #[test_case(0.5, 20_000)]
    #[test_case(0.9, 20_000; "in batches of three")]
    #[test_case(0.9, 8_192; "as it is")]
    #[test_case(0.99, 100_000)]
    fn the_effective_size_is_that_of_the_process(phi: f64, n: usize) {
        let mut rng = fastrand::Rng::with_seed(1);
        let series = autoregressive(&mut rng, n, phi);
        let truth = n as f64 * (1.0 - phi) / (1.0 + phi);
        let found = effective(n, |i| series[i] as f64).unwrap().size;
        assert!((found / truth - 1.0).abs() < 0.3, "{found}, truly {truth}");
        let lag = autocorrelation(&series).unwrap();
        assert!((lag - phi).abs() < 0.03, "{lag}");
    }

    /// The definition without batches, bounds or corrections.
    fn by_definition(series: &[u64]) -> f64 {
        let n = series.len();
        let mean = series.iter().sum::<u64>() as f64 / n as f64;
        let rho = |lag: usize| -> f64 {
            let product = |i: usize| (series[i] as f64 - mean) * (series[i + lag] as f64 - mean);
            (0..n - lag).map(product).sum::<f64>() / (0..n).map(|i| (series[i] as f64 - mean).powi(2)).sum::<f64>()
        };
        let pairs = (0..n / 2).map(|k| rho(2 * k) + rho(2 * k + 1)).take_while(|&pair| pair > 0.0);
        n as f64 / (2.0 * pairs.sum::<f64>() - 1.0)
    }

    #[test]
    fn up_to_its_correction_it_is_geyers_sum() {
        let mut rng = fastrand::Rng::with_seed(8);
        for phi in [0.3, 0.7, 0.9] {
            let series = autoregressive(&mut rng, 4_000, phi);
            let found = effective(4_000, |i| series[i] as f64).unwrap();
            let terms = 4_000.0 / (found.freedom + 1.0);
            let plain = found.size / (1.0 - terms / 4_000.0);
            assert!((plain / by_definition(&series) - 1.0).abs() < 1e-9, "{phi}");
        }
    }

    #[test]
    fn a_drift_leaves_almost_nothing() {
        let size = effective(100_000, |i| i as f64).unwrap();
        assert!(size.size < 5.0, "{size:?}");
    }

    #[test]
    fn what_alternates_is_worth_its_length_and_no_more() {
        let size = effective(1_000, |i| (i % 2) as f64).unwrap();
        assert_eq!(size.size, 1_000.0);
        let series: Vec<u64> = (0..1_000).map(|i| i % 2).collect();
        assert!(autocorrelation(&series).unwrap() < -0.99);
    }

    #[test]
    fn what_is_constant_or_short_says_nothing() {
        assert_eq!(effective(1_000, |_| 7.0), None);
        assert_eq!(effective(SHORTEST - 1, |i| i as f64), None);
        assert_eq!(effective(0, |i| i as f64), None);
        assert_eq!((autocorrelation(&[7; 100]), autocorrelation(&[])), (None, None));
        assert_eq!(effective_at(&[7; 100], 7), None);
    }

    #[test]
    fn a_quantile_that_is_the_longest_value_counts_those_at_it() {
        // 100 of 1000 are at the maximum, in one run: nothing is above it, and yet the sample is worth little there.
        let series: Vec<u64> = (0..1_000).map(|i| if i < 100 { 9 } else { i % 7 }).collect();
        assert!(effective_at(&series, 9).unwrap().size < 100.0);
    }

    proptest! {
        #[test]
        fn sizes_keep_their_range(series in prop::collection::vec(0_u64..1 << 40, 0..300)) {
            if let Some(found) = effective(series.len(), |i| series[i] as f64) {
                prop_assert!(found.size >= 1.0 && found.size <= series.len() as f64);
                prop_assert!(found.for_ranks() >= 1.0 && found.for_ranks() <= found.size.max(1.0));
                prop_assert!(found.student() > Z && found.student().is_finite());
                // A wider unit changes nothing.
                let scaled = effective(series.len(), |i| series[i] as f64 * 1_024.0).unwrap();
                prop_assert!((scaled.size / found.size - 1.0).abs() < 1e-6);
            }
            if let Some(lag) = autocorrelation(&series) {
                prop_assert!((-1.0..=1.0).contains(&lag));
            }
        }
    }

    #[test]
    fn the_generator_has_the_moments_it_states() {
        let series = autoregressive(&mut fastrand::Rng::with_seed(2), 200_000, 0.5);
        let mean = series.iter().sum::<u64>() as f64 / 200_000.0;
        let deviation = (series.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / 200_000.0).sqrt();
        assert!((mean - MEAN).abs() < 200.0 && (deviation - DEVIATION).abs() < 200.0, "{mean} {deviation}");
    }
}
