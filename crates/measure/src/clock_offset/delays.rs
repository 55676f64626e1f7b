//! Delays of each direction, by the lines that describe the clocks.

use super::{FourTimes, Line};
use crate::outcome::one_way::Spread;

/// A quantile with fewer values beyond it is not told.
const BEYOND: u64 = 10;

/// The delays there and back of `exchanges` that lie in a window, in order of their departure. Exchanges between windows have
/// no line, and are left out.
pub(super) fn of(exchanges: &[FourTimes], lines: &[Line]) -> (Vec<i64>, Vec<i64>) {
    let within = |line: &Line, exchange: &FourTimes| (line.begin..=line.end).contains(&exchange.sent);
    let mut lines = lines.iter();
    let mut line = lines.next();
    let mut delays = (Vec::with_capacity(exchanges.len()), Vec::with_capacity(exchanges.len()));
    for exchange in exchanges {
        while line.is_some_and(|line| line.end < exchange.sent) {
            line = lines.next();
        }
        let Some(line) = line.filter(|line| within(line, exchange)) else { continue };
        delays.0.push(exchange.ceiling().saturating_sub(line.at(exchange.sent)));
        delays.1.push(line.at(exchange.came).saturating_sub(exchange.floor()));
    }
    delays
}

impl Spread {
    /// That of these values; `None` of none.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        let quantile = |percent: u64| {
            let count = values.len() as u64;
            let rank = (count * percent).div_ceil(100);
            let told = count - rank >= BEYOND;
            told.then(|| values.get(rank.checked_sub(1)? as usize).copied()).flatten()
        };
        let (min_ns, max_ns) = (*values.first()?, *values.last()?);
        Some(Self { min_ns, p50_ns: quantile(50), p90_ns: quantile(90), p99_ns: quantile(99), max_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred_and_have_ten_beyond_them() {
        let spread = Spread::of((1..=100).rev()).unwrap();
        assert_eq!((spread.min_ns, spread.max_ns), (1, 100));
        assert_eq!((spread.p50_ns, spread.p90_ns, spread.p99_ns), (Some(50), Some(90), None));
        assert_eq!(Spread::of(-3..1_000).unwrap().p99_ns, Some(989));
        assert_eq!(Spread::of([]), None);
    }
}
