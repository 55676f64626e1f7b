//! The data socket of a test, set up before the client may begin.
//!
//! A term of the request that cannot be granted is refused by the system's own error number: a test under other terms
//! than requested would be a wrong number.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd;

use protocol::netperf::answer::Ready;
use protocol::netperf::ask::{Ask, Carrier, Family, Flags, Ring as Asked};
use protocol::netperf::data::{BACKLOG, LARGEST_DATAGRAM};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{Limits, Settings};
use crate::cpu_usage::{Snapshot, TICKS_PER_SECOND};
use crate::error::{Cause, EndpointError};
use crate::link::ring::Shape;
use crate::link::stream::PIECE;
use crate::serve::gate::Gate;
use crate::serve::places::{Place, Places};
use crate::socket::tuning::Tuning;
use crate::socket::{self, option};

/// A number of this system that says why a test cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The number behind `error`; `EINVAL` where the system gave none.
    pub fn of(error: &io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EINVAL))
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self::of(&error)
    }
}

impl From<EndpointError> for Errno {
    fn from(error: EndpointError) -> Self {
        match error.cause {
            Cause::System(error) => Self::of(&error),
            _ => Self(libc::EINVAL),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", io::Error::from_raw_os_error(self.0))
    }
}

/// A test that can begin.
#[derive(Debug)]
pub struct Prepared {
    /// Bound; of TCP, listening. It returns from blocking calls every now and then, and so do connections it accepts.
    pub socket: Socket,
    /// Message to the client that the test may begin.
    pub ready: Ready,
    /// The buffers of send calls; of transactions: one response.
    pub sends: Shape,
    /// The buffers of receive calls; of transactions: one request.
    pub receives: Shape,
    /// Gives the memory back with the test.
    pub memory: Place,
}

/// Sets up the data socket that `ask` wants, for a client whose control connection is at `control` here.
pub fn prepare(
    ask: &Ask,
    control: Option<SocketAddr>,
    settings: &Settings,
    memory: &Places,
) -> Result<Prepared, Errno> {
    let limits = &settings.limits;
    check(ask)?;
    let socket = open(ask, control, &settings.door.gate)?;
    let sizes = Sizes::of(ask, &socket)?;
    let (sends, receives) = (ring(sizes.send, &ask.send_ring, limits), ring(sizes.receive, &ask.receive_ring, limits));
    let (sends, receives) =
        if ask.is_transactions() { (Shape::of(sends.size), Shape::of(receives.size)) } else { (sends, receives) };
    let bytes = [sends, receives].iter().try_fold(0_u64, |sum, shape| sum.checked_add(in_memory(ask, *shape)?));
    let bytes = bytes.filter(|bytes| *bytes <= limits.test_bytes);
    let memory = bytes.and_then(|bytes| memory.take_some(bytes)).ok_or(Errno(libc::ENOMEM))?;
    let ready = ready(ask, &socket, &sizes, sends, receives)?;
    Ok(Prepared { socket, ready, sends, receives, memory })
}

/// Bytes of memory that buffers of this shape take. A transaction's message that is longer than a piece is taken and given
/// piece by piece.
fn in_memory(ask: &Ask, shape: Shape) -> Option<u64> {
    if ask.is_transactions() { Some(shape.size.min(PIECE) as u64) } else { shape.memory().map(|bytes| bytes as u64) }
}

/// Refuses requests that this netserver never serves.
fn check(ask: &Ask) -> Result<(), Errno> {
    let both = ask.server_sends && ask.server_receives;
    let neither = !ask.server_sends && !ask.server_receives;
    match ask.carrier {
        Carrier::Other { .. } => return Err(Errno(libc::EPROTONOSUPPORT)),
        Carrier::Udp if ask.per_connection => return Err(Errno(libc::EOPNOTSUPP)),
        // Nothing to do, or a connection for each piece of a stream.
        Carrier::Tcp | Carrier::Udp if neither != (ask.per_connection && !both) => return Err(Errno(libc::EINVAL)),
        Carrier::Tcp | Carrier::Udp => {}
    }
    if ask.family == Family::Rds {
        return Err(Errno(libc::EAFNOSUPPORT));
    }
    let empty = |size: Option<u32>| size.unwrap_or(0) == 0;
    if both && (empty(ask.request_bytes) || empty(ask.response_bytes)) {
        return Err(Errno(libc::EINVAL));
    }
    // A size that the test has no use for is passed over, as a real netserver does.
    let used = |size: Option<u32>, is_used: bool| size.filter(|_| is_used);
    let datagrams = [
        used(ask.request_bytes, ask.is_transactions()),
        used(ask.response_bytes, ask.is_transactions()),
        used(ask.send_bytes, ask.server_sends && !ask.is_transactions()),
    ];
    if ask.carrier == Carrier::Udp && datagrams.into_iter().flatten().any(|bytes| bytes > LARGEST_DATAGRAM) {
        return Err(Errno(libc::EMSGSIZE));
    }
    Ok(())
}

fn open(ask: &Ask, control: Option<SocketAddr>, gate: &Gate) -> Result<Socket, Errno> {
    let local = local_address(ask, control)?;
    let (kind, protocol) = match ask.carrier {
        Carrier::Udp => (Type::DGRAM, Protocol::UDP),
        _ => (Type::STREAM, Protocol::TCP),
    };
    let socket = Socket::new(Domain::for_address(local), kind, Some(protocol))?;
    if kind == Type::STREAM {
        // For datagrams it would let two tests have one port.
        socket.set_reuse_address(true)?;
    }
    set_options(&socket, ask, local)?;
    gate.guard(&socket)?;
    socket.bind(&SockAddr::from(local))?;
    socket::set_glance(&socket)?;
    if kind == Type::STREAM {
        socket.listen(BACKLOG.max(128) as i32)?;
    }
    Ok(socket)
}

/// Returns the address of the data socket: the one asked for, or any of the family asked for. An address of one link
/// alone is on the link of the control connection.
fn local_address(ask: &Ask, control: Option<SocketAddr>) -> Result<SocketAddr, Errno> {
    let speaks_four = control.is_none_or(|control| control.ip().to_canonical().is_ipv4());
    let six = match ask.family {
        Family::V6 => true,
        Family::Unspecified => ask.server_address.map_or(!speaks_four, |address| address.is_ipv6()),
        Family::V4 | Family::Rds => false,
    };
    match ask.server_address {
        Some(address) if address.is_ipv6() != six => Err(Errno(libc::EAFNOSUPPORT)),
        Some(IpAddr::V6(address)) => {
            let scope = match control {
                Some(SocketAddr::V6(control)) if address.is_unicast_link_local() => control.scope_id(),
                _ => 0,
            };
            Ok(SocketAddrV6::new(address, ask.data_port, 0, scope).into())
        }
        Some(address) => Ok(SocketAddr::new(address, ask.data_port)),
        None if six => Ok(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), ask.data_port)),
        None => Ok(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), ask.data_port)),
    }
}

/// Sets what was asked for, before the socket is bound: connections inherit it from the listener.
fn set_options(socket: &Socket, ask: &Ask, local: SocketAddr) -> Result<(), Errno> {
    let stream = ask.carrier == Carrier::Tcp;
    let tuning = Tuning {
        keepalive: ask.flags.has(Flags::KEEPALIVE),
        link_only: !ask.flags.has(Flags::ROUTE),
        priority: ask.priority,
        ..Tuning::default()
    };
    tuning.apply(socket, local)?;
    if let Some(bytes) = ask.send_buffer {
        socket.set_send_buffer_size(bytes.min(i32::MAX as u32) as usize)?;
    }
    if let Some(bytes) = ask.receive_buffer {
        socket.set_recv_buffer_size(bytes.min(i32::MAX as u32) as usize)?;
    }
    if let Some(tos) = ask.tos {
        let tos = u8::try_from(tos).map_err(|_| Errno(libc::EINVAL))?;
        option::set_type_of_service(socket, local.is_ipv6(), tos)?;
    }
    if stream && ask.flags.has(Flags::NODELAY) {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(name) = ask.congestion.as_ref().filter(|_| stream) {
        // One that this host has not is no reason for no test: the results say which one the connection had.
        let _passed_over = socket.set_tcp_congestion(name.as_bytes());
    }
    let set = |level, name, value| option::set_int(socket.as_fd(), level, name, value);
    if stream && ask.flags.has(Flags::DEFER_ACCEPT) {
        set(libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 30)?;
    }
    if stream && ask.flags.has(Flags::FAST_OPEN) {
        set(libc::IPPROTO_TCP, libc::TCP_FASTOPEN, BACKLOG as i32)?;
    }
    if !stream && ask.flags.has(Flags::NO_CHECKSUM) {
        set(libc::SOL_SOCKET, libc::SO_NO_CHECK, 1)?;
    }
    if ask.flags.has(Flags::PATH_MTU) {
        if local.is_ipv6() {
            set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
        } else {
            set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
        }
    }
    Ok(())
}

/// Bytes of one call each way, and of the socket's buffers.
struct Sizes {
    send: Option<u32>,
    receive: Option<u32>,
    send_buffer: u32,
    receive_buffer: u32,
}

impl Sizes {
    fn of(ask: &Ask, socket: &Socket) -> Result<Self, Errno> {
        let buffer = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let (send_buffer, receive_buffer) = (buffer(socket.send_buffer_size()?), buffer(socket.recv_buffer_size()?));
        let largest = if ask.carrier == Carrier::Udp { LARGEST_DATAGRAM } else { u32::MAX };
        let (send, receive) = if ask.is_transactions() {
            (ask.response_bytes.filter(|_| ask.server_sends), ask.request_bytes.filter(|_| ask.server_receives))
        } else {
            let own = |sends: bool, asked: Option<u32>, default: u32| {
                sends.then(|| asked.filter(|bytes| *bytes > 0).unwrap_or(default))
            };
            (
                own(ask.server_sends, ask.send_bytes, send_buffer.min(largest)),
                own(ask.server_receives, ask.receive_bytes, receive_buffer),
            )
        };
        Ok(Self { send, receive, send_buffer, receive_buffer })
    }
}

/// Returns the buffers of one direction. Their number is the one asked for, as far as half of a test's memory goes; the
/// client receives it.
fn ring(size: Option<u32>, asked: &Asked, limits: &Limits) -> Shape {
    let size = size.unwrap_or(1).max(1) as usize;
    let shape = Shape { size, buffers: 1, alignment: asked.alignment.max(1) as usize, offset: asked.offset as usize };
    let room = shape.memory().map_or(1, |memory| limits.test_bytes / 2 / memory.max(1) as u64);
    let buffers = u64::from(asked.buffers.unwrap_or(1)).clamp(1, room.max(1));
    Shape { buffers: buffers as usize, ..shape }
}

fn ready(ask: &Ask, socket: &Socket, sizes: &Sizes, sends: Shape, receives: Shape) -> Result<Ready, Errno> {
    let local = socket.local_addr()?.as_socket().ok_or(Errno(libc::EAFNOSUPPORT))?;
    let measures = ask.flags.has(Flags::MEASURE_CPU) && Snapshot::take().is_some();
    let kept = |flag: Flags, on: bool| if on && ask.flags.has(flag) { flag } else { Flags::NONE };
    let stream = ask.carrier == Carrier::Tcp;
    let flags = kept(Flags::NODELAY, stream)
        .with(kept(Flags::SENDFILE, sends_files(ask)))
        .with(kept(Flags::MEASURE_CPU, measures));
    Ok(Ready {
        receive_buffer: Some(sizes.receive_buffer),
        receive_bytes: sizes.receive,
        receive_buffers: sizes.receive.map(|_| receives.buffers as u32),
        send_buffer: Some(sizes.send_buffer),
        send_bytes: sizes.send,
        send_buffers: sizes.send.map(|_| sends.buffers as u32),
        flags,
        cpu_rate: measures.then_some(TICKS_PER_SECOND as f32),
        pacing: ask.pacing.filter(|pacing| ask.server_sends && pacing.burst > 0 && pacing.interval_us > 0),
        priority: ask.priority,
        tos: ask.tos,
        ..Ready::at(local.port())
    })
}

/// Returns true where this test's data come from a file: a stream that we send, where that was requested.
pub fn sends_files(ask: &Ask) -> bool {
    ask.flags.has(Flags::SENDFILE) && ask.carrier == Carrier::Tcp && ask.server_sends && !ask.server_receives
}
