//! Claims judged by runs in blocks: each by its interval, all of them and all looks together.
//!
//! Two figures are compared within blocks of three runs of each measurement, in random order, as sides of a comparison are
//! ([`Design::Triples`]): the ratio of the left to the right one, factor included, or the difference where a number is not above 0. A
//! figure is set against a bound by its own runs (Hodges–Lehmann, signed ranks). A loss against a bound has the exact binomial
//! interval of its requests too: runs without a loss say nothing of how small it is.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};

use super::{Claim, Relation, Right, Term};
use crate::comparison::{Design, Interval, LOOKS, Look, Rule, Runs};
use crate::statistics::paired::{self, Estimate};
use crate::study::figure::Figure;

/// The numbers that a measurement's runs have for a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Each run's number, in the order of blocks, in the unit of the figure; absent where a run has none.
    pub values: Vec<Option<f64>>,
    /// Requests that left in each run, a count; 0 where a run has none.
    pub sent: Vec<u64>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The whole interval is as the claim says.
    Holds,
    /// The whole interval is otherwise.
    DoesNotHold,
    /// The interval has both in it.
    NotShown,
    /// There is no interval: too few runs have the figure.
    TooFewRuns,
}

impl ClaimVerdict {
    /// True where more runs could not change it.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Holds | Self::DoesNotHold)
    }
}

/// A claim's verdict with the numbers behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimFinding {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Median over the runs of the left figure, in its unit; absent where none has it.
    pub left: Option<f64>,
    /// The same of the right figure without its factor, in the unit of the figure; absent of a bound.
    pub right: Option<f64>,
    /// Runs that have the figure, of the left measurement and of the right one, a count; twice the left one's of a bound.
    pub runs: (u32, u32),
    /// The left side as a multiple of the right side, without unit, with the interval by which it was judged; absent where a number is not
    /// above 0.
    pub ratio: Option<Interval>,
    /// The left side less the right side, in the unit of the figure, with the interval by which it was judged; present where there is no
    /// ratio.
    pub difference: Option<Interval>,
    /// Probability, 0 to 1, that the interval leaves out: its part of what all claims and looks have together.
    pub left_out: f64,
}

/// The moments at which claims are judged where each measurement has up to `most` runs, a multiple of 12: those of a comparison, stretched.
///
/// ```
/// assert_eq!(measure::claim::looks(12), measure::comparison::LOOKS);
/// assert_eq!(measure::claim::looks(24).map(|look| look.runs), [12, 18, 24]);
/// ```
pub fn looks(most: u32) -> [Look; 3] {
    let times = (most / LOOKS[LOOKS.len() - 1].runs).max(1);
    LOOKS.map(|look| Look { runs: look.runs * times, ..look })
}

/// Judges each of `claims` after `runs` whole runs of each measurement, whose figures `of` returns: at the first look
/// that settles it, else at the last look reached. A study that ended between two looks is judged by the last look's
/// part, which is untouched then.
pub fn settle(claims: &[Claim], looks: &[Look], runs: u32, of: &dyn Fn(&Term) -> Series) -> Vec<ClaimFinding> {
    let judged = |claim: &Claim| {
        let (left, right) = (
            of(&claim.left),
            match &claim.right {
                Right::Times(_, term) => Some(of(term)),
                Right::Bound(_) => None,
            },
        );
        let at = |runs: u32| {
            let rule = Rule::after(Design::Triples, looks, runs);
            claim.judged(&left.upto(runs), right.as_ref().map(|right| right.upto(runs)).as_ref(), rule, claims.len())
        };
        let early = looks.iter().filter(|look| look.runs < runs).map(|look| at(look.runs));
        early.into_iter().find(|found| found.verdict.is_settled()).unwrap_or_else(|| at(runs))
    };
    claims.iter().map(judged).collect()
}

impl Series {
    /// The first `runs` runs.
    fn upto(&self, runs: u32) -> Self {
        let first = runs as usize;
        Self {
            values: self.values.iter().take(first).copied().collect(),
            sent: self.sent.iter().take(first).copied().collect(),
        }
    }

    fn present(&self) -> Vec<f64> {
        self.values.iter().flatten().copied().collect()
    }
}

/// An interval around 1 of a ratio, or around 0 of a difference.
#[derive(Clone, Copy)]
struct Place {
    interval: Option<Interval>,
    is_ratio: bool,
}

impl Place {
    /// True: all of it lies above the right side; false: all of it below.
    fn is_above(self) -> Option<bool> {
        let middle = f64::from(u8::from(self.is_ratio));
        let Interval { low: Some(low), high: Some(high), .. } = self.interval? else { return None };
        match () {
            () if low > middle => Some(true),
            () if high < middle => Some(false),
            () => None,
        }
    }

    fn has_ends(self) -> bool {
        self.interval.is_some_and(|interval| interval.low.is_some() && interval.high.is_some())
    }
}

impl Claim {
    /// The verdict by these runs, of a claim among so many.
    fn judged(&self, left: &Series, right: Option<&Series>, rule: Rule, among: usize) -> ClaimFinding {
        let left_out = rule.alarms / among.max(1) as f64;
        let at = |times: f64| self.placed(left, right, times, left_out);
        let place = at(1.0);
        let verdict = match self.relation {
            _ if !place.has_ends() => ClaimVerdict::TooFewRuns,
            Relation::More => told(place.is_above()),
            Relation::Less => told(place.is_above().map(|above| !above)),
            Relation::Within(margin) => match (at(1.0 - margin).is_above(), at(1.0 + margin).is_above()) {
                (Some(true), Some(false)) => ClaimVerdict::Holds,
                (Some(false), _) | (_, Some(true)) => ClaimVerdict::DoesNotHold,
                _ => ClaimVerdict::NotShown,
            },
        };
        let count = |series: &Series| series.values.iter().flatten().count() as u32;
        ClaimFinding {
            verdict,
            left: paired::median(&left.present()),
            right: right.and_then(|right| paired::median(&right.present())),
            runs: (count(left), right.map_or(count(left), count)),
            ratio: place.interval.filter(|_| place.is_ratio),
            difference: place.interval.filter(|_| !place.is_ratio),
            left_out,
        }
    }

    /// Where the left side lies against so many times the right side.
    fn placed(&self, left: &Series, right: Option<&Series>, times: f64, left_out: f64) -> Place {
        match (&self.right, right) {
            (Right::Bound(bound), _) => against_bound(self.left.figure, left, bound * times, left_out),
            (Right::Times(factor, _), Some(right)) => {
                let scaled = right.values.iter().map(|value| value.map(|value| value * factor * times)).collect();
                let runs = Runs { first: scaled, second: left.values.clone() };
                let compared = runs.compared(Design::Triples, left_out);
                match compared.change {
                    Some(change) => Place { interval: Some(moved(change, 1.0)), is_ratio: true },
                    None => Place { interval: compared.difference, is_ratio: false },
                }
            }
            (Right::Times(..), None) => Place { interval: None, is_ratio: false },
        }
    }
}

fn told(holds: Option<bool>) -> ClaimVerdict {
    match holds {
        Some(true) => ClaimVerdict::Holds,
        Some(false) => ClaimVerdict::DoesNotHold,
        None => ClaimVerdict::NotShown,
    }
}

fn moved(interval: Interval, by: f64) -> Interval {
    Interval {
        value: interval.value + by,
        low: interval.low.map(|low| low + by),
        high: interval.high.map(|high| high + by),
    }
}

fn against_bound(figure: Figure, series: &Series, bound: f64, left_out: f64) -> Place {
    let values = series.present();
    if figure == Figure::Loss {
        // Half of that probability for each of the two intervals: the truth is in both.
        let differences: Vec<f64> = values.iter().map(|value| value - bound).collect();
        let by_runs = paired::hodges_lehmann_within(&differences, left_out / 2.0);
        let by_requests = binomial(series, left_out / 2.0);
        let interval = by_runs.zip(by_requests).map(|(runs, (low, high))| Interval {
            value: runs.value,
            low: runs.low.map(|end| end.min(low - bound)),
            high: runs.high.map(|end| end.max(high - bound)),
        });
        return Place { interval, is_ratio: false };
    }
    let is_ratio = bound > 0.0 && values.iter().all(|value| *value > 0.0);
    let shares: Vec<f64> =
        values.iter().map(|value| if is_ratio { value.ln() - bound.ln() } else { value - bound }).collect();
    let back = |value: f64| if is_ratio { value.exp() } else { value };
    let interval = paired::hodges_lehmann_within(&shares, left_out).map(|Estimate { value, low, high }| Interval {
        value: back(value),
        low: low.map(back),
        high: high.map(back),
    });
    Place { interval, is_ratio }
}

/// The exact interval of the share that is lost, of all requests that left (Clopper and Pearson 1934).
fn binomial(series: &Series, left_out: f64) -> Option<(f64, f64)> {
    let runs = || series.values.iter().zip(&series.sent).filter_map(|(ratio, sent)| Some(((*ratio)?, *sent)));
    let sent: u64 = runs().map(|(_, sent)| sent).sum();
    let lost: f64 = runs().map(|(ratio, sent)| (ratio * sent as f64).round()).sum();
    let (sent, tail) = (sent as f64, left_out / 2.0);
    if sent < 1.0 {
        return None;
    }
    let end = |lost: f64, kept: f64, at: f64| Beta::new(lost, kept).ok().map(|beta| beta.inverse_cdf(at));
    let low = if lost > 0.0 { end(lost, sent - lost + 1.0, tail)? } else { 0.0 };
    let high = if lost < sent { end(lost + 1.0, sent - lost, 1.0 - tail)? } else { 1.0 };
    Some((low, high))
}
