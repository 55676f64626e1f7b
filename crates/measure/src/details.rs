//! Details of one exchange with a program at work, as its connection knows them.

use crate::unit::{Bytes, Instant};

/// Steps of an exchange and its reply. Instants are of the clock of their exchange; a step that did not happen, or was
/// not observed, is absent. On a connection that is kept from request to request only the reply is present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The connection was made.
    pub connected: Option<Instant>,
    /// The handshake of TLS was over.
    pub secured: Option<Instant>,
    /// All that comes before the request was over: it goes.
    pub opened: Option<Instant>,
    /// The kernel had taken the request.
    pub handed: Option<Instant>,
    /// The first octet of the reply was there.
    pub first: Option<Instant>,
    /// The last one was.
    pub last: Option<Instant>,
    /// The system's number of why there was no connection, where it gave one.
    pub fault: Option<i32>,
    /// Our port of the connection.
    pub port: Option<u16>,
    /// The kind of the reply, as its protocol numbers it: a status of HTTP.
    pub kind: Option<u16>,
    /// Octets of its head, where the protocol tells one from a body.
    pub head: Option<Bytes>,
    /// Octets of its body, without the framing of its parts.
    pub body: Option<Bytes>,
}

impl Details {
    /// Removes the reply: for a request that none ended, where an earlier reply may have come.
    #[must_use]
    pub fn without_reply(self) -> Self {
        Self { last: None, kind: None, head: None, body: None, ..self }
    }
}
