//! A client's sockets: made, bound, connected or joined to a group.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use measure::method::{Carrier, SocketOptions};
use protocol::sockperf::message::{Flags, HEADER, Header};
use socket2::{SockAddr, Socket};

use super::{Buffers, Place, Test, flows};
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::socket::multicast;
use crate::socket::tuning::Tuning;
use crate::socket::{self, any, option};
use crate::stop::Stop;

/// Messages to each group before a test.
const WARM_UPS: usize = 2;

/// Makes the socket of a place, with all options set that must stand before it is connected, and binds it where that
/// was asked for.
pub fn open(test: &Test, place: &Place) -> Result<Socket, EndpointError> {
    let peer = place.address;
    // The address is bound together with the port.
    let options = SocketOptions { bind: None, ..test.method.socket.clone() };
    let socket = match place.carrier {
        Carrier::Tcp => socket::tcp(peer, &options)?,
        _ => socket::udp_unconnected(peer, &SocketOptions { nodelay: false, congestion: None, ..options })?,
    };
    let tuning = Tuning { pacing_bytes_per_s: test.options.pacing_bytes_per_s, ..Tuning::default() };
    tuning.apply(&socket, peer)?;
    let set = |name, result: io::Result<()>| result.map_err(|cause| EndpointError::new(Step::Set(name), peer, cause));
    if let Some(micros) = test.options.busy_poll_us {
        set("kernel busy poll", option::set_busy_poll(&socket, micros))?;
    }
    if test.options.reuse_address {
        set("SO_REUSEADDR", socket.set_reuse_address(true))?;
    }
    bind(&socket, test, place)?;
    Ok(socket)
}

/// A group's socket is always bound: replies to the group come to the port that the request came from.
fn bind(socket: &Socket, test: &Test, place: &Place) -> Result<(), EndpointError> {
    let (address, port, peer) = (test.method.socket.bind, test.local_port, place.address);
    if address.is_none() && port == 0 && !place.is_group() {
        return Ok(());
    }
    let local = SocketAddr::new(address.unwrap_or_else(|| any(peer)), port);
    socket.bind(&SockAddr::from(local)).map_err(|cause| {
        EndpointError::new(Step::Set("local address"), peer, cause).with_hint(Hint::LocalAddress { local })
    })
}

pub fn buffers(socket: &Socket) -> Buffers {
    // An open socket reports both.
    let (receive, send) = (socket.recv_buffer_size(), socket.send_buffer_size());
    Buffers {
        descriptor: socket.as_raw_fd(),
        receive_bytes: receive.unwrap_or_default(),
        send_bytes: send.unwrap_or_default(),
    }
}

/// Connects the socket of a place, or joins its group.
pub fn connect(test: &Test, socket: &Socket, place: &Place, stop: &Stop) -> Result<(), EndpointError> {
    let peer = place.address;
    let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, peer, cause);
    match place.carrier {
        Carrier::Tcp if !socket::connect(socket, peer, test.connect, stop).map_err(fail)? => {
            return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped));
        }
        Carrier::Tcp => {}
        _ if place.is_group() => join(test, socket, place)?,
        _ => socket.connect(&SockAddr::from(peer)).map_err(fail)?,
    }
    socket::set_waiting(socket, peer, test.method.waiting)?;
    socket::set_glance(socket).map_err(fail)
}

fn join(test: &Test, socket: &Socket, place: &Place) -> Result<(), EndpointError> {
    let group = place.address;
    let set = |name, result: io::Result<()>| result.map_err(|cause| EndpointError::new(Step::Set(name), group, cause));
    set("multicast group", multicast::join(socket, group.ip(), test.groups.receive, place.source))?;
    set("multicast interface", multicast::send_by(socket, group.is_ipv6(), &test.groups.outgoing))?;
    set("multicast group", multicast::hear_own_groups_alone(socket, group.is_ipv6()))
}

/// Sends the warm-up messages to a group before its test: number 0, and no answer.
pub fn warm_up(test: &Test, socket: &Socket, place: &Place) {
    if !test.groups.warm_up {
        return;
    }
    let asks = if test.method.traffic.load().is_none() { Flags::PONG_REQUEST } else { Flags::NONE };
    let mut message = flows::content(test);
    let longest = message.len().max(HEADER);
    message.resize(longest, 0);
    let length = u32::try_from(longest).unwrap_or(u32::MAX);
    Header { sequence: 0, flags: Flags::CLIENT.with(asks).with(Flags::WARMUP), length }.write(&mut message);
    let to = SockAddr::from(place.address);
    for _ in 0..WARM_UPS {
        // The test itself shows which messages do not get through.
        let _sent = socket.send_to_with_flags(&message, &to, libc::MSG_NOSIGNAL);
    }
}
