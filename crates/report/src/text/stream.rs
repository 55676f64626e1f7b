//! Evidence of a throughput result: what limits it, rates, CPU, TCP, losses, and latency under load.

mod detail;

pub(crate) use detail::name as limiter;

use measure::method::Direction;
use measure::throughput::silence::whole;
use measure::throughput::{Carried, Interval, Throughput, per_second};
use measure::unit::grouped;

use super::figures;
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::LABEL;
use crate::words;

/// Intervals from which the slowest and the fastest say something.
const SEVERAL: usize = 3;

/// The rates, what they come from, how even the intervals were, and how long the calls took; of both ways where both
/// were gone, and what the streams did to exchanges beside them.
pub(super) fn figures(page: &mut Page, stream: &Throughput) {
    let both = stream.back.is_some();
    one_way(page, stream, both);
    if let Some(back) = &stream.back {
        one_way(page, back, both);
    }
    if let Some(latency) = &stream.latency {
        detail::under_load(page, latency);
    }
}

fn one_way(page: &mut Page, stream: &Throughput, both: bool) {
    if both {
        let which = if stream.direction == Direction::Receive { "from the peer" } else { "to the peer" };
        page.line(INDENT, &[Piece::new(which, Tone::Strong)]);
    }
    if let Some(found) = &stream.detail {
        // Older records have the words alone.
        let told = words::limit::reasons(&found.limit.evidence);
        labelled(page, "evidence", if told.is_empty() { &found.limit.because } else { &told });
    }
    labelled(page, "rate", &rates(stream, page.style().verbose));
    labelled(page, "bytes", &counts(stream));
    if let Some(found) = &stream.detail {
        detail::figures(page, stream, found);
    }
    if let Some(calls) = &stream.calls {
        page.gap();
        figures::quantiles_of(page, "call", calls);
        if let Some(mean) = figures::mean(calls) {
            page.line(INDENT, &[Piece::from(mean)]);
        }
    }
    if page.style().verbose {
        page.gap();
        detail::streams(page, stream);
        series(page, stream);
    }
    page.gap();
}

/// Items behind a label; nothing where there are none.
fn labelled(page: &mut Page, label: &str, items: &[String]) {
    if !items.is_empty() {
        page.items(INDENT, &Piece::new(label, Tone::Faint), LABEL + 3, items);
    }
}

/// Received, sent, and the range of the intervals.
fn rates(stream: &Throughput, verbose: bool) -> Vec<String> {
    let rates = [("received", stream.received_bytes_per_s), ("sent", stream.sent_bytes_per_s)];
    let rates = rates.into_iter().filter_map(|(name, rate)| Some(format!("{name} {}", number::bit_rate(rate?)?)));
    let evenness = if verbose { evenness(stream) } else { Vec::new() };
    rates.chain(evenness).collect()
}

fn counts(stream: &Throughput) -> Vec<String> {
    let (ours, theirs) = match stream.direction {
        Direction::Receive => ("received", "sent"),
        _ => ("sent", "received"),
    };
    let end = |carried: &Carried, done: &str| {
        let calls = number::count(carried.calls, "call", "calls");
        format!("{} {done} in {calls}", number::size(carried.bytes))
    };
    let mut items = vec![end(&stream.ours, ours)];
    items.extend(stream.theirs.as_ref().map(|peer| end(&peer.carried, theirs)));
    if stream.ours.failed_calls > 0 {
        items.push(format!("{} not sent", grouped(stream.ours.failed_calls)));
    }
    items
}

/// The slowest and the fastest of the whole intervals; the last one is short and left out.
fn evenness(stream: &Throughput) -> Vec<String> {
    let received = received(stream);
    let own = || stream.intervals.split_last().map_or(&[] as &[Interval], |(_, whole)| whole);
    let whole = received.as_deref().unwrap_or_else(own);
    let rates: Vec<f64> =
        whole.iter().filter_map(|interval| per_second(interval.carried.bytes, interval.length_ns)).collect();
    if rates.len() < SEVERAL {
        return Vec::new();
    }
    let slowest = rates.iter().copied().reduce(f64::min).and_then(number::bit_rate);
    let fastest = rates.iter().copied().reduce(f64::max).and_then(number::bit_rate);
    let rates = [("slowest interval", slowest), ("fastest", fastest)];
    rates.into_iter().filter_map(|(name, rate)| Some(format!("{name} {}", rate?))).collect()
}

/// The whole intervals of the peer that receives datagrams: what our end handed over may be lost. `None` where there are none, or it told nothing.
fn received(stream: &Throughput) -> Option<Vec<Interval>> {
    let found = stream.detail.as_ref().filter(|found| found.datagrams.is_some())?;
    let received = whole(&found.theirs, stream.elapsed_ns);
    Some(received).filter(|received| stream.direction == Direction::Send && !received.is_empty())
}

/// Each interval, up to as many as a person looks through.
fn series(page: &mut Page, stream: &Throughput) {
    const SHOWN: usize = 60;
    let received = received(stream);
    let what = if received.is_some() {
        "received"
    } else if stream.direction == Direction::Send && stream.received_bytes_per_s.is_none() {
        "sent"
    } else {
        "carried"
    };
    let intervals = received.as_deref().unwrap_or(&stream.intervals);
    let head = ["from", "for", what, "rate"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    for interval in intervals.iter().take(SHOWN) {
        let rate = per_second(interval.carried.bytes, interval.length_ns).and_then(number::bit_rate);
        let cells = [
            interval.at_ns.to_string(),
            interval.length_ns.to_string(),
            number::size(interval.carried.bytes),
            rate.unwrap_or_default(),
        ];
        rows.push(cells.map(Piece::from).to_vec());
    }
    if rows.len() > 1 {
        page.table(&rows);
    }
    if let Some(more) = intervals.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.paragraph(INDENT, &Piece::new("and", Tone::Faint), LABEL, &number::count(more as u64, "more", "more"));
    }
}

#[cfg(test)]
mod tests {
    use measure::interval::arrivals::Datagrams;
    use measure::throughput::Stream;
    use measure::throughput::detail::Detail;
    use measure::throughput::limit::{Limit, Limiter};
    use measure::unit::{Bytes, Nanos};
    use test_case::test_case;

    use super::*;
    use crate::fixture;
    use crate::layout::Style;

    #[test_case(Some(Datagrams::default()), "received"; "datagrams are told as they came")]
    #[test_case(None, "carried"; "TCP as it was handed over")]
    fn intervals_are_of_the_end_that_their_heading_names(datagrams: Option<Datagrams>, heading: &str) {
        let second = |at| Interval {
            at_ns: Nanos::secs(at),
            length_ns: Nanos::secs(1),
            carried: Carried { bytes: Bytes(77_700_000), calls: 9, ..Carried::default() },
            ..Interval::default()
        };
        let theirs = vec![Stream { intervals: (0..4).map(second).collect(), ..Stream::default() }];
        let limit = Limit { limiter: Limiter::NotDetermined, because: Vec::new(), evidence: Vec::new() };
        let mut record = fixture::stream();
        let stream = record.stream.as_mut().unwrap();
        (stream.direction, stream.elapsed_ns) = (Direction::Send, Nanos::secs(4));
        stream.detail = Some(Box::new(Detail { theirs, datagrams, ..Detail::of(limit) }));
        let text = crate::text::render(&record, &Style { verbose: true, ..Style::default() });
        let head = text.lines().find(|line| line.contains("from ") && line.trim_end().ends_with("rate"));
        assert!(head.is_some_and(|head| head.contains(heading)), "{text}");
        assert_eq!(text.contains("slowest interval 622 Mbit/s"), datagrams.is_some(), "{text}");
    }
}
