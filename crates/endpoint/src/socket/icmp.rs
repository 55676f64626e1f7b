//! Sockets for ICMP echo: a ping socket where the system lets this user have one, a raw one otherwise.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::Method;
use protocol::icmp::echo::{Echo, Family, Socket as Kind};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::option;
use crate::error::{EndpointError, Step, plain};
use crate::random;

/// An ICMP socket that is connected to its peer, and how its messages are told apart.
#[derive(Debug)]
pub struct Opened {
    /// The socket.
    pub socket: Socket,
    /// What it is, for the record.
    pub kind: SocketName,
    /// Its wire.
    pub echo: Echo,
}

/// Which kind of socket carries the echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketName {
    /// `SOCK_DGRAM`: no privilege, the kernel sorts the replies.
    Ping,
    /// `SOCK_RAW`: needs `CAP_NET_RAW`.
    Raw,
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ping => "ping",
            Self::Raw => "raw",
        })
    }
}

/// Length of a request as the socket takes it: header and payload.
pub fn request_length(method: &Method) -> usize {
    Echo::message_length(method.request_bytes.0 as usize)
}

/// Opens an ICMP socket towards `peer`, whose port has no meaning.
pub fn open(peer: SocketAddr, method: &Method) -> Result<Opened, EndpointError> {
    let name = peer.ip();
    let (family, protocol) =
        if peer.is_ipv4() { (Family::V4, Protocol::ICMPV4) } else { (Family::V6, Protocol::ICMPV6) };
    let new = |kind| Socket::new(Domain::for_address(peer), kind, Some(protocol));
    let (socket, kind) = match new(Type::DGRAM) {
        Ok(socket) => (socket, SocketName::Ping),
        Err(unprivileged) => match new(Type::RAW) {
            Ok(socket) => (socket, SocketName::Raw),
            Err(raw) => return Err(forbidden(peer, &unprivileged, raw)),
        },
    };
    super::prepare(&socket, peer, &method.socket)?;
    option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
    let fail = |cause: io::Error| EndpointError::new(Step::OpenSocket("ICMP"), name, cause);
    let draw = random::bytes::<6>().map_err(fail)?;
    let identifier = u16::from_be_bytes([draw[0], draw[1]]);
    let nonce = u32::from_be_bytes([draw[2], draw[3], draw[4], draw[5]]);
    if kind == SocketName::Raw {
        option::only_echo_replies(socket.as_fd(), peer.is_ipv6())
            .and_then(|()| option::only_identifier(&socket, peer.is_ipv6(), identifier))
            .map_err(|cause| EndpointError::new(Step::Set("ICMP filter"), name, cause))?;
    }
    socket
        .connect(&SockAddr::from(SocketAddr::new(peer.ip(), 0)))
        .map_err(|cause| EndpointError::new(Step::ConnectData, name, cause))?;
    let as_seen = if kind == SocketName::Ping { Kind::Ping } else { Kind::Raw };
    Ok(Opened { socket, kind, echo: Echo::new(family, as_seen, identifier, nonce) })
}

fn forbidden(peer: SocketAddr, unprivileged: &io::Error, raw: io::Error) -> EndpointError {
    let hint = format!(
        "ping sockets are closed to this group ({}); raw ones need a capability. Either\n  \
         sysctl -w net.ipv4.ping_group_range='0 2147483647'\nor\n  setcap cap_net_raw+ep /path/to/sonde\nor measure without ICMP: --tcp, --udp, --connect",
        plain(unprivileged)
    );
    EndpointError::new(Step::OpenSocket("ICMP"), peer.ip(), raw).with_hint(hint)
}
