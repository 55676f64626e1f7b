//! A change of a stream's rate: what its receiver got in each interval before it lies above, or below, all that it got in any behind.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::unit::Nanos;

/// Two levels of the rate of all streams together, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateChange {
    /// Beginning of the first interval of the second level, nanoseconds after the start of the measurement.
    pub at_ns: Nanos,
    /// Payload a second before, bytes: the median of the whole intervals.
    pub before_bytes_per_s: f64,
    /// Payload a second from then on, likewise.
    pub after_bytes_per_s: f64,
}

/// Ratio of the nearest two intervals of either level, at least.
const APART: f64 = 4.0 / 3.0;
/// Whole intervals of either level, at least.
const FEWEST: usize = 2;
/// The same before a rise: what only begins slowly is no other level.
const FEWEST_BEFORE_A_RISE: usize = 3;

/// Returns the change of what came in the `whole` intervals of a stream that parts its levels best; `None` where none does, or a slow start is all
/// there is.
pub fn change(whole: &[Interval]) -> Option<RateChange> {
    let rate = |interval: &Interval| interval.carried.bytes.0 as f64 * 1e9 / interval.length_ns.0.max(1) as f64;
    let rates: Vec<f64> = whole.iter().map(rate).collect();
    let splits = FEWEST..=rates.len().checked_sub(FEWEST)?;
    let (apart, place) = splits.map(|place| (apart(&rates, place), place)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (apart >= APART).then(|| RateChange {
        at_ns: whole[place].at_ns,
        before_bytes_per_s: median(&rates[..place]),
        after_bytes_per_s: median(&rates[place..]),
    })
}

/// Ratio of the nearest two rates before and from `place`: above 1 where one level lies above the other.
fn apart(rates: &[f64], place: usize) -> f64 {
    let ends =
        |part: &[f64]| part.iter().fold((f64::INFINITY, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)));
    let (before, after) = (ends(&rates[..place]), ends(&rates[place..]));
    let is_level = place >= FEWEST_BEFORE_A_RISE && before.1 <= APART * before.0;
    (before.0 / after.1).max(if is_level { after.0 / before.1 } else { 0.0 })
}

fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::interval::Carried;
    use crate::unit::Bytes;

    fn seconds(carried: &[u64]) -> Vec<Interval> {
        let second = |(at, bytes): (u64, &u64)| Interval {
            at_ns: Nanos::secs(at),
            length_ns: Nanos::secs(1),
            carried: Carried { bytes: Bytes(*bytes), calls: 1_000, failed_calls: 0 },
            ..Interval::default()
        };
        (0..).zip(carried).map(second).collect()
    }

    #[test_case(&[60, 96, 97, 97, 16, 9, 10, 9, 10, 9], Some((4, 97.0, 10.0)); "credits that are used up")]
    #[test_case(&[10, 10, 11, 10, 90, 92, 91, 90], Some((4, 10.0, 91.0)); "a limit that goes")]
    #[test_case(&[10, 30, 60, 90, 92, 91, 90], None; "a slow start")]
    #[test_case(&[90, 92, 70, 91, 90, 92], None; "one slow interval")]
    #[test_case(&[90, 70, 95, 60, 80, 92, 75], None; "an uneven rate")]
    #[test_case(&[97, 97, 10], None; "too few of the second level")]
    #[test_case(&[97, 97, 10, 10], Some((2, 97.0, 10.0)); "two of each")]
    #[test_case(&[], None; "nothing")]
    fn levels_that_lie_apart_are_told(carried: &[u64], expected: Option<(u64, f64, f64)>) {
        let found = change(&seconds(carried));
        let told =
            found.map(|found| (found.at_ns.0 / 1_000_000_000, found.before_bytes_per_s, found.after_bytes_per_s));
        assert_eq!(told, expected);
    }
}
