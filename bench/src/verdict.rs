//! Verdict of pairs of runs on a target.
//!
//! The rule: a ratio is *met* when the estimate reaches the target and the bound of its 95 % interval on the bad side misses
//! it by at most 0.03; a difference when the estimate and the upper bound reach it. Everything else is *not shown*, with the
//! figure. Nothing here is "the same".

use std::fmt;

use measure::statistics::paired;
use measure::statistics::quantile::interval_ranks;
use serde::Serialize;

use crate::trial::Pair;

/// Distance by which the bound of a ratio on its bad side may miss the target.
const SLACK: f64 = 0.03;

/// Target of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Ratio ours / theirs, estimated by Hodges and Lehmann on logarithms: at least so much.
    RatioAtLeast(f64),
    /// The same ratio, where less is better: at most so much.
    RatioAtMost(f64),
    /// The same ratio, where both sides are one program: its interval must contain 1.
    RatioIsOne,
    /// Median of ours - theirs: at most so much.
    DifferenceAtMost(f64),
    /// Ours / theirs of counts that no noise moves: at most so much.
    CountRatioAtMost(f64),
    /// Our own figure that no noise moves: at most so much.
    FigureAtMost(f64),
    /// Ours / theirs of amounts that no noise moves: at most `ratio`, and ours at most `most`.
    GrowthAtMost {
        /// The largest ratio.
        ratio: f64,
        /// The largest amount, in the row's unit.
        most: f64,
    },
    /// A ratio for comparison only.
    None,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::RatioAtLeast(ratio) => format!(">={ratio:.2}"),
            Self::RatioAtMost(ratio) => format!("<={ratio:.2}"),
            Self::RatioIsOne => "has 1".to_owned(),
            Self::DifferenceAtMost(most) => format!("<={most}"),
            Self::CountRatioAtMost(most) => format!("<={most:.2}"),
            Self::FigureAtMost(most) => format!("<={most:.0}"),
            Self::GrowthAtMost { ratio, most } => format!("<={ratio:.2},{most:.0}"),
            Self::None => "none".to_owned(),
        };
        f.pad(&text)
    }
}

/// Verdict on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Reached, as surely as the rule asks.
    Met,
    /// Not so.
    NotShown,
    /// There is nothing to reach.
    ForComparison,
    /// It could not be run.
    NotRun,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Met => "met",
            Self::NotShown => "not shown",
            Self::ForComparison => "-",
            Self::NotRun => "not run",
        })
    }
}

/// The effect a row shows: a ratio, a difference or a figure, as its target says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate.
    pub value: f64,
    /// Lower end of the 95 % interval; absent where there are too few pairs, or no noise.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// The effect over `pairs` as `target` asks for it; `None` where there are no pairs, or a ratio of what is not above 0.
pub fn effect(target: Target, pairs: &[Pair]) -> Option<Effect> {
    match target {
        Target::RatioAtLeast(_) | Target::RatioAtMost(_) | Target::RatioIsOne | Target::None => {
            let both: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.ours, pair.theirs)).collect();
            let paired::Estimate { value, low, high } = paired::ratio(&both)?;
            Some(Effect { value, low, high })
        }
        Target::DifferenceAtMost(_) => median(pairs.iter().map(|pair| pair.ours - pair.theirs).collect()),
        Target::CountRatioAtMost(_) | Target::GrowthAtMost { .. } => {
            let pair = pairs.first()?;
            (pair.theirs > 0.0).then(|| Effect { value: pair.ours / pair.theirs, low: None, high: None })
        }
        Target::FigureAtMost(_) => Some(Effect { value: pairs.first()?.ours, low: None, high: None }),
    }
}

/// Median with its order-statistics interval: tails of single runs, as a p99 has them, do not move it.
fn median(mut values: Vec<f64>) -> Option<Effect> {
    values.sort_unstable_by(f64::total_cmp);
    let count = values.len();
    let half = count / 2;
    let value = if count.is_multiple_of(2) {
        f64::midpoint(*values.get(half.checked_sub(1)?)?, values[half])
    } else {
        values[half]
    };
    let ranks = interval_ranks(0.5, count as u64, count as f64);
    let at = |rank: Option<u64>| rank.and_then(|rank| values.get(rank as usize - 1).copied());
    Some(Effect { value, low: at(ranks.low), high: at(ranks.high) })
}

/// Verdict of `effect`, which came of `pairs`, on `target`. Without the interval that a target needs nothing is shown.
pub fn judge(target: Target, effect: Effect, pairs: &[Pair]) -> Verdict {
    let Effect { value, low, high } = effect;
    let met = match target {
        Target::RatioAtLeast(least) => value >= least && low.is_some_and(|low| low >= least - SLACK),
        Target::RatioAtMost(most) => value <= most && high.is_some_and(|high| high <= most + SLACK),
        Target::RatioIsOne => low.zip(high).is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high),
        Target::DifferenceAtMost(most) => value <= most && high.is_some_and(|high| high <= most),
        Target::CountRatioAtMost(most) | Target::FigureAtMost(most) => value <= most,
        Target::GrowthAtMost { ratio, most } => value <= ratio && pairs.iter().all(|pair| pair.ours <= most),
        Target::None => return Verdict::ForComparison,
    };
    if met { Verdict::Met } else { Verdict::NotShown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn effect_of(value: f64, low: f64, high: f64) -> Effect {
        Effect { value, low: Some(low), high: Some(high) }
    }

    #[test_case(0.98, 0.95, Verdict::Met; "estimate and bound reach")]
    #[test_case(0.97, 0.9401, Verdict::Met; "both just reach")]
    #[test_case(0.969, 0.96, Verdict::NotShown; "the estimate misses")]
    #[test_case(1.02, 0.93, Verdict::NotShown; "too unsure")]
    fn a_ratio_is_met_by_estimate_and_lower_bound(value: f64, low: f64, verdict: Verdict) {
        assert_eq!(judge(Target::RatioAtLeast(0.97), effect_of(value, low, 1.1), &[]), verdict);
    }

    #[test_case(0.98, 1.02, Verdict::Met; "estimate and bound reach")]
    #[test_case(1.0, 1.0299, Verdict::Met; "both just reach")]
    #[test_case(1.001, 1.01, Verdict::NotShown; "the estimate misses")]
    #[test_case(0.9, 1.04, Verdict::NotShown; "too unsure")]
    fn a_ratio_that_should_be_small_is_met_by_estimate_and_upper_bound(value: f64, high: f64, verdict: Verdict) {
        assert_eq!(judge(Target::RatioAtMost(1.0), effect_of(value, 0.8, high), &[]), verdict);
    }

    #[test]
    fn without_an_interval_no_ratio_is_met() {
        let unsure = Effect { value: 1.2, low: None, high: None };
        assert_eq!(judge(Target::RatioAtLeast(0.97), unsure, &[]), Verdict::NotShown);
        assert_eq!(judge(Target::RatioIsOne, unsure, &[]), Verdict::NotShown);
        assert_eq!(judge(Target::RatioAtMost(2.0), unsure, &[]), Verdict::NotShown);
        assert_eq!(judge(Target::DifferenceAtMost(2.0), unsure, &[]), Verdict::NotShown);
    }

    #[test_case(0.1, 0.2, Verdict::Met; "estimate and bound reach")]
    #[test_case(0.1, 0.3, Verdict::NotShown; "too unsure")]
    #[test_case(0.21, 0.25, Verdict::NotShown; "the estimate misses")]
    fn a_difference_is_met_by_estimate_and_upper_bound(value: f64, high: f64, verdict: Verdict) {
        assert_eq!(judge(Target::DifferenceAtMost(0.2), effect_of(value, -5.0, high), &[]), verdict);
    }

    #[test_case(0.99, 1.01, Verdict::Met)]
    #[test_case(1.001, 1.01, Verdict::NotShown; "above")]
    #[test_case(0.98, 0.999, Verdict::NotShown; "below")]
    fn one_program_against_itself_must_contain_1(low: f64, high: f64, verdict: Verdict) {
        assert_eq!(judge(Target::RatioIsOne, effect_of(f64::midpoint(low, high), low, high), &[]), verdict);
    }

    #[test]
    fn a_ratio_is_of_logarithms_and_a_difference_is_the_median() {
        let pairs: Vec<Pair> =
            (1..=21).map(|n| Pair { ours: f64::from(n), theirs: 2.0 * f64::from(n), ours_first: true }).collect();
        let ratio = effect(Target::RatioAtLeast(0.5), &pairs).unwrap();
        assert!((ratio.value - 0.5).abs() < 1e-12 && (ratio.low.unwrap() - 0.5).abs() < 1e-12);
        // Differences are -21 to -1; ranks 6 and 16 of 21 hold the median with 97.3 %.
        let difference = effect(Target::DifferenceAtMost(0.2), &pairs).unwrap();
        assert_eq!((difference.value, difference.low, difference.high), (-11.0, Some(-16.0), Some(-6.0)));
    }

    #[test]
    fn counts_have_no_interval() {
        let pairs = [Pair { ours: 120.0, theirs: 100.0, ours_first: true }];
        let counts = effect(Target::CountRatioAtMost(1.5), &pairs).unwrap();
        assert_eq!((counts.value, counts.low), (1.2, None));
        assert_eq!(judge(Target::CountRatioAtMost(1.5), counts, &pairs), Verdict::Met);
        assert_eq!(judge(Target::CountRatioAtMost(1.1), counts, &pairs), Verdict::NotShown);
        assert_eq!(effect(Target::CountRatioAtMost(1.5), &[]), None);
    }

    #[test_case(26.0, 25.5, Verdict::Met; "bounded and small")]
    #[test_case(26.0, 20.0, Verdict::NotShown; "grows")]
    #[test_case(80.0, 80.0, Verdict::NotShown; "bounded but large")]
    fn memory_must_neither_grow_nor_be_large(ours: f64, theirs: f64, verdict: Verdict) {
        let (target, pairs) =
            (Target::GrowthAtMost { ratio: 1.1, most: 64.0 }, [Pair { ours, theirs, ours_first: true }]);
        assert_eq!(judge(target, effect(target, &pairs).unwrap(), &pairs), verdict);
    }
}
