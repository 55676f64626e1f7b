//! Rhythm of times in step with the schedule: the correlation of a series with itself at a distance.
//!
//! Requests that leave at even distances meet a periodic disturbance at the same places each time, so that its share of what
//! they see is not its share of the time (RFC 2330 section 11.1). A resemblance of neighbours alone is no rhythm.

use crate::outcome::Rhythm;
use crate::statistics::steady::middle_ranks;

/// Fewer values show nothing: chance alone correlates 100 by up to 0.3 at some distance of a dozen.
pub const FEWEST: usize = 100;
/// The farthest distance looked at, in requests.
pub const FARTHEST: usize = 100;
/// Correlation of ranks from which a distance counts: one request in eight that is slow each time makes 0.33.
pub const STRONG: f64 = 0.3;
/// Distance above a lower correlation nearer by, at least: a correlation that only decays is no rhythm.
pub const CLEAR: f64 = 0.2;
/// Values looked at, the first ones: they bound the work to some three million products.
const LOOKED_AT: usize = 1 << 14;
/// Its standard deviations that it must be at least, by Bartlett's formula from the correlations nearer by.
const SURE: f64 = 4.0;
/// Share of its correlation that comes back at twice the distance, at least; chance does not.
const AGAIN: f64 = 0.5;

/// The shortest rhythm of a series in order of time; `None` where there is none, or where it is too short to tell.
pub fn rhythm(series: &[u64]) -> Option<Rhythm> {
    if series.len() < FEWEST {
        return None;
    }
    let ranks = middle_ranks(&series[..series.len().min(LOOKED_AT)]);
    let n = ranks.len();
    let variance: f64 = ranks.iter().map(|rank| rank * rank).sum();
    if variance <= 0.0 {
        return None;
    }
    // Each distance and the one behind its double: n / 8 leaves more than half of the pairs.
    let farthest = FARTHEST.min(n / 8);
    let at: Vec<f64> = (0..=2 * farthest + 1).map(|lag| correlation(&ranks, lag) / variance).collect();
    let (mut lowest, mut squares) = (at[1], at[1] * at[1]);
    for lag in 2..=farthest {
        let here = at[lag];
        let deviation = ((1.0 + 2.0 * squares) / n as f64).sqrt();
        let stands_out = here >= STRONG && here - lowest >= CLEAR && here >= SURE * deviation;
        let peak = here >= at[lag + 1];
        let twice = at[2 * lag - 1].max(at[2 * lag]).max(at[2 * lag + 1]);
        if stands_out && peak && twice >= AGAIN * here {
            return Some(Rhythm { lag: lag as u32, correlation: here });
        }
        lowest = lowest.min(here);
        squares += here * here;
    }
    None
}

fn correlation(ranks: &[f64], lag: usize) -> f64 {
    ranks.iter().zip(&ranks[lag..]).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::{autoregressive, latencies};
    use test_case::test_case;

    fn seeded(seed: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(seed)
    }

    /// Latencies of which each `every`-th takes longer.
    fn beaten(seed: u64, count: usize, every: usize) -> Vec<u64> {
        let mut trips = latencies(&mut seeded(seed), count);
        trips.iter_mut().step_by(every).for_each(|trip| *trip += 200_000);
        trips
    }

    #[test_case(2)]
    #[test_case(5)]
    #[test_case(6)]
    fn a_disturbance_that_keeps_step_is_found_at_its_distance(every: usize) {
        for seed in 0..10 {
            for count in [240, 1_000, 5_000, 40_000] {
                let found = rhythm(&beaten(seed, count, every)).map(|found| found.lag as usize);
                assert_eq!(found, Some(every), "{seed} {count}");
            }
        }
    }

    #[test]
    fn a_slow_wave_is_a_rhythm_too() {
        let mut trips = latencies(&mut seeded(3), 4_000);
        let wave = |i: usize| ((i as f64 / 40.0 * std::f64::consts::TAU).sin() * 20_000.0 + 20_000.0) as u64;
        trips.iter_mut().enumerate().for_each(|(i, trip)| *trip += wave(i));
        let lag = rhythm(&trips).unwrap().lag;
        assert!((39..=41).contains(&lag), "{lag}");
    }

    /// Out of 300 series without a rhythm none is said to have one: of each kind a rate of less than 1 in 100.
    #[test_case(0.0)]
    #[test_case(0.5)]
    #[test_case(0.9)]
    #[test_case(0.99)]
    fn what_resembles_its_neighbours_has_no_rhythm(correlation: f64) {
        let of = |seed| {
            let rng = &mut seeded(seed);
            let count = [100, 400, 1_000][seed as usize % 3];
            if correlation > 0.0 { autoregressive(rng, count, correlation) } else { latencies(rng, count) }
        };
        let false_alarms: Vec<u64> = (0..300).filter(|seed| rhythm(&of(*seed)).is_some()).collect();
        assert_eq!(false_alarms, [] as [u64; 0]);
    }

    #[test]
    fn a_drift_is_none_and_neither_is_nothing() {
        let mut trips = latencies(&mut seeded(4), 5_000);
        trips.iter_mut().enumerate().for_each(|(i, trip)| *trip += i as u64 * 10);
        assert_eq!(rhythm(&trips), None);
        assert_eq!(rhythm(&[7; 1_000]), None);
        assert_eq!(rhythm(&beaten(1, 99, 5)), None);
    }
}
