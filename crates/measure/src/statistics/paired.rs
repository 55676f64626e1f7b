//! Difference or ratio of paired runs: the Hodges–Lehmann estimate and its signed-rank interval.
//!
//! Each pair gives one number; the unit of replication is the pair, never a packet. No distribution is assumed but its
//! symmetry about the effect. Not here: the statistics of one run (`quantile`, `correlation`).

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to so many pairs the rank of the interval comes from the exact signed-rank distribution: 2^60 sign patterns are
/// counted in 64-bit integers. Beyond, from its normal approximation.
pub const EXACT_UP_TO: usize = 60;

/// Probability that a 95 % interval leaves out, both sides together.
pub(super) const LEFT_OUT: f64 = 0.05;

/// An effect and its two-sided 95 % interval, in the unit of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The Hodges–Lehmann estimate: median of all averages of two values, each with itself included.
    pub value: f64,
    /// Lower end of the interval; absent below 6 values, which cannot reach 95 %.
    pub low: Option<f64>,
    /// Upper end of the interval; absent below 6 values.
    pub high: Option<f64>,
}

/// Where the centre of `values` (one number per pair) lies, with the distribution-free 95 % interval that inverts the
/// Wilcoxon signed-rank test; its coverage is at least 95 % up to [`EXACT_UP_TO`] values (97 % of 6, 95.4 % of 21).
///
/// `None` where there are no values or one is not finite. Takes n²/2 numbers of memory: meant for runs, not packets.
///
/// ```
/// use measure::statistics::paired::hodges_lehmann;
/// let differences = [3.0, 1.0, 2.0];
/// assert_eq!(hodges_lehmann(&differences).unwrap().value, 2.0);
/// assert_eq!(hodges_lehmann(&differences).unwrap().low, None); // takes 6
/// ```
pub fn hodges_lehmann(values: &[f64]) -> Option<Estimate> {
    hodges_lehmann_within(values, LEFT_OUT)
}

/// [`hodges_lehmann`] with an interval that leaves out `left_out`, a probability, both sides together.
pub fn hodges_lehmann_within(values: &[f64], left_out: f64) -> Option<Estimate> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let averages = walsh_averages(values);
    let rank = lower_rank(values.len(), left_out / 2.0);
    Some(Estimate {
        value: middle(&averages),
        low: rank.map(|rank| averages[rank - 1]),
        high: rank.map(|rank| averages[averages.len() - rank]),
    })
}

/// The ratio ours / theirs over pairs (ours, theirs): [`hodges_lehmann`] of the logarithms, taken back. So the ratio of
/// swapped pairs is the reciprocal. `None` where there are no pairs or a number is not finite and above 0.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    ratio_within(pairs, LEFT_OUT)
}

/// [`ratio`] with an interval that leaves out `left_out`, a probability, both sides together.
pub fn ratio_within(pairs: &[(f64, f64)], left_out: f64) -> Option<Estimate> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    if pairs.iter().any(|&(ours, theirs)| !usable(ours) || !usable(theirs)) {
        return None;
    }
    let logarithms: Vec<f64> = pairs.iter().map(|&(ours, theirs)| ours.ln() - theirs.ln()).collect();
    let Estimate { value, low, high } = hodges_lehmann_within(&logarithms, left_out)?;
    Some(Estimate { value: value.exp(), low: low.map(f64::exp), high: high.map(f64::exp) })
}

/// Probability, if the pairs had no effect, of a sum of signed ranks as far from its middle as this or further, in either
/// direction (Wilcoxon's signed-rank test; pairs without a difference are left out, equal ones share their rank). 1 where no
/// pair differs; `None` where a number is not finite.
pub fn probability(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let apart: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
    let mut sizes: Vec<f64> = apart.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    // Twice the rank, which equal ones share.
    let doubled = |value: &f64| {
        sizes.partition_point(|size| *size < value.abs()) + sizes.partition_point(|size| *size <= value.abs()) + 1
    };
    let ranks: Vec<usize> = apart.iter().map(doubled).collect();
    let all: usize = ranks.iter().sum();
    let positive: usize = apart.iter().zip(&ranks).filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    let smaller = positive.min(all - positive);
    let upto = if apart.len() <= EXACT_UP_TO {
        let mut patterns = vec![0.0; all + 1];
        patterns[0] = 1.0;
        for &rank in &ranks {
            for sum in (rank..=all).rev() {
                patterns[sum] += patterns[sum - rank];
            }
        }
        patterns[..=smaller].iter().sum::<f64>() / 2_f64.powi(apart.len() as i32)
    } else {
        let deviation = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>().sqrt() / 2.0;
        Normal::standard().cdf((smaller as f64 + 1.0 - all as f64 / 2.0) / deviation)
    };
    Some((2.0 * upto).min(1.0))
}

/// Averages of all pairs i <= j, ascending.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (i, &left) in values.iter().enumerate() {
        // Halved before they are added, so that no sum overflows.
        averages.extend(values[i..].iter().map(|&right| left / 2.0 + right / 2.0));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The median of some runs' numbers, or of two the middle; `None` where there is none or one is no number.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (!sorted.is_empty() && sorted.iter().all(|value| value.is_finite())).then(|| middle(&sorted))
}

/// Median of a sorted sample that is not empty.
pub(super) fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { sorted[half - 1] / 2.0 + sorted[half] / 2.0 } else { sorted[half] }
}

/// Rank, from 1, of the lower end among the averages: the largest c with P(T < c) <= `tail` for the signed-rank
/// statistic T of n values. `None` where not even c = 1 is so.
fn lower_rank(n: usize, tail: f64) -> Option<usize> {
    let rank = if n <= EXACT_UP_TO { exact_rank(n, tail) } else { normal_rank(n, tail) };
    (rank > 0).then_some(rank)
}

fn exact_rank(n: usize, tail: f64) -> usize {
    let all = 2_f64.powi(n as i32);
    let mut below = 0_u64;
    for (sum, patterns) in sign_patterns(n).into_iter().enumerate() {
        below += patterns;
        if below as f64 / all > tail {
            return sum;
        }
    }
    0
}

/// Counts the sign patterns, of 2^n, that give each sum of positive ranks 1..=n, from 0 up.
fn sign_patterns(n: usize) -> Vec<u64> {
    let most = n * (n + 1) / 2;
    let mut patterns = vec![0_u64; most + 1];
    patterns[0] = 1;
    for rank in 1..=n {
        for sum in (rank..=most).rev() {
            patterns[sum] += patterns[sum - rank];
        }
    }
    patterns
}

/// By the normal approximation with continuity correction: P(T <= c - 1) is the area below c - 1/2.
fn normal_rank(n: usize, tail: f64) -> usize {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    (mean + 0.5 + Normal::standard().inverse_cdf(tail) * deviation).floor().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use test_case::test_case;

    #[test]
    #[expect(clippy::approx_constant, reason = "3.14 is what that patient scored")]
    fn the_textbook_example_comes_out_as_in_the_textbook() {
        // Hollander and Wolfe, Nonparametric Statistical Methods, depression scale, 9 patients: 0.46, and the 96.1 %
        // interval 0.010 to 0.786.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = before.iter().zip(after).map(|(b, a)| b - a).collect();
        let Estimate { value, low, high } = hodges_lehmann(&differences).unwrap();
        assert!((value - 0.46).abs() < 1e-9, "{value}");
        assert!((low.unwrap() - 0.010).abs() < 1e-9 && (high.unwrap() - 0.786).abs() < 1e-9, "{low:?} {high:?}");
    }

    #[test_case(5, None; "five pairs cannot")]
    #[test_case(6, Some(1); "six take the extremes")]
    #[test_case(7, Some(3))]
    #[test_case(10, Some(9))]
    #[test_case(20, Some(53))]
    #[test_case(50, Some(435))]
    fn ranks_are_those_of_the_published_tables(n: usize, rank: Option<usize>) {
        // Critical values of the two-sided 5 % signed-rank test are one less: 0, 2, 8, 52, 434.
        assert_eq!(lower_rank(n, LEFT_OUT / 2.0), rank);
    }

    #[test]
    fn sign_patterns_are_those_counted_one_by_one() {
        for n in 0..=14_u32 {
            let mut counted = vec![0_u64; (n * (n + 1) / 2) as usize + 1];
            for pattern in 0..1_u32 << n {
                let sum: u32 = (0..n).filter(|bit| pattern >> bit & 1 == 1).map(|bit| bit + 1).sum();
                counted[sum as usize] += 1;
            }
            assert_eq!(sign_patterns(n as usize), counted);
        }
    }

    #[test]
    fn the_approximation_takes_over_without_a_jump() {
        for n in 25..=EXACT_UP_TO {
            let (exact, normal) = (exact_rank(n, LEFT_OUT / 2.0), normal_rank(n, LEFT_OUT / 2.0));
            assert!(exact.abs_diff(normal) <= 2, "{n}: {exact} and {normal}");
        }
    }

    #[test]
    fn the_probability_is_that_of_the_published_tables() {
        // The example above: T+ = 40 of 45, P(T+ >= 40) = 0.0195.
        let depression = [0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01];
        assert!((probability(&depression).unwrap() - 0.039_062_5).abs() < 1e-12);
        let all_above: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(probability(&all_above), Some(2.0 / 64.0));
        assert_eq!(probability(&[0.0, 0.0]), Some(1.0));
        assert_eq!(probability(&[]), Some(1.0));
        assert_eq!(probability(&[f64::NAN]), None);
    }

    #[test]
    fn the_approximation_of_the_probability_takes_over_without_a_jump() {
        let mut rng = fastrand::Rng::with_seed(12);
        let values: Vec<f64> = (0..60).map(|_| rng.f64() - 0.4).collect();
        let exact = probability(&values).unwrap();
        // One pair more, of no weight, makes it the approximation's.
        let more: Vec<f64> = values.iter().copied().chain([1e-12]).collect();
        assert!((probability(&more).unwrap() - exact).abs() < 0.01, "{exact}");
    }

    #[test]
    fn nothing_and_what_is_no_number_give_no_estimate() {
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[1.0, f64::NAN]), None);
        assert_eq!(ratio(&[(1.0, 0.0)]), None);
        assert_eq!(ratio(&[]), None);
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        // Laplace, heavier tails than normal; 21 pairs, as a row of the benchmark has. Exact coverage there: 95.4 %.
        let mut rng = fastrand::Rng::with_seed(11);
        let trials = 4_000_u32;
        let covered = (0..trials)
            .filter(|_| {
                let values: Vec<f64> =
                    (0..21).map(|_| 7.0 + (1.0 - rng.f64()).ln() * if rng.bool() { 1.0 } else { -1.0 }).collect();
                let Estimate { low, high, .. } = hodges_lehmann(&values).unwrap();
                low.unwrap() <= 7.0 && 7.0 <= high.unwrap()
            })
            .count();
        let rate = covered as f64 / f64::from(trials);
        let exact = {
            let below: u64 = sign_patterns(21)[..exact_rank(21, LEFT_OUT / 2.0)].iter().sum();
            1.0 - 2.0 * below as f64 / 2_f64.powi(21)
        };
        let error = (exact * (1.0 - exact) / f64::from(trials)).sqrt();
        assert!((rate - exact).abs() < 4.0 * error, "{rate} ± {error}, exact {exact}");
    }

    proptest! {
        #[test]
        fn the_estimate_lies_in_its_interval_and_moves_with_the_values(
            values in prop::collection::vec(-1e6_f64..1e6, 6..70), by in -1e6_f64..1e6
        ) {
            let plain = hodges_lehmann(&values).unwrap();
            prop_assert!(plain.low.unwrap() <= plain.value && plain.value <= plain.high.unwrap());
            let moved: Vec<f64> = values.iter().map(|value| value + by).collect();
            let moved = hodges_lehmann(&moved).unwrap();
            prop_assert!((moved.value - plain.value - by).abs() < 1e-6);
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            prop_assert!((hodges_lehmann(&turned).unwrap().low.unwrap() + plain.high.unwrap()).abs() < 1e-6);
        }

        #[test]
        fn swapping_the_sides_of_a_ratio_inverts_it(pairs in prop::collection::vec((1e-3_f64..1e6, 1e-3_f64..1e6), 6..40)) {
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (one, other) = (ratio(&pairs).unwrap(), ratio(&swapped).unwrap());
            prop_assert!((one.value * other.value - 1.0).abs() < 1e-9);
            prop_assert!((one.low.unwrap() * other.high.unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
