//! Sockets for ICMP echo: a ping socket where the system lets this user have one, a raw one otherwise.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::{Method, SocketOptions};
use protocol::icmp::echo::{Echo, Family, Socket as Kind};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::option;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step, plain};
use crate::random;

/// An ICMP socket that is connected to its peer, and how its messages are told apart.
#[derive(Debug)]
pub struct Opened {
    /// The socket.
    pub socket: Socket,
    /// Kind of the socket, for the record.
    pub kind: SocketName,
    /// Its wire.
    pub echo: Echo,
}

/// Kind of socket that carries the echoes.
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
    Echo::message_length(method.traffic.request_bytes().0 as usize)
}

/// Socket settings of ping's users, beside those of every method.
#[expect(clippy::struct_excessive_bools, reason = "each is a socket option of its own, on or off by itself")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// TTL or hop limit of requests, to one host and to many.
    pub ttl: Option<u8>,
    /// Fragmentation of requests longer than a link on the path allows; absent: the system's default.
    pub fragments: Option<Fragments>,
    /// True where the peer may be a broadcast address.
    pub broadcast: bool,
    /// True where only hosts on the same link are reached.
    pub link_only: bool,
    /// True where requests to a group do not come back to this host.
    pub no_loopback: bool,
    /// Firewall mark; it needs `CAP_NET_ADMIN`.
    pub mark: Option<u32>,
    /// True where the kernel debugs the socket; it needs `CAP_NET_ADMIN`.
    pub debug: bool,
    /// Identifier of the requests; absent: the kernel's, or random.
    pub identifier: Option<u16>,
    /// IP options of requests, IPv4 alone.
    pub ip_options: Option<Vec<u8>>,
    /// True where any host may answer: the socket is not connected.
    pub anybody: bool,
}

/// Fragmentation of requests that are too long for a link on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// They are never fragmented, not even here.
    Never,
    /// This host fragments them, routers do not.
    Here,
    /// This host or routers fragment them.
    Anywhere,
}

impl Fragments {
    /// The value of `IP_MTU_DISCOVER`, and the same of `IPV6_MTU_DISCOVER`.
    pub(crate) fn discovery(self) -> i32 {
        match self {
            Self::Never => libc::IP_PMTUDISC_DO,
            Self::Here => libc::IP_PMTUDISC_WANT,
            Self::Anywhere => libc::IP_PMTUDISC_DONT,
        }
    }
}

/// Opens an ICMP socket towards `peer`, whose port has no meaning.
pub fn open(peer: SocketAddr, options: &SocketOptions) -> Result<Opened, EndpointError> {
    open_as(peer, options, &Wishes::default())
}

/// The same with wishes of a user of ping.
pub fn open_as(peer: SocketAddr, options: &SocketOptions, wishes: &Wishes) -> Result<Opened, EndpointError> {
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
    let named = kind == SocketName::Ping && wishes.identifier.is_some();
    // A ping socket is bound once, to its address and identifier: replies are looked for where the first bind has put it.
    let prepared = SocketOptions { bind: options.bind.filter(|_| !named), ..options.clone() };
    super::prepare(&socket, peer, &prepared)?;
    option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
    grant(&socket, peer, wishes)?;
    let fail = |cause: io::Error| EndpointError::new(Step::OpenSocket("ICMP"), name, cause);
    let draw = random::bytes::<6>().map_err(fail)?;
    let identifier = wishes.identifier.unwrap_or(u16::from_be_bytes([draw[0], draw[1]]));
    let nonce = u32::from_be_bytes([draw[2], draw[3], draw[4], draw[5]]);
    match (kind, wishes.identifier) {
        (SocketName::Raw, _) => option::only_echo_replies(socket.as_fd(), peer.is_ipv6())
            .and_then(|()| option::only_identifier(&socket, peer.is_ipv6(), identifier))
            .map_err(|cause| EndpointError::new(Step::Set("ICMP filter"), name, cause))?,
        // The identifier of a ping socket is its port.
        (SocketName::Ping, Some(identifier)) => {
            let local = options.bind.unwrap_or_else(|| super::any(peer));
            super::set(peer, "identifier", || socket.bind(&SockAddr::from(SocketAddr::new(local, identifier))))?;
        }
        (SocketName::Ping, None) => {}
    }
    if !wishes.anybody {
        // A link-local address keeps its interface.
        let mut any_port = peer;
        any_port.set_port(0);
        socket
            .connect(&SockAddr::from(any_port))
            .map_err(|cause| EndpointError::new(Step::ConnectData, name, cause))?;
    }
    let as_seen = if kind == SocketName::Ping { Kind::Ping } else { Kind::Raw };
    Ok(Opened { socket, kind, echo: Echo::new(family, as_seen, identifier, nonce) })
}

fn grant(socket: &Socket, peer: SocketAddr, wishes: &Wishes) -> Result<(), EndpointError> {
    let six = peer.is_ipv6();
    let set = |name, value: i32, v4: (i32, i32), v6: (i32, i32)| {
        let (level, option) = if six { v6 } else { v4 };
        super::set(peer, name, || option::set_int(socket.as_fd(), level, option, value))
    };
    let both = |option| ((libc::SOL_SOCKET, option), (libc::SOL_SOCKET, option));
    let flag = |name, option| set(name, 1, both(option).0, both(option).1);
    if let Some(ttl) = wishes.ttl {
        let (ip, ipv6) = (libc::IPPROTO_IP, libc::IPPROTO_IPV6);
        set("multicast time-to-live", ttl.into(), (ip, libc::IP_MULTICAST_TTL), (ipv6, libc::IPV6_MULTICAST_HOPS))?;
        set("unicast time-to-live", ttl.into(), (ip, libc::IP_TTL), (ipv6, libc::IPV6_UNICAST_HOPS))?;
    }
    if let Some(fragments) = wishes.fragments {
        let v4 = (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        set("path MTU discovery", fragments.discovery(), v4, (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER))?;
    }
    if wishes.broadcast {
        flag("broadcast", libc::SO_BROADCAST)?;
    }
    if wishes.link_only {
        flag("SO_DONTROUTE", libc::SO_DONTROUTE)?;
    }
    if wishes.debug {
        flag("SO_DEBUG", libc::SO_DEBUG)?;
    }
    if wishes.no_loopback {
        let v4 = (libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP);
        set("multicast loopback", 0, v4, (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP))?;
    }
    if let Some(mark) = wishes.mark {
        super::set(peer, "mark", || socket.set_mark(mark))?;
    }
    match &wishes.ip_options {
        Some(options) if !six => super::set(peer, "IP options", || option::set_ip_options(socket, options)),
        _ => Ok(()),
    }
}

fn forbidden(peer: SocketAddr, unprivileged: &io::Error, raw: io::Error) -> EndpointError {
    let hint = Hint::PingForbidden { unprivileged: plain(unprivileged) };
    EndpointError::new(Step::OpenSocket("ICMP"), peer.ip(), raw).with_hint(hint)
}
