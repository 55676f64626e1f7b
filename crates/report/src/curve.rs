//! Latency against rate as a small plot of characters: both axes logarithmic, two series, and a mark on the rate axis.
//!
//! Where two points fall on one cell the later series is seen. Not here: which rates there are and what was found of
//! them (`search`).

use measure::unit::{Nanos, Rate};
use unicode_width::UnicodeWidthStr;

use crate::layout::Style;
use crate::number;

/// Rows of the field in which points lie.
const ROWS: usize = 10;
/// The widest field, in cells.
const WIDEST: usize = 64;
/// The narrowest field that shows anything.
const NARROWEST: usize = 16;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Series by name, the first drawn first.
    pub series: Vec<Series>,
    /// The rate at which the curve ends to be of use, marked on the axis.
    pub mark: Option<Rate>,
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, as `p99`.
    pub name: String,
    /// What its points are drawn with; of two, the one that ASCII has.
    pub sign: (char, char),
    /// Its points.
    pub points: Vec<(Rate, Nanos)>,
}

/// The lines of the plot, none with spaces at its end; none at all where there are not two rates, or no room.
pub fn lines(curve: &Curve, style: &Style) -> Vec<String> {
    let points = || curve.series.iter().flat_map(|series| series.points.iter());
    let rates = Axis::over(points().map(|(rate, _)| rate.0.get()));
    let times = Axis::over(points().map(|(_, time)| time.0.max(1)));
    let (Some(rates), Some(times)) = (rates, times) else { return Vec::new() };
    let labels: Vec<String> = (0..ROWS).map(|row| style.say(&label(&times, row))).collect();
    let margin = labels.iter().map(|label| label.width()).max().unwrap_or(0) + 3;
    let cells = style.width.saturating_sub(margin + 1).min(WIDEST);
    if cells < NARROWEST || rates.least == rates.most {
        return Vec::new();
    }
    let mut field = vec![vec![' '; cells]; ROWS];
    for series in &curve.series {
        let sign = if style.ascii { series.sign.1 } else { series.sign.0 };
        for (rate, time) in &series.points {
            let row = ROWS - 1 - times.place(time.0.max(1), ROWS);
            field[row][rates.place(rate.0.get(), cells)] = sign;
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
    drawn.push(floor(curve, &rates, cells, margin, style));
    drawn.push(ends(&rates, cells, margin));
    drawn
}

/// The name of each series behind its sign, for the line above.
pub fn legend(curve: &Curve, style: &Style) -> String {
    let sign = |series: &Series| if style.ascii { series.sign.1 } else { series.sign.0 };
    let names: Vec<String> = curve.series.iter().map(|series| format!("{} {}", sign(series), series.name)).collect();
    names.join("   ")
}

/// The label of every third row, and of the topmost.
fn label(times: &Axis, row: usize) -> String {
    if (ROWS - 1 - row).is_multiple_of(3) {
        Nanos(times.value(ROWS - 1 - row, ROWS)).to_string()
    } else {
        String::new()
    }
}

fn floor(curve: &Curve, rates: &Axis, cells: usize, margin: usize, style: &Style) -> String {
    let (corner, line, mark) = if style.ascii { ('+', '-', '^') } else { ('└', '─', '▲') };
    let mut floor = vec![line; cells];
    if let Some(rate) = curve.mark.filter(|rate| (rates.least..=rates.most).contains(&rate.0.get())) {
        floor[rates.place(rate.0.get(), cells)] = mark;
    }
    format!("{}{corner}{}", " ".repeat(margin), floor.into_iter().collect::<String>())
}

fn ends(rates: &Axis, cells: usize, margin: usize) -> String {
    let text = |per_1000s: u64| number::rate(per_1000s as f64 / 1e3).unwrap_or_default();
    let (least, most) = (text(rates.least), text(rates.most));
    let space = (cells + 1).saturating_sub(least.width() + most.width()).max(1);
    format!("{}{least}{}{most}", " ".repeat(margin), " ".repeat(space))
}

/// A logarithmic axis.
struct Axis {
    least: u64,
    most: u64,
}

impl Axis {
    fn over(values: impl Iterator<Item = u64> + Clone) -> Option<Self> {
        Some(Self { least: values.clone().min()?, most: values.max()? })
    }

    /// The cell of `cells` in which `value` lies.
    fn place(&self, value: u64, cells: usize) -> usize {
        let (low, high, at) = ((self.least as f64).ln(), (self.most as f64).ln(), (value as f64).ln());
        if high <= low {
            return 0;
        }
        (((at - low) / (high - low) * (cells - 1) as f64).round() as usize).min(cells - 1)
    }

    /// The value in the middle of a cell.
    fn value(&self, cell: usize, cells: usize) -> u64 {
        let (low, high) = ((self.least as f64).ln(), (self.most as f64).ln());
        (low + (high - low) * cell as f64 / (cells - 1) as f64).exp().round() as u64
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
            points: points.iter().map(|point| (Rate::per_second(point.0).unwrap(), Nanos(time(point)))).collect(),
        };
        Curve {
            series: vec![series("p50", ('●', 'o'), &|point| point.1), series("p99", ('×', 'x'), &|point| point.2)],
            mark: points.get(2).and_then(|point| Rate::per_second(point.0)),
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
    fn what_is_no_curve_is_not_drawn() {
        assert!(lines(&Curve::default(), &Style::default()).is_empty());
        assert!(lines(&curve(&[]), &Style::default()).is_empty());
        assert!(lines(&curve(&[(1_000, 5, 9), (1_000, 6, 9)]), &Style::default()).is_empty(), "one rate");
        assert_eq!(lines(&curve(&[(1_000, 5, 5), (2_000, 5, 5)]), &Style::default()).len(), ROWS + 2, "one time");
        assert!(!lines(&curve(&[(1, 0, u64::MAX), (u64::MAX / 1_000, 0, 1)]), &Style::default()).is_empty());
    }
}
