//! Two runs, compared: a row for each cell, with how much it moved and how surely.

use std::collections::BTreeMap;

use logbook::host::Address;
use logbook::run_comparison::{ComparedCell, ComparedRun, RunComparisonDocument, SharedBy, Spot};
use logbook::shelf::short;
use logbook::study::{ComparedFigure, ThresholdHeld};
use measure::comparison::attribution::{Common, Shared};
use measure::comparison::{Interval, Word};
use measure::study::figure::Figure;
use measure::study::threshold::Held;

use super::{over, title};
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::moment::moment;
use crate::number::{self, absent};
use crate::study::comparison::{signed, told};

/// Column at which text behind a label starts.
const LABEL: usize = 12;

/// The screen for `found`: lines of at most `style.width` cells.
pub fn render(found: &RunComparisonDocument, style: &Style) -> String {
    let mut page = Page::new(*style);
    page.answer(&answer(found));
    side(&mut page, "A", &found.first);
    side(&mut page, "B", &found.second);
    for (of, rows) in groups(found) {
        let (method, address, figure) = &of;
        title(&mut page, format!("{method} · {} · {figure}", over(*address)));
        let head = ["", "A", "B", "change", "95 % interval", "verdict"];
        let head = head.map(|cell| Piece::new(cell, Tone::Faint)).to_vec();
        for share in shared(found, &of) {
            page.paragraph(INDENT, &Piece::from(String::new()), 0, &share);
        }
        let rows: Vec<Vec<Piece>> = std::iter::once(head).chain(rows.into_iter().map(row)).collect();
        page.table(&rows);
    }
    page.gap();
    labelled(&mut page, "how", &how(found));
    for method in &found.methods {
        let text = format!("{}: `{}` in A, `{}` in B", method.method, method.first, method.second);
        page.paragraph(INDENT, &Piece::new("differ", Tone::Alarm), LABEL, &text);
    }
    alone(&mut page, "only A", &found.first_alone);
    alone(&mut page, "only B", &found.second_alone);
    limits(&mut page, &found.cells);
    page.finish()
}

/// The number of figures whose difference is significant, by direction.
fn answer(found: &RunComparisonDocument) -> String {
    let figures: Vec<&ComparedFigure> = found.cells.iter().flat_map(|cell| &cell.figures).collect();
    let count = |is: &dyn Fn(&ComparedFigure) -> bool| figures.iter().filter(|figure| is(figure)).count();
    let few = count(&|figure| figure.compared.word == Word::TooFewRuns);
    let all = figures.len();
    if all == 0 {
        return "Nothing was compared: no cell is in both runs".to_owned();
    }
    if few == all {
        return format!(
            "Too few repeats to show a difference in any of {all} values. Both runs need at least {}: sonde run PLAN --repeats {}",
            found.fewest_repeats, found.fewest_repeats
        );
    }
    let parts = [
        (count(&|figure| figure.is_better() == Some(false)), "worse"),
        (count(&|figure| figure.is_better() == Some(true)), "better"),
        (count(&|figure| figure.compared.word == Word::NotShown), "without significant difference"),
        (few, "with too few repeats"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, so)| format!("{count} {so}")).collect();
    format!("B against A, {}: {}", number::count(all as u64, "value", "values"), parts.join(", "))
}

fn side(page: &mut Page, letter: &str, run: &ComparedRun) {
    let parts = [Some(format!("run {}", short(run.id))), run.plan.clone(), Some(moment(run.started))];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    page.paragraph(0, &Piece::new(letter, Tone::Strong), 3, &text);
}

/// Rows by method, kind of address and figure, as they stand.
type Groups<'a> = Vec<((&'a str, Address, String), Vec<(&'a Spot, &'a ComparedFigure)>)>;

fn groups(found: &RunComparisonDocument) -> Groups<'_> {
    let mut groups: Groups<'_> = Vec::new();
    let mut places: BTreeMap<(String, Address, String), usize> = BTreeMap::new();
    for cell in &found.cells {
        for figure in &cell.figures {
            let name = figure.figure.to_string();
            let key = (cell.spot.method.clone(), cell.spot.over, name.clone());
            let place = *places.entry(key).or_insert_with(|| {
                groups.push(((&cell.spot.method, cell.spot.over, name), Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push((&cell.spot, figure));
        }
    }
    for (_, rows) in &mut groups {
        rows.sort_by_key(|(_, figure)| rank(figure));
    }
    groups
}

/// The place of a row among the thousands of a mesh: worse ones come first, then better ones.
fn rank(figure: &ComparedFigure) -> u8 {
    match figure.is_better() {
        Some(false) => 0,
        Some(true) => 1,
        None => 2,
    }
}

/// The notes of `found` that these rows have in common, a line each.
fn shared(found: &RunComparisonDocument, (method, over, figure): &(&str, Address, String)) -> Vec<String> {
    let is_its =
        |by: &&SharedBy| (by.method.as_str(), by.over, by.figure.to_string()) == (*method, *over, figure.clone());
    let each = found.shared.iter().filter(is_its).enumerate();
    each.map(|(place, SharedBy { shared, .. })| {
        let Shared { common, worse, of_worse, rows, of_rows } = shared;
        let other = if place == 0 { "" } else { "other " };
        let share = if worse == of_worse {
            format!("All {other}{worse} worse")
        } else {
            format!("{worse} of the {other}{of_worse} worse")
        };
        let have = match common {
            Common::Host { host } => format!("share {host}, which has"),
            Common::Group { label, value } => format!("share {label} {value}, which has"),
            Common::Inside { label, value } => format!("stay within {label} {value}, which has"),
            Common::Between { label, values: [one, other] } => {
                format!("lead between {label} {one} and {label} {other}, which have")
            }
            Common::Border { label, value } => format!("lead into or out of {label} {value}, which has"),
        };
        format!("{share} {have} {rows} of the {}{of_rows} rows", if place == 0 { "" } else { "remaining " })
    })
    .collect()
}

fn row((spot, figure): (&Spot, &ComparedFigure)) -> Vec<Piece> {
    let compared = &figure.compared;
    let value = |value: Option<f64>| value.and_then(|value| told(figure.figure, value)).unwrap_or_else(absent);
    let share = |share: f64| format!("{}{} %", if share < 0.0 { '−' } else { '+' }, number::change(share));
    let plain = |value: f64| signed(figure.figure, value);
    let (effect, tell): (Option<Interval>, &dyn Fn(f64) -> String) = match compared.change {
        Some(change) => (Some(change), &share),
        None => (compared.difference, &plain),
    };
    let ends = effect.and_then(|effect| Some((effect.low?, effect.high?)));
    let (word, tone) = word(figure);
    vec![
        Piece::new(format!("{} → {}", spot.from, spot.to), Tone::Strong),
        Piece::from(value(compared.first)),
        Piece::from(value(compared.second)),
        Piece::from(effect.map_or_else(absent, |effect| tell(effect.value))),
        Piece::from(ends.map_or_else(absent, |(low, high)| format!("{} … {}", tell(low), tell(high)))),
        Piece::new(word, tone),
    ]
}

/// The verdict on a cell; worse is what must not be passed over.
fn word(figure: &ComparedFigure) -> (&'static str, Tone) {
    let more = match figure.compared.word {
        Word::TooFewRuns => return ("too few runs", Tone::Faint),
        Word::NotShown => return ("not significant", Tone::Plain),
        Word::More => true,
        Word::Less => false,
    };
    let tone = if more == figure.figure.more_is_better() { Tone::Strong } else { Tone::Alarm };
    let word = match (figure.figure, more) {
        (Figure::Loss | Figure::Rate | Figure::Throughput, true) => "more",
        (Figure::Loss | Figure::Rate | Figure::Throughput, false) => "less",
        (_, true) => "slower",
        (_, false) => "faster",
    };
    (word, tone)
}

/// The method of the verdicts, and what more they would take.
fn how(found: &RunComparisonDocument) -> String {
    let few = found.cells.iter().flat_map(|cell| &cell.figures).any(|figure| figure.compared.word == Word::TooFewRuns);
    let by = match found.judged_together {
        0 | 1 => "Mann–Whitney over the repeats".to_owned(),
        many => format!("{many} values judged together by their repeats (Westfall–Young), each interval by itself"),
    };
    let more =
        if few { format!("; a difference takes {} repeats of each cell", found.fewest_repeats) } else { String::new() };
    format!("{by}; anything that changed between the runs is part of the difference{more}")
}

fn labelled(page: &mut Page, label: &str, text: &str) {
    page.paragraph(INDENT, &Piece::new(label, Tone::Faint), LABEL, text);
}

fn alone(page: &mut Page, label: &str, spots: &[Spot]) {
    if spots.is_empty() {
        return;
    }
    let names = spots.iter().map(|spot| format!("{} → {} {} {}", spot.from, spot.to, over(spot.over), spot.method));
    labelled(page, label, &names.collect::<Vec<_>>().join(", "));
}

fn limits(page: &mut Page, cells: &[ComparedCell]) {
    let beyond = |held: Held| held != Held::Kept;
    for cell in cells {
        for ThresholdHeld { threshold, held } in cell.thresholds.iter().filter(|limit| beyond(limit.held)) {
            let (word, tone) = match held {
                Held::Exceeded => ("exceeded: the whole interval lies beyond", Tone::Alarm),
                Held::NotShown => ("not shown either way", Tone::Strong),
                Held::Kept | Held::TooFewRuns => ("not shown: too few runs", Tone::Strong),
            };
            let text = format!("{threshold} {} → {} {}: {word}", cell.spot.from, cell.spot.to, cell.spot.method);
            page.paragraph(INDENT, &Piece::new("limit", tone), LABEL, &text);
        }
    }
    let all: usize = cells.iter().map(|cell| cell.thresholds.len()).sum();
    let kept = cells.iter().flat_map(|cell| &cell.thresholds).filter(|limit| limit.held == Held::Kept).count();
    if all > 0 {
        let text = format!("kept in {kept} of {}", number::count(all as u64, "case", "cases"));
        labelled(page, "limits", &text);
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::fixture;

    #[test]
    fn two_runs_are_a_screen() {
        let text = render(&fixture::run_comparison(), &Style::default());
        let wide = |line: &&str| unicode_width::UnicodeWidthStr::width(*line) > 80;
        assert_eq!(text.lines().find(wide), None, "{text}");
        insta::assert_snapshot!(text);
    }

    /// Every host of six with every other, three in each of two zones; each cell that the predicate names is slower.
    fn mesh(is_worse: impl Fn(&str, &str) -> bool) -> String {
        let mut found = fixture::run_comparison();
        let (worse, same) = (found.cells[0].clone(), found.cells[1].clone());
        let hosts = ["h1", "h2", "h3", "h4", "h5", "h6"];
        let pairs =
            hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to))).filter(|(from, to)| from != to);
        let cell = |(from, to): (&str, &str)| {
            let mut cell = if is_worse(from, to) { worse.clone() } else { same.clone() };
            (cell.spot.from, cell.spot.to) = (from.to_owned(), to.to_owned());
            cell.thresholds.clear();
            cell
        };
        found.cells = pairs.map(cell).collect();
        let zone = |zone: &str| BTreeMap::from([("zone".to_owned(), zone.to_owned())]);
        let zones = [zone("a"), zone("b")];
        let labels = hosts.iter().zip([0, 0, 0, 1, 1, 1]).map(|(host, place)| (*host, &zones[place])).collect();
        found.shared = RunComparisonDocument::shared_by(&found.cells, &labels);
        render(&found, &Style::default())
    }

    #[test]
    fn what_is_worse_stands_first_and_the_host_it_has_in_common_is_named() {
        let text = mesh(|from, to| from == "h3" || to == "h3");
        assert!(text.contains("  All 10 worse share h3, which has 10 of the 30 rows\n"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(" → ")).take(10).collect();
        assert!(rows.iter().all(|row| row.contains("h3") && row.ends_with("slower")), "{text}");
    }

    #[test]
    fn zones_are_named_where_no_host_is_it() {
        let text = mesh(|from, to| (from < "h4") != (to < "h4"));
        assert!(
            text.contains("  All 18 worse lead between zone a and zone b, which have 18 of the 30 rows\n"),
            "{text}"
        );
    }

    #[test_case(|from, to| (from, to) == ("h1", "h2") || (from, to) == ("h2", "h1"); "a link, both ways")]
    #[test_case(|from, to| from < to; "half of all")]
    #[test_case(|from, to| from == "h3" && to < "h5"; "what may be chance")]
    #[test_case(|_, _| true; "everything")]
    #[test_case(|_, _| false; "nothing")]
    fn no_host_is_named_where_none_is_it(is_worse: fn(&str, &str) -> bool) {
        let text = mesh(is_worse);
        assert!(!text.contains(" worse share ") && !text.contains(" worse lead "), "{text}");
    }
}
