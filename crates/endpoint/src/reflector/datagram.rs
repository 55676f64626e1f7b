//! UDP at the reflector: a first datagram with a session's token makes a flow known, which then has a socket and a
//! thread of its own.
//!
//! The shared socket answers nobody. A flow's socket is bound to the same port and connected to the client, so that
//! the kernel sorts its datagrams out, and its replies leave from the very address the client sent to.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::method::Carrier;
use protocol::native::header::{Header, Token};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::Shared;
use super::answer::Answerer;
use super::session::Session;
use crate::link::datagram::Datagram;
use crate::link::stamping::Stamping;
use crate::socket::{self, option, queue};
use crate::thread::{CpuTime, cpu_for, settle};

/// Flows remembered as started, so that datagrams queued meanwhile do not start them again.
const REMEMBERED: usize = 65_536;

/// Options of the shared socket before it is bound: it tells to which of our addresses a datagram came.
pub fn prepare(socket: &Socket, ipv6: bool) -> std::io::Result<()> {
    option::tell_destination(socket.as_fd(), ipv6)
}

/// Takes first datagrams until the reflector stops.
pub fn serve(shared_socket: &UdpSocket, address: SocketAddr, shared: &Arc<Shared>) {
    let set = shared_socket.set_read_timeout(Some(socket::GLANCE.into()));
    debug_assert!(set.is_ok(), "a read timeout above zero is always taken");
    let mut buffer = vec![0; 65_536];
    let mut started: HashMap<(SocketAddr, Token, u16), ()> = HashMap::new();
    while !shared.stop.requested() {
        let Ok(first) = queue::receive_from(shared_socket.as_fd(), &mut buffer) else { continue };
        let message = &buffer[..first.length];
        let Some((session, header)) = known(message, shared) else { continue };
        let (Some(from), key) = (first.from, (header.token, header.flow)) else { continue };
        if started.len() >= REMEMBERED {
            started.retain(|(_, token, _), ()| shared.sessions.find(token).is_some());
        }
        if started.insert((from, key.0, key.1), ()).is_some() {
            continue;
        }
        let local = SocketAddr::new(first.to.unwrap_or(address.ip()), address.port());
        if start(&session, header.flow, local, from, message.to_vec(), shared).is_err() {
            started.remove(&(from, key.0, key.1));
        }
    }
}

/// The session and flow a datagram belongs to; nobody else is answered, or even told so.
fn known(message: &[u8], shared: &Shared) -> Option<(Arc<Session>, Header)> {
    let header = Header::read(message)?;
    let session = shared.sessions.find(&header.token)?;
    let fits = session.open.carrier == Carrier::Udp && usize::from(header.flow) < session.flows.len();
    if !fits {
        session.malformed.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    Some((session, header))
}

fn start(
    session: &Arc<Session>,
    flow: u16,
    local: SocketAddr,
    from: SocketAddr,
    first: Vec<u8>,
    shared: &Arc<Shared>,
) -> std::io::Result<()> {
    if !session.flows[usize::from(flow)].take() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    let result = open(local, from).and_then(|socket| {
        let (session, shared) = (Arc::clone(session), Arc::clone(shared));
        std::thread::Builder::new().name("sonde-flow".into()).spawn(move || {
            answer(socket, from, &session, flow, &first, &shared);
            session.flows[usize::from(flow)].leave();
        })
    });
    if result.is_err() {
        session.flows[usize::from(flow)].leave();
    }
    result.map(drop)
}

/// A socket on the same port, connected to the client.
fn open(local: SocketAddr, from: SocketAddr) -> std::io::Result<Socket> {
    let local = SocketAddr::new(as_family_of(local.ip(), from), local.port());
    let socket = Socket::new(Domain::for_address(from), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if from.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&SockAddr::from(local))?;
    socket.connect(&SockAddr::from(from))?;
    socket::set_glance(&socket)?;
    Ok(socket)
}

/// On a socket of IPv6 an IPv4 client has a mapped address, and our own address must be mapped alike.
fn as_family_of(local: IpAddr, from: SocketAddr) -> IpAddr {
    match local {
        IpAddr::V4(address) if from.is_ipv6() => IpAddr::V6(address.to_ipv6_mapped()),
        other => other,
    }
}

fn answer(socket: Socket, from: SocketAddr, session: &Session, flow: u16, first: &[u8], shared: &Shared) {
    let waiting = session.got.waiting;
    let ready = socket::set_waiting(&socket, from, waiting)
        .and_then(|()| settle(cpu_for(&session.got.cpus, session.next_thread()), "reflector"));
    if ready.is_err() {
        return;
    }
    let stamping = if session.got.stamps { Stamping::on(socket.as_fd()) } else { Stamping::default() };
    let mut link = Datagram::new(socket, waiting, shared.stop.clone());
    link.stamping = stamping;
    let mut answerer = Answerer::new(link, session, flow, true, &shared.settings.behaviour, &shared.stop);
    if answerer.answer_first(first).is_ok() {
        answerer.run();
    }
    session.add_cpu(CpuTime::own());
}
