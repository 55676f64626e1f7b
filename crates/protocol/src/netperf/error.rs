//! Errors of a control connection: the fault and its side.

use std::net::IpAddr;

use measure::unit::Nanos;

use crate::native::error::Side;
use crate::netperf::ask::Family;
use crate::netperf::{MESSAGE, OLD_MESSAGE};

/// The error number for a request that the server does not know.
pub const UNKNOWN_REQUEST: i32 = 998;

/// Linux's `EINVAL`: the request makes no sense.
pub const INVALID: i32 = 22;

/// Linux's `EPROTONOSUPPORT`: told to a client whose messages are the old, short ones.
pub const OLD_CLIENT: i32 = 93;

/// Message that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// For nothing: it may ask.
    Idle,
    /// For the server to be ready.
    Ready,
    /// For the results.
    Results,
    /// For the rate of the server's CPUs.
    Calibration,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Idle => "nothing",
            Self::Ready => "the response to a test request",
            Self::Results => "the results",
            Self::Calibration => "the rate of its CPUs",
        })
    }
}

/// Something that the chosen layout can't carry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsayable {
    /// More than the field holds.
    #[error("{field}: {value}, but netperf's message holds at most {most}")]
    TooMuch {
        /// Field of the request.
        field: &'static str,
        /// Requested value; for a name, its length in octets.
        value: u64,
        /// The most that can be said.
        most: u64,
    },
    /// A test of no length.
    #[error("{field}: 0, which in netperf's message means until stopped")]
    Nothing {
        /// Field of the request.
        field: &'static str,
    },
    /// An address that is not of the test's family.
    #[error("{address} is not an address of the requested family ({family:?})")]
    Family {
        /// The address.
        address: IpAddr,
        /// The family asked for.
        family: Family,
    },
    /// An empty name, or one with a control character in it.
    #[error("{field}: not a name that can be sent")]
    Name {
        /// Field of the request.
        field: &'static str,
    },
    /// An exchange of requests and responses whose size nobody gave.
    #[error("no {field} for a request/response test")]
    Missing {
        /// Field of the request.
        field: &'static str,
    },
    /// The layout of this request has no place for it.
    #[error("{field}: the request of this test has no field for it")]
    NoPlace {
        /// Field of the request.
        field: &'static str,
    },
}

/// A field with an impossible value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its {field} is {value}")]
pub struct Nonsense {
    /// Name of the field.
    pub field: &'static str,
    /// Value in the field; for a name the octet that has no place in it.
    pub value: i64,
}

/// Error of a client's control connection. [`Error::Unsayable`] and [`Error::OutOfTurn`] leave it open; any other has ended it:
/// nothing further can be read from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The request cannot be written.
    #[error(transparent)]
    Unsayable(#[from] Unsayable),
    /// Asked before the last answer came.
    #[error("a second request while we wait for {step}")]
    OutOfTurn {
        /// Message that is awaited.
        step: Step,
    },
    /// The server answers with an error number.
    #[error("{}", refused(*step, *code))]
    Refused {
        /// Message that was due.
        step: Step,
        /// The server's number: its system's `errno`, or [`UNKNOWN_REQUEST`].
        code: i32,
    },
    /// An answer that makes no sense.
    #[error("invalid value in {step}: {nonsense}")]
    Nonsense {
        /// Message with the fault.
        step: Step,
        /// The field with its value.
        nonsense: Nonsense,
    },
    /// The server speaks, and nobody asked.
    #[error("unexpected octets from the server: {octets}")]
    Unasked {
        /// Octets that came at once, a count.
        octets: usize,
    },
    /// The server's messages are the old, short ones.
    #[error("the server answers in messages of {OLD_MESSAGE} octets instead of {MESSAGE}: a netserver older than 2.6")]
    OldServer {
        /// Message that was due.
        step: Step,
    },
    /// The server closed the connection too early.
    #[error("{}", closed(*step, *received))]
    Closed {
        /// Message that was due.
        step: Step,
        /// Octets that came of it.
        received: usize,
    },
    /// The server said nothing for too long.
    #[error("{}", silent(*step, *received, *waited))]
    Silent {
        /// Message that was due.
        step: Step,
        /// Octets that came of it.
        received: usize,
        /// Time that it had, nanoseconds.
        waited: Nanos,
    },
}

fn refused(step: Step, code: i32) -> String {
    match code {
        UNKNOWN_REQUEST => format!("the server does not know this request (error {code} instead of {step})"),
        _ => format!("the server cannot do this: error {code} instead of {step}"),
    }
}

fn closed(step: Step, received: usize) -> String {
    match (step, received) {
        (Step::Idle, _) => "the server closed the connection".to_owned(),
        (_, 0) => format!("the server closed the connection instead of sending {step}"),
        _ => format!("the server closed the connection after {received} of {MESSAGE} octets of {step}"),
    }
}

fn silent(step: Step, received: usize, waited: Nanos) -> String {
    match received {
        0 => format!("no answer within {waited} while we waited for {step}"),
        _ => format!("only {received} of {MESSAGE} octets of {step} arrived within {waited}"),
    }
}

impl Error {
    /// On whose side it went wrong, as far as a client can tell.
    pub fn side(&self) -> Side {
        match self {
            Self::Unsayable(_) | Self::OutOfTurn { .. } => Side::Ours,
            Self::Closed { .. } | Self::Silent { .. } => Side::Path,
            Self::Refused { .. } | Self::Nonsense { .. } | Self::Unasked { .. } | Self::OldServer { .. } => {
                Side::Theirs
            }
        }
    }
}
