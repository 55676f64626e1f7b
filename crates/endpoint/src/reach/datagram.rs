//! Datagrams of any size, never cut on the way, to a port that the host refuses: its refusal shows that one got there.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use measure::unit::Instant;
use protocol::icmp::error::IcmpError;
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::echo::{Heard, Prober, never_cut};
use super::seen;
use super::wait::{self, Waited};
use crate::clock::Monotonic;
use crate::socket::option;
use crate::socket::queue;
use crate::socket::report::Report;
use crate::stop::Stop;

/// A port that nothing is known to listen on: the first that traceroute takes.
pub(crate) const UNUSED: u16 = 33_434;

/// Datagrams to one address.
pub(super) struct Datagrams {
    socket: Socket,
    /// Bytes of an IP header and that of UDP.
    header: u32,
    peer: IpAddr,
    /// Size and time of each datagram, by its number.
    sent: Vec<(u32, Instant)>,
}

impl Datagrams {
    /// A socket towards `peer`, whose port has no meaning.
    pub(super) fn open(mut peer: SocketAddr) -> io::Result<Self> {
        peer.set_port(UNUSED);
        let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
        never_cut(&socket, peer.is_ipv6())?;
        socket.connect(&SockAddr::from(peer))?;
        let header = if peer.is_ipv4() { 28 } else { 48 };
        Ok(Self { socket, header, peer: peer.ip(), sent: Vec::new() })
    }

    /// Datagram that an error report is about: its payload begins with its number, as far as the report quotes it.
    fn about(&self, report: &Report) -> Option<(u32, Instant)> {
        let number = u64::from_be_bytes(report.about).checked_sub(1);
        let quoted = number.and_then(|number| self.sent.get(usize::try_from(number).ok()?));
        quoted.or(self.sent.last()).copied()
    }
}

impl Prober for Datagrams {
    fn packet(&self, payload: u32) -> u32 {
        self.header + payload
    }

    fn send(&mut self, size: u32) -> io::Result<()> {
        let mut message = vec![0; (size.saturating_sub(self.header) as usize).max(8)];
        self.sent.push((size, Monotonic::now()));
        // From 1: zeros are what was not quoted.
        message[..8].copy_from_slice(&(self.sent.len() as u64).to_be_bytes());
        // An error that came for an earlier one is taken by the send after it: once more.
        self.socket.send(&message).or_else(|_| self.socket.send(&message)).map(drop)
    }

    fn hear(&mut self, instant: Instant, stop: &Stop) -> Heard {
        loop {
            match wait::until(&self.socket, PollFlags::IN, instant, stop) {
                Waited::Stopped => return Heard::Stopped,
                Waited::Late => return Heard::Nothing,
                Waited::Ready(_) => {}
            }
            // Takes the socket's error, or a reply if one comes after all.
            let answered = self.socket.recv(&mut [std::mem::MaybeUninit::uninit(); 64]).is_ok();
            let Some(report) = queue::next_report(self.socket.as_fd()) else {
                if answered && let Some((size, sent)) = self.sent.last() {
                    return Heard::Reply { size: *size, after: Monotonic::now().since(*sent).unwrap_or_default() };
                }
                continue;
            };
            let Some((size, sent)) = self.about(&report) else { continue };
            let refused = seen::icmp(&report, self.peer) == Some(IcmpError::PortUnreachable);
            if refused && report.from == Some(self.peer) {
                return Heard::Reply { size, after: Monotonic::now().since(sent).unwrap_or_default() };
            }
            return Heard::Report { size, report };
        }
    }
}
