//! Tells whoever keeps a book of it who used a reflector, and who was refused.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

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
        how: How,
        /// How long it was open.
        lasted: Nanos,
        /// Octets of messages that came.
        received: Bytes,
        /// Octets of messages that were sent.
        sent: Bytes,
    },
    /// Somebody was refused.
    Refused {
        /// Who.
        client: Client<'a>,
        /// Why, in words. They may repeat what the client said.
        why: &'a str,
    },
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its client closed it.
    Closed,
    /// Its control connection broke, or was closed without a word.
    Lost,
    /// It lasted as long as it may.
    Duration,
    /// Nothing was heard of it for too long.
    Idle,
    /// Another client needed its place.
    Place,
    /// The reflector ended.
    Stopping,
    /// Its client said what makes no sense.
    Fault,
}
