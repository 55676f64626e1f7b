//! Opens what probes leave by: the address they come from, the ports that are held for them, the raw socket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::{Method, SocketOptions, SourcePorts, Window};
use protocol::icmp::echo::{Echo, Family, Socket as Seen};
use protocol::syn::datagram::{self, Datagrams};
use protocol::syn::delivered::HEAD;
use protocol::syn::echoed::Echoed;
use protocol::syn::probe::{Probe, Shape, Sources};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket, Type};

use super::{From, Kind, Post, Probing};
use crate::engine::Flow;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::link::raw::{Hops, Raw};
use crate::link::stamping::Stamping;
use crate::random;
use crate::session::connections::Connection;
use crate::socket::{self, option, raw};
use crate::stop::Stop;

/// Ports held at least and at most: a port that was just used rests.
const PORTS: (u64, u64) = (16, 1_024);
/// Ports below are left to services.
const LOWEST: u32 = 10_000;
/// Places that are tried for a row of free ports.
const TRIES: u32 = 64;
/// Bytes of an answer that are read: an IPv4 header, and a TCP header with all its options or a quote.
const ANSWER: usize = 160;

/// All that an engine needs to probe by segments.
pub fn segments(probing: &Probing, post: Post, halt: &Stop) -> Result<Connection<Raw, Probe<Post>>, EndpointError> {
    let ported = Ported::open(probing)?;
    let draw = draw(probing.peer)?;
    let shape = Shape {
        flags: probing.flags,
        window: probing.window,
        options: probing.options.clone(),
        payload: probing.method.traffic.request_bytes().0 as usize,
        seq: probing.seq,
        ack: probing.ack,
        bad_checksum: probing.bad_checksum,
        ..Shape::syn(ported.local.ip(), probing.peer.ip(), ported.sources, probing.aim, u32::from_be_bytes(draw))
    };
    let length = shape.length();
    Ok(connection(probing, ported.socket, ported.reserved, Probe::new(shape, post), length, halt))
}

/// All that an engine needs to probe by datagrams.
pub fn datagrams(
    probing: &Probing,
    post: Post,
    halt: &Stop,
) -> Result<Connection<Raw, Datagrams<Post>>, EndpointError> {
    let ported = Ported::open(probing)?;
    let shape = datagram::Shape {
        local: ported.local.ip(),
        remote: probing.peer.ip(),
        sources: ported.sources,
        aim: probing.aim,
        bad_checksum: probing.bad_checksum,
    };
    let length = datagram::HEADER + probing.method.traffic.request_bytes().0 as usize;
    Ok(connection(probing, ported.socket, ported.reserved, Datagrams::new(shape, post), length, halt))
}

/// All that an engine needs to probe by echo requests.
pub fn echoes(probing: &Probing, post: Post, halt: &Stop) -> Result<Connection<Raw, Echoed<Post>>, EndpointError> {
    let (peer, payload) = (probing.peer, probing.method.traffic.request_bytes().0 as usize);
    let local = local_address(peer, &probing.method.socket)?;
    let ([high, low, ..], nonce) = (draw(peer)?, u32::from_be_bytes(draw(peer)?));
    let identifier = u16::from_be_bytes([high, low]);
    let socket = raw_socket(probing, local, |socket| {
        option::only_echo_replies(socket.as_fd(), peer.is_ipv6())?;
        option::only_identifier(socket, peer.is_ipv6(), identifier)
    })?;
    let family = if peer.is_ipv4() { Family::V4 } else { Family::V6 };
    let echo = Echo::new(family, Seen::Raw, identifier, nonce).for_payload(payload);
    let wire = Echoed::new(echo, peer.ip(), post);
    Ok(connection(probing, socket, Vec::new(), wire, Echo::message_length(payload), halt))
}

fn draw(peer: SocketAddr) -> Result<[u8; 4], EndpointError> {
    random::bytes::<4>().map_err(|cause| EndpointError::new(Step::OpenSocket("raw"), peer.ip(), cause))
}

/// A raw socket and the ports that it speaks for.
struct Ported {
    socket: Socket,
    local: SocketAddr,
    sources: Sources,
    reserved: Vec<Socket>,
}

impl Ported {
    fn open(probing: &Probing) -> Result<Self, EndpointError> {
        let (peer, method) = (probing.peer, &probing.method);
        let local = local_address(peer, &method.socket)?;
        let (sources, reserved) = match (probing.sources, method.socket.source_ports) {
            (From::Held, Some(ports)) => hold_these(probing, local, ports)?,
            (From::Held, None) => hold(probing, local, ports_wanted(method))?,
            (From::Rising(first), _) => (Sources { first, count: 65_536 }, Vec::new()),
            (From::Always(first), _) => (Sources { first, count: 1 }, Vec::new()),
        };
        let only = |socket: &Socket| raw::only_ports(socket, peer.is_ipv6(), sources.first, sources.count);
        Ok(Self { socket: raw_socket(probing, local, only)?, local, sources, reserved })
    }
}

fn connection<W>(
    probing: &Probing,
    socket: Socket,
    reserved: Vec<Socket>,
    wire: W,
    length: usize,
    halt: &Stop,
) -> Connection<Raw, W> {
    let method = &probing.method;
    let stamping =
        if method.traffic.stamps().is_some() { Stamping::prepare(socket.as_fd()) } else { Stamping::default() };
    let refused = stamping.refused.clone();
    let facts = socket_facts(&socket);
    let hops = match (probing.ttl_rises, probing.ttl) {
        (true, first) => Hops::Rising(first.unwrap_or(1)),
        (false, _) => Hops::Same,
    };
    let mut link = Raw::new(socket, reserved, probing.peer.ip(), hops, method.waiting, halt.clone());
    link.stamping = stamping;
    let (request, reply) = (vec![0; length], vec![0; HEAD + ANSWER]);
    let flow = Flow { link, wire, index: 0, request, reply, expected: None };
    Connection { flow, facts, refused, handed: None, errors: None }
}

/// The address probes come from: the checksum covers it. Connecting a UDP socket looks the route up, and sends nothing.
pub fn local_address(peer: SocketAddr, options: &SocketOptions) -> Result<SocketAddr, EndpointError> {
    let mut anywhere = peer;
    anywhere.set_port(peer.port().max(1));
    let (send_buffer_bytes, receive_buffer_bytes, source_ports) = (None, None, None);
    let options = SocketOptions { send_buffer_bytes, receive_buffer_bytes, source_ports, ..options.clone() };
    let socket = socket::udp(anywhere, &options).map_err(|error| match &error.cause {
        Cause::System(cause) if cause.raw_os_error() == Some(libc::EACCES) => {
            let broadcast = io::Error::from_raw_os_error(libc::EACCES);
            EndpointError::new(Step::ConnectData, peer.ip(), broadcast).on(Side::Ours).with_hint(Hint::Broadcast)
        }
        _ => error,
    })?;
    let fail = |cause| EndpointError::new(Step::ConnectData, peer.ip(), cause);
    let address = socket.local_addr().map_err(fail)?;
    address.as_socket().ok_or_else(|| fail(io::ErrorKind::AddrNotAvailable.into()))
}

/// As many ports as probes can be out at once: one whose last probe may still be answered is not used again.
fn ports_wanted(method: &Method) -> u32 {
    let out = match method.traffic.window() {
        Window::Closed(n) | Window::Volley(n) => u64::from(n).saturating_mul(4),
        Window::Open { cap } => {
            let gap = method.schedule.mean_gap().map_or(1, |gap| gap.0.max(1));
            u64::from(cap).min(method.timeout_ns.0 / gap + PORTS.0)
        }
    };
    out.clamp(PORTS.0, PORTS.1) as u32
}

/// Holds a row of `count` free ports.
fn hold(probing: &Probing, local: SocketAddr, count: u32) -> Result<(Sources, Vec<Socket>), EndpointError> {
    let peer = probing.peer;
    let fail = |cause: io::Error| EndpointError::new(Step::Set("local ports"), peer.ip(), cause);
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        let draw = u32::from(u16::from_be_bytes(random::bytes::<2>().map_err(fail)?));
        let first = (LOWEST + draw % (65_536 - LOWEST - count)) as u16;
        match row(probing.kind, local, first, count) {
            Ok(held) => return Ok((Sources { first, count }, held)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(fail(error)),
        }
    }
    Err(fail(last).with_hint(Hint::NoRowOfPorts { count }))
}

/// Holds all of `ports`, which the user named.
fn hold_these(
    probing: &Probing,
    local: SocketAddr,
    ports: SourcePorts,
) -> Result<(Sources, Vec<Socket>), EndpointError> {
    let (first, count) = (ports.first, ports.count());
    let held = row(probing.kind, local, first, count).map_err(|cause| {
        let taken = cause.kind() == io::ErrorKind::AddrInUse;
        let error = EndpointError::new(Step::Set("source port"), probing.peer.ip(), cause);
        if taken { error.with_hint(Hint::PortsTaken { ports }) } else { error }
    })?;
    Ok((Sources { first, count }, held))
}

fn row(kind: Kind, local: SocketAddr, first: u16, count: u32) -> io::Result<Vec<Socket>> {
    let bound = |place: u32| {
        let mut address = local;
        address.set_port(first.wrapping_add(place as u16));
        let socket = match kind {
            Kind::Segments => Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?,
            Kind::Datagrams | Kind::Echoes => deaf(Domain::for_address(address))?,
        };
        socket.bind(&SockAddr::from(address)).map(|()| socket)
    };
    (0..count).map(bound).collect()
}

/// A socket of UDP that takes nothing: it keeps our kernel from refusing packets to its port, and is never read.
fn deaf(domain: Domain) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    let nothing = SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, 0);
    socket.attach_filter(&[nothing]).map(|()| socket)
}

/// The raw socket; `only` has it given nothing but what may be an answer.
fn raw_socket(
    probing: &Probing,
    mut local: SocketAddr,
    only: impl FnOnce(&Socket) -> io::Result<()>,
) -> Result<Socket, EndpointError> {
    let (mut peer, method, ipv6) = (probing.peer, &probing.method, probing.peer.is_ipv6());
    peer.set_port(0);
    let protocol = match (probing.kind, ipv6) {
        (Kind::Segments, _) => Protocol::TCP,
        (Kind::Datagrams, _) => Protocol::UDP,
        (Kind::Echoes, false) => Protocol::ICMPV4,
        (Kind::Echoes, true) => Protocol::ICMPV6,
    };
    let socket =
        Socket::new(Domain::for_address(peer), Type::RAW, Some(protocol)).map_err(|cause| forbidden(probing, cause))?;
    let set = |name| move |cause| EndpointError::new(Step::Set(name), peer.ip(), cause);
    only(&socket).map_err(set("filter of answers"))?;
    socket::prepare(&socket, peer, &SocketOptions { bind: None, source_ports: None, ..method.socket.clone() })?;
    local.set_port(0);
    socket.bind(&SockAddr::from(local)).map_err(set("local address"))?;
    option::tell_of_errors(socket.as_fd(), ipv6);
    if ipv6 {
        raw::tell_hop_limit(socket.as_fd()).map_err(set("hop limits of answers"))?;
    } else if probing.fragmentable {
        raw::let_fragment(&socket).map_err(set("fragmentation"))?;
    }
    if let Some(ttl) = probing.ttl {
        raw::set_ttl(&socket, ipv6, ttl).map_err(set("hop limit"))?;
    }
    socket::set_waiting(&socket, peer.ip(), method.waiting)?;
    socket::set_glance(&socket).map_err(set("timeouts"))?;
    socket.connect(&SockAddr::from(peer)).map_err(|cause| EndpointError::new(Step::ConnectData, peer.ip(), cause))?;
    Ok(socket)
}

/// Without the capability nothing can be probed, but what an ordinary socket does needs none.
fn forbidden(probing: &Probing, cause: io::Error) -> EndpointError {
    let what = match probing.kind {
        Kind::Segments => "raw TCP",
        Kind::Datagrams => "raw UDP",
        Kind::Echoes => "raw ICMP",
    };
    EndpointError::new(Step::OpenSocket(what), probing.peer.ip(), cause).with_hint(Hint::RawForbidden(probing.kind))
}

#[cfg(test)]
mod tests {
    use measure::method::{Asked, Carrier};

    use super::*;

    #[test]
    fn a_port_that_is_taken_is_no_other_one() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (local, port) = (listener.local_addr().unwrap(), listener.local_addr().unwrap().port());
        let method = Asked { carrier: Some(Carrier::TcpSyn), ..Asked::default() }.resolve().unwrap();
        let probing = Probing::syn(method, local);
        let ports = SourcePorts { first: port, last: port };
        let error = hold_these(&probing, local, ports).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some(&Hint::PortsTaken { ports }), "{error:?}");
    }
}
