//! All cells and the incidents that go on: `sonde history` without a pair.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use jiff::tz::TimeZone;
use logbook::moment::Moment;
use measure::span::Span;
use report::markup::visible;
use report::number::count;
use serde::Serialize;

use super::document::{Figures, moment, written};
use super::table::{clock, incident_told};
use super::{Options, Protocol, Told};
use crate::failure::Failure;
use crate::store::{Cell, Incident, IncidentFilter, Level, Store};
use crate::words::{quantile, share};

/// Lines of a table that a person reads.
const MOST: usize = 40;
/// Incidents that are over and told: of the last day, the latest first.
const OVER: usize = 10;
/// A day, seconds.
const DAY: u64 = 86_400;
/// Letters of a host's name in a table.
const NAME: usize = 18;

/// State of all cells.
struct Overview {
    place: String,
    /// The hour of which the figures are, its first second; absent: nothing was kept yet.
    hour: Option<u64>,
    latest: Option<u64>,
    cells: Vec<(Cell, Option<Span>)>,
    open: Vec<Incident>,
    /// Those that began in the last day and are over, the latest first.
    over: Vec<Incident>,
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    store: &'a str,
    /// The latest minute that is kept.
    latest: Option<Moment>,
    /// The hour of which the figures are.
    hour: Option<Moment>,
    cells: Vec<Row<'a>>,
    /// Those that go on.
    incidents: &'a [Incident],
    /// Those of the last day that are over, the latest first.
    over: &'a [Incident],
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    cell: &'a Cell,
    /// Figures of the hour; absent: nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hour: Option<Figures>,
}

/// Shows all cells, or those of `host`.
///
/// # Errors
/// Errors of the store; there is no such host.
pub fn told(store: &mut dyn Store, host: Option<&String>, options: &Options, zone: &TimeZone) -> Result<Told> {
    if options.csv {
        return Err(Failure::new("--csv prints the intervals of one pair", "name two hosts, or take --json").into());
    }
    let overview = overview(store, host.map(String::as_str), options.over).map_err(Failure::from)?;
    if let Some(host) = host.filter(|_| overview.cells.is_empty()) {
        let told = format!("{}: {}: no host of this name was ever measured", overview.place, visible(host));
        return Err(Failure::new(told, "`sonde history` lists the hosts").into());
    }
    Ok((if options.json { json(&overview, zone) } else { text(&overview, zone) }, !overview.cells.is_empty()))
}

fn overview(
    store: &mut dyn Store,
    host: Option<&str>,
    over: Option<Protocol>,
) -> Result<Overview, crate::store::error::StoreError> {
    let is_meant = |cell: &Cell| {
        host.is_none_or(|host| cell.from == host || cell.to == host) && over.is_none_or(|over| cell.over == over.over())
    };
    let latest = store.latest()?;
    let hour = latest.map(|latest| Level::Hour.start(latest));
    let mut spans: BTreeMap<Cell, Span> = match hour {
        Some(hour) => store.slice(Level::Hour, hour)?.into_iter().collect(),
        None => BTreeMap::new(),
    };
    let cells = store.cells()?.into_iter().filter(is_meant).map(|cell| {
        let span = spans.remove(&cell);
        (cell, span)
    });
    let cells = cells.collect();
    let is_about = |incident: &Incident| {
        host.is_none_or(|host| incident.hosts.is_empty() || incident.hosts.iter().any(|named| named == host))
    };
    let mut open = store.incidents(&IncidentFilter { open: true, ..IncidentFilter::default() })?;
    open.retain(is_about);
    let from = latest.map_or(0, |latest| latest.saturating_sub(DAY));
    let mut over = store.incidents(&IncidentFilter { from, ..IncidentFilter::default() })?;
    over.retain(|incident| incident.ended.is_some() && is_about(incident));
    Ok(Overview { place: store.place(), hour, latest, cells, open, over })
}

fn text(overview: &Overview, zone: &TimeZone) -> String {
    let Some((hour, latest)) = overview.hour.zip(overview.latest) else {
        return format!("{}: nothing was measured yet\n", overview.place);
    };
    let hosts: BTreeSet<&str> =
        overview.cells.iter().flat_map(|(cell, _)| [cell.from.as_str(), cell.to.as_str()]).collect();
    let wrong = match overview.open.len() as u64 {
        0 => "no incident goes on".to_owned(),
        1 => "1 incident goes on".to_owned(),
        many => count(many, "", "incidents go on"),
    };
    let mut text = format!(
        "{}, {}: {wrong}. Latest minute: {}\n",
        count(hosts.len() as u64, "host", "hosts"),
        count(overview.cells.len() as u64, "cell", "cells"),
        clock(latest, zone),
    );
    // Writing to a string does not fail.
    for incident in &overview.open {
        let _written = writeln!(text, "! {}", incident_told(incident, zone));
    }
    for incident in overview.over.iter().take(OVER) {
        let _written = writeln!(text, "  {}", incident_told(incident, zone));
    }
    if let Some(more) = overview.over.len().checked_sub(OVER).filter(|more| *more > 0) {
        let others = count(more as u64, "more incident", "more incidents");
        let _written = writeln!(text, "  {others} of the last day: --json");
    }
    let mut rows: Vec<&(Cell, Option<Span>)> = overview.cells.iter().collect();
    let left_out = rows.len().saturating_sub(MOST);
    if left_out > 0 {
        // Those that answer least, then the slowest.
        let lost =
            |span: &Option<Span>| span.as_ref().and_then(Span::lost_share).map_or(-1, |share| (share * 1e9) as i64);
        let tail = |span: &Option<Span>| span.as_ref().and_then(|span| span.times.quantile(0.99));
        rows.sort_by_key(|(_, span)| Reverse((lost(span), tail(span))));
        rows.truncate(MOST);
    }
    let _written = writeln!(text, "\nSince {}:", clock(hour, zone));
    let _written = writeln!(text, "{}", line(["from", "to", "over"], ["p50", "p99", "lost"].map(str::to_owned)));
    for (cell, span) in rows {
        let figures = match span {
            None => ["no data", "", ""].map(str::to_owned),
            Some(span) => [quantile(&span.times, 0.5), quantile(&span.times, 0.99), share(span)],
        };
        let [from, to] = [&cell.from, &cell.to].map(|name| visible(name));
        let _written = writeln!(text, "{}", line([&from, &to, cell.over.name()], figures));
    }
    if left_out > 0 {
        let others = count(left_out as u64, "other cell", "other cells");
        let _written = writeln!(text, "  {others} with less loss or shorter p99: name a host, or --json");
    }
    text
}

/// A line of the table: names that are longer than their column push the others on.
fn line(names: [&str; 3], figures: [String; 3]) -> String {
    let [from, to, over] = names;
    let [p50, p99, lost] = figures;
    format!("  {from:<NAME$} {to:<NAME$} {over:<11} {p50:>9} {p99:>9} {lost:>8}").trim_end().to_owned()
}

fn json(overview: &Overview, zone: &TimeZone) -> String {
    let rows = overview.cells.iter().map(|(cell, span)| Row { cell, hour: span.as_ref().map(Figures::of) });
    written(&Document {
        format: "sonde-history-overview",
        version: 1,
        store: &overview.place,
        latest: overview.latest.and_then(|at| moment(at, zone)),
        hour: overview.hour.and_then(|at| moment(at, zone)),
        cells: rows.collect(),
        incidents: &overview.open,
        over: &overview.over,
    })
}
