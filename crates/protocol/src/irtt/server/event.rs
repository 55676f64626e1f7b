//! Events of a server, each with the name and in the words of irtt's.

use std::fmt;
use std::net::SocketAddr;

use crate::irtt::MAGIC;
use crate::irtt::fill::{Fill, FillError};
use crate::irtt::parameters::Fault;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session was opened.
    New {
        /// Its name.
        token: u64,
    },
    /// A session was asked for that is closed with its opening.
    OpenClose,
    /// A fill was granted that there is not.
    NoFill {
        /// Its name: a stranger's text.
        asked: String,
        /// The reason.
        why: FillError,
    },
    /// Its client closed a session.
    Closed {
        /// Its name.
        token: u64,
    },
    /// The session that was closed was over before.
    NotThere {
        /// Its name.
        token: u64,
    },
    /// A session is closed for its time.
    Exceeded,
    /// A datagram has no reply.
    Dropped(Dropped),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New { token } => write!(f, "[NewConn] new connection, token={token:016x}"),
            Self::OpenClose => f.write_str("[OpenClose] open-close connection"),
            Self::NoFill { asked, why } => {
                let usual = Fill::usual();
                write!(f, "[InvalidServerFill] invalid server fill {asked} requested, defaulting to {usual} ({why})")
            }
            Self::Closed { token } => write!(f, "[CloseConn] close connection, token={token:016x}"),
            Self::NotThere { token } => write!(f, "[RemoveNoConn] sconn not in connmgr, token={token:016x}"),
            Self::Exceeded => f.write_str("[ExceededDuration] closing connection due to duration limit exceeded"),
            Self::Dropped(why) => write!(f, "[Drop] {why}"),
        }
    }
}

/// The reason why a datagram has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// It is shorter than its fields.
    #[error("[FieldsLengthTooLarge] fields length exceeds buffer length, {needs} > {has}")]
    Short {
        /// Octets of its fields.
        needs: usize,
        /// Its octets.
        has: usize,
    },
    /// It is none of irtt's.
    #[error("[BadMagic] bad magic: {} != {}", digits(*.0), digits(MAGIC))]
    Magic([u8; 3]),
    /// It has flags that there are not.
    #[error("[InvalidFlagBitsSet] invalid flag bits set ({0:x})")]
    Flags(u8),
    /// It is not sealed.
    #[error("[NoHMAC] no HMAC present")]
    NoSeal,
    /// It is not sealed with the key. The original prints the right seal too, which is nothing for a log.
    #[error("[BadHMAC] invalid HMAC")]
    Seal,
    /// It is sealed, and there is no key.
    #[error("[UnexpectedHMAC] unexpected HMAC present")]
    UnexpectedSeal,
    /// It is a reply.
    #[error("[UnexpectedReplyFlag] unexpected reply flag set")]
    Reply,
    /// Its parameters cannot be read.
    #[error("{0}")]
    Parameters(Fault),
    /// There is no session of that name.
    #[error("[InvalidConnToken] invalid conn token {0:016x}")]
    Token(u64),
    /// The session is another sender's.
    #[error("[AddressMismatch] address mismatch (expected {expected} for {token:016x})")]
    Address {
        /// The sender that opened it.
        expected: SocketAddr,
        /// Its name.
        token: u64,
    },
    /// It is longer than it may be.
    #[error("[LargeRequest] request too large ({length} > {longest})")]
    Large {
        /// Its octets.
        length: usize,
        /// The most.
        longest: usize,
    },
    /// It came too soon.
    #[error("[ShortInterval] drop due to short packet interval")]
    TooSoon,
    /// Its source opens too many sessions a second. The original has no such bound.
    #[error("[TooManyOpens] too many opens from one address")]
    Openings,
    /// There is no room for another session, or its source has its share of them. The original has no such bound.
    #[error("[TooManyConns] too many connections")]
    Sessions,
}

/// Octets as digits.
fn digits(octets: [u8; 3]) -> String {
    octets.map(|octet| format!("{octet:02x}")).concat()
}
