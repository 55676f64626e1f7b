//! HTTP/3 (RFC 9114): one request a stream of QUIC (RFC 9000), over one connection.
//!
//! A response ends where its stream does. It is an answer as in [`super::http`]; a stream that the server resets is refused by the name of
//! its error. The server is told that no table of fields is kept here (QPACK, RFC 9204), so that each block is read without those before it.
//!
//! A server that goes (`GOAWAY`) names the first request that it does not answer: that one and those behind it are refused, and the next
//! request takes a new connection.
//!
//! Not here: pushes, priorities, datagrams, early data (0-RTT), and bodies of requests that do not go at once.

mod control;
pub mod conversation;
mod frame;
mod kind;
mod qpack;
pub mod session;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use measure::reach::Transport;

use self::frame::Reading;
use super::http::{Expected, Request, RequestError};
use super::speech::{Kind, Protocol, Reply, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["h3"],
    over: Transport::Udp,
    port: 443,
    tls: Some("h3"),
    asks: "GET of the path over HTTP/3, a stream of QUIC for each request",
};

/// The longest body of a request, octets: the amount that servers let go at once.
const LONGEST_BODY: usize = 65_535;

/// A client of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct H3 {
    request: Vec<u8>,
    words: String,
    expected: Expected,
    reading: Reading,
}

impl H3 {
    /// A client that makes `request` and takes `expected` statuses for answers.
    ///
    /// # Errors
    /// A request that cannot be written in HTTP/3.
    pub fn new(request: &Request, expected: Expected) -> Result<Self, RequestError> {
        request.check()?;
        if request.body.len() > LONGEST_BODY {
            return Err(RequestError::Body(request.body.len()));
        }
        let mut octets = Vec::new();
        frame::write(&mut octets, frame::HEADERS, &qpack::fields(request)?);
        if !request.body.is_empty() {
            frame::write(&mut octets, frame::DATA, &request.body);
        }
        Ok(Self { request: octets, words: request.words(), expected, reading: Reading::default() })
    }

    /// Its request in words: `GET /health`.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Octets of its request.
    pub fn length(&self) -> usize {
        self.request.len()
    }

    /// The name of a kind of reply.
    pub fn named(kind: Kind) -> Cow<'static, str> {
        kind::name(kind.0)
    }

    fn replied(&self, status: u16) -> Reply {
        Reply { sound: self.expected.has(status), ..Reply::answered(Kind(status)) }
    }
}

/// One stream of a response.
impl Speech for H3 {
    fn begin(&mut self) {
        self.reading = Reading::default();
    }

    fn request(&self) -> Vec<u8> {
        self.request.clone()
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        self.reading.take(octets).map_or_else(Taken::unsound, Taken::part)
    }

    fn closed(&mut self) -> Option<Reply> {
        let status = self.reading.ended();
        self.begin();
        status.map(|status| self.replied(status))
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Self::named(kind)
    }
}
