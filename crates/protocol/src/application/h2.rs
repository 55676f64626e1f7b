//! HTTP/2 (RFC 9113) with prior knowledge, one request a stream; and on it the health check of gRPC, questions of DNS, and `PING` alone.
//!
//! Streams are numbered as requests are: a client's first stream may be any odd one, and each must only be above those before
//! it (RFC 9113 section 5.1.1). So a new connection continues the numbers of the one before it, and no reply of one is taken for
//! another's. The last stream of all, after 2^30 requests, ends its connection; where several are out at once those behind it go down with it.
//!
//! A server that goes (`GOAWAY`) names the last stream that it answers: the reply on that one closes, and requests on
//! higher ones are refused. Where it has nothing more to answer, or ends by an error, the connection ends at once, with
//! its words.
//!
//! A response in time is an answer as in [`super::http`]. A stream that the server resets is refused by the name of the
//! error: `REFUSED_STREAM` where more are out at once than its `SETTINGS_MAX_CONCURRENT_STREAMS` allows (nginx: 128),
//! as in a volley. For gRPC every status is an answer, also `UNIMPLEMENTED` of a server without health checks,
//! `NOT_FOUND` of a service that has none, and `NOT_SERVING`; `UNAVAILABLE` and `RESOURCE_EXHAUSTED` are refusals.
//!
//! A question of DNS (RFC 8484) is answered by a response 200 with a message in it, which counts as over any other transport: by its response code.
//! Any other response is a refusal by its status, also a page with status 200: no resolver is there.
//!
//! `PING` is answered by the end of the connection, mostly a proxy in front, and pings in a row are taken for a flood:
//! nginx 1.22 ends the connection after some 10,000, grpc-go 1.85 at the fourth in a row (`too_many_pings`). A long
//! measurement asks by requests.
//!
//! Not here: pushes, priorities, bodies of responses beyond 2 GiB (the window of a stream), and windows of the server: a request goes at once.

mod frame;
pub(super) mod hpack;
mod kind;
pub(super) mod request;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use measure::reach::Transport;

use self::frame::Frame;
use self::kind::{ERRORS, GRPC, RESET, SERVING, STATUSES};
use super::dns::{Question, Questions};
use super::http::{Expected, Request, RequestError};
use super::mix::Item;
use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

/// The row of HTTP/2 in clear.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["h2c"],
    over: Transport::Tcp,
    port: 80,
    tls: None,
    asks: "GET of the path over HTTP/2 in clear (prior knowledge), a stream for each request",
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
/// Its settings: `HEADER_TABLE_SIZE` 0, `ENABLE_PUSH` 0, `INITIAL_WINDOW_SIZE` 2^31 - 1, `MAX_HEADER_LIST_SIZE` 64 KiB.
const SET: &[u8] = &[0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 4, 0x7F, 0xFF, 0xFF, 0xFF, 0, 6, 0, 1, 0, 0];
/// The setting of the server that says how much of a request goes at once.
const INITIAL_WINDOW_SIZE: &[u8] = &[0, 4];
/// The setting of the server that says how many streams may be open at once.
const MAX_CONCURRENT_STREAMS: &[u8] = &[0, 3];
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
/// Octets of a body that are looked at: the head of a message of gRPC and a status, or that of DNS and the beginning of its question.
const LOOKED_AT: usize = 16;

/// Errors by which a server resets a stream that it has answered: `NO_ERROR` and `STREAM_CLOSED`.
const BEHIND: [u32; 2] = [0, 5];
/// Statuses of gRPC by which a program says that it did nothing: `RESOURCE_EXHAUSTED` and `UNAVAILABLE`.
const DID_NOTHING: [u16; 2] = [8, 14];

/// The stream of request `number`. The number below all, which no measurement has and its first trial takes, is that of the first stream.
#[inline]
fn stream_of(number: u64) -> u32 {
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
    Dns(Questions),
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
    /// The most streams that may be open at once, where the server has said so.
    at_once: Option<u32>,
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

    /// The answer of DNS in its body.
    fn answer(&self, questions: &Questions) -> Option<Reply> {
        questions.answer_begun(self.begun.get(..self.kept)?).filter(|_| self.status == 200)
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
        let block = request::fields(request, secure)?;
        Ok(Self::asking(Asked::Http(expected), request.words(), &block, &request.body))
    }

    /// A client that asks for the health of `service`, or of the whole server where that is empty.
    ///
    /// # Errors
    /// A host or a service that cannot be written.
    pub fn health(host: &str, service: &str, secure: bool) -> Result<Self, RequestError> {
        let (block, body) = request::health(host, service, secure)?;
        let words = if service.is_empty() { "Health/Check".to_owned() } else { format!("Health/Check {service}") };
        Ok(Self::asking(Asked::Health, words, &block, &body))
    }

    /// A client that asks `question` of the resolver at `host`.
    ///
    /// # Errors
    /// A host that cannot be written.
    pub fn dns(question: Question, host: &str, agent: &str) -> Result<Self, RequestError> {
        let request = request::dns(question.unnumbered(), host, agent);
        request.check()?;
        let (block, words) = (request::fields(&request, true)?, question.words().to_owned());
        Ok(Self::asking(Asked::Dns(Questions::one(question)), words, &block, &request.body))
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
            at_once: None,
            streams: Vec::new(),
            ended: 0,
            leaving: None,
            consumed: 0,
            answers: 0,
            answer: Vec::new(),
        }
    }

    /// The same of requests that differ, of whose bodies the longest has so many octets.
    #[must_use]
    pub fn mixed(self, longest_body: usize, items: &[Item]) -> Self {
        let asked = match self.asked {
            Asked::Dns(questions) => {
                Asked::Dns(questions.mixed(items.iter().filter_map(|item| frame::body(&item.octets))))
            }
            other => other,
        };
        Self { asked, body: longest_body, ..self }
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
            // A server begins with its settings (RFC 9113 section 3.4), and the rest of a block comes only after its beginning.
            (_, false) | (frame::CONTINUATION, true) => Err(frame::FOREIGN),
            (frame::HEADERS | frame::DATA | frame::RST_STREAM, true) if self.asked == Asked::Ping => {
                Err("a response that nobody asked for")
            }
            (frame::HEADERS, true) => self.head(&frame, octets),
            (frame::DATA, true) => self.data(&frame),
            (frame::RST_STREAM, true) => Ok(self.reset(&frame)),
            (frame::PING, true) if frame.has(frame::ACK) => Ok(self.pong(&frame)),
            (frame::PING, true) => self.acknowledge(&frame, frame.payload),
            (frame::SETTINGS, true) if !frame.has(frame::ACK) => {
                self.limit(&frame);
                self.acknowledge(&frame, &[])
            }
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
        self.limit(frame);
        self.is_open = true;
        frame::write(&mut self.answer, frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(Taken { octets: frame.octets(), came: Came::Opened })
    }

    /// Keeps the limit of streams at once in the server's settings; the last one in a frame holds.
    fn limit(&mut self, frame: &Frame<'_>) {
        let settings = frame.payload.chunks_exact(6);
        let said = settings.filter_map(|setting| setting.strip_prefix(MAX_CONCURRENT_STREAMS).and_then(frame::word));
        self.at_once = said.map(|(most, _)| most).next_back().or(self.at_once);
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
            (Asked::Dns(questions), _) => {
                stream.answer(questions).map_or((stream.status, false), |reply| (kind::DNS + reply.kind.0, reply.sound))
            }
            // A response of gRPC has its status behind it; without one, whatever answered, no program of gRPC did the request.
            (_, None) => (stream.status, false),
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
        let name = kind::error(error);
        let words = [b"GOAWAY ", name.as_bytes(), b" ", words].concat();
        Ok(Taken::declined(frame.octets(), &words))
    }
}

impl Speech for H2 {
    fn opening(&self) -> Cow<'static, [u8]> {
        let mut opening = PREFACE.to_vec();
        frame::write(&mut opening, frame::SETTINGS, 0, 0, SET);
        frame::write(&mut opening, frame::WINDOW_UPDATE, 0, 0, &(LARGEST_WINDOW - WINDOW).to_be_bytes());
        Cow::Owned(opening)
    }

    fn begin(&mut self) {
        (self.is_open, self.at_once, self.ended, self.leaving) = (false, None, 0, None);
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
    fn most_at_once(&self) -> Option<u32> {
        // Pings have no streams.
        self.at_once.filter(|_| self.asked != Asked::Ping)
    }

    fn interleaves(&self) -> bool {
        self.asked != Asked::Ping
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        self.answer.clear();
        // A window update answers no frame: it goes between two of the server's, and nothing is taken.
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
        match (&self.asked, kind::name(kind.0)) {
            (Asked::Ping, _) => Cow::Borrowed("PING"),
            (Asked::Dns(_), _) if kind.0 >= kind::DNS => Question::kind(Kind(kind.0 - kind::DNS)),
            (_, Some(name)) => name,
            (Asked::Health, None) => Cow::Owned(format!("HTTP {} without grpc-status", kind.0)),
            (Asked::Dns(_), None) => Cow::Owned(format!("HTTP {}", kind.0)),
            (Asked::Http(_), None) => Cow::Owned(kind.0.to_string()),
        }
    }
}
