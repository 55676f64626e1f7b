//! Limit of a figure's difference, beyond which a comparison has failed: `p99>+5%`.
//!
//! It is judged by the whole interval of the difference, not by its estimate: a limit is exceeded only where all of the
//! interval lies beyond it, and kept only where none of it does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::figure::{Figure, NoFigure, Unit};
use crate::comparison::{Compared, Interval, Word};
use crate::unit::Nanos;

/// A limit to how much more, or less, of a figure the second side may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Threshold {
    /// Figure that is limited.
    pub figure: Figure,
    /// True where it is exceeded above the limit, rather than below it.
    pub above: bool,
    limit: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// A share of the first side's number: 0.05 is 5 % more.
    Share(f64),
    /// Nanoseconds more.
    Time(f64),
}

/// Result of judging a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// The whole interval lies within: the limit is kept.
    Kept,
    /// The whole interval lies beyond: the limit is exceeded.
    Exceeded,
    /// The limit lies within the interval: neither is shown.
    NotShown,
    /// There is no interval: too few runs.
    TooFewRuns,
}

impl Threshold {
    /// Judges `compared`, which is of this threshold's figure.
    pub fn judge(&self, compared: &Compared) -> Held {
        let (effect, limit) = match self.limit {
            Limit::Share(limit) => (compared.change, limit),
            Limit::Time(limit) => (compared.difference, limit),
        };
        match effect {
            _ if compared.word == Word::TooFewRuns => Held::TooFewRuns,
            Some(Interval { low: Some(low), high: Some(high), .. }) => self.placed(low, high, limit),
            _ => Held::TooFewRuns,
        }
    }

    fn placed(&self, low: f64, high: f64, limit: f64) -> Held {
        let (nearest, furthest) = if self.above { (low, high) } else { (-high, -low) };
        let limit = if self.above { limit } else { -limit };
        match () {
            () if nearest > limit => Held::Exceeded,
            () if furthest <= limit => Held::Kept,
            () => Held::NotShown,
        }
    }
}

/// As it is typed.
impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.above { '>' } else { '<' };
        let (Limit::Share(limit) | Limit::Time(limit)) = self.limit;
        let side = if limit < 0.0 { '-' } else { '+' };
        write!(f, "{}{sign}{side}", self.figure)?;
        match self.limit {
            Limit::Share(share) => write!(f, "{}%", (share.abs() * 1e8).round() / 1e6),
            Limit::Time(ns) => write!(f, "{}ns", ns.abs()),
        }
    }
}

/// A text that is no such limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// Without `>` or `<`.
    #[error("`{0}` is not a limit: write it as p99>+5%, p50>+20us or throughput<-3%")]
    NoLimit(String),
    /// The figure is not known.
    #[error(transparent)]
    Figure(#[from] NoFigure),
    /// The amount cannot be read.
    #[error("`{text}`: {reason}")]
    Amount {
        /// The whole text.
        text: String,
        /// Fault of the amount.
        reason: String,
    },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let at = text.find(['<', '>']).ok_or_else(|| ThresholdError::NoLimit(text.to_owned()))?;
        let figure: Figure = text[..at].trim().parse()?;
        let above = text[at..].starts_with('>');
        let rest = text[at + 1..].trim();
        let (negative, amount) = match (rest.strip_prefix('-'), rest.strip_prefix('+')) {
            (Some(amount), _) => (true, amount),
            (None, Some(amount)) => (false, amount),
            (None, None) => (false, rest),
        };
        let fault = |reason: String| ThresholdError::Amount { text: text.to_owned(), reason };
        let side = if negative { -1.0 } else { 1.0 };
        let limit = if let Some(number) = amount.trim().strip_suffix('%') {
            let percent = number.trim().parse::<f64>().ok().filter(|percent| percent.is_finite() && *percent >= 0.0);
            Limit::Share(
                side * percent.ok_or_else(|| fault("write the share as a number of percent".to_owned()))? / 100.0,
            )
        } else if figure.unit() == Unit::Time {
            let time: Nanos = amount.trim().parse().map_err(|error| fault(format!("{error}")))?;
            Limit::Time(side * time.0 as f64)
        } else {
            return Err(fault(format!("{figure} takes a change in percent, as in {figure}<-3%")));
        };
        Ok(Self { figure, above, limit })
    }
}

impl TryFrom<String> for Threshold {
    type Error = ThresholdError;

    fn try_from(text: String) -> Result<Self, ThresholdError> {
        text.parse()
    }
}

impl From<Threshold> for String {
    fn from(threshold: Threshold) -> Self {
        threshold.to_string()
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn compared(low: Option<f64>, high: Option<f64>, word: Word) -> Compared {
        let interval = |scale: f64| {
            Some(Interval { value: 0.0, low: low.map(|low| low * scale), high: high.map(|high| high * scale) })
        };
        Compared {
            first: Some(100.0),
            second: Some(100.0),
            runs: (7, 7),
            difference: interval(100_000.0),
            change: interval(1.0),
            p: Some(0.5),
            delta: None,
            word,
        }
    }

    #[test_case("p99>+5%", 0.06, 0.10, Held::Exceeded; "all of it above")]
    #[test_case("p99>5%", 0.05, 0.10, Held::NotShown; "the limit itself is allowed")]
    #[test_case("p99>+5%", 0.01, 0.10, Held::NotShown; "the limit within")]
    #[test_case("p99>+5%", -0.01, 0.05, Held::Kept; "all of it below")]
    #[test_case("throughput<-3%", -0.10, -0.04, Held::Exceeded; "less than allowed")]
    #[test_case("throughput<-3%", -0.02, 0.01, Held::Kept; "not so much less")]
    #[test_case("throughput<-3%", -0.05, 0.01, Held::NotShown; "perhaps so much less")]
    #[test_case("p50>+20us", 0.3, 0.4, Held::Exceeded; "by time")]
    #[test_case("p50>+20us", 0.1, 0.2, Held::Kept; "by time, kept")]
    fn the_whole_interval_decides(text: &str, low: f64, high: f64, expected: Held) {
        let threshold: Threshold = text.parse().unwrap();
        assert_eq!(threshold.judge(&compared(Some(low), Some(high), Word::More)), expected);
    }

    #[test]
    fn without_an_interval_nothing_is_said() {
        let threshold: Threshold = "p99>+5%".parse().unwrap();
        assert_eq!(threshold.judge(&compared(None, None, Word::NotShown)), Held::TooFewRuns);
        assert_eq!(threshold.judge(&compared(Some(1.0), Some(2.0), Word::TooFewRuns)), Held::TooFewRuns);
    }

    #[test_case("p99>+5%", "p99>+5%")]
    #[test_case("p99 > 0.5 %", "p99>+0.5%"; "blanks")]
    #[test_case("throughput<-3%", "throughput<-3%")]
    #[test_case("p50>20us", "p50>+20000ns")]
    fn it_is_printed_as_it_can_be_typed(text: &str, printed: &str) {
        let threshold: Threshold = text.parse().unwrap();
        assert_eq!(threshold.to_string(), printed);
        assert_eq!(printed.parse(), Ok(threshold));
    }

    #[test_case("p99"; "no sign")]
    #[test_case("p99>"; "no amount")]
    #[test_case("p99>+-5%"; "two signs")]
    #[test_case("p99>nan%"; "no number")]
    #[test_case("loss>5us"; "a share has no time")]
    #[test_case("jitter>5%"; "no figure")]
    fn what_is_no_limit_is_refused(text: &str) {
        assert!(text.parse::<Threshold>().is_err());
    }
}
