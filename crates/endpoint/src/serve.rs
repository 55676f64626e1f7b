//! One way to be a server: sockets that listen, who is let in, how many at once, a thread for each, and the end.
//!
//! Whatever waits here waits for events: a server that nobody uses is not woken. What is said over a connection is no
//! matter of this room: a peer brings that, with its bounds and its words for those that are turned away.

pub mod open_sockets;
pub mod places;
pub mod pool;

use std::io;
use std::net::SocketAddr;

use measure::unit::Nanos;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::socket;
use crate::stop::Stop;

/// Connections that wait to be accepted, where the system allows so many.
pub const BACKLOG: i32 = 4_096;
/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
pub const SHORTAGE: Nanos = Nanos::millis(20);
/// Of one listener so many are taken before the next has its turn.
const TURN: usize = 64;

/// The end of a server that is not running yet, ready to be waited for; and as many descriptors as this process may have:
/// each client takes one.
pub fn prepare() -> Result<Stop, EndpointError> {
    // Best effort: with fewer descriptors fewer clients are served.
    socket::raise_descriptor_limit();
    let stop = Stop::default();
    let fail = |cause: io::Error| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
    stop.event().map_err(fail)?;
    Ok(stop)
}

/// A socket for `address` that is not bound yet. The wildcard of IPv6 serves IPv4 too.
pub fn unbound(address: SocketAddr, kind: Type) -> io::Result<Socket> {
    let protocol = if kind == Type::STREAM { Protocol::TCP } else { Protocol::UDP };
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

/// A socket that listens for connections at `address`, as the system sets it.
pub fn listener(address: SocketAddr) -> Result<Socket, EndpointError> {
    let listening = unbound(address, Type::STREAM).and_then(|socket| listen(socket, address));
    listening.map_err(|cause| EndpointError::new(Step::Listen, address, cause))
}

/// Where sockets are bound, ports filled in.
pub fn addresses<'a>(sockets: impl IntoIterator<Item = &'a Socket>) -> Vec<SocketAddr> {
    sockets.into_iter().filter_map(|socket| socket.local_addr().ok()?.as_socket()).collect()
}

/// Who has connected, and from where; or why nobody can be let in at the moment.
pub type Arrival = io::Result<(Socket, SocketAddr)>;

/// Takes those who connect to any of `listeners`, which it names by their places, until `stop`.
///
/// # Errors
/// None for a `stop` that [`prepare`] made.
pub fn accept<'a>(
    listeners: impl IntoIterator<Item = &'a Socket>,
    stop: &Stop,
    mut arrived: impl FnMut(usize, Arrival),
) -> Result<(), EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
    let listeners: Vec<&Socket> = listeners.into_iter().collect();
    let mut set: Vec<PollFd<'_>> = listeners.iter().map(|listener| PollFd::new(*listener, PollFlags::IN)).collect();
    set.push(PollFd::from_borrowed_fd(stop.event().map_err(fail)?, PollFlags::IN));
    while !stop.requested() {
        // An interruption ends the wait early, which is allowed for.
        let _woken = poll(&mut set, None);
        for (place, listener) in listeners.iter().enumerate() {
            if !set[place].revents().is_empty() && !take(listener, TURN, stop, &mut |arrival| arrived(place, arrival)) {
                stop.wait(Monotonic::now().after(SHORTAGE));
            }
        }
    }
    Ok(())
}

/// Takes those who had connected to `listener` when it was to stop.
pub fn accept_rest(listener: &Socket, mut arrived: impl FnMut(Arrival)) {
    take(listener, BACKLOG as usize, &Stop::default(), &mut arrived);
}

/// Takes `most` of those that wait; `false`: no more can be taken for want of something.
fn take(listener: &Socket, most: usize, stop: &Stop, arrived: &mut dyn FnMut(Arrival)) -> bool {
    for _ in 0..most {
        if stop.requested() {
            break;
        }
        match listener.accept() {
            Ok((connection, from)) => {
                // Of another family nobody comes to a socket of IP.
                if let Some(from) = from.as_socket() {
                    arrived(Ok((connection, from)));
                }
            }
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::AGAIN) => break,
                Some(errno) if is_of_the_client(errno) => {}
                _ => {
                    arrived(Err(error));
                    return false;
                }
            },
        }
    }
    true
}

/// Whether the client has gone again: the errors of its connection are told by the call that takes it.
fn is_of_the_client(errno: Errno) -> bool {
    let gone = [Errno::CONNABORTED, Errno::INTR, Errno::PROTO, Errno::NETDOWN, Errno::NETUNREACH];
    gone.contains(&errno) || [Errno::HOSTDOWN, Errno::HOSTUNREACH, Errno::NOPROTOOPT, Errno::OPNOTSUPP].contains(&errno)
}
