//! Times over time: how many took how long in each stretch, with p50 and p99, from samples or from what a record keeps of its seconds.

use logbook::record::Record;

use super::stretches::Stretched;
use crate::number;
use crate::plot::{Axis, Cells, Chart, Point, Scale, Series, Unit};
use crate::samples::grid::Grid;

/// The heat map of a grid; `None` where nothing was answered.
pub fn heat(grid: &Grid) -> Option<Chart> {
    let cells =
        Cells { columns: grid.column_edges(), rows: grid.row_edges()?, counts: grid.counts(), missing: Vec::new() };
    let line =
        |q: f64| grid.quantiles(q).into_iter().map(|(at, value)| Point::new(at, value.unwrap_or(f64::NAN))).collect();
    let series = vec![named(0.5, line(0.5)), named(0.99, line(0.99))];
    drawn("Response over time, from samples", cells, series, grid.answered())
}

/// The heat map of a record's stretches; `None` of one that keeps none, or of a single stretch.
pub fn heat_of(record: &Record) -> Option<Chart> {
    let stretched = Stretched::of(record)?;
    let p50 = named(0.5, stretched.line(0.5));
    let cells = stretched.cells()?;
    let chart = drawn("Response over time", cells, vec![p50], stretched.kept())?;
    (stretched.len() > 1).then_some(chart)
}

fn named(q: f64, points: Vec<Point>) -> Series {
    let colour = if q < 0.9 { 6 } else { 1 };
    Series { colour: Some(colour), ..Series::new(measure::unit::quantile_name(q), points) }
}

fn drawn(title: &str, cells: Cells, series: Vec<Series>, answered: u64) -> Option<Chart> {
    let (low, high) = (*cells.rows.first()?, *cells.rows.last()?);
    let missing: u64 = cells.missing.iter().copied().fold(0, u64::saturating_add);
    let lost = if missing > 0 {
        format!(" {} without a timely answer, marked at the top.", number::count(missing, "exchange", "exchanges"))
    } else {
        String::new()
    };
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let lines = format!("Line: {}.", names.join(", "));
    let alternative = format!(
        "{} over {}, between {} and {}; the stronger the colour, the more.{lost} {lines}",
        number::count(answered, "answered exchange", "answered exchanges"),
        Unit::Time.text(*cells.columns.last()?),
        Unit::Time.text(low),
        Unit::Time.text(high),
    );
    let x = Axis::new("time since the start", Unit::Time, Scale::Linear).over(0.0, *cells.columns.last()?);
    let y = Axis::new("response", Unit::Time, Scale::Log);
    Some(Chart { alternative, cells: Some(cells), series, ..Chart::new(title, x, y) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_seen_where_it_was() {
        let row = |n: u64| {
            let time = if (4_000..4_100).contains(&n) { 5_000_000 } else { 20_000 };
            format!("{0},{0},{time},answered\n", n * 1_000_000)
        };
        let rows = (0..10_000).map(row).collect::<Vec<_>>().concat();
        let grid = Grid::read(format!("intended_ns,sent_ns,response_ns,fate\n{rows}").as_bytes()).unwrap();
        let chart = heat(&grid).unwrap();
        let cells = chart.cells.as_ref().unwrap();
        let total: u64 = cells.counts.iter().flatten().sum();
        assert_eq!(total, 10_000);
        let slow = |column: &Vec<u64>| {
            let above = cells.rows.iter().position(|edge| *edge > 1e6).unwrap();
            column[above..].iter().sum::<u64>()
        };
        let stalled: Vec<f64> = cells
            .columns
            .iter()
            .zip(&cells.counts)
            .filter(|(_, counts)| slow(counts) > 0)
            .map(|(from, _)| *from)
            .collect();
        assert!(!stalled.is_empty() && stalled.iter().all(|from| (3.9e9..4.1e9).contains(from)), "{stalled:?}");
        assert_eq!(cells.counts.iter().map(slow).sum::<u64>(), 100);
    }
}
