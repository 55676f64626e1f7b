//! What is told of streams where both ends are ours: what limits them, who worked how much, what was lost, how evenly several
//! share, and what they did to exchanges beside them.

use measure::interval::glance::TcpGlance;
use measure::throughput::detail::{Detail, Processors};
use measure::throughput::latency::{Phase, UnderLoad};
use measure::throughput::limit::{Limit, Limiter};
use measure::throughput::{Stream, Throughput, per_second};
use measure::unit::{Nanos, grouped};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::APART;

/// Where the sentence starts.
const LIMIT: usize = 11;
/// Streams of which each has a row.
const SHOWN: usize = 64;

/// What a limiter is called.
pub fn name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Rate => "the rate that was asked for",
        Limiter::SenderCpu => "the sending end's CPU",
        Limiter::ReceiverCpu => "the receiving end's CPU",
        Limiter::ReceiveWindow => "the receiver's window",
        Limiter::SendBuffer => "the send buffer",
        Limiter::Congestion => "a queue on the path, or what fills it",
        Limiter::Policer => "a policer, or a queue too short to see",
        Limiter::Loss => "losses on the path, at any rate",
        _ => "not determined",
    }
}

/// The one sentence.
pub fn limit(page: &mut Page, limit: &Limit) {
    let why = limit.because.join("; ");
    let between = if why.is_empty() { "" } else { ": " };
    let text = format!("{}{between}{why}", name(limit.limiter));
    page.paragraph(INDENT, &Piece::new("limited by", Tone::Strong), LIMIT + INDENT, &text);
}

/// Losses, processors, evenness, what TCP saw.
pub fn figures(page: &mut Page, stream: &Throughput, found: &Detail) {
    for items in [lost(found), processors(found), tcp(stream, found), sharing(found), handing(found)] {
        if !items.is_empty() {
            page.flow(INDENT, INDENT, APART, &items);
        }
    }
}

/// Datagrams that did not come, came late or twice, and how unevenly they came.
fn lost(found: &Detail) -> Vec<Piece> {
    let Some(datagrams) = &found.datagrams else { return Vec::new() };
    let share = datagrams.loss().map(number::percent).unwrap_or_default();
    let lost =
        format!("lost {} of {} ({share})", grouped(datagrams.lost.max(0).cast_unsigned()), grouped(datagrams.expected));
    let tone = if datagrams.lost > 0 { Tone::Alarm } else { Tone::Plain };
    let mut items = vec![Piece::new(lost, tone)];
    let counted =
        [("out of order", datagrams.out_of_order), ("twice", datagrams.duplicates), ("foreign", datagrams.foreign)];
    items.extend(
        counted
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| Piece::from(format!("{} {name}", grouped(count)))),
    );
    // Named by its source: jitter is not one number.
    items.extend(datagrams.jitter().map(|jitter| Piece::from(format!("jitter (RFC 3550) {jitter}"))));
    items
}

fn processors(found: &Detail) -> Vec<Piece> {
    [("sender", &found.sender), ("receiver", &found.receiver)]
        .into_iter()
        .filter_map(|(name, end)| busy(name, end))
        .collect()
}

/// `sender 97 % of a CPU, 12 % soft interrupts, 0.31 s/GB`.
fn busy(name: &str, end: &Processors) -> Option<Piece> {
    let thread = end.busiest_thread_share.map(|share| format!("{} of a CPU", number::percent(share)));
    let soft = end
        .softirq_share
        .filter(|share| *share >= 0.01)
        .map(|share| format!("{} soft interrupts", number::percent(share)));
    let cost = end.ns_per_gigabyte.map(|cost| format!("{cost} CPU a GB"));
    let told: Vec<String> = [thread, soft, cost].into_iter().flatten().collect();
    (!told.is_empty()).then(|| Piece::from(format!("{name} {}", told.join(", "))))
}

/// What the senders' TCP saw; of several streams of the first.
fn tcp(stream: &Throughput, found: &Detail) -> Vec<Piece> {
    let senders =
        if stream.streams.iter().any(|stream| stream.tcp.is_some()) { &stream.streams } else { &found.theirs };
    let Some(first) = senders.iter().find_map(|stream| stream.tcp.as_ref()) else { return Vec::new() };
    let again: u64 = senders.iter().filter_map(|stream| stream.tcp?.retransmits).sum();
    let mut items =
        vec![Piece::new(format!("retransmits {}", grouped(again)), if again > 0 { Tone::Alarm } else { Tone::Plain })];
    let time = |name: &str, time: Option<Nanos>| time.map(|time| format!("{name} {time}"));
    let window =
        |name: &str, bytes: Option<measure::unit::Bytes>| bytes.map(|bytes| format!("{name} {}", number::size(bytes)));
    let told =
        [time("rtt", first.rtt_ns), time("min rtt", first.min_rtt_ns), window("cwnd", first.cwnd_bytes), held(first)];
    items.extend(told.into_iter().flatten().map(Piece::from));
    items
}

/// What held TCP back, of its busy time.
fn held(tcp: &TcpGlance) -> Option<String> {
    let busy = tcp.busy_ns.filter(|busy| *busy > Nanos::ZERO)?;
    let share = |time: Option<Nanos>| time.map_or(0.0, |time| time.0 as f64 / busy.0 as f64);
    let (window, buffer) = (share(tcp.rwnd_limited_ns), share(tcp.sndbuf_limited_ns));
    (window + buffer >= 0.01).then(|| {
        format!(
            "waited for the receiver {}, for its own buffer {} of the busy time",
            number::percent(window),
            number::percent(buffer)
        )
    })
}

fn sharing(found: &Detail) -> Vec<Piece> {
    let fair = found.fairness.map(|index| format!("shared evenly to {index:.3} (Jain)"));
    let steady = found.steady_after_ns.map(|after| match after {
        Nanos::ZERO => "steady from the first interval".to_owned(),
        after => format!("steady after {after}"),
    });
    [fair, steady].into_iter().flatten().map(Piece::from).collect()
}

fn handing(found: &Detail) -> Vec<Piece> {
    let copied = found.zero_copy.filter(|done| done.sends > 0).map(|done| {
        format!(
            "zero copy: {} of the sends were copied after all",
            number::percent(done.copied as f64 / done.sends as f64)
        )
    });
    let late = (found.undrained > 0).then(|| {
        let streams = number::count(u64::from(found.undrained), "stream", "streams");
        format!("{streams} not drained: what is missing may have been on its way")
    });
    [copied, late].into_iter().flatten().map(Piece::from).collect()
}

/// Each stream, where there are several.
pub fn streams(page: &mut Page, stream: &Throughput) {
    if stream.streams.len() < 2 {
        return;
    }
    let head = ["stream", "ours", "theirs", "retransmits", "lost"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    let theirs = |index: usize| stream.detail.as_ref().and_then(|found| found.theirs.get(index));
    for (index, ours) in stream.streams.iter().enumerate().take(SHOWN) {
        let rate = |end: &Stream| per_second(end.carried.bytes, end.elapsed_ns).and_then(number::bit_rate);
        let far = theirs(index);
        let again = ours.tcp.or_else(|| far?.tcp).and_then(|tcp| tcp.retransmits);
        let lost = ours.datagrams.or_else(|| far?.datagrams).map(|datagrams| datagrams.lost);
        let cells = [
            index.to_string(),
            rate(ours).unwrap_or_default(),
            far.and_then(rate).unwrap_or_default(),
            again.map(grouped).unwrap_or_default(),
            lost.map(|lost| lost.to_string()).unwrap_or_default(),
        ];
        rows.push(cells.map(Piece::from).to_vec());
    }
    page.table(&rows);
    page.gap();
}

/// Exchanges before, while and after the streams ran.
pub fn under_load(page: &mut Page, latency: &UnderLoad) {
    page.line(
        INDENT,
        &[
            Piece::new("exchanges beside the streams", Tone::Strong),
            Piece::new(format!("  {}", latency.method), Tone::Faint),
        ],
    );
    let head = ["", "p50", "p90", "p99", "longest", "unanswered"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    for (name, phase) in [("idle", &latency.idle), ("loaded", &latency.loaded), ("after", &latency.after)] {
        rows.push(row(name, phase));
    }
    page.table(&rows);
    let added = |q: f64, name: &str| latency.added(q).map(|added| format!("{} at {name}", number::signed_time(added)));
    let told: Vec<String> = [added(0.5, "the median"), added(0.99, "p99")].into_iter().flatten().collect();
    if !told.is_empty() {
        page.paragraph(INDENT, &Piece::new("added under load", Tone::Strong), LIMIT, &told.join(", "));
    }
    if let Some(inside) = latency.inside_ns {
        let text = format!(
            "{inside} round trip inside the loaded flows, as their TCP smooths it: with their own sockets' queues"
        );
        page.paragraph(INDENT, &Piece::new("inside", Tone::Faint), LIMIT, &text);
    }
    page.gap();
}

fn row(name: &str, phase: &Phase) -> Vec<Piece> {
    let quantile = |q: f64| phase.quantile(q).map(|time| time.to_string()).unwrap_or_default();
    let longest = phase.response.max_ns.map(|time| time.to_string()).unwrap_or_default();
    let unanswered = format!("{} of {}", grouped(phase.unanswered), grouped(phase.scheduled));
    [name.to_owned(), quantile(0.5), quantile(0.9), quantile(0.99), longest, unanswered].map(Piece::from).to_vec()
}
