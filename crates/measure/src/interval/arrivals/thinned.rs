//! A bounded sample of values that come one by one: all of them, and where there are too many every second, every fourth, …

/// Values kept at most; half as many at least, where so many came.
const MOST: usize = 1 << 10;

/// The sample.
#[derive(Clone, Debug, Default)]
pub struct Thinned {
    values: Vec<i64>,
    seen: u64,
    /// Every so many, less one, is kept: 0, 1, 3, 7, …
    skipped: u64,
}

impl Thinned {
    /// Another value came.
    pub fn take(&mut self, value: i64) {
        let place = self.seen;
        self.seen += 1;
        if place & self.skipped != 0 {
            return;
        }
        if self.values.len() == MOST {
            let mut keep = false;
            self.values.retain(|_| {
                keep = !keep;
                keep
            });
            self.skipped = self.skipped << 1 | 1;
            if place & self.skipped != 0 {
                return;
            }
        }
        self.values.push(value);
    }

    /// Returns the number of values that came.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The value at the end of the lowest quarter; `None` of none.
    pub fn quarter(&self) -> Option<i64> {
        let mut values = self.values.clone();
        let place = values.len().checked_sub(1)? / 4;
        Some(*values.select_nth_unstable(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = i64>) -> Thinned {
        let mut thinned = Thinned::default();
        values.into_iter().for_each(|value| thinned.take(value));
        thinned
    }

    #[test]
    fn few_values_are_all_kept() {
        assert_eq!(of([]).quarter(), None);
        assert_eq!(of([7]).quarter(), Some(7));
        assert_eq!(of([9, 1, 5]).quarter(), Some(1));
        assert_eq!(of([9, 1, 5, 7, 3]).quarter(), Some(3));
    }

    #[test]
    fn many_values_are_kept_evenly() {
        for count in [1_024, 1_025, 3_000, 100_000] {
            let thinned = of(0..count);
            let (kept, every) = (thinned.values.len(), thinned.skipped.cast_signed() + 1);
            assert!((MOST / 2..=MOST).contains(&kept), "{kept} of {count}");
            assert!(thinned.values.iter().zip(0..).all(|(value, place)| *value == place * every), "{count}");
            assert!((thinned.quarter().unwrap() - count / 4).abs() <= every, "{count}");
        }
    }
}
