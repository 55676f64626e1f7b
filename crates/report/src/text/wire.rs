//! The verdict of the wire with its numbers, what was sent again or merged, times, the capture.

use measure::unit::{Bytes, Nanos, grouped};
use measure::wire::finding::{CaptureFacts, Check, Verdict, Wire, WireTimes, WireWay};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::DETAIL;

/// Under a label of its own, a few lines.
pub(super) fn tell(page: &mut Page, wire: &Wire) {
    page.gap();
    let (tone, mut texts) = (tone(wire.verdict()), verdicts(wire));
    texts.extend(carried(wire));
    texts.extend(wire.times.as_ref().map(times));
    texts.push(capture(&wire.capture));
    let mut label = Piece::new("on the wire", tone);
    for text in texts {
        page.paragraph(INDENT, &label, DETAIL, &text);
        label = Piece::from("");
    }
    page.gap();
}

fn tone(verdict: Verdict) -> Tone {
    if verdict == Verdict::Contradicted { Tone::Alarm } else { Tone::Strong }
}

/// Each verdict that was come to, with its numbers.
fn verdicts(wire: &Wire) -> Vec<String> {
    let of = |verdict: Verdict| wire.checks.iter().filter(move |check| check.verdict == verdict);
    let mut texts = Vec::new();
    let verified: Vec<String> =
        of(Verdict::Verified).map(|check| count(check, check.seen.unwrap_or_default())).collect();
    if !verified.is_empty() {
        let echoed = if wire.data_echoed == Some(true) { "; data verified by the replies" } else { "" };
        texts.push(format!("verified on {}: {}{echoed}", wire.interface, verified.join(", ")));
    }
    texts.extend(of(Verdict::Contradicted).map(|check| {
        let [counted, seen] = [check.counted, check.seen].map(|number| grouped(number.unwrap_or_default()));
        let name = check.subject.name();
        format!("contradicted on {}: {name}: {counted} counted, {seen} seen", wire.interface)
    }));
    texts.extend(of(Verdict::NotEstablished).map(|check| {
        let reason = check.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("not established: {}{reason}", check.subject.name())
    }));
    texts
}

fn count(check: &Check, seen: u64) -> String {
    format!("{} {}", grouped(seen), check.subject.of(seen))
}

/// Noteworthy packets: repeated, reordered, fragmented or missing.
fn carried(wire: &Wire) -> Option<String> {
    let mut words = Vec::new();
    for (way, which) in [(&wire.sent, "to the peer"), (&wire.received, "from it")] {
        words.extend(trouble(way).into_iter().map(|text| format!("{text} {which}")));
    }
    let syns = wire.syns_repeated.filter(|count| *count > 0);
    words.extend(syns.map(|count| number::count(count, "SYN again", "SYNs again")));
    let merged = wire.sent.merged.saturating_add(wire.received.merged);
    if merged > 0 {
        let longest = wire.sent.longest_bytes.max(wire.received.longest_bytes);
        let packets = number::count(merged, "packet", "packets");
        words.push(format!("{packets} of merged segments, up to {longest} B: usual with offloads"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn trouble(way: &WireWay) -> Vec<String> {
    let mut words = Vec::new();
    if way.repeated_segments > 0 {
        let segments = number::count(way.repeated_segments, "segment again", "segments again");
        words.push(format!("{segments} ({})", number::size(Bytes(way.repeated_bytes))));
    }
    if way.late_segments > 0 {
        words.push(format!("{} after later ones", number::count(way.late_segments, "segment", "segments")));
    }
    if way.missing_bytes > 0 {
        words.push(format!("{} never seen", number::size(Bytes(way.missing_bytes))));
    }
    if way.fragments > 0 {
        words.push(number::count(way.fragments, "further fragment", "further fragments"));
    }
    words
}

fn times(times: &WireTimes) -> String {
    let what = if times.of_handshakes { "handshake" } else { "round trip" };
    let p99 = times.p99_ns.map_or_else(String::new, |p99| format!(", p99 {}", signed(p99, false)));
    let measured = times.application_less_p50_ns.map(|more| {
        let p99 =
            times.application_less_p99_ns.map_or_else(String::new, |more| format!(", p99 {}", signed(more, true)));
        format!("as measured {}{p99}", signed(more, true))
    });
    let stamped = times.kernel_less_p50_ns.map(|more| format!("by kernel timestamps {}", signed(more, true)));
    let first = format!("{what} p50 {}{p99}", signed(times.p50_ns, false));
    [Some(first), measured, stamped].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A time that may lie below zero; of a difference the sign is shown.
fn signed(time: i64, difference: bool) -> String {
    let sign = match (time < 0, difference) {
        (true, _) => "−",
        (false, true) => "+",
        (false, false) => "",
    };
    format!("{sign}{:#}", Nanos(time.unsigned_abs()))
}

fn capture(capture: &CaptureFacts) -> String {
    let packets = number::count(capture.packets, "packet", "packets");
    let dropped = if capture.dropped > 0 {
        format!("captured {packets}, dropped {}", grouped(capture.dropped))
    } else {
        format!("captured {packets}, dropped none")
    };
    let Some(file) = &capture.file else { return dropped };
    let left_out =
        if capture.left_out > 0 { format!(", {} left out", grouped(capture.left_out)) } else { String::new() };
    format!("{dropped}; {} in {file}{left_out}", grouped(capture.kept))
}
