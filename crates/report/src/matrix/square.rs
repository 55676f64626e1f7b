//! One square of a matrix: what the repeats of a direction found, and what a reader must know of it.

use logbook::run::{Answer, Cell, PairCheck};
use measure::study::figure::{Figure, Unit};
use measure::study::spread::{Ends, Spread};
use uuid::Uuid;

use crate::number;

/// What the repeats of one direction found.
#[derive(Clone, Debug, PartialEq)]
pub struct Square {
    /// The median over repeats with what lies around it, in the unit of the figure; absent where no repeat has the figure.
    pub spread: Option<Spread>,
    /// What became of the repeats.
    pub state: State,
    /// Whether this direction is worse than the other: the 95 % intervals of the medians do not overlap. With fewer than six repeats
    /// there are no intervals, and nothing is said: single runs differ by more than directions do.
    pub worse: bool,
    /// Whether other pairs were measured on one of its machines at that time.
    pub shared: bool,
    /// The records of its repeats, in their order.
    pub records: Vec<Uuid>,
    /// What to try where some failed.
    pub hint: Option<String>,
    /// Further figures of its repeats, each the median over them.
    pub figures: Vec<(Figure, f64)>,
}

/// What became of the repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All that were to be were measured.
    Whole,
    /// Some were not begun, or are not done yet.
    Missing,
    /// Some failed: the word for why, and the reason of the first of them.
    Failed(&'static str, String),
}

impl Square {
    pub(super) fn of(cells: &[&Cell], figure: Figure, repeats: u32, check: Option<&PairCheck>) -> Self {
        const FIGURES: [Figure; 5] =
            [Figure::Quantile(0.5), Figure::Quantile(0.99), Figure::Loss, Figure::Rate, Figure::Throughput];
        let values = |figure: Figure| -> Vec<Option<f64>> {
            cells.iter().map(|cell| cell.figures.and_then(|figures| figures.figure(figure))).collect()
        };
        let failed = cells.iter().find_map(|cell| Some((*cell, cell.failure.as_ref()?)));
        let state = match failed {
            Some((cell, failure)) => State::Failed(word(cell, check), failure.what.clone()),
            None if cells.len() < repeats as usize => State::Missing,
            None => State::Whole,
        };
        let median = |figure: Figure| Some((figure, Spread::of(&values(figure))?.median));
        Self {
            spread: Spread::of(&values(figure)),
            state,
            hint: failed.and_then(|(_, failure)| failure.hint.clone()),
            worse: false,
            shared: cells.iter().any(|cell| cell.beside > 0),
            records: cells.iter().filter_map(|cell| cell.record).collect(),
            figures: FIGURES.into_iter().filter_map(median).collect(),
        }
    }

    /// Whether it is worse than the other direction, as [`Square::worse`] says.
    pub(super) fn is_worse_than(&self, other: &Self, figure: Figure) -> bool {
        let (Some(here), Some(there)) = (self.spread, other.spread) else { return false };
        let (better, worse) = if figure.more_is_better() { (here, there) } else { (there, here) };
        better.high < worse.low && here.ends == Ends::Interval && there.ends == Ends::Interval
    }

    /// The word for why nothing of it was measured, and the reason.
    pub fn failed(&self) -> Option<(&'static str, &str)> {
        match &self.state {
            State::Failed(word, why) => Some((word, why)),
            _ => None,
        }
    }

    /// Marks behind its number: see [`MARKS`].
    pub(super) fn marks(&self) -> String {
        let part = self.spread.is_some() && self.state != State::Whole;
        let marks = [(self.worse, '*'), (self.shared, '+'), (part, '!')];
        marks.into_iter().filter_map(|(is, mark)| is.then_some(mark)).collect()
    }
}

/// What is said where no two directions could be told apart.
pub(super) const TOO_FEW: &str = "comparing directions takes 6 repeats";

/// Marks and what they say.
pub(super) const MARKS: [(char, &str); 3] = [
    ('*', "this direction is worse than the other: the 95 % intervals do not overlap"),
    ('+', "other pairs ran on the same machine at the same time and shared its CPUs"),
    ('!', "some repeats are missing"),
];

/// What stands for squares that were not begun, and for a host and itself.
pub(super) const NOTHING: &str = "–";
pub(super) const ITSELF: &str = "·";

/// Why a cell has nothing, in a word.
fn word(cell: &Cell, check: Option<&PairCheck>) -> &'static str {
    let answers = check.map_or([Answer::NotAsked; 2], |check| [check.tcp, check.udp]);
    let said = |answer: Answer| answers.contains(&answer);
    match () {
        () if cell.host_lost => "lost",
        () if said(Answer::Rejected) => "rejected",
        () if said(Answer::Closed) => "closed",
        () if said(Answer::Silent) => "silent",
        () => "failed",
    }
}

/// A figure's number with its unit.
pub(super) fn told(figure: Figure, value: f64) -> String {
    let text = match figure.unit() {
        Unit::Time => number::time(value),
        Unit::Share => Some(number::percent(value)),
        Unit::Rate => number::rate(value),
        Unit::Bytes => number::bit_rate(value),
    };
    text.unwrap_or_else(|| NOTHING.to_owned())
}

/// The unit in which the numbers of one table stand, and what one of it is in the figure's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub name: &'static str,
    pub size: f64,
}

impl Scale {
    /// That in which `value`, one in the middle, has one to three digits before the point.
    pub(super) fn of(figure: Figure, value: f64) -> Self {
        let steps: &[(&'static str, f64)] = match figure.unit() {
            Unit::Time => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)],
            Unit::Share => &[("%", 0.01)],
            Unit::Rate => &[("M/s", 1e6), ("k/s", 1e3), ("/s", 1.0)],
            Unit::Bytes => {
                &[("Tbit/s", 125e9), ("Gbit/s", 125e6), ("Mbit/s", 125e3), ("kbit/s", 125.0), ("bit/s", 0.125)]
            }
        };
        let fits = steps.iter().find(|(_, size)| value.abs() >= *size).or(steps.last());
        fits.map_or(Self { name: "", size: 1.0 }, |&(name, size)| Self { name, size })
    }

    /// `value` in this unit with three digits.
    pub(super) fn text(self, value: f64) -> String {
        let value = value / self.size;
        let decimals = match value.abs() {
            0.0 => 0,
            size if size >= 99.95 => 0,
            size if size >= 9.995 => 1,
            _ => 2,
        };
        format!("{value:.decimals$}")
    }
}
