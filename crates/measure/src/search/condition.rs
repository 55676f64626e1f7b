//! Condition that a rate has to meet: `p99<1ms,loss<0.1%`.
//!
//! Every clause must hold. Times are response times, from the intended instant, over all that asked for an answer: one
//! without a timely, sound answer ranks above every answer, so that losses cannot make a tail look short. A request that
//! the peer refused, as a limiter of rates does by a status, was not served: for a rate that counts as a loss. Every
//! condition also asks that at least 99.9 % of the rate was offered: messages that our own side did not send say
//! nothing of the far side.

use serde::{Deserialize, Serialize};

use crate::outcome::Standing;
use crate::search::seen::Seen;
use crate::statistics::quantile::{self, Ranked, rank, standing};
use crate::unit::Nanos;

mod text;

pub use self::text::ConditionError;

/// Clauses that must all hold, one of them about our own side's rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Condition {
    clauses: Vec<Clause>,
}

/// One thing asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    of: Quantity,
    bound: Bound,
}

/// Quantity that a clause limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    /// A quantile of the response times.
    Quantile(Share),
    /// Their mean, over the answered.
    Mean,
    /// The longest of them.
    Max,
    /// The 99th percentile of how late our own side sends.
    Slip,
    /// Messages lost or refused by the peer, of those sent.
    Loss,
    /// Messages sent, of those due.
    Achieved,
}

/// Limit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Time { limit: Nanos, or_equal: bool },
    AtMost { limit: Share, or_equal: bool },
    AtLeast { limit: Share },
}

/// A share in parts of a billion, so that the typed value is compared exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Share(u32);

const WHOLE: u32 = 1_000_000_000;
/// Default clause for our own side's rate.
const ACHIEVED: Clause = Clause { of: Quantity::Achieved, bound: Bound::AtLeast { limit: Share(999_000_000) } };
/// The quantile that `slip` is.
const SLIP: f64 = 0.99;

/// Verdict of a probe about its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every clause held.
    Met,
    /// A clause did not hold, and it was not our side's.
    Missed,
    /// Our own side did not send the due messages, so nothing is known of the far side at this rate.
    OurSide,
    /// The probe was too short for a clause.
    TooFew,
    /// Messages were lost, or refused by our own system, no more than our own side, being late, sent in bunches: whether
    /// they would be one by one is not known.
    Bunched,
}

/// A verdict and its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The clauses that did not hold, each with the measured value: `p99 3.21 ms`.
    pub missed: Vec<String>,
}

/// Result of one clause.
enum Held {
    Yes,
    No(String),
    TooFew,
}

impl Condition {
    /// Judges a rate by `seen`, the data of a probe at it.
    pub fn judge(&self, seen: &Seen) -> Judgement {
        let (mut verdict, mut missed, mut only_gone) = (Verdict::Met, Vec::new(), true);
        for clause in &self.clauses {
            match clause.held(seen) {
                Held::TooFew if verdict == Verdict::Met => verdict = Verdict::TooFew,
                Held::Yes | Held::TooFew => {}
                Held::No(found) => {
                    let ours = clause.of == Quantity::Achieved && !seen.held || verdict == Verdict::OurSide;
                    verdict = if ours { Verdict::OurSide } else { Verdict::Missed };
                    only_gone &= clause.asks_what_is_gone(seen);
                    missed.push(found);
                }
            }
        }
        let gone = seen.lost + seen.refused;
        if !missed.is_empty() && only_gone && gone > 0 && gone <= seen.bunched {
            verdict = Verdict::Bunched;
            missed.push(format!("{} sent in bunches, because this host was late", seen.bunched));
        }
        Judgement { verdict, missed }
    }

    /// Returns true where it limits a response time: then it notices a growing queue, however much room that has.
    pub fn asks_a_time(&self) -> bool {
        let asks = |clause: &Clause| matches!(clause.bound, Bound::Time { .. }) && clause.of != Quantity::Slip;
        self.clauses.iter().any(asks)
    }

    /// Fewest messages with which every clause can be told, where every `reply_every`-th asks for an answer: for a
    /// quantile, as many answers as it is printed with; for a share of losses, three over it, for none lost of so many
    /// only says that it is below it.
    pub fn needed(&self, reply_every: u32) -> u64 {
        let of = |clause: &Clause| match (clause.of, clause.bound) {
            (Quantity::Quantile(q), _) => {
                quantile::needed(q.as_f64()).unwrap_or(u64::MAX).saturating_mul(reply_every.into())
            }
            (Quantity::Mean | Quantity::Max, _) => 100 * u64::from(reply_every),
            (Quantity::Slip, _) => quantile::needed(SLIP).unwrap_or_default(),
            (_, Bound::AtMost { limit: Share(limit @ 1..), .. }) => (3 * u64::from(WHOLE)).div_ceil(limit.into()),
            (_, Bound::AtMost { .. }) => 3_000,
            (_, Bound::AtLeast { limit: Share(limit) }) => u64::from(WHOLE).div_ceil(u64::from(WHOLE - limit).max(1)),
            (_, Bound::Time { .. }) => 1,
        };
        self.clauses.iter().map(of).max().unwrap_or(1)
    }
}

impl Clause {
    /// Returns true where only messages that were lost, or refused by our own system, can have broken it.
    fn asks_what_is_gone(&self, seen: &Seen) -> bool {
        match (self.of, self.bound) {
            (Quantity::Loss, _) => true,
            (Quantity::Achieved, Bound::AtLeast { limit }) => !seen.held && seen.tried >= limit.as_f64(),
            _ => false,
        }
    }

    fn held(&self, seen: &Seen) -> Held {
        match (self.of, self.bound) {
            (Quantity::Quantile(q), Bound::Time { .. }) => self.quantile(q.as_f64(), &seen.response, Some(seen)),
            (Quantity::Slip, Bound::Time { .. }) => self.quantile(SLIP, &seen.slip, None),
            (Quantity::Max, Bound::Time { .. }) => match seen.response.quantile(1.0) {
                Some(_) if seen.unanswered > 0 => Held::No(format!("max {}", seen.beyond())),
                found => self.time(found),
            },
            (Quantity::Mean, Bound::Time { .. }) => self.time(seen.mean_ns.map(|mean| mean.round() as u64)),
            (Quantity::Loss, Bound::AtMost { limit, or_equal }) => {
                let gone = seen.lost.saturating_add(seen.declined);
                let (found, allowed) =
                    (u128::from(gone) * u128::from(WHOLE), u128::from(seen.sent) * u128::from(limit.0));
                match found.cmp(&allowed) {
                    // Nothing was sent: our own side's clause tells.
                    _ if seen.sent == 0 => Held::TooFew,
                    std::cmp::Ordering::Less => Held::Yes,
                    std::cmp::Ordering::Equal if or_equal => Held::Yes,
                    _ => Held::No(seen.gone()),
                }
            }
            (_, Bound::AtLeast { limit }) if seen.achieved >= limit.as_f64() => Held::Yes,
            _ if seen.held => {
                Held::No(format!("sent {} of the rate: the path accepted no more", percent(seen.achieved)))
            }
            _ => Held::No(format!("sent {} of the rate", percent(seen.achieved))),
        }
    }

    /// `above`: what it was of, whose messages without an answer rank above all `times`.
    fn quantile(&self, q: f64, times: &Ranked, above: Option<&Seen>) -> Held {
        let all = times.count() + above.map_or(0, |seen| seen.unanswered);
        if standing(q, all) == Standing::TooFew {
            return Held::TooFew;
        }
        match (rank(q, all).and_then(|rank| times.at(rank)), above) {
            (None, Some(seen)) => Held::No(format!("{} {}", self.name(), seen.beyond())),
            (found, _) => self.time(found),
        }
    }

    fn time(&self, found: Option<u64>) -> Held {
        let Bound::Time { limit, or_equal } = self.bound else { return Held::TooFew };
        match found {
            None => Held::TooFew,
            Some(found) if found < limit.0 || or_equal && found == limit.0 => Held::Yes,
            Some(found) => Held::No(format!("{} {}", self.name(), Nanos(found))),
        }
    }

    fn name(&self) -> String {
        match self.of {
            Quantity::Quantile(q) => crate::unit::quantile_name(q.as_f64()),
            Quantity::Mean => "mean".to_owned(),
            Quantity::Max => "max".to_owned(),
            Quantity::Slip => "slip".to_owned(),
            Quantity::Loss => "loss".to_owned(),
            Quantity::Achieved => "achieved".to_owned(),
        }
    }
}

/// A share for people, in three digits at most.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // 99.9 must not read 100.
    let decimals = if percent < 0.01 {
        4
    } else if percent < 1.0 {
        3
    } else if percent < 99.0 {
        1
    } else {
        2
    };
    format!("{percent:.decimals$} %")
}

impl Share {
    fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }
}

#[cfg(test)]
mod tests;
