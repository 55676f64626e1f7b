//! The numbers of a screen: quantiles in columns, then the figures that go with them.

use measure::event::Counts;
use measure::method::{LoopKind, Method};
use measure::outcome::{Distribution, Jitter, Loss, OfSent, Outcome, Standing, Steady};
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};

use super::load;
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::{APART, LABEL};

/// The quantiles of each distribution in a row, in as many blocks of columns as the width needs.
pub(super) fn quantiles(page: &mut Page, outcome: &Outcome, method: &Method) {
    let rows = rows(outcome, method, page.style().verbose);
    let named = rows.len() > 1;
    in_columns(page, &outcome.response, &rows, named);
}

/// The quantiles of one distribution, under its name.
pub(super) fn quantiles_of(page: &mut Page, name: &'static str, distribution: &Distribution) {
    in_columns(page, distribution, &[Row { name, values: Values::Of(distribution) }], true);
}

/// Rows under the columns that `leading` fills, and that one's intervals where they are wanted.
fn in_columns(page: &mut Page, leading: &Distribution, rows: &[Row<'_>], named: bool) {
    if leading.count == 0 {
        return;
    }
    let columns = columns(leading);
    let mut table = vec![line("", columns.iter().map(|column| Piece::new(column.head(), Tone::Faint)))];
    for row in rows {
        let name = if named { row.name } else { "" };
        table.push(line(name, columns.iter().map(|column| row.cell(*column))));
    }
    page.table(&table);
    if page.style().verbose {
        page.gap();
        intervals(page, leading);
    }
    page.gap();
}

fn line(name: &str, cells: impl Iterator<Item = Piece>) -> Vec<Piece> {
    [Piece::new(name, Tone::Faint)].into_iter().chain(cells).collect()
}

/// A column of the quantiles' table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Min,
    Quantile(f64),
    Max,
}

impl Column {
    fn head(self) -> String {
        match self {
            Self::Min => "min".to_owned(),
            Self::Quantile(q) => quantile_name(q),
            Self::Max => "max".to_owned(),
        }
    }
}

/// The extremes, and between them the quantiles of `distribution` that may be printed.
fn columns(distribution: &Distribution) -> Vec<Column> {
    let printed = distribution.quantiles.iter().filter(|quantile| number::quantile(quantile).is_some());
    [Column::Min].into_iter().chain(printed.map(|quantile| Column::Quantile(quantile.q))).chain([Column::Max]).collect()
}

/// A row of the quantiles' table.
struct Row<'a> {
    name: &'static str,
    values: Values<'a>,
}

enum Values<'a> {
    Of(&'a Distribution),
    /// Quantiles over more than the answered, and what is told where one falls among the unanswered.
    Beyond(&'a [OfSent], Nanos),
}

impl Row<'_> {
    fn cell(&self, column: Column) -> Piece {
        match self.values {
            Values::Of(distribution) => of(distribution, column),
            Values::Beyond(list, timeout) => beyond(list, timeout, column),
        }
    }
}

fn of(distribution: &Distribution, column: Column) -> Piece {
    let text = match column {
        Column::Min => distribution.min_ns.map(|min| min.to_string()),
        Column::Max => distribution.max_ns.map(|max| max.to_string()),
        Column::Quantile(q) => {
            let found = distribution.quantiles.iter().find(|quantile| quantile.q == q);
            if found.is_some_and(|quantile| quantile.standing == Standing::Rough) {
                return Piece::new(found.and_then(number::quantile).unwrap_or_default(), Tone::Faint);
            }
            found.and_then(number::quantile)
        }
    };
    Piece::from(text.unwrap_or_default())
}

fn beyond(list: &[OfSent], timeout: Nanos, column: Column) -> Piece {
    let Column::Quantile(q) = column else { return Piece::default() };
    let Some(found) = list.iter().find(|of_sent| of_sent.q == q) else { return Piece::default() };
    Piece::from(found.value_ns.map_or_else(|| format!("> {timeout}"), |value| value.to_string()))
}

fn rows<'a>(outcome: &'a Outcome, method: &Method, verbose: bool) -> Vec<Row<'a>> {
    let own = match outcome.loop_kind {
        LoopKind::Closed => "round trip",
        LoopKind::Open => "response",
    };
    let mut rows = vec![Row { name: own, values: Values::Of(&outcome.response) }];
    if let Some(list) = &outcome.of_sent {
        rows.push(Row { name: "of all sent", values: Values::Beyond(list, method.timeout_ns) });
    }
    if let Some(service) = &outcome.service {
        rows.push(Row { name: "service", values: Values::Of(service) });
    }
    if let Some(slip) = &outcome.slip {
        rows.push(Row { name: "slip", values: Values::Of(&slip.distribution) });
    }
    if let Some(list) = outcome.time_weighted.as_ref().filter(|_| verbose) {
        rows.push(Row { name: "random arrival", values: Values::Beyond(list, method.timeout_ns) });
    }
    rows
}

/// Each quantile with its interval and what lies beyond it.
fn intervals(page: &mut Page, distribution: &Distribution) {
    let head = ["", "value", "95 % interval", "beyond"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    for quantile in &distribution.quantiles {
        let Some(value) = number::quantile(quantile) else { continue };
        let interval = number::interval(quantile).unwrap_or_default();
        rows.push([quantile_name(quantile.q), value, interval, grouped(quantile.beyond)].map(Piece::from).to_vec());
    }
    if rows.len() > 1 {
        page.table(&rows);
    }
}

/// Mean and spread, counts and rates, losses, and whether the run settled.
pub(super) fn figures(page: &mut Page, outcome: &Outcome, method: &Method) {
    let is_load = method.traffic.load().is_some();
    let (ways, order) = if is_load { (load::ways(outcome), order(outcome)) } else { Default::default() };
    let (counts, rates, losses) = (counts(outcome), rates(outcome), losses(outcome, is_load));
    for items in [spread(&outcome.response), counts, rates, losses, ways, order, course(outcome)] {
        if !items.is_empty() {
            page.flow(INDENT, INDENT, APART, &items);
        }
    }
    if page.style().verbose {
        details(page, outcome, is_load);
    }
}

pub(super) fn spread(distribution: &Distribution) -> Vec<Piece> {
    let mean = distribution.mean_ns.and_then(|mean| {
        let text = number::estimate(mean, distribution.mean_ci_ns)?;
        let sure = if text.contains('±') { " (95 %)" } else { "" };
        Some(format!("mean {text}{sure}"))
    });
    let stddev = distribution.stddev_ns.and_then(number::time).map(|stddev| format!("stddev {stddev}"));
    [mean, stddev].into_iter().flatten().map(Piece::from).collect()
}

/// How many there were and what became of them: the lost always, the other fates where there are any.
fn counts(outcome: &Outcome) -> Vec<Piece> {
    let counts = &outcome.counts;
    let mut items: Vec<Piece> = load::messages(outcome).into_iter().collect();
    if counts.answered == counts.scheduled && counts.scheduled > 0 {
        items.push(Piece::from(number::count(counts.answered, "exchange", "exchanges")));
    } else {
        let (answered, scheduled) = (grouped(counts.answered), grouped(counts.scheduled));
        let tone = if counts.answered == 0 { Tone::Alarm } else { Tone::Plain };
        items.push(Piece::new(format!("{answered} of {scheduled} answered"), tone));
    }
    if outcome.loop_kind == LoopKind::Closed && counts.answered > 0 {
        items.extend(outcome.answered_per_s.and_then(number::rate).map(Piece::from));
    }
    let tone = if counts.lost > 0 { Tone::Alarm } else { Tone::Plain };
    items.push(Piece::new(format!("{} lost", grouped(counts.lost)), tone));
    items.extend(others(counts));
    items
}

fn others(counts: &Counts) -> impl Iterator<Item = Piece> {
    [
        (counts.late, "late", "late"),
        (counts.refused, "refused", "refused"),
        (counts.corrupt, "corrupt", "corrupt"),
        (counts.send_failed + counts.one_way_failed, "not sent", "not sent"),
        (counts.duplicated, "duplicate", "duplicates"),
        (counts.reordered, "reordered", "reordered"),
        (counts.strays, "stray message", "stray messages"),
        (counts.ticks_missed, "tick missed", "ticks missed"),
        (counts.clock_steps, "step of the clock", "steps of the clock"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| Piece::new(number::count(count, one, many), Tone::Alarm))
}

/// What an open loop offered, and what came of it.
fn rates(outcome: &Outcome) -> Vec<Piece> {
    if outcome.loop_kind == LoopKind::Closed {
        return Vec::new();
    }
    let say =
        |what: &str, rate: Option<f64>| rate.and_then(number::rate).map(|rate| Piece::from(format!("{what} {rate}")));
    let mut items: Vec<Piece> = [
        say("offered", outcome.offered_per_s),
        say("sent", outcome.sent_per_s),
        say("received", outcome.received_per_s),
        say("answered", outcome.answered_per_s),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(slip) = &outcome.slip {
        if !slip.rate_achieved {
            items.push(Piece::new("rate not achieved", Tone::Alarm));
        }
        items.extend(load::held(slip));
        if slip.behind_share > 0.0 {
            items.push(Piece::from(format!("{} sent behind schedule", number::percent(slip.behind_share))));
        }
    }
    items
}

/// The ratio of losses with its interval, their runs, and on which way they were lost.
fn losses(outcome: &Outcome, is_load: bool) -> Vec<Piece> {
    let (loss, counts) = (&outcome.loss, &outcome.counts);
    if counts.lost + counts.late == 0 {
        return Vec::new();
    }
    let late = if counts.late > 0 { ", late included" } else { "" };
    let interval = match (loss.low, loss.high) {
        (Some(low), Some(high)) => format!(" (95 %: {} … {})", number::percent(low), number::percent(high)),
        _ => String::new(),
    };
    let of = if is_load { " of the requests" } else { "" };
    let ratio = loss.ratio.map(|ratio| format!("loss {}{of}{interval}{late}", number::percent(ratio)));
    let runs = (loss.periods > 0).then(|| {
        let runs = number::count(loss.periods, "run", "runs");
        format!("in {runs}, the longest {}", grouped(loss.longest_period))
    });
    // Of a load the ways are told of all messages, not of the requests among them.
    let ways = if is_load { None } else { ways(loss, counts) };
    [ratio, runs, ways].into_iter().flatten().map(Piece::from).collect()
}

/// Lost on the way there and on the way back, where the peer counted what it received.
fn ways(loss: &Loss, counts: &Counts) -> Option<String> {
    let sent = counts.scheduled.checked_sub(counts.send_failed)?;
    let there = sent.checked_sub(loss.peer_received?)?;
    let back = (counts.lost + counts.late).checked_sub(there)?;
    Some(format!("{} on the way there, {} back", grouped(there), grouped(back)))
}

/// How the run went: its first exchange, whether it settled, how much its values repeat each other.
fn course(outcome: &Outcome) -> Vec<Piece> {
    let mut items = Vec::new();
    items.extend(outcome.first_ns.map(|first| Piece::from(format!("first {first}"))));
    if outcome.response.count == 0 {
        return items;
    }
    items.push(match outcome.steady {
        Steady::Settled { transient: 0 } => Piece::from("steady"),
        Steady::Settled { transient } => {
            Piece::from(format!("steady after {}", number::count(transient, "answer", "answers")))
        }
        Steady::Drifting { shift_ns } => {
            Piece::new(format!("drifting by {} from first to last third", number::signed_time(shift_ns)), Tone::Alarm)
        }
        Steady::NotFound => Piece::new("no steady state found", Tone::Alarm),
        Steady::TooShort => Piece::from("too short to tell whether it is steady"),
    });
    if let Some(size) = number::correlated(&outcome.response) {
        let size = grouped(size.round().max(1.0) as u64);
        items.push(Piece::from(format!("correlated: worth {size} independent values")));
    }
    items
}

/// What has more names than one number can have, and belongs to no one-screen summary.
fn details(page: &mut Page, outcome: &Outcome, is_load: bool) {
    let loss = &outcome.loss;
    if let Some(high) = loss.high.filter(|_| outcome.counts.lost + outcome.counts.late == 0) {
        page.paragraph(
            INDENT,
            &Piece::new("loss", Tone::Faint),
            LABEL,
            &format!("below {} (95 %)", number::percent(high)),
        );
    }
    let items: Vec<Piece> = outcome.jitter.iter().flat_map(kinds).map(Piece::from).collect();
    if !items.is_empty() {
        page.flow(INDENT, INDENT, APART, &items);
    }
    if is_load {
        load::course(page, &outcome.seconds);
        return;
    }
    let order = order(outcome);
    if !order.is_empty() {
        page.flow(INDENT, INDENT, APART, &order);
    }
}

/// The overtaken by how far they were, where there are any.
fn order(outcome: &Outcome) -> Vec<Piece> {
    let extents: Vec<Piece> = outcome
        .reorder_extents
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(class, count)| Piece::from(format!("{} by {}", grouped(*count), extent(class))))
        .collect();
    if extents.is_empty() {
        return extents;
    }
    [Piece::new("reordered", Tone::Faint)].into_iter().chain(extents).collect()
}

/// How many replies after the earliest one that overtook them those of a class came.
fn extent(class: usize) -> String {
    let from = 1_u64 << class.min(LAST_CLASS);
    match class {
        0 => "1".to_owned(),
        LAST_CLASS.. => format!("{} or more", grouped(from)),
        _ => format!("{} to {}", grouped(from), grouped(2 * from - 1)),
    }
}

/// The class that has no upper end.
const LAST_CLASS: usize = 15;

/// Each kind of jitter by its name, with what could be computed.
fn kinds(jitter: &Jitter) -> Vec<String> {
    let quantiles = |name: &str, list: [(&str, Option<Nanos>); 3]| {
        let told: Vec<String> = list.iter().filter_map(|(q, value)| Some(format!("{q} {}", (*value)?))).collect();
        (!told.is_empty()).then(|| format!("{name} {}", told.join(" ")))
    };
    let smoothed = number::time(jitter.rtt_rfc3550_ns).map(|value| format!("rtt-rfc3550 {value}"));
    let mdev = number::time(jitter.mdev_ns).map(|value| format!("mdev {value}"));
    let ipdv = [("p50", jitter.rtt_ipdv_p50_ns), ("p95", jitter.rtt_ipdv_p95_ns), ("p99", jitter.rtt_ipdv_p99_ns)];
    let pdv = [("p95", jitter.rtt_pdv_p95_ns), ("p99", jitter.rtt_pdv_p99_ns), ("p99.9", jitter.rtt_pdv_p999_ns)];
    [quantiles("rtt-ipdv", ipdv), quantiles("rtt-pdv", pdv), smoothed, mdev].into_iter().flatten().collect()
}
