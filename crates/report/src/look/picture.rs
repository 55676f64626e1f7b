//! All ways on one logarithmic axis: from the shortest to the longest, the middle half of them, and their median.

use measure::look::{Burst, Look, Sums};
use measure::unit::Nanos;
use unicode_width::UnicodeWidthStr;

use super::name;
use crate::layout::{INDENT, Page, Piece, Style, Tone};

/// The widest field, in cells.
const WIDEST: usize = 100;
/// The narrowest field that shows anything.
const NARROWEST: usize = 20;
/// Cells between a name and the field.
const APART: usize = 2;

/// The signs of a style: the range, the middle half, the median, the floor and a mark on it.
struct Signs {
    range: char,
    half: char,
    median: char,
    floor: char,
    mark: char,
}

impl Signs {
    fn of(style: &Style) -> Self {
        if style.ascii {
            Self { range: '-', half: '=', median: 'o', floor: '-', mark: '+' }
        } else {
            Self { range: '─', half: '━', median: '●', floor: '─', mark: '┴' }
        }
    }
}

/// Draws the ways that answered; nothing where there is no room, or nothing to compare.
pub(super) fn draw(page: &mut Page, look: &Look) {
    let rows = rows(look);
    let style = *page.style();
    let Some(axis) = Axis::over(&rows) else { return };
    let label = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let cells = style.width.saturating_sub(INDENT + label + APART).min(WIDEST);
    if cells < NARROWEST {
        return;
    }
    let signs = Signs::of(&style);
    for (name, sums) in &rows {
        let bar = bar(sums, &axis, cells, &signs);
        let space = " ".repeat(label - name.width() + APART);
        page.line(INDENT, &[Piece::from(format!("{name}{space}{bar}"))]);
    }
    let marks = axis.marks(cells, |text| style.say(text).width());
    let indent = INDENT + label + APART;
    let mut floor = vec![signs.floor; cells];
    for mark in &marks {
        floor[mark.cell] = signs.mark;
    }
    page.line(indent, &[Piece::new(floor.into_iter().collect::<String>(), Tone::Faint)]);
    let mut numbers = String::new();
    for mark in &marks {
        let space = mark.starts.saturating_sub(numbers.width());
        numbers.push_str(&" ".repeat(space));
        numbers.push_str(&style.say(&mark.text));
    }
    page.line(indent, &[Piece::new(numbers, Tone::Faint)]);
    page.gap();
}

/// The rows of the plot, by name.
fn rows(look: &Look) -> Vec<(String, &Sums)> {
    let mut rows = Vec::new();
    for (place, leg) in (0_u32..).zip(&look.legs).filter(|(_, leg)| leg.answers()) {
        let at = if leg.address > 0 { " (also)" } else { "" };
        rows.push((format!("{}{at}", name(leg)), &leg.sums));
        let own = |burst: &&Burst| burst.leg == place;
        rows.extend(look.bursts.iter().find(own).map(|burst| ("  no pause".to_owned(), &burst.sums)));
    }
    rows
}

fn bar(sums: &Sums, axis: &Axis, cells: usize, signs: &Signs) -> String {
    let mut field = vec![' '; cells];
    let place = |time: Option<Nanos>| time.map(|time| axis.place(time, cells));
    let mut fill = |from: Option<usize>, to: Option<usize>, sign: char| {
        if let Some((from, to)) = from.zip(to) {
            field[from..=to.max(from)].fill(sign);
        }
    };
    fill(place(sums.min_ns), place(sums.max_ns), signs.range);
    fill(place(sums.p25_ns), place(sums.p75_ns), signs.half);
    let median = place(sums.median());
    fill(median, median, signs.median);
    field.into_iter().collect::<String>().trim_end().to_owned()
}

/// A logarithmic axis of times.
struct Axis {
    least: f64,
    most: f64,
}

/// A number on the axis.
struct Mark {
    cell: usize,
    /// Column at which its text starts.
    starts: usize,
    text: String,
}

impl Axis {
    /// Over all times that are drawn, at least a doubling.
    fn over(rows: &[(String, &Sums)]) -> Option<Self> {
        let least = rows.iter().filter_map(|(_, sums)| sums.min_ns).min()?.0.max(1) as f64;
        let most = rows.iter().filter_map(|(_, sums)| sums.max_ns).max()?.0 as f64;
        Some(Self { least: least.ln(), most: most.max(2.0 * least).ln() })
    }

    fn place(&self, time: Nanos, cells: usize) -> usize {
        let share = ((time.0.max(1) as f64).ln() - self.least) / (self.most - self.least);
        (share * (cells - 1) as f64).round().clamp(0.0, (cells - 1) as f64) as usize
    }

    /// Round numbers that have room beside each other.
    fn marks(&self, cells: usize, width: impl Fn(&str) -> usize) -> Vec<Mark> {
        let rounds = (0..=12).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
        let within = rounds.filter(|time| (self.least..=self.most).contains(&(*time as f64).ln()));
        let mut marks: Vec<Mark> = Vec::new();
        let mut free = 0;
        for time in within {
            let (cell, text) = (self.place(Nanos(time), cells), Nanos(time).to_string());
            let length = width(&text);
            let starts = cell.saturating_sub(length / 2);
            if starts >= free && starts + length <= cells {
                free = starts + length + 2;
                marks.push(Mark { cell, starts, text });
            }
        }
        marks
    }
}
