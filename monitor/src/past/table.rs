//! The past as text: the answer in one sentence, then a line for each interval, in 80 columns.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use measure::span::Span;
use measure::unit::grouped;
use report::markup::visible;

use super::{Events, Past};
use crate::store::{Cell, Incident, Level, Mark};
use crate::words::{quantile, share};

/// All of it as text.
pub fn text(pasts: &[Past], events: &Events, zone: &TimeZone) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for past in pasts {
        let _written = writeln!(text, "{}", answer(past, zone));
    }
    for past in pasts.iter().filter(|past| !past.rows.is_empty()) {
        let _written = writeln!(text, "\n{}", named(&past.cell));
        rows(&mut text, past, zone);
    }
    for incident in &events.incidents {
        let _written = writeln!(text, "! {}", incident_told(incident, zone));
    }
    for mark in &events.marks {
        let _written = writeln!(text, "  mark {}", mark_told(mark, zone));
    }
    text
}

/// `a to b over udp`.
pub fn named(cell: &Cell) -> String {
    format!("{} to {} over {}", visible(&cell.from), visible(&cell.to), cell.over.name())
}

/// The answer: what all intervals together say.
fn answer(past: &Past, zone: &TimeZone) -> String {
    let (cell, whole) = (named(&past.cell), &past.whole);
    let (from, to) = (clock(past.stretch.from, zone), clock(past.stretch.to, zone));
    if past.rows.is_empty() {
        return format!("{cell}: no data from {from} to {to}");
    }
    let sent = whole.counts.messages_sent();
    if sent == 0 {
        return format!("{cell}: nothing was sent from {from} to {to}");
    }
    let latency = match quantile(&whole.times, 0.5).as_str() {
        "–" => "too few answers for a median".to_owned(),
        p50 => format!("p50 {p50}, p99 {}", quantile(&whole.times, 0.99)),
    };
    let zone = if past.level == Level::Day { " UTC" } else { "" };
    let lost = sent.saturating_sub(whole.counts.answered);
    let way = match (whole.lost_out, whole.lost_back) {
        (0, 0) => String::new(),
        (out, back) => format!(": {} lost on the way out, {} back", grouped(out), grouped(back)),
    };
    format!(
        "{cell}: {latency}, {} lost\n  {} of {} requests not answered{way}\n  {from} to {to}{zone}",
        share(whole),
        grouped(lost),
        grouped(sent),
    )
}

const HEAD: [&str; 8] = ["begins", "p50", "p99", "max", "lost", "out/back", "answered", "busy"];
const WIDTHS: [usize; 8] = [16, 8, 8, 8, 8, 8, 9, 6];

/// Columns beside each other: the first from the left, the others from the right.
fn line(columns: &[String; 8]) -> String {
    let mut line = String::from(" ");
    for (at, (column, width)) in columns.iter().zip(WIDTHS).enumerate() {
        let room = width.saturating_sub(column.chars().count());
        let (before, after) = if at == 0 { (0, room) } else { (room, 0) };
        let _written =
            write!(line, "{}{}{column}{}", if at == 0 { "" } else { " " }, " ".repeat(before), " ".repeat(after));
    }
    line.trim_end().to_owned()
}

fn rows(text: &mut String, past: &Past, zone: &TimeZone) {
    let length = past.level.seconds();
    let _written = writeln!(text, "{}", line(&HEAD.map(str::to_owned)));
    let mut next = past.stretch.from;
    for (at, span) in &past.rows {
        gap(text, next, *at, zone);
        next = at + length;
        let _written = writeln!(text, "{}", line(&figures(*at, span, zone)));
    }
    // The interval that goes on may not be kept yet, nor the one before it.
    if past.stretch.to > next + 2 * length {
        gap(text, next, past.stretch.to, zone);
    }
    if past.whole.disturbed > 0 {
        let host = visible(&past.cell.from);
        let _written = writeln!(text, " busy: time in which {host} itself was late; it says little of the network");
    }
}

/// Says that nothing is known from `from` to before `to`.
fn gap(text: &mut String, from: u64, to: u64, zone: &TimeZone) {
    if from < to {
        let _written = writeln!(text, " {} no data until {}", clock(from, zone), clock(to, zone));
    }
}

fn figures(at: u64, span: &Span, zone: &TimeZone) -> [String; 8] {
    let none = || "–".to_owned();
    // A reply that came late was lost on neither way.
    let way = if span.counts.lost == 0 {
        String::new()
    } else if span.lost_out + span.lost_back == 0 {
        none()
    } else {
        format!("{}/{}", span.lost_out, span.lost_back)
    };
    [
        clock(at, zone),
        quantile(&span.times, 0.5),
        quantile(&span.times, 0.99),
        span.max.map_or_else(none, |max| max.to_string()),
        share(span),
        way,
        grouped(span.counts.answered),
        if span.disturbed == 0 { String::new() } else { format!("{} s", grouped(span.disturbed)) },
    ]
}

/// `2026-11-24 14:05`, in the zone.
pub fn clock(at: u64, zone: &TimeZone) -> String {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_second(at).ok());
    moment.map_or_else(|| format!("second {at}"), |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string())
}

/// `slower: db1, db2, since 2026-11-24 14:05, until 2026-11-24 14:20 (incident 12)`.
pub fn incident_told(incident: &Incident, zone: &TimeZone) -> String {
    let hosts = match &incident.hosts[..] {
        [] => String::new(),
        hosts => format!(": {}", hosts.iter().map(|host| visible(host)).collect::<Vec<_>>().join(", ")),
    };
    let end = incident.ended.map_or_else(|| "goes on".to_owned(), |ended| format!("until {}", clock(ended, zone)));
    let silent = incident.silent_until.map(|until| format!(", silenced until {}", clock(until, zone)));
    format!(
        "{}{hosts}, since {}, {end}{} (incident {})",
        visible(&incident.kind),
        clock(incident.onset, zone),
        silent.unwrap_or_default(),
        incident.number()
    )
}

/// `2026-11-24 14:05 changed qdisc`.
fn mark_told(mark: &Mark, zone: &TimeZone) -> String {
    format!("{} {}", clock(mark.at, zone), visible(&mark.text))
}
