//! A handshake, and what the open port answers.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::reach::{Seen, Service, ServiceFinding};
use measure::unit::{Instant, Nanos};
use protocol::inquiry::{GREETERS, Place, further, left_alone};
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::service::{self, Found};
use super::wait::{self, Waited};
use super::{Plan, Port, secure, seen};
use crate::clock::Monotonic;
use crate::socket::{option, queue};
use crate::stop::Stop;

/// Connects to `peer`, returns the outcome, and where it succeeds asks for the service.
pub(super) fn probe(
    peer: SocketAddr,
    port: &Port,
    plan: &Plan,
    stop: &Stop,
    tell: &dyn Fn(&Seen),
) -> (Seen, Option<ServiceFinding>) {
    let patience = Nanos(plan.timeout.0.saturating_mul(plan.tries.into()));
    let (seen, connected) = connect(peer, patience, stop);
    tell(&seen);
    let Some(socket) = connected.filter(|_| plan.services) else { return (seen, None) };
    if port.services.is_empty() {
        let alone = left_alone(port.number).map(|why| ServiceFinding::LeftAlone { why: why.to_owned() });
        return (seen, alone);
    }
    let handshake = if let Seen::Answer { after_ns } = &seen { *after_ns } else { Nanos::ZERO };
    let asking = Questions { peer, plan, patience, stop };
    let found = asking.one_by_one(socket, port, handshake);
    (seen, found)
}

/// The means of every question to one port.
struct Questions<'a> {
    peer: SocketAddr,
    plan: &'a Plan,
    patience: Nanos,
    stop: &'a Stop,
}

impl Questions<'_> {
    /// Asks for the programs of `port` until one is known, the first of them over `socket`.
    fn one_by_one(&self, socket: Socket, port: &Port, handshake: Nanos) -> Option<ServiceFinding> {
        let Self { plan, stop, .. } = *self;
        if port.unknown
            && let Some(heard) = service::listen(&socket, handshake, plan.timeout, stop)
        {
            return heard.found.told(GREETERS.to_vec(), plan.timeout);
        }
        let mut asked: Vec<Service> = Vec::new();
        let (mut socket, mut last) = (Some(socket), None);
        let mut wanted: VecDeque<Service> = port.services.iter().copied().collect();
        while let Some(service) = wanted.pop_front() {
            // A question that was not understood spoils its connection.
            let Some(socket) = socket.take().or_else(|| connect(self.peer, self.patience, stop).1) else { break };
            asked.push(service);
            let heard = self.ask(&socket, service);
            if let Found::Known { .. } = heard.found {
                return heard.found.told(asked, plan.timeout);
            }
            let hint = further(&heard.answer)
                .filter(|_| port.unknown && matches!(heard.found, Found::Other | Found::Closed | Found::Reset));
            if let (Service::Sonde, Some(service)) = (service, hint) {
                wanted.push_front(service);
            }
            // What has answered once is not silent, whatever it does at another question.
            last = last.filter(|last| *last == Found::Other).or(Some(heard.found));
        }
        last.and_then(|last| last.told(asked, plan.timeout))
    }

    fn ask(&self, socket: &Socket, service: Service) -> service::Heard {
        let place = Place { host: &self.plan.host, port: self.peer.port() };
        if let (Service::Https, Some(terms)) = (service, &self.plan.tls) {
            return secure::ask(socket, terms, place, self.plan.timeout, self.stop);
        }
        service::ask(socket, service, place, self.plan.timeout, self.stop)
    }
}

/// Makes a handshake within `patience`.
fn connect(peer: SocketAddr, patience: Nanos, stop: &Stop) -> (Seen, Option<Socket>) {
    let start = Monotonic::now();
    let socket = match open(peer) {
        Ok(socket) => socket,
        Err(error) => return (seen::of_error(&error, Nanos::ZERO), None),
    };
    match socket.connect(&SockAddr::from(peer)) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
            if let Some(seen) = not_connected(&socket, peer, start, patience, stop) {
                return (seen, None);
            }
        }
        Err(error) => return (refused(&error, start), None),
    }
    (Seen::Answer { after_ns: since(start) }, Some(socket))
}

fn open(peer: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Questions are single segments that should leave at once.
    let _ = socket.set_tcp_nodelay(true);
    option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
    Ok(socket)
}

/// Waits for the end of a handshake; `None`: it is complete.
fn not_connected(socket: &Socket, peer: SocketAddr, start: Instant, patience: Nanos, stop: &Stop) -> Option<Seen> {
    let give_up = start.after(patience);
    let local = socket.local_addr().ok().and_then(|address| address.as_socket()).map(|address| address.ip());
    loop {
        match wait::until(socket, PollFlags::OUT, give_up, stop) {
            Waited::Stopped => return Some(stopped()),
            Waited::Late => return Some(Seen::Silence { waited_ns: since(start) }),
            Waited::Ready(events) => {
                // An ICMP error stands on the queue before it shows as an error of the socket, and says who sent it. Where it
                // came while the socket was in use, the queue is the only place.
                while let Some(report) = queue::next_report(socket.as_fd()) {
                    if let Some(seen) = seen::of_report(&report, peer.ip(), local, since(start)) {
                        return Some(seen);
                    }
                }
                match socket.take_error() {
                    Ok(Some(error)) | Err(error) => return Some(refused(&error, start)),
                    Ok(None) if events.contains(PollFlags::OUT) => return None,
                    Ok(None) => {}
                }
            }
        }
    }
}

fn refused(error: &std::io::Error, start: Instant) -> Seen {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Seen::Reset { after_ns: since(start) },
        // A reset of a SYN is another error: this one is of a connection that was established (tcp_reset of Linux).
        Some(libc::ECONNRESET | libc::EPIPE) => Seen::AcceptedThenReset { after_ns: since(start) },
        Some(libc::ETIMEDOUT) => Seen::Silence { waited_ns: since(start) },
        _ => seen::of_error(error, since(start)),
    }
}

pub(super) fn stopped() -> Seen {
    Seen::NotAsked { why: "a signal ended the check".into() }
}

pub(super) fn since(start: Instant) -> Nanos {
    Monotonic::now().since(start).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_of_an_open_connection_is_no_refusal() {
        let met = |errno| refused(&std::io::Error::from_raw_os_error(errno), Monotonic::now());
        assert!(matches!(met(libc::ECONNREFUSED), Seen::Reset { .. }));
        assert!(matches!(met(libc::ECONNRESET), Seen::AcceptedThenReset { .. }));
        assert!(matches!(met(libc::ETIMEDOUT), Seen::Silence { .. }));
    }
}
