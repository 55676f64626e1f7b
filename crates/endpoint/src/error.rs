//! Failures: step, peer, side and cause. The programs that print them say what to try.

pub mod hint;

use std::fmt;
use std::io;

use hint::Hint;
use protocol::link::Fault;

/// A measurement or a reflector that could not go on.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: cannot {step}: {cause}")]
pub struct EndpointError {
    /// Step that failed.
    pub step: Step,
    /// Peer of the step: an address, or a host name where there is none yet.
    pub peer: String,
    /// Side on which the cause lies.
    pub side: Side,
    /// The cause.
    #[source]
    pub cause: Cause,
    /// Further knowledge about the failure; absent: none.
    pub hint: Option<Box<Hint>>,
}

impl EndpointError {
    /// An error of `step` towards `peer`, its side derived from the cause.
    pub fn new(step: Step, peer: impl fmt::Display, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        let side = side(&step, &cause);
        Self { step, peer: peer.to_string(), side, cause, hint: None }
    }

    /// The same with what is known beside.
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(Box::new(hint));
        self
    }

    /// Returns true where the cause is that this machine has no IPv6 at all, or none on its loopback interface.
    pub fn lacks_ipv6(&self) -> bool {
        let of_ipv6 = self.peer.parse::<std::net::SocketAddr>().is_ok_and(|address| address.is_ipv6());
        let Cause::System(cause) = &self.cause else { return false };
        let unsupported = cause.raw_os_error() == Some(libc::EAFNOSUPPORT);
        of_ipv6 && (unsupported || cause.kind() == io::ErrorKind::AddrNotAvailable)
    }

    /// The same on another side.
    pub fn on(mut self, side: Side) -> Self {
        self.side = side;
        self
    }
}

/// Step of the work; continues a sentence after "cannot".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Looking a name up.
    LookUp,
    /// Listening.
    Listen,
    /// Opening a socket of this kind.
    OpenSocket(&'static str),
    /// Setting a socket option, named as users know it.
    Set(&'static str),
    /// Making the control connection.
    Connect,
    /// Agreeing on the method.
    Agree,
    /// Making a data connection.
    ConnectData,
    /// Exchanging the first datagrams.
    FirstExchange,
    /// Connecting to a program at work.
    Reach,
    /// The TLS handshake with a program at work.
    Secure,
    /// Making a connection of QUIC, which goes over UDP.
    ReachByQuic,
    /// Opening a session with a program at work, and the first request to it.
    Ask,
    /// Opening another session with a program that has answered on the first.
    OpenFurther {
        /// Its number, from 1: those before are open.
        number: u32,
        /// Sessions that are wanted.
        of: u32,
    },
    /// Measuring.
    Measure,
    /// Fetching the peer's counts and its machine's facts at the end.
    FetchReport,
    /// Fetching what the peer saw of a test.
    FetchResults,
    /// Learning how the peer's CPUs count.
    Calibrate,
    /// Starting a thread.
    StartThread,
    /// Pinning a thread to a CPU.
    Pin(u32),
    /// Going into a network namespace.
    EnterNamespace,
    /// Making an interface.
    MakeInterface,
    /// Passing packets on.
    Forward,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookUp => f.write_str("look up its address"),
            Self::Listen => f.write_str("listen there"),
            Self::OpenSocket(kind) => write!(f, "open a socket ({kind})"),
            Self::Set(option) => write!(f, "set {option}"),
            Self::Connect => f.write_str("open the control connection"),
            Self::Agree => f.write_str("agree on the measurement"),
            Self::ConnectData => f.write_str("open a data connection"),
            Self::FirstExchange => f.write_str("make a first exchange over UDP"),
            Self::Reach => f.write_str("connect"),
            Self::Secure => f.write_str("make a TLS session"),
            Self::ReachByQuic => f.write_str("connect by QUIC (UDP)"),
            Self::Ask => f.write_str("ask the program there"),
            Self::OpenFurther { number, of } => {
                write!(f, "open session {number} of {of} (the program answered on the first)")
            }
            Self::Measure => f.write_str("go on measuring"),
            Self::FetchReport => f.write_str("fetch the report"),
            Self::FetchResults => f.write_str("fetch the peer's results"),
            Self::Calibrate => f.write_str("learn how the peer's CPUs count"),
            Self::StartThread => f.write_str("start a measuring thread"),
            Self::Pin(cpu) => write!(f, "pin a thread to CPU {cpu}"),
            Self::EnterNamespace => f.write_str("enter that network namespace"),
            Self::MakeInterface => f.write_str("make that interface"),
            Self::Forward => f.write_str("pass packets on"),
        }
    }
}

/// On whose side a cause lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This host or this program.
    Ours,
    /// The far host or its program.
    Theirs,
    /// Between them.
    Path,
    /// Not to be told from here.
    Unknown,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "our side",
            Self::Theirs => "the peer's side",
            Self::Path => "the path between",
            Self::Unknown => "unknown side",
        })
    }
}

/// Cause of a failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The system said so.
    #[error("{}", plain(.0))]
    System(#[from] io::Error),
    /// The peer said so, or said nonsense.
    #[error("{0}")]
    Peer(String),
    /// A link could not go on.
    #[error("{0}")]
    Link(#[from] Fault),
    /// Nothing came back in time.
    #[error("no answer within {0}")]
    Silence(measure::unit::Nanos),
    /// The server speaks first in this protocol, and said nothing in time.
    #[error("no greeting within {0}")]
    Ungreeted(measure::unit::Nanos),
    /// The answers came from another address than the one that was asked.
    #[error("{0} answered instead")]
    Elsewhere(std::net::SocketAddr),
    /// Only the beginning of an answer came back in time.
    #[error("its answer was still incomplete after {0}")]
    Unfinished(measure::unit::Nanos),
    /// We were asked to stop first.
    #[error("stopped before anything was measured")]
    Stopped,
}

impl From<rustix::io::Errno> for Cause {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::System(errno.into())
    }
}

/// The system's own words without Rust's "(os error n)".
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

fn side(step: &Step, cause: &Cause) -> Side {
    match (step, cause) {
        (
            Step::Listen
            | Step::OpenSocket(_)
            | Step::Set(_)
            | Step::StartThread
            | Step::Pin(_)
            | Step::EnterNamespace
            | Step::MakeInterface
            | Step::Forward
            | Step::LookUp,
            _,
        )
        | (_, Cause::Stopped) => Side::Ours,
        (_, Cause::System(error)) => of_network(error),
        (_, Cause::Peer(_) | Cause::Link(Fault::Refused(_))) => Side::Theirs,
        (_, Cause::Link(Fault::TooLong)) => Side::Path,
        (_, Cause::Silence(_) | Cause::Ungreeted(_) | Cause::Elsewhere(_) | Cause::Unfinished(_) | Cause::Link(_)) => {
            Side::Unknown
        }
    }
}

fn of_network(error: &io::Error) -> Side {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::UnexpectedEof => Side::Theirs,
        Kind::HostUnreachable | Kind::NetworkUnreachable => Side::Path,
        // The kernel calls so an address of a link without its interface, and one that the local address cannot reach.
        Kind::InvalidInput | Kind::AddrNotAvailable | Kind::PermissionDenied => Side::Ours,
        _ => Side::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_to_whom_and_whose_side() {
        let cause = io::Error::from_raw_os_error(libc::ECONNREFUSED);
        let error = EndpointError::new(Step::Connect, "10.0.0.2:7663", cause);
        assert_eq!(error.to_string(), "10.0.0.2:7663: cannot open the control connection: connection refused");
        assert_eq!(error.side, Side::Theirs);
    }

    #[test]
    fn an_address_that_does_not_fit_is_our_side() {
        let error = EndpointError::new(Step::Connect, "[fe80::1]:7663", io::Error::from_raw_os_error(libc::EINVAL));
        assert_eq!(error.side, Side::Ours);
    }
}
