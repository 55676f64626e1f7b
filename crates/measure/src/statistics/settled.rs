//! Early end of a run, once the interval of a quantile is narrow enough.
//!
//! A run ends by the interval that is reported: the rank of the quantile among all values so far, with the correlation
//! of neighbours ([`summary::quantile`]) in the latest [`LOOKED_AT`]. Looking again and again would find a narrow one
//! by accident: each look says how many values the next one should take, so that there are few, and two in a row have
//! to agree.

use crate::method::Settled;
use crate::outcome::Standing;
use crate::recorder::{Series, Values};
use crate::statistics::quantile::standing;
use crate::statistics::summary;

/// Growth of the number of values from one look to the next, at the least and at the most. The second of two looks that
/// agree comes after the least.
const SOONEST: f64 = 1.1;
const LATEST: f64 = 2.0;

/// Latest values that are read in a look: a few milliseconds, during which a schedule waits.
pub const LOOKED_AT: usize = 1 << 16;

/// Watches one quantile of a growing distribution. A look that is due reads the latest values; each other call compares two numbers.
///
/// Among several threads one may watch its own values for all: it has fewer, so it asks for more.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    settled: Settled,
    /// Values from which the next look is due.
    due: u64,
    /// True where the last look was content.
    was_content: bool,
}

impl Watch {
    /// Watches for the interval of `settled`.
    pub fn new(settled: Settled) -> Self {
        Self { settled, due: 1, was_content: false }
    }

    /// Returns true where the run may end with all `values` so far, of which `latest` are the last in their order.
    pub fn is_enough(&mut self, values: &Values, latest: impl FnOnce() -> Series) -> bool {
        let (q, count) = (self.settled.quantile, values.count());
        let Some(within) = self.settled.within else { return standing(q, count) != Standing::TooFew };
        if count < self.due {
            return false;
        }
        let reached = summary::quantile(values, &latest(), q).half_width();
        // An interval narrows with the root of the number of values.
        let times = reached.map_or(SOONEST, |reached| (reached / within).powi(2)).clamp(SOONEST, LATEST);
        self.due = (count as f64 * times).ceil() as u64;
        let is_content = reached.is_some_and(|reached| reached <= within);
        std::mem::replace(&mut self.was_content, is_content) && is_content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Kept;
    use crate::statistics::simulated::{autoregressive, true_quantile};
    use test_case::test_case;

    fn watch(quantile: f64, within: Option<f64>) -> Watch {
        Watch::new(Settled { quantile, within })
    }

    fn kept(series: &[u64]) -> Series {
        let samples = (0..).zip(series).map(|(index, &response)| Kept { index, response, ..Kept::default() });
        Series { stride: 1, samples: samples.collect() }
    }

    /// Feeds `series` in batches of `size` until the watch is content, and returns the part of it that took.
    fn until<'a>(watch: &mut Watch, series: &'a [u64], size: usize) -> Option<&'a [u64]> {
        let mut values = Values::new();
        (1..=series.len() / size).map(|batch| &series[..batch * size]).find(|upto| {
            for &value in &upto[upto.len() - size..] {
                values.record(value);
            }
            watch.is_enough(&values, || kept(&upto[upto.len().saturating_sub(LOOKED_AT)..]))
        })
    }

    fn found(series: &[u64], q: f64) -> crate::outcome::Quantile {
        let mut values = Values::new();
        for &value in series {
            values.record(value);
        }
        summary::quantile(&values, &kept(series), q)
    }

    #[test]
    fn it_ends_by_what_is_reported() {
        let series = autoregressive(&mut fastrand::Rng::with_seed(1), 400_000, 0.5);
        for q in [0.5, 0.9, 0.99] {
            let taken = until(&mut watch(q, Some(0.002)), &series, 1_000).unwrap();
            let quantile = found(taken, q);
            let value = quantile.value_ns.unwrap().0 as f64;
            for end in [quantile.low_ns, quantile.high_ns] {
                // With more values than are looked at, the interval is that of the latest, within a tenth.
                assert!((end.unwrap().0 as f64 / value - 1.0).abs() <= 0.002_2, "{quantile:?}");
            }
        }
    }

    #[test_case(0.0, 15_000, 40_000; "independent values")]
    #[test_case(0.9, 150_000, 1_000_000; "correlated values, which are worth an eleventh to a nineteenth")]
    fn values_settle_about_when_they_should(phi: f64, least: usize, most: usize) {
        // 1.96 · sqrt(π/2) · 10 % / sqrt(n) = 0.16 %: n = 23,600.
        let series = autoregressive(&mut fastrand::Rng::with_seed(1), 1_000_000, phi);
        let taken = until(&mut watch(0.5, Some(0.001_6)), &series, 1_000).unwrap().len();
        assert!((least..most).contains(&taken), "{taken}");
    }

    /// Looking several times costs nothing of the 95 %: at most 5 of 100 are beyond the requested width.
    #[test_case(0.5, 0.01, 0.9, 500; "the median of correlated values")]
    #[test_case(0.5, 0.05, 0.9, 50; "of few of them")]
    #[test_case(0.9, 0.02, 0.5, 100; "a tail of few values")]
    #[test_case(0.5, 0.05, 0.0, 10; "a handful of independent ones")]
    fn where_it_ends_the_quantile_is_within_what_was_asked(q: f64, within: f64, phi: f64, size: usize) {
        let mut rng = fastrand::Rng::with_seed(3);
        let truth = true_quantile(q) as f64;
        let trials = 500;
        let beyond = (0..trials).filter(|_| {
            let series = autoregressive(&mut rng, 100_000, phi);
            let taken = until(&mut watch(q, Some(within)), &series, size).expect("it settles");
            let value = found(taken, q).value_ns.unwrap().0 as f64;
            (value / truth - 1.0).abs() > within
        });
        let beyond = beyond.count();
        assert!(beyond <= trials * 5 / 100, "{beyond} of {trials}");
    }

    #[test]
    fn a_drifting_quantile_does_not_settle() {
        let series: Vec<u64> = (0..200_000).map(|i| 10_000 + i * 2).collect();
        assert!(until(&mut watch(0.5, Some(0.01)), &series, 1_000).is_none());
    }

    #[test_case(0.5, 19, false)]
    #[test_case(0.5, 20, true)]
    #[test_case(0.99, 999, false)]
    #[test_case(0.99, 1_000, true)]
    fn without_a_tolerance_the_printing_rule_decides(q: f64, count: u64, enough: bool) {
        let mut values = Values::new();
        (1..=count).for_each(|value| values.record(value));
        assert_eq!(watch(q, None).is_enough(&values, || unreachable!("it takes the count alone")), enough);
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert!(!watch(0.5, Some(0.5)).is_enough(&Values::new(), Series::default));
    }

    #[test]
    fn one_value_all_along_is_settled_once_there_is_an_interval() {
        // The 99th percentile has one from 368 values on.
        let taken = until(&mut watch(0.99, Some(0.01)), &[5_000; 1_000], 1).unwrap().len();
        assert!((368..500).contains(&taken), "{taken}");
    }
}
