//! UDP at the reflector: a first datagram with a session's token makes a flow known, which then has its own socket and
//! its own thread.
//!
//! The shared socket sends no answers. A flow's socket is bound to the same port and connected to the client, so that
//! the kernel sorts its datagrams out, and its replies leave from the very address the client sent to.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::method::{Carrier, Pattern};
use measure::unit::{Bytes, Instant};
use protocol::native::header::Header;
use protocol::native::mac::Direction;
use rustix::net::{RecvFlags, recvfrom};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::Shared;
use super::exchange::{Exchange, Held};
use super::session::Session;
use super::stream;
use crate::link::datagram::Datagram;
use crate::link::stamping::Stamping;
use crate::serve::book::Meter;
use crate::serve::places::Place;
use crate::socket::{self, option, queue};
use crate::thread::{CpuTime, cpu_for, settle};

/// The most that a socket can be asked for: the kernel takes a signed number and doubles it.
const LARGEST_BUFFER: usize = i32::MAX as usize / 2;

/// Datagrams that are looked for in a new flow's queue, of clients that began at the same moment.
const ASTRAY: usize = 256;

/// Sets options of the shared socket before it is bound: it delivers the local address of each datagram, and a call
/// that finds none returns.
pub fn prepare(socket: &Socket, ipv6: bool) -> std::io::Result<()> {
    socket.set_nonblocking(true)?;
    option::tell_destination(socket.as_fd(), ipv6)
}

/// Takes first datagrams until the reflector stops.
pub fn serve(shared_socket: &Socket, address: SocketAddr, shared: &Arc<Shared>) {
    let meter = shared.settings.book.meter();
    let mut buffer = vec![0; 65_536];
    while !shared.hall.stop.requested() {
        let Ok(first) = queue::receive_from(shared_socket.as_fd(), &mut buffer) else {
            shared.hall.stop.wait_or_input(shared_socket, Instant::NEVER);
            continue;
        };
        let Some(from) = first.from else { continue };
        let local = SocketAddr::new(first.to.unwrap_or(address.ip()), address.port());
        take_in(buffer[..first.length].to_vec(), from, local, (shared, meter.as_deref()));
    }
}

/// Takes the first datagram of a flow, sent by `from` to `local`, and those of others that arrived at its socket.
pub fn take_in(message: Vec<u8>, from: SocketAddr, local: SocketAddr, to: (&Arc<Shared>, Option<&Meter>)) {
    let mut waiting = vec![(message, from)];
    while let Some((message, from)) = waiting.pop() {
        waiting.extend(admit(message, from, local, to));
    }
}

/// True for a datagram from `from` that is authentic for another session than `session`, to whose flow's socket it came.
pub fn is_of_another(session: &Session, message: &[u8], from: SocketAddr, shared: &Shared) -> bool {
    named(message, shared).is_some_and(|(named, header)| {
        named.token != session.token && is_authentic(&named, &header, message) && is_of_client(&named, from)
    })
}

/// Begins the flow of a datagram. Returns those of others that arrived at its socket.
fn admit(
    message: Vec<u8>,
    from: SocketAddr,
    local: SocketAddr,
    (shared, meter): (&Arc<Shared>, Option<&Meter>),
) -> Vec<(Vec<u8>, SocketAddr)> {
    let Some((session, header)) = named(&message, shared) else {
        if let Some(session) = shared.sessions.of_stream(&message, from) {
            session.elsewhere.fetch_add(1, Ordering::Relaxed);
        } else if let Some(meter) = meter {
            meter.malformed(message.len() as u64);
        }
        return Vec::new();
    };
    if !is_authentic(&session, &header, &message) {
        session.malformed.fetch_add(1, Ordering::Relaxed);
        return Vec::new();
    }
    if !is_of_client(&session, from) {
        session.elsewhere.fetch_add(1, Ordering::Relaxed);
        return Vec::new();
    }
    // A sender that claims to be us would have us answer ourselves for ever.
    if as_family_of(from.ip(), local) == as_family_of(local.ip(), from) && from.port() == local.port() {
        return Vec::new();
    }
    // A flow that cannot be started (no thread, no socket) is tried again with the client's next datagram.
    start(&session, header.flow, local, from, message, shared).unwrap_or_default()
}

/// Returns the session that a datagram names; other datagrams have no answer at all.
fn named(message: &[u8], shared: &Shared) -> Option<(Arc<Session>, Header)> {
    let header = Header::read(message)?;
    let session = shared.sessions.named(&header.token)?;
    (session.mac.is_some() || session.token == header.token).then_some((session, header))
}

/// Returns true where a datagram belongs to the session that it names.
fn is_authentic(session: &Session, header: &Header, message: &[u8]) -> bool {
    session.open.carrier == Carrier::Udp
        && header.is_of(&session.token, session.mac.as_ref(), (message, message.len()), Direction::There)
        && usize::from(header.flow) < session.flows.len()
}

/// Returns true for the address of the session's control connection, which has shown that it receives: nothing is sent to an address that a
/// sender only claims.
fn is_of_client(session: &Session, from: SocketAddr) -> bool {
    from.ip().to_canonical() == session.client
}

/// Starts the thread of a flow, unless it runs already: datagrams that were queued before come here too. Returns those
/// of others that its socket took.
fn start(
    session: &Arc<Session>,
    flow: u16,
    local: SocketAddr,
    from: SocketAddr,
    first: Vec<u8>,
    shared: &Arc<Shared>,
) -> std::io::Result<Vec<(Vec<u8>, SocketAddr)>> {
    if let Err(port) = session.flows[usize::from(flow)].take(from.port()) {
        // Of the flow's own port it was queued here before the flow had its socket.
        session.elsewhere.fetch_add(u64::from(port != from.port()), Ordering::Relaxed);
        return Ok(Vec::new());
    }
    let result = open(local, from, session.open.receive_buffer_bytes).and_then(|socket| {
        let mut firsts = vec![first];
        let astray = astray(&socket, from, &mut firsts);
        let (session, shared) = (Arc::clone(session), Arc::clone(shared));
        let one = shared.flows.take();
        let pool = Arc::clone(&shared.hall.pool);
        pool.serve(move || {
            let (before, (thread, running)) = (CpuTime::own(), session.begin_thread());
            if session.open.pattern == Pattern::Stream {
                // It is reported once: later ones make no other flow. A greeting is repeated until it is answered; once
                // is enough.
                stream::datagrams::serve(socket, from, &session, (flow, thread), &firsts[0], &shared);
                session.used(CpuTime::own().since(before));
                drop(running);
            } else {
                answer((socket, from), &session, (flow, thread), (running, one), &firsts, (&shared, before));
            }
        })?;
        Ok(astray)
    });
    if result.is_err() {
        session.flows[usize::from(flow)].leave();
    }
    result
}

/// A socket on the same port, connected to the client, with a receive buffer of `room` as far as the system allows.
fn open(local: SocketAddr, from: SocketAddr, room: Option<Bytes>) -> std::io::Result<Socket> {
    let local = socket::beside(as_family_of(local.ip(), from), local.port(), from);
    let socket = Socket::new(Domain::for_address(from), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_port(true)?;
    if from.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if let Some(room) = room {
        // The kernel limits it (net.core.rmem_max); the report has the size granted.
        socket.set_recv_buffer_size(usize::try_from(room.0).map_or(LARGEST_BUFFER, |room| room.min(LARGEST_BUFFER)))?;
    }
    socket.bind(&SockAddr::from(local))?;
    socket.connect(&SockAddr::from(from))?;
    socket::set_glance(&socket)?;
    Ok(socket)
}

/// Takes what a new flow's socket has by now: adds what is of `peer` to `firsts`, and gives what is of others. Between its binding
/// and its connecting the kernel gives a socket all that comes to its address, and a client whose first datagram that was would
/// hear nothing.
fn astray(socket: &Socket, peer: SocketAddr, firsts: &mut Vec<Vec<u8>>) -> Vec<(Vec<u8>, SocketAddr)> {
    let (mut others, mut buffer) = (Vec::new(), vec![0; 65_536]);
    for _ in 0..ASTRAY {
        let Ok((_, length, Some(from))) = recvfrom(socket.as_fd(), &mut buffer[..], RecvFlags::DONTWAIT) else { break };
        let Ok(from) = SocketAddr::try_from(from) else { break };
        let message = buffer[..length].to_vec();
        if (from.ip(), from.port()) == (peer.ip(), peer.port()) {
            firsts.push(message);
        } else {
            others.push((message, from));
        }
    }
    others
}

/// On a socket of IPv6 an IPv4 client has a mapped address, and our own address must be mapped alike.
fn as_family_of(local: IpAddr, from: SocketAddr) -> IpAddr {
    match local {
        IpAddr::V4(address) if from.is_ipv6() => IpAddr::V6(address.to_ipv6_mapped()),
        other => other,
    }
}

/// Answers a flow over a socket that is connected to its client, from its first datagrams on. `places`: of [`Held`].
fn answer(
    (socket, from): (Socket, SocketAddr),
    session: &Arc<Session>,
    (flow, thread): (u16, u32),
    places: (Option<Place>, Option<Place>),
    firsts: &[Vec<u8>],
    (shared, before): (&Arc<Shared>, CpuTime),
) {
    // Without another descriptor it cannot be told of the end, and looks up every now and then.
    let kept = socket.try_clone().ok().map(Arc::new);
    let held = Held::new(Arc::clone(session), flow, (kept, true), places);
    let waiting = session.got.waiting;
    let ready = socket::set_waiting(&socket, from, waiting)
        .and_then(|()| settle(cpu_for(&session.got.cpus, thread), "reflector"));
    let Ok(_pinned) = ready else { return };
    let stamping = if session.got.stamps { Stamping::prepare(socket.as_fd()) } else { Stamping::default() };
    let mut link = Datagram::new(socket, waiting, shared.hall.stop.clone());
    link.stamping = stamping;
    // The grant was tested before; a socket that refuses all the same takes one segment at a time.
    let many = session.got.batch.is_some() && link.take_segments().is_ok();
    Exchange::new(link, held, Arc::clone(shared)).begin(firsts, many, before);
}
