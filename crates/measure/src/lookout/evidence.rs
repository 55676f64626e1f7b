//! Evidence of a change that grows while it lasts: Shiryaev–Roberts sums of bets (Shin, Ramdas and Rinaldo, e-detectors, arXiv 2203.03532).
//!
//! While no bet is expected to win, the sum is at least `limit` at most once in `limit` steps on average, whatever the dependence between
//! steps. Scores bet by stakes; losses bet by rates.

use serde::{Deserialize, Serialize};

/// Bets that are held at the same time: their mean is the evidence.
const BETS: usize = 4;
/// Stakes on a score, shares of the capital.
const STAKES: [f64; BETS] = [0.1, 0.3, 0.6, 0.9];
/// Rates of loss that are bet on, multiples of the normal one.
const RATES: [f64; BETS] = [3.0, 10.0, 50.0, 300.0];
/// Highest rate that is bet on.
const HIGHEST_RATE: f64 = 0.6;
/// Score above which a step counts no more: no single step, however bad, is a change.
const BEST_SCORE: f64 = 2.0;

/// The highest sum that is kept: far beyond any limit, and within the range of four octets.
const HIGHEST: f64 = 1e30;

/// Sums of bets, in half the room: seven digits of them are more than enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence([f32; BETS]);

impl Evidence {
    /// Takes a step's score, which is not expected above 0 while nothing changed, and at least -1.
    pub fn score(&mut self, score: f64) -> f64 {
        let score = score.clamp(-1.0, BEST_SCORE);
        self.multiply(STAKES.map(|stake| 1.0 + stake * score))
    }

    /// Takes a step's requests: `clean` of them in units without loss, and `lossy` units of which each had `size` requests and lost some. `normal` is the
    /// highest rate of loss that is no change. The step multiplies a bet by `most` at most.
    pub fn losses(&mut self, clean: u64, lossy: u64, size: f64, normal: f64, most: f64) -> f64 {
        if clean == 0 && lossy == 0 {
            return self.mean();
        }
        let any = |rate: f64| 1.0 - (1.0 - rate).powf(size);
        self.multiply(RATES.map(|multiple| {
            let rate = (normal * multiple).min(HIGHEST_RATE).max(normal);
            let kept = ((1.0 - rate) / (1.0 - normal)).ln() * clean as f64;
            let lost = if lossy == 0 { 0.0 } else { (any(rate) / any(normal)).ln() * lossy as f64 };
            (kept + lost).exp().min(most)
        }))
    }

    fn multiply(&mut self, by: [f64; BETS]) -> f64 {
        for (sum, by) in self.0.iter_mut().zip(by) {
            *sum = ((f64::from(*sum) + 1.0) * by).min(HIGHEST) as f32;
        }
        self.mean()
    }

    /// The evidence: mean of the sums.
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|sum| f64::from(*sum)).sum::<f64>() / BETS as f64
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Expected growth of the best bet's logarithm in a step of so many `requests` of which a `share` is lost, each by itself.
pub fn log_growth(requests: f64, share: f64, normal: f64, most: f64) -> f64 {
    let growth = |multiple: f64| {
        let rate = (normal * multiple).min(HIGHEST_RATE);
        let (lost, kept) = ((rate / normal).ln(), ((1.0 - rate) / (1.0 - normal)).ln());
        let expected = requests * share;
        let few = (expected + 10.0 * expected.sqrt() + 10.0) as u64;
        let mut chance = (-expected).exp();
        (0..=few)
            .map(|count| {
                let step = (lost * count as f64 + kept * (requests - count as f64).max(0.0)).min(most.ln());
                let part = chance * step;
                chance *= expected / (count + 1) as f64;
                part
            })
            .sum::<f64>()
    };
    // Where so many are lost that no chance is left of few, each step grows by the most.
    if requests * share > 500.0 { most.ln() } else { RATES.map(growth).into_iter().fold(f64::NEG_INFINITY, f64::max) }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// Steps until the evidence first reaches `limit`, or `most`.
    fn until(limit: f64, most: u64, mut step: impl FnMut(&mut Evidence) -> f64) -> u64 {
        let mut evidence = Evidence::default();
        (1..=most).find(|_| step(&mut evidence) >= limit).unwrap_or(most)
    }

    #[test]
    fn a_fair_game_reaches_the_limit_no_sooner_than_promised() {
        // The worst that the condition allows: scores of mean 0, as wild as they may be.
        let mut rng = Rng::with_seed(11);
        let runs = 400;
        let total: u64 =
            (0..runs).map(|_| until(200.0, 100_000, |held| held.score(if rng.bool() { 1.0 } else { -1.0 }))).sum();
        assert!(total >= runs * 180, "mean of {} steps", total / runs);
        // Losses exactly as often as is normal, in units of 10 requests.
        let total: u64 = (0..runs)
            .map(|_| {
                until(200.0, 100_000, |held| {
                    let lossy = (0..8).filter(|_| rng.f64() < 1.0 - 0.99_f64.powi(10)).count() as u64;
                    held.losses((8 - lossy) * 10, lossy, 10.0, 0.01, f64::MAX)
                })
            })
            .sum();
        assert!(total >= runs * 180, "mean of {} steps", total / runs);
    }

    #[test]
    fn what_changed_is_found_soon_and_one_step_is_never_enough() {
        assert!(until(1e8, 100, |held| held.score(1.0)) <= 32);
        assert!(until(1e8, 100, |held| held.score(f64::INFINITY)) >= 18);
        assert!(until(1e8, 100, |held| held.losses(80, 8, 1.0, 1e-3, f64::MAX)) <= 2);
    }
}
