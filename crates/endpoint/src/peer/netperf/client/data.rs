//! Data sockets, set up as netperf's client does it: before the request to the server, which names them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use measure::method::{Carrier, SocketOptions};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::ask::{self, Ask, Family, Flags};
use protocol::netperf::data::{CLIENT_PORTS, PAD};
use socket2::{SockAddr, Socket, Type};

use super::Test;
use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::link::handshake::ports::Ports;
use crate::random;
use crate::socket::tuning::Tuning;
use crate::socket::{self, any};
use crate::stop::Stop;

/// Longest time for the data connection to be established.
const CONNECT: Nanos = Nanos::secs(10);

/// Settings of the data socket that are in neither method nor request. The local address is the method's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSocket {
    /// The server's data address; `None`: that of the control connection.
    pub server: Option<IpAddr>,
    /// The local port; 0: any.
    pub local_port: u16,
    /// Local ports that connections per transaction take in turn, from a random one on.
    pub ports: RangeInclusive<u16>,
    /// Further options. Routing, fragmentation and `SO_KEEPALIVE` are taken from the request to the server: both ends
    /// do the same.
    pub tuning: Tuning,
}

impl Default for DataSocket {
    fn default() -> Self {
        Self { server: None, local_port: 0, ports: CLIENT_PORTS, tuning: Tuning::default() }
    }
}

/// Our end of the data phase before the server is asked.
#[derive(Debug)]
pub enum Prepared {
    /// A socket that is to be connected.
    Socket {
        /// The socket itself.
        socket: Socket,
        /// Its send buffer before it is connected.
        send_buffer: Option<Bytes>,
        /// Its receive buffer before it is connected.
        receive_buffer: Option<Bytes>,
    },
    /// A connection for each transaction, from these ports.
    Each(Ports),
}

/// Sets our end up. `control` is the server's control address, whose host the data go to where nothing else is said.
pub fn prepare(test: &Test, control: SocketAddr) -> Result<Prepared, EndpointError> {
    let peer = server_at(test, control, 0);
    if test.method.traffic.connects() {
        return Ok(Prepared::Each(ports(test, peer)?));
    }
    let options = SocketOptions { bind: None, ..test.method.socket.clone() };
    let socket = match (test.ask.carrier, test.method.traffic.carrier()) {
        (ask::Carrier::Tcp, Carrier::Tcp) => socket::tcp(peer, &options)?,
        (ask::Carrier::Udp, Carrier::Udp) => socket::udp_unconnected(peer, &options)?,
        (ask::Carrier::Other { protocol, socket_type: STREAM }, Carrier::Tcp) => {
            socket::other(peer, Type::STREAM, protocol.cast_signed(), name(protocol), &options)?
        }
        (ask::Carrier::Other { protocol, socket_type: DATAGRAM }, Carrier::Udp) => {
            socket::other(peer, Type::DGRAM, protocol.cast_signed(), name(protocol), &options)?
        }
        (asked, _) => return Err(impossible(test, asked, peer)),
    };
    tuning(test).apply(&socket, peer)?;
    bind(&socket, test, peer)?;
    let facts = socket_facts(&socket);
    let (send_buffer, receive_buffer) = (facts.send_buffer_bytes, facts.receive_buffer_bytes);
    Ok(Prepared::Socket { socket, send_buffer, receive_buffer })
}

/// Completes the request to the server with the facts of the data socket.
pub fn complete(test: &Test, prepared: &Prepared, control: SocketAddr, control_local: Option<IpAddr>) -> Ask {
    let mut ask = test.ask.clone();
    ask.family = if server_at(test, control, 0).is_ipv4() { Family::V4 } else { Family::V6 };
    ask.client_address = test.method.socket.bind;
    ask.client_port = match prepared {
        Prepared::Each(ports) => ports.peek(),
        Prepared::Socket { socket, .. } => local(socket).map_or(0, |local| local.port()),
    };
    let only_server_sends = ask.server_sends && !ask.server_receives;
    if test.method.traffic.carrier() == Carrier::Udp && only_server_sends {
        // It hears nothing of us before it sends: it must be told where to.
        ask.client_address = ask.client_address.or(control_local);
    }
    ask
}

/// The options of our data sockets.
pub fn tuning(test: &Test) -> Tuning {
    let flags = test.ask.flags;
    let tuning = test.data.tuning.clone();
    Tuning {
        link_only: tuning.link_only || !flags.has(Flags::ROUTE),
        keepalive: tuning.keepalive || flags.has(Flags::KEEPALIVE),
        whole_packets: tuning.whole_packets || flags.has(Flags::PATH_MTU),
        ..tuning
    }
}

/// The server's data address at `port`; an IPv6 scope stays that of the control connection.
pub fn server_at(test: &Test, control: SocketAddr, port: u16) -> SocketAddr {
    let mut peer = test.data.server.map_or(control, |ip| SocketAddr::new(ip, 0));
    peer.set_port(port);
    peer
}

/// Connects `socket` to the server's data port. Returns how long that took.
pub fn connect(socket: &Socket, peer: SocketAddr, test: &Test, stop: &Stop) -> Result<Nanos, EndpointError> {
    let began = Monotonic::now();
    match socket::connect(socket, peer, CONNECT, stop) {
        Ok(true) => {}
        Ok(false) => return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped)),
        Err(cause) => return Err(no_data(peer, test, cause)),
    }
    let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, peer, cause);
    socket::set_waiting(socket, peer, test.method.waiting)?;
    socket::set_glance(socket).map_err(fail)?;
    Ok(Monotonic::now().since(began).unwrap_or_default())
}

/// The address of our end.
pub fn local(socket: &Socket) -> Option<SocketAddr> {
    socket.local_addr().ok().and_then(|address| address.as_socket())
}

fn ports(test: &Test, peer: SocketAddr) -> Result<Ports, EndpointError> {
    let draw = random::bytes::<2>().map_err(|cause| EndpointError::new(Step::ConnectData, peer, cause))?;
    let range = test.data.ports.clone();
    let first = range.start().saturating_add(u16::from_ne_bytes(draw) % (range.len().clamp(1, 65_535) as u16));
    Ports::from(range, first).ok_or_else(|| {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "the range of local ports is empty");
        EndpointError::new(Step::Set("local ports"), peer, cause)
    })
}

/// UDP is always bound, so that the server can be told the port; TCP where an address or a port was asked for.
fn bind(socket: &Socket, test: &Test, peer: SocketAddr) -> Result<(), EndpointError> {
    let (address, port) = (test.method.socket.bind, test.data.local_port);
    if test.method.traffic.carrier() != Carrier::Udp && address.is_none() && port == 0 {
        return Ok(());
    }
    let local = SocketAddr::new(address.unwrap_or_else(|| any(peer)), port);
    let bound = socket.set_reuse_address(true).and_then(|()| socket.bind(&SockAddr::from(local)));
    bound.map_err(|cause| {
        EndpointError::new(Step::Set("local address"), peer, cause).with_hint(Hint::LocalAddress { local })
    })
}

/// netperf's numbers of the kinds of socket that an engine has a link for: one of a stream is driven as TCP's, one of
/// datagrams as UDP's.
const STREAM: i32 = 1;
const DATAGRAM: i32 = 2;

/// Name of the IP protocol of this number.
fn name(protocol: u32) -> &'static str {
    match protocol {
        33 => "DCCP",
        132 => "SCTP",
        136 => "UDP-Lite",
        _ => "another IP protocol",
    }
}

fn impossible(test: &Test, asked: ask::Carrier, peer: SocketAddr) -> EndpointError {
    let what = format!("no engine here measures {asked:?} as {}", test.method.traffic.carrier());
    EndpointError::new(Step::Agree, peer, Cause::Peer(what)).on(Side::Ours)
}

fn no_data(peer: SocketAddr, test: &Test, cause: io::Error) -> EndpointError {
    let kind = cause.kind();
    let error = EndpointError::new(Step::ConnectData, peer, cause);
    match kind {
        io::ErrorKind::ConnectionRefused if test.pause >= PAD => {
            error.on(Side::Ours).with_hint(Hint::PauseTooLong { pause: test.pause, patience: PAD })
        }
        io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut | io::ErrorKind::PermissionDenied => {
            error.on(Side::Path).with_hint(Hint::DataPortClosed)
        }
        _ => error,
    }
}
