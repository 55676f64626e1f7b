//! HTTP/2 (RFC 9113) with prior knowledge, one request a stream; and on it the health check of gRPC, and `PING` alone.
//!
//! Streams are numbered as requests are ([`stream_of`]): a client's first stream may be any odd one, and each must only be above those before
//! it (RFC 9113 section 5.1.1). So a connection that is made anew goes on where the one before it ended, and no reply of one is taken for
//! another's. The last stream of all ends its connection.
//!
//! A response in time is an answer as in [`super::http`]. A stream that the server resets is refused by the name of the error:
//! `REFUSED_STREAM` where more are out at once than its `SETTINGS_MAX_CONCURRENT_STREAMS` allows (nginx: 128). Of gRPC every status is an answer,
//! also `UNIMPLEMENTED` of a server without health checks, `NOT_FOUND` of a service that has none, and `NOT_SERVING`; `UNAVAILABLE` and
//! `RESOURCE_EXHAUSTED` are refusals.
//!
//! `PING` is answered by what ends the connection, mostly a proxy in front, and pings in a row are taken for a flood: nginx 1.22 ends the connection
//! after 10,000, servers by grpc-go after a few. A long measurement asks by requests.
//!
//! Not here: pushes, priorities, bodies of responses beyond 2 GiB (the window of a stream), and windows of the server: a request goes at once.

mod frame;
mod hpack;

use std::borrow::Cow;

use measure::reach::Transport;

use self::frame::Frame;
use super::http::{Expected, Request, RequestError};
use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

/// The row of HTTP/2 in clear.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["h2c"],
    over: Transport::Tcp,
    port: 80,
    tls: None,
    asks: "GET of the path over HTTP/2 in clear, known beforehand; a stream for each request",
};
/// The same through TLS.
pub const SECURE: Protocol = Protocol {
    schemes: &["h2"],
    port: 443,
    tls: Some("h2"),
    asks: "GET of the path over HTTP/2, a stream for each request",
    ..PROTOCOL
};
/// The row of pings in clear.
pub const PING: Protocol = Protocol {
    schemes: &["h2ping"],
    asks: "PING of HTTP/2 in clear, its number given back; servers end a connection on which many come",
    ..PROTOCOL
};
/// The same through TLS.
pub const SECURE_PING: Protocol = Protocol {
    schemes: &["h2pings"],
    port: 443,
    tls: Some("h2"),
    asks: "PING of HTTP/2, its number given back; servers end a connection on which many come",
    ..PROTOCOL
};
/// The row of gRPC's health check in clear.
pub const HEALTH: Protocol = Protocol {
    schemes: &["grpc"],
    port: 50051,
    asks: "health check of gRPC in clear; grpc://HOST/SERVICE asks for one service",
    ..PROTOCOL
};
/// The same through TLS; its port is that of names without one (gRPC Name Resolution).
pub const SECURE_HEALTH: Protocol = Protocol {
    schemes: &["grpcs"],
    port: 443,
    tls: Some("h2"),
    asks: "health check of gRPC; grpcs://HOST/SERVICE asks for one service",
    ..PROTOCOL
};

/// The first octets of a client (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What it sets: `HEADER_TABLE_SIZE` 0, `ENABLE_PUSH` 0, `INITIAL_WINDOW_SIZE` 2^31 - 1, `MAX_HEADER_LIST_SIZE` 64 KiB.
const SET: &[u8] = &[0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0x7F, 0xFF, 0xFF, 0xFF, 0, 6, 0, 1, 0, 0];
/// The setting of the server that says how much of a request goes at once.
const INITIAL_WINDOW_SIZE: &[u8] = &[0, 4];
/// The window of a connection and of a stream before anything is said of it, octets (RFC 9113 section 6.9.2).
const WINDOW: u32 = 65_535;
/// The most that a window can be.
const LARGEST_WINDOW: u32 = 0x7FFF_FFFF;
/// After so many octets of bodies the connection's window is opened for as many more.
const UPDATE_AFTER: u32 = 1 << 30;

/// Bits of a number that a stream tells.
const BITS: u32 = 30;
const LAST_STREAM: u32 = 0x7FFF_FFFF;
/// Most responses that are under way at once, their heads read and their bodies not.
const MOST_STREAMS: usize = 4_096;
/// Room for those that are usual.
const USUAL_STREAMS: usize = 64;
/// Most answers to `PING` and `SETTINGS` of the server without a reply in between: more are a flood.
const MOST_ANSWERS: u32 = 1_000;
/// Octets of a body that are looked at: the head of a message of gRPC and a status.
const LOOKED_AT: usize = 16;

/// Kinds below are statuses of HTTP; from here on, streams that were reset, by their error.
const RESET: u16 = 1_000;
/// From here on, statuses of gRPC.
const GRPC: u16 = 2_000;
/// From here on, what a health check says of a service.
const SERVING: u16 = 3_000;
/// Errors by their number (RFC 9113 section 7).
const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];
/// Errors by which a server resets a stream that it has answered: `NO_ERROR` and `STREAM_CLOSED`.
const BEHIND: [u32; 2] = [0, 5];
/// Statuses of gRPC by their number ("Status codes and their use in gRPC").
const STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
/// Statuses of gRPC by which a program says that it did nothing: `RESOURCE_EXHAUSTED` and `UNAVAILABLE`.
const DID_NOTHING: [u16; 2] = [8, 14];
/// What a health check says, by its number (gRPC Health Checking Protocol).
const HEALTHS: [&str; 4] = ["health UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const CHECK: &str = "/grpc.health.v1.Health/Check";
/// Longest name of a service, octets.
const LONGEST_SERVICE: usize = 127;

/// The stream of request `number`. The number below all, which no measurement has and its first trial takes, is that of the first stream.
#[inline]
pub fn stream_of(number: u64) -> u32 {
    ((number as u32).wrapping_add(1) << 1 | 1) & LAST_STREAM
}

/// The low bits of the number of the request on a stream.
#[inline]
fn number_of(stream: u32) -> u32 {
    (stream >> 1).wrapping_sub(1) & (LAST_STREAM >> 1)
}

/// A thing that is asked over HTTP/2.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Http(Expected),
    Health,
    Ping,
}

/// A client of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct H2 {
    asked: Asked,
    request: Vec<u8>,
    words: String,
    /// Octets of the request's body.
    body: usize,
    is_open: bool,
    /// Responses whose heads were read.
    streams: Vec<Stream>,
    /// The highest stream that has ended.
    ended: u32,
    /// The highest stream that the server still answers, once it has said that it goes.
    leaving: Option<u32>,
    /// Octets of bodies since the connection's window was opened last.
    consumed: u32,
    /// Answers since the latest reply.
    answers: u32,
    answer: Vec<u8>,
}

/// A response under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    id: u32,
    status: u16,
    /// The beginning of its body, so many octets of it.
    begun: [u8; LOOKED_AT],
    kept: usize,
}

impl Stream {
    fn new(id: u32, status: u16) -> Self {
        Self { id, status, begun: [0; LOOKED_AT], kept: 0 }
    }

    fn keep(&mut self, part: &[u8]) {
        let room = self.begun.get_mut(self.kept..).unwrap_or_default();
        let count = part.len().min(room.len());
        room.iter_mut().zip(part).for_each(|(place, octet)| *place = *octet);
        self.kept += count;
    }

    /// The status in its body, a message of gRPC that is not compressed: a field 1 with a number, or no field, which is number 0.
    fn health(&self) -> Option<u16> {
        match self.begun.get(..self.kept)? {
            [0, 0, 0, 0, 0] => Some(0),
            [0, 0, 0, 0, length, 0x08, health, ..] if *length >= 2 => Some(u16::from(*health)),
            _ => None,
        }
    }
}

impl H2 {
    /// A client that makes `request` and takes `expected` statuses for answers. `secure`: it goes through TLS.
    ///
    /// # Errors
    /// A request that cannot be written in HTTP/2.
    pub fn new(request: &Request, expected: Expected, secure: bool) -> Result<Self, RequestError> {
        request.check()?;
        if request.body.len() > WINDOW as usize {
            return Err(RequestError::Body(request.body.len()));
        }
        let block = fields(request, secure)?;
        Ok(Self::asking(Asked::Http(expected), request.words(), &block, &request.body))
    }

    /// A client that asks for the health of `service`, or of the whole server where that is empty.
    ///
    /// # Errors
    /// A host or a service that cannot be written.
    pub fn health(host: &str, service: &str, secure: bool) -> Result<Self, RequestError> {
        let request = Request {
            method: "POST".to_owned(),
            host: host.to_owned(),
            target: CHECK.to_owned(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: String::new(),
        };
        request.check()?;
        let length = u8::try_from(service.len()).ok().filter(|length| usize::from(*length) <= LONGEST_SERVICE);
        let length = length.ok_or(RequestError::Target)?;
        let mut block = Vec::new();
        pseudo_fields(&mut block, &request, host, secure);
        hpack::named(&mut block, 31, "application/grpc");
        hpack::literal(&mut block, "te", "trailers");
        // Not compressed, its length, and the name as field 1; an empty one is left out.
        let (name, words) = if service.is_empty() {
            (Vec::new(), "Health/Check".to_owned())
        } else {
            ([&[0x0A, length], service.as_bytes()].concat(), format!("Health/Check {service}"))
        };
        let body = [&[0, 0, 0, 0, name.len() as u8], &name[..]].concat();
        Ok(Self::asking(Asked::Health, words, &block, &body))
    }

    /// A client that pings.
    pub fn ping() -> Self {
        let mut ping = Self::asking(Asked::Ping, "PING".to_owned(), &[], &[]);
        frame::write(&mut ping.request, frame::PING, 0, 0, &[0; 8]);
        ping
    }

    fn asking(asked: Asked, words: String, block: &[u8], body: &[u8]) -> Self {
        let mut request = Vec::new();
        frame::write_request(&mut request, block, body);
        Self {
            asked,
            request,
            words,
            body: body.len(),
            is_open: false,
            streams: Vec::new(),
            ended: 0,
            leaving: None,
            consumed: 0,
            answers: 0,
            answer: Vec::new(),
        }
    }

    /// Its request in words: `GET /health`.
    pub fn words(&self) -> &str {
        &self.words
    }

    fn read(&mut self, octets: &[u8]) -> Result<Taken, &'static str> {
        let Some(frame) = Frame::read(octets)? else { return Ok(Taken::MORE) };
        match (frame.kind, self.is_open) {
            (frame::GOAWAY, _) => self.leave(&frame),
            (frame::SETTINGS, false) if !frame.has(frame::ACK) => self.greeting(&frame),
            // A server begins with its settings (RFC 9113 section 3.4), and a block goes on behind its beginning alone.
            (_, false) | (frame::CONTINUATION, true) => Err(frame::FOREIGN),
            (frame::HEADERS | frame::DATA | frame::RST_STREAM, true) if self.asked == Asked::Ping => {
                Err("a response that nobody asked for")
            }
            (frame::HEADERS, true) => self.head(&frame, octets),
            (frame::DATA, true) => self.data(&frame),
            (frame::RST_STREAM, true) => Ok(self.reset(&frame)),
            (frame::PING, true) if frame.has(frame::ACK) => Ok(self.pong(&frame)),
            (frame::PING, true) => self.acknowledge(&frame, frame.payload),
            (frame::SETTINGS, true) if !frame.has(frame::ACK) => self.acknowledge(&frame, &[]),
            _ => Ok(self.passed(&frame)),
        }
    }

    /// A frame that needs no answer: in the middle of a response it is counted with it.
    fn passed(&self, frame: &Frame<'_>) -> Taken {
        if self.streams.is_empty() { Taken::aside(frame.octets()) } else { Taken::part(frame.octets()) }
    }

    fn greeting(&mut self, frame: &Frame<'_>) -> Result<Taken, &'static str> {
        for setting in frame.payload.chunks_exact(6) {
            let Some((value, _)) = setting.strip_prefix(INITIAL_WINDOW_SIZE).and_then(frame::word) else { continue };
            if value > LARGEST_WINDOW {
                return Err(frame::FOREIGN);
            }
            if (value as usize) < self.body {
                let words = format!("takes {value} octets of a body at once: SETTINGS_INITIAL_WINDOW_SIZE");
                return Ok(Taken::declined(frame.octets(), words.as_bytes()));
            }
        }
        self.is_open = true;
        frame::write(&mut self.answer, frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(Taken { octets: frame.octets(), came: Came::Opened })
    }

    fn acknowledge(&mut self, frame: &Frame<'_>, payload: &[u8]) -> Result<Taken, &'static str> {
        self.answers += 1;
        if self.answers > MOST_ANSWERS {
            return Err("the server floods with frames that want an answer");
        }
        frame::write(&mut self.answer, frame.kind, frame::ACK, 0, payload);
        Ok(Taken::aside(frame.octets()))
    }

    fn pong(&mut self, frame: &Frame<'_>) -> Taken {
        let number = frame.payload.last_chunk().map(|low| u32::from_be_bytes(*low));
        if self.asked != Asked::Ping {
            return self.passed(frame);
        }
        self.answers = 0;
        Taken::reply(frame.octets(), Reply { number, ..Reply::answered(Kind(0)) })
    }

    fn head(&mut self, frame: &Frame<'_>, octets: &[u8]) -> Result<Taken, &'static str> {
        let Some((block, taken)) = frame.block(octets)? else { return Ok(Taken::MORE) };
        let fields = hpack::read(&block)?;
        let ends = frame.has(frame::END_STREAM);
        match (self.place(frame.stream), fields.status) {
            // An interim response: the one that counts follows (RFC 9110 section 15.2).
            (None, Some(100..=199)) if !ends => Ok(Taken::aside(taken)),
            (None, None | Some(100..=199)) => Err("a response has no status"),
            (None, Some(status)) if ends => {
                Ok(self.replied(&Stream::new(frame.stream, status), fields.grpc_status, taken))
            }
            (None, Some(_)) if self.streams.len() >= MOST_STREAMS => Err("too many responses are under way at once"),
            (None, Some(status)) => {
                self.streams.push(Stream::new(frame.stream, status));
                Ok(Taken::part(taken))
            }
            (Some(place), None) if ends => {
                let stream = self.streams.swap_remove(place);
                Ok(self.replied(&stream, fields.grpc_status, taken))
            }
            (Some(_), _) => Err("the fields behind a body do not end the response"),
        }
    }

    /// The place of a response under way; the latest is the likeliest.
    fn place(&self, id: u32) -> Option<usize> {
        self.streams.iter().rposition(|stream| stream.id == id)
    }

    fn data(&mut self, frame: &Frame<'_>) -> Result<Taken, &'static str> {
        let payload = frame.unpadded()?;
        let place = self.place(frame.stream).ok_or("a body without a response")?;
        // Padding counts too (RFC 9113 section 6.9.1).
        self.consumed += frame.payload.len() as u32;
        if let Some(stream) = self.streams.get_mut(place) {
            stream.keep(payload);
        }
        if !frame.has(frame::END_STREAM) {
            return Ok(Taken::part(frame.octets()));
        }
        let stream = self.streams.swap_remove(place);
        Ok(self.replied(&stream, None, frame.octets()))
    }

    fn reset(&mut self, frame: &Frame<'_>) -> Taken {
        let error = frame::word(frame.payload).map_or(0, |(error, _)| error);
        match self.place(frame.stream) {
            Some(place) => drop(self.streams.swap_remove(place)),
            // The response ended before its request was read (RFC 9113 section 8.1), or the rest of that came behind it.
            None if BEHIND.contains(&error) && frame.stream <= self.ended => return self.passed(frame),
            None => {}
        }
        let kind = Kind(RESET + error.min(ERRORS.len() as u32) as u16);
        self.over(frame.stream, Reply::refused(kind), frame.octets())
    }

    fn replied(&mut self, stream: &Stream, grpc_status: Option<u16>, octets: usize) -> Taken {
        let http = |expected: &Expected| (stream.status, expected.has(stream.status));
        let (kind, sound) = match (&self.asked, grpc_status) {
            (Asked::Http(expected), _) => http(expected),
            (_, None) => http(&Expected::Any),
            (_, Some(0)) => (stream.health().map_or(GRPC, |health| SERVING + health), true),
            (_, Some(status)) => (GRPC + status.min(STATUSES.len() as u16), !DID_NOTHING.contains(&status)),
        };
        self.over(stream.id, Reply { sound, ..Reply::answered(Kind(kind)) }, octets)
    }

    /// The end of a stream.
    fn over(&mut self, stream: u32, reply: Reply, octets: usize) -> Taken {
        self.ended = self.ended.max(stream);
        self.answers = 0;
        let closes = stream == LAST_STREAM || self.is_left();
        Taken::reply(octets, Reply { number: Some(number_of(stream)), closes, ..reply })
    }

    /// True where the server goes and all is said that it still says. Replies that overtake each other may end it before the last of them.
    fn is_left(&self) -> bool {
        self.leaving.is_some_and(|last| self.ended >= last) && self.streams.is_empty()
    }

    /// The server goes: it answers the streams up to one that it names (RFC 9113 section 6.8). One that ends without an error may say so twice,
    /// and name all at first.
    fn leave(&mut self, frame: &Frame<'_>) -> Result<Taken, &'static str> {
        let (last, rest) = frame::word(frame.payload).ok_or(frame::FOREIGN)?;
        let (error, words) = frame::word(rest).ok_or(frame::FOREIGN)?;
        self.leaving = Some(last & LAST_STREAM);
        if error == 0 && self.is_open && !self.is_left() {
            return Ok(self.passed(frame));
        }
        let name = error_name(error);
        let words = [b"GOAWAY ", name.as_bytes(), b" ", words].concat();
        Ok(Taken::declined(frame.octets(), &words))
    }
}

fn error_name(error: u32) -> &'static str {
    usize::try_from(error).ok().and_then(|error| ERRORS.get(error)).copied().unwrap_or("an error without a name")
}

/// Method, scheme, path and authority, which come before all other fields (RFC 9113 section 8.3). The numbers are entries of the static table.
fn pseudo_fields(block: &mut Vec<u8>, request: &Request, host: &str, secure: bool) {
    match request.method.as_str() {
        "GET" => hpack::indexed(block, 2),
        "POST" => hpack::indexed(block, 3),
        other => hpack::named(block, 2, other),
    }
    hpack::indexed(block, if secure { 7 } else { 6 });
    match request.target.as_str() {
        "/" => hpack::indexed(block, 4),
        other => hpack::named(block, 4, other),
    }
    hpack::named(block, 1, host);
}

/// The header block of a request. Names are written small (RFC 9113 section 8.2.1).
fn fields(request: &Request, secure: bool) -> Result<Vec<u8>, RequestError> {
    let given = |wanted: &str| request.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let host = given("host").map_or(&request.host, |(_, value)| value);
    let mut block = Vec::new();
    pseudo_fields(&mut block, request, host, secure);
    if given("user-agent").is_none() {
        hpack::named(&mut block, 58, &request.agent);
    }
    for (name, value) in &request.fields {
        let small = name.to_ascii_lowercase();
        match small.as_str() {
            "host" => {}
            "keep-alive" | "proxy-connection" | "upgrade" => return Err(RequestError::OldField(name.clone())),
            "te" if !value.eq_ignore_ascii_case("trailers") => return Err(RequestError::OldField(name.clone())),
            _ => hpack::literal(&mut block, &small, value),
        }
    }
    if request.says_length() {
        hpack::named(&mut block, 28, &request.body.len().to_string());
    }
    Ok(block)
}

impl Speech for H2 {
    fn opening(&self) -> Cow<'static, [u8]> {
        let mut opening = PREFACE.to_vec();
        frame::write(&mut opening, frame::SETTINGS, 0, 0, SET);
        frame::write(&mut opening, frame::WINDOW_UPDATE, 0, 0, &(LARGEST_WINDOW - WINDOW).to_be_bytes());
        Cow::Owned(opening)
    }

    fn begin(&mut self) {
        (self.is_open, self.ended, self.leaving) = (false, 0, None);
        (self.consumed, self.answers) = (0, 0);
        self.answer.clear();
        self.streams.clear();
        self.streams.reserve(USUAL_STREAMS);
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn request(&self) -> Vec<u8> {
        self.request.clone()
    }

    #[inline]
    fn mark(&self, request: &mut [u8], number: u64) {
        if self.asked != Asked::Ping {
            frame::set_stream(request, stream_of(number));
        } else if let Some(place) = request.get_mut(frame::HEADER..).and_then(<[u8]>::first_chunk_mut) {
            *place = number.to_be_bytes();
        }
    }

    fn mark_bits(&self) -> u32 {
        if self.asked == Asked::Ping { u32::BITS } else { BITS }
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        self.answer.clear();
        if self.consumed >= UPDATE_AFTER {
            let consumed = std::mem::take(&mut self.consumed);
            frame::write(&mut self.answer, frame::WINDOW_UPDATE, 0, 0, &consumed.to_be_bytes());
            return Taken::aside(0);
        }
        self.read(octets).unwrap_or_else(Taken::unsound)
    }

    fn answer(&self) -> &[u8] {
        &self.answer
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        let named = |names: &[&'static str], from: u16| {
            let name = names.get(usize::from(kind.0 - from)).copied();
            Cow::Borrowed(name.unwrap_or("a status without a name"))
        };
        match (&self.asked, kind.0) {
            (Asked::Ping, _) => Cow::Borrowed("PING"),
            (_, SERVING..) => named(&HEALTHS, SERVING),
            (_, GRPC..) => named(&STATUSES, GRPC),
            (_, RESET..) => Cow::Borrowed(error_name(u32::from(kind.0 - RESET))),
            (Asked::Health, status) => Cow::Owned(format!("HTTP {status}")),
            (Asked::Http(_), status) => Cow::Owned(status.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::tests::{alike, hear};

    fn request(method: &str, target: &str) -> Request {
        Request {
            method: method.into(),
            host: "db1".into(),
            target: target.into(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: "sonde/1".into(),
        }
    }

    fn h2() -> H2 {
        H2::new(&request("GET", "/"), Expected::Any, false).unwrap()
    }

    fn health() -> H2 {
        H2::health("db1", "", false).unwrap()
    }

    fn opened(mut h2: H2) -> H2 {
        h2.begin();
        assert_eq!(h2.take(&frame(frame::SETTINGS, 0, 0, b"")).came, Came::Opened);
        h2
    }

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        frame::write(&mut out, kind, flags, stream, payload);
        out
    }

    fn octets(lines: &[&str]) -> Vec<u8> {
        let digits = lines.concat();
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    fn answered(kind: u16, number: u32) -> Came {
        Came::Reply(Reply { number: Some(number), ..Reply::answered(Kind(kind)) })
    }

    fn refused(kind: u16, number: u32) -> Came {
        Came::Reply(Reply { number: Some(number), ..Reply::refused(Kind(kind)) })
    }

    fn closing(kind: u16, number: u32) -> Came {
        Came::Reply(Reply { number: Some(number), closes: true, ..Reply::answered(Kind(kind)) })
    }

    #[test]
    fn streams_grow_with_numbers_and_the_trial_has_the_first() {
        assert_eq!([u64::MAX, 0, 1, (1 << 30) - 2, (1 << 30) - 1].map(stream_of), [1, 3, 5, LAST_STREAM, 1]);
        for number in [0, 1, 77, (1 << 30) - 2, (1 << 30) - 1] {
            assert_eq!(u64::from(number_of(stream_of(number))), number);
        }
        assert_eq!((h2().mark_bits(), H2::ping().mark_bits()), (30, 32));
    }

    #[test]
    fn a_client_begins_with_its_preface_and_settings() {
        let opening = h2().opening();
        assert_eq!(&opening[..24], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let update = frame(frame::WINDOW_UPDATE, 0, 0, &[0x7F, 0xFF, 0, 0]);
        assert_eq!(opening[24..], [frame(frame::SETTINGS, 0, 0, SET), update].concat());
    }

    #[test]
    fn a_request_is_written_once_and_its_stream_each_time() {
        let h2 = h2();
        let mut request = h2.request();
        h2.mark(&mut request, 0);
        // As nginx 1.22.1 answered it.
        assert_eq!(request, octets(&["00001201050000000382868401036462310f2b07736f6e64652f31"]));
        h2.mark(&mut request, 7);
        assert_eq!(Frame::read(&request).unwrap().unwrap().stream, 17);
    }

    #[test]
    fn a_request_has_fields_and_a_body() {
        let fields = ["Host: other", "X-Y: z"].map(|line| Request::field(line).unwrap()).to_vec();
        let post = Request { fields, body: b"abc".to_vec(), ..request("POST", "/in") };
        let mut expected = b"\x83\x87\x04\x03/in\x01\x05other\x0f\x2b\x07sonde/1\x10\x03x-y\x01z\x0f\x0d\x013".to_vec();
        let head = frame(frame::HEADERS, frame::END_HEADERS, 0, &expected);
        let body = frame(frame::DATA, frame::END_STREAM, 0, b"abc");
        assert_eq!(H2::new(&post, Expected::Any, true).unwrap().request(), [head, body].concat());
        expected = b"\x02\x04HEAD\x86\x84\x01\x03db1\x0f\x2b\x07sonde/1".to_vec();
        let head = frame(frame::HEADERS, frame::END_HEADERS | frame::END_STREAM, 0, &expected);
        assert_eq!(H2::new(&request("HEAD", "/"), Expected::Any, false).unwrap().request(), head);
    }

    #[test]
    fn requests_that_http_2_does_not_have() {
        let with = |line| Request { fields: vec![Request::field(line).unwrap()], ..request("GET", "/") };
        for (wrong, why) in [
            (request("GET /", "/"), RequestError::Method("GET /".into())),
            (request("GET", "/a b"), RequestError::Target),
            (with("Upgrade: h2c"), RequestError::OldField("Upgrade".into())),
            (with("TE: gzip"), RequestError::OldField("TE".into())),
            (Request { body: vec![0; 65_536], ..request("POST", "/") }, RequestError::Body(65_536)),
        ] {
            assert_eq!(H2::new(&wrong, Expected::Any, false), Err(why));
        }
        assert!(H2::new(&with("TE: trailers"), Expected::Any, false).is_ok());
        assert_eq!(H2::health("db1", &"x".repeat(128), false), Err(RequestError::Target));
        assert!(H2::health("db1", &"x".repeat(127), false).is_ok());
    }

    /// As nginx 1.22.1 opens a connection: its settings, a larger window, and that it has read ours.
    const NGINX: [&str; 3] =
        ["000012040000000000000300000080000400010000000500ffffff", "0000040800000000007fff0000", "000000040100000000"];

    #[test]
    fn nginx_is_read() {
        let came = alike(
            &h2(),
            &octets(&[
                &NGINX.concat(),
                "00003101040000000320887689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01a53168df5f87497ca58ae819aa5c0133",
                "0000030001000000036f6b0a",
                // A status that stands in no table, and one without a body.
                "00003601040000000548033530337689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01a53168df5f87497ca589d34d1f5c03313937",
                "00000300010000000568686d",
                "000024010500ffffff897689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e01b53168df",
                // After keepalive_requests: the last stream is still answered.
                "00000807000000000000ffffff00000000",
            ]),
        );
        let [start @ .., end] = &came[..] else { panic!() };
        let expected = [Came::Opened, Came::Aside, Came::Aside, answered(200, 0), refused(503, 1)];
        assert_eq!(start, [&expected[..], &[answered(204, 0x007F_FFFE)]].concat());
        assert_eq!(end, &Taken::declined(0, b"GOAWAY NO_ERROR").came, "nothing more comes");
    }

    #[test]
    fn a_server_that_goes_answers_what_it_has_taken() {
        // As nginx 1.22.1 answers the thousandth request of a connection.
        let goes = octets(&[
            "000008070000000000000007cf00000000",
            "0000300104000007cf887689aa6355e580ae212e1f6196df3dbf4a09c5349fba82009c5041b8d86e36053168df5f87497ca58ae819aa5c0133",
            "0000030001000007cf6f6b0a",
        ]);
        assert_eq!(alike(&opened(h2()), &goes), [Came::Aside, closing(200, 998)]);
        // As grpc-go 1.85.0 stops: it names all streams, then those that it has seen.
        let stops = octets(&[
            "0000150700000000007fffffff00000000677261636566756c5f73746f70",
            "0000080600000000000106010800030309",
            "0000150700000000000000000300000000677261636566756c5f73746f70",
        ]);
        let mut stopped = opened(health());
        stopped.ended = 3;
        let expected = [Came::Aside, Came::Aside, Taken::declined(0, b"GOAWAY NO_ERROR graceful_stop").came];
        assert_eq!(alike(&stopped, &stops), expected);
        // A response under way is waited for.
        let mut begun = opened(h2());
        begun.take(&frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]));
        begun.ended = 5;
        let rest = [&frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 5, 0, 0, 0, 0])[..], &frame(0, 1, 3, b"ok")].concat();
        assert_eq!(alike(&begun, &rest), [closing(200, 0)]);
    }

    #[test]
    fn the_last_stream_of_all_ends_its_connection() {
        let last = frame(frame::HEADERS, 5, LAST_STREAM, &[0x88]);
        assert_eq!(alike(&opened(h2()), &last), [closing(200, (1 << 30) - 2)]);
    }

    #[test]
    fn an_end_by_an_error_is_told_in_its_words() {
        // As grpc-go 1.85.0 ends a connection at the fourth PING in a row.
        let pinged = octets(&[
            "0000080601000000000000000000000003",
            "000016070000000000000000000000000b746f6f5f6d616e795f70696e6773",
        ]);
        let words = Taken::declined(0, b"GOAWAY ENHANCE_YOUR_CALM too_many_pings").came;
        assert_eq!(alike(&opened(H2::ping()), &pinged), [answered(0, 3), words]);
        let early = frame(frame::GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 77]);
        assert_eq!(alike(&h2(), &early), [Taken::declined(0, b"GOAWAY an error without a name").came]);
    }

    /// As grpc-go 1.85.0 opens a connection.
    const GRPC_GO: [&str; 2] = ["000006040000000000000500004000", "000000040100000000"];
    /// As it comes before each reply: a window and a ping of the server's.
    const BEFORE: [&str; 2] = ["00000408000000000000000005", "00000806000000000002041010090e0707"];

    #[test]
    fn the_health_of_a_server_is_read() {
        let came = alike(
            &health(),
            &octets(&[
                &GRPC_GO.concat(),
                &BEFORE.concat(),
                "00001001040000000320880f108b1d75d0620d263d4c4d6564",
                "00000700000000000300000000020801",
                "00001801050000000300889acac8b21234da8f013000899acac8b5254207317f00",
                &BEFORE.concat(),
                "00000f010400000007880f108b1d75d0620d263d4c4d6564",
                "00000700000000000700000000020802",
                "00001801050000000700889acac8b21234da8f013000899acac8b5254207317f00",
                // A service that it does not know, and health checks that it does not have.
                "00003201050000000b880f108b1d75d0620d263d4c4d656400889acac8b21234da8f013500899acac8b5254207317f8bb6aeb51fc54a20b677310b",
                "00004401050000000d20880f108b1d75d0620d263d4c4d656400889acac8b21234da8f02313200899acac8b5254207317f9bb6aeb51fc54a20b677310aa4d65645e728e84cebf70af8ca3a133f",
            ]),
        );
        let asides = [Came::Aside, Came::Aside];
        let (serving, not) = (answered(SERVING + 1, 0), answered(SERVING + 2, 2));
        let end = [answered(GRPC + 5, 4), answered(GRPC + 12, 5)];
        let expected = [&[Came::Opened, Came::Aside][..], &asides, &[serving], &asides, &[not], &end].concat();
        assert_eq!(came, expected);
    }

    #[test]
    fn a_question_for_health_is_written_as_its_protocol_says() {
        let mut request = health().request();
        health().mark(&mut request, 0);
        // As grpc-go 1.85.0 answered it.
        let head = "0000450104000000038386041c2f677270632e6865616c74682e76312e4865616c74682f436865636b01036462310f10106170706c69636174696f6e2f677270631002746508747261696c657273";
        assert_eq!(request, octets(&[head, "0000050001000000030000000000"]));
        let named = H2::health("db1", "down", false).unwrap();
        assert!(named.request().ends_with(b"\0\0\0\0\x06\x0a\x04down"));
        assert_eq!((named.words(), health().words()), ("Health/Check down", "Health/Check"));
    }

    fn trailers(status: &str) -> Vec<u8> {
        let mut block = Vec::new();
        hpack::literal(&mut block, "grpc-status", status);
        frame(frame::HEADERS, 5, 3, &block)
    }

    #[test_case(&[b"\0\0\0\0\x02\x08\x01"], "0", &answered(SERVING + 1, 0); "one frame")]
    #[test_case(&[b"\0\0\0", b"\0\x02\x08", b"", b"\x03"], "0", &answered(SERVING + 3, 0); "a message in parts")]
    #[test_case(&[b"\0\0\0\0\0"], "0", &answered(SERVING, 0); "a status that is left out")]
    #[test_case(&[b"\x01\0\0\0\x02\x08\x01"], "0", &answered(GRPC, 0); "a message that is compressed")]
    #[test_case(&[b"\0\0\0\0\x40\x12\x3eany other field, and so long that it is not kept as a whole"], "0", &answered(GRPC, 0); "another message")]
    #[test_case(&[], "0", &answered(GRPC, 0); "no message")]
    #[test_case(&[], "14", &refused(GRPC + 14, 0); "unavailable")]
    #[test_case(&[], "8", &refused(GRPC + 8, 0); "exhausted")]
    #[test_case(&[], "16", &answered(GRPC + 16, 0); "no login")]
    #[test_case(&[], "999", &answered(GRPC + 17, 0); "beyond all")]
    fn statuses_of_grpc(parts: &[&[u8]], status: &str, expected: &Came) {
        let mut octets = frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]);
        for part in parts {
            octets.extend(frame(frame::DATA, 0, 3, part));
        }
        octets.extend(trailers(status));
        assert_eq!(alike(&opened(health()), &octets), std::slice::from_ref(expected));
    }

    #[test_case(&frame(frame::HEADERS, 5, 3, b"\x08\x03404"), &answered(404, 0); "a server of something else")]
    #[test_case(&frame(frame::HEADERS, 5, 3, b"\x08\x03503"), &refused(503, 0); "a proxy without a server")]
    fn a_response_without_a_status_of_grpc_is_told_by_that_of_http(octets: &[u8], expected: &Came) {
        assert_eq!(alike(&opened(health()), octets), std::slice::from_ref(expected));
        assert_eq!(health().kind(Kind(404)), "HTTP 404");
    }

    #[test]
    fn responses_may_overtake_each_other() {
        let head = |stream| frame(frame::HEADERS, frame::END_HEADERS, stream, &[0x88]);
        let data = |stream, flags| frame(frame::DATA, flags, stream, b"body");
        let octets =
            [head(3), head(5), data(3, 0), data(5, 1), frame(frame::HEADERS, 5, 9, &[0x8D]), data(3, 0), data(3, 1)];
        let expected = [answered(200, 1), answered(404, 3), answered(200, 0)];
        assert_eq!(alike(&opened(h2()), &octets.concat()), expected);
    }

    #[test]
    fn heads_in_parts_interim_ones_and_fields_behind_bodies() {
        let octets = [
            frame(frame::HEADERS, frame::END_HEADERS, 3, b"\x08\x03103"),
            frame(frame::HEADERS, 0, 3, b"\x08"),
            frame(frame::CONTINUATION, 0, 3, b""),
            frame(frame::CONTINUATION, frame::END_HEADERS, 3, b"\x03200"),
            frame(frame::DATA, 0, 3, b"body"),
            frame(0xEE, 0xFF, 8, b"unknown"),
            frame(frame::HEADERS, 5, 3, b"\0\x01a\x01b"),
        ];
        assert_eq!(alike(&opened(h2()), &octets.concat()), [Came::Aside, answered(200, 0)]);
    }

    #[test]
    fn a_stream_may_be_reset() {
        let reset = |stream, error| frame(frame::RST_STREAM, 0, stream, &[0, 0, 0, error]);
        let head = |flags| frame(frame::HEADERS, flags, 5, &[0x88]);
        let octets = [reset(3, 7), head(4), reset(5, 2), head(5), reset(5, 0), reset(5, 5), reset(7, 0), reset(9, 99)];
        let expected = [
            refused(RESET + 7, 0),
            refused(RESET + 2, 1),
            answered(200, 1),
            // As Go's net/http 1.26 does behind a response that ended before its request was read.
            Came::Aside,
            Came::Aside,
            refused(RESET, 2),
            refused(RESET + 14, 3),
        ];
        assert_eq!(alike(&opened(h2()), &octets.concat()), expected);
        let names = [0, 7, 11, 14].map(|error| h2().kind(Kind(RESET + error)));
        assert_eq!(names, ["NO_ERROR", "REFUSED_STREAM", "ENHANCE_YOUR_CALM", "an error without a name"]);
    }

    #[test]
    fn kinds_have_the_names_of_their_protocol() {
        let names =
            [200, GRPC, GRPC + 12, GRPC + 17, SERVING, SERVING + 2, u16::MAX].map(|kind| health().kind(Kind(kind)));
        let expected = [
            "HTTP 200",
            "OK",
            "UNIMPLEMENTED",
            "a status without a name",
            "health UNKNOWN",
            "NOT_SERVING",
            "a status without a name",
        ];
        assert_eq!(names, expected);
        assert_eq!([h2().kind(Kind(404)), H2::ping().kind(Kind(0))], ["404", "PING"]);
    }

    #[test]
    fn pings_and_settings_of_the_server_are_answered() {
        let mut h2 = h2();
        h2.begin();
        h2.take(&frame(frame::SETTINGS, 0, 0, b""));
        assert_eq!(h2.answer(), frame(frame::SETTINGS, frame::ACK, 0, b""));
        h2.take(&frame(frame::PING, 0, 0, b"12345678"));
        assert_eq!(h2.answer(), frame(frame::PING, frame::ACK, 0, b"12345678"));
        h2.take(&frame(frame::PING, frame::ACK, 0, b"12345678"));
        assert_eq!(h2.answer(), b"");
    }

    #[test]
    fn a_flood_is_not_answered_without_end() {
        let flood = frame(frame::PING, 0, 0, b"12345678").repeat(1_001);
        let came = hear(&mut opened(h2()), &flood, |_| false);
        assert_eq!(came.len(), 1_001);
        assert_eq!(came.last(), Some(&Came::Unsound("the server floods with frames that want an answer")));
    }

    #[test]
    fn responses_without_an_end_are_not_kept_without_end() {
        let head = |at: usize| frame(frame::HEADERS, frame::END_HEADERS, 2 * at as u32 + 1, &[0x88]);
        let flood: Vec<u8> = (0..=MOST_STREAMS).flat_map(head).collect();
        let came = hear(&mut opened(h2()), &flood, |_| false);
        assert_eq!(came, [Came::Unsound("too many responses are under way at once")]);
    }

    #[test]
    fn the_window_is_opened_as_bodies_are_taken() {
        let mut h2 = opened(h2());
        h2.take(&frame(frame::HEADERS, frame::END_HEADERS, 3, &[0x88]));
        h2.consumed = UPDATE_AFTER - 3;
        let (body, end) = (frame(frame::DATA, 0, 3, b"body"), frame(frame::DATA, 1, 3, b""));
        assert_eq!(alike(&h2, &[&body[..], &end].concat()), [Came::Aside, answered(200, 0)]);
        h2.take(&body);
        assert_eq!(h2.take(&end), Taken::aside(0));
        assert_eq!(h2.answer(), frame(frame::WINDOW_UPDATE, 0, 0, &[0x40, 0, 0, 1]));
        assert_eq!(h2.take(&end).came, answered(200, 0));
        assert_eq!(h2.answer(), b"");
    }

    #[test]
    fn a_body_that_the_server_does_not_take_at_once_is_not_sent() {
        let post = Request { body: vec![0; 100], ..request("POST", "/") };
        let post = H2::new(&post, Expected::Any, false).unwrap();
        let settings = |size| frame(frame::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, size]);
        assert_eq!(alike(&post, &settings(100)), [Came::Opened]);
        let words = Taken::declined(0, b"takes 99 octets of a body at once: SETTINGS_INITIAL_WINDOW_SIZE").came;
        assert_eq!(alike(&post, &settings(99)), [words]);
    }

    #[test_case(false, b"HTTP/1.1 400 Bad Request\r\n", "the server answers in HTTP/1: it has no HTTP/2 here"; "the version before")]
    #[test_case(false, b"SSH-2.0-x\r\n", frame::FOREIGN; "another program")]
    #[test_case(false, &frame(frame::PING, 0, 0, b"12345678"), frame::FOREIGN; "no settings at first")]
    #[test_case(false, &frame(frame::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]), frame::FOREIGN; "a window beyond all")]
    #[test_case(true, &frame(frame::DATA, 1, 3, b"x"), "a body without a response"; "no head")]
    #[test_case(true, &frame(frame::HEADERS, 5, 3, b""), "a response has no status"; "no status")]
    #[test_case(true, &frame(frame::HEADERS, 5, 3, b"\x08\x03100"), "a response has no status"; "an interim response that ends")]
    #[test_case(true, &frame(frame::HEADERS, 5, 3, &[0xBE]), "a response refers to a table that the server was told not to have"; "a table")]
    #[test_case(true, &[frame(1, 4, 3, &[0x88]), frame(1, 4, 3, &[])].concat(), "the fields behind a body do not end the response"; "fields that end nothing")]
    #[test_case(true, &frame(frame::CONTINUATION, 4, 3, &[0x88]), frame::FOREIGN; "the end of no head")]
    fn what_is_none_of_http_2(is_open: bool, octets: &[u8], why: &'static str) {
        let h2 = if is_open { opened(h2()) } else { h2() };
        assert_eq!(alike(&h2, octets), [Came::Unsound(why)]);
    }

    #[test]
    fn a_ping_gives_its_number_back() {
        let ping = H2::ping();
        let mut request = ping.request();
        ping.mark(&mut request, 0x1_0203_0405);
        assert_eq!(request, frame(frame::PING, 0, 0, &[0, 0, 0, 1, 2, 3, 4, 5]));
        let pong = frame(frame::PING, frame::ACK, 0, &[0, 0, 0, 1, 2, 3, 4, 5]);
        assert_eq!(alike(&opened(H2::ping()), &pong), [answered(0, 0x0203_0405)]);
        let response = frame(frame::HEADERS, 5, 3, &[0x88]);
        assert_eq!(alike(&opened(H2::ping()), &response), [Came::Unsound("a response that nobody asked for")]);
        // Of a client of streams it answers nothing.
        assert_eq!(alike(&opened(h2()), &pong), [Came::Aside]);
    }
}
