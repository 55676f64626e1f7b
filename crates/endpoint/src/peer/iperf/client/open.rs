//! Opening streams, and the first message over each.

use std::io;
use std::net::SocketAddr;

use measure::method::SocketOptions;
use measure::unit::Nanos;
use protocol::iperf::ack::{self, Ack};
use protocol::iperf::ask::{Ask, Framing};
use protocol::iperf::datagram::{self, HEAD};
use protocol::iperf::settings::Amount;
use protocol::iperf::time::Stamp;
use protocol::iperf::wish::{Back, Quantity};
use socket2::{SockAddr, Socket};

use super::{Opened, Test};
use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::peer::iperf::framed::Content;
use crate::peer::iperf::tcp::{self, HEADER, wall};
use crate::socket::{self, any};
use crate::stop::Stop;
use crate::tcp_info::TcpInfo;

/// Opens one stream; nothing is said over it.
pub fn open(test: &Test, stream: u32, stop: &Stop) -> Result<(Socket, Opened), EndpointError> {
    let peer = test.server;
    let options = SocketOptions { bind: None, ..test.options().clone() };
    let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, peer, cause);
    let socket = if test.datagrams { socket::udp_unconnected(peer, &options)? } else { socket::tcp(peer, &options)? };
    test.tuning.apply(&socket, peer)?;
    bind(&socket, test, stream)?;
    let began = Monotonic::now();
    if test.datagrams {
        socket.connect(&SockAddr::from(peer)).map_err(fail)?;
    } else if !socket::connect(&socket, peer, test.connect, stop).map_err(|cause| refused(peer, cause))? {
        return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped));
    }
    let connecting = if test.datagrams { Nanos::ZERO } else { Monotonic::now().since(began).unwrap_or_default() };
    socket::set_waiting(&socket, peer, test.method.waiting)?;
    socket::set_glance(&socket).map_err(fail)?;
    let local = socket.local_addr().ok().and_then(|local| local.as_socket());
    let local = local.unwrap_or_else(|| SocketAddr::new(any(peer), 0));
    let tcp = TcpInfo::of(&socket).ok().map(|info| info.glance());
    let opened = Opened { stream, local, remote: peer, connecting, facts: socket_facts(&socket), tcp };
    Ok((socket, opened))
}

fn refused(peer: SocketAddr, cause: io::Error) -> EndpointError {
    let refused = cause.kind() == io::ErrorKind::ConnectionRefused;
    let error = EndpointError::new(Step::ConnectData, peer, cause);
    if refused { error.with_hint(Hint::NoIperfServer) } else { error }
}

fn bind(socket: &Socket, test: &Test, stream: u32) -> Result<(), EndpointError> {
    let address = test.options().bind;
    if address.is_none() && test.local_port == 0 {
        return Ok(());
    }
    let port = match test.local_port {
        0 => 0,
        port => u16::try_from(u32::from(port) + stream).unwrap_or(0),
    };
    let local = SocketAddr::new(address.unwrap_or_else(|| any(test.server)), port);
    // A connection that was closed just now holds its port no longer; of datagrams two tests would share it.
    let free = if test.datagrams { Ok(()) } else { socket.set_reuse_address(true) };
    free.and_then(|()| socket.bind(&SockAddr::from(local))).map_err(|cause| {
        EndpointError::new(Step::Set("local address"), test.server, cause).with_hint(Hint::LocalAddress { local })
    })
}

/// Returns the request to the server; `back` with the port that we listen at.
pub fn ask(test: &Test, back: Option<Back>) -> Ask {
    let amount = match test.quantity {
        Quantity::Time(time) => Amount::time(time),
        Quantity::Bytes(bytes) => Amount::bytes(bytes),
    };
    Ask {
        way: test.way,
        back,
        port: test.server.port(),
        amount,
        pace: test.rate(),
        buffer: test.call_bytes,
        streams: test.streams,
        trip_times: test.trip_times,
        detects: test.detects,
        silent: test.silent,
        service: test.options().tos.unwrap_or(0).into(),
        prefetch: test.tuning.unsent_bytes,
        quick_acks: test.tuning.quick_acks,
        frames: test.frames.map(|frames| match frames.content {
            Content::Varying(_, layout) => Framing::Isochronous(layout),
            Content::Fixed(octets) => {
                Framing::Periodic { micro_hertz: (frames.per_second * 1e6).round() as u64, octets }
            }
        }),
    }
}

/// Sends the header of the test over a connection. Returns its length in octets, and the server's acknowledgement where
/// one is awaited.
pub fn introduce(test: &Test, socket: &Socket, ask: &Ask, stop: &Stop) -> Result<(usize, Option<Ack>), EndpointError> {
    if test.plain {
        return Ok((0, None));
    }
    let fail = |cause: io::Error| EndpointError::new(Step::Agree, test.server, cause);
    let header = ask.first(Stamp::of(wall()));
    let header = if let Some(key) = &test.key { header.showing(key.as_bytes()) } else { header };
    let header = header.encode();
    tcp::send_all(socket, &header, stop).map_err(fail)?;
    let ack = if test.detects { acknowledgement(socket, stop) } else { None };
    Ok((header.len(), ack))
}

/// Returns the server's acknowledgement of a header, where it comes in time.
fn acknowledgement(socket: &Socket, stop: &Stop) -> Option<Ack> {
    let give_up = Monotonic::now().after(HEADER);
    let mut octets = Vec::new();
    for needs in [8, ack::SHORT, ack::LONG] {
        tcp::take(socket, &mut octets, needs, give_up, stop).ok()?;
        if let Some((ack, _)) = Ack::read(&octets).ok()? {
            return Some(ack);
        }
    }
    None
}

/// The datagrams of a flow that we send: each one, and the first where that is longer.
pub fn datagrams(test: &Test, ask: &Ask) -> (Vec<u8>, Option<Vec<u8>>) {
    let content = |length: usize| {
        let mut datagram = vec![0; length.max(HEAD)];
        if test.plain {
            protocol::iperf::fill(&mut datagram, 0);
            return datagram;
        }
        let zeros = datagram::LONGEST.min(datagram.len());
        protocol::iperf::fill(&mut datagram, 0);
        datagram[..zeros].fill(0);
        ask.opening(Stamp::of(wall())).write(&mut datagram);
        datagram
    };
    let header = if test.trip_times { datagram::LONGEST } else { datagram::USUAL };
    let first = (!test.plain && test.size() < header).then(|| content(header));
    (content(test.size()), first)
}
