//! Notes on single points: the rate was not reached, something was lost, nothing could be measured.

use logbook::study::{StudyDocument, Trial};
use measure::verdict::Warning;
use measure::verdict::order::Group;

use super::grid::{Grid, Series};
use crate::layout::Page;
use crate::number;
use crate::words::warning;

/// Something that is so at several points of a curve.
#[derive(Debug, PartialEq)]
pub struct Note {
    series: usize,
    /// The points, by their place on the axis.
    points: Vec<usize>,
    kind: Kind,
    /// The same in words, of the point where it is worst.
    told: String,
    worst: f64,
    /// True where it is so of the point itself, which is marked then, and not of the method everywhere.
    marks: bool,
}

impl Note {
    /// True where it marks this point of this curve.
    pub fn is_of(&self, series: usize, place: usize) -> bool {
        self.marks && self.series == series && self.points.contains(&place)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Failed,
    NotReached,
    Missed,
    Behind,
    Lost,
    Refused,
    Disturbed,
    Method,
}

/// One thing that a trial tells.
struct Told {
    kind: Kind,
    text: String,
    worst: f64,
    marks: bool,
}

/// The notes by point, curve by curve.
pub fn of(study: &StudyDocument, grid: &Grid) -> Vec<Note> {
    let mut notes = Vec::new();
    for (number, series) in grid.series.iter().enumerate() {
        for place in 0..grid.points.len() {
            for told in at(study, series, place) {
                add(&mut notes, number, place, told);
            }
        }
    }
    notes
}

fn at(study: &StudyDocument, series: &Series, place: usize) -> Vec<Told> {
    series.trials(study, place).into_iter().flat_map(tells).collect()
}

fn add(notes: &mut Vec<Note>, series: usize, place: usize, told: Told) {
    let same = |note: &&mut Note| {
        note.series == series && note.kind == told.kind && (told.kind != Kind::Method || note.told == told.text)
    };
    let Some(note) = notes.iter_mut().find(same) else {
        let Told { kind, text, worst, marks } = told;
        notes.push(Note { series, points: vec![place], kind, told: text, worst, marks });
        return;
    };
    if note.points.last() != Some(&place) {
        note.points.push(place);
    }
    if told.worst > note.worst {
        (note.told, note.worst) = (told.text, told.worst);
    }
}

fn tells(trial: &Trial) -> Vec<Told> {
    let failed = trial.failure.as_ref().map(|failure| Told {
        kind: Kind::Failed,
        text: format!("a trial failed: {}", failure.what),
        worst: 0.0,
        marks: true,
    });
    let warnings = trial.record.iter().flat_map(|record| &record.warnings);
    failed.into_iter().chain(warnings.filter_map(warns)).collect()
}

/// The part of a warning that is of a point's own; others are the same for every trial, or say what the table shows.
fn warns(warning: &Warning) -> Option<Told> {
    let share = |count: &u64, sent: &u64| *count as f64 / (*sent).max(1) as f64;
    let (kind, worst) = match warning {
        Warning::RateNotAchieved { offered_per_s, sent_per_s, .. } => (Kind::NotReached, -sent_per_s / offered_per_s),
        Warning::TicksMissed { count, .. } => (Kind::Missed, *count as f64),
        Warning::BehindSchedule { share } => (Kind::Behind, *share),
        Warning::Lost { count, sent, .. } | Warning::LostOnTheWay { count, sent, .. } => {
            (Kind::Lost, share(count, sent))
        }
        Warning::Refused { count, sent, .. } => (Kind::Refused, share(count, sent)),
        Warning::Disturbed { by, .. } => (Kind::Disturbed, by.len() as f64),
        Warning::Throttled { throttled_ns, .. } => (Kind::Disturbed, throttled_ns.as_secs_f64()),
        Warning::OneCpu => (Kind::Method, 0.0),
        who if who.group() == Group::WhoAnswered => (Kind::Method, 0.0),
        _ => return None,
    };
    // On a machine that others use nearly every point would be marked.
    let marks = !matches!(kind, Kind::Disturbed | Kind::Method);
    Some(Told { kind, text: warning::seen(warning), worst, marks })
}

/// The warnings below the table, those that mark points first.
pub fn tell(page: &mut Page, notes: &[Note], grid: &Grid) {
    let (marks, others): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(|note| note.marks);
    for note in marks.iter().chain(&others) {
        page.warning(&words(note, grid));
    }
}

fn words(note: &Note, grid: &Grid) -> String {
    let several = grid.series.len() > 1;
    let mut at: Vec<String> = several.then(|| grid.series[note.series].name.clone()).into_iter().collect();
    if note.kind != Kind::Method && note.points.len() < grid.points.len() {
        at.push(format!("at {}", places(note, grid)));
    }
    let mark = if note.marks { "* " } else { "" };
    let colon = if at.is_empty() { "" } else { ": " };
    let several = note.points.len() > 1 && note.kind != Kind::Method;
    // Before a number it is part of the sentence, behind other words of its own.
    let told = match (several, note.told.starts_with(|first: char| first.is_ascii_digit())) {
        (false, _) => note.told.clone(),
        (true, true) => format!("at worst {}", note.told),
        (true, false) => format!("{}, at the worst point", note.told),
    };
    format!("{mark}{}{colon}{told}", at.join(" "))
}

/// Points as people list them: neighbours as from … to.
fn places(note: &Note, grid: &Grid) -> String {
    let name = |place: usize| grid.points[place].value.as_str();
    let runs = note.points.chunk_by(|one, next| one + 1 == *next);
    let told: Vec<String> = runs
        .map(|run| match run {
            [one] => name(*one).to_owned(),
            [one, other] => format!("{}, {}", name(*one), name(*other)),
            _ => format!("{} … {}", name(run[0]), name(run[run.len() - 1])),
        })
        .collect();
    if told.len() > 6 {
        return format!("{} and {}", told[..5].join(", "), number::count((told.len() - 5) as u64, "more", "more"));
    }
    told.join(", ")
}
