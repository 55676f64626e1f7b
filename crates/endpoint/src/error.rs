//! What went wrong, with whom, on whose side, and what to try.

use std::fmt;
use std::io;

use protocol::link::Fault;

/// A measurement or a reflector that could not go on.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: cannot {step}: {cause}")]
pub struct EndpointError {
    /// What was being done.
    pub step: Step,
    /// To whom: an address, or a host name where there is none yet.
    pub peer: String,
    /// On whose side the cause lies.
    pub side: Side,
    /// The cause.
    #[source]
    pub cause: Cause,
    /// What to try, where something is known to help.
    pub hint: Option<String>,
}

impl EndpointError {
    /// An error of `step` towards `peer`, its side and a hint derived from the cause.
    pub fn new(step: Step, peer: impl fmt::Display, cause: impl Into<Cause>) -> Self {
        let cause = cause.into();
        let (side, hint) = judge(&step, &cause);
        Self { step, peer: peer.to_string(), side, cause, hint }
    }

    /// The same with another hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the cause is that this machine has no IPv6 at all, or none on its loopback interface.
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

/// What was being done; reads on after "cannot".
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

/// Why.
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

fn judge(step: &Step, cause: &Cause) -> (Side, Option<String>) {
    match (step, cause) {
        (
            Step::Listen
            | Step::OpenSocket(_)
            | Step::Set(_)
            | Step::StartThread
            | Step::Pin(_)
            | Step::EnterNamespace
            | Step::MakeInterface
            | Step::Forward,
            cause,
        ) => (Side::Ours, own_hint(step, cause)),
        (_, Cause::Stopped) => (Side::Ours, None),
        (Step::LookUp, _) => (Side::Ours, Some("check the name, or give an address".into())),
        (_, Cause::System(error)) => network(error),
        (_, Cause::Silence(_)) => (
            Side::Unknown,
            Some("a firewall may drop the packets, or nothing runs there: check with ping, and that the port is open for TCP and UDP".into()),
        ),
        (_, Cause::Peer(_)) => (Side::Theirs, None),
        (_, Cause::Link(Fault::Refused(_))) => (Side::Theirs, Some("nothing listens there: `sonde serve` starts a reflector".into())),
        (_, Cause::Link(Fault::TooLong)) => (Side::Path, Some("choose a smaller --size: this one does not fit the path or the socket".into())),
        (_, Cause::Link(_)) => (Side::Unknown, None),
    }
}

fn network(error: &io::Error) -> (Side, Option<String>) {
    use io::ErrorKind as Kind;
    let hint = |text: &str| Some(text.to_owned());
    match error.kind() {
        Kind::ConnectionRefused => {
            (Side::Theirs, hint("nothing listens there: `sonde serve` starts a reflector; check the port"))
        }
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe | Kind::UnexpectedEof => {
            (Side::Theirs, hint("the peer ended the connection: look at its messages"))
        }
        Kind::TimedOut | Kind::WouldBlock => {
            (Side::Unknown, hint("no answer came: a firewall may drop the packets, or the host is down"))
        }
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            (Side::Path, hint("there is no route: check the address and the routing table"))
        }
        // The kernel says so of a link-local address without its interface, and where --bind cannot reach the peer.
        Kind::InvalidInput => (
            Side::Ours,
            hint(
                "a link-local address needs its interface, as in fe80::1%eth0, and --bind an address the peer is reached from",
            ),
        ),
        Kind::AddrNotAvailable => (Side::Ours, hint("that local address is not on this host: check --bind")),
        Kind::PermissionDenied => (Side::Ours, hint("a local firewall or a missing capability forbids it")),
        _ => (Side::Unknown, None),
    }
}

fn own_hint(step: &Step, cause: &Cause) -> Option<String> {
    let Cause::System(error) = cause else { return None };
    let text = match (step, error.kind()) {
        (Step::Listen, io::ErrorKind::AddrInUse) => "another program listens there: choose another --port, or end it",
        (Step::Listen, io::ErrorKind::PermissionDenied) => {
            "ports below 1024 need CAP_NET_BIND_SERVICE: choose another --port"
        }
        (Step::Listen, io::ErrorKind::AddrNotAvailable) => "that address is not on this host: check --listen",
        (Step::Set("congestion control"), io::ErrorKind::PermissionDenied) => {
            "not in net.ipv4.tcp_allowed_congestion_control: choose one that is, or run with CAP_NET_ADMIN"
        }
        (Step::Set("congestion control"), _) => {
            "this kernel has no such congestion control: see net.ipv4.tcp_available_congestion_control"
        }
        (Step::Set("interface"), io::ErrorKind::PermissionDenied) => "binding to an interface needs CAP_NET_RAW here",
        (Step::Set("interface"), _) => "no such interface here: `ip link` lists them",
        (Step::EnterNamespace, io::ErrorKind::NotFound) => "`ip netns list` names the namespaces of this host",
        (Step::EnterNamespace | Step::MakeInterface, io::ErrorKind::PermissionDenied) => {
            "needs CAP_NET_ADMIN over the namespaces: be root, or in a user namespace of your own (`unshare --user --map-root-user --net`)"
        }
        (Step::MakeInterface, io::ErrorKind::NotFound) => "there is no /dev/net/tun: load the kernel module `tun`",
        (Step::MakeInterface, io::ErrorKind::ResourceBusy) => {
            "an interface of that name is there already: choose another --interface"
        }
        (Step::Forward, _) => "an interface of the link is gone, or its namespace",
        (Step::Pin(_), _) => "this process may not run there: see the CPUs allowed in `taskset -p $$`",
        _ => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_to_whom_whose_side_and_what_to_try() {
        let cause = io::Error::from_raw_os_error(libc::ECONNREFUSED);
        let error = EndpointError::new(Step::Connect, "10.0.0.2:7663", cause);
        assert_eq!(error.to_string(), "10.0.0.2:7663: cannot open the control connection: connection refused");
        assert_eq!(error.side, Side::Theirs);
        assert!(error.hint.unwrap().contains("sonde serve"));
    }

    #[test]
    fn an_address_that_does_not_fit_is_our_side() {
        let error = EndpointError::new(Step::Connect, "[fe80::1]:7663", io::Error::from_raw_os_error(libc::EINVAL));
        assert_eq!(error.side, Side::Ours);
        assert!(error.hint.unwrap().contains("%eth0"));
        let error = EndpointError::new(Step::Set("interface"), "db1", io::Error::from_raw_os_error(libc::ENODEV));
        assert!(error.hint.unwrap().contains("ip link"));
    }
}
