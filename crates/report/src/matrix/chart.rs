//! Matrices as charts: squares by shade, and throughput against cores and prices.

use std::collections::BTreeMap;

use logbook::host::Address;
use logbook::run::RunDocument;
use measure::statistics::paired;
use measure::study::figure::Figure;

use super::square::told;
use super::{Matrix, all};
use crate::plot::{Axis, Cells, Chart, Line, Mark, On, Point, Scale, Series, Unit};

/// The matrix of one method as a chart: the darker a square, the worse; without a method the first there is.
///
/// # Errors
/// The reason why there is none.
pub fn picture(
    run: &RunDocument,
    method: Option<&str>,
    over: Option<Address>,
    figure: Option<Figure>,
) -> Result<Chart, &'static str> {
    let wanted = |matrix: &Matrix| {
        method.is_none_or(|method| matrix.method == method) && over.is_none_or(|over| matrix.over == over)
    };
    let matrix = all(run, figure).into_iter().find(wanted).ok_or("the run has no cells of that method and address")?;
    squares(&matrix).ok_or("none of its cells has a number")
}

/// The squares of a matrix by shade.
pub(super) fn squares(matrix: &Matrix) -> Option<Chart> {
    let (low, high) = matrix.range()?;
    let count = matrix.hosts.len();
    let mut counts = vec![vec![0; count]; count];
    for (&(from, to), square) in &matrix.squares {
        if let Some(spread) = square.spread {
            // The first row stands at the top, and a chart's rows come from the bottom up.
            counts[to][count - 1 - from] = shade(matrix.figure, spread.median, low, high);
        }
    }
    let names: Vec<String> = matrix.hosts.iter().map(|host| host.name.clone()).collect();
    let edges: Vec<f64> = (0..=count).map(|edge| edge as f64 - 0.5).collect();
    let (bright, dark) = if matrix.figure.more_is_better() { (high, low) } else { (low, high) };
    let ends = format!("light {}, dark {}", told(matrix.figure, bright), told(matrix.figure, dark));
    let x = Axis::new("to", Unit::Names(names.clone()), Scale::Linear);
    let y = Axis::new("from", Unit::Names(names.into_iter().rev().collect()), Scale::Linear);
    let borders = matrix
        .zones()
        .into_iter()
        .skip(1)
        .filter_map(|(zone, hosts)| Some(Mark { on: On::X, at: hosts.start as f64 - 0.5, text: zone?.to_owned() }));
    Some(Chart {
        alternative: format!("{} cells, {ends}", matrix.squares.len()),
        cells: Some(Cells { columns: edges.clone(), rows: edges, counts, missing: Vec::new() }),
        marks: borders.collect(),
        ..Chart::new(format!("{}: {ends}", matrix.title()), x, y)
    })
}

/// A count whose shade, which goes by its logarithm, is as dark as the value is bad: 0 is no square.
fn shade(figure: Figure, value: f64, low: f64, high: f64) -> u64 {
    const STEPS: f64 = 12.0;
    let bad = badness(figure, value, low, high);
    (1.0 + bad * (STEPS - 1.0)).exp2().round() as u64
}

/// The rank of a value among those from `low` to `high`, 0 (good) to 1 (bad); by ratio where they are all above 0. A range
/// within a factor of two, or within a hundredth of a share, never makes use of all of it: noise is not to look like a
/// finding.
pub(super) fn badness(figure: Figure, value: f64, low: f64, high: f64) -> f64 {
    let more = figure.more_is_better();
    let place = if low > 0.0 {
        let (low, high) = if more { (low.min(high / 2.0), high) } else { (low, high.max(low * 2.0)) };
        (value / low).ln() / (high / low).ln()
    } else {
        (value - low) / (high - low).max(0.01)
    };
    let place = if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 };
    if more { 1.0 - place } else { place }
}

/// Throughput by what is known of the host that sends: its processors, and its price. Only where there are two kinds at least.
pub(super) fn by_host(run: &RunDocument) -> Vec<Chart> {
    let matrices = all(run, Some(Figure::Throughput));
    let streams: Vec<&Matrix> = matrices.iter().filter(|matrix| matrix.figure == Figure::Throughput).collect();
    let cpus = |name: &str| run.hosts.iter().find(|seen| seen.host == name)?.cpus.map(f64::from);
    let price = |name: &str| {
        let host = run.plan.hosts.iter().find(|host| host.name == name)?;
        host.label("price_per_hour")?.trim_start_matches('$').parse().ok().filter(|price: &f64| price.is_finite())
    };
    let charts = [
        against(&streams, "Throughput by processors of the sender", "processors", &cpus),
        against(&streams, "Throughput by price of the sender", "price per hour", &price),
    ];
    charts.into_iter().flatten().collect()
}

fn against(streams: &[&Matrix], title: &str, label: &str, of: &dyn Fn(&str) -> Option<f64>) -> Option<Chart> {
    let mut series = Vec::new();
    let mut places: Vec<u64> = Vec::new();
    for matrix in streams {
        let mut values: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (&(from, _), square) in &matrix.squares {
            values.entry(from).or_default().extend(square.spread.map(|spread| spread.median));
        }
        let point = |(from, values): (&usize, &Vec<f64>)| {
            Some(Point::new(of(&matrix.hosts[*from].name)?, paired::median(values)?))
        };
        let mut points: Vec<Point> = values.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        places.extend(points.iter().map(|point| point.x.to_bits()));
        let name = format!("{} · {}", matrix.method, crate::run::over(matrix.over));
        series.push(Series { line: Line::None, dots: true, ..Series::new(name, points) });
    }
    places.sort_unstable();
    places.dedup();
    if places.len() < 2 {
        return None;
    }
    let x = Axis::new(label, Unit::Plain, Scale::Linear).from_zero();
    let y = Axis::new("throughput", Unit::BytesPerSecond, Scale::Linear).from_zero();
    let alternative = "Each dot is a host: the median of what it sent to each other.".to_owned();
    Some(Chart { alternative, series, ..Chart::new(title, x, y) })
}
