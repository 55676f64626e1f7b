//! A comparison: the sides, a row for each figure with the word for it, the axes and what each closes.

use logbook::study::{AxisDifference, ComparedFigure, Comparison, Place, Setting, StudyDocument};
use measure::comparison::{Compared, Design, Interval, Word, fewest};
use measure::study::figure::{Figure, Unit};
use measure::study::moves::Worth;
use measure::study::threshold::Held;
use measure::unit::quantile_name;

use super::{LABEL, incomplete};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;

/// The screen for a comparison.
pub fn render(page: &mut Page, study: &StudyDocument, design: Design) {
    sides(page, study);
    page.gap();
    incomplete(page, study);
    let several = study.comparisons.len() > 1;
    for comparison in &study.comparisons {
        let second = &study.settings[comparison.second as usize];
        if several {
            page.line(0, &[Piece::new(format!("{} against {}", second.name, study.settings[0].name), Tone::Strong)]);
        }
        one(page, comparison, second, design);
        page.gap();
    }
}

/// Each side: its letter, its words, and the method they make.
fn sides(page: &mut Page, study: &StudyDocument) {
    for setting in study.settings.iter().filter(|setting| setting.at == Place::Side) {
        let words = if study.takes_ns.is_some() {
            setting.command.join(" ")
        } else {
            number::count(study.trials_of(index(study, setting)).len() as u64, "record", "records")
        };
        page.paragraph(0, &Piece::new(&setting.name, Tone::Strong), 3, &words);
        if let Some(method) = &setting.method {
            page.paragraph(3, &Piece::default(), 3, &method.to_string());
        }
    }
}

fn index(study: &StudyDocument, setting: &Setting) -> u32 {
    study.settings.iter().position(|other| other == setting).unwrap_or(0) as u32
}

fn one(page: &mut Page, comparison: &Comparison, second: &Setting, design: Design) {
    if let Some(why) = &comparison.incomparable {
        page.paragraph(INDENT, &Piece::new("not comparable", Tone::Alarm), LABEL + 3, why);
        return;
    }
    let name = second.name.split(' ').next().unwrap_or_default();
    let head = ["", "A", name, "difference", "95 % interval"];
    let mut rows = vec![head.map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    rows.extend(comparison.figures.iter().map(row));
    page.table(&rows);
    page.gap();
    for figure in &comparison.figures {
        page.paragraph(INDENT, &Piece::new(figure.figure.to_string(), Tone::Strong), 9, &word(figure, name, design));
    }
    page.paragraph(INDENT, &Piece::new("how", Tone::Faint), 9, &how(comparison, design));
    axes(page, comparison);
    shifts(page, comparison, name);
    for limit in &comparison.thresholds {
        let (word, tone) = match limit.held {
            Held::Kept => ("kept: the whole interval lies within", Tone::Plain),
            Held::Exceeded => ("exceeded: the whole interval lies beyond", Tone::Alarm),
            Held::NotShown => ("not shown either way: the limit lies within the interval", Tone::Strong),
            Held::TooFewRuns => ("not shown: too few runs", Tone::Strong),
        };
        page.gap();
        page.paragraph(INDENT, &Piece::new("limit", tone), 9, &format!("{} {word}", limit.threshold));
    }
}

fn row(figure: &ComparedFigure) -> Vec<Piece> {
    let compared = &figure.compared;
    let value = |value: Option<f64>| value.and_then(|value| told(figure.figure, value)).unwrap_or_else(absent);
    let ends = |interval: Option<Interval>, tell: &dyn Fn(f64) -> String| {
        let ends = interval.and_then(|interval| Some((interval.low?, interval.high?)));
        ends.map_or_else(absent, |(low, high)| format!("{} … {}", tell(low), tell(high)))
    };
    let difference = |value: f64| signed(figure.figure, value);
    let cells = [
        value(compared.first),
        value(compared.second),
        compared.difference.map_or_else(absent, |interval| difference(interval.value)),
        ends(compared.difference, &difference),
    ];
    let name = Piece::new(figure.figure.to_string(), Tone::Strong);
    [name].into_iter().chain(cells.into_iter().map(Piece::from)).collect()
}

fn absent() -> String {
    "–".to_owned()
}

/// A figure's number for people.
pub(crate) fn told(figure: Figure, value: f64) -> Option<String> {
    match figure.unit() {
        Unit::Time => number::time(value),
        Unit::Share => Some(number::percent(value)),
        Unit::Rate => number::rate(value),
        Unit::Bytes => number::bit_rate(value),
    }
}

/// The same of a difference, with its sign.
pub(crate) fn signed(figure: Figure, value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    told(figure, value.abs()).map_or_else(absent, |size| format!("{sign}{size}"))
}

/// A change with its sign, to a tenth.
fn percent(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1} %", share.abs() * 100.0)
}

/// The word for one figure, and how much: from the list of what may be said.
pub(crate) fn word(figure: &ComparedFigure, name: &str, design: Design) -> String {
    let compared = &figure.compared;
    let runs = runs(compared);
    match compared.word {
        Word::TooFewRuns if compared.runs.0.min(compared.runs.1) == 0 => {
            "in no run: so few exchanges do not reach it, longer runs (-t) would".to_owned()
        }
        Word::TooFewRuns => format!("too few runs ({runs}) to show a difference"),
        Word::NotShown => {
            let ends = compared.change.and_then(|change| Some((change.low?, change.high?)));
            let ends = ends.map_or(String::new(), |(low, high)| format!(" (CI {} … {})", percent(low), percent(high)));
            format!("no difference shown{ends}, {runs} {}", of(design))
        }
        Word::More | Word::Less => {
            let direction = direction(figure.figure, compared.word == Word::More);
            let by = compared.change.or(compared.difference).map_or(String::new(), |effect| {
                let tell = |value: f64| match compared.change {
                    Some(_) => format!("{:.1}", value.abs() * 100.0),
                    None => told(figure.figure, value.abs()).unwrap_or_else(absent),
                };
                let unit = if compared.change.is_some() { " %" } else { "" };
                let ends = effect.low.zip(effect.high).map(|(low, high)| {
                    let (near, far) = if low.abs() <= high.abs() { (low, high) } else { (high, low) };
                    format!(" [{}, {}]", tell(near), tell(far))
                });
                format!(" by {}{unit}{}", tell(effect.value), ends.unwrap_or_default())
            });
            format!("{name} {direction}{by}, {runs} {}", of(design))
        }
    }
}

fn of(design: Design) -> &'static str {
    match design {
        Design::Paired => "runs in pairs",
        Design::Apart => "runs",
    }
}

fn runs(compared: &Compared) -> String {
    format!("{}+{}", compared.runs.0, compared.runs.1)
}

fn direction(figure: Figure, more: bool) -> &'static str {
    match (figure, more) {
        (Figure::Loss, true) => "loses more",
        (Figure::Loss, false) => "loses less",
        (Figure::Rate | Figure::Throughput, true) => "does more",
        (Figure::Rate | Figure::Throughput, false) => "does less",
        (_, true) => "is slower",
        (_, false) => "is faster",
    }
}

/// How it was judged, and what more it would take.
fn how(comparison: &Comparison, design: Design) -> String {
    let test = match design {
        Design::Paired => "signed-rank over pairs of runs in random order",
        Design::Apart => "Mann–Whitney over runs made apart",
    };
    let judged = comparison.figures.iter().filter(|figure| figure.compared.p.is_some()).count();
    let together = if judged > 1 { format!(", {judged} figures judged together (Holm)") } else { String::new() };
    let is_few = |figure: &ComparedFigure| {
        figure.compared.word == Word::TooFewRuns && figure.compared.runs.0.min(figure.compared.runs.1) > 0
    };
    let few = comparison.figures.iter().any(is_few);
    let more = match design {
        _ if !few => String::new(),
        Design::Paired => format!("; it takes {} pairs (--runs)", fewest(judged.max(1), design)),
        Design::Apart => format!("; it takes {} records a side", fewest(judged.max(1), design)),
    };
    format!("{test}{together}{more}")
}

/// The axes in which the methods differ, and what each closes of the gap.
fn axes(page: &mut Page, comparison: &Comparison) {
    if comparison.axes.is_empty() {
        return;
    }
    page.gap();
    let by = comparison.moved_by.map_or(String::new(), |by| format!(", and what each closes of the gap in {by}"));
    page.line(0, &[Piece::new(format!("where they differ{by}"), Tone::Strong)]);
    for axis in &comparison.axes {
        let moved = format!("{} → {}", axis.first, axis.second);
        page.paragraph(INDENT, &Piece::new(&axis.axis, Tone::Strong), LABEL, &moved);
        if let (Some(worth), Some(by)) = (&axis.worth, comparison.moved_by) {
            page.paragraph(INDENT, &Piece::default(), LABEL, &closes(worth, by));
        }
    }
    if comparison.axes.iter().any(|axis| axis.worth.is_some_and(|worth| worth.interacts)) {
        let told = "an axis that closes more before the others than after them interacts with them: its share is the average over every order it was moved in";
        page.paragraph(INDENT, &Piece::new("", Tone::Faint), LABEL, told);
    }
    if let Some(why) = not_told(&comparison.axes, comparison.moved_by) {
        page.paragraph(INDENT, &Piece::new("", Tone::Faint), LABEL, why);
    }
}

fn not_told(axes: &[AxisDifference], by: Option<Figure>) -> Option<&'static str> {
    (by.is_none() && axes.len() > 1).then_some("what each is worth was not measured, or there is no gap to share")
}

/// `61 % [55, 66] of it, −48 µs [−52, −44]`.
pub(crate) fn closes(worth: &Worth, by: Figure) -> String {
    let ends = |interval: &Interval, tell: &dyn Fn(f64) -> String| {
        let ends = interval.low.zip(interval.high);
        ends.map_or(String::new(), |(low, high)| format!(" [{}, {}]", tell(low), tell(high)))
    };
    let share = worth.share.map_or(String::new(), |share| {
        let tell = |share: f64| format!("{}{:.0}", if share < 0.0 { "−" } else { "" }, share.abs() * 100.0);
        format!("{} %{} of it, ", tell(share.value), ends(&share, &tell))
    });
    let tell = |value: f64| signed(by, value);
    let interacts = if worth.interacts {
        format!("; {} before the others, {} after them", tell(worth.first), tell(worth.last))
    } else {
        String::new()
    };
    let closes = format!("{share}{}{}{interacts}", tell(worth.closes.value), ends(&worth.closes, &tell));
    match (worth.closes.low, worth.closes.high) {
        (Some(low), Some(high)) if low > 0.0 || high < 0.0 => closes,
        _ => format!("not established: {closes}"),
    }
}

/// How far each quantile moved.
fn shifts(page: &mut Page, comparison: &Comparison, name: &str) {
    if comparison.shifts.is_empty() {
        return;
    }
    page.gap();
    page.line(0, &[Piece::new(format!("how far each quantile of {name} lies from A's"), Tone::Strong)]);
    let time = |ns: f64| signed(Figure::Mean, ns);
    let rows: Vec<Vec<Piece>> = comparison
        .shifts
        .iter()
        .map(|shift| {
            let interval = format!("{} … {}", time(shift.low_ns), time(shift.high_ns));
            vec![Piece::from(quantile_name(shift.q)), Piece::from(time(shift.difference_ns)), Piece::from(interval)]
        })
        .collect();
    page.table(&rows);
}
