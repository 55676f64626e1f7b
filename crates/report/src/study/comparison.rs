//! A comparison: the answer, a row for each figure, the settings that differ and the effect of each, what was not judged.

use logbook::study::{AxisDifference, ComparedFigure, Comparison, Place, Question, Setting, StudyDocument};
use measure::comparison::{Compared, Design, Interval, Look, Rule, Runs, Word, fewest};
use measure::study::figure::{Figure, Unit};
use measure::study::moves::Worth;
use measure::study::threshold::Held;
use measure::unit::quantile_name;
use unicode_width::UnicodeWidthStr;

mod single;

use self::single::Single;
use super::{busy, failed, incomplete, refusals};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number::{self, absent};
use crate::words;

/// The screen for a comparison.
pub fn render(page: &mut Page, study: &StudyDocument) {
    let Some(rule) = study.rule() else { return };
    for answer in answers(study, rule) {
        page.answer(&answer);
    }
    sides(page, study);
    page.gap();
    let several = study.comparisons.len() > 1;
    for comparison in &study.comparisons {
        let Some(second) = study.settings.get(comparison.second as usize) else { continue };
        if several {
            page.line(0, &[Piece::new(format!("{} against {}", second.name, study.settings[0].name), Tone::Strong)]);
        }
        if comparison.incomparable.is_none() {
            one(page, study, comparison, second);
        }
        page.gap();
    }
    if let Some(early) = early(study) {
        page.paragraph(INDENT, &Piece::default(), INDENT, &early);
        page.gap();
    }
    incomplete(page, study, "");
    failed(page, study);
    refusals(page, study);
    busy(page, study);
    for comparison in &study.comparisons {
        // Figures that lack the same thing are named together.
        let few: Vec<(String, String)> =
            comparison.figures.iter().filter_map(|figure| few(study, figure, comparison, rule.design)).collect();
        for same in few.chunk_by(|one, next| one.1 == next.1) {
            let names: Vec<&str> = same.iter().map(|(name, _)| name.as_str()).collect();
            page.warning(&format!("{}: {}", names.join(", "), same[0].1));
        }
    }
}

/// The answer for each second side: what was found of the first figure, before it a loss that differs; or why nothing was.
fn answers(study: &StudyDocument, rule: Rule) -> Vec<String> {
    let missing = super::missing(study);
    if study.comparisons.is_empty() {
        return vec![format!("Nothing was compared{missing}")];
    }
    let answer = |comparison: &Comparison| {
        let name = study.settings.get(comparison.second as usize).map_or("B", letter);
        match (&comparison.incomparable, comparison.figures.first()) {
            (Some(why), _) => format!("A and {name} are not comparable: {why}"),
            (None, Some(first)) => {
                if let Some(single) = Single::of(study, comparison) {
                    return single.answer(name);
                }
                let is_lossier = |figure: &&ComparedFigure| {
                    figure.figure == Figure::Loss && matches!(figure.compared.word, Word::More | Word::Less)
                };
                let loss = comparison.figures.iter().skip(1).find(is_lossier);
                let said: Vec<_> =
                    loss.into_iter().chain([first]).map(|figure| sentence(figure, name, comparison, rule)).collect();
                format!("{}{missing}", said.join(". "))
            }
            (None, None) => format!("Nothing was compared of A and {name}{missing}"),
        }
    };
    study.comparisons.iter().map(answer).collect()
}

/// The letter of a side, without the label behind it.
fn letter(side: &Setting) -> &str {
    side.name.split(' ').next().unwrap_or_default()
}

/// Each side: its letter, its words, and the method they make.
fn sides(page: &mut Page, study: &StudyDocument) {
    for setting in study.settings.iter().filter(|setting| setting.at == Place::Side) {
        let words = if study.takes_ns.is_some() || study.rerun.is_some() {
            setting.command.join(" ")
        } else {
            number::count(study.trials_of(index(study, setting)).len() as u64, "record", "records")
        };
        page.paragraph(INDENT, &Piece::new(&setting.name, Tone::Strong), INDENT + 3, &words);
        if let Some(method) = &setting.method {
            page.paragraph(INDENT + 3, &Piece::default(), INDENT + 3, &words::method::with_protocol(method));
        }
    }
}

fn index(study: &StudyDocument, setting: &Setting) -> u32 {
    study.settings.iter().position(|other| other == setting).unwrap_or(0) as u32
}

fn one(page: &mut Page, study: &StudyDocument, comparison: &Comparison, second: &Setting) {
    let Some(rule) = study.rule() else { return };
    let name = letter(second);
    let difference = format!("{name} − A");
    let head = ["", "A", name, &difference, "95 % interval"];
    let mut rows = vec![head.map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    rows.extend(comparison.figures.iter().map(row));
    page.table(&rows);
    if comparison.figures.iter().any(|figure| figure.compared.difference.is_some()) {
        page.paragraph(INDENT, &Piece::default(), INDENT, &estimated(name));
    }
    page.gap();
    // The first figure is the answer; the test's words on the others stand here.
    for figure in comparison.figures.iter().skip(1).filter(|figure| figure.compared.word != Word::TooFewRuns) {
        let said = sentence(figure, name, comparison, rule);
        page.paragraph(INDENT, &Piece::default(), INDENT * 2, &said);
    }
    page.gap();
    if let Some(single) = Single::of(study, comparison) {
        page.paragraph(INDENT, &Piece::default(), INDENT, &single.evidence(name));
        page.gap();
    }
    effects(page, comparison);
    if page.style().verbose {
        shifts(page, comparison, name);
        page.gap();
        page.paragraph(INDENT, &Piece::new("test", Tone::Faint), INDENT + 6, &test(study, comparison, rule));
    }
    for limit in &comparison.thresholds {
        let (word, tone) = match limit.held {
            Held::Kept => ("kept: the whole interval lies within", Tone::Plain),
            Held::Exceeded => ("exceeded: the whole interval lies beyond", Tone::Alarm),
            Held::NotShown => ("not shown either way: the limit lies within the interval", Tone::Strong),
            Held::TooFewRuns => ("not shown: too few runs", Tone::Strong),
        };
        page.gap();
        page.paragraph(INDENT, &Piece::new("limit", tone), INDENT + 7, &format!("{} {word}", limit.threshold));
    }
}

fn row(figure: &ComparedFigure) -> Vec<Piece> {
    let compared = &figure.compared;
    let value = |value: Option<f64>| value.and_then(|value| told(figure.figure, value)).unwrap_or_else(absent);
    let [difference, interval] = differences(figure.figure, compared.difference);
    let cells = [value(compared.first), value(compared.second), difference, interval];
    let name = Piece::new(figure.figure.to_string(), Tone::Strong);
    [name].into_iter().chain(cells.into_iter().map(Piece::from)).collect()
}

/// A difference and its interval: of times in one unit.
pub(crate) fn differences(figure: Figure, found: Option<Interval>) -> [String; 2] {
    let Some(found) = found else { return [absent(), absent()] };
    match (figure.unit(), found.low.zip(found.high)) {
        (Unit::Time, Some((low, high))) => number::difference(found.value, low, high).into(),
        (_, ends) => {
            let range = |(low, high)| format!("{} … {}", signed(figure, low), signed(figure, high));
            [signed(figure, found.value), ends.map_or_else(absent, range)]
        }
    }
}

/// The note on a difference beside two medians, from which it may differ.
pub(crate) fn estimated(name: &str) -> String {
    format!("{name} − A is the estimate over pairs of runs, not the difference of the two medians.")
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

/// A change with its sign.
fn percent(share: f64) -> String {
    let sign = if share < 0.0 { '−' } else { '+' };
    format!("{sign}{} %", number::change(share))
}

/// The test's verdict on one figure, with the interval that belongs to it.
pub(crate) fn sentence(figure: &ComparedFigure, name: &str, comparison: &Comparison, rule: Rule) -> String {
    let compared = &figure.compared;
    let runs = format!("{} {}", runs(compared), of(rule.design));
    match compared.word {
        Word::TooFewRuns if compared.runs.0.min(compared.runs.1) == 0 => {
            format!("No {} in any pair of runs", figure.figure)
        }
        Word::TooFewRuns => format!("Too few runs to show a difference in {}: {runs}", figure.figure),
        Word::NotShown => format!(
            "No significant difference in {}{}: {}, {runs}",
            figure.figure,
            not_excluded(figure, comparison, rule),
            medians(figure, name)
        ),
        Word::More | Word::Less => {
            let direction = if compared.word == Word::More { "higher" } else { "lower" };
            let effect = compared.change.or(compared.difference);
            let by = effect.map_or_else(|| direction.to_owned(), |effect| by(figure, effect, direction));
            let [first, second] = values(figure);
            format!("{name}'s {} is {by}: {second} against {first}, {runs}", figure.figure)
        }
    }
}

/// `75.9 % lower [64.9, 82.4]`: sizes, the nearer end first.
fn by(figure: &ComparedFigure, effect: Interval, direction: &str) -> String {
    let share = figure.compared.change.is_some();
    let points = !share && figure.figure.unit() == Unit::Share;
    let tell = |value: f64| match value.abs() {
        size if share => number::change(size),
        size if points => number::percent(size).replace(" %", ""),
        size => told(figure.figure, size).unwrap_or_else(absent),
    };
    let unit = match () {
        () if share => " %",
        () if points => " percentage points",
        () => "",
    };
    let ends = effect.low.zip(effect.high).map_or(String::new(), |(low, high)| {
        let (near, far) = if low.abs() <= high.abs() { (low, high) } else { (high, low) };
        format!(" [{}, {}]", tell(near), tell(far))
    });
    format!("{}{unit} {direction}{ends}", tell(effect.value))
}

/// Medians over the runs of both sides.
fn values(figure: &ComparedFigure) -> [String; 2] {
    let compared = &figure.compared;
    [compared.first, compared.second]
        .map(|value| value.and_then(|value| told(figure.figure, value)).unwrap_or_else(absent))
}

/// `A 54.2 µs, B 54.5 µs`.
fn medians(figure: &ComparedFigure, name: &str) -> String {
    let [first, second] = values(figure);
    format!("A {first}, {name} {second}")
}

/// The interval that belongs to the verdict, which allows for the other figures; beside it the one of this figure alone, where that
/// says something else.
fn not_excluded(figure: &ComparedFigure, comparison: &Comparison, rule: Rule) -> String {
    let open = |other: &&ComparedFigure| {
        other.compared.p.is_some() && matches!(other.compared.word, Word::NotShown | Word::TooFewRuns)
    };
    let among = comparison.figures.iter().filter(open).count();
    let runs = Runs { first: figure.first.clone(), second: figure.second.clone() };
    let compared = &figure.compared;
    let tell = |value: f64| match compared.change {
        Some(_) => percent(value),
        None => signed(figure.figure, value),
    };
    let ends = |interval: Option<Interval>| interval.and_then(|interval| Some((interval.low?, interval.high?)));
    let range = |(low, high): (f64, f64)| format!("{} … {}", tell(low), tell(high));
    match (ends(runs.joint(rule, among)), ends(compared.change.or(compared.difference))) {
        (Some(joint), Some(plain)) if among > 1 && joint != plain => {
            format!(" [{}, {among} figures judged together; {} by itself]", range(joint), range(plain))
        }
        (_, Some(plain)) => format!(" [{}]", range(plain)),
        _ => String::new(),
    }
}

fn of(design: Design) -> &'static str {
    match design {
        Design::Paired => "paired runs",
        Design::Triples | Design::Apart => "runs",
    }
}

fn runs(compared: &Compared) -> String {
    format!("{}+{}", compared.runs.0, compared.runs.1)
}

/// A figure that could not be judged, and what it takes.
fn few(
    study: &StudyDocument,
    figure: &ComparedFigure,
    comparison: &Comparison,
    design: Design,
) -> Option<(String, String)> {
    let compared = &figure.compared;
    if compared.word != Word::TooFewRuns {
        return None;
    }
    if compared.runs.0.min(compared.runs.1) == 0 {
        // Longer runs break off as these did.
        let action = if study.broken_off().next().is_none() { " → longer runs (-t)" } else { "" };
        return Some((figure.figure.to_string(), format!("too few exchanges per run{action}")));
    }
    let judged = comparison.figures.iter().filter(|figure| figure.compared.p.is_some()).count();
    let needed = fewest(judged.max(1), if design == Design::Triples { Design::Paired } else { design });
    let more = match design {
        Design::Paired | Design::Triples => format!("at least {needed} pairs (--runs {needed})"),
        Design::Apart => format!("at least {needed} records a side: sonde compare FOLDER FOLDER"),
    };
    let lacks = format!("too few runs ({}) to show a difference → {more}", runs(compared));
    Some((figure.figure.to_string(), lacks))
}

/// The test, and what it was corrected for.
fn test(study: &StudyDocument, comparison: &Comparison, rule: Rule) -> String {
    let test = match rule.design {
        Design::Paired => "Wilcoxon's signed ranks over pairs of runs in random order",
        Design::Triples => "Mann–Whitney within blocks of three runs of each side in random order",
        Design::Apart => "Mann–Whitney over runs that were made apart",
    };
    let judged = comparison.figures.iter().filter(|figure| figure.compared.p.is_some()).count();
    let together = if judged > 1 { format!(", {judged} figures judged together (Holm)") } else { String::new() };
    let alarms = match looks(study) {
        [] => "5 %".to_owned(),
        looks => {
            let list = |of: &dyn Fn(&Look) -> String| looks.iter().map(of).collect::<Vec<_>>().join(", ");
            let (runs, parts) = (list(&|look| look.runs.to_string()), list(&|look| number::percent(look.alarms)));
            format!("5 % divided among looks after {runs} runs ({parts})")
        }
    };
    format!("{test}{together}, {alarms}; the intervals of the table are of each figure by itself")
}

fn looks(study: &StudyDocument) -> &[Look] {
    match &study.question {
        Question::Compare { looks, .. } => looks,
        _ => &[],
    }
}

/// The words for a comparison that ended early, with its rule.
fn early(study: &StudyDocument) -> Option<String> {
    let last = looks(study).last()?.runs;
    let limits = study.comparisons.iter().any(|comparison| !comparison.thresholds.is_empty());
    let figure = study.comparisons.first()?.figures.first()?.figure;
    let settled = if limits { "every limit is settled".to_owned() } else { format!("{figure} differs") };
    let runs = study.blocks;
    (runs < last).then(|| {
        format!("Ended after {runs} of {last} runs of each side: {settled}. The intervals allow for the early end.")
    })
}

/// For the line of progress: the effect as far as it is known, and its interval where there is one.
pub fn so_far(figure: &ComparedFigure, name: &str) -> Option<String> {
    let compared = &figure.compared;
    let effect = compared.change.or(compared.difference)?;
    let tell = |value: f64| match compared.change {
        Some(_) => percent(value),
        None => signed(figure.figure, value),
    };
    let ends = effect.low.zip(effect.high).map(|(low, high)| format!(" [{} … {}]", tell(low), tell(high)));
    Some(format!("{name}'s {} {}{}", figure.figure, tell(effect.value), ends.unwrap_or_default()))
}

/// The settings in which the methods differ, and the effect of changing each.
fn effects(page: &mut Page, comparison: &Comparison) {
    if comparison.axes.is_empty() {
        return;
    }
    let Some(by) = comparison.moved_by else {
        page.line(INDENT, &[Piece::new("settings that differ", Tone::Faint)]);
        for axis in &comparison.axes {
            page.paragraph(INDENT, &Piece::default(), INDENT * 2, &change_of(axis));
        }
        if comparison.axes.len() > 1 {
            let why = "Their effects were not measured one by one, or there is no difference to divide.";
            page.paragraph(INDENT, &Piece::default(), INDENT, why);
        }
        return;
    };
    let title = format!("effect on {by} of changing one setting");
    page.paragraph(INDENT, &Piece::default(), INDENT, &title);
    let room = page.style().width.saturating_sub(EFFECT);
    let long = comparison.axes.iter().any(|axis| change_of(axis).width() > room);
    let mut rows = vec![["", "effect", "95 % interval", ""].map(|cell| Piece::new(cell, Tone::Faint)).to_vec()];
    for axis in &comparison.axes {
        let name = if long { setting(&axis.axis) } else { change_of(axis) };
        let mut row = vec![Piece::from(name)];
        row.extend(axis.worth.as_ref().map_or_else(|| vec![Piece::from(absent())], |worth| effect(worth, by)));
        rows.push(row);
    }
    page.table(&rows);
    for axis in comparison.axes.iter().filter(|_| long) {
        page.paragraph(INDENT, &Piece::default(), INDENT * 2, &change_of(axis));
    }
    if comparison.axes.iter().any(|axis| axis.worth.is_some_and(|worth| worth.interacts)) {
        let told = "The effects interact; each is the average over all orders of change.";
        page.paragraph(INDENT, &Piece::default(), INDENT, told);
    }
    if page.style().verbose {
        for axis in &comparison.axes {
            if let Some(worth) = &axis.worth {
                page.paragraph(
                    INDENT,
                    &Piece::from(format!("{}:", setting(&axis.axis))),
                    INDENT * 2,
                    &closes(worth, by),
                );
            }
        }
    }
}

/// Cells that the columns of an effect take behind its name.
const EFFECT: usize = 44;

/// The name of a setting, or of several joined, of which records call one by an older name.
pub fn setting(axis: &str) -> String {
    axis.split(' ').map(|word| if word == "carrier" { "protocol" } else { word }).collect::<Vec<_>>().join(" ")
}

/// `interval: 1 s → no pause`.
fn change_of(axis: &AxisDifference) -> String {
    format!("{}: {} → {}", setting(&axis.axis), axis.first, axis.second)
}

/// The columns of an effect.
fn effect(worth: &Worth, by: Figure) -> Vec<Piece> {
    let [effect, range] = differences(by, Some(worth.closes));
    let ends = worth.closes.low.zip(worth.closes.high);
    let is_shown = ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let verdict = if is_shown { "" } else { "not established" };
    vec![effect.into(), range.into(), Piece::from(verdict)]
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

/// The shift of each quantile.
fn shifts(page: &mut Page, comparison: &Comparison, name: &str) {
    if comparison.shifts.is_empty() {
        return;
    }
    page.gap();
    page.line(0, &[Piece::new(format!("{name} − A, by quantile"), Tone::Strong)]);
    let rows: Vec<Vec<Piece>> = comparison
        .shifts
        .iter()
        .map(|shift| {
            let (difference, interval) = number::difference(shift.difference_ns, shift.low_ns, shift.high_ns);
            [quantile_name(shift.q), difference, interval].map(Piece::from).to_vec()
        })
        .collect();
    page.table(&rows);
}

#[cfg(test)]
mod tests;
