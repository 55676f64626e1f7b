//! Errors of a control connection as its client sees them: the fault, its side, a remedy.

use std::fmt;

use measure::unit::Nanos;

use crate::iperf3::code::Code;
use crate::iperf3::results::Unreadable;
use crate::iperf3::state::State;
use crate::native::error::Side;

/// Message that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// To be asked for parameters.
    Greeting,
    /// To be told to open its streams.
    Streams,
    /// For the server to have all streams.
    Start,
    /// To be let go.
    Go,
    /// For nothing: the test runs.
    Run,
    /// To be asked for its results.
    Exchange,
    /// For the server's results.
    Results,
    /// For the word that they are complete.
    Display,
    /// For nothing any more.
    Done,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "its request for parameters",
            Self::Streams => "its answer to the parameters",
            Self::Start => "its message that all streams are connected",
            Self::Go => "its signal to begin",
            Self::Run => "the end of the test",
            Self::Exchange => "its request for results",
            Self::Results => "its results",
            Self::Display => "its message that the results are complete",
            Self::Done => "nothing",
        })
    }
}

/// Error that ended a client's control connection: nothing further can be read from it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The server has no time for us: 0xFF.
    #[error("{}", Code::BUSY)]
    Busy,
    /// The server cannot go on, and says why.
    #[error("{}", refused(*code))]
    Server {
        /// Its number; absent where it said none.
        code: Option<Code>,
        /// The system's error number there, often of something that was before; absent where it said none.
        errno: Option<i32>,
    },
    /// No message of this protocol.
    #[error("{}: {octet} while we waited for {step}", Code::MESSAGE)]
    Unknown {
        /// Octet that came.
        octet: u8,
        /// Message that was due.
        step: Step,
    },
    /// A message at the wrong time.
    #[error("the server sent {said:?} while we waited for {step}")]
    OutOfOrder {
        /// Message that came.
        said: State,
        /// Message that was due.
        step: Step,
    },
    /// Results of no length, or of too large a one.
    #[error("{}: their length is {length} octets", Code::RESULTS)]
    Length {
        /// Its length.
        length: u32,
    },
    /// Results that cannot be read.
    #[error("{}: {why}", Code::RESULTS)]
    Results {
        /// Fault of the results.
        why: Unreadable,
    },
    /// Results of other streams than there were.
    #[error("{}", Code::STREAM_ID)]
    Streams,
    /// The server closed the connection too early.
    #[error("{} while we waited for {step}", Code::CLOSED)]
    Closed {
        /// Message that was due.
        step: Step,
    },
    /// The server said nothing for too long.
    #[error("no answer within {waited} while we waited for {step}")]
    Silent {
        /// Message that was due.
        step: Step,
        /// Time that it had, nanoseconds.
        waited: Nanos,
    },
}

fn refused(code: Option<Code>) -> String {
    match code {
        Some(code) => code.to_string(),
        None => "the server cannot continue and gives no reason".to_owned(),
    }
}

impl Error {
    /// iperf3's own number for it.
    pub fn code(&self) -> Code {
        match self {
            Self::Busy => Code::BUSY,
            Self::Server { code, .. } => code.unwrap_or(Code::CLOSED),
            Self::Unknown { .. } | Self::OutOfOrder { .. } => Code::MESSAGE,
            Self::Length { .. } | Self::Results { .. } => Code::RESULTS,
            Self::Streams => Code::STREAM_ID,
            Self::Closed { .. } | Self::Silent { .. } => Code::CLOSED,
        }
    }

    /// On whose side it went wrong, as far as a client can tell.
    pub fn side(&self) -> Side {
        match self {
            Self::Closed { .. } | Self::Silent { .. } => Side::Path,
            _ => Side::Theirs,
        }
    }
}
