//! Whether a quantile is known well enough to end the run, asked while it runs and cheap enough for that.
//!
//! A run must not end because correlated values make its interval look narrow: each call closes a batch, and how much
//! the share beyond the quantile varies from batch to batch says what the sample is worth. Not here: the interval that
//! is reported, which sees the whole series (`correlation`) and may be a little wider or narrower.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::method::Settled;
use crate::outcome::Standing;
use crate::recorder::Values;
use crate::statistics::quantile::{ROUGH_FROM, interval_ranks, rank, standing};

/// Batches it takes before anything is said.
pub const FEWEST_BATCHES: u32 = 5;
/// A quantile that moved by more than this share of itself since batches were first counted starts them anew.
const MOVED: f64 = 0.1;
/// Standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Watches one quantile of a growing distribution. Call [`Watch::check`] at even spacing, once a second or more seldom:
/// batches shorter than a disturbance would not see it. Each call reads the histogram a few times (some 100 us) and
/// allocates nothing.
///
/// Of several threads one may watch its own values for all: it has fewer, so it asks for more.
#[derive(Clone, Debug)]
pub struct Watch {
    settled: Settled,
    batches: Option<Batches>,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Half the width of the quantile's 95 % interval over its value, 0.05 for ±5 %; absent while there is no such
    /// interval, or fewer than [`FEWEST_BATCHES`] batches to judge it by.
    pub half_width: Option<f64>,
    /// Whether the run may end.
    pub enough: bool,
}

impl Watch {
    /// Watches for what `settled` asks.
    pub fn new(settled: Settled) -> Self {
        Self { settled, batches: None }
    }

    /// Closes a batch with all `values` so far, and says how well the quantile is known.
    pub fn check(&mut self, values: &Values) -> Reached {
        let q = self.settled.quantile;
        let half_width = self.worth(values).and_then(|effective| half_width(values, q, effective));
        let enough = match self.settled.within {
            Some(within) => half_width.is_some_and(|half| half <= within),
            None => standing(q, values.count()) != Standing::TooFew,
        };
        Reached { half_width, enough }
    }

    /// Independent values the sample is worth for this quantile; `None` while that is not known.
    fn worth(&mut self, values: &Values) -> Option<f64> {
        let now = at(values, rank(self.settled.quantile, values.count())?)?;
        let batches = self.batches.get_or_insert_with(|| Batches::from_now(values, now));
        if (now as f64 - batches.limit as f64).abs() > MOVED * batches.limit as f64 {
            *batches = Batches::from_now(values, now);
        }
        batches.close(values);
        if values.min() == values.max() && batches.closed >= f64::from(FEWEST_BATCHES) {
            return Some(values.count() as f64);
        }
        batches.inflation().map(|inflation| values.count() as f64 / inflation)
    }
}

/// Half the width of the interval over the value; `None` where an end or a value above 0 is missing.
fn half_width(values: &Values, q: f64, effective: f64) -> Option<f64> {
    let count = values.count();
    let ranks = interval_ranks(q, count, effective);
    let (low, value, high) = (at(values, ranks.low?)?, at(values, rank(q, count)?)?, at(values, ranks.high?)?);
    (value > 0).then(|| (high - low) as f64 / 2.0 / value as f64)
}

/// The value at `rank`, to three digits; straight from the histogram, for nothing may be allocated here.
fn at(values: &Values, rank: u64) -> Option<u64> {
    let mut before = 0;
    let step = values.histogram().iter_recorded().find(|step| {
        before += step.count_at_value();
        before >= rank
    });
    step.map(|step| step.value_iterated_to())
}

/// Values up to and beyond a fixed limit in each batch, kept as sums.
#[derive(Clone, Copy, Debug)]
struct Batches {
    limit: u64,
    counted: u64,
    above: u64,
    closed: f64,
    values: f64,
    beyond: f64,
    values_squared: f64,
    beyond_squared: f64,
    product: f64,
}

impl Batches {
    /// From the next batch on. The limit is the present quantile, or just below it where ties leave nothing above.
    fn from_now(values: &Values, quantile: u64) -> Self {
        let above = above(values, quantile);
        let limit = if above < ROUGH_FROM {
            values.histogram().lowest_equivalent(quantile).saturating_sub(1)
        } else {
            quantile
        };
        Self {
            limit,
            counted: values.count(),
            above: if limit == quantile { above } else { self::above(values, limit) },
            closed: 0.0,
            values: 0.0,
            beyond: 0.0,
            values_squared: 0.0,
            beyond_squared: 0.0,
            product: 0.0,
        }
    }

    fn close(&mut self, values: &Values) {
        let above = above(values, self.limit);
        let (n, k) = ((values.count() - self.counted) as f64, above.saturating_sub(self.above) as f64);
        (self.counted, self.above) = (values.count(), above);
        if n > 0.0 {
            self.closed += 1.0;
            self.values += n;
            self.beyond += k;
            self.values_squared += n * n;
            self.beyond_squared += k * k;
            self.product += n * k;
        }
    }

    /// How many times more the share beyond varies between batches than that of independent values would, at least 1;
    /// with Student's quantile for so few batches in place of the normal one. `None` for too few of either.
    fn inflation(&self) -> Option<f64> {
        let enough = self.closed >= f64::from(FEWEST_BATCHES)
            && self.beyond >= ROUGH_FROM as f64
            && self.values - self.beyond >= ROUGH_FROM as f64;
        if !enough {
            return None;
        }
        let share = self.beyond / self.values;
        let spread = self.beyond_squared - 2.0 * share * self.product + share * share * self.values_squared;
        let independent = self.values * share * (1.0 - share);
        let freedom = self.closed - 1.0;
        let student = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
        let ratio = spread * self.closed / freedom / independent;
        Some(ratio.max(1.0) * (student / Z).powi(2))
    }
}

fn above(values: &Values, limit: u64) -> u64 {
    let upto: u64 = values
        .histogram()
        .iter_recorded()
        .take_while(|step| step.value_iterated_to() <= limit)
        .map(|step| step.count_at_value())
        .sum();
    values.count() - upto
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::simulated::{autoregressive, true_quantile};
    use test_case::test_case;

    fn watch(quantile: f64, within: Option<f64>) -> Watch {
        Watch::new(Settled { quantile, within })
    }

    /// Feeds `series` in batches of `size` until the watch is content: how many values it took.
    fn until(watch: &mut Watch, series: &[u64], size: usize) -> Option<(Values, f64)> {
        let mut values = Values::new();
        for batch in series.chunks(size) {
            batch.iter().for_each(|&value| values.record(value));
            let reached = watch.check(&values);
            if reached.enough {
                return Some((values, reached.half_width.unwrap()));
            }
        }
        None
    }

    #[test]
    fn independent_values_settle_about_when_they_should() {
        let series = autoregressive(&mut fastrand::Rng::with_seed(1), 400_000, 0.0);
        let (values, half) = until(&mut watch(0.5, Some(0.001)), &series, 1_000).unwrap();
        assert!(half <= 0.001);
        // 1.96 · sqrt(π/2) · 10 % / sqrt(n) = 0.1 %: n = 60,000; correction for few batches included.
        assert!((30_000..150_000).contains(&values.count()), "{}", values.count());
    }

    #[test]
    fn correlated_values_take_longer_in_proportion() {
        let mut rng = fastrand::Rng::with_seed(2);
        let series = autoregressive(&mut rng, 2_000_000, 0.9);
        let (values, _) = until(&mut watch(0.5, Some(0.001)), &series, 1_000).unwrap();
        // Worth an eleventh to a nineteenth.
        assert!(values.count() > 400_000, "{}", values.count());
    }

    #[test]
    fn where_it_ends_the_quantile_is_within_what_was_asked() {
        let mut rng = fastrand::Rng::with_seed(3);
        let truth = true_quantile(0.5) as f64;
        let trials = 100;
        let kept = (0..trials).filter(|_| {
            let series = autoregressive(&mut rng, 100_000, 0.9);
            let Some((values, _)) = until(&mut watch(0.5, Some(0.01)), &series, 500) else { return false };
            let found = at(&values, rank(0.5, values.count()).unwrap()).unwrap() as f64;
            (found / truth - 1.0).abs() <= 0.01
        });
        // 95 of 100 without looking again and again; stopping at the first good look costs a little. 85 is 4.6 standard
        // errors below.
        let kept = kept.count();
        assert!(kept >= 85, "{kept}");
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
        assert_eq!(watch(q, None).check(&values).enough, enough);
    }

    #[test]
    fn nothing_is_said_of_nothing_or_of_few_batches() {
        let none = Reached { half_width: None, enough: false };
        assert_eq!(watch(0.5, Some(0.5)).check(&Values::new()), none);
        let mut watch = watch(0.5, Some(0.5));
        let mut values = Values::new();
        for batch in 0..FEWEST_BATCHES {
            (0..1_000).for_each(|value| values.record(1_000 + value));
            assert_eq!(watch.check(&values), none, "{batch}");
        }
        // The first call only sets the limit; with the next the fifth batch is closed.
        (0..1_000).for_each(|value| values.record(1_000 + value));
        assert!(watch.check(&values).enough);
    }

    #[test]
    fn one_value_all_along_is_settled() {
        let mut watch = watch(0.99, Some(0.01));
        let mut values = Values::new();
        let found: Vec<bool> = (0..8)
            .map(|_| {
                (0..500).for_each(|_| values.record(5_000));
                watch.check(&values).enough
            })
            .collect();
        assert_eq!(found, [false, false, false, false, false, true, true, true]);
    }
}
