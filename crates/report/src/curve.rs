//! One number against another as a small plot of characters: both axes logarithmic, several series, and a mark on the lower axis.
//!
//! Where two points fall on one cell the later series is seen; a point at 0 or below has no place on such axes, and is not drawn. Not
//! here: which points there are (`search`, `study`).

use measure::unit::{Bytes, grouped};
use unicode_width::UnicodeWidthStr;

use crate::layout::Style;
use crate::number;

/// Rows of the field in which points lie.
const ROWS: usize = 10;
/// The widest field, in cells.
const WIDEST: usize = 64;
/// The narrowest field that shows anything.
const NARROWEST: usize = 16;
/// Cells that two labels below the field are apart at least.
const APART: usize = 2;

/// The signs of the points of series, and their ASCII forms; one after the other.
pub const SIGNS: [(char, char); 6] = [('●', 'o'), ('×', 'x'), ('▲', '^'), ('■', '#'), ('◆', '*'), ('+', '+')];

/// The drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Units of its points.
    pub units: Units,
    /// Series by name, the first drawn first.
    pub series: Vec<Series>,
    /// End of the useful part of the curve, in the unit of the lower axis; marked there.
    pub mark: Option<f64>,
    /// True where powers of ten are written along the lower axis, if there is room.
    pub decades: bool,
}

/// The units of both axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Unit of the lower axis.
    pub x: Unit,
    /// Unit of the other axis.
    pub y: Unit,
}

/// Times by the rate.
impl Default for Units {
    fn default() -> Self {
        Self { x: Unit::Rate, y: Unit::Time }
    }
}

/// The meaning of an axis' numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Events a second.
    Rate,
    /// Bits a second.
    Bits,
    /// Bytes.
    Size,
    /// Counts.
    Count,
    /// Shares, 0 to 1.
    Share,
}

impl Unit {
    /// A number of it for people.
    pub fn told(self, value: f64) -> String {
        let told = match self {
            Self::Time => number::short_time(value.round()),
            Self::Rate => number::rate(value),
            Self::Bits => number::bit_rate(value / 8.0),
            Self::Size => Some(Bytes(value.round() as u64).to_string()),
            Self::Count => Some(grouped(value.round() as u64)),
            Self::Share => Some(number::percent(value)),
        };
        told.unwrap_or_default()
    }
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, as `p99`.
    pub name: String,
    /// The sign of its points; of two, the one that ASCII has.
    pub sign: (char, char),
    /// Its points, in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    fn drawn(&self) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        let has_place = |value: f64| value.is_finite() && value > 0.0;
        self.points.iter().copied().filter(move |(x, y)| has_place(*x) && has_place(*y))
    }
}

/// The lines of the plot, none with spaces at its end; none at all where there are not two places, or no room.
pub fn lines(curve: &Curve, style: &Style) -> Vec<String> {
    let points = || curve.series.iter().flat_map(Series::drawn);
    let across = Axis::over(points().map(|(x, _)| x));
    let upward = Axis::over(points().map(|(_, y)| y));
    let (Some(across), Some(upward)) = (across, upward) else { return Vec::new() };
    let labels: Vec<String> = (0..ROWS).map(|row| style.say(&label(&upward, curve.units.y, row))).collect();
    let margin = labels.iter().map(|label| label.width()).max().unwrap_or(0) + 3;
    let cells = style.width.saturating_sub(margin + 1).min(WIDEST);
    if cells < NARROWEST || across.least >= across.most {
        return Vec::new();
    }
    let mut field = vec![vec![' '; cells]; ROWS];
    for series in &curve.series {
        let sign = if style.ascii { series.sign.1 } else { series.sign.0 };
        for (x, y) in series.drawn() {
            field[ROWS - 1 - upward.place(y, ROWS)][across.place(x, cells)] = sign;
        }
    }
    let side = if style.ascii { '|' } else { '│' };
    let mut drawn: Vec<String> = field
        .iter()
        .zip(&labels)
        .map(|(row, label)| {
            let space = " ".repeat(margin - 1 - label.width());
            format!("{space}{label} {side}{}", row.iter().collect::<String>()).trim_end().to_owned()
        })
        .collect();
    drawn.push(floor(curve, &across, cells, margin, style));
    drawn.push(below(curve, &across, cells, margin, style));
    drawn
}

/// The name of each series behind its sign, for the line above.
pub fn legend(curve: &Curve, style: &Style) -> String {
    let sign = |series: &Series| if style.ascii { series.sign.1 } else { series.sign.0 };
    let names: Vec<String> = curve.series.iter().map(|series| format!("{} {}", sign(series), series.name)).collect();
    names.join("   ")
}

/// The label of every third row, and of the topmost.
fn label(upward: &Axis, unit: Unit, row: usize) -> String {
    if (ROWS - 1 - row).is_multiple_of(3) { unit.told(upward.value(ROWS - 1 - row, ROWS)) } else { String::new() }
}

fn floor(curve: &Curve, across: &Axis, cells: usize, margin: usize, style: &Style) -> String {
    let (corner, line, mark) = if style.ascii { ('+', '-', '^') } else { ('└', '─', '▲') };
    let mut floor = vec![line; cells];
    if let Some(at) = curve.mark.filter(|at| (across.least..=across.most).contains(at)) {
        floor[across.place(at, cells)] = mark;
    }
    format!("{}{corner}{}", " ".repeat(margin), floor.into_iter().collect::<String>())
}

/// The ends of the lower axis, and powers of ten between where they are asked for and have room.
fn below(curve: &Curve, across: &Axis, cells: usize, margin: usize, style: &Style) -> String {
    let told = |value: f64| style.say(&curve.units.x.told(value));
    let (least, most) = (told(across.least), told(across.most));
    let space = (cells + 1).saturating_sub(least.width() + most.width()).max(1);
    let mut line: Vec<char> = format!("{least}{}{most}", " ".repeat(space)).chars().collect();
    let powers = (-3..18).map(|power| 10_f64.powi(power)).filter(|value| *value > across.least && *value < across.most);
    for value in powers.filter(|_| curve.decades) {
        let text = told(value);
        // The floor's corner takes one cell before the field.
        let from = (across.place(value, cells) + 1).saturating_sub(text.width() / 2);
        let around = from.saturating_sub(APART)..from + text.width() + APART;
        if line.get(around).is_some_and(|cells| cells.iter().all(|cell| *cell == ' ')) {
            for (place, character) in text.chars().enumerate() {
                line[from + place] = character;
            }
        }
    }
    format!("{}{}", " ".repeat(margin), line.into_iter().collect::<String>())
}

/// A logarithmic axis.
struct Axis {
    least: f64,
    most: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        Some(Self { least: values.clone().reduce(f64::min)?, most: values.reduce(f64::max)? })
    }

    /// The cell of `cells` in which `value` lies.
    fn place(&self, value: f64, cells: usize) -> usize {
        let (low, high, at) = (self.least.ln(), self.most.ln(), value.ln());
        if high <= low {
            return 0;
        }
        (((at - low) / (high - low) * (cells - 1) as f64).round() as usize).min(cells - 1)
    }

    /// The value in the middle of a cell.
    fn value(&self, cell: usize, cells: usize) -> f64 {
        let (low, high) = (self.least.ln(), self.most.ln());
        (low + (high - low) * cell as f64 / (cells - 1) as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn curve(points: &[(u64, u64, u64)]) -> Curve {
        let series = |name: &str, sign, time: &dyn Fn(&(u64, u64, u64)) -> u64| Series {
            name: name.to_owned(),
            sign,
            points: points.iter().map(|point| (point.0 as f64, time(point) as f64)).collect(),
        };
        Curve {
            series: vec![series("p50", ('●', 'o'), &|point| point.1), series("p99", ('×', 'x'), &|point| point.2)],
            mark: points.get(2).map(|point| point.0 as f64),
            ..Curve::default()
        }
    }

    fn queue() -> Curve {
        let points: Vec<(u64, u64, u64)> =
            (0..12).map(|k| (1_000 << k, 20_000 + 1_000 * k, 40_000 + (1_u64 << (2 * k)) * 5)).collect();
        curve(&points)
    }

    #[test]
    fn a_curve_rises_with_the_rate() {
        assert_snapshot!(lines(&queue(), &Style::default()).join("\n"));
    }

    #[test]
    fn it_fits_every_width() {
        for width in [40, 60, 80, 200] {
            for ascii in [false, true] {
                let drawn = lines(&queue(), &Style { width, ascii, ..Style::default() });
                assert_eq!(drawn.len(), ROWS + 2);
                assert!(drawn.iter().all(|line| line.width() <= width && line.trim_end() == line), "{drawn:?}");
                assert!(!ascii || drawn.iter().all(|line| line.is_ascii()));
            }
        }
    }

    #[test]
    fn a_sweep_over_six_decades_tells_them() {
        let points: Vec<(f64, f64)> =
            (0..19).map(|k| (1e3 * 10_f64.powf(f64::from(k) / 3.0), 2e4 * f64::from(k + 1))).collect();
        let one = |name: &str, place: usize, times: f64| Series {
            name: name.to_owned(),
            sign: SIGNS[place],
            points: points.iter().map(|(x, y)| (*x, y * times)).collect(),
        };
        let units = Units { x: Unit::Time, y: Unit::Time };
        let series = vec![one("icmp", 0, 1.0), one("tcp", 1, 2.5)];
        let curve = Curve { units, series, decades: true, mark: None };
        let style = Style::default();
        assert_snapshot!(format!("{}\n{}", legend(&curve, &style), lines(&curve, &style).join("\n")));
    }

    #[test]
    fn what_has_no_place_on_the_axes_is_not_drawn() {
        let mut curve = queue();
        let drawn = lines(&curve, &Style::default());
        curve.series[0].points.extend([(0.0, 5.0), (5.0, 0.0), (f64::NAN, 1.0), (-1.0, -1.0), (1.0, f64::INFINITY)]);
        assert_eq!(lines(&curve, &Style::default()), drawn);
    }

    #[test]
    fn what_is_no_curve_is_not_drawn() {
        assert!(lines(&Curve::default(), &Style::default()).is_empty());
        assert!(lines(&curve(&[]), &Style::default()).is_empty());
        assert!(lines(&curve(&[(1_000, 5, 9), (1_000, 6, 9)]), &Style::default()).is_empty(), "one rate");
        assert_eq!(lines(&curve(&[(1_000, 5, 5), (2_000, 5, 5)]), &Style::default()).len(), ROWS + 2, "one time");
        assert!(!lines(&curve(&[(1, 0, u64::MAX), (u64::MAX / 1_000, 0, 1)]), &Style::default()).is_empty());
    }
}
