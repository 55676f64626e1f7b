//! Figures and sentences of the screen and of the summary.

use measure::comparison::{Compared, Interval, Word};

use crate::comparison::{Parted, parted};
use crate::view::{Mark, Row, View};
use measure::span::{Distribution, Span};

/// What the keys do.
pub const HELP: &str = "\
up, down     choose another way
space        stand still: measuring goes on, and the next space shows it
m            mark this moment: type what you do, as `changed qdisc`, and enter; the time
             before it is compared with the time after it
p            percentile: p50, p90, p99, p99.9
+ and -      time per column: 1 s, 10 s, 1 min, 10 min
h            histogram of the last 5 min, or the map of latency over time
enter        the chosen way alone, or all
s            order: as named, slowest first, most lost first
q, Ctrl-C    end, with a summary

p50, max and lost are of the last 10 s; 5m stands for the last 5 min. ~ stands before a percentile that fewer
than 100 requests exceeded; fewer than 10, and it is not shown. x in place of a bar: no answer at all.";

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
    format!("{rule} {} {} {rule} {what}", row.way.host, row.way.protocol.word())
}

/// A mark with its time: `14:02:10 changed qdisc`.
pub fn mark_named(mark: &Mark, view: &View) -> String {
    format!("{} {}", view.clock(mark.at), report::markup::visible(&mark.text))
}

/// What a mark parts of one way.
pub fn mark_told(mark: &Mark, row: &Row, view: &View) -> String {
    let name = percentile_name(view.percentile());
    match parted(&row.history, mark.at, view.end(), view.percentile()) {
        Parted::Told(judged) => format!("{}, {}", change(&name, &judged.latency), difference(&judged.loss)),
        Parted::TooLittleBefore(seconds) => format!("too short a time before it to compare: {seconds} s are wanted"),
        Parted::Unsteady => "it wanders by itself for longer than a change can be told from".to_owned(),
        Parted::Within(seconds) => format!("compared in {seconds} s"),
    }
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
