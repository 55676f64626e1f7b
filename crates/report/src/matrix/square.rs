//! One square of a matrix: what the repeats of a direction found, and what a reader must know of it.

use logbook::run::{Answer, Cell, Figures, PairCheck};
use measure::outcome::Standing;
use measure::study::figure::{Figure, Unit};
use measure::study::spread::{Ends, Spread};
use uuid::Uuid;

use crate::number;

/// The repeats of one direction.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "marks that go together in any way")]
pub struct Square {
    /// The median over repeats with what lies around it, in the unit of the figure; absent where no repeat has the figure.
    pub spread: Option<Spread>,
    /// The state of the repeats.
    pub state: State,
    /// True where this direction is worse than the other: the 95 % intervals of the medians do not overlap. With fewer than six repeats
    /// there are no intervals, and nothing is said: single runs differ by more than directions do.
    pub worse: bool,
    /// True where other pairs were measured on one of its machines at that time.
    pub shared: bool,
    /// True where the figure is a percentile of so few round trips, of all repeats together, that it is rough.
    pub rough: bool,
    /// True where a host was busy with other work in one of the repeats.
    pub disturbed: bool,
    /// The records of its repeats, in their order.
    pub records: Vec<Uuid>,
    /// The action to try where some failed.
    pub hint: Option<String>,
    /// Further figures of its repeats, each the median over them.
    pub figures: Vec<(Figure, f64)>,
}

/// The state of the repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All that were to be were measured.
    Whole,
    /// Some were not begun, or are not done yet.
    Missing,
    /// Some failed: the word for why, and the reason of the first of them.
    Failed(&'static str, String),
    /// They have too few round trips together for the percentile: the reason in words.
    Few(String),
}

impl Square {
    pub(super) fn of(cells: &[&Cell], figure: Figure, repeats: u32, check: Option<&PairCheck>) -> Self {
        const FIGURES: [Figure; 5] =
            [Figure::Quantile(0.5), Figure::Quantile(0.99), Figure::Loss, Figure::Rate, Figure::Throughput];
        let values = |figure: Figure| -> Vec<Option<f64>> {
            cells.iter().map(|cell| cell.figures.and_then(|figures| figures.figure(figure))).collect()
        };
        let all: Vec<Figures> = cells.iter().filter_map(|cell| cell.figures).collect();
        let standing = |figure: Figure| Figures::standing(&all, figure);
        let spread = |figure: Figure| Spread::of(&values(figure)).filter(|_| standing(figure) != Standing::TooFew);
        let failed = cells.iter().find_map(|cell| Some((*cell, cell.failure.as_ref()?)));
        let state = match failed {
            Some((cell, failure)) => State::Failed(word(cell, check), failure.what.clone()),
            None if standing(figure) == Standing::TooFew && !all.is_empty() => State::Few(too_few_for(figure)),
            None if cells.len() < repeats as usize => State::Missing,
            None => State::Whole,
        };
        let median = |figure: Figure| Some((figure, spread(figure)?.median));
        Self {
            spread: spread(figure),
            state,
            hint: failed.and_then(|(_, failure)| failure.hint.clone()),
            worse: false,
            shared: cells.iter().any(|cell| cell.beside > 0),
            rough: standing(figure) == Standing::Rough,
            disturbed: all.iter().any(|figures| figures.disturbed == Some(true)),
            records: cells.iter().filter_map(|cell| cell.record).collect(),
            figures: FIGURES.into_iter().filter_map(median).collect(),
        }
    }

    /// True where it is worse than the other direction, as [`Square::worse`] says.
    pub(super) fn is_worse_than(&self, other: &Self, figure: Figure) -> bool {
        let (Some(here), Some(there)) = (self.spread, other.spread) else { return false };
        let (better, worse) = if figure.more_is_better() { (here, there) } else { (there, here) };
        better.high < worse.low && here.ends == Ends::Interval && there.ends == Ends::Interval
    }

    /// The word for why it has no number, and the reason.
    pub fn failed(&self) -> Option<(&'static str, &str)> {
        match &self.state {
            State::Failed(word, why) => Some((word, why)),
            State::Few(why) => Some(("few", why)),
            State::Whole | State::Missing => None,
        }
    }

    /// Marks behind its number: see [`MARKS`].
    pub(super) fn marks(&self) -> String {
        let part = self.spread.is_some() && self.state != State::Whole;
        let rough = self.spread.is_some() && self.rough;
        let marks = [(rough, '~'), (self.worse, '*'), (self.shared, '+'), (self.disturbed, '^'), (part, '!')];
        marks.into_iter().filter_map(|(is, mark)| is.then_some(mark)).collect()
    }
}

/// The note where no two directions could be told apart.
pub(super) const TOO_FEW: &str = "comparing directions takes 6 repeats";

/// Marks and what they say.
pub(super) const MARKS: [(char, &str); 5] = [
    ('~', "rough: only 10 to 99 round trips, of all repeats, lie beyond this percentile"),
    ('*', "this direction is worse than the other: the 95 % intervals do not overlap"),
    ('+', "other pairs ran on the same machine at the same time and shared its CPUs"),
    ('^', "a host was busy with other work in one of the repeats: its times may be larger than on quiet hosts"),
    ('!', "some repeats are missing"),
];

/// The reason of [`State::Few`].
fn too_few_for(figure: Figure) -> String {
    format!("too few round trips for a {figure}: fewer than 10 lie beyond it; measure longer")
}

/// The signs of squares that were not begun, and of a host and itself.
pub(super) const NOTHING: &str = "–";
pub(super) const NOT_MEASURED: &str = "not measured: not in the plan, not started, or no such address";
pub(super) const ITSELF: &str = "·";

/// The reason why a cell has nothing, in a word.
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
