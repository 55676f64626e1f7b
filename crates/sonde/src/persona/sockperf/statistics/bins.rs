//! Counts of observations in each bin of `--histogram`.

use std::collections::BTreeMap;

use crate::persona::sockperf::options::Histogram;

/// Counts by bin. Bins without an observation take no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// As asked for.
    pub histogram: Histogram,
    /// Observations below the first bin.
    pub below: u64,
    /// Observations in the bins, by number from 0.
    pub within: BTreeMap<u64, u64>,
    /// Observations above the last.
    pub above: u64,
}

impl Bins {
    /// Empty bins.
    pub fn new(histogram: Histogram) -> Self {
        Self { histogram, below: 0, within: BTreeMap::new(), above: 0 }
    }

    /// One more observation.
    pub fn count(&mut self, value_ns: u64) {
        let Histogram { bin_us, low_us, .. } = self.histogram;
        let value = value_ns / 1_000;
        if value < u64::from(low_us) {
            self.below += 1;
        } else if value >= self.upper_edge_us() {
            self.above += 1;
        } else {
            *self.within.entry((value - u64::from(low_us)) / u64::from(bin_us)).or_default() += 1;
        }
    }

    /// Begin of bin `index`, in microseconds.
    pub fn edge_us(&self, index: u64) -> u64 {
        u64::from(self.histogram.low_us) + index * u64::from(self.histogram.bin_us)
    }

    /// End of the last bin: at or behind the end asked for, so that it is as wide as the others.
    pub fn upper_edge_us(&self) -> u64 {
        let Histogram { bin_us, low_us, high_us } = self.histogram;
        self.edge_us(u64::from(high_us.saturating_sub(low_us)).div_ceil(u64::from(bin_us)))
    }

    /// The largest count of a bin.
    pub fn most(&self) -> u64 {
        self.within.values().copied().max().unwrap_or_default().max(self.below).max(self.above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(20, 20; "of whole bins")]
    #[test_case(21, 22; "of whole bins and a part")]
    fn the_last_bin_is_as_wide_as_the_others(high_us: u32, expected: u64) {
        assert_eq!(Bins::new(Histogram { bin_us: 2, low_us: 4, high_us }).upper_edge_us(), expected);
    }

    #[test]
    fn an_observation_on_an_edge_belongs_to_the_bin_that_begins_there() {
        let mut bins = Bins::new(Histogram { bin_us: 2, low_us: 4, high_us: 9 });
        for value in [3_999, 4_000, 5_999, 6_000, 9_500, 10_000] {
            bins.count(value);
        }
        assert_eq!((bins.below, bins.within, bins.above), (1, [(0, 2), (1, 1), (2, 1)].into(), 1));
    }
}
