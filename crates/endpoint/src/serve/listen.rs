//! Sockets that servers listen with, and where they are bound.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::gate::Gate;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};

/// Most connections that wait to be accepted, where the system allows this number.
pub const BACKLOG: i32 = 4_096;

/// A socket for `address` that is not bound yet, for those that `gate` lets through. The wildcard of IPv6 serves IPv4 too.
pub fn unbound(address: SocketAddr, kind: Type, gate: &Gate) -> io::Result<Socket> {
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
    let socket = of_protocol(address, kind, protocol)?;
    gate.guard(&socket)?;
    Ok(socket)
}

fn of_protocol(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    Ok(socket)
}

/// Has a socket of connections listen at `address`.
pub fn listen(socket: Socket, address: SocketAddr) -> io::Result<Socket> {
    // Else a server could not be started again while what it closed itself is kept (TIME_WAIT).
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(BACKLOG)?;
    // A client may go between the wait for it and the call that takes it.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A socket that listens for connections at `address` of those that `gate` lets through, as the system sets it.
pub fn listener(address: SocketAddr, gate: &Gate) -> Result<Socket, EndpointError> {
    let listening = unbound(address, Type::STREAM, gate).and_then(|socket| listen(socket, address));
    listening.map_err(|cause| EndpointError::new(Step::Listen, address, cause))
}

/// The same for connections over several paths (MPTCP, RFC 8684), and for those of plain TCP, of whomever: the kernel applies no filter of
/// addresses to the former.
///
/// # Errors
/// A kernel without MPTCP, and an address that cannot be had.
pub fn multipath_listener(address: SocketAddr) -> Result<Socket, EndpointError> {
    let listening = of_protocol(address, Type::STREAM, Protocol::from(libc::IPPROTO_MPTCP)).map_err(|cause| {
        let is_missing = matches!(cause.raw_os_error(), Some(libc::EPROTONOSUPPORT | libc::ENOPROTOOPT | libc::EINVAL));
        let error = EndpointError::new(Step::Listen, address, cause);
        if is_missing { error.with_hint(Hint::NoProtocol("MPTCP")) } else { error }
    })?;
    listen(listening, address).map_err(|cause| EndpointError::new(Step::Listen, address, cause))
}

/// Where sockets are bound, ports filled in.
pub fn addresses<'a>(sockets: impl IntoIterator<Item = &'a Socket>) -> Vec<SocketAddr> {
    sockets.into_iter().filter_map(|socket| socket.local_addr().ok()?.as_socket()).collect()
}
