//! The past for machines: JSON and CSV.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use logbook::moment::Moment;
use measure::event::Counts;
use measure::span::Span;
use serde::Serialize;

use super::{Events, Past};
use crate::store::{Cell, Incident, Mark};

/// One document.
#[derive(Serialize)]
struct History<'a> {
    format: &'static str,
    version: u32,
    cells: Vec<CellHistory<'a>>,
    incidents: &'a [Incident],
    marks: &'a [Mark],
}

#[derive(Serialize)]
struct CellHistory<'a> {
    #[serde(flatten)]
    cell: &'a Cell,
    /// Length of an interval, seconds.
    interval_s: u64,
    since: Option<Moment>,
    until: Option<Moment>,
    whole: Figures,
    intervals: Vec<Interval>,
}

#[derive(Serialize)]
struct Interval {
    /// Its first second since 1970 UTC, and the same for people.
    at_s: u64,
    at: Option<Moment>,
    #[serde(flatten)]
    figures: Figures,
}

/// Figures of a stretch. Times are nanoseconds; a percentile that fewer than ten answers exceeded is left out.
#[derive(Serialize)]
pub(super) struct Figures {
    counts: Counts,
    lost_out: u64,
    lost_back: u64,
    /// Seconds in which the host that asked was late itself.
    disturbed_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p999_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
}

impl Figures {
    pub(super) fn of(span: &Span) -> Self {
        let quantile = |q| span.times.printed(q).map(|(nanos, _)| nanos);
        let count = span.times.count();
        Self {
            counts: span.counts,
            lost_out: span.lost_out,
            lost_back: span.lost_back,
            disturbed_s: span.disturbed,
            min_ns: span.min.map(|min| min.0),
            mean_ns: (count > 0 && span.sum_ns > 0).then(|| span.sum_ns as f64 / count as f64),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: span.max.map(|max| max.0),
        }
    }
}

/// A second as a moment of the zone.
pub(super) fn moment(at: u64, zone: &TimeZone) -> Option<Moment> {
    let at = Timestamp::from_second(i64::try_from(at).ok()?).ok()?;
    Some(Moment::from(&at.to_zoned(zone.clone())))
}

/// A document as JSON, with a line end.
pub(super) fn written(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("our documents have string keys alone") + "\n"
}

/// All of it as one JSON document.
pub fn json(pasts: &[Past], events: &Events, zone: &TimeZone) -> String {
    let interval = |(at, span): &(u64, Span)| Interval { at_s: *at, at: moment(*at, zone), figures: Figures::of(span) };
    let cells = pasts.iter().map(|past| CellHistory {
        cell: &past.cell,
        interval_s: past.level.seconds(),
        since: moment(past.stretch.from, zone),
        until: moment(past.stretch.to, zone),
        whole: Figures::of(&past.whole),
        intervals: past.rows.iter().map(interval).collect(),
    });
    written(&History {
        format: "sonde-history",
        version: 1,
        cells: cells.collect(),
        incidents: &events.incidents,
        marks: &events.marks,
    })
}

const COLUMNS: &str = "from,to,over,at_s,interval_s,scheduled,answered,late,lost,lost_out,lost_back,refused,corrupt,\
send_failed,duplicated,disturbed_s,min_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns\n";

/// A line for each interval; what is not known is empty.
pub fn csv(pasts: &[Past]) -> String {
    let mut text = COLUMNS.to_owned();
    for past in pasts {
        let [from, to] = [&past.cell.from, &past.cell.to].map(|name| field(name));
        let (over, length) = (past.cell.over.name(), past.level.seconds());
        for (at, span) in &past.rows {
            let (counts, figures) = (&span.counts, Figures::of(span));
            let numbers = [
                counts.scheduled,
                counts.answered,
                counts.late,
                counts.lost,
                span.lost_out,
                span.lost_back,
                counts.refused,
                counts.corrupt,
                counts.send_failed,
                counts.duplicated,
                span.disturbed,
            ];
            let times =
                [figures.min_ns, figures.p50_ns, figures.p90_ns, figures.p99_ns, figures.p999_ns, figures.max_ns];
            let known = numbers.map(Some).into_iter().chain(times);
            let values: Vec<String> =
                known.map(|value| value.map_or_else(String::new, |value| value.to_string())).collect();
            // Writing to a string does not fail.
            let _written = writeln!(text, "{from},{to},{over},{at},{length},{}", values.join(","));
        }
    }
    text
}

/// A name as a field: quoted where it has to be (RFC 4180), and never a formula.
fn field(name: &str) -> String {
    let name = if name.starts_with(['=', '+', '-', '@']) { format!("'{name}") } else { name.to_owned() };
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_field() {
        assert_eq!(field("db1"), "db1");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }
}
