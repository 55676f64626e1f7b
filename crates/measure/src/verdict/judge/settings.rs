//! Socket settings that were not granted, or that affected the measured times.

use std::net::IpAddr;

use super::Ends;
use crate::environment::Environment;
use crate::method::{Carrier, Exchange, Method, Traffic, Window};
use crate::outcome::{Outcome, SocketFacts};
use crate::unit::{Bytes, Nanos};
use crate::verdict::Warning;
use crate::verdict::threshold::{FEWEST_HELD, HELD_REPLIES, INITIAL_SEGMENTS, LEAST_RTO};

/// Warns where small requests wait for each other's acknowledgement (RFC 896).
pub(super) fn nagle(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let several = match method.traffic.window() {
        Window::Closed(n) | Window::Volley(n) => n > 1,
        Window::Open { .. } => true,
    };
    let stays_open = matches!(method.traffic, Traffic::Exchange(_) | Traffic::Load(_));
    let held = outcome.sockets.iter().any(|socket| socket.nodelay == Some(false));
    let segment_bytes = smallest_segment(&outcome.sockets)?;
    let request_bytes = method.smallest_request();
    (method.traffic.carrier() == Carrier::Tcp && several && stays_open && held && request_bytes < segment_bytes)
        .then_some(Warning::Nagle { request_bytes, segment_bytes })
}

/// Warns where replies came in parts, with a pause between them as long as this host delays an acknowledgement: a server that writes in
/// parts, and leaves Nagle's algorithm on, waits for that.
pub(super) fn held_replies(outcome: &Outcome) -> Option<Warning> {
    let told = outcome.replies.as_ref()?;
    let replies = told.kinds.values().fold(told.others, |sum, kind| sum.saturating_add(kind.count));
    let held =
        told.held.filter(|held| held.count >= FEWEST_HELD && held.count as f64 >= HELD_REPLIES * replies as f64)?;
    Some(Warning::HeldReplies { count: held.count, replies, pause_ns: Nanos(held.pauses_ns.0 / held.count) })
}

fn smallest_segment(sockets: &[SocketFacts]) -> Option<Bytes> {
    sockets.iter().filter_map(|socket| socket.mss_bytes).filter(|bytes| bytes.0 > 0).min()
}

/// Answers from which some were due to be stamped, in any schedule.
const FEWEST_STAMPED: u64 = 10;

/// Octets of the head of UDP, and of an ICMP echo.
const HEAD: u64 = 8;

/// Warns where a message, or its reply, is longer than one packet of the path.
pub(super) fn fragmented(
    sockets: &[SocketFacts],
    method: &Method,
    ends: Ends<'_>,
    target: Option<IpAddr>,
) -> Option<Warning> {
    let traffic = &method.traffic;
    let replies = traffic.stream().is_none() && traffic.load().is_none_or(|load| load.reply_every > 0);
    let message_bytes = traffic.request_bytes().max(if replies { traffic.response_bytes() } else { Bytes(0) });
    let known = sockets.iter().filter_map(|socket| socket.path_mtu_bytes).min();
    let of_interface = || Some(Bytes(u64::from(ends.ours?.interface.as_ref()?.mtu_bytes?)));
    let mtu_bytes = known.or_else(of_interface)?;
    // A fragment beyond the first of IPv6 needs a head of its own; all but the last carry multiples of eight octets.
    let (whole, piece) = match target?.to_canonical() {
        IpAddr::V4(_) => (mtu_bytes.0.checked_sub(20)?, mtu_bytes.0.checked_sub(20)? & !7),
        IpAddr::V6(_) => (mtu_bytes.0.checked_sub(40)?, mtu_bytes.0.checked_sub(48)? & !7),
    };
    let carried = message_bytes.0.saturating_add(HEAD);
    let datagrams = matches!(method.traffic.carrier(), Carrier::Udp | Carrier::Icmp);
    (datagrams && carried > whole && piece > 0).then(|| Warning::Fragmented {
        message_bytes,
        mtu_bytes,
        fragments: carried.div_ceil(piece),
        whole_bytes: Bytes(whole.saturating_sub(HEAD)),
    })
}

/// The switch that has TCP start anew after a pause.
const RESTARTS: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";

/// Warns where an end sends more after each pause than TCP's restart window allows at once (RFC 5681 section 4.1).
pub(super) fn idle_restart(outcome: &Outcome, method: &Method, ends: Ends<'_>) -> Option<Warning> {
    let interval_ns = method.schedule.mean_gap()?;
    let segment = smallest_segment(&outcome.sockets)?;
    let window_bytes = Bytes(segment.0.saturating_mul(INITIAL_SEGMENTS));
    let median = outcome.response.quantiles.first().and_then(|median| median.value_ns)?;
    let pauses = interval_ns > Nanos(LEAST_RTO.0.saturating_add(median.0));
    let stays_open = matches!(method.traffic, Traffic::Exchange(Exchange { carrier: Carrier::Tcp, .. }));
    let restarts =
        |end: Option<&Environment>| end.and_then(|end| end.settings.get(RESTARTS)).is_some_and(|on| on == "1");
    let theirs = if ends.own_reflector { ends.ours } else { ends.theirs };
    let sent =
        [("our", ends.ours, method.traffic.request_bytes()), ("the peer's", theirs, method.traffic.response_bytes())];
    let (end, _, message_bytes) = sent
        .into_iter()
        .find(|(_, end, bytes)| *bytes > window_bytes && restarts(*end))
        .filter(|_| pauses && stays_open)?;
    Some(Warning::IdleRestart { end: end.to_owned(), message_bytes, window_bytes, interval_ns })
}

/// Returns a warning for each option that the sockets did not get; once each, with the smallest value of all connections.
pub(super) fn got_less(sockets: &[SocketFacts], method: &Method) -> Vec<Warning> {
    let asked = &method.socket;
    let least = |got: fn(&SocketFacts) -> Option<Bytes>| sockets.iter().filter_map(got).min();
    let buffers = [
        ("send buffer", asked.send_buffer_bytes, least(|socket| socket.send_buffer_bytes)),
        ("receive buffer", asked.receive_buffer_bytes, least(|socket| socket.receive_buffer_bytes)),
    ];
    let smaller = buffers.into_iter().filter_map(|(option, asked, got)| {
        // Linux doubles the requested size, to have room for its own bookkeeping, and reports the double.
        let (asked, got) = (asked?, Bytes(got?.0 / 2));
        (got < asked).then(|| Warning::GotLess {
            option: option.to_owned(),
            asked: asked.to_string(),
            got: got.to_string(),
        })
    });
    let congestion = asked.congestion.as_ref().and_then(|asked| {
        let other = sockets.iter().filter_map(|socket| socket.congestion.as_ref()).find(|got| *got != asked)?;
        Some(Warning::GotLess { option: "congestion control".to_owned(), asked: asked.clone(), got: other.clone() })
    });
    let tos = asked.tos.and_then(|asked| {
        let other = sockets.iter().filter_map(|socket| socket.tos).find(|&got| got != asked)?;
        Some(Warning::GotLess {
            option: "type of service".to_owned(),
            asked: asked.to_string(),
            got: other.to_string(),
        })
    });
    smaller.chain(congestion).chain(tos).collect()
}

/// Once, however many sockets were refused.
pub(super) fn not_batched(sockets: &[SocketFacts]) -> Option<Warning> {
    let batched = sockets.iter().filter_map(|socket| socket.batched.as_ref()).find(|batched| batched.got.is_none())?;
    let reason = batched.refused.clone().unwrap_or_else(|| "it did not say why".to_owned());
    Some(Warning::NotBatched { asked: batched.asked, reason })
}

pub(super) fn no_stamps(outcome: &Outcome, method: &Method) -> Option<Warning> {
    method.traffic.stamps()?;
    // There the kernel stamps each exchange, which has no parts.
    if outcome.one_way.as_ref().is_some_and(|both| both.left_by_kernel.min(both.came_by_kernel) > 0) {
        return None;
    }
    let reason = match &outcome.split {
        Some(split) if split.samples > 0 || split.clock_stepped => return None,
        Some(split) if !split.missing.is_empty() => split.missing.join(", "),
        // A run of a few answers has none that was due to be stamped: slow requests are one in four.
        _ if outcome.counts.answered < FEWEST_STAMPED => return None,
        _ => "the kernel delivered none".to_owned(),
    };
    Some(Warning::NoStamps { reason })
}
