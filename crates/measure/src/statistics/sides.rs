//! Comparison of two groups of runs: the Mann–Whitney test, the Hodges–Lehmann shift with the interval that
//! inverts it, and Cliff's delta.
//!
//! Each run gives one number; the unit of replication is the run, never a packet: values of one run resemble each other, and
//! a test of packets calls two runs of one system different three times in four (see the documented method). Groups need not
//! be of equal size. For runs that were made in pairs see `paired`.
//!
//! Sources: Mann and Whitney 1947; Hodges and Lehmann 1963; Cliff 1993; Holm 1979.

use statrs::distribution::{ContinuousCDF, Normal};

use super::paired::{Estimate, LEFT_OUT, middle};

/// Fewest runs of a side with which anything is called a difference: with five and five the smallest two-sided p is 0.8 %,
/// with four and four it is 2.9 %, and one odd run decides.
pub const FEWEST: usize = 5;

/// Up to so many runs of both sides the test counts every way to deal them out; beyond, its normal approximation serves.
const EXACT_UP_TO: usize = 60;

/// Result of comparing two groups of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sides {
    /// Distance of the second side above the first: the median of all differences of a run of the second and one of the
    /// first, with its two-sided 95 % interval, in the unit of the input.
    pub shift: Estimate,
    /// Probability, if both sides were the same, of a difference of ranks as large as this or larger, in either direction.
    pub p: f64,
    /// Cliff's delta: how much more often a run of the second side lies above one of the first than below, −1 to 1.
    pub delta: f64,
}

/// Compares `first` and `second`, one number for each run. Coverage of the interval is at least 95 % up
/// to 60 runs in all; its ends are absent where so few runs cannot reach that.
///
/// `None` where a side has no run or a number is not finite. Takes as many numbers of memory as there are pairs.
///
/// ```
/// use measure::statistics::sides::compared;
/// let sides = compared(&[10.0, 11.0, 12.0], &[13.0, 14.0, 15.0]).unwrap();
/// assert_eq!((sides.shift.value, sides.delta), (3.0, 1.0));
/// assert_eq!(sides.shift.low, None); // three runs a side reach 90 % at best
/// assert!((sides.p - 0.1).abs() < 1e-12);
/// ```
pub fn compared(first: &[f64], second: &[f64]) -> Option<Sides> {
    compared_within(first, second, LEFT_OUT)
}

/// [`compared`] with an interval that leaves out `left_out`, a probability, both sides together.
pub fn compared_within(first: &[f64], second: &[f64], left_out: f64) -> Option<Sides> {
    let finite = |side: &[f64]| !side.is_empty() && side.iter().all(|value| value.is_finite());
    if !finite(first) || !finite(second) {
        return None;
    }
    let mut differences: Vec<f64> = second.iter().flat_map(|b| first.iter().map(move |a| b - a)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let below = differences.iter().filter(|difference| **difference < 0.0).count();
    let above = differences.iter().filter(|difference| **difference > 0.0).count();
    let pairs = differences.len();
    let rank = lower_rank(first.len(), second.len(), left_out / 2.0);
    Some(Sides {
        shift: Estimate {
            value: middle(&differences),
            low: rank.map(|rank| differences[rank - 1]),
            high: rank.map(|rank| differences[pairs - rank]),
        },
        p: probability(first, second),
        delta: (above as f64 - below as f64) / pairs as f64,
    })
}

/// The ratio second / first: [`compared`] of the logarithms, its shift taken back, so that 1.05 is 5 % more. `None` also
/// where a number is not above 0.
pub fn ratio(first: &[f64], second: &[f64]) -> Option<Sides> {
    ratio_within(first, second, LEFT_OUT)
}

/// [`ratio`] with an interval that leaves out `left_out`, a probability, both sides together.
pub fn ratio_within(first: &[f64], second: &[f64], left_out: f64) -> Option<Sides> {
    let logarithms =
        |side: &[f64]| side.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect::<Option<Vec<_>>>();
    let sides = compared_within(&logarithms(first)?, &logarithms(second)?, left_out)?;
    let Estimate { value, low, high } = sides.shift;
    let shift = Estimate { value: value.exp(), low: low.map(f64::exp), high: high.map(f64::exp) };
    Some(Sides { shift, ..sides })
}

/// The probabilities of several tests, each made larger for there being others, so that all together raise a false alarm no
/// more often than one of them does (Holm's step-down procedure). In the order given; each 1 at most.
///
/// ```
/// assert_eq!(measure::statistics::sides::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&one, &other| probabilities[one].total_cmp(&probabilities[other]));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut least = 0.0_f64;
    for (before, &index) in order.iter().enumerate() {
        least = least.max((probabilities[index] * (order.len() - before) as f64).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

/// The two-sided probability of the ranks that `first` has among all.
fn probability(first: &[f64], second: &[f64]) -> f64 {
    let ranks = doubled_ranks(first, second);
    let sum: usize = ranks[..first.len()].iter().sum();
    let (upto, from) = if ranks.len() <= EXACT_UP_TO {
        let dealt = dealt(&ranks, first.len());
        let all: f64 = dealt.iter().sum();
        (dealt[..=sum].iter().sum::<f64>() / all, dealt[sum..].iter().sum::<f64>() / all)
    } else {
        let (mean, deviation) = moments(&ranks, first.len());
        if deviation == 0.0 {
            return 1.0;
        }
        // Sums of doubled ranks without ties lie 2 apart.
        let area = |x: f64| Normal::standard().cdf((x - mean) / deviation);
        (area(sum as f64 + 1.0), 1.0 - area(sum as f64 - 1.0))
    };
    (2.0 * upto.min(from)).min(1.0)
}

/// Twice the rank of each value among all, from 1; those that are equal share the middle of their ranks.
pub(super) fn doubled_ranks(first: &[f64], second: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let mut sorted = all.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let doubled = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let upto = sorted.partition_point(|other| other <= value);
        below + upto + 1
    };
    all.iter().map(doubled).collect()
}

/// In how many ways `taken` of `ranks` have each sum, from 0 up: the distribution if both sides were the same, ties included.
pub(super) fn dealt(ranks: &[usize], taken: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    // ways[k][sum]: of the ranks seen so far.
    let mut ways = vec![vec![0.0; most + 1]; taken + 1];
    ways[0][0] = 1.0;
    // No sum of the ranks seen so far is this one.
    let mut beyond = 1;
    for (seen, &rank) in ranks.iter().enumerate() {
        beyond += rank;
        for k in (1..=taken.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(k);
            let (fewer, more) = (&fewer[k - 1][..beyond - rank], &mut more[0][rank..beyond]);
            for (more, fewer) in more.iter_mut().zip(fewer) {
                *more += fewer;
            }
        }
    }
    ways.pop().expect("one for each number taken")
}

/// Mean and standard deviation of the sum of `taken` of `ranks`, drawn without replacement.
fn moments(ranks: &[usize], taken: usize) -> (f64, f64) {
    let (n, k) = (ranks.len() as f64, taken as f64);
    let mean = ranks.iter().sum::<usize>() as f64 / n;
    let squares: f64 = ranks.iter().map(|&rank| (rank as f64 - mean).powi(2)).sum();
    (k * mean, (k * (n - k) / (n * (n - 1.0)) * squares).sqrt())
}

/// Rank, from 1, of the lower end of the interval among the differences: the largest c with P(U < c) <= `tail` for the
/// Mann–Whitney statistic U of sides so large. `None` where not even c = 1 is so.
fn lower_rank(first: usize, second: usize, tail: f64) -> Option<usize> {
    let all = first + second;
    let rank = if all <= EXACT_UP_TO {
        let ranks: Vec<usize> = (1..=all).collect();
        let dealt = dealt(&ranks, first);
        let whole: f64 = dealt.iter().sum();
        let least = first * (first + 1) / 2;
        let mut below = 0.0;
        let beyond = |ways: &f64| {
            below += ways / whole;
            below > tail
        };
        dealt[least..].iter().position(beyond).unwrap_or(0)
    } else {
        let (n, m) = (first as f64, second as f64);
        let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
        (n * m / 2.0 + 0.5 + Normal::standard().inverse_cdf(tail) * deviation).floor().max(0.0) as usize
    };
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::statistics::simulated::normal;

    #[test]
    fn a_published_example_comes_out_as_published() {
        // Hollander and Wolfe, permeability of the human amnion at term and at 12 to 26 weeks: W = 30 of the 15 runs,
        // P(W >= 30) = 0.1272; the shift is 0.305 and its 92 % interval −0.08 to 0.65 lies in that of 95 %.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let sides = compared(&earlier, &term).unwrap();
        assert!((sides.p - 0.2544).abs() < 5e-5, "{}", sides.p);
        assert!((sides.shift.value - 0.305).abs() < 1e-9);
        assert!(sides.shift.low.unwrap() < -0.08 && sides.shift.high.unwrap() > 0.65);
        assert!((sides.delta - 0.4).abs() < 1e-9, "35 of 50 above, 15 below");
    }

    #[test_case(3, 3, None; "three and three cannot")]
    #[test_case(4, 4, Some(1))]
    #[test_case(5, 5, Some(3))]
    #[test_case(7, 7, Some(9))]
    #[test_case(10, 10, Some(24))]
    #[test_case(5, 10, Some(9))]
    #[test_case(20, 20, Some(128))]
    fn ranks_are_those_of_the_published_tables(first: usize, second: usize, rank: Option<usize>) {
        // Critical values of the two-sided 5 % test are one less: 0, 2, 8, 23, 8, 127.
        assert_eq!(lower_rank(first, second, LEFT_OUT / 2.0), rank);
        assert_eq!(lower_rank(second, first, LEFT_OUT / 2.0), rank);
    }

    #[test_case(3, 0.1; "three and three")]
    #[test_case(4, 2.0 / 70.0; "four and four")]
    #[test_case(5, 2.0 / 252.0; "five and five")]
    #[test_case(7, 2.0 / 3_432.0; "seven and seven")]
    fn sides_that_lie_wholly_apart_have_the_smallest_probability(runs: usize, p: f64) {
        let side = |from: usize| (from..from + runs).map(|k| k as f64).collect::<Vec<_>>();
        let (low, high) = (side(0), side(100));
        assert!((compared(&low, &high).unwrap().p - p).abs() < 1e-12);
        assert!((compared(&high, &low).unwrap().p - p).abs() < 1e-12);
    }

    #[test]
    fn with_ties_the_probability_is_that_of_every_way_to_deal_the_runs_out() {
        let mut rng = Rng::with_seed(3);
        for _ in 0..200 {
            let draw = |rng: &mut Rng, n| (0..n).map(|_| f64::from(rng.u8(0..4))).collect::<Vec<_>>();
            let (n, m) = (rng.usize(1..6), rng.usize(1..6));
            let (first, second) = (draw(&mut rng, n), draw(&mut rng, m));
            let ranks = doubled_ranks(&first, &second);
            let sum_of = |chosen: u32| (0..n + m).filter(|k| chosen >> k & 1 == 1).map(|k| ranks[k]).sum::<usize>();
            let sums: Vec<usize> =
                (0..1_u32 << (n + m)).filter(|chosen| chosen.count_ones() as usize == n).map(sum_of).collect();
            let seen = sum_of((1 << n) - 1);
            let share =
                |of: &dyn Fn(usize) -> bool| sums.iter().filter(|sum| of(**sum)).count() as f64 / sums.len() as f64;
            let counted = (2.0 * share(&|sum| sum <= seen).min(share(&|sum| sum >= seen))).min(1.0);
            assert!((probability(&first, &second) - counted).abs() < 1e-12);
        }
    }

    #[test]
    fn the_approximation_takes_over_without_a_jump() {
        let mut rng = Rng::with_seed(4);
        for runs in [20, 25, 30] {
            let draw = |rng: &mut Rng, by: f64| (0..runs).map(|_| normal(rng) + by).collect::<Vec<_>>();
            let (first, second) = (draw(&mut rng, 0.0), draw(&mut rng, 0.5));
            let exact = probability(&first, &second);
            let ranks = doubled_ranks(&first, &second);
            let (mean, deviation) = moments(&ranks, runs);
            let sum = ranks[..runs].iter().sum::<usize>() as f64;
            let approximate = 2.0 * Normal::standard().cdf(((sum - mean).abs() - 1.0) / -deviation);
            assert!((exact - approximate).abs() < 0.01, "{runs}: {exact} and {approximate}");
        }
        assert_eq!(compared(&[1.0; 40], &[1.0; 40]).unwrap().p, 1.0);
        assert!(compared(&[1.0; 40], &[2.0; 40]).unwrap().p < 1e-12);
    }

    #[test]
    fn what_is_no_number_gives_no_answer() {
        assert_eq!(compared(&[], &[1.0]), None);
        assert_eq!(compared(&[1.0], &[f64::NAN]), None);
        assert_eq!(ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn many_tests_together_are_no_reason_for_an_alarm() {
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.5, 0.001, 0.9]), [1.0, 0.003, 1.0]);
    }

    #[test]
    fn identical_sides_are_called_different_as_often_as_the_test_says() {
        // Two-sided 5 % with 7 and 7: U <= 8 on either side, 3.79 % of all ways.
        let mut rng = Rng::with_seed(5);
        let trials = 4_000;
        let draw = |rng: &mut Rng| (0..7).map(|_| normal(rng)).collect::<Vec<_>>();
        let alarms = (0..trials).filter(|_| compared(&draw(&mut rng), &draw(&mut rng)).unwrap().p <= 0.05).count();
        let rate = alarms as f64 / f64::from(trials);
        let error = (0.037_9 * (1.0 - 0.037_9) / f64::from(trials)).sqrt();
        assert!((rate - 0.037_9).abs() < 4.0 * error, "{rate}");
    }

    proptest! {
        #[test]
        fn the_interval_excludes_nothing_exactly_where_the_test_finds_something(
            first in prop::collection::vec(-1e3_f64..1e3, 4..12), second in prop::collection::vec(-1e3_f64..1e3, 4..12)
        ) {
            let sides = compared(&first, &second).unwrap();
            let (low, high) = (sides.shift.low.unwrap(), sides.shift.high.unwrap());
            prop_assert!(low <= sides.shift.value && sides.shift.value <= high);
            prop_assert_eq!(sides.p <= 0.05, low > 0.0 || high < 0.0);
            let swapped = compared(&second, &first).unwrap();
            prop_assert!((swapped.p - sides.p).abs() < 1e-12 && swapped.delta == -sides.delta);
            prop_assert!((swapped.shift.value + sides.shift.value).abs() < 1e-9);
        }

        #[test]
        fn a_ratio_is_that_of_any_unit(sides in prop::collection::vec((1e-3_f64..1e6, 1e-3_f64..1e6), 5..12), by in 1e-3_f64..1e3) {
            let (first, second): (Vec<f64>, Vec<f64>) = sides.into_iter().unzip();
            let scaled = |side: &[f64]| side.iter().map(|value| value * by).collect::<Vec<_>>();
            let (one, other) = (ratio(&first, &second).unwrap(), ratio(&scaled(&first), &scaled(&second)).unwrap());
            prop_assert!((one.shift.value / other.shift.value - 1.0).abs() < 1e-9);
        }
    }
}
