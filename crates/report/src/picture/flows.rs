//! The connections of a run as a chart: the median of each by its source port, coloured by group.

use logbook::record::Record;

use crate::plot::{Axis, Chart, Line, Point, Scale, Series, Unit};
use crate::text::flows::{name, port};

/// Nothing where fewer than two connections have a median.
pub fn connections(record: &Record) -> Option<Chart> {
    let outcome = record.outcome.as_ref()?;
    let flows = outcome.flows.as_ref()?;
    let ports: Option<Vec<u16>> = outcome.sockets.iter().map(|socket| port(&socket.local)).collect();
    let ports = ports.filter(|ports| ports.len() == flows.each.len());
    let place = |flow: usize| ports.as_ref().map_or(flow as f64, |ports| f64::from(ports[flow]));
    let everyone: Vec<u32> = (0..).take(flows.each.len()).collect();
    let groups = flows.groups.as_deref().filter(|groups| groups.len() > 1).unwrap_or_default();
    let sides: Vec<(String, &[u32])> = if groups.is_empty() {
        vec![("connections".to_owned(), &everyone)]
    } else {
        groups.iter().enumerate().map(|(place, group)| (name(place), group.flows.as_slice())).collect()
    };
    let series: Vec<Series> = sides
        .into_iter()
        .map(|(name, members)| {
            let mut points: Vec<Point> = members
                .iter()
                .filter_map(|flow| {
                    let p50 = flows.each.get(*flow as usize)?.p50_ns?;
                    Some(Point::new(place(*flow as usize), p50.0 as f64))
                })
                .collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            Series { line: Line::None, dots: true, ..Series::new(&name, points) }
        })
        .collect();
    let drawn: usize = series.iter().map(|series| series.points.len()).sum();
    let by = if ports.is_some() { "source port" } else { "connection" };
    let alternative = if groups.is_empty() {
        format!("The median of each of {drawn} connections by its {by}.")
    } else {
        format!("The median of each of {drawn} connections by its {by}, in {} groups.", groups.len())
    };
    let x = Axis::new(by, Unit::Plain, Scale::Linear);
    let y = Axis::new("p50", Unit::Time, Scale::Linear).from_zero();
    (drawn > 1).then(|| Chart { alternative, series, ..Chart::new("Each connection", x, y) })
}
