//! The worth of values that came over several connections: others would have been drawn as well.
//!
//! Values of one connection share its path, queue and processor, so n of them say less of another connection than n of as many. The
//! variance of a share or a mean over all is that between the connections, whatever goes on within each (Cochran 1977, section 9;
//! for quantiles Woodruff 1952). Not here: whether connections differ, and which ones (`flows`).

use super::correlation::Effective;

/// Connections below which another one cannot be predicted.
pub const FEWEST: usize = 8;

/// Effective size of values that came over `connections` (a number from 0 each) for the mean of `value(0)` … : known with a degree of freedom
/// less than there are connections. Above their number where connections happen to differ less than their values would have them. `None` of
/// fewer than [`FEWEST`], and where all values are the same.
///
/// Connections may have different numbers of values: the mean is that of all values, and its variance that of a ratio.
pub fn effective(connections: &[u32], value: impl Fn(usize) -> f64) -> Option<Effective> {
    let count = connections.iter().max().map_or(0, |most| *most as usize + 1);
    if count > connections.len() {
        return None;
    }
    let mut sums = vec![(0.0, 0.0); count];
    let (mut sum, mut squares) = (0.0, 0.0);
    for (i, connection) in connections.iter().enumerate() {
        let value = value(i);
        let (of, number) = &mut sums[*connection as usize];
        *of += value;
        *number += 1.0;
        sum += value;
        squares += value * value;
    }
    sums.retain(|(_, number)| *number > 0.0);
    let all = connections.len() as f64;
    let (used, mean) = (sums.len(), sum / all);
    let variance = squares / all - mean * mean;
    if used < FEWEST || variance <= 0.0 {
        return None;
    }
    let k = used as f64;
    let between: f64 = sums.iter().map(|(of, number)| (of - mean * number).powi(2)).sum();
    let of_mean = k / (k - 1.0) * between / (all * all);
    Some(Effective { size: variance / of_mean, freedom: k - 1.0 })
}

/// Independent values that these are worth for the share of them beyond a quantile: never fewer than there are connections, as these were
/// drawn independently.
pub fn for_ranks(effective: Effective) -> f64 {
    effective.for_ranks().max(effective.freedom + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::quantile::Ranked;
    use crate::statistics::simulated::normal;

    /// `each` values over each of `count` connections in turn; each connection has a level of its own: deviations 1
    /// within, `apart` between.
    fn drawn(rng: &mut fastrand::Rng, count: u32, each: usize, apart: f64) -> (Vec<u32>, Vec<u64>) {
        let levels: Vec<f64> = (0..count).map(|_| apart * normal(rng)).collect();
        let connections: Vec<u32> = (0..each).flat_map(|_| 0..count).collect();
        let values = connections.iter().map(|c| (100_000.0 + 1_000.0 * (levels[*c as usize] + normal(rng))) as u64);
        let values = values.collect();
        (connections, values)
    }

    #[test]
    fn by_hand() {
        // Shares of 1 in eight connections of two values each: 1 in four, 0 in four.
        let connections: Vec<u32> = (0..16).map(|i| i / 2).collect();
        let found = effective(&connections, |i| f64::from(u8::from(i < 8))).unwrap();
        // Variance of a value 1/4; of the mean 8/7 · 8 · 1 / 256 = 1/28.
        assert!((found.size - 7.0).abs() < 1e-9 && found.freedom == 7.0, "{found:?}");
        assert_eq!(for_ranks(found), 8.0);
    }

    #[test]
    fn of_few_and_of_equal_values_nothing_is_told() {
        let seven: Vec<u32> = (0..70).map(|i| i % 7).collect();
        assert_eq!(effective(&seven, |i| i as f64), None);
        let eight: Vec<u32> = (0..80).map(|i| i % 8).collect();
        assert_eq!(effective(&eight, |_| 1.0), None);
        assert_eq!(effective(&[u32::MAX], |_| 1.0), None);
        assert_eq!(effective(&[], |_| 1.0), None);
    }

    #[test]
    fn the_interval_of_a_median_covers_that_of_other_connections() {
        let mut rng = fastrand::Rng::with_seed(5);
        for apart in [0.0, 0.05, 0.1, 0.2, 0.5, 3.0] {
            let trials = 2_000;
            let covered = (0..trials).filter(|_| {
                let (connections, values) = drawn(&mut rng, 8, 100, apart);
                let ranked = Ranked::exact(values.clone());
                let median = ranked.quantile(0.5).unwrap();
                let effective = effective(&connections, |i| f64::from(u8::from(values[i] > median))).unwrap();
                let all = values.len() as f64;
                let worth = if effective.size < all { for_ranks(effective) } else { all };
                let found = ranked.with_interval(0.5, worth);
                found.low_ns.is_none_or(|low| low.0 <= 100_000) && found.high_ns.is_none_or(|high| high.0 >= 100_000)
            });
            let rate = covered.count() as f64 / f64::from(trials);
            // For eight connections far apart the interval reaches from the first to the last: 1 - 2 / 2^8.
            assert!((0.945..0.998).contains(&rate), "apart {apart}: {rate}");
        }
    }
}
