//! Shift function: the distance of each quantile of one side from that of the other, with an interval.
//!
//! A side is several runs; its quantile is the median of its runs' quantiles. The intervals come from a hierarchical bootstrap:
//! runs are drawn with replacement, and of each drawn run blocks of consecutive values, since neighbours resemble each
//! other. The curve describes a difference; whether there is one is for `sides` or `paired` to say.
//!
//! Sources: Doksum 1974 (shift function); Künsch 1989 (blocks); Politis and White 2004, corrected by Patton, Politis and
//! White 2009 (their length).

use fastrand::Rng;

use super::paired::middle;
use super::quantile::rank;

/// Draws of the bootstrap.
pub const DRAWS: usize = 2_000;
/// Values of a run that are looked at: an even thinning of a longer one. Bounds the time a curve takes.
const LOOKED_AT: usize = 2_000;
/// Probability left out on either side of an interval.
const TAIL: f64 = 0.025;

/// Distance of a quantile of the second side above that of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileShift {
    /// The quantile, 0 to 1.
    pub q: f64,
    /// Second side minus the first, in the unit of the values.
    pub difference: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// The shift of each quantile of `list` from `first` to `second`: runs, each its values in order of time. `seed` decides
/// the draws: the same one gives the same intervals. A quantile of which a run has fewer than one value on its rare side is
/// left out, since it would be the run's extreme.
///
/// `None` where a side has fewer than two runs, which cannot be drawn from, or a run no values.
pub fn shifts(first: &[&[u64]], second: &[&[u64]], list: &[f64], seed: u64) -> Option<Vec<QuantileShift>> {
    drawn_shifts(first, second, list, DRAWS, seed)
}

/// The same with fewer draws, for those who need many curves.
fn drawn_shifts(
    first: &[&[u64]],
    second: &[&[u64]],
    list: &[f64],
    draws: usize,
    seed: u64,
) -> Option<Vec<QuantileShift>> {
    let (first, second) = (Side::of(first)?, Side::of(second)?);
    let shortest = first.shortest().min(second.shortest()) as f64;
    let list: Vec<f64> =
        list.iter().copied().filter(|q| q.min(1.0 - q) * shortest >= 1.0 - f64::EPSILON * shortest).collect();
    let mut rng = Rng::with_seed(seed);
    let mut drawn = vec![Vec::with_capacity(draws); list.len()];
    for _ in 0..draws {
        let (one, other) = (first.drawn(&list, &mut rng), second.drawn(&list, &mut rng));
        for (place, (one, other)) in drawn.iter_mut().zip(one.into_iter().zip(other)) {
            place.push(other - one);
        }
    }
    let (one, other) = (first.quantiles(&list), second.quantiles(&list));
    let shift = |((q, drawn), difference): ((f64, Vec<f64>), f64)| {
        let ends = ends(drawn);
        QuantileShift { q, difference, low: ends.0, high: ends.1 }
    };
    let differences = one.into_iter().zip(other).map(|(one, other)| other - one);
    Some(list.into_iter().zip(drawn).zip(differences).map(shift).collect())
}

/// Returns the ends of the interval: the tails of the drawn differences are left out.
fn ends(mut drawn: Vec<f64>) -> (f64, f64) {
    drawn.sort_unstable_by(f64::total_cmp);
    let left_out = (drawn.len() as f64 * TAIL) as usize;
    (drawn[left_out], drawn[drawn.len() - 1 - left_out])
}

/// A run's values, thinned, and how many consecutive ones make a block.
#[derive(Debug)]
struct Run {
    values: Vec<u64>,
    block: usize,
}

#[derive(Debug)]
struct Side {
    runs: Vec<Run>,
}

impl Side {
    fn of(runs: &[&[u64]]) -> Option<Self> {
        if runs.len() < 2 || runs.iter().any(|run| run.is_empty()) {
            return None;
        }
        let thinned = |run: &&[u64]| {
            let values: Vec<u64> = run.iter().step_by(run.len().div_ceil(LOOKED_AT)).copied().collect();
            Run { block: block_length(&values), values }
        };
        Some(Self { runs: runs.iter().map(thinned).collect() })
    }

    fn shortest(&self) -> usize {
        self.runs.iter().map(|run| run.values.len()).min().unwrap_or(0)
    }

    /// The side's own quantiles.
    fn quantiles(&self, list: &[f64]) -> Vec<f64> {
        medians(&self.runs.iter().map(|run| of_values(run.values.clone(), list)).collect::<Vec<_>>())
    }

    /// The quantiles of as many runs drawn from it.
    fn drawn(&self, list: &[f64], rng: &mut Rng) -> Vec<f64> {
        let one = |rng: &mut Rng| of_values(self.runs[rng.usize(..self.runs.len())].drawn(rng), list);
        medians(&(0..self.runs.len()).map(|_| one(rng)).collect::<Vec<_>>())
    }
}

impl Run {
    /// Draws as many values, in blocks that may run over the end to the beginning, so that every value is drawn as often.
    fn drawn(&self, rng: &mut Rng) -> Vec<u64> {
        let n = self.values.len();
        let mut drawn = Vec::with_capacity(n + self.block);
        while drawn.len() < n {
            let from = rng.usize(..n);
            let upto = (from + self.block).min(n);
            drawn.extend_from_slice(&self.values[from..upto]);
            drawn.extend_from_slice(&self.values[..from + self.block - upto]);
        }
        drawn.truncate(n);
        drawn
    }
}

/// The quantiles of some values, by nearest rank.
fn of_values(mut values: Vec<u64>, list: &[f64]) -> Vec<f64> {
    values.sort_unstable();
    let at = |q: &f64| rank(*q, values.len() as u64).map_or(f64::NAN, |rank| values[rank as usize - 1] as f64);
    list.iter().map(at).collect()
}

/// For each quantile the median over runs.
fn medians(runs: &[Vec<f64>]) -> Vec<f64> {
    let quantiles = runs.first().map_or(0, Vec::len);
    let over_runs = |k: usize| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[k]).collect();
        values.sort_unstable_by(f64::total_cmp);
        middle(&values)
    };
    (0..quantiles).map(over_runs).collect()
}

/// Returns the number of consecutive values in a block of a circular block bootstrap, by Politis and White's rule; the
/// cube root of the number of values at least, and a fourth of it at most.
fn block_length(values: &[u64]) -> usize {
    let n = values.len();
    let least = (n as f64).cbrt().ceil() as usize;
    let most = (n / 4).max(1);
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / n as f64;
    let apart: Vec<f64> = values.iter().map(|value| *value as f64 - mean).collect();
    let covariance =
        |lag: usize| apart.iter().zip(&apart[lag..]).map(|(one, other)| one * other).sum::<f64>() / n as f64;
    let variance = covariance(0);
    if variance <= 0.0 || n < 16 {
        return least.min(most);
    }
    // The last lag before so many in a row whose correlation could be chance.
    let digits = (n as f64).log10();
    let in_a_row = (digits.sqrt().ceil() as usize).max(5);
    let chance = 2.0 * (digits / n as f64).sqrt();
    let mut covariances = vec![variance];
    let mut small = 0;
    while small < in_a_row && covariances.len() < most {
        let next = covariance(covariances.len());
        small = if (next / variance).abs() < chance { small + 1 } else { 0 };
        covariances.push(next);
    }
    let last = covariances.len() - 1 - small;
    let reach = (2 * last).max(1);
    let weight = |lag: usize| (2.0 * (1.0 - lag as f64 / reach as f64)).clamp(0.0, 1.0);
    let (mut long_run, mut slope) = (variance, 0.0);
    for lag in 1..=reach.min(n - 1) {
        let held = covariances.get(lag).copied().unwrap_or_else(|| covariance(lag));
        long_run += 2.0 * weight(lag) * held;
        slope += 2.0 * weight(lag) * lag as f64 * held;
    }
    let spread = 4.0 / 3.0 * long_run * long_run;
    let length = if spread > 0.0 { (2.0 * slope * slope / spread * n as f64).cbrt() } else { 0.0 };
    (length.ceil() as usize).clamp(least, most.max(least)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::{autoregressive, normal, true_quantile};

    fn side(rng: &mut Rng, runs: usize, by: i64, spread: f64) -> Vec<Vec<u64>> {
        (0..runs)
            .map(|_| {
                let moved = by + (normal(rng) * spread) as i64;
                autoregressive(rng, 200, 0.5).into_iter().map(|value| value.saturating_add_signed(moved)).collect()
            })
            .collect()
    }

    fn lent(side: &[Vec<u64>]) -> Vec<&[u64]> {
        side.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn a_shift_of_every_quantile_is_found_in_each() {
        let mut rng = Rng::with_seed(7);
        let (first, second) = (side(&mut rng, 7, 0, 500.0), side(&mut rng, 7, 20_000, 500.0));
        let found = drawn_shifts(&lent(&first), &lent(&second), &[0.1, 0.5, 0.9], 300, 1).unwrap();
        assert_eq!(found.len(), 3);
        for shift in &found {
            assert!(shift.low <= shift.difference && shift.difference <= shift.high, "{shift:?}");
            assert!(shift.low < 20_000.0 && 20_000.0 < shift.high && shift.low > 15_000.0, "{shift:?}");
        }
        assert_eq!(
            drawn_shifts(&lent(&first), &lent(&second), &[0.1, 0.5, 0.9], 300, 1).unwrap(),
            found,
            "the seed decides"
        );
    }

    #[test]
    fn a_tail_that_alone_differs_is_seen_there_alone() {
        let mut rng = Rng::with_seed(8);
        let first = side(&mut rng, 7, 0, 0.0);
        let mut second = side(&mut rng, 7, 0, 0.0);
        let beyond = true_quantile(0.97);
        for value in second.iter_mut().flatten().filter(|value| **value > beyond) {
            *value += 50_000;
        }
        let found = drawn_shifts(&lent(&first), &lent(&second), &[0.5, 0.99], 300, 2).unwrap();
        assert!(found[0].low < 0.0 && found[0].high > 0.0, "{found:?}");
        assert!(found[1].low > 20_000.0, "{found:?}");
    }

    #[test]
    fn the_interval_of_the_median_covers_about_as_often_as_it_says() {
        let mut rng = Rng::with_seed(9);
        let trials = 60;
        let covers = (0..trials)
            .filter(|trial| {
                let (first, second) = (side(&mut rng, 7, 0, 2_000.0), side(&mut rng, 7, 0, 2_000.0));
                let found = drawn_shifts(&lent(&first), &lent(&second), &[0.5], 200, *trial).unwrap()[0];
                found.low <= 0.0 && 0.0 <= found.high
            })
            .count();
        // 95 % of 60 are 57; fewer than 50 would come by chance once in ten thousand times.
        assert!(covers >= 50, "{covers} of {trials}");
    }

    #[test]
    fn blocks_are_longer_where_values_remember_longer() {
        let mut rng = Rng::with_seed(10);
        let length = |rng: &mut Rng, memory| block_length(&autoregressive(rng, 2_000, memory));
        let (none, some, much) = (length(&mut rng, 0.0), length(&mut rng, 0.5), length(&mut rng, 0.95));
        assert!(none <= 20 && some > 12 && much > 2 * some && much <= 500, "{none} {some} {much}");
        assert_eq!(block_length(&[5; 1_000]), 10, "of what never varies: the cube root");
        assert_eq!(block_length(&[5, 6, 7]), 1);
    }

    #[test]
    fn what_cannot_be_drawn_from_gives_no_curve_and_an_extreme_is_no_quantile() {
        let (run, none): (&[u64], &[u64]) = (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[]);
        assert_eq!(shifts(&[run], &[run, run], &[0.5], 1), None);
        assert_eq!(shifts(&[run, none], &[run, run], &[0.5], 1), None);
        let listed: Vec<f64> =
            shifts(&[run, run], &[run, run], &[0.05, 0.5, 0.9, 0.99], 1).unwrap().iter().map(|shift| shift.q).collect();
        assert_eq!(listed, [0.5, 0.9]);
    }
}
