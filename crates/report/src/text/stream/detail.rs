//! Evidence that needs sonde at both ends: CPU, TCP, losses, the share of each stream, and latency under load.

use measure::interval::glance::TcpGlance;
use measure::method::Direction;
use measure::throughput::detail::{Detail, Processors};
use measure::throughput::latency::{Phase, UnderLoad};
use measure::throughput::limit::Limiter;
use measure::throughput::{Stream, Throughput, per_second};
use measure::unit::{Nanos, grouped};

use super::labelled;
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;

/// Streams of which each has a row.
const SHOWN: usize = 64;

/// The name of a limiter.
pub fn name(limiter: Limiter) -> &'static str {
    match limiter {
        Limiter::Rate => "the rate that was asked for",
        Limiter::SenderCpu => "the sending end's CPU",
        Limiter::ReceiverCpu => "the receiving end's CPU",
        Limiter::ReceiveWindow => "the receiver's window",
        Limiter::SendBuffer => "the send buffer",
        Limiter::SenderQueue => "the sending host's own queue or rules",
        Limiter::Congestion => "a queue on the path, or what fills it",
        Limiter::Policer => "a policer, or a queue too short to see",
        Limiter::Loss => "losses on the path, at each rate tried",
        _ => "not determined",
    }
}

/// Losses, CPU, TCP and the share of each stream.
pub fn figures(page: &mut Page, stream: &Throughput, found: &Detail) {
    labelled(page, "loss", &lost(found));
    labelled(page, "CPU", &processors(stream, found));
    labelled(page, "TCP", &tcp(stream, found));
    labelled(page, "streams", &sharing(stream, found));
    labelled(page, "sends", &handing(found));
}

/// Datagrams that were lost, late or duplicated, and their jitter.
fn lost(found: &Detail) -> Vec<String> {
    let Some(datagrams) = &found.datagrams else { return Vec::new() };
    let share = datagrams.loss().map(number::percent).unwrap_or_default();
    let lost = grouped(datagrams.lost.max(0).cast_unsigned());
    let mut items = vec![format!("{lost} of {} datagrams lost ({share})", grouped(datagrams.expected))];
    let counted = [
        ("out of order", datagrams.out_of_order),
        ("duplicates", datagrams.duplicates),
        ("foreign", datagrams.foreign),
    ];
    let counted = counted.into_iter().filter(|(_, count)| *count > 0);
    items.extend(counted.map(|(name, count)| format!("{} {name}", grouped(count))));
    // Named by its source: jitter is not one number.
    items.extend(datagrams.jitter().map(|jitter| format!("jitter (RFC 3550) {jitter}")));
    items
}

/// The processors of this host, then those of the peer.
fn processors(stream: &Throughput, found: &Detail) -> Vec<String> {
    let (here, peer) = match stream.direction {
        Direction::Receive => (&found.receiver, &found.sender),
        _ => (&found.sender, &found.receiver),
    };
    [("here", here), ("peer", peer)].into_iter().filter_map(|(name, end)| busy(name, end)).collect()
}

/// `here 40.5 % of a core, 12 % soft interrupts, 188 ms/GB`.
fn busy(name: &str, end: &Processors) -> Option<String> {
    let thread = end.busiest_thread_share.map(|share| format!("{} of a core", number::percent(share)));
    let soft = end
        .softirq_share
        .filter(|share| *share >= 0.01)
        .map(|share| format!("{} soft interrupts", number::percent(share)));
    let cost = end.ns_per_gigabyte.map(|cost| format!("{cost}/GB"));
    let items: Vec<String> = [thread, soft, cost].into_iter().flatten().collect();
    (!items.is_empty()).then(|| format!("{name} {}", items.join(", ")))
}

/// Figures of the senders' TCP; of several streams those of the first.
fn tcp(stream: &Throughput, found: &Detail) -> Vec<String> {
    let senders =
        if stream.streams.iter().any(|stream| stream.tcp.is_some()) { &stream.streams } else { &found.theirs };
    let Some(first) = senders.iter().find_map(|stream| stream.tcp.as_ref()) else { return Vec::new() };
    let again: u64 = senders.iter().filter_map(|stream| stream.tcp?.retransmits).fold(0, u64::saturating_add);
    let mut items = vec![number::count(again, "retransmission", "retransmissions")];
    items.extend(first.rtt_ns.map(|rtt| {
        let least = first.min_rtt_ns.map_or_else(String::new, |least| format!(" (min {least})"));
        format!("RTT {rtt}{least}")
    }));
    items.extend(first.cwnd_bytes.map(|bytes| format!("cwnd {}", number::size(bytes))));
    items.extend(held(first));
    items
}

/// The shares of TCP's busy time in which something held it back.
fn held(tcp: &TcpGlance) -> Option<String> {
    let busy = tcp.busy_ns.filter(|busy| *busy > Nanos::ZERO)?;
    let share = |time: Option<Nanos>| time.map_or(0.0, |time| time.0 as f64 / busy.0 as f64);
    let (window, buffer) = (share(tcp.rwnd_limited_ns), share(tcp.sndbuf_limited_ns));
    (window + buffer >= 0.01).then(|| {
        format!(
            "waited {} of the busy time for the receiver's window, {} for the send buffer",
            number::percent(window),
            number::percent(buffer)
        )
    })
}

/// Jain's fairness index below which the slowest and the fastest stream are named.
const EVEN: f64 = 0.9;

fn sharing(stream: &Throughput, found: &Detail) -> Vec<String> {
    let fair = found.fairness.map(|index| format!("Jain's fairness index {index:.3}"));
    let mut rates: Vec<f64> =
        stream.streams.iter().filter_map(|one| per_second(one.carried.bytes, one.elapsed_ns)).collect();
    rates.sort_by(f64::total_cmp);
    let ends = rates.first().zip(rates.last()).filter(|_| found.fairness.is_some_and(|index| index < EVEN));
    let ends = ends.and_then(|(slowest, fastest)| {
        Some(format!("the slowest {}, the fastest {}", number::bit_rate(*slowest)?, number::bit_rate(*fastest)?))
    });
    let steady = found.steady_after_ns.map(|after| match after {
        Nanos::ZERO => "steady state from the first interval".to_owned(),
        after => format!("steady state after {after}"),
    });
    [fair, ends, steady].into_iter().flatten().collect()
}

fn handing(found: &Detail) -> Vec<String> {
    let copied = found.zero_copy.filter(|done| done.sends > 0).map(|done| {
        format!("zero copy: the kernel copied {} of the sends", number::percent(done.copied as f64 / done.sends as f64))
    });
    let late = (found.undrained > 0).then(|| {
        let streams = number::count(u64::from(found.undrained), "stream", "streams");
        // Datagrams that nobody accounts for are counted as lost.
        let missing = if found.datagrams.is_some() {
            "the receiver did not hear of the end"
        } else {
            "missing bytes may have been in flight"
        };
        format!("{streams} not drained: {missing}")
    });
    [copied, late].into_iter().flatten().collect()
}

/// Each stream, where there are several.
pub fn streams(page: &mut Page, stream: &Throughput) {
    if stream.streams.len() < 2 {
        return;
    }
    let head = ["stream", "here", "peer", "retransmissions", "lost"].map(|text| Piece::new(text, Tone::Faint));
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
        &[Piece::new("latency under load", Tone::Strong), Piece::new(format!("  {}", latency.method), Tone::Faint)],
    );
    let head = ["", "p50", "p90", "p99", "max", "unanswered"].map(|text| Piece::new(text, Tone::Faint));
    let mut rows = vec![head.to_vec()];
    for (name, phase) in [("idle", &latency.idle), ("loaded", &latency.loaded), ("after", &latency.after)] {
        rows.push(row(name, phase));
    }
    page.table(&rows);
    let added = |q: f64, name: &str| latency.added(q).map(|added| format!("{name} {}", number::signed_time(added)));
    labelled(page, "added", &[added(0.5, "p50"), added(0.99, "p99")].into_iter().flatten().collect::<Vec<_>>());
    if let Some(inside) = latency.inside_ns {
        labelled(
            page,
            "inside",
            &[format!("{inside} TCP's smoothed RTT of the loaded streams, with their own send queues")],
        );
    }
    page.gap();
}

fn row(name: &str, phase: &Phase) -> Vec<Piece> {
    let quantile = |q: f64| phase.quantile(q).map(|time| time.to_string()).unwrap_or_default();
    let longest = phase.response.max_ns.map(number::measured).unwrap_or_default();
    let unanswered = format!("{} of {}", grouped(phase.unanswered), grouped(phase.scheduled));
    [name.to_owned(), quantile(0.5), quantile(0.9), quantile(0.99), longest, unanswered].map(Piece::from).to_vec()
}
