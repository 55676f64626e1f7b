//! A sweep: its curves as a plot of characters, a row for each point, and what a reader must know of single points.

mod grid;
mod notes;

use logbook::study::StudyDocument;
use measure::study::figure::{self, Figure};
use measure::study::range::Values;
use measure::study::spread::{Ends, Spread};

use self::grid::Grid;
use super::incomplete;
use crate::curve::{self, Curve, Series, Unit, Units};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;

/// What a sweep asked.
pub struct Asked<'a> {
    /// The axis, as it was named.
    pub axis: &'a str,
    /// What its values are.
    pub values: Values,
    /// What is told of each point; the first is drawn.
    pub figures: &'a [Figure],
    /// The words of each curve.
    pub methods: &'a [Vec<String>],
}

/// The screen for a sweep.
pub fn render(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>) {
    let grid = Grid::of(study);
    head(page, study, asked, &grid);
    page.gap();
    incomplete(page, study);
    plot(page, study, asked, &grid);
    let notes = notes::of(study, &grid);
    table(page, study, asked, &grid, &notes);
    page.gap();
    notes::tell(page, &notes, &grid);
    page.paragraph(INDENT, &Piece::new("how", Tone::Faint), notes::LABEL, &how(study, asked));
}

fn head(page: &mut Page, study: &StudyDocument, asked: &Asked<'_>, grid: &Grid) {
    let points = number::count(grid.points.len() as u64, "point", "points");
    let blocks = number::count(study.blocks.into(), "block", "blocks");
    let items = [
        Piece::new(format!("sweep over {}", asked.axis), Tone::Strong),
        points.into(),
        blocks.into(),
        "in random order".into(),
    ];
    page.flow(0, INDENT, " · ", &items);
    let widest = grid.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
    for (series, words) in grid.series.iter().zip(asked.methods) {
        page.paragraph(INDENT, &Piece::new(&series.name, Tone::Strong), INDENT + widest + 3, &words.join(" "));
    }
}

/// How the numbers came about.
fn how(study: &StudyDocument, asked: &Asked<'_>) -> String {
    let first = asked.figures.first().map(ToString::to_string).unwrap_or_default();
    let spread = if study.blocks >= 6 {
        "the 95 % interval of that median"
    } else {
        "the least and the most of the blocks, which is no interval: that takes 6 blocks"
    };
    format!("each point is the median over the blocks of the trials' {first}; beside it {spread}")
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
    page.flow(INDENT, INDENT, "   ", &[legend, Piece::new(format!("{what}by {}", asked.axis), Tone::Faint)]);
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
    let mut head = vec![asked.axis.to_owned()];
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

fn absent() -> String {
    "–".to_owned()
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
    let (unit, scale) = unit_of_figure(figure);
    unit.told(value * scale)
}

#[cfg(test)]
mod tests;
