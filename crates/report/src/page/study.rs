//! A study as a part of a page: a comparison with its sides, words and intervals, or the curve of a sweep; every trial.

use logbook::record::Ended;
use logbook::study::{Comparison, Question, Setting, StatedClaim, StudyDocument, Trial};
use measure::comparison::Design;

use super::table::{Cell, Row, Table};
use super::{Builder, Told, article, figures};
use crate::layout::Style;
use crate::markup::escaped;
use crate::picture;
use crate::study::{self, comparison as words};

/// Cells of a line of what is told as a terminal would.
const TERMINAL: usize = 100;

/// The answer as a terminal has it, and how it was found.
pub(super) fn heading(study: &StudyDocument) -> (String, String) {
    let trials = crate::number::count(study.trials.len() as u64, "trial", "trials");
    let blocks = crate::number::count(u64::from(study.blocks), "block", "blocks");
    let answer = study::said(study).answer;
    match &study.question {
        Question::Compare { design, .. } => {
            let names: Vec<&str> = picture::sides(study).map(|(_, setting)| setting.name.as_str()).collect();
            let how = match design {
                Design::Paired => format!("{trials} in {blocks}, in random order"),
                Design::Triples => format!("{trials} in blocks of three runs of each side, in random order"),
                Design::Apart => format!("{trials}, each side by itself"),
            };
            (answer.unwrap_or_else(|| format!("Comparison of {}", names.join(" and "))), how)
        }
        Question::Sweep { axis, figures, .. } => {
            let figure = figures.first().map_or_else(String::new, ToString::to_string);
            let answer = answer.unwrap_or_else(|| format!("{figure} by {}", words::setting(axis)));
            (answer, format!("{trials} in {blocks}, in random order"))
        }
        Question::Why { method, .. } => {
            let how = format!("{} · {trials} in {blocks}, in random order", method.join(" "));
            (answer.unwrap_or_else(|| "Causes".to_owned()), how)
        }
        Question::Claims { name, title, .. } => {
            let about = title.as_ref().map_or_else(String::new, |title| format!("{title} · "));
            let how = format!("{about}{trials} in blocks of three runs of each measurement, in random order");
            (format!("{name} · {}", study::claims::answer(study)), how)
        }
        _ => ("Study".to_owned(), trials),
    }
}

/// The part of the page that tells of `study`.
pub(super) fn tell(page: &mut Builder, told: &Told<'_>, study: &StudyDocument) {
    let id = told.id();
    article::opening(page, told);
    if study.ended != Some(Ended::Complete) {
        page.html.element("p", "class=\"early\"", "Ended early. What was found until then stands here.");
    }
    claims(page, study);
    super::badge(page, &study::said(study).warnings);
    sides(page, study);
    for (place, comparison) in study.comparisons.iter().enumerate() {
        compared(page, &format!("{id}-{place}"), study, comparison);
    }
    causes(page, study);
    let several = "A point is the median of its trials; the bar goes from the lowest to the highest.";
    let worth = "Bars are the causes that are named. Each interval is of 95 % by itself; what is named is judged with all together.";
    let charts = [
        ("c", picture::sweep(study), several),
        ("w", picture::causes(study), worth),
        ("r", picture::runs(study), "A line for each run."),
    ];
    for (which, chart, caption) in charts {
        if let Some(chart) = chart {
            page.chart(&format!("{id}-{which}"), &chart, caption);
        }
    }
    if !told.brief {
        let table = trials(study);
        page.html.details("Every trial, in the order they were made", |html| table.tell(html));
    }
    article::command(page, &id, &study.head.command);
    let printed = study::render(study, &Style { width: TERMINAL, verbose: true, ..Style::default() });
    if !told.brief && !printed.trim().is_empty() {
        let printed = escaped(&printed);
        page.html.details("All of it, as a terminal shows it", |html| {
            html.raw(&format!("<pre tabindex=\"0\">{printed}</pre>\n"));
        });
    }
    page.html.raw("</article>\n");
}

/// Every cause with its effect and verdict.
fn causes(page: &mut Builder, study: &StudyDocument) {
    let Some(found) = &study.explanation else { return };
    let row = |cause: &measure::why::Examined| {
        let [effect, interval, share, verdict] = study::why::cells(cause);
        let effect = cause.takes.map_or_else(Cell::default, |takes| Cell::number(Some(effect), takes.value));
        let cells = [Cell::from(study::why::name(cause.cause)), effect];
        cells.into_iter().chain([interval, share, verdict].map(Cell::from)).collect::<Row>()
    };
    let rows = found.causes.iter().map(row).collect();
    let head = study::why::HEAD.map(str::to_owned).to_vec();
    let caption = "Effect: time that the switch saves (below 0: costs)".to_owned();
    Table { caption, head, rows, class: "numbers" }.tell(&mut page.html);
}

/// The verdict on each claim, its numbers, and what was said elsewhere.
fn claims(page: &mut Builder, study: &StudyDocument) {
    let row = |claim: &StatedClaim| {
        let said = claim.said.clone().unwrap_or_default();
        [claim.claim.to_string(), study::claims::word(claim).to_owned(), study::claims::found(claim), said]
            .into_iter()
            .collect::<Row>()
    };
    let rows = study.claims.iter().map(row).collect();
    let head = ["claim", "verdict", "found", "said"].map(str::to_owned).to_vec();
    Table { caption: "Claims".to_owned(), head, rows, class: "facts" }.tell(&mut page.html);
}

/// The sides: the command that makes each, and its method.
fn sides(page: &mut Builder, study: &StudyDocument) {
    let row = |(_, setting): (u32, &Setting)| {
        let method = setting.method.as_ref().map_or_else(String::new, crate::words::method::with_protocol);
        [setting.name.clone(), setting.command.join(" "), method].into_iter().collect::<Row>()
    };
    let rows = picture::sides(study).map(row).collect();
    let head = ["", "made by", "method"].map(str::to_owned).to_vec();
    Table { caption: "Sides".to_owned(), head, rows, class: "facts" }.tell(&mut page.html);
}

/// One side against the first: the words that may be said, the figures, how far quantiles moved, the axes.
fn compared(page: &mut Builder, id: &str, study: &StudyDocument, comparison: &Comparison) {
    let Some(second) = study.settings.get(comparison.second as usize) else { return };
    let Some(rule) = study.rule() else { return };
    let name = second.name.split(' ').next().unwrap_or_default();
    if let Some(why) = &comparison.incomparable {
        page.html.element("p", "class=\"early\"", &format!("Not comparable: {why}"));
        return;
    }
    // The first figure of a single comparison is the heading.
    let skipped = usize::from(study.comparisons.len() == 1);
    for figure in comparison.figures.iter().skip(skipped) {
        let said = words::sentence(figure, name, comparison, rule);
        page.html.element("p", "class=\"found\"", &said);
    }
    let row = |found: &logbook::study::ComparedFigure| {
        let (figure, compared) = (found.figure, &found.compared);
        let value = |value: Option<f64>| {
            value.map_or_else(Cell::default, |value| Cell::number(words::told(figure, value), value))
        };
        let [text, interval] = words::differences(figure, compared.difference);
        let difference = compared.difference.map_or_else(Cell::default, |found| Cell::number(Some(text), found.value));
        let interval = compared.difference.map_or_else(Cell::default, |_| Cell::from(interval));
        [Cell::from(figure.to_string()), value(compared.first), value(compared.second), difference, interval]
            .into_iter()
            .collect::<Row>()
    };
    let rows = comparison.figures.iter().map(row).collect();
    let first = study.settings.first().map_or_else(String::new, |setting| setting.name.clone());
    let head = ["", &first, name, &format!("{name} − A"), "95 % interval"].map(str::to_owned).to_vec();
    let caption = format!("Medians over the runs. {}", words::estimated(name));
    Table { caption, head, rows, class: "numbers" }.tell(&mut page.html);
    if let Some(chart) = picture::shifts(comparison, name) {
        page.chart(&format!("{id}-q"), &chart, "Bars are intervals of 95 %.");
    }
    axes(page, comparison, name);
}

/// The settings in which the two methods differ, and the effect of each.
fn axes(page: &mut Builder, comparison: &Comparison, name: &str) {
    let row = |axis: &logbook::study::AxisDifference| {
        let worth = axis.worth.as_ref().zip(comparison.moved_by);
        let effect =
            comparison.moved_by.map(|_| worth.map_or_else(String::new, |(worth, by)| words::closes(worth, by)));
        let cells = [words::setting(&axis.axis), axis.first.clone(), axis.second.clone()];
        cells.into_iter().chain(effect).collect::<Row>()
    };
    let rows = comparison.axes.iter().map(row).collect();
    if comparison.axes.is_empty() {
        return;
    }
    let by = comparison.moved_by.map_or_else(String::new, |by| format!(", and the effect of each on {by}"));
    let mut head = ["setting", "A", name, "effect"].map(str::to_owned).to_vec();
    if comparison.moved_by.is_none() {
        head.pop();
    }
    Table { caption: format!("Settings that differ{by}"), head, rows, class: "facts" }.tell(&mut page.html);
}

fn trials(study: &StudyDocument) -> Table {
    let row = |(place, trial): (usize, &Trial)| {
        let setting = study.settings.get(trial.setting as usize).map_or("", |setting| setting.name.as_str());
        let count = |number: u64| Cell::number(Some(number.to_string()), number as f64);
        let first = [count(place as u64 + 1), Cell::from(setting), count(u64::from(trial.block) + 1)];
        let figures =
            trial.record.as_deref().map_or_else(|| vec![Cell::default(); figures::COLUMNS.len()], figures::row);
        let failure = trial.failure.as_ref().map_or_else(String::new, |failure| failure.what.clone());
        first.into_iter().chain(figures).chain([Cell::from(failure)]).collect::<Row>()
    };
    let rows = study.trials.iter().enumerate().map(row).collect();
    let head =
        ["trial", "of", "block"].into_iter().chain(figures::COLUMNS).chain(["failed"]).map(str::to_owned).collect();
    Table { caption: "Trials".to_owned(), head, rows, class: "sorted" }
}
