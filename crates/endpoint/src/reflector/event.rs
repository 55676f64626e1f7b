//! Tells whoever keeps a book of it who used a reflector, and who was refused.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::served::{RefusalReason, SessionEnd};
use measure::unit::{Bytes, Nanos};
use protocol::native::message::Open;

/// Who is told. It is called by threads that attend to many clients, and by none that measures: it must not wait.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Somebody who came.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// From where.
    pub from: SocketAddr,
    /// The name of the key that was proved; absent without one.
    pub key: Option<&'a str>,
}

/// A thing that happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A session began.
    Opened {
        /// Its number, from 1: a count of this reflector's sessions.
        session: u64,
        /// Whose it is.
        client: Client<'a>,
        /// What was asked for.
        open: &'a Open,
    },
    /// A session is over.
    Ended {
        /// Its number.
        session: u64,
        /// Whose it was.
        client: Client<'a>,
        /// How it ended.
        how: SessionEnd,
        /// How long it was open.
        lasted: Nanos,
        /// Requests that were answered; absent where the session was of streams.
        answered: Option<u64>,
        /// Octets of messages that came.
        received: Bytes,
        /// Octets of messages that were sent.
        sent: Bytes,
    },
    /// Somebody was refused.
    Refused {
        /// Who.
        client: Client<'a>,
        /// Why.
        reason: RefusalReason,
        /// The same in words. They may repeat what the client said.
        why: &'a str,
    },
}
