//! The seconds of a run in bounded memory: each as it came while there is room, then each two as one.

use crate::event::Second;

/// Seconds kept; an even number. More than an hour of usual ones, and enough for any picture.
const MOST: usize = 4_096;

/// Seconds in the order of time, all of the same number of those that were given but for the last.
#[derive(Clone, Debug)]
pub(super) struct Course {
    seconds: Vec<Second>,
    /// Number of given seconds that each kept one stands for.
    stride: u32,
    /// Number of given seconds that the last kept one stands for so far.
    within: u32,
}

impl Course {
    /// With its room taken now, so that no allocation falls into the measurement.
    pub(super) fn new() -> Self {
        Self { seconds: Vec::with_capacity(MOST), stride: 1, within: 0 }
    }

    pub(super) fn push(&mut self, second: Second) {
        match self.seconds.last_mut() {
            Some(last) if self.within < self.stride => *last = last.then(&second),
            _ => {
                if self.seconds.len() == MOST {
                    self.halve();
                }
                self.within = 0;
                self.seconds.push(second);
            }
        }
        self.within += 1;
    }

    /// Each two become one, in place.
    fn halve(&mut self) {
        for k in 0..MOST / 2 {
            self.seconds[k] = self.seconds[2 * k].then(&self.seconds[2 * k + 1]);
        }
        self.seconds.truncate(MOST / 2);
        self.stride *= 2;
    }

    pub(super) fn finish(self) -> Vec<Second> {
        self.seconds
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::event::Counts;
    use crate::unit::Nanos;

    fn second(k: u64) -> Second {
        let counts = Counts { scheduled: 1, answered: 1, ..Counts::default() };
        let value = Some(Nanos(k));
        Second {
            at_ns: Nanos::secs(k),
            length_ns: Nanos::secs(1),
            counts,
            min_ns: value,
            mean_ns: Some(k as f64),
            max_ns: value,
        }
    }

    #[test_case(10, 10, 1; "as they came")]
    #[test_case(4_096, 4_096, 1; "as many as there is room for")]
    #[test_case(4_097, 2_049, 2; "one more")]
    #[test_case(8_192, 4_096, 2; "twice as many")]
    #[test_case(8_193, 2_049, 4; "and one more")]
    #[test_case(100_000, 3_125, 32; "a day")]
    fn none_is_lost_and_all_are_alike(given: u64, kept: usize, stride: u64) {
        let mut course = Course::new();
        (0..given).for_each(|k| course.push(second(k)));
        let seconds = course.finish();
        assert_eq!(seconds.len(), kept);
        assert_eq!(seconds.iter().map(|second| second.counts.answered).sum::<u64>(), given);
        let whole = &seconds[..kept - 1];
        assert!(whole.iter().all(|second| second.length_ns == Nanos::secs(stride)));
        assert!(seconds.windows(2).all(|pair| pair[0].at_ns.0 + pair[0].length_ns.0 == pair[1].at_ns.0));
        let first = seconds[0];
        let of_first = stride.min(given) - 1;
        assert_eq!((first.min_ns, first.max_ns), (Some(Nanos(0)), Some(Nanos(of_first))));
        assert_eq!(first.mean_ns, Some(of_first as f64 / 2.0));
    }
}
