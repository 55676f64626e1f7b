//! A table for an issue tracker: what a reader compares first, in units for people. All of it is in the other forms.

use std::io::{self, Write};

use measure::outcome::Outcome;
use measure::unit::grouped;

use super::Entry;
use crate::markup::{on_one_line, visible};
use crate::moment::moment;
use crate::{number, words};

/// The head of each column.
const HEAD: [&str; 9] = ["host", "method", "p50", "p90", "p99", "max", "lost", "throughput", "measured"];
/// The first two are words, flush left; all others numbers, flush right, but when and by which version.
const RULE: &str = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |";

/// Writes the head.
pub(super) fn begin(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| {} |\n{RULE}", HEAD.join(" | "))
}

/// Writes the row of `entry`.
pub(super) fn write(out: &mut impl Write, entry: &Entry<'_>) -> io::Result<()> {
    let cells = row(entry).map(|cell| cell.map_or_else(|| "–".to_owned(), |cell| escaped(&cell)));
    writeln!(out, "| {} |", cells.join(" | "))
}

fn row(entry: &Entry<'_>) -> [Option<String>; 9] {
    let record = entry.record;
    let outcome = record.outcome.as_ref();
    let quantile = |q: f64| {
        let all = &outcome?.response.quantiles;
        number::quantile(all.iter().find(|quantile| quantile.q == q)?)
    };
    let host = entry.place.map(|place| format!("{} → {}", place.cell.place.from, place.cell.place.to));
    let target = || record.target.host.clone().unwrap_or_else(|| record.target.address.to_string());
    let with_port = || record.target.port.map_or_else(target, |port| format!("{} :{port}", target()));
    [
        Some(host.unwrap_or_else(with_port)),
        Some(words::method::with_protocol(&record.method)),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        outcome.and_then(|outcome| number::time(outcome.response.max_ns?.0 as f64)),
        outcome.map(lost),
        record
            .stream
            .as_ref()
            .and_then(|stream| number::bit_rate(stream.received_bytes_per_s.or(stream.sent_bytes_per_s)?)),
        Some(format!("{} (sonde {})", moment(record.head.started), record.head.tool.version)),
    ]
}

/// `3 of 10000 (0.03 %)`.
fn lost(outcome: &Outcome) -> String {
    let counts = &outcome.counts;
    let share = outcome.loss.ratio.filter(|share| *share > 0.0);
    let share = share.map_or(String::new(), |share| format!(" ({})", number::percent(share)));
    format!("{} of {}{share}", grouped(counts.missing()), grouped(counts.scheduled))
}

/// `text` as it is in a cell: what would end it, or would be a mark, a link or a tag, is a sign.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in visible(&on_one_line(text)).chars() {
        match letter {
            '|' | '\\' | '`' | '*' | '_' | '~' | '[' | ']' | '<' | '>' | '&' | '#' | '@' | '!' | '$' => {
                safe.extend(['\\', letter]);
            }
            _ => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_is_a_mark_or_ends_it() {
        assert_eq!(
            escaped("a|b\n\t<script>`*_~[x](y)@me #1\u{1b}"),
            "a\\|b␤␉\\<script\\>\\`\\*\\_\\~\\[x\\](y)\\@me \\#1␛"
        );
    }
}
