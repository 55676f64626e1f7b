//! The numbers of a screen: quantiles in columns, then the figures that go with them.

use measure::event::Counts;
use measure::method::{LoopKind, Method};
use measure::outcome::{Distribution, Jitter, Loss, OfSent, Outcome, Standing, Steady};
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};

use super::load;
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::LABEL;
use crate::words;

/// The quantiles of each distribution in a row, in as many blocks of columns as the width needs.
pub(super) fn quantiles(page: &mut Page, outcome: &Outcome, method: &Method) {
    let columns = columns(&outcome.response);
    let mut rows = rows(outcome, method, page.style().verbose);
    rows.retain(|row| row.has_one_of(&columns));
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

    /// True where a cell of these columns is filled: of few values no quantile has a column.
    fn has_one_of(&self, columns: &[Column]) -> bool {
        let Values::Beyond(list, _) = self.values else { return true };
        list.iter().any(|of_sent| columns.contains(&Column::Quantile(of_sent.q)))
    }
}

fn of(distribution: &Distribution, column: Column) -> Piece {
    let text = match column {
        Column::Min => distribution.min_ns.map(number::measured),
        Column::Max => distribution.max_ns.map(number::measured),
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
    Piece::from(found.value_ns.map_or_else(|| format!("> {timeout}"), number::measured))
}

fn rows<'a>(outcome: &'a Outcome, method: &Method, verbose: bool) -> Vec<Row<'a>> {
    let own = match outcome.loop_kind {
        LoopKind::Closed => "round trip",
        LoopKind::Open => "response time",
    };
    let mut rows = vec![Row { name: own, values: Values::Of(&outcome.response) }];
    if let Some(list) = outcome.of_sent.as_ref().filter(|list| !list.is_empty()) {
        rows.push(Row { name: words::of_sent(&outcome.counts), values: Values::Beyond(list, method.timeout_ns) });
    }
    if let Some(service) = &outcome.service {
        rows.push(Row { name: "service time", values: Values::Of(service) });
    }
    if let Some(slip) = &outcome.slip {
        rows.push(Row { name: "schedule lag", values: Values::Of(&slip.distribution) });
    }
    let differs = outcome.stalls.is_some() || arrives_later(outcome);
    if let Some(list) = outcome.time_weighted.as_ref().filter(|_| verbose || differs) {
        rows.push(Row { name: "random arrival", values: Values::Beyond(list, method.timeout_ns) });
    }
    rows
}

/// True where half of the time passed in answers that took twice the median or longer: then the median is not that of a random moment.
fn arrives_later(outcome: &Outcome) -> bool {
    let half = |list: &Vec<OfSent>| list.iter().find(|of| of.q == 0.5).and_then(|of| of.value_ns);
    let median = outcome.response.quantiles.iter().find(|quantile| quantile.q == 0.5).and_then(|found| found.value_ns);
    let both = outcome.time_weighted.as_ref().and_then(half).zip(median);
    both.is_some_and(|(arrival, median)| arrival.0 >= median.0.saturating_mul(2))
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

/// Mean and number of round trips, rates, statuses and losses; with `-v` also how the run developed.
pub(super) fn figures(page: &mut Page, outcome: &Outcome, method: &Method) {
    let is_load = method.traffic.load().is_some();
    let order = if is_load { order(outcome) } else { Vec::new() };
    let mean = summary(outcome, is_load);
    if !mean.is_empty() {
        page.items(INDENT, &Piece::default(), INDENT, &mean);
    }
    let unanswered = outcome.counts.missing() > 0;
    let tone = if unanswered { Tone::Alarm } else { Tone::Faint };
    labelled(page, &Piece::new("status", tone), &statuses(outcome, is_load));
    labelled(page, &Piece::new("loss", Tone::Alarm), &losses(outcome, is_load));
    let slow = outcome.slip.as_ref().is_some_and(|slip| !slip.rate_achieved);
    labelled(page, &Piece::new("rate", if slow { Tone::Alarm } else { Tone::Faint }), &rates(outcome));
    labelled(page, &Piece::new("order", Tone::Alarm), &order);
    if page.style().verbose {
        labelled(page, &Piece::new("course", Tone::Faint), &course(outcome));
        details(page, outcome, is_load);
    }
}

/// Items behind a label; nothing where there are none.
fn labelled(page: &mut Page, label: &Piece, items: &[String]) {
    if !items.is_empty() {
        page.items(INDENT, label, LABEL, items);
    }
}

/// `mean 24.2 µs ± 1.3 (95 %) · 82 023 round trips in 2 s (41 011/s)`.
fn summary(outcome: &Outcome, is_load: bool) -> Vec<String> {
    let mut items: Vec<String> = mean(&outcome.response).into_iter().collect();
    let answered = outcome.counts.answered;
    if answered > 0 {
        let (one, many) = if is_load { ("reply", "replies") } else { ("round trip", "round trips") };
        let closed = outcome.loop_kind == LoopKind::Closed;
        let rate = outcome.answered_per_s.filter(|_| closed).and_then(number::rate);
        let rate = rate.map_or_else(String::new, |rate| format!(" ({rate})"));
        items.push(format!("{} in {}{rate}", number::count(answered, one, many), outcome.elapsed_ns));
    }
    items
}

/// `mean 24.2 µs ± 1.3 (95 %)`. An interval that reaches below zero says that the mean is not steady.
pub(super) fn mean(distribution: &Distribution) -> Option<String> {
    let mean = distribution.mean_ns?;
    if distribution.mean_ci_ns.is_some_and(|half| half >= mean) {
        return Some("mean not steady".to_owned());
    }
    let text = number::estimate(mean, distribution.mean_ci_ns)?;
    let sure = if text.contains('±') { " (95 %)" } else { "" };
    Some(format!("mean {text}{sure}"))
}

fn deviation(distribution: &Distribution) -> Option<String> {
    Some(format!("standard deviation {}", number::time(distribution.stddev_ns?)?))
}

/// Requests by status, where not all were answered or some messages were odd.
fn statuses(outcome: &Outcome, is_load: bool) -> Vec<String> {
    let counts = &outcome.counts;
    let others: Vec<String> = others(counts).collect();
    let missing = counts.missing();
    let mut items: Vec<String> = load::messages(outcome).into_iter().collect();
    if missing > 0 || !others.is_empty() || counts.answered != counts.scheduled {
        let requests = if is_load { " requests" } else { "" };
        items.push(format!("{} of {}{requests} answered", grouped(counts.answered), grouped(counts.scheduled)));
        items.push(format!("{} lost", grouped(counts.lost)));
    }
    items.extend(others);
    items
}

fn others(counts: &Counts) -> impl Iterator<Item = String> {
    [
        (counts.late, "late", "late"),
        (counts.refused, "refused", "refused"),
        (counts.corrupt, "corrupt", "corrupt"),
        (counts.unsent(), "not sent", "not sent"),
        (counts.duplicated, "duplicate", "duplicates"),
        (counts.reordered, "reordered", "reordered"),
        (counts.strays, "stray message", "stray messages"),
        (counts.ticks_missed, "skipped send", "skipped sends"),
        (counts.clock_steps, "clock step", "clock steps"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(count, one, many)| number::count(count, one, many))
}

/// The offered, sent and received rates of an open loop.
fn rates(outcome: &Outcome) -> Vec<String> {
    if outcome.loop_kind == LoopKind::Closed {
        return Vec::new();
    }
    let rates = [
        ("offered", outcome.offered_per_s),
        ("sent", outcome.sent_per_s),
        ("received", outcome.received_per_s),
        ("answered", outcome.answered_per_s),
    ];
    let rates = rates.into_iter().filter_map(|(name, rate)| Some(format!("{name} {}", number::rate(rate?)?)));
    let mut items: Vec<String> = rates.collect();
    if let Some(slip) = &outcome.slip {
        items.extend(load::held(slip));
        if slip.behind_share > 0.0 {
            items.push(format!("{} sent late", number::percent(slip.behind_share)));
        }
    }
    items
}

/// The loss rate with its interval, runs of losses, and their direction.
fn losses(outcome: &Outcome, is_load: bool) -> Vec<String> {
    let (loss, counts) = (&outcome.loss, &outcome.counts);
    let directions = if is_load { load::directions(outcome) } else { Vec::new() };
    if counts.missing() == 0 {
        return directions;
    }
    let late = if counts.late > 0 { ", late included" } else { "" };
    let interval = match (loss.low, loss.high) {
        (Some(low), Some(high)) => format!(" (95 %: {} … {})", number::percent(low), number::percent(high)),
        _ => String::new(),
    };
    let of = if is_load { " of the requests" } else { "" };
    let ratio = loss.ratio.map(|ratio| format!("{}{of}{interval}{late}", number::percent(ratio)));
    let runs = (loss.periods > 0).then(|| {
        let runs = number::count(loss.periods, "run of losses", "runs of losses");
        format!("{runs}, longest {}", grouped(loss.longest_period))
    });
    // A load counts the directions of all messages, not of the requests among them.
    let ways = if is_load { None } else { ways(loss, counts).or_else(|| hidden(outcome)) };
    [ratio, runs, ways].into_iter().flatten().chain(directions).collect()
}

/// Lost requests and lost replies, where the peer counted.
fn ways(loss: &Loss, counts: &Counts) -> Option<String> {
    let sent = counts.scheduled.checked_sub(counts.send_failed)?;
    // Where the way of a loss is not known, the peer's count alone does not tell it.
    let unseen = sent.checked_sub(loss.peer_received.filter(|_| loss.forward.is_some())?)?;
    // Those of the warm-up are among what came from elsewhere.
    let other = loss.peer_elsewhere.unwrap_or(0).min(unseen);
    let there = unseen - other;
    // A late reply is lost on neither way.
    let back = counts.lost.checked_sub(unseen)?;
    // Where others were late, these may only be later yet.
    let later = if back > 0 && counts.late > 0 { ", or later yet" } else { "" };
    let elsewhere =
        if other > 0 { format!(", {} came there from another port", grouped(other)) } else { String::new() };
    Some(format!("{} on the way to the peer{elsewhere}, {} back{later}", grouped(there), grouped(back)))
}

/// A far side that counts copies does not know how many requests came, once the path made some.
fn hidden(outcome: &Outcome) -> Option<String> {
    let counts = outcome.one_way.as_ref()?.counts_answers?;
    (counts && outcome.counts.duplicated > 0 && outcome.loss.peer_received.is_none())
        .then(|| "directions not established: the path duplicates packets".to_owned())
}

/// The first round trip, the steady state, and how much the values repeat each other.
fn course(outcome: &Outcome) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(outcome.first_ns.map(|first| format!("first round trip {first:#}")));
    if outcome.response.count == 0 {
        return items;
    }
    items.push(match outcome.steady {
        Steady::Settled { transient: 0 } => "steady state from the start".to_owned(),
        Steady::Settled { transient } => {
            format!("steady state after {}", number::count(transient, "reply", "replies"))
        }
        Steady::Drifting { shift_ns } => {
            format!("drift of p50 by {} from first to last third", number::signed_time(shift_ns))
        }
        Steady::NotFound => "no steady state found".to_owned(),
        Steady::TooShort => "too short to detect a steady state".to_owned(),
    });
    if let Some(size) = number::correlated(&outcome.response) {
        let size = grouped(size.round().max(1.0) as u64);
        items.push(format!("effective sample size {size} of {}", grouped(outcome.response.count)));
    }
    items.extend(deviation(&outcome.response));
    items
}

/// Jitter by its names, the bound of a loss that was not seen, and the seconds of a load.
fn details(page: &mut Page, outcome: &Outcome, is_load: bool) {
    if let Some(high) = outcome.loss.high.filter(|_| outcome.counts.missing() == 0) {
        let text = format!("below {} (95 %)", number::percent(high));
        page.paragraph(INDENT, &Piece::new("loss", Tone::Faint), LABEL, &text);
    }
    labelled(page, &Piece::new("jitter", Tone::Faint), &outcome.jitter.iter().flat_map(kinds).collect::<Vec<_>>());
    if is_load {
        load::course(page, &outcome.seconds);
    } else {
        labelled(page, &Piece::new("order", Tone::Alarm), &order(outcome));
    }
}

/// The reordered replies by how far they were overtaken, where there are any.
fn order(outcome: &Outcome) -> Vec<String> {
    let extents = outcome.reorder_extents.iter().enumerate().filter(|(_, count)| **count > 0);
    extents.map(|(class, count)| format!("{} reordered by {}", grouped(*count), extent(class))).collect()
}

/// The number of replies between the earliest one that overtook those of a class and them.
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
