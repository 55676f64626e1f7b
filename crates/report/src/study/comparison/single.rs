//! One stored record a side: a difference of these two runs alone, where their own intervals show it.

use logbook::study::{Comparison, StudyDocument};
use measure::comparison::{Design, Word, single};
use measure::outcome::Quantile;
use measure::study::figure::Figure;
use measure::verdict::Warning;

use crate::number::{self, absent};

/// The first figure of two single runs.
pub(super) struct Single {
    figure: Figure,
    first: Quantile,
    second: Quantile,
    is_apart: bool,
}

impl Single {
    /// The two runs of `comparison`; `None` where a side has more, or where the values of one do not carry an interval.
    pub(super) fn of(study: &StudyDocument, comparison: &Comparison) -> Option<Self> {
        let figure = comparison.figures.first().filter(|figure| figure.compared.word == Word::TooFewRuns)?.figure;
        let (first, second) = (quantile(study, 0, figure)?, quantile(study, comparison.second, figure)?);
        let is_apart = single::apart(&first, &second)?;
        (study.rule()?.design == Design::Apart).then_some(Self { figure, first, second, is_apart })
    }

    /// The answer: no verdict, and then what these two runs show.
    pub(super) fn answer(&self, name: &str) -> String {
        let [first, second] = [&self.first, &self.second].map(value);
        let these = if self.is_apart { "These two runs differ" } else { "None is shown between these two" };
        format!("Too few runs (1+1) to show a difference in {}. {these}: A {first}, {name} {second}", self.figure)
    }

    /// The intervals that the answer rests on, and what they leave out.
    pub(super) fn evidence(&self, name: &str) -> String {
        let lie = if self.is_apart { "lie apart" } else { "overlap" };
        format!(
            "The 95 % intervals of {} within each run {lie}: A {}, {name} {}. They allow for correlation, but not for what differs from \
             run to run.",
            self.figure,
            interval(&self.first),
            interval(&self.second)
        )
    }
}

/// The quantile of a side's only record, where every request was answered and nothing shifted within the run.
fn quantile(study: &StudyDocument, side: u32, figure: Figure) -> Option<Quantile> {
    let Figure::Quantile(q) = figure else { return None };
    let [trial] = study.trials_of(side)[..] else { return None };
    let record = trial.record.as_deref()?;
    let shifted = |warning: &Warning| {
        matches!(warning, Warning::NotSteady { .. } | Warning::Changed { .. } | Warning::ClockStepped { .. })
    };
    let outcome = record.outcome.as_ref().filter(|_| !record.warnings.iter().any(shifted))?;
    let is_whole = outcome.counts.unanswered() == 0;
    let mut quantiles = outcome.response.quantiles.iter();
    quantiles.find(|found| is_whole && (found.q - q).abs() < 1e-9).copied()
}

fn value(quantile: &Quantile) -> String {
    quantile.value_ns.and_then(|value| number::time(value.0 as f64)).unwrap_or_else(absent)
}

fn interval(quantile: &Quantile) -> String {
    let ends = [quantile.low_ns, quantile.high_ns].map(|end| end.and_then(|end| number::time(end.0 as f64)));
    let [low, high] = ends.map(|end| end.unwrap_or_else(absent));
    format!("{low} … {high}")
}
