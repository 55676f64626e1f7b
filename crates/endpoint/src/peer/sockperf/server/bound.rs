//! The sockets of a server: opened with all options that stand before the first message.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{SockAddr, Socket, Type};

use super::event::Buffers;
use super::settings::{Carriers, Place, Settings};
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};
use crate::serve::listen;
use crate::socket::{any, multicast, option, own};
use crate::stop::GLANCE;

/// A free port of one carrier may be taken of the other: then another is tried.
const TRIES: usize = 32;

/// A socket that is bound.
#[derive(Debug)]
pub struct Bound {
    /// Addresses it listens at, port filled in; several where groups share a port, and then never more than one
    /// carrier.
    pub listens: Vec<SocketAddr>,
    /// Kind of the messages that arrive.
    pub kind: Kind,
    pub(super) socket: Socket,
    /// True where each datagram carries the local address that it was sent to.
    pub(super) told: bool,
}

/// Kind of the messages that arrive at a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Connections.
    Tcp,
    /// Datagrams, answered to their senders.
    Udp,
    /// Datagrams to a group, answered to the group at their senders' ports.
    Group,
}

impl Bound {
    /// Returns the address it listens at; of several groups the first.
    pub fn address(&self) -> SocketAddr {
        self.listens[0]
    }

    /// Returns the buffer sizes that the system granted; `None` where it does not say.
    pub fn buffers(&self) -> Option<Buffers> {
        buffers(&self.socket)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns the buffer sizes that the system granted a socket.
pub(super) fn buffers(socket: &Socket) -> Option<Buffers> {
    let (receive, send) = (socket.recv_buffer_size().ok()?, socket.send_buffer_size().ok()?);
    Some(Buffers { descriptor: socket.as_raw_fd(), receive, send })
}

/// Opens all sockets, in the order of their places; groups that share a port share a socket.
pub(super) fn open_all(settings: &Settings) -> Result<Vec<Bound>, EndpointError> {
    let mut sockets: Vec<Bound> = Vec::new();
    let mut done: Vec<(bool, u16)> = Vec::new();
    for place in &settings.places {
        if !multicast::is_group(place.address) {
            open(place, settings, &mut sockets)?;
            continue;
        }
        let shared = (place.address.is_ipv4(), place.address.port());
        if done.contains(&shared) {
            continue;
        }
        done.push(shared);
        let with_it = |other: &&Place| {
            let address = other.address;
            multicast::is_group(address) && (address.is_ipv4(), address.port()) == shared
        };
        let groups: Vec<&Place> = settings.places.iter().filter(with_it).collect();
        sockets.push(open_groups(&groups, settings)?);
    }
    Ok(sockets)
}

fn open(place: &Place, settings: &Settings, sockets: &mut Vec<Bound>) -> Result<(), EndpointError> {
    let address = place.address;
    match place.carriers {
        Carriers::Udp => sockets.push(datagrams(address, settings)?),
        Carriers::Tcp => sockets.push(listener(address, settings)?),
        Carriers::Both => sockets.extend(both(address, settings)?),
    }
    Ok(())
}

fn both(address: SocketAddr, settings: &Settings) -> Result<[Bound; 2], EndpointError> {
    let mut tries = if address.port() == 0 { TRIES } else { 1 };
    loop {
        tries -= 1;
        let tcp = listener(address, settings)?;
        match datagrams(tcp.address(), settings) {
            Ok(udp) => return Ok([udp, tcp]),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => {}
        }
    }
}

fn listener(address: SocketAddr, settings: &Settings) -> Result<Bound, EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let socket = prepared(address, Type::STREAM, settings)?;
    let socket = listen::listen(socket, address).map_err(fail)?;
    Ok(Bound { listens: vec![local(&socket, address)?], kind: Kind::Tcp, socket, told: false })
}

fn datagrams(address: SocketAddr, settings: &Settings) -> Result<Bound, EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let socket = prepared(address, Type::DGRAM, settings)?;
    if settings.options.reuse_address {
        socket.set_reuse_address(true).map_err(fail)?;
    }
    let told = address.ip().is_unspecified() && settings.answer_from_asked.unwrap_or_else(answers_may_differ);
    if told {
        option::tell_destination(socket.as_fd(), address.is_ipv6()).map_err(fail)?;
    }
    // Best effort, as an older kernel has no such option of IPv6.
    let _refused = multicast::hear_own_groups_alone(&socket, address.is_ipv6());
    socket.bind(&SockAddr::from(address)).map_err(fail)?;
    Ok(Bound { listens: vec![local(&socket, address)?], kind: Kind::Udp, socket, told })
}

/// Returns true where the routing table may choose another address to answer from than the one that was asked, and
/// where that is not known.
fn answers_may_differ() -> bool {
    own::addresses().map_or(true, |addresses| own::is_several(&addresses))
}

/// One socket for all groups on a port: with more than one of them it cannot tell which a message was sent to, and
/// answers its sender.
fn open_groups(groups: &[&Place], settings: &Settings) -> Result<Bound, EndpointError> {
    let first = groups[0].address;
    if let Some(odd) = groups.iter().find(|place| place.carriers != Carriers::Udp) {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "no connection is made to a group");
        return Err(EndpointError::new(Step::Listen, odd.address, cause).with_hint(Hint::GroupsAreDatagrams));
    }
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, first, cause);
    let socket = prepared(first, Type::DGRAM, settings)?;
    // Several servers of one host may be members.
    socket.set_reuse_address(true).map_err(fail)?;
    multicast::send_by(&socket, first.is_ipv6(), &settings.multicast.outgoing)
        .map_err(|cause| EndpointError::new(Step::Set("how datagrams leave for a group"), first, cause))?;
    let _refused = multicast::hear_own_groups_alone(&socket, first.is_ipv6());
    let alone = groups.len() == 1;
    let at = if alone { first } else { SocketAddr::new(any(first), first.port()) };
    socket.bind(&SockAddr::from(at)).map_err(fail)?;
    let port = local(&socket, at)?.port();
    for place in groups {
        join(&socket, place, settings)?;
    }
    let kind = if alone && !settings.multicast.unicast_reply { Kind::Group } else { Kind::Udp };
    let with_port = |place: &&Place| {
        let mut address = place.address;
        address.set_port(port);
        address
    };
    Ok(Bound { listens: groups.iter().map(with_port).collect(), kind, socket, told: false })
}

fn join(socket: &Socket, place: &Place, settings: &Settings) -> Result<(), EndpointError> {
    let group: IpAddr = place.address.ip();
    multicast::join(socket, group, settings.multicast.receive, place.source).map_err(|cause| {
        EndpointError::new(Step::Set("membership in the group"), place.address, cause).with_hint(Hint::NoWayToGroup)
    })
}

/// A socket that is not bound yet, with the options that both kinds have.
fn prepared(address: SocketAddr, kind: Type, settings: &Settings) -> Result<Socket, EndpointError> {
    let name = if kind == Type::STREAM { "TCP" } else { "UDP" };
    let socket = listen::unbound(address, kind, &settings.door.gate)
        .map_err(|cause| EndpointError::new(Step::OpenSocket(name), address, cause))?;
    let (ipv6, wildcard) = (address.is_ipv6(), address.ip().is_unspecified());
    let set = |name: &'static str, apply: &dyn Fn() -> io::Result<()>| {
        apply().map_err(|cause| EndpointError::new(Step::Set(name), address, cause))
    };
    let options = &settings.options;
    if let Some(bytes) = options.buffer_bytes {
        set("receive buffer", &|| socket.set_recv_buffer_size(bytes as usize))?;
        set("send buffer", &|| socket.set_send_buffer_size(bytes as usize))?;
    }
    if let Some(tos) = options.tos {
        set("type of service", &|| option::set_type_of_service(&socket, ipv6, tos))?;
        if ipv6 && wildcard {
            // For those that come by IPv4.
            set("type of service", &|| option::set_type_of_service(&socket, false, tos))?;
        }
    }
    if let Some(micros) = options.busy_poll_us {
        set("kernel busy poll", &|| option::set_busy_poll(&socket, micros))?;
    }
    if let Some(rate) = options.pacing_bytes_per_s {
        set("pacing rate", &|| option::set_max_pacing_rate(&socket, rate))?;
    }
    if kind == Type::DGRAM {
        // The thread that is blocked here looks every now and then whether to go on.
        set("receive timeout", &|| socket.set_read_timeout(Some(GLANCE.into())))?;
    }
    Ok(socket)
}

fn local(socket: &Socket, asked: SocketAddr) -> Result<SocketAddr, EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, asked, cause);
    let address = socket.local_addr().map_err(fail)?;
    Ok(address.as_socket().unwrap_or(asked))
}
