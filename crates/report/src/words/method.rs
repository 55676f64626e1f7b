//! The method of a record in the words of the glossary.

use std::borrow::Cow;

use measure::method::{Carrier, Exchange, Method, Pacing, Schedule, Sizes, Traffic, Waiting, Window};
use measure::unit::{Bytes, grouped};

use crate::number;

/// The protocol and the method: `TCP: 1 request in flight, no pause, 64 B each way, blocking wait, for 10 s`.
pub fn with_protocol(method: &Method) -> String {
    format!("{}: {}", protocol(method), of(method))
}

/// The protocol, with the sort of traffic where that is no exchange.
pub(crate) fn protocol(method: &Method) -> String {
    let stream = if matches!(method.traffic, Traffic::Stream(_)) { " stream" } else { "" };
    format!("{}{stream}", named(method))
}

/// The protocol, with a connection for each request where there is one.
pub(crate) fn named(method: &Method) -> Cow<'static, str> {
    if let Some(application) = method.traffic.application() {
        let each = if method.traffic.connects() { ", a new connection per request" } else { "" };
        return Cow::Owned(format!("{application}{each}"));
    }
    Cow::Borrowed(match (&method.traffic, method.traffic.carrier()) {
        (Traffic::ConnectExchange { .. }, _) => "a new TCP connection per request",
        (Traffic::ConnectClose { .. }, _) => "TCP connect and close",
        (_, Carrier::Tcp) => "TCP",
        (_, Carrier::Udp) => "UDP",
        (_, Carrier::Icmp) => "ICMP echo",
        (_, Carrier::TcpConnect) => "TCP connect",
        (_, Carrier::TcpSyn) => "SYN probes",
    })
}

/// The same of a search, whose probes differ in rate and length.
pub(crate) fn of_search(method: &Method) -> String {
    let random = matches!(method.schedule, Schedule::Poisson { .. }).then(|| "Poisson arrivals".to_owned());
    let parts = [
        Some(in_flight(method)),
        random,
        sizes(method),
        Some(pacing(method.pacing).to_owned()),
        Some(waiting(method)),
        spread(method),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `1 request in flight, no pause, 64 B each way, blocking wait, for 10 s`.
pub fn of(method: &Method) -> String {
    let parts = [
        Some(in_flight(method)),
        Some(schedule(method)),
        sizes(method),
        method.schedule.has_instants().then(|| pacing(method.pacing).to_owned()),
        Some(waiting(method)),
        spread(method),
        end(method),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn in_flight(method: &Method) -> String {
    match &method.traffic {
        Traffic::Stream(stream) => return stream.direction.to_string(),
        Traffic::Load(load) => {
            return match load.reply_every {
                0 => "open loop without replies".to_owned(),
                1 => "open loop with a reply per message".to_owned(),
                every => format!("open loop with 1 reply per {} messages", grouped(u64::from(every))),
            };
        }
        _ => {}
    }
    match method.traffic.window() {
        Window::Closed(count) => format!("{} in flight", number::count(u64::from(count), "request", "requests")),
        Window::Volley(count) => format!("{} together", number::count(u64::from(count), "request", "requests")),
        Window::Open { .. } => "open loop".to_owned(),
    }
}

fn schedule(method: &Method) -> String {
    match (&method.traffic, method.schedule) {
        (Traffic::Load(_), Schedule::BackToBack) => "maximum rate".to_owned(),
        (_, Schedule::BackToBack) => "no pause".to_owned(),
        (_, Schedule::Poisson { rate_per_1000s }) => format!("Poisson arrivals at {rate_per_1000s}"),
        (_, schedule) => schedule.to_string().replace("back to back", "no pause"),
    }
}

fn sizes(method: &Method) -> Option<String> {
    let (request, response) = (method.traffic.request_bytes(), method.traffic.response_bytes());
    match &method.traffic {
        Traffic::Handshake { .. } | Traffic::ConnectClose { .. } => return None,
        Traffic::Exchange(Exchange { carrier: Carrier::TcpSyn, .. }) => {
            return (request > Bytes(0)).then(|| format!("{request} of payload"));
        }
        Traffic::Stream(stream) => {
            return Some(format!("{request} per call{}", stream.over.to_string().replace(" · ", ", ")));
        }
        _ => {}
    }
    let load = method.traffic.load();
    let replies = load.is_none_or(|load| load.reply_every > 0);
    let sent = match (method.traffic.sizes(), method.smallest_request()) {
        (Sizes::Fixed, smallest) if smallest < request => format!("{}..{request}", smallest.0),
        (Sizes::Fixed, _) if replies && request == response => format!("{request} each way"),
        // The size of a reply stands with the replies.
        (Sizes::Fixed, _) if method.traffic.application().is_some() => {
            return Some(format!("{}{request} per request", shortest_of_mix(method, request)));
        }
        (Sizes::Fixed, _) => request.to_string(),
        (sizes, _) => sizes.to_string(),
    };
    let back = if replies && !sent.ends_with("each way") { format!(" and {response} back") } else { String::new() };
    let batch = load.and_then(|load| load.batch).map_or_else(String::new, |batch| format!(", {batch}"));
    Some(format!("{sent}{back}{batch}"))
}

/// `33 B to ` in front of the longest request, where those of a mix differ.
fn shortest_of_mix(method: &Method, longest: Bytes) -> String {
    let mix = method.traffic.application().and_then(|application| application.mix.as_ref());
    let shortest = mix.and_then(|mix| mix.classes.iter().map(|class| Bytes(class.shortest_bytes)).min());
    shortest.filter(|shortest| *shortest < longest).map_or_else(String::new, |shortest| format!("{shortest} to "))
}

fn pacing(pacing: Pacing) -> &'static str {
    match pacing {
        Pacing::Sleep => "sleep pacing",
        Pacing::Hybrid => "hybrid pacing",
        Pacing::Spin => "spin pacing",
    }
}

fn waiting(method: &Method) -> String {
    let name = |waiting: Waiting| match waiting {
        Waiting::Block => "blocking wait".to_owned(),
        Waiting::Spin => "spinning wait".to_owned(),
        Waiting::BusyPoll { micros } => format!("busy-poll wait ({micros} µs)"),
    };
    let own = name(method.waiting);
    let peer = method.peer_waiting.filter(|peer| *peer != method.waiting);
    peer.map_or_else(|| own.clone(), |peer| format!("{own} (peer: {})", name(peer)))
}

fn spread(method: &Method) -> Option<String> {
    let (connections, threads) = (method.spread.connections, method.spread.threads);
    let threads = if threads > 1 { format!(" on {threads} threads") } else { String::new() };
    let turns = if method.spread.in_turn { " in turn" } else { "" };
    let ports = method.socket.source_ports.map(|ports| match ports.count() {
        1 => format!("source port {}", ports.first),
        _ => format!("source ports {}-{}", ports.first, ports.last),
    });
    let connections =
        (connections > 1).then(|| format!("{} connections{turns}{threads}", grouped(u64::from(connections))));
    let parts: Vec<String> = connections.into_iter().chain(ports).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn end(method: &Method) -> Option<String> {
    let messages = matches!(method.traffic, Traffic::Load(_));
    let (one, many) = if messages { ("message", "messages") } else { ("request", "requests") };
    if let Some(bytes) = method.stop.bytes {
        return Some(format!("{bytes} in all"));
    }
    match (&method.stop.settled, method.stop.count, method.stop.after_ns) {
        (Some(settled), ..) => Some(format!("until {settled}")),
        (None, Some(count), _) => Some(number::count(count, one, many)),
        (None, None, Some(time)) => Some(format!("for {time}")),
        (None, None, None) => None,
    }
}
