//! Request of a client to a netserver, the same for every dialect.
//!
//! Directions and sizes are the server's: [`Ask::server_sends`] means that data flows to the client. A setting that a
//! dialect can't carry is refused when it is to be written, never left out: [`Ask::check`].

use std::net::IpAddr;

pub use crate::netperf::error::Unsayable;
use crate::netperf::{classic, omni};

/// One test, as the server has to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The layout it is written in.
    pub dialect: Dialect,
    /// Transport of the data.
    pub carrier: Carrier,
    /// The server transmits.
    pub server_sends: bool,
    /// The server receives. With [`Ask::server_sends`] it answers each request; with neither it only accepts connections.
    pub server_receives: bool,
    /// A connection for each transaction (CRR, CC), which the server closes first.
    pub per_connection: bool,
    /// End of the test.
    pub length: Length,
    /// Octets of a request; `None` where there are no transactions.
    pub request_bytes: Option<u32>,
    /// Octets of a response; `None` where there are no transactions.
    pub response_bytes: Option<u32>,
    /// Octets the server hands to one send call; `None`: its socket's send buffer, 65507 at most for a datagram.
    pub send_bytes: Option<u32>,
    /// Octets the server takes by one receive call; `None`: its socket's receive buffer.
    pub receive_bytes: Option<u32>,
    /// `SO_SNDBUF` to set at the server, octets; `None`: leave it.
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` to set at the server, octets; `None`: leave it.
    pub receive_buffer: Option<u32>,
    /// The memory the server sends from.
    pub send_ring: Ring,
    /// The memory the server receives into.
    pub receive_ring: Ring,
    /// Options that are switched on.
    pub flags: Flags,
    /// The server's CPU rate where the client knows it already, in the server's own unit; `None`: the server finds out.
    pub cpu_rate: Option<f32>,
    /// Address family of the server's data socket.
    pub family: Family,
    /// Port the server's data socket shall have, 0: any.
    pub data_port: u16,
    /// Port of the client's data socket, 0 where it is not bound yet. Where only the server sends datagrams they go there.
    pub client_port: u16,
    /// Address of the client's data socket; `None`: not bound to one.
    pub client_address: Option<IpAddr>,
    /// Address the server's data socket shall have; `None`: any.
    pub server_address: Option<IpAddr>,
    /// Pacing at the server; `None`: as fast as it can. A server may be unable to, and then says so in [`Ready`](super::answer::Ready).
    pub pacing: Option<Pacing>,
    /// `SO_PRIORITY` at the server; `None`: leave it.
    pub priority: Option<u32>,
    /// Type of service or traffic class at the server; `None`: leave it.
    pub tos: Option<u32>,
    /// TCP congestion control at the server; `None`: leave it. At most [`CONGESTION`] octets.
    pub congestion: Option<String>,
    /// File **on the server** whose content is to be sent. At most [`FILL_FILE`] octets. Any client can ask for any file,
    /// so a server need not follow.
    pub fill_file: Option<String>,
    /// CPU the server is to bind itself to; `None`: any.
    pub server_cpu: Option<u32>,
}

/// Octets of the longest name of a congestion control.
pub const CONGESTION: usize = 15;

/// Octets of the longest name of a fill file.
pub const FILL_FILE: usize = 31;

/// Alignment of buffers, octets, where nobody asks for another.
pub const ALIGNMENT: u32 = 8;

impl Ask {
    /// An omni test with this carrier, these directions of the server, and this length; everything else as a
    /// netperf without options has it.
    pub fn omni(carrier: Carrier, server_sends: bool, server_receives: bool, length: Length) -> Self {
        Self {
            dialect: Dialect::Omni,
            carrier,
            server_sends,
            server_receives,
            per_connection: false,
            length,
            request_bytes: None,
            response_bytes: None,
            send_bytes: None,
            receive_bytes: None,
            send_buffer: None,
            receive_buffer: None,
            send_ring: Ring::default(),
            receive_ring: Ring::default(),
            flags: Flags::ROUTE,
            cpu_rate: None,
            family: Family::V4,
            data_port: 0,
            client_port: 0,
            client_address: None,
            server_address: None,
            pacing: None,
            priority: None,
            tos: None,
            congestion: None,
            fill_file: None,
            server_cpu: None,
        }
    }

    /// A classic test, as a netperf without options has it: requests and responses of one octet, where it has any.
    pub fn classic(test: Test, length: Length) -> Self {
        let shape = test.shape();
        // TCP_CC's request has the sizes too, and nobody uses them.
        let streams = matches!(test, Test::TcpSink | Test::TcpMaerts | Test::UdpStream);
        let size = (!streams).then_some(1);
        Self {
            dialect: Dialect::Classic(test),
            per_connection: shape.per_connection,
            request_bytes: size,
            response_bytes: size,
            ..Self::omni(shape.carrier, shape.server_sends, shape.server_receives, length)
        }
    }

    /// Returns true for a test of transactions: the server answers, or it only accepts connections.
    pub fn is_transactions(&self) -> bool {
        self.server_sends == self.server_receives
    }

    /// Checks that its dialect can carry all of it.
    pub fn check(&self) -> Result<(), Unsayable> {
        self.write().map(drop)
    }

    pub(super) fn write(&self) -> Result<super::message::Message, Unsayable> {
        match self.dialect {
            Dialect::Omni => omni::write_ask(self),
            Dialect::Classic(test) => classic::write_ask(self, test),
        }
    }
}

/// Layout of a test's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The one layout for every test (netperf's "migrated" tests and `omni`).
    Omni,
    /// A layout for each test, as netperf had it before; still used for a few, and by builds without omni.
    Classic(Test),
}

/// The classic tests a server of a common build knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// The server receives: `TCP_STREAM`. `TCP_SENDFILE` and `TCP_MSS` ask for this too.
    TcpSink,
    /// The server sends.
    TcpMaerts,
    /// Requests and responses over one connection.
    TcpRr,
    /// A connection for each request and response.
    TcpCrr,
    /// A connection, and nothing over it.
    TcpCc,
    /// The server receives datagrams.
    UdpStream,
    /// Requests and responses, a datagram each.
    UdpRr,
}

/// A classic test in the terms of an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub carrier: Carrier,
    pub server_sends: bool,
    pub server_receives: bool,
    pub per_connection: bool,
}

impl Test {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::TcpSink, Self::TcpMaerts, Self::TcpRr, Self::TcpCrr, Self::TcpCc, Self::UdpStream, Self::UdpRr];

    pub(super) fn shape(self) -> Shape {
        let (carrier, server_sends, server_receives, per_connection) = match self {
            Self::TcpSink => (Carrier::Tcp, false, true, false),
            Self::TcpMaerts => (Carrier::Tcp, true, false, false),
            Self::TcpRr => (Carrier::Tcp, true, true, false),
            Self::TcpCrr => (Carrier::Tcp, true, true, true),
            Self::TcpCc => (Carrier::Tcp, false, false, true),
            Self::UdpStream => (Carrier::Udp, false, true, false),
            Self::UdpRr => (Carrier::Udp, true, true, false),
        };
        Shape { carrier, server_sends, server_receives, per_connection }
    }
}

/// Transport of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Carrier {
    /// Stream over TCP.
    Tcp,
    /// Datagrams over UDP.
    Udp,
    /// Something else, such as SCTP (132) or DCCP (33).
    Other {
        /// Number of the IP protocol.
        protocol: u32,
        /// 1 stream, 2 datagram, 3 DCCP, 4 seqpacket, −1 unknown.
        socket_type: i32,
    },
}

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// After so many seconds, at least one. The end that receives gives [`PAD`](super::data::PAD) more.
    Seconds(u32),
    /// The client ends it.
    UntilTold,
    /// After so many transactions, or octets where it is a stream; at least one.
    Count(u64),
}

/// The buffers behind an end's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    /// Each buffer starts at a multiple of this, octets.
    pub alignment: u32,
    /// And so many octets behind it.
    pub offset: u32,
    /// Buffers used in turn; `None`: the server decides.
    pub buffers: Option<u32>,
    /// Copies between socket and buffer are to be avoided where the system can.
    pub avoid_copies: bool,
    /// Words to make dirty before each call; `None`: none.
    pub dirty: Option<u32>,
    /// Words to read before each receive call; `None`: none. Nothing carries it for a ring that is sent from.
    pub clean: Option<u32>,
}

impl Default for Ring {
    fn default() -> Self {
        Self { alignment: ALIGNMENT, offset: 0, buffers: None, avoid_copies: false, dirty: None, clean: None }
    }
}

/// Options that are switched on, by omni's bits. A connection per transaction is not among them: [`Ask::per_connection`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// `TCP_NODELAY` at both ends.
    pub const NODELAY: Self = Self(0x1);
    /// Send by `sendfile`.
    pub const SENDFILE: Self = Self(0x2);
    /// Measure CPU utilisation at the server.
    pub const MEASURE_CPU: Self = Self(0x8);
    /// UDP without checksums.
    pub const NO_CHECKSUM: Self = Self(0x10);
    /// Routers are allowed. Where it is missing both ends set `SO_DONTROUTE`, and the test fails across a router; a
    /// netperf leaves it out for one-way UDP unless told otherwise.
    pub const ROUTE: Self = Self(0x20);
    /// TCP fast open.
    pub const FAST_OPEN: Self = Self(0x800);
    /// Answer datagrams from the address they were sent to.
    pub const PACKET_INFO: Self = Self(0x2000);
    /// Connect the server's UDP socket to the first client heard.
    pub const CONNECT_UDP: Self = Self(0x4000);
    /// `TCP_DEFER_ACCEPT`.
    pub const DEFER_ACCEPT: Self = Self(0x8000);
    /// Path MTU discovery: never fragment.
    pub const PATH_MTU: Self = Self(0x1_0000);
    /// `SO_KEEPALIVE` on the data connection.
    pub const KEEPALIVE: Self = Self(0x8000_0000);

    /// Returns true where all of `other` is set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This without any of `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This, where `on`; nothing else.
    pub(super) fn when(self, on: bool) -> Self {
        if on { self } else { Self::NONE }
    }
}

/// Address family of a data socket, by netperf's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The server's choice (0).
    Unspecified,
    /// IPv4 (4).
    V4,
    /// IPv6 (6).
    V6,
    /// Reliable datagram sockets (7).
    Rds,
}

/// Operations of a burst, then a wait until the interval is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pacing {
    /// Transactions, or send calls of a stream. 0, with an interval: a client that forgot the one or the other, which
    /// netperf runs unpaced.
    pub burst: u32,
    /// From burst to burst, microseconds.
    pub interval_us: u32,
}
