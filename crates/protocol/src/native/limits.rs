//! Limits of a reflector for one client and for all of them, and the check of a request to open against them.
//!
//! A refusal names the limit that is exceeded, with the requested and the allowed value. Only the server knows how many
//! sessions are open, so [`Limits::check_sessions`] is called apart from [`Limits::check`].

use measure::method::{
    Carrier, LARGEST_DATAGRAM, LARGEST_MESSAGE, Pattern, SMALLEST_NATIVE_DATAGRAM, Sending, Waiting,
};
use measure::unit::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::native::message::{Got, Open, Reason, Refused};
use crate::native::stream::{self, Ask, OCTETS};

/// Flows a session of this protocol can have: counts for all of them fit one frame.
pub const MOST_FLOWS: u32 = 4_096;
/// The most of one message that an end keeps in memory, octets: longer ones go through in pieces.
pub const BUFFER: Bytes = Bytes(256 * 1024);

/// Octets that a reflector keeps for each flow whose messages come many in one call.
pub const SEGMENTS: Bytes = Bytes(64 * 1024);

/// Octets that a reflector keeps for the series of one stream.
pub const SERIES: Bytes = Bytes(600 << 10);
/// Intervals of a stream's series that fit there; where there are more, each two become one.
pub const INTERVALS: usize = 1_024;
/// No interval of a reflector's series is shorter.
const SHORTEST_INTERVAL: Nanos = Nanos::millis(100);
/// Segments of one call at most, on every kernel that knows them.
const MOST_SEGMENTS: u32 = 64;

/// The bounds of a reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions open at once, of all clients.
    pub sessions: u32,
    /// Flows (connections, or UDP flows) of one session, at most [`MOST_FLOWS`].
    pub flows_per_session: u32,
    /// Requests a second answered on one flow, given per 1000 seconds; absent: no bound.
    #[serde(rename = "rate_per_flow_per_1000s")]
    pub rate_per_flow: Option<Rate>,
    /// Longest life of a session, nanoseconds.
    pub duration_ns: Nanos,
    /// Longest silence of a session, nanoseconds: no control message and no data.
    pub idle_ns: Nanos,
    /// Buffers of one session, octets, by [`memory`].
    pub memory_bytes: Bytes,
    /// Longest request, octets.
    #[serde(rename = "largest_request_bytes")]
    pub largest_request: Bytes,
    /// Longest reply, octets.
    #[serde(rename = "largest_response_bytes")]
    pub largest_response: Bytes,
}

/// Generous to a measurement, and still bounds.
impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 256,
            flows_per_session: 1_024,
            rate_per_flow: None,
            duration_ns: Nanos::secs(24 * 3_600),
            idle_ns: Nanos::secs(60),
            memory_bytes: Bytes(512 << 20),
            largest_request: Bytes(LARGEST_MESSAGE),
            largest_response: Bytes(LARGEST_MESSAGE),
        }
    }
}

/// Octets of buffers a session of this shape takes at the reflector: for each flow a request and a reply, of each at most
/// [`BUFFER`]; over UDP the receive buffer asked for, and [`SEGMENTS`] where messages come many in one call.
///
/// For a stream there is one call in memory, whole, one file of that size, and [`SERIES`].
pub fn memory(open: &Open) -> Bytes {
    if let Some(ask) = &open.stream {
        let call = open.request_bytes.0.max(open.response_bytes.0).max(SEGMENTS.0);
        let buffers = [ask.send_buffer_bytes, open.receive_buffer_bytes].map(|buffer| buffer.unwrap_or_default().0);
        let each = [call, SERIES.0, buffers[0], buffers[1]].iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
        return Bytes(each.saturating_mul(u64::from(open.flows)));
    }
    let messages = open.request_bytes.min(BUFFER).0 + open.response_bytes.min(BUFFER).0;
    let of_udp = if open.carrier == Carrier::Udp {
        let many = open.batch.map_or(0, |_| SEGMENTS.0);
        open.receive_buffer_bytes.unwrap_or_default().0.saturating_add(many)
    } else {
        0
    };
    Bytes(messages.saturating_add(of_udp).saturating_mul(u64::from(open.flows)))
}

/// Returns the length of an interval of a stream's series at a reflector: as long as requested, unless that is too short.
pub fn interval(ask: &Ask) -> Nanos {
    ask.interval_ns.unwrap_or(measure::event::INTERVAL).max(SHORTEST_INTERVAL)
}

impl Limits {
    /// The narrower of each bound.
    pub fn within(&self, other: &Self) -> Self {
        Self {
            sessions: self.sessions.min(other.sessions),
            flows_per_session: self.flows_per_session.min(other.flows_per_session),
            rate_per_flow: self.rate_per_flow.into_iter().chain(other.rate_per_flow).min(),
            duration_ns: self.duration_ns.min(other.duration_ns),
            idle_ns: self.idle_ns.min(other.idle_ns),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            largest_request: self.largest_request.min(other.largest_request),
            largest_response: self.largest_response.min(other.largest_response),
        }
    }

    /// Checks that another session may open beside `open_now` others.
    pub fn check_sessions(&self, open_now: u32) -> Result<(), Refused> {
        if open_now < self.sessions {
            return Ok(());
        }
        Err(beyond(Reason::Sessions, "sessions", "one more", &format!("{} at once", self.sessions)))
    }

    /// Checks that a session may be as `open` asks: sense first, then the bounds.
    pub fn check(&self, open: &Open) -> Result<(), Refused> {
        check_sense(open)?;
        self.check_sizes(open)?;
        let flows = self.flows_per_session.min(MOST_FLOWS);
        if open.flows > flows {
            return Err(beyond(Reason::Flows, "flows per session", &open.flows.to_string(), &flows.to_string()));
        }
        if let Some(duration) = open.duration_ns.filter(|duration| *duration > self.duration_ns) {
            let allowed = self.duration_ns.to_string();
            return Err(beyond(Reason::Duration, "duration", &duration.to_string(), &allowed));
        }
        if let (Some(rate), Some(allowed)) = (open.rate_per_flow, self.rate_per_flow)
            && rate > allowed
        {
            return Err(beyond(Reason::Rate, "rate per flow", &rate.to_string(), &allowed.to_string()));
        }
        let memory = memory(open);
        if memory > self.memory_bytes {
            let allowed = self.memory_bytes.to_string();
            return Err(beyond(Reason::Memory, "memory per session", &memory.to_string(), &allowed));
        }
        Ok(())
    }

    /// Returns the settings granted by a reflector that can do all that `open` asks for: the requested waiting, CPUs and
    /// stamps (it blocks where no waiting is named), and times within the bounds. It draws no secret. A driver that can
    /// do less says so in its own [`Got`].
    pub fn grant(&self, open: &Open) -> Got {
        Got {
            waiting: open.waiting.unwrap_or(Waiting::Block),
            cpus: open.cpus.clone(),
            stamps: open.stamps,
            batch: open.batch.filter(|_| open.carrier == Carrier::Udp),
            datagram_key: None,
            duration_ns: open.duration_ns.unwrap_or(self.duration_ns).min(self.duration_ns),
            idle_ns: open.idle_ns.min(self.idle_ns),
        }
    }

    fn check_sizes(&self, open: &Open) -> Result<(), Refused> {
        for (reason, limit, asked, allowed) in [
            (Reason::RequestSize, "largest request", open.request_bytes, self.largest_request),
            (Reason::ResponseSize, "largest response", open.response_bytes, self.largest_response),
        ] {
            if asked > allowed {
                return Err(beyond(reason, limit, &asked.to_string(), &allowed.to_string()));
            }
        }
        Ok(())
    }
}

/// Refuses requests that no reflector of this protocol can serve, whatever its limits.
fn check_sense(open: &Open) -> Result<(), Refused> {
    let (request, response) = (open.request_bytes.0, open.response_bytes.0);
    // A load is asked for as exchanges, and its silent ones are not answered, so that older reflectors serve it.
    if matches!(open.pattern, Pattern::ConnectClose | Pattern::Load) {
        return Err(nonsense(
            Reason::Pattern,
            "this protocol carries exchanges, connections with one exchange each, and streams",
        ));
    }
    match (open.pattern, &open.stream) {
        (Pattern::Stream, Some(ask)) => return check_stream(open, ask),
        (Pattern::Stream, None) => return Err(nonsense(Reason::Pattern, "what the streams are like is not said")),
        (_, Some(_)) => return Err(nonsense(Reason::Pattern, "only streams are like streams")),
        (_, None) => {}
    }
    match open.carrier {
        Carrier::Udp if open.pattern == Pattern::ConnectExchange => {
            return Err(nonsense(Reason::Pattern, "UDP has no connection to open for each exchange"));
        }
        Carrier::Udp if request.min(response) < SMALLEST_NATIVE_DATAGRAM => {
            return Err(nonsense(
                Reason::RequestSize,
                &format!("a datagram is its header of {SMALLEST_NATIVE_DATAGRAM} B at least"),
            ));
        }
        Carrier::Udp if request > LARGEST_DATAGRAM => {
            return Err(nonsense(Reason::RequestSize, &format!("a datagram carries {LARGEST_DATAGRAM} B at most")));
        }
        Carrier::Udp if response > request => {
            return Err(nonsense(Reason::ResponseSize, "over UDP a reply is never longer than its request"));
        }
        Carrier::Tcp | Carrier::Udp => {}
        Carrier::Icmp | Carrier::TcpConnect | Carrier::TcpSyn => {
            return Err(nonsense(Reason::Carrier, &format!("{} needs no session", open.carrier)));
        }
    }
    if open.flows == 0 || open.reply_every == 0 || request == 0 || response == 0 {
        return Err(nonsense(Reason::NotUnderstood, "flows, reply_every and sizes start at 1"));
    }
    Ok(())
}

/// The same of streams. Here a reflector may send more than it is sent: the address it sends to has proved itself.
fn check_stream(open: &Open, ask: &Ask) -> Result<(), Refused> {
    let sizes = [open.request_bytes.0, open.response_bytes.0];
    let datagrams = match open.carrier {
        Carrier::Tcp => false,
        Carrier::Udp => true,
        Carrier::Icmp | Carrier::TcpConnect | Carrier::TcpSyn => {
            return Err(nonsense(Reason::Carrier, &format!("{} carries no streams", open.carrier)));
        }
    };
    if open.flows == 0 || sizes.contains(&0) {
        return Err(nonsense(Reason::NotUnderstood, "flows and sizes start at 1"));
    }
    if stream::flows(ask.direction, stream::streams(ask.direction, open.flows)) != open.flows {
        return Err(nonsense(Reason::NotUnderstood, "streams that go both ways come in pairs"));
    }
    if datagrams && sizes.iter().any(|size| *size < OCTETS as u64) {
        let detail = format!("a datagram of a stream is its number of {OCTETS} B at least");
        return Err(nonsense(Reason::RequestSize, &detail));
    }
    if datagrams && sizes.iter().any(|size| *size > LARGEST_DATAGRAM) {
        return Err(nonsense(Reason::RequestSize, &format!("a datagram carries {LARGEST_DATAGRAM} B at most")));
    }
    if datagrams && (ask.sending != Sending::Copy || ask.discard) {
        return Err(nonsense(Reason::Carrier, "sending in place or from a file, and throwing away unread, are of TCP"));
    }
    match ask.segments {
        Some(_) if !datagrams => Err(nonsense(Reason::Carrier, "segments of one call are datagrams: over UDP alone")),
        Some(segments) if !(1..=MOST_SEGMENTS).contains(&segments) => {
            Err(nonsense(Reason::NotUnderstood, &format!("segments of one call: 1 to {MOST_SEGMENTS}")))
        }
        _ => Ok(()),
    }
}

fn beyond(reason: Reason, limit: &str, asked: &str, allowed: &str) -> Refused {
    Refused {
        reason,
        detail: format!("{limit}: {asked} was asked for, {allowed} is the limit of this server"),
        hint: Some("ask for less, or raise the limit where the server was started".to_owned()),
    }
}

fn nonsense(reason: Reason, detail: &str) -> Refused {
    Refused { reason, detail: detail.to_owned(), hint: None }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use test_case::test_case;

    use super::*;
    use measure::method::{Batch, BatchBy, Direction};
    use measure::throughput::Interval;

    fn open(carrier: Carrier, request: u64, response: u64) -> Open {
        Open {
            program: String::new(),
            capabilities: BTreeSet::new(),
            carrier,
            pattern: Pattern::Exchange,
            request_bytes: Bytes(request),
            response_bytes: Bytes(response),
            reply_every: 1,
            waiting: Some(Waiting::Block),
            cpus: vec![],
            flows: 1,
            stamps: false,
            batch: None,
            receive_buffer_bytes: None,
            stream: None,
            rate_per_flow: None,
            duration_ns: None,
            idle_ns: Nanos::secs(5),
        }
    }

    #[test_case(&open(Carrier::Tcp, 1, 1); "the smallest on a stream")]
    #[test_case(&open(Carrier::Tcp, 1 << 30, 1 << 30); "the largest on a stream")]
    #[test_case(&open(Carrier::Udp, 32, 32); "the smallest datagrams")]
    #[test_case(&open(Carrier::Udp, 65_507, 65_507); "the largest datagrams")]
    #[test_case(&Open { pattern: Pattern::ConnectExchange, ..open(Carrier::Tcp, 64, 64) }; "a connection each")]
    #[test_case(&Open { flows: 1_024, ..open(Carrier::Tcp, 64, 64) }; "many flows")]
    fn what_makes_sense_is_let_in(open: &Open) {
        assert_eq!(Limits::default().check(open), Ok(()));
    }

    #[test_case(&open(Carrier::Icmp, 64, 64), Reason::Carrier; "a carrier without a session")]
    #[test_case(&Open { pattern: Pattern::ConnectExchange, ..open(Carrier::Udp, 64, 64) }, Reason::Pattern)]
    #[test_case(&Open { pattern: Pattern::Stream, ..open(Carrier::Tcp, 64, 64) }, Reason::Pattern)]
    #[test_case(&open(Carrier::Udp, 31, 31), Reason::RequestSize; "a datagram below its header")]
    #[test_case(&open(Carrier::Udp, 65_508, 64), Reason::RequestSize; "a datagram too long")]
    #[test_case(&open(Carrier::Udp, 64, 65), Reason::ResponseSize; "an amplifier")]
    #[test_case(&open(Carrier::Tcp, 0, 64), Reason::NotUnderstood; "an empty request")]
    #[test_case(&Open { flows: 0, ..open(Carrier::Tcp, 64, 64) }, Reason::NotUnderstood; "no flow")]
    fn what_makes_no_sense_is_not(open: &Open, reason: Reason) {
        assert_eq!(Limits::default().check(open).unwrap_err().reason, reason);
    }

    #[test_case(&Open { flows: 3, ..open(Carrier::Tcp, 64, 64) }, Reason::Flows, "flows per session: 3 ")]
    #[test_case(&open(Carrier::Tcp, 101, 64), Reason::RequestSize, "largest request: 101 B ")]
    #[test_case(&open(Carrier::Tcp, 64, 102), Reason::ResponseSize, "largest response: 102 B ")]
    #[test_case(&Open { duration_ns: Some(Nanos::secs(61)), ..open(Carrier::Tcp, 64, 64) }, Reason::Duration, "duration: 61 s ")]
    #[test_case(&Open { rate_per_flow: Rate::per_second(11), ..open(Carrier::Tcp, 64, 64) }, Reason::Rate, "rate per flow: 11/s ")]
    #[test_case(&Open { flows: 2, ..open(Carrier::Tcp, 100, 99) }, Reason::Memory, "memory per session: 398 B ")]
    fn a_limit_that_is_exceeded_is_named(open: &Open, reason: Reason, words: &str) {
        let limits = Limits {
            sessions: 1,
            flows_per_session: 2,
            rate_per_flow: Rate::per_second(10),
            duration_ns: Nanos::secs(60),
            idle_ns: Nanos::secs(1),
            memory_bytes: Bytes(397),
            largest_request: Bytes(100),
            largest_response: Bytes(100),
        };
        let refused = limits.check(open).unwrap_err();
        assert_eq!(refused.reason, reason);
        assert!(refused.detail.starts_with(words), "{}", refused.detail);
        assert!(refused.hint.is_some());
    }

    #[test]
    fn buffers_that_datagrams_ask_for_count_as_memory() {
        let batch = Some(Batch { messages: 64, by: BatchBy::Segments });
        let asks =
            |carrier| Open { batch, receive_buffer_bytes: Some(Bytes(4 << 20)), flows: 3, ..open(carrier, 64, 64) };
        assert_eq!(memory(&asks(Carrier::Udp)), Bytes(3 * (128 + (64 << 10) + (4 << 20))));
        assert_eq!(memory(&asks(Carrier::Tcp)), Bytes(3 * 128), "a stream has neither");
        let greedy = Open { receive_buffer_bytes: Some(Bytes(u64::MAX)), ..asks(Carrier::Udp) };
        assert_eq!(Limits::default().check(&greedy).unwrap_err().reason, Reason::Memory);
        let (udp, tcp) = (Limits::default().grant(&asks(Carrier::Udp)), Limits::default().grant(&asks(Carrier::Tcp)));
        assert_eq!((udp.batch, tcp.batch), (batch, None));
    }

    fn streams(carrier: Carrier, ask: Ask) -> Open {
        let size = if carrier == Carrier::Udp { 24 } else { 1 };
        Open { pattern: Pattern::Stream, stream: Some(Box::new(ask)), ..open(carrier, size, size) }
    }

    #[test_case(&streams(Carrier::Tcp, Ask::default()); "the smallest calls")]
    #[test_case(&streams(Carrier::Udp, Ask::default()); "the smallest datagrams")]
    #[test_case(&Open { flows: 8, ..streams(Carrier::Tcp, Ask { direction: Direction::Both, ..Ask::default() }) }; "both ways")]
    #[test_case(&streams(Carrier::Tcp, Ask { sending: Sending::File, discard: true, ..Ask::default() }); "from a file")]
    #[test_case(&streams(Carrier::Udp, Ask { segments: Some(64), ..Ask::default() }); "in segments")]
    #[test_case(&Open { response_bytes: Bytes(65_507), ..streams(Carrier::Udp, Ask::default()) }; "larger than requests")]
    fn streams_that_make_sense_are_let_in(open: &Open) {
        assert_eq!(Limits::default().check(open), Ok(()));
    }

    #[test_case(&Open { request_bytes: Bytes(23), ..streams(Carrier::Udp, Ask::default()) }, Reason::RequestSize, "24 B"; "no room for a number")]
    #[test_case(&Open { response_bytes: Bytes(23), ..streams(Carrier::Udp, Ask::default()) }, Reason::RequestSize, "24 B"; "nor back")]
    #[test_case(&Open { request_bytes: Bytes(65_508), ..streams(Carrier::Udp, Ask::default()) }, Reason::RequestSize, "65507 B"; "a datagram too long")]
    #[test_case(&Open { request_bytes: Bytes(0), ..streams(Carrier::Tcp, Ask::default()) }, Reason::NotUnderstood, "start at 1"; "an empty call")]
    #[test_case(&streams(Carrier::Tcp, Ask { direction: Direction::Both, ..Ask::default() }), Reason::NotUnderstood, "pairs"; "one flow both ways")]
    #[test_case(&streams(Carrier::Udp, Ask { sending: Sending::File, ..Ask::default() }), Reason::Carrier, "of TCP"; "datagrams of a file")]
    #[test_case(&streams(Carrier::Udp, Ask { discard: true, ..Ask::default() }), Reason::Carrier, "of TCP"; "datagrams unread")]
    #[test_case(&streams(Carrier::Tcp, Ask { segments: Some(2), ..Ask::default() }), Reason::Carrier, "over UDP"; "segments of a stream")]
    #[test_case(&streams(Carrier::Udp, Ask { segments: Some(65), ..Ask::default() }), Reason::NotUnderstood, "1 to 64"; "too many segments")]
    #[test_case(&streams(Carrier::Icmp, Ask::default()), Reason::Carrier, "no streams"; "a carrier of none")]
    #[test_case(&Open { stream: Some(Box::default()), ..open(Carrier::Tcp, 1, 1) }, Reason::Pattern, "only streams"; "an exchange like a stream")]
    #[test_case(&Open { request_bytes: Bytes(600 << 20), ..streams(Carrier::Tcp, Ask::default()) }, Reason::Memory, "memory per session"; "a call beyond memory")]
    fn streams_that_make_none_are_refused(open: &Open, reason: Reason, words: &str) {
        let refused = Limits::default().check(open).unwrap_err();
        assert_eq!(refused.reason, reason);
        assert!(refused.detail.contains(words), "{}", refused.detail);
    }

    #[test]
    fn the_series_of_as_many_streams_as_tools_have_fit_the_usual_memory() {
        let ask = |millis| Ask { interval_ns: Some(Nanos::millis(millis)), ..Ask::default() };
        let lengths = [interval(&Ask::default()), interval(&ask(1)), interval(&ask(500))];
        assert_eq!(lengths, [Nanos::secs(1), Nanos::millis(100), Nanos::millis(500)]);
        assert!(INTERVALS * size_of::<Interval>() <= SERIES.0 as usize, "{}", size_of::<Interval>());
        let all = Ask { direction: Direction::Both, ..Ask::default() };
        assert_eq!(Limits::default().check(&Open { flows: 256, ..streams(Carrier::Tcp, all) }), Ok(()));
    }

    #[test]
    fn sessions_are_bounded_and_counted_by_the_caller() {
        let limits = Limits { sessions: 2, ..Limits::default() };
        assert_eq!(limits.check_sessions(1), Ok(()));
        assert_eq!(limits.check_sessions(2).unwrap_err().reason, Reason::Sessions);
    }

    #[test]
    fn more_flows_than_the_protocol_counts_are_refused_whatever_the_limit() {
        let limits = Limits { flows_per_session: u32::MAX, ..Limits::default() };
        let open = Open { flows: MOST_FLOWS + 1, ..open(Carrier::Tcp, 1, 1) };
        assert_eq!(limits.check(&open).unwrap_err().reason, Reason::Flows);
    }

    #[test]
    fn times_are_granted_within_the_bounds() {
        let limits = Limits { duration_ns: Nanos::secs(60), idle_ns: Nanos::secs(3), ..Limits::default() };
        let got = limits.grant(&open(Carrier::Tcp, 64, 64));
        assert_eq!((got.duration_ns, got.idle_ns), (Nanos::secs(60), Nanos::secs(3)));
        let brief = Open { duration_ns: Some(Nanos::secs(9)), idle_ns: Nanos::secs(2), ..open(Carrier::Tcp, 64, 64) };
        let got = limits.grant(&brief);
        assert_eq!((got.duration_ns, got.idle_ns), (Nanos::secs(9), Nanos::secs(2)));
    }
}
