//! A sweep: the answer, its curves as a plot of characters, a row for each point, and warnings about single points.

mod grid;
mod notes;

use logbook::study::StudyDocument;
use measure::study::figure::{self, Figure};
use measure::study::range::Values;
use measure::study::spread::{Ends, Spread};

use self::grid::Grid;
use super::comparison::setting;
use super::{incomplete, made};
use crate::curve::{self, Curve, Series, Unit, Units};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number::{self, absent};

/// The request of a sweep.
pub struct Asked<'a> {
    /// The axis, as it was named.
    pub axis: &'a str,
    /// The type of its values.
    pub values: Values,
    /// The figures of each point; the first is drawn.
    pub figures: &'a [Figure],
    /// The words of each curve.
    pub methods: &'a [Vec<String>],
}

/// The screen for a sweep.
pub fn render(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>) {
    let grid = Grid::of(study);
    let notes = notes::of(study, &grid);
    page.answer(&answer(study, asked, &grid, &notes));
    methods(page, asked, &grid);
    page.gap();
    plot(page, study, asked, &grid);
    table(page, study, asked, &grid, &notes);
    page.gap();
    if page.style().verbose {
        page.paragraph(INDENT, &Piece::new("values", Tone::Faint), INDENT + 8, &how(study, asked));
        page.gap();
    } else if study.blocks < 6 {
        page.paragraph(INDENT, &Piece::default(), INDENT, "min … max of the blocks; a 95 % interval takes 6 blocks");
        page.gap();
    }
    incomplete(page, study, " → sonde sweep --resume FILE completes a study kept by -o");
    notes::tell(page, &notes, &grid);
}

/// The first figure of each curve, at its first and its last point, and at one between them that lies beyond both.
fn answer(study: &StudyDocument, asked: &Asked<'_>, grid: &Grid, notes: &[notes::Note]) -> String {
    let trials = made(study).map_or(String::new(), |made| format!("{made} of {} trials. ", study.planned()));
    let (Some(figure), Some(first), Some(last)) = (asked.figures.first(), grid.points.first(), grid.points.last())
    else {
        return format!("{trials}Nothing was measured");
    };
    let at = grid.points.len() - 1;
    let marked = |place: usize| (0..grid.series.len()).any(|series| notes.iter().any(|note| note.is_of(series, place)));
    let point = |point: &grid::Point, place: usize| {
        format!("{}{}", point.told(asked.values), if marked(place) { "*" } else { "" })
    };
    let of = |series: &grid::Series| {
        let value = |place: usize| {
            series.spread(study, place, *figure).map_or_else(absent, |spread| told(*figure, spread.median))
        };
        let name = if grid.series.len() > 1 { format!("{} ", series.name) } else { String::new() };
        let between = series.farthest(study, *figure).map_or_else(String::new, |(place, spread)| {
            format!(", but {} at {}", told(*figure, spread.median), point(&grid.points[place], place))
        });
        if at == 0 { format!("{name}{}", value(0)) } else { format!("{name}{} → {}{between}", value(0), value(at)) }
    };
    let values: Vec<String> = grid.series.iter().map(of).collect();
    let points = if at == 0 { point(first, 0) } else { format!("{} → {}", point(first, 0), point(last, at)) };
    format!("{trials}{figure}, {} {points}: {}", setting(asked.axis), values.join("; "))
}

/// The words of each curve.
fn methods(page: &mut Page, asked: &Asked<'_>, grid: &Grid) {
    let widest = grid.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
    for (series, words) in grid.series.iter().zip(asked.methods) {
        page.paragraph(INDENT, &Piece::new(&series.name, Tone::Strong), INDENT + widest + 3, &words.join(" "));
    }
}

/// The origin of the numbers.
fn how(study: &StudyDocument, asked: &Asked<'_>) -> String {
    let first = asked.figures.first().map(ToString::to_string).unwrap_or_default();
    let spread = if study.blocks >= 6 {
        "the 95 % interval of that median"
    } else {
        "min … max of the blocks; a 95 % interval takes 6 blocks"
    };
    let blocks = number::count(study.blocks.into(), "block", "blocks");
    format!("median of the trials' {first} over {blocks} in random order, and {spread}")
}

/// The unit of an axis.
pub fn unit_of(values: Values) -> Option<Unit> {
    match values {
        Values::Times => Some(Unit::Time),
        Values::Sizes => Some(Unit::Size),
        Values::Rates => Some(Unit::Rate),
        Values::BitRates => Some(Unit::Bits),
        Values::Counts => Some(Unit::Count),
        Values::Words => None,
    }
}

/// The unit by which a figure is told, and by how much its numbers are multiplied to be in it.
pub fn unit_of_figure(figure: Figure) -> (Unit, f64) {
    match figure.unit() {
        figure::Unit::Time => (Unit::Time, 1.0),
        figure::Unit::Share => (Unit::Share, 1.0),
        figure::Unit::Rate => (Unit::Rate, 1.0),
        figure::Unit::Bytes => (Unit::Bits, 8.0),
    }
}

fn plot(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>, grid: &Grid) {
    let (Some(x), Some(first)) = (unit_of(asked.values), asked.figures.first()) else { return };
    // One curve has room for a second figure of the same unit beside it.
    let beside = asked.figures[1..].iter().filter(|other| grid.series.len() == 1 && other.unit() == first.unit());
    let drawn: Vec<Figure> = [first].into_iter().chain(beside).copied().collect();
    let (y, scale) = unit_of_figure(*first);
    let line = |(place, (settings, figure)): (usize, (&grid::Series, Figure))| Series {
        name: if drawn.len() > 1 { figure.to_string() } else { settings.name.clone() },
        sign: curve::SIGNS[place % curve::SIGNS.len()],
        points: grid.curve(study, settings, figure).into_iter().map(|(x, y)| (x, y * scale)).collect(),
    };
    let lines = grid.series.iter().flat_map(|series| drawn.iter().map(move |figure| (series, *figure)));
    let series = lines.enumerate().map(line).collect();
    let curve = Curve { units: Units { x, y }, series, mark: None, decades: true };
    let drawn_lines = curve::lines(&curve, page.style());
    if drawn_lines.is_empty() {
        return;
    }
    let what = if drawn.len() > 1 { String::new() } else { format!("{first} ") };
    let legend = Piece::from(curve::legend(&curve, page.style()));
    page.flow(INDENT, INDENT, "   ", &[legend, Piece::new(format!("{what}by {}", setting(asked.axis)), Tone::Faint)]);
    for line in drawn_lines {
        page.line(0, &[Piece::from(line)]);
    }
    page.gap();
}

/// A row for each point: of each curve the first figure with what lies around it, then the others.
fn table(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>, grid: &Grid, notes: &[notes::Note]) {
    let Some((first, others)) = asked.figures.split_first() else { return };
    let several = grid.series.len() > 1;
    let title = |series: &grid::Series, figure: Figure| {
        if several { format!("{} {figure}", series.name) } else { figure.to_string() }
    };
    let around = if study.blocks >= 6 { "95 % interval" } else { "min … max" };
    let mut head = vec![setting(asked.axis)];
    head.extend(grid.series.iter().flat_map(|series| [title(series, *first), around.to_owned()]));
    head.extend(others.iter().flat_map(|figure| grid.series.iter().map(move |series| title(series, *figure))));
    let mut rows = vec![head.into_iter().map(|cell| Piece::new(cell, Tone::Faint)).collect::<Vec<_>>()];
    for (place, point) in grid.points.iter().enumerate() {
        let mut row = vec![Piece::new(point.told(asked.values), Tone::Strong)];
        for (number, series) in grid.series.iter().enumerate() {
            let marked = notes.iter().any(|note| note.is_of(number, place));
            let spread = series.spread(study, place, *first);
            row.push(marked_value(spread, *first, marked));
            row.push(Piece::new(spread.map_or_else(String::new, |spread| around_it(&spread, *first)), Tone::Faint));
        }
        for figure in others {
            let told =
                |series: &grid::Series| series.spread(study, place, *figure).map(|spread| told(*figure, spread.median));
            row.extend(grid.series.iter().map(|series| Piece::from(told(series).unwrap_or_else(absent))));
        }
        rows.push(row);
    }
    page.table(&rows);
}

/// A value with its mark, or the room for one.
fn marked_value(spread: Option<Spread>, figure: Figure, marked: bool) -> Piece {
    let value = spread.map_or_else(absent, |spread| told(figure, spread.median));
    Piece::new(format!("{value}{}", if marked { '*' } else { ' ' }), if marked { Tone::Alarm } else { Tone::Plain })
}

fn around_it(spread: &Spread, figure: Figure) -> String {
    let one = spread.runs == 1 && spread.ends == Ends::Range;
    let ends = || format!("{} … {}", told(figure, spread.low), told(figure, spread.high));
    if one { "one run".to_owned() } else { ends() }
}

/// A figure's number for people.
pub fn told(figure: Figure, value: f64) -> String {
    if figure.unit() == figure::Unit::Time {
        return number::time(value).unwrap_or_else(absent);
    }
    let (unit, scale) = unit_of_figure(figure);
    unit.told(value * scale)
}

#[cfg(test)]
mod tests;
