//! One datagram, a few times, and what comes back.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use measure::reach::{Seen, ServiceFinding};
use measure::unit::{Instant, Nanos};
use protocol::inquiry::{DATAGRAM_SERVICES, Place, Reading, over_udp, read_udp};
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::tcp::{since, stopped};
use super::wait::{self, Waited};
use super::{Plan, Port, seen};
use crate::clock::Monotonic;
use crate::random;
use crate::socket::{option, queue};
use crate::stop::Stop;

/// Sends the question to `peer`, or an empty datagram where programs are not to be asked for.
pub(super) fn probe(peer: SocketAddr, port: &Port, plan: &Plan, stop: &Stop) -> (Seen, Option<ServiceFinding>) {
    let start = Monotonic::now();
    let wanted = port.services.first().copied().filter(|service| service.is_at_work());
    let asked = || wanted.map_or_else(|| DATAGRAM_SERVICES.to_vec(), |service| vec![service]);
    let place = Place { host: &plan.host, port: peer.port() };
    let opened = random::bytes().and_then(|draw| Ok((over_udp(wanted, place, draw), connected(peer)?)));
    let (question, socket) = match opened {
        Ok(opened) => opened,
        Err(error) => return (seen::of_error(&error, Nanos::ZERO), None),
    };
    let local = socket.local_addr().ok().and_then(|address| address.as_socket()).map(|address| address.ip());
    let datagram: &[u8] = if plan.services { &question } else { &[] };
    for _ in 0..plan.tries {
        let tried = Monotonic::now();
        // An error that came for the try before is taken by the send after it, which then sends nothing: once more.
        let gone = socket.send(datagram).or_else(|_| socket.send(datagram));
        if let Err(error) = gone {
            return (
                reported(&socket, peer, local, start).unwrap_or_else(|| seen::of_error(&error, since(start))),
                None,
            );
        }
        let mut answer = [0; 2_048];
        match hear(&socket, peer, local, (start, tried), plan.timeout, &mut answer, stop) {
            Heard::Seen(seen) => return (seen, None),
            Heard::Answer(_) if !plan.services => return answered(start, None),
            Heard::Answer(length) => {
                let service = match read_udp(wanted, &question, &answer[..length]) {
                    Reading::Known { service, state } => ServiceFinding::Known { service, state },
                    _ => ServiceFinding::Other { asked: asked() },
                };
                return answered(start, Some(service));
            }
            Heard::Nothing => {}
        }
    }
    (Seen::Silence { waited_ns: since(start) }, None)
}

/// Counted from the first try: what comes behind the second may be the answer to either.
fn answered(sent: Instant, service: Option<ServiceFinding>) -> (Seen, Option<ServiceFinding>) {
    (Seen::Answer { after_ns: since(sent) }, service)
}

fn connected(peer: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
    socket.connect(&SockAddr::from(peer))?;
    Ok(socket)
}

enum Heard {
    Answer(usize),
    Seen(Seen),
    Nothing,
}

/// Waits `timeout` from `tried` on for a datagram or an ICMP error, whose time counts from `start`.
fn hear(
    socket: &Socket,
    peer: SocketAddr,
    local: Option<IpAddr>,
    (start, tried): (Instant, Instant),
    timeout: Nanos,
    answer: &mut [u8],
    stop: &Stop,
) -> Heard {
    let give_up = tried.after(timeout);
    loop {
        match wait::until(socket, PollFlags::IN, give_up, stop) {
            Waited::Stopped => return Heard::Seen(stopped()),
            Waited::Late => return Heard::Nothing,
            Waited::Ready(_) => {}
        }
        // An answer counts for more than an error about an earlier try.
        if let Ok(length) = (&mut &*socket).read(answer) {
            return Heard::Answer(length);
        }
        if let Some(seen) = reported(socket, peer, local, start) {
            return Heard::Seen(seen);
        }
    }
}

fn reported(socket: &Socket, peer: SocketAddr, local: Option<IpAddr>, start: Instant) -> Option<Seen> {
    while let Some(report) = queue::next_report(socket.as_fd()) {
        if let Some(seen) = seen::of_report(&report, peer.ip(), local, since(start)) {
            return Some(seen);
        }
    }
    None
}
