//! The numbers by which runs are compared: each run has one of a kind, or none.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::statistics::payload;
use crate::statistics::quantile::rank;
use crate::throughput::Throughput;

/// One number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub enum Figure {
    /// The shortest response time, nanoseconds.
    Min,
    /// The mean response time of the answered, nanoseconds.
    Mean,
    /// A quantile of the response times, nanoseconds; a request without an answer ranks above every answer.
    Quantile(f64),
    /// Requests without a timely, sound answer, as a share of those sent, 0 to 1.
    Loss,
    /// Answers a second.
    Rate,
    /// Bytes a second that arrived; or, where that is not reported, that were sent.
    Throughput,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// A share, 0 to 1.
    Share,
    /// A second.
    Rate,
    /// Bytes a second.
    Bytes,
}

impl Figure {
    /// Default figures for exchanges.
    pub const OF_EXCHANGES: [Self; 3] = [Self::Quantile(0.5), Self::Quantile(0.9), Self::Quantile(0.99)];
    /// Default figures for streams.
    pub const OF_STREAMS: [Self; 1] = [Self::Throughput];

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::Min | Self::Mean | Self::Quantile(_) => Unit::Time,
            Self::Loss => Unit::Share,
            Self::Rate => Unit::Rate,
            Self::Throughput => Unit::Bytes,
        }
    }

    /// Returns true where more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Throughput)
    }

    /// Returns its value in a run of exchanges, or of streams. A quantile beyond the run's answers, of which there would be
    /// less than one on its rare side, is absent.
    pub fn of(self, outcome: Option<&Outcome>, stream: Option<&Throughput>) -> Option<f64> {
        match (self, outcome, stream) {
            (Self::Throughput, _, Some(stream)) => stream.received_bytes_per_s.or(stream.sent_bytes_per_s),
            (Self::Quantile(q), Some(outcome), _) => ranked_quantile(outcome, q),
            (Self::Min, Some(outcome), _) => outcome.response.min_ns.map(|ns| ns.0 as f64),
            (Self::Mean, Some(outcome), _) => outcome.response.mean_ns,
            (Self::Loss, Some(outcome), _) => outcome.loss.ratio,
            (Self::Rate, Some(outcome), _) => outcome.answered_per_s,
            _ => None,
        }
    }
}

fn ranked_quantile(outcome: &Outcome, q: f64) -> Option<f64> {
    let counts = &outcome.counts;
    let times = payload::ranked(&outcome.response.histogram);
    let unanswered = counts.scheduled.saturating_sub(counts.send_failed.saturating_add(counts.answered));
    let all = times.count().saturating_add(unanswered);
    let resolved = q.min(1.0 - q) * all as f64 >= 1.0 - 1e-9;
    rank(q, all).filter(|_| resolved).and_then(|rank| times.at(rank)).map(|ns| ns as f64)
}

/// As it is typed: `p99`, `throughput`.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Min => f.write_str("min"),
            Self::Mean => f.write_str("mean"),
            Self::Quantile(q) => f.write_str(&crate::unit::quantile_name(*q)),
            Self::Loss => f.write_str("loss"),
            Self::Rate => f.write_str("rate"),
            Self::Throughput => f.write_str("throughput"),
        }
    }
}

/// A word that names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown figure `{0}`: use min, mean, p50 to p99.999, loss, rate or throughput")]
pub struct NoFigure(pub String);

impl FromStr for Figure {
    type Err = NoFigure;

    fn from_str(text: &str) -> Result<Self, NoFigure> {
        let none = || NoFigure(text.to_owned());
        match text {
            "min" => Ok(Self::Min),
            "mean" => Ok(Self::Mean),
            "median" => Ok(Self::Quantile(0.5)),
            "loss" => Ok(Self::Loss),
            "rate" => Ok(Self::Rate),
            "throughput" => Ok(Self::Throughput),
            _ => {
                let percent: f64 = text.strip_prefix('p').ok_or_else(none)?.parse().map_err(|_| none())?;
                let within = percent > 0.0 && percent < 100.0;
                // The share is computed from the digits as typed: 99.9 / 100 is not 0.999.
                let parts = (percent * 10_000.0).round();
                within.then(|| Self::Quantile(parts / 1_000_000.0)).ok_or_else(none)
            }
        }
    }
}

impl TryFrom<String> for Figure {
    type Error = NoFigure;

    fn try_from(text: String) -> Result<Self, NoFigure> {
        text.parse()
    }
}

impl From<Figure> for String {
    fn from(figure: Figure) -> Self {
        figure.to_string()
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::event::Fate;
    use crate::method::Asked;
    use crate::recorder::{Recorder, Sequence};
    use crate::statistics::summary::{Extra, summarise};
    use crate::unit::{Instant, Nanos};

    #[test_case("p99", Figure::Quantile(0.99))]
    #[test_case("p99.9", Figure::Quantile(0.999))]
    #[test_case("p50", Figure::Quantile(0.5))]
    #[test_case("mean", Figure::Mean)]
    #[test_case("throughput", Figure::Throughput)]
    fn a_figure_is_printed_as_it_is_typed(text: &str, figure: Figure) {
        assert_eq!(text.parse(), Ok(figure));
        assert_eq!(figure.to_string(), text);
    }

    #[test_case("p0"; "no quantile below all")]
    #[test_case("p100"; "nor above all")]
    #[test_case("pnan"; "no number")]
    #[test_case("jitter"; "unknown")]
    #[test_case(""; "nothing")]
    fn what_is_no_figure_is_refused(text: &str) {
        assert_eq!(text.parse::<Figure>(), Err(NoFigure(text.to_owned())));
    }

    /// `answered` exchanges of 1 µs, 2 µs, … and `lost` ones.
    fn run(answered: u64, lost: u64) -> Outcome {
        let method = Asked::default().resolve().unwrap();
        let mut recorder = Recorder::of(&method, 1_000);
        recorder.begin(Instant(0), None);
        let mut sequence = Sequence::default();
        for number in 1..=answered {
            let at = Instant(number * 1_000_000);
            recorder.answered_as_scheduled(at, at, at.after(Nanos::micros(number)));
        }
        for number in 0..lost {
            recorder.ended(Fate::Lost, &mut sequence, number, Some(Nanos::ZERO));
        }
        summarise(&recorder.finish(Instant(1_000_000_000)), &method, Extra::default())
    }

    #[test_case(Figure::Quantile(0.5), 100, 0, Some(50_000.0); "the middle")]
    #[test_case(Figure::Quantile(0.99), 100, 0, Some(99_000.0); "one above it")]
    #[test_case(Figure::Quantile(0.999), 100, 0, None; "so few have none")]
    #[test_case(Figure::Quantile(0.5), 60, 40, Some(50_000.0); "the lost rank above")]
    #[test_case(Figure::Quantile(0.9), 60, 40, None; "the lost have no time")]
    #[test_case(Figure::Min, 3, 0, Some(1_000.0); "the shortest")]
    #[test_case(Figure::Mean, 3, 0, Some(2_000.0); "the mean")]
    #[test_case(Figure::Loss, 3, 1, Some(0.25); "one of four")]
    #[test_case(Figure::Throughput, 3, 1, None; "no stream")]
    fn a_run_has_its_number_or_none(figure: Figure, answered: u64, lost: u64, expected: Option<f64>) {
        let found = figure.of(Some(&run(answered, lost)), None);
        assert!(found.is_some() == expected.is_some(), "{found:?}");
        let close = |found: f64, expected: f64| (found - expected).abs() <= expected * 1e-3;
        assert!(found.zip(expected).is_none_or(|(found, expected)| close(found, expected)), "{found:?}");
    }
}
