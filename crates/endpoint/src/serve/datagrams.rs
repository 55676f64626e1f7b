//! Servers that answer datagrams, without a session of the system for each sender: a socket and a thread for each address.
//!
//! Nothing from the network ends one, and nothing of it is woken while nothing comes. The answer to a datagram leaves from the
//! address that it was sent to, which has to be one host's.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::thread;

use measure::unit::Instant;
use socket2::{SockAddr, Socket, Type};

use super::gate::Gate;
use super::{SHORTAGE, listen};
use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::socket::queue::Addressed;
use crate::socket::{option, queue};
use crate::stop::{GLANCE, Stop};

/// Flags of the socket: the kernel's stamps of arrivals.
const ARRIVALS: u32 = libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_RX_SOFTWARE;

/// A socket for `address` that is not bound yet, for those that `gate` lets through. With each datagram come its destination, and
/// the kernel's stamp of its arrival where there are any.
pub fn unbound(address: SocketAddr, gate: &Gate) -> Result<Socket, EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let socket = listen::unbound(address, Type::DGRAM, gate)
        .map_err(|cause| EndpointError::new(Step::OpenSocket("UDP"), address, cause))?;
    option::tell_destination(socket.as_fd(), address.is_ipv6()).map_err(fail)?;
    // Without stamps of the kernel its times are those of this program's thread, which is an answer too.
    let _refused = option::set_timestamping(socket.as_fd(), ARRIVALS);
    socket.set_read_timeout(Some(GLANCE.into())).map_err(fail)?;
    Ok(socket)
}

/// Binds a socket; returns it with its address, port filled in.
pub fn bind(socket: Socket, address: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
    socket.bind(&SockAddr::from(address))?;
    let bound = socket.local_addr()?.as_socket().unwrap_or(address);
    Ok((socket, bound))
}

/// Has `body` attend to each socket, on a thread of this name, until it returns.
pub fn on_threads(
    sockets: &[(Socket, SocketAddr)],
    name: &str,
    stop: &Stop,
    body: impl Fn(&Socket, SocketAddr) + Sync,
) -> Result<(), EndpointError> {
    let body = &body;
    thread::scope(|scope| {
        for (socket, address) in sockets {
            let thread = thread::Builder::new().name(name.into()).spawn_scoped(scope, move || body(socket, *address));
            if let Err(cause) = thread {
                stop.request();
                return Err(EndpointError::new(Step::StartThread, "this host", cause));
            }
        }
        Ok(())
    })
}

/// Hands each datagram to `take` as it comes, in a buffer of this size whose further octets are what was there before, until
/// `stop`. Those that are to a group or to all hosts of a link, or claim to come from there, are passed over.
pub fn attend(
    socket: &Socket,
    size: usize,
    stop: &Stop,
    mut take: impl FnMut(&mut [u8], &Addressed, SocketAddr, IpAddr),
) {
    let mut buffer = vec![0; size];
    while !stop.requested() {
        match queue::receive_from(socket.as_fd(), &mut buffer) {
            Ok(came) => {
                if let (Some(from), Some(to)) = (came.from, came.to)
                    && is_one_host(from.ip())
                    && is_one_host(to)
                {
                    take(&mut buffer, &came, from, to);
                }
            }
            // Nothing yet: it is waited for as long as it takes.
            Err(libc::EAGAIN) => {
                stop.wait_or_input(socket, Instant::NEVER);
            }
            // An ICMP error about an answer; the call that reports it takes it off.
            Err(libc::EINTR | libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH) => {}
            Err(_) => {
                stop.wait(Monotonic::now().after(SHORTAGE));
            }
        }
    }
}

fn is_one_host(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => !address.is_multicast() && !address.is_broadcast() && !address.is_unspecified(),
        IpAddr::V6(address) => !address.is_multicast() && !address.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("192.0.2.2", true; "a host")]
    #[test_case("::ffff:192.0.2.2", true; "a host on a socket of v6")]
    #[test_case("224.0.0.1", false; "a group")]
    #[test_case("255.255.255.255", false; "all of a link")]
    #[test_case("::ffff:255.255.255.255", false; "all of a link on a socket of v6")]
    #[test_case("ff02::1", false; "a group of v6")]
    #[test_case("0.0.0.0", false; "nobody")]
    fn an_address_is_one_host_s(address: &str, is_one: bool) {
        assert_eq!(is_one_host(address.parse().unwrap()), is_one);
    }
}
