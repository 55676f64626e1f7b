//! Errors of a control connection, for both ends: the fault and its side.

use measure::unit::Nanos;

use crate::native::frame::FrameError;
use crate::native::identity::Public;
use crate::native::message::{Notice, Refused};
use crate::native::preamble::{Decline, Versions};
use crate::native::stranger::NotSonde;

/// Progress of a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Finding out who is there.
    Greet,
    /// Proving the key.
    Handshake,
    /// Agreeing on the session.
    Open,
    /// Measuring.
    Run,
    /// Fetching the report.
    Close,
    /// Nothing is left to do.
    Done,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Greet => "greet",
            Self::Handshake => "prove the key",
            Self::Open => "agree on the session",
            Self::Run => "keep the session",
            Self::Close => "fetch the report",
            Self::Done => "end",
        })
    }
}

/// On whose side it went wrong, as far as this end can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This end.
    Ours,
    /// The other end.
    Theirs,
    /// Between them, or either.
    Path,
}

/// Error that ended a control connection: nothing further can be read from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// Something else answers there (or calls here).
    #[error(transparent)]
    NotSonde(#[from] NotSonde),
    /// The preamble was declined.
    #[error("declined: {decline} (it speaks {theirs}, we {ours})")]
    Declined {
        /// Reason of the server.
        decline: Decline,
        /// The versions of this end.
        ours: Versions,
        /// The versions of the other end.
        theirs: Versions,
    },
    /// The answer to the preamble is not one that a server of ours gives: a version outside our range, or another
    /// keyed flag than ours. A fault of the peer's program, or someone in between rewrites the connection's start.
    #[error("the answer contradicts the request: {detail}")]
    Contradiction {
        /// Description of the contradiction.
        detail: String,
    },
    /// The handshake failed: the keys differ, or someone changed the first octets on the way.
    #[error("the key differs from the peer's (or the connection's first octets were changed on the way)")]
    WrongKey,
    /// The handshake by identities failed at the server's: the client expects another than is there, or somebody who plays it
    /// answered, or someone changed the first octets on the way.
    #[error(
        "the server's identity is not the one that the client expects (or the connection's first octets were changed on the way)"
    )]
    WrongPeer,
    /// The server knows no client of this identity. A client's report of it is as credible as its path.
    #[error("the server does not know the client's identity {identity}")]
    UnknownIdentity {
        /// The client's.
        identity: Public,
    },
    /// A sealed message could not be opened: it was changed on the way.
    #[error("a sealed message could not be opened: it was damaged or changed on the way")]
    Tampered,
    /// A frame that cannot be.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message that makes no sense.
    #[error("a message is invalid: {detail}")]
    Unreadable {
        /// Description of the fault.
        detail: String,
    },
    /// The server will not open this session.
    #[error("refused: {0}")]
    Refused(Refused),
    /// The other end gave up.
    #[error("the peer gave up: {0}")]
    Fault(Notice),
    /// A message came, or a call was made, that has no place at this step.
    #[error("`{what}` is not allowed while we {step}")]
    OutOfOrder {
        /// The message or call.
        what: &'static str,
        /// Where the connection was.
        step: Step,
    },
    /// The other end talks on without listening: more is waiting than this end keeps.
    #[error("it sends more requests than it reads answers to")]
    Flood,
    /// The other end closed the connection too early.
    #[error("the connection was closed while we tried to {step}")]
    Closed {
        /// Step that was pending.
        step: Step,
    },
    /// The other end took too long.
    #[error("no answer within {allowed} while we tried to {step}")]
    Overdue {
        /// Step that was pending.
        step: Step,
        /// Time that it had, nanoseconds.
        allowed: Nanos,
    },
    /// The session lasted longer than agreed on.
    #[error("the session lasted longer than {allowed}")]
    Outlived {
        /// Duration that was agreed on, nanoseconds.
        allowed: Nanos,
    },
    /// Our own cryptography failed, which has no cause on the network.
    #[error("the handshake could not be set up: {detail}")]
    Crypto {
        /// Message of the cryptographic library.
        detail: String,
    },
}

impl SessionError {
    /// On whose side it went wrong.
    pub fn side(&self) -> Side {
        match self {
            Self::WrongKey | Self::WrongPeer | Self::Tampered | Self::Overdue { .. } | Self::Closed { .. } => {
                Side::Path
            }
            Self::Crypto { .. }
            | Self::Outlived { .. }
            | Self::Declined { decline: Decline::KeyRequired | Decline::TooOld, .. } => Side::Ours,
            _ => Side::Theirs,
        }
    }
}
