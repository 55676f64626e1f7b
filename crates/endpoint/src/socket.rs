//! Opening sockets as a method asks, and reading back what they got.

pub mod echo;
pub mod envelope;
pub mod envelopes;
pub mod icmp;
pub mod many;
pub mod multicast;
pub mod option;
pub mod own;
pub mod queue;
pub mod raw;
pub mod report;
pub mod tuning;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, BorrowedFd};

use measure::method::{SocketOptions, SourcePorts, Waiting};
use measure::unit::{Instant, Nanos};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, getrlimit, setrlimit};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};
use crate::stop::{GLANCE, Stop};

/// A new TCP socket towards `peer` with all options set that must stand before connecting.
pub fn tcp(peer: SocketAddr, options: &SocketOptions) -> Result<Socket, EndpointError> {
    open(peer, Type::STREAM, Protocol::TCP, "TCP", options)
}

/// The same over several paths (MPTCP, RFC 8684), where this kernel has it. Where the peer does not have it, the
/// connection is plain TCP: [`option::is_multipath`] reports which.
pub fn multipath_tcp(peer: SocketAddr, options: &SocketOptions) -> Result<Socket, EndpointError> {
    open(peer, Type::STREAM, Protocol::from(libc::IPPROTO_MPTCP), "MPTCP", options)
}

/// A UDP socket connected to `peer`: the kernel drops packets of others, and reports ICMP errors.
pub fn udp(peer: SocketAddr, options: &SocketOptions) -> Result<Socket, EndpointError> {
    let socket = udp_unconnected(peer, options)?;
    socket.connect(&towards(&socket, peer)).map_err(|cause| EndpointError::new(Step::ConnectData, peer, cause))?;
    Ok(socket)
}

/// A socket of another protocol for `peer`, of which only the IP version counts yet: `name` says which it is, `number` is
/// that of the IP protocol.
pub fn other(
    peer: SocketAddr,
    kind: Type,
    number: i32,
    name: &'static str,
    options: &SocketOptions,
) -> Result<Socket, EndpointError> {
    let socket = Socket::new(Domain::for_address(peer), kind, Some(Protocol::from(number)))
        .map_err(|cause| EndpointError::new(Step::OpenSocket(name), peer, cause).with_hint(Hint::NoProtocol(name)))?;
    prepare(&socket, peer, options)?;
    Ok(socket)
}

/// A UDP socket for `peer`, of which only the IP version counts yet.
pub fn udp_unconnected(peer: SocketAddr, options: &SocketOptions) -> Result<Socket, EndpointError> {
    let socket = open(peer, Type::DGRAM, Protocol::UDP, "UDP", options)?;
    option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
    Ok(socket)
}

fn open(
    peer: SocketAddr,
    kind: Type,
    protocol: Protocol,
    name: &'static str,
    options: &SocketOptions,
) -> Result<Socket, EndpointError> {
    let socket = Socket::new(Domain::for_address(peer), kind, Some(protocol))
        .map_err(|cause| EndpointError::new(Step::OpenSocket(name), peer, cause))?;
    prepare(&socket, peer, options)?;
    if kind == Type::STREAM {
        if options.nodelay {
            set(peer, "TCP_NODELAY", || socket.set_tcp_nodelay(true))?;
        }
        if let Some(name) = &options.congestion {
            set(peer, "congestion control", || socket.set_tcp_congestion(name.as_bytes()))?;
        }
    }
    Ok(socket)
}

/// An error where no TCP socket of ours may have this congestion control: better told before a test than by its first socket.
pub fn check_congestion(name: &str) -> Result<(), EndpointError> {
    let granted = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
        .and_then(|socket| socket.set_tcp_congestion(name.as_bytes()));
    granted.map_err(|cause| EndpointError::new(Step::Set("congestion control"), "this host", cause))
}

/// Options that any kind of socket has: buffers, type of service, interface, local address.
pub fn prepare(socket: &Socket, peer: SocketAddr, options: &SocketOptions) -> Result<(), EndpointError> {
    if let Some(bytes) = options.send_buffer_bytes {
        set(peer, "send buffer", || socket.set_send_buffer_size(bytes.0 as usize))?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        set(peer, "receive buffer", || socket.set_recv_buffer_size(bytes.0 as usize))?;
    }
    if let Some(tos) = options.tos {
        set(peer, "type of service", || option::set_type_of_service(socket, peer.is_ipv6(), tos))?;
    }
    if let Some(interface) = &options.interface {
        set(peer, "interface", || socket.bind_device(Some(interface.as_bytes())))?;
    }
    if let Some(local) = options.bind.filter(|local| local.is_ipv4() != peer.is_ipv4()) {
        let cause = std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            format!("{local} and {} are of different IP versions", peer.ip()),
        );
        return Err(EndpointError::new(Step::Set("local address"), peer, cause).with_hint(Hint::LocalVersion));
    }
    match options.source_ports {
        Some(ports) => bind_port(socket, peer, options.bind.unwrap_or_else(|| any(peer)), ports),
        None => options.bind.map_or(Ok(()), |local| {
            socket.bind(&SockAddr::from(beside(local, 0, peer))).map_err(|cause| {
                EndpointError::new(Step::Set("local address"), peer, cause).with_hint(Hint::NotOfThisHost { local })
            })
        }),
    }
}

/// Binds to the first of `ports` that is free.
fn bind_port(socket: &Socket, peer: SocketAddr, local: IpAddr, ports: SourcePorts) -> Result<(), EndpointError> {
    if socket.r#type().is_ok_and(|kind| kind == Type::STREAM) {
        // The port of a connection that was closed a moment ago is taken over (TIME_WAIT).
        set(peer, "source port", || socket.set_reuse_address(true))?;
    }
    let mut taken = None;
    for port in ports.first..=ports.last {
        match socket.bind(&SockAddr::from(beside(local, port, peer))) {
            Ok(()) => {
                // An option that the kernel refuses is absent in the record of the socket.
                drop(option::keep_flow(socket.as_fd(), peer, port));
                return Ok(());
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => taken = Some(cause),
            Err(cause) => {
                let error = EndpointError::new(Step::Set("source port"), peer, cause);
                return Err(error.with_hint(Hint::NotOfThisHost { local }));
            }
        }
    }
    let cause = taken.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into());
    Err(EndpointError::new(Step::Set("source port"), peer, cause).with_hint(Hint::PortsTaken { ports }))
}

/// The address to connect to: it names the flow label that the socket keeps.
pub fn towards(socket: &Socket, peer: SocketAddr) -> SockAddr {
    let label = socket.local_addr().ok().and_then(|local| label_of(socket.as_fd(), &local));
    match (peer, label) {
        (SocketAddr::V6(peer), Some(label)) => {
            SocketAddrV6::new(*peer.ip(), peer.port(), label.to_be(), peer.scope_id()).into()
        }
        _ => peer.into(),
    }
}

/// The flow label that a socket at `local` keeps; absent over IPv4, and where the kernel draws one.
pub fn label_of(socket: BorrowedFd<'_>, local: &SockAddr) -> Option<u32> {
    let port = local.as_socket_ipv6()?.port();
    option::keeps_label(socket).then(|| option::flow_label(port))
}

/// Our own address towards `peer`: a link-local one is of the interface that the peer's is of.
pub fn beside(local: IpAddr, port: u16, peer: SocketAddr) -> SocketAddr {
    match (local, peer) {
        (IpAddr::V6(local), SocketAddr::V6(peer)) if local.is_unicast_link_local() => {
            SocketAddrV6::new(local, port, 0, peer.scope_id()).into()
        }
        _ => SocketAddr::new(local, port),
    }
}

fn set(peer: SocketAddr, name: &'static str, apply: impl FnOnce() -> std::io::Result<()>) -> Result<(), EndpointError> {
    apply().map_err(|cause| EndpointError::new(Step::Set(name), peer, cause))
}

/// Sets how this end waits on `socket`.
pub fn set_waiting(socket: &Socket, peer: impl std::fmt::Display, waiting: Waiting) -> Result<(), EndpointError> {
    if let Waiting::BusyPoll { micros } = waiting {
        option::set_busy_poll(socket, micros).map_err(|cause| {
            EndpointError::new(Step::Set("kernel busy poll"), peer, cause).with_hint(Hint::NoBusyPoll)
        })?;
    }
    Ok(())
}

/// Makes blocking calls return every [`GLANCE`], so that the thread can look whether to go on.
pub fn set_glance(socket: &Socket) -> std::io::Result<()> {
    socket.set_read_timeout(Some(GLANCE.into()))?;
    socket.set_write_timeout(Some(GLANCE.into()))
}

/// Connects within `patience`; `false` when `stop` asked first. The socket blocks again afterwards.
pub fn connect(socket: &Socket, peer: SocketAddr, patience: Nanos, stop: &Stop) -> std::io::Result<bool> {
    let give_up = Monotonic::now().after(patience);
    socket.set_nonblocking(true)?;
    match socket.connect(&towards(socket, peer)) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
            if !connected(socket, give_up, stop)? {
                return Ok(false);
            }
        }
        Err(error) => return Err(error),
    }
    socket.set_nonblocking(false)?;
    Ok(true)
}

fn connected(socket: &Socket, give_up: Instant, stop: &Stop) -> std::io::Result<bool> {
    loop {
        let now = Monotonic::now();
        let left = give_up.since(now).unwrap_or_default().min(GLANCE);
        let timeout = rustix::fs::Timespec { tv_sec: 0, tv_nsec: left.0 as i64 };
        let mut set = [PollFd::new(socket, PollFlags::OUT)];
        if poll(&mut set, Some(&timeout)).is_ok_and(|ready| ready > 0) {
            return socket.take_error()?.map_or(Ok(true), Err);
        }
        if stop.requested() {
            return Ok(false);
        }
        if now >= give_up {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
    }
}

/// Lets this process have as many descriptors open as the system grants it: a connection is one, and the usual limit
/// of 1,024 is kept for programs that use `select`. Best effort: without it fewer connections fit.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        let _raised = setrlimit(Resource::Nofile, limit);
    }
}

/// The wildcard address of the same IP version.
pub fn any(like: SocketAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}
