//! Quantiles by nearest rank, how sure they are, and whether they may be printed.
//!
//! One definition everywhere (Hyndman and Fan's type 1): the value at rank ⌈q·n⌉ of the sorted sample, which is always
//! a value that occurred. Intervals are distribution-free, from order statistics; that values of one run resemble their
//! neighbours enters as an effective sample size (`correlation`). Not here: the choice of values (`summary`).

use crate::outcome::{Quantile, Standing};
use crate::recorder::Values;
use crate::unit::Nanos;

/// The quantiles every output lists.
pub const LISTED: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.999_9, 0.999_99];

/// Fewest values beyond a quantile with which it is printed at all.
pub const ROUGH_FROM: u64 = 10;
/// Fewest values beyond a quantile with which it is printed without a `~`.
pub const FIRM_FROM: u64 = 100;

/// Share of the distribution left out on either side of a 95 % interval.
const TAIL: f64 = 0.025;
/// Standard normal quantile that belongs to [`TAIL`].
const Z: f64 = 1.959_963_984_540_054;
/// Quantiles are taken to so many parts of 1, so that a rank is integer arithmetic: ⌈0.07 × 100⌉ is 7, not 8.
const PARTS: u64 = 1_000_000_000;

/// Rank, from 1, of quantile `q` among `count` values: ⌈q·count⌉. `None` without values or for a `q` outside 0 to 1.
pub fn rank(q: f64, count: u64) -> Option<u64> {
    if count == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let exact = (u128::from(parts(q)) * u128::from(count)).div_ceil(u128::from(PARTS));
    Some((exact as u64).max(1))
}

/// Values that lie beyond quantile `q` of `count`: after it, or before it where `q` is below one half. Ties count as
/// beyond where their rank is.
pub fn beyond(q: f64, count: u64) -> u64 {
    rank(q, count).map_or(0, |rank| if q < 0.5 { rank - 1 } else { count - rank })
}

/// The printing rule (see [`Standing`]) for a quantile of `count` values.
pub fn standing(q: f64, count: u64) -> Standing {
    match beyond(q, count) {
        FIRM_FROM.. => Standing::Firm,
        ROUGH_FROM.. => Standing::Rough,
        _ => Standing::TooFew,
    }
}

/// Fewest values with which quantile `q` is printed; `None` for a `q` that leaves nothing beyond it.
///
/// ```
/// assert_eq!(measure::statistics::quantile::needed(0.99), Some(1_000));
/// ```
pub fn needed(q: f64) -> Option<u64> {
    let rare = u128::from(if q < 0.5 { parts(q) } else { PARTS.checked_sub(parts(q))? });
    if rare == 0 {
        return None;
    }
    let mut count = (u128::from(ROUGH_FROM) * u128::from(PARTS)).div_ceil(rare) as u64;
    // Below one half the value itself takes a rank of the rare side, which moves the bound by up to one more value.
    while beyond(q, count) < ROUGH_FROM {
        count += 1;
    }
    Some(count)
}

fn parts(q: f64) -> u64 {
    (q * PARTS as f64).round() as u64
}

/// A sorted sample: every value of it, or how many stand at each step of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranked {
    /// Every value, ascending.
    Exact(Vec<u64>),
    /// Middle of each occupied bucket, ascending, and how many values stand at it or before: three significant digits.
    Counted(Vec<(u64, u64)>),
}

impl Ranked {
    /// Ranks single values, in any order.
    pub fn exact(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self::Exact(values)
    }

    /// Ranks the counts of a histogram. The ends are the exact extremes, so that no quantile lies outside them.
    pub fn counted(values: &Values) -> Self {
        let (Some(Nanos(min)), Some(Nanos(max))) = (values.min(), values.max()) else {
            return Self::Counted(Vec::new());
        };
        let histogram = values.histogram();
        let mut before = 0;
        let mut steps: Vec<(u64, u64)> = histogram
            .iter_recorded()
            .map(|step| {
                before += step.count_at_value();
                (histogram.median_equivalent(step.value_iterated_to()).clamp(min, max), before)
            })
            .collect();
        if let Some(last) = steps.last_mut() {
            // Only the very last value is known to be the longest; the rest of its bucket keeps the middle.
            let (middle, count) = *last;
            let alone = steps.len() < 2 && count == 1 || steps.len() >= 2 && count - steps[steps.len() - 2].1 == 1;
            if alone {
                steps.pop();
            } else if let Some(last) = steps.last_mut() {
                *last = (middle, count - 1);
            }
            steps.push((max, count));
        }
        Self::Counted(steps)
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        match self {
            Self::Exact(values) => values.len() as u64,
            Self::Counted(steps) => steps.last().map_or(0, |&(_, upto)| upto),
        }
    }

    /// The value at `rank`, from 1.
    pub fn at(&self, rank: u64) -> Option<u64> {
        let index = rank.checked_sub(1)?;
        match self {
            Self::Exact(values) => values.get(index as usize).copied(),
            Self::Counted(steps) => steps.get(steps.partition_point(|&(_, upto)| upto < rank)).map(|&(value, _)| value),
        }
    }

    /// The value at quantile `q`, whether or not it may be printed; `None` without values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.at(rank(q, self.count())?)
    }

    /// Returns the number of values greater than `limit`; for a histogram to the width of one bucket.
    pub fn above(&self, limit: u64) -> u64 {
        let upto = match self {
            Self::Exact(values) => values.partition_point(|&value| value <= limit) as u64,
            Self::Counted(steps) => match steps.partition_point(|&(value, _)| value <= limit) {
                0 => 0,
                steps_upto => steps[steps_upto - 1].1,
            },
        };
        self.count() - upto
    }

    /// Quantile `q` with its standing and its 95 % interval, of a sample worth `effective` independent values.
    pub fn with_interval(&self, q: f64, effective: f64) -> Quantile {
        let count = self.count();
        let ranks = interval_ranks(q, count, effective);
        let at = |rank: Option<u64>| rank.and_then(|rank| self.at(rank)).map(Nanos);
        Quantile {
            q,
            value_ns: self.quantile(q).map(Nanos),
            low_ns: at(ranks.low),
            high_ns: at(ranks.high),
            beyond: beyond(q, count),
            standing: standing(q, count),
        }
    }

    /// Every distinct value or step and how many stand at it, ascending.
    pub(super) fn weights(&self) -> Vec<(u64, u64)> {
        match self {
            Self::Exact(values) => {
                values.chunk_by(|left, right| left == right).map(|run| (run[0], run.len() as u64)).collect()
            }
            Self::Counted(steps) => {
                let mut before = 0;
                let weigh = |&(value, upto): &(u64, u64)| (value, upto - std::mem::replace(&mut before, upto));
                steps.iter().map(weigh).collect()
            }
        }
    }
}

/// Ranks of the ends of an interval; absent where the sample reaches no bound on that side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Rank of the lower end, from 1.
    pub low: Option<u64>,
    /// Rank of the upper end, from 1.
    pub high: Option<u64>,
}

/// Ranks between which quantile `q` of the population lies with at least 95 % probability, whatever the distribution:
/// the number of `count` values beyond it is binomial, and at most 2.5 % are left out on either side.
///
/// A sample worth only `effective` independent values (1 to `count`) has the ranks of that many, stretched: the share
/// of values beyond the quantile varies as it would among so many independent ones. Without values there is none.
pub fn interval_ranks(q: f64, count: u64, effective: f64) -> Ranks {
    if count == 0 || !(q > 0.0 && q < 1.0) {
        return Ranks { low: None, high: None };
    }
    let independent = if effective.is_finite() { (effective as u64).clamp(1, count) } else { count };
    let stretch = count as f64 / independent as f64;
    let rare = if q < 0.5 { q } else { 1.0 - q };
    let tails = Tails::of(independent, rare);
    // Both ends are rounded away from the quantile: the interval never gets narrower than it may be.
    let near = tails.few.map(|few| (few as f64 * stretch).floor() as u64);
    let far = (tails.many as f64 * stretch).ceil() as u64;
    let below = |rank: u64| (rank <= count && rank > 0).then_some(rank);
    if q < 0.5 {
        Ranks { low: near.and_then(|few| below(few + 1)), high: below(far) }
    } else {
        let high = near.and_then(|few| below(count - few.min(count)));
        Ranks { low: (count + 1).checked_sub(far).and_then(below), high }
    }
}

/// Numbers of successes that mark the 2.5 % tails of a binomial distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tails {
    /// The largest a with P(C <= a) <= 2.5 %; absent where already P(C = 0) is more.
    few: Option<u64>,
    /// The smallest b with P(C >= b) <= 2.5 %; up to n + 1.
    many: u64,
}

impl Tails {
    /// Tails of the binomial distribution of `n` trials with success probability `p`, 0 to 1/2.
    fn of(n: u64, p: f64) -> Self {
        // The sum of the unnormalised terms is (1-p)^-n: up to e^690 it fits a float.
        if n as f64 * -(-p).ln_1p() <= 690.0 { Self::summed(n, p) } else { Self::approximated(n, p) }
    }

    /// Exactly: term by term, each the one before times (n-c)/(c+1) · p/(1-p).
    fn summed(n: u64, p: f64) -> Self {
        let odds = p / (1.0 - p);
        let whole = (n as f64 * -(-p).ln_1p()).exp();
        let (mut term, mut sum) = (1.0, 0.0);
        let mut few = None;
        for c in 0..=n {
            sum += term;
            if sum <= TAIL * whole {
                few = Some(c);
            }
            if sum >= (1.0 - TAIL) * whole {
                return Self { few, many: c + 1 };
            }
            term *= (n - c) as f64 / (c + 1) as f64 * odds;
        }
        Self { few, many: n + 1 }
    }

    /// By the normal distribution with its first correction for skewness (Cornish and Fisher) and for continuity; used
    /// from hundreds of expected successes up.
    fn approximated(n: u64, p: f64) -> Self {
        let mean = n as f64 * p;
        let deviation = (mean * (1.0 - p)).sqrt();
        let skew = (1.0 - 2.0 * p) * (Z * Z - 1.0) / 6.0;
        let few = (mean - Z * deviation + skew - 0.5).floor();
        let many = (mean + Z * deviation + skew + 0.5).ceil();
        Self { few: (few >= 0.0).then_some(few as u64), many: (many as u64).min(n + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{Binomial, DiscreteCDF};
    use test_case::test_case;

    fn histogram(values: &[u64]) -> Values {
        let mut all = Values::new();
        for &value in values {
            all.record(value);
        }
        all
    }

    #[test_case(0.5, "p50")]
    #[test_case(0.99, "p99")]
    #[test_case(0.999_99, "p99.999")]
    #[test_case(0.125, "p12.5")]
    fn a_quantile_has_its_name(q: f64, text: &str) {
        assert_eq!(crate::unit::quantile_name(q), text);
    }

    #[test_case(0.5, 4, 2)]
    #[test_case(0.5, 5, 3)]
    #[test_case(0.07, 100, 7; "where floats would say 8")]
    #[test_case(0.999, 1_000, 999)]
    #[test_case(0.999_99, 1_000_000, 999_990)]
    #[test_case(0.0, 5, 1; "the smallest")]
    #[test_case(1.0, 5, 5; "the largest")]
    fn ranks_are_the_nearest(q: f64, count: u64, expected: u64) {
        assert_eq!(rank(q, count), Some(expected));
    }

    #[test]
    fn without_values_there_is_no_quantile_and_no_interval() {
        let none = Ranked::exact(Vec::new()).with_interval(0.5, 0.0);
        assert_eq!((none.value_ns, none.low_ns, none.high_ns, none.standing), (None, None, None, Standing::TooFew));
        assert_eq!(Ranked::counted(&Values::new()).quantile(0.5), None);
        assert_eq!(rank(f64::NAN, 7), None);
    }

    #[test_case(0.5, 20)]
    #[test_case(0.9, 100)]
    #[test_case(0.99, 1_000)]
    #[test_case(0.999, 10_000)]
    #[test_case(0.999_9, 100_000)]
    #[test_case(0.999_99, 1_000_000)]
    #[test_case(0.1, 101; "below one half the value's own rank is not beyond")]
    fn the_printing_rule_begins_at_ten_beyond(q: f64, count: u64) {
        assert_eq!(needed(q), Some(count));
        assert_eq!(standing(q, count), Standing::Rough);
        assert_eq!(standing(q, count - 1), Standing::TooFew);
        assert_eq!((beyond(q, count), beyond(q, count - 1)), (10, 9));
    }

    #[test]
    fn a_hundred_beyond_are_firm() {
        assert_eq!(standing(0.99, 10_000), Standing::Firm);
        assert_eq!(standing(0.99, 9_999), Standing::Rough);
        assert_eq!(needed(1.0), None);
        assert_eq!(needed(0.0), None);
    }

    #[test_case(0.5, 6)]
    #[test_case(0.9, 36)]
    #[test_case(0.99, 368)]
    #[test_case(0.999, 3_688)]
    #[test_case(0.999_9, 36_887)]
    #[test_case(0.999_99, 368_887)]
    fn an_interval_has_two_ends_from_the_published_count_on(q: f64, first: u64) {
        assert_eq!(interval_ranks(q, first, first as f64).high, Some(first));
        assert_eq!(interval_ranks(q, first - 1, first as f64 - 1.0).high, None);
        let ranks = interval_ranks(1.0 - q, first, first as f64);
        assert_eq!(ranks.low, Some(1), "the lower quantile mirrors it");
    }

    /// The definition itself, by the distribution function of another author.
    fn by_definition(q: f64, n: u64) -> Ranks {
        let binomial = Binomial::new(q, n).unwrap();
        let low = (1..=n).take_while(|&l| binomial.cdf(l - 1) <= TAIL).last();
        let high = (1..=n).find(|&u| binomial.cdf(u - 1) >= 1.0 - TAIL);
        Ranks { low, high }
    }

    #[test]
    fn ranks_keep_their_definition() {
        for n in (1..60).chain([100, 368, 500, 997, 1_500, 2_500]) {
            for q in [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999] {
                assert_eq!(interval_ranks(q, n, n as f64), by_definition(q, n), "p{q} of {n}");
            }
        }
    }

    #[test]
    fn the_approximation_differs_by_a_rank_at_most() {
        for p in [0.5, 0.3, 0.1, 0.01, 0.001, 0.000_01] {
            // As large as the sum goes.
            let n = (690.0 / -f64::ln_1p(-p)) as u64;
            let (exact, near) = (Tails::summed(n, p), Tails::approximated(n, p));
            assert!(exact.few.unwrap().abs_diff(near.few.unwrap()) <= 1, "{p}: {exact:?} {near:?}");
            assert!(exact.many.abs_diff(near.many) <= 1, "{p}: {exact:?} {near:?}");
        }
    }

    #[test]
    fn a_sample_worth_less_has_a_wider_interval() {
        let independent = interval_ranks(0.5, 10_000, 10_000.0);
        assert_eq!(independent, Ranks { low: Some(4_902), high: Some(5_099) });
        let correlated = interval_ranks(0.5, 10_000, 100.0);
        // Ranks 40 and 61 of 100, stretched.
        assert_eq!(correlated, Ranks { low: Some(3_901), high: Some(6_100) });
        assert_eq!(interval_ranks(0.99, 10_000, 100.0).high, None, "worth 100, no upper bound of p99");
    }

    proptest! {
        #[test]
        fn an_exact_quantile_is_the_sorted_value(values in prop::collection::vec(0_u64..1_000_000, 1..400), q in 0_u32..=1_000) {
            let ranked = Ranked::exact(values.clone());
            let mut sorted = values;
            sorted.sort_unstable();
            // The definition: the smallest value that at least q·n values do not exceed, counted in integers.
            let wanted = sorted.iter().copied().find(|&x| {
                sorted.iter().filter(|&&y| y <= x).count() as u64 * 1_000 >= u64::from(q) * sorted.len() as u64
            });
            prop_assert_eq!(ranked.quantile(f64::from(q) / 1_000.0), wanted);
        }

        #[test]
        fn a_histogram_says_the_same_to_three_digits(values in prop::collection::vec(0_u64..1 << 40, 1..400), q in 0.0_f64..=1.0) {
            let (exact, counted) = (Ranked::exact(values.clone()), Ranked::counted(&histogram(&values)));
            prop_assert_eq!(exact.count(), counted.count());
            let (x, y) = (exact.quantile(q).unwrap(), counted.quantile(q).unwrap());
            prop_assert!(x.abs_diff(y) as f64 <= x as f64 / 1_024.0, "{} {}", x, y);
            prop_assert_eq!(counted.quantile(1.0), values.iter().max().copied());
            prop_assert_eq!(counted.weights().iter().map(|&(_, n)| n).sum::<u64>(), values.len() as u64);
        }

        #[test]
        fn small_values_are_exact_in_a_histogram(values in prop::collection::vec(0_u64..2_048, 1..400), q in 0.0_f64..=1.0, limit in 0_u64..2_048) {
            let (exact, counted) = (Ranked::exact(values.clone()), Ranked::counted(&histogram(&values)));
            prop_assert_eq!(exact.quantile(q), counted.quantile(q));
            prop_assert_eq!(exact.above(limit), values.iter().filter(|&&v| v > limit).count() as u64);
            prop_assert_eq!(exact.above(limit), counted.above(limit));
        }

        #[test]
        fn quantiles_rise_and_lie_within_their_intervals(
            values in prop::collection::vec(0_u64..1 << 30, 1..300), effective in 1.0_f64..300.0, counted: bool
        ) {
            let ranked = if counted { Ranked::counted(&histogram(&values)) } else { Ranked::exact(values.clone()) };
            let (min, max) = (*values.iter().min().unwrap(), *values.iter().max().unwrap());
            let mut before = Nanos(min);
            for q in LISTED {
                let found = ranked.with_interval(q, effective);
                let value = found.value_ns.unwrap();
                prop_assert!(before <= value && value <= Nanos(max));
                prop_assert!(found.low_ns.is_none_or(|low| low <= value), "{:?}", found);
                prop_assert!(found.high_ns.is_none_or(|high| value <= high), "{:?}", found);
                before = value;
            }
        }
    }
}
