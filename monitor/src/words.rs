//! Figures and sentences of the screen and of the summary.

use measure::comparison::{Compared, Interval, Word};
use measure::lookout::incident::Kind;
use measure::span::{Distribution, Span};

use crate::breakdown::Part;
use crate::comparison::{Parted, moved, moved_between, parted};
use crate::incident;
use crate::notices::Notice;
use crate::view::{Mark, NOW, Row, View};

/// Keys and their actions.
pub const HELP: &str = "\
up, down     choose another way
space        stand still: measuring goes on, and the next space shows it
m            mark this moment: type what you do, as `changed qdisc`, and enter; the time
             before it is compared with the time after it
w            write a page (HTML) of what was measured so far
p            percentile: p50, p90, p99, p99.9
+ and -      time per column: 1 s, 10 s, 1 min, 10 min
h            histogram of the last 5 min, or the map of latency over time
enter        the chosen way alone, or all
s            order: as named, slowest first, most lost first
q, Ctrl-C    end, with a summary

p50, max and lost are of the last 10 s; 5m stands for the last 5 min. ~ stands before a percentile that fewer
than 100 requests exceeded; fewer than 10, and it is not shown. x in place of a bar: no answer at all.
! before a line: something changed there, or this host is busy, or drops packets; choose it to see what.";

/// A quantile as it is printed: `24.9 µs`, `~24.9 µs` of few values, `–` of too few.
pub fn quantile(times: &Distribution, q: f64) -> String {
    let printed = times.printed(q).and_then(|(nanos, few)| {
        let time = report::number::time(nanos as f64)?;
        Some(if few { format!("~{time}") } else { time })
    });
    printed.unwrap_or_else(|| "–".to_owned())
}

/// The share of the requests that were not answered.
pub fn share(span: &Span) -> String {
    span.lost_share().map_or_else(|| "–".to_owned(), report::number::percent)
}

/// `p50`, `p99.9`.
pub fn percentile_name(q: f64) -> String {
    format!("p{}", (q * 1e4).round() / 1e2)
}

/// The line above the map.
pub fn title(row: &Row, view: &View, ascii: bool) -> String {
    let rule = if ascii { "--" } else { "──" };
    let what = if view.shows_histogram {
        "response times of the last 5 min"
    } else {
        "response time over time, number of requests by shade"
    };
    format!("{rule} {} {rule} {what}", row.way.named())
}

/// A mark with its time: `14:02:10 changed qdisc`.
pub fn mark_named(mark: &Mark, view: &View) -> String {
    format!("{} {}", view.clock(mark.at), report::markup::visible(&mark.text))
}

/// Sides of a mark for one way, in words.
pub fn mark_told(mark: &Mark, row: &Row, view: &View) -> String {
    let name = percentile_name(view.percentile());
    match parted(&row.history, mark.at, view.end(), view.percentile()) {
        Parted::Told(judged) => {
            let is_changed = matches!(judged.latency.word, Word::More | Word::Less);
            let parts = moved(row, mark.at, view.end()).filter(|_| is_changed);
            let parts = parts.map(|parts| format!(", {}", parts_moved(&parts, row))).unwrap_or_default();
            format!("{}{parts}, {}", change(&name, &judged.latency), difference(&judged.loss))
        }
        Parted::TooLittleBefore(seconds) => format!("too short a time before it to compare: {seconds} s are wanted"),
        Parted::Unsteady => "it wanders by itself for longer than a change can be told from".to_owned(),
        Parted::Within(seconds) => format!("compared in {seconds} s"),
    }
}

/// Change of one way, in words: `14:02:10 ± 3 s: p50 +31 % [24, 40], wake-up at db1 +38.2 µs; path: no difference shown`.
pub fn notice_told(notice: &Notice, row: &Row, view: &View) -> String {
    let incident = &notice.incident;
    let over = notice.ended.map(|at| format!("; over since {}", view.clock(view.second(at)))).unwrap_or_default();
    let moved = match incident.kind {
        Kind::Slower | Kind::Faster | Kind::Tail => {
            let (end, begin) = (view.second(incident.onset.earliest), view.second(incident.onset.latest) + 1);
            let until = notice.ended.map_or(view.end(), |at| view.second(at));
            moved_between(row, end, begin, until).map(|parts| format!(", {}", parts_moved(&parts, row)))
        }
        _ => None,
    };
    let moved = moved.unwrap_or_default();
    format!("{}: {}{moved}{over}", incident::onset(incident.onset, &view.zone), incident::change(incident))
}

/// `wake-up at db1 +38.2 µs; path: no difference shown`.
fn parts_moved(parts: &[(Part, Compared)], row: &Row) -> String {
    const MOST: usize = 2;
    let host = report::markup::visible(row.way.peer());
    let shown: Vec<String> = parts
        .iter()
        .filter(|(_, compared)| matches!(compared.word, Word::More | Word::Less))
        .filter_map(|(part, compared)| {
            Some(format!("{} {}", part_name(*part, &host), signed(compared.difference?.value)?))
        })
        .take(MOST)
        .collect();
    let is_path_same = parts.iter().any(|(part, compared)| *part == Part::Path && compared.word == Word::NotShown);
    let path = if is_path_same { "; path: no difference shown" } else { "" };
    if shown.is_empty() {
        format!("in no one part of the round trip{path}")
    } else {
        format!("{}{path}", shown.join(", "))
    }
}

/// `+38.2 µs`.
fn signed(nanos: f64) -> Option<String> {
    let sign = if nanos < 0.0 { "−" } else { "+" };
    Some(format!("{sign}{}", report::number::time(nanos.abs())?))
}

fn part_name(part: Part, peer: &str) -> String {
    match part {
        Part::Send => "send here".to_owned(),
        Part::Queue => "queue here".to_owned(),
        Part::Outside => format!("path and {peer}"),
        Part::Path => "path".to_owned(),
        Part::PeerWakeUp => format!("wake-up at {peer}"),
        Part::PeerProgram => format!("program at {peer}"),
        Part::PeerSend => format!("send at {peer}"),
        Part::WakeUp => "wake-up here".to_owned(),
    }
}

/// Breakdown of the latest round trips, the longest part first: `path 45.1 µs`, `wake-up at peer 40.1 µs`.
pub fn time_went(row: &Row, view: &View) -> Vec<String> {
    let (from, to) = now(view);
    let timed = |part: Part| Some((part, row.breakdown.median(part, from, to)?));
    let mut parts: Vec<(Part, f64)> = Part::ALL.into_iter().filter_map(timed).collect();
    parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let told = |(part, time): &(Part, f64)| {
        Some(format!("{} {}", part_name(*part, "peer"), report::number::short_time(*time)?))
    };
    parts.iter().filter_map(told).collect()
}

/// The trouble of one way: a program that refuses, this host that is busy or drops packets.
pub fn warnings(row: &Row, view: &View) -> Vec<String> {
    let (from, to) = now(view);
    let busy = row.breakdown.busy(from, to).map(|busy| {
        let by = [
            ("a measuring thread waited", busy.run_queue),
            ("some task waited", busy.pressure),
            ("stolen", busy.steal),
        ];
        let by = by.iter().filter_map(|(what, share)| Some(format!("{what} {}", report::number::percent((*share)?))));
        format!("! this host was busy (CPU: {})", by.collect::<Vec<_>>().join(", "))
    });
    let dropped = row.breakdown.dropped(from, to);
    let dropped = (!dropped.is_empty()).then(|| {
        let counts = dropped.iter().map(|(name, count)| format!("{name} {count}"));
        format!("! this host dropped packets, a queue was full: {}", counts.collect::<Vec<_>>().join(", "))
    });
    let refused = row.refusals.between(from, to).map(|kinds| format!("! replies that refused: {kinds}"));
    refused.into_iter().chain(busy).chain(dropped).collect()
}

fn now(view: &View) -> (u64, u64) {
    (view.end().saturating_sub(NOW), view.end())
}

/// `p50 +31 % [24, 40]`, or that no difference was shown.
pub fn change(name: &str, latency: &Compared) -> String {
    match (latency.word, &latency.change) {
        (Word::More | Word::Less, Some(change)) => format!("{name} {}", interval(change)),
        (Word::TooFewRuns, _) => format!("{name}: too few answers to compare"),
        _ => format!("{name}: no difference shown"),
    }
}

/// `loss +1.2 % [0.5, 2]` in points, or that no difference was shown.
pub fn difference(loss: &Compared) -> String {
    match (loss.word, &loss.difference) {
        (Word::More | Word::Less, Some(difference)) => format!("loss {} of the requests", interval(difference)),
        (Word::TooFewRuns, _) => "loss: too few requests to compare".to_owned(),
        _ => "loss: no difference shown".to_owned(),
    }
}

/// A share and its ends, in percent.
fn interval(of: &Interval) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0).replace('-', "−");
    match (of.low, of.high) {
        (Some(low), Some(high)) => format!("{} % [{}, {}]", percent(of.value), percent(low), percent(high)),
        _ => format!("{} %", percent(of.value)),
    }
}
