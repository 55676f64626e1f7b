//! Counts of times in bins of one width.

use crate::unit::Nanos;

/// The width and the number of bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Width of a bin, above 0.
    pub width: Nanos,
    /// Their number.
    pub count: u32,
}

/// Times in bins, numbered from 1: bin k holds times above k − 1 widths and up to k.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    layout: Layout,
    counts: Box<[u32]>,
    below: u64,
    beyond: u64,
}

impl Bins {
    /// Nothing yet; memory for all bins is taken now.
    pub fn new(layout: Layout) -> Self {
        Self { layout, counts: vec![0; layout.count as usize].into(), below: 0, beyond: 0 }
    }

    /// Takes a time in nanoseconds.
    #[inline]
    pub fn take(&mut self, nanos: i64) {
        let Ok(nanos) = u64::try_from(nanos) else {
            self.below += 1;
            return;
        };
        let bin = nanos.div_ceil(self.layout.width.0.max(1)).max(1) - 1;
        match usize::try_from(bin).ok().and_then(|bin| self.counts.get_mut(bin)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.beyond += 1,
        }
    }

    /// Its layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The bins that hold something, by their numbers, and how much.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (1..).zip(&self.counts).filter(|(_, count)| **count > 0).map(|(bin, count)| (bin, u64::from(*count)))
    }

    /// The number of times below 0, by clocks that do not agree, and beyond the last bin.
    pub fn outside(&self) -> (u64, u64) {
        (self.below, self.beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_lies_in_the_bin_that_it_ends() {
        let mut bins = Bins::new(Layout { width: Nanos::micros(100), count: 10 });
        for micros in [-5, 0, 99, 100, 101, 1_000, 1_001] {
            bins.take(micros * 1_000);
        }
        assert_eq!(bins.counts().collect::<Vec<_>>(), [(1, 3), (2, 1), (10, 1)]);
        assert_eq!(bins.outside(), (1, 1));
    }
}
