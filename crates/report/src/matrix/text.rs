//! Matrices as text: tables whose columns go into further blocks where a line ends, or of many hosts zones and what is worst.

use logbook::run::RunDocument;
use measure::study::figure::Figure;
use measure::study::spread::Ends;
use unicode_width::UnicodeWidthStr;

use super::square::{ITSELF, MARKS, NOT_MEASURED, NOTHING, Scale, TOO_FEW, told};
use super::{Matrix, Square, list};
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;

/// Most hosts that are shown square by square.
const MOST: usize = 40;
/// Squares that are listed of more.
const LISTED: usize = 20;
/// Longest name of a host, cells.
const NAME: usize = 14;
/// Column at which the legend's text starts.
const LABEL: usize = 11;

/// The matrices of `run`: lines of at most `style.width` cells.
pub fn text(run: &RunDocument, figure: Option<Figure>, style: &Style) -> String {
    let mut page = Page::new(*style);
    let matrices = super::all(run, figure);
    page.answer(&crate::run::answer(run));
    for matrix in &matrices {
        page.gap();
        one(&mut page, matrix);
    }
    legend(&mut page, &matrices);
    page.finish()
}

fn one(page: &mut Page, matrix: &Matrix) {
    let scale = scale(matrix);
    page.line(0, &[Piece::new(format!("{} in {}", matrix.title(), scale.name), Tone::Strong)]);
    if matrix.hosts.len() > MOST {
        return summary(page, matrix);
    }
    let zones = matrix.zones();
    // Marks stand in a column of their own, so that digits stay under digits.
    let marks = matrix.squares.values().map(|square| square.marks().len()).max().unwrap_or(0);
    let names: Vec<String> = matrix.hosts.iter().map(|host| shortened(&host.name)).collect();
    let head = [Piece::new("from / to", Tone::Faint)].into_iter();
    let mut rows: Vec<Vec<Piece>> = vec![head.chain(names.iter().map(|name| Piece::new(name, Tone::Faint))).collect()];
    for (zone, hosts) in zones {
        if let Some(zone) = zone {
            rows.push(vec![Piece::new(shortened(zone), Tone::Faint)]);
        }
        let inset = if zone.is_some() { " " } else { "" };
        for from in hosts {
            let tone = if matrix.hosts[from].lost { Tone::Alarm } else { Tone::Strong };
            let name = [Piece::new(format!("{inset}{}", names[from]), tone)].into_iter();
            rows.push(name.chain((0..matrix.hosts.len()).map(|to| piece(matrix, from, to, (scale, marks)))).collect());
        }
    }
    page.table(&rows);
}

/// The unit of a table: that of the median of its medians.
pub(super) fn scale(matrix: &Matrix) -> Scale {
    let medians: Vec<f64> =
        matrix.squares.values().filter_map(|square| square.spread.map(|spread| spread.median)).collect();
    Scale::of(matrix.figure, measure::statistics::paired::median(&medians).unwrap_or(0.0))
}

fn piece(matrix: &Matrix, from: usize, to: usize, (scale, marks): (Scale, usize)) -> Piece {
    match matrix.squares.get(&(from, to)) {
        _ if from == to => Piece::new(format!("{ITSELF}{:marks$}", ""), Tone::Faint),
        None => Piece::new(format!("{NOTHING}{:marks$}", ""), Tone::Faint),
        Some(square) => shown(square, scale, marks),
    }
}

fn shown(square: &Square, scale: Scale, marks: usize) -> Piece {
    match (square.spread, square.failed()) {
        (Some(spread), _) => {
            let tone = if square.worse { Tone::Alarm } else { Tone::Plain };
            Piece::new(format!("{}{:marks$}", scale.text(spread.median), square.marks()), tone)
        }
        (None, Some((word, _))) => Piece::new(word, Tone::Alarm),
        (None, None) => Piece::new(NOTHING, Tone::Faint),
    }
}

/// For many hosts: zones towards zones, and the worst squares.
fn summary(page: &mut Page, matrix: &Matrix) {
    let zones = matrix.zones();
    let between = list::zones(matrix);
    if zones.len() > 1 && zones.len() <= MOST {
        let name = |zone: Option<&str>| shortened(zone.unwrap_or("no zone"));
        let head = [Piece::new("from / to", Tone::Faint)].into_iter();
        let mut rows: Vec<Vec<Piece>> =
            vec![head.chain(zones.iter().map(|(zone, _)| Piece::new(name(*zone), Tone::Faint))).collect()];
        let scale = scale(matrix);
        for (from, (zone, _)) in zones.iter().enumerate() {
            let cell = |to: usize| {
                between.get(&(from, to)).map_or_else(|| NOTHING.to_owned(), |found| scale.text(found.median))
            };
            let first = [Piece::new(name(*zone), Tone::Strong)].into_iter();
            rows.push(first.chain((0..zones.len()).map(|to| Piece::from(cell(to)))).collect());
        }
        page.table(&rows);
    }
    let title = format!("the worst of {} cells between {} hosts", matrix.squares.len(), matrix.hosts.len());
    page.gap();
    page.line(INDENT, &[Piece::new(title, Tone::Faint)]);
    let row = |((from, to), square): ((usize, usize), &Square)| {
        let name = |host: usize| shortened(&matrix.hosts[host].name);
        let value = square.spread.map_or_else(String::new, |spread| told(matrix.figure, spread.median));
        vec![
            Piece::new(format!("{} → {}", name(from), name(to)), Tone::Strong),
            Piece::from(value),
            Piece::from(square.marks()),
        ]
    };
    let rows: Vec<Vec<Piece>> = list::worst(matrix, LISTED).into_iter().map(row).collect();
    page.table(&rows);
}

/// `name` in at most so many cells, its middle left away.
fn shortened(name: &str) -> String {
    if name.width() <= NAME {
        return name.to_owned();
    }
    let letters: Vec<char> = name.chars().collect();
    let half = (NAME - 1) / 2;
    let front: String = letters.iter().take(half).collect();
    let back: String = letters.iter().skip(letters.len().saturating_sub(half)).collect();
    format!("{front}…{back}")
}

/// The meaning of marks and words, of those that were used.
fn legend(page: &mut Page, matrices: &[Matrix]) {
    page.gap();
    let used: String = matrices.iter().flat_map(|matrix| matrix.squares.values()).map(Square::marks).collect();
    for (mark, says) in MARKS.iter().filter(|(mark, _)| used.contains(*mark)) {
        page.paragraph(INDENT, &Piece::new(mark.to_string(), Tone::Strong), LABEL, says);
    }
    if too_few(matrices) {
        page.paragraph(INDENT, &Piece::new("repeats", Tone::Faint), LABEL, TOO_FEW);
    }
    let mut reasons = std::collections::BTreeMap::new();
    for matrix in matrices {
        for (reason, count) in matrix.reasons() {
            *reasons.entry(reason).or_insert(0) += count;
        }
    }
    for ((word, why), count) in reasons {
        page.paragraph(
            INDENT,
            &Piece::new(word, Tone::Alarm),
            LABEL,
            &format!("{why} ({})", number::count(count as u64, "cell", "cells")),
        );
    }
    if matrices.iter().any(|matrix| !is_whole(matrix)) {
        page.paragraph(INDENT, &Piece::new(NOTHING, Tone::Faint), LABEL, NOT_MEASURED);
    }
}

/// True where there is a cell of each host towards each other.
pub(super) fn is_whole(matrix: &Matrix) -> bool {
    matrix.squares.len() == matrix.hosts.len() * matrix.hosts.len().saturating_sub(1)
}

/// True where there are numbers, and none that could be told from that of the other direction.
pub(super) fn too_few(matrices: &[Matrix]) -> bool {
    let mut spreads = matrices.iter().flat_map(|matrix| matrix.squares.values()).filter_map(|square| square.spread);
    let first = spreads.next();
    first.is_some() && first.into_iter().chain(spreads).all(|spread| spread.ends != Ends::Interval)
}
