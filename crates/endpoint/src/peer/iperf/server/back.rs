//! Connections and flows that a client asks to be opened back to it (`-d`, `-r`): to its own address alone.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::method::SocketOptions;
use measure::served::RefusalReason;
use measure::throughput::Carried;
use measure::unit::Nanos;
use protocol::iperf::wish::{Pace, Way, Wish};
use socket2::Socket;

use super::Shared;
use super::connection::{self, Connection, PATIENCE};
use super::event::{Began, Ended, Event, Kind, Transport};
use crate::clock::Monotonic;
use crate::engine::stream::{self, Halt, Plan, Streamed};
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::peer::iperf::course::{self, Idle};
use crate::peer::iperf::datagram::{Aim, Flowing};
use crate::peer::iperf::tcp::{self, Writer};
use crate::peer::iperf::usual;
use crate::serve::book::Session;
use crate::socket;

/// Opens the streams that `wish` of test `asked` wants to `port` of the client, on a separate thread.
pub(super) fn open(shared: &Arc<Shared>, asked: u64, client: SocketAddr, port: u16, wish: Wish, transport: Transport) {
    if !shared.settings.connects_back {
        let why = "asks for a connection back, which this server makes none of";
        return shared.refuse(client, RefusalReason::Unable, &why);
    }
    if transport == Transport::Udp && !shared.settings.sends_datagrams {
        return shared.fail(Some(client), &"asks for datagrams back, and this server sends none");
    }
    let mut to = client;
    to.set_port(port);
    shared.send_on_thread(to, move |shared| {
        let done = match transport {
            Transport::Tcp => connect(shared, asked, to, &wish),
            Transport::Udp => flow(shared, asked, to, &wish),
        };
        if let Err(error) = done {
            shared.fail(Some(to), &error);
        }
    });
}

/// Our own default sockets: nothing of the client's decides how they are.
fn options(shared: &Shared) -> SocketOptions {
    let bytes = shared.settings.buffer_bytes.map(|bytes| measure::unit::Bytes(bytes.into()));
    SocketOptions { send_buffer_bytes: bytes, receive_buffer_bytes: bytes, ..SocketOptions::default() }
}

/// Pauses between tries to reach a client that refuses the connection it asked for: iperf asks before it listens (2.1.8 to itself fails by that
/// in 1 of 150 tests on a busy machine, and waits for ever).
const AGAIN: [Nanos; 7] = [
    Nanos::millis(10),
    Nanos::millis(20),
    Nanos::millis(40),
    Nanos::millis(80),
    Nanos::millis(160),
    Nanos::millis(320),
    Nanos::millis(640),
];

/// A connection to the client; `None`: the server stops.
fn reach(shared: &Shared, to: SocketAddr) -> Result<Option<Socket>, EndpointError> {
    let mut pauses = AGAIN.into_iter();
    loop {
        let socket = socket::tcp(to, &options(shared))?;
        let refused = match socket::connect(&socket, to, PATIENCE, &shared.hall.stop) {
            Ok(connected) => return Ok(connected.then_some(socket)),
            Err(cause) => cause,
        };
        let pause = pauses.next().filter(|_| refused.kind() == io::ErrorKind::ConnectionRefused);
        let Some(pause) = pause.filter(|_| !shared.hall.stop.requested()) else {
            return Err(EndpointError::new(Step::ConnectData, to, refused));
        };
        pace::sleep_until(Monotonic::now().after(pause));
    }
}

fn connect(shared: &Arc<Shared>, asked: u64, to: SocketAddr, wish: &Wish) -> Result<(), EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::ConnectData, to, cause);
    let Some(socket) = reach(shared, to)? else { return Ok(()) };
    socket::set_glance(&socket).map_err(fail)?;
    let test = shared.number();
    let session = begin(shared, to, false);
    let connection = Connection { socket: &socket, peer: to, shared, test, session };
    connection.began(Kind::Back(asked));
    let session = connection.session;
    let beside = socket.try_clone().map_err(fail)?;
    let quantity = wish.quantity;
    let writer = Writer::new(socket, connection::write_size(wish, shared), 0, course::bytes(quantity));
    connection::stream_out(writer, &Wish { way: Way::Upload, ..*wish }, (test, &session), shared);
    tcp::drain(&beside, PATIENCE, &shared.hall.stop, |_| {});
    Ok(())
}

/// Begins a separate session for a stream that is opened back.
fn begin(shared: &Shared, to: SocketAddr, datagrams: bool) -> Arc<Session> {
    Arc::new(shared.settings.door.book.begin(to, datagrams, || "a stream opened back to the client".to_owned()))
}

fn flow(shared: &Arc<Shared>, asked: u64, to: SocketAddr, wish: &Wish) -> Result<(), EndpointError> {
    let socket = socket::udp(to, &options(shared))?;
    let test = shared.number();
    let local = socket.local_addr().ok().and_then(|local| local.as_socket()).unwrap_or(to);
    let began = Began { test, transport: Transport::Udp, local, peer: to, kind: Kind::Back(asked), tcp: None };
    shared.telling.tell(&Event::Began(Box::new(began)));
    let session = begin(shared, to, true);
    send_flow(shared, (test, &session), (socket, Aim::Connected), wish, to.is_ipv6(), true);
    Ok(())
}

/// Octets of a datagram that a client asks for.
fn size(wish: &Wish, ipv6: bool) -> usize {
    let own = if ipv6 { usual::DATAGRAM_V6 } else { usual::DATAGRAM };
    wish.buffer.map_or(own, |bytes| bytes as usize).clamp(protocol::iperf::datagram::HEAD, 65_507)
}

/// Sends datagrams as `wish` says; at the end a report is asked for, or it is said once.
pub(super) fn send_flow(
    shared: &Shared,
    (test, session): (u64, &Session),
    (socket, aim): (Socket, Aim),
    wish: &Wish,
    ipv6: bool,
    reported: bool,
) {
    let mut datagram = vec![0; size(wish, ipv6)];
    protocol::iperf::fill(&mut datagram, 0);
    let length = datagram.len();
    let quantity = connection::bounded(wish.quantity, shared);
    let flowing = Flowing::new(socket, aim, datagram, None, course::bytes(quantity));
    // Without a rate a flow of datagrams would be as fast as the sender: theirs then has the usual one too.
    let pace = Some(wish.pace.unwrap_or(Pace::Bits(usual::RATE)));
    let idle = Idle::new(shared.settings.limits.idle.max(pace.map_or_else(Default::default, |pace| pace.gap(length))));
    let halt = |carried: &Carried| idle.is_over(carried);
    let interval = shared.settings.interval();
    let plan = Plan {
        intervals: course::KEPT,
        halt: Some(Halt(&halt)),
        ..course::sending(quantity, pace, length, interval, &shared.hall.stop)
    };
    let Streamed { mut way, metered, ended } = stream::run(flowing, &plan, shared.telling.outlet(test, true));
    let report = if reported { way.close(&shared.hall.stop) } else { None };
    if !reported {
        way.say_last();
    }
    let Some(count) = metered.streams.into_iter().next() else { return };
    session.moved(0, count.carried.bytes.0);
    session.ends(connection::end_of(ended, shared));
    let cut_short = connection::why(ended, shared);
    let (latency, bins, reads) = (None, None, None);
    shared.telling.ended(Ended { test, sends: true, count, cut_short, latency, bins, reads, report });
}
