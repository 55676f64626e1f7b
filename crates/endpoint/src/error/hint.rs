//! Knowledge about a failure beside its step and its cause: what to try follows from it.

use std::net::{IpAddr, SocketAddr};

use measure::method::SourcePorts;
use measure::unit::Nanos;
use protocol::irtt::opening::Refusal as IrttRefusal;
use protocol::native::error::SessionError;
use protocol::native::stranger::Speaker;
use protocol::tls::Alerted;
use protocol::twamp::Refusal;
use protocol::{iperf3, netperf};

use crate::probe::Kind;

/// Knowledge about a failure beside its step and its cause.
#[derive(Clone, Debug, PartialEq)]
pub enum Hint {
    /// The native control connection ended with this error.
    Session(SessionError),
    /// The control connection to a netserver ended with this error.
    Netperf(netperf::error::Error),
    /// The control connection to an iperf3 server ended with this error.
    Iperf3(iperf3::error::Error),
    /// The host refuses the port of a netserver.
    NoNetserver,
    /// The host refuses the port of an iperf3 server.
    NoIperf3Server,
    /// The host refuses the port of an iperf 2 server.
    NoIperfServer,
    /// No netserver of a measurement answers any more.
    NetserverSilent,
    /// The control connection of netperf was made, and that of the data was not.
    DataPortClosed,
    /// A netserver's data connection was asked for later than it waits.
    PauseTooLong {
        /// The pause before.
        pause: Nanos,
        /// Longest wait of a netserver.
        patience: Nanos,
    },
    /// The address to bind to cannot be bound to, or its port is taken.
    LocalAddress {
        /// The local address.
        local: SocketAddr,
    },
    /// The address to bind to cannot be bound to, at any port.
    NotOfThisHost {
        /// The local address.
        local: IpAddr,
    },
    /// Each of the ports to send from is taken.
    PortsTaken {
        /// The range of ports.
        ports: SourcePorts,
    },
    /// The address to bind to is of another version than the peer's.
    LocalVersion,
    /// The name has no address of the version that was asked for.
    NoAddressOfVersion,
    /// The port to which an iperf 2 server is to connect back cannot be listened at.
    PortBack,
    /// A group was to be listened at for connections.
    GroupsAreDatagrams,
    /// No route shows the interface at which to join a group.
    NoWayToGroup,
    /// The address is one of all hosts of a link.
    Broadcast,
    /// Not enough free ports in a row were found.
    NoRowOfPorts {
        /// Number of ports needed.
        count: u32,
    },
    /// The kernel does not send a stream in the way that was asked for.
    NoSuchSending,
    /// A datagram of a segmented call is longer than a packet.
    SegmentsTooLong,
    /// A further connection met a reflector that knows nothing of the session.
    AnotherReflector,
    /// TCP reached the port, and UDP did not.
    UdpBlocked,
    /// Some flows of datagrams get through, and the next one does not.
    FlowsLimited {
        /// Flows that did, at least 1.
        through: u16,
    },
    /// STAMP was to be spoken over something else than UDP.
    StampIsUdp,
    /// STAMP was to be spoken with a group.
    StampIsOneHost,
    /// A packet of STAMP is longer than what was asked for.
    StampSize {
        /// The shortest, bytes.
        shortest: u64,
    },
    /// Answers of STAMP came, sealed with another key.
    StampSeal,
    /// The host refuses the port of a session-reflector.
    NoStampReflector,
    /// No session-reflector answers.
    StampSilent {
        /// True where it was asked with a key.
        keyed: bool,
    },
    /// STAMP's own port takes a capability to listen at.
    StampPort,
    /// A server of TWAMP's control connections does not go on.
    TwampRefusal(Refusal),
    /// None listens there, or speaks.
    NoTwampServer,
    /// A server of irtt does not grant a session as it is wanted.
    IrttRefusal(IrttRefusal),
    /// No server of irtt is at that port.
    NoIrttServer,
    /// No server of irtt answers.
    IrttSilent {
        /// True where it was asked with a key.
        keyed: bool,
    },
    /// A raw socket for such probes takes a capability.
    RawForbidden(Kind),
    /// Neither a ping socket nor a raw one may be opened.
    PingForbidden {
        /// Reason for which there is no ping socket, in the system's words.
        unprivileged: String,
    },
    /// Nobody whom we trust vouches for the server's certificate.
    Untrusted,
    /// The server's certificate is for another name.
    Misnamed,
    /// The server's certificate is none that can be believed, for another reason.
    Unbelievable,
    /// The server's certificate is over, or has not begun.
    Untimely {
        /// True where it has not begun.
        early: bool,
    },
    /// The server ended the handshake of TLS for this reason.
    Alert(Alerted),
    /// The program that listens there speaks no TLS.
    NoTls,
    /// The program speaks the protocol, and offers no TLS in it.
    NoTlsOffered,
    /// The program that listens there speaks another protocol, which its first octets seem to be.
    AnotherProgram(Speaker),
    /// Watching the wire takes a capability.
    WatchForbidden,
    /// The kernel has no such protocol.
    NoProtocol(&'static str),
    /// The kernel's busy polling was not granted.
    NoBusyPoll,
}

impl Hint {
    /// Advice where flow number `flow` of several, opened one after the other, gets no answer to its first datagram.
    pub(crate) fn unanswered_flow(flow: u16) -> Self {
        if flow == 0 { Self::UdpBlocked } else { Self::FlowsLimited { through: flow } }
    }
}
