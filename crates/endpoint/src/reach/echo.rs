//! ICMP echo requests of any size, never cut on the way.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use measure::unit::{Instant, Nanos};
use protocol::icmp::echo::{Echo, Family, HEADER, Socket as Kind};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::wait::{self, Waited};
use crate::clock::Monotonic;
use crate::error::plain;
use crate::random;
use crate::socket::echo as replies;
use crate::socket::option;
use crate::socket::queue;
use crate::socket::report::Report;
use crate::stop::Stop;

/// Echo requests to one address.
pub(super) struct Echoer {
    socket: Socket,
    echo: Echo,
    /// Bytes of an IP header.
    header: u32,
    /// Size and time of each request, by its number.
    sent: Vec<(u32, Instant)>,
    buffer: Vec<u8>,
    /// Bytes of the largest packet in which replies came that were cut on the way; absent where none was.
    pub(super) fragment: Option<u32>,
    pub(super) local: Option<IpAddr>,
}

/// Packets of any size that show whether they got there.
pub(crate) trait Prober {
    /// Bytes of a packet that carries a payload of `payload` bytes.
    fn packet(&self, payload: u32) -> u32;
    /// Sends a packet of `size` bytes, IP header included.
    fn send(&mut self, size: u32) -> io::Result<()>;
    /// Waits for the next reply to any of the packets or error about one, until `instant`.
    fn hear(&mut self, instant: Instant, stop: &Stop) -> Heard;
}

/// Outcome of one wait.
pub(crate) enum Heard {
    /// A packet of this many bytes got there, its IP header included.
    Reply { size: u32, after: Nanos },
    /// An error about a packet of this many bytes.
    Report { size: u32, report: Report },
    /// Nothing, until the instant.
    Nothing,
    /// Somebody asked to stop.
    Stopped,
}

impl Echoer {
    /// A ping socket to `peer`, or where this user has none a raw one; `Err` is why there is neither.
    pub(super) fn open(peer: SocketAddr) -> Result<Self, String> {
        let (family, protocol, header) =
            if peer.is_ipv4() { (Family::V4, Protocol::ICMPV4, 20) } else { (Family::V6, Protocol::ICMPV6, 40) };
        let new = |kind| Socket::new(Domain::for_address(peer), kind, Some(protocol));
        let (socket, kind) = match new(Type::DGRAM) {
            Ok(socket) => (socket, Kind::Ping),
            Err(unprivileged) => (new(Type::RAW).map_err(|raw| closed(&unprivileged, &raw))?, Kind::Raw),
        };
        let fail = |error: io::Error| plain(&error);
        let draw = random::bytes::<6>().map_err(fail)?;
        let identifier = u16::from_be_bytes([draw[0], draw[1]]);
        let nonce = u32::from_be_bytes([draw[2], draw[3], draw[4], draw[5]]);
        option::tell_of_errors(socket.as_fd(), peer.is_ipv6());
        replies::tell_fragments(&socket, peer.is_ipv6());
        never_cut(&socket, peer.is_ipv6()).map_err(fail)?;
        if kind == Kind::Raw {
            option::only_echo_replies(socket.as_fd(), peer.is_ipv6())
                .and_then(|()| option::only_identifier(&socket, peer.is_ipv6(), identifier))
                .map_err(fail)?;
        }
        socket.set_nonblocking(true).map_err(fail)?;
        let mut to = peer;
        to.set_port(0);
        socket.connect(&SockAddr::from(to)).map_err(fail)?;
        let local = socket.local_addr().ok().and_then(|address| address.as_socket()).map(|address| address.ip());
        let echo = Echo::new(family, kind, identifier, nonce).keeping_checksum();
        Ok(Self { socket, echo, header, sent: Vec::new(), buffer: vec![0; 1 << 17], fragment: None, local })
    }

    /// Size of the request that an error is about: by its number in the quoted packet, else the latest. `None`: it is
    /// about another program's, for every raw socket between the same hosts receives it.
    fn size_of(&self, report: &Report) -> Option<u32> {
        let number = match report.from {
            Some(_) => Some(self.echo.quoted(&report.about)?),
            None => None,
        };
        let quoted = number.and_then(|number| self.sent.get(usize::from(number)));
        quoted.or(self.sent.last()).map(|(size, _)| *size)
    }
}

impl Prober for Echoer {
    fn packet(&self, payload: u32) -> u32 {
        self.header + HEADER as u32 + payload
    }

    fn send(&mut self, size: u32) -> io::Result<()> {
        let length = (size.saturating_sub(self.header) as usize).max(Echo::message_length(12));
        let mut message = vec![0; length];
        self.echo.prepare(&mut message, self.sent.len() as u64, Flags::NONE);
        self.sent.push((size, Monotonic::now()));
        // An error that came for an earlier request is taken by the send after it: once more.
        self.socket.send(&message).or_else(|_| self.socket.send(&message)).map(drop)
    }

    fn hear(&mut self, instant: Instant, stop: &Stop) -> Heard {
        loop {
            match wait::until(&self.socket, PollFlags::IN, instant, stop) {
                Waited::Stopped => return Heard::Stopped,
                Waited::Late => return Heard::Nothing,
                Waited::Ready(_) => {}
            }
            match replies::receive(self.socket.as_fd(), &mut self.buffer, 0) {
                Ok(heard) => {
                    if let Reading::Reply(seq) = self.echo.identify(&self.buffer[..heard.length], 0)
                        && let Some((size, sent)) = self.sent.get(seq as usize)
                    {
                        self.fragment = self.fragment.max(heard.fragment);
                        return Heard::Reply { size: *size, after: Monotonic::now().since(*sent).unwrap_or_default() };
                    }
                }
                Err(libc::EINTR) => {}
                // Perhaps the error of the socket, which is taken thereby; the queue says more.
                Err(_) => {
                    let report = queue::next_report(self.socket.as_fd());
                    if let Some((report, size)) = report.and_then(|report| Some((report, self.size_of(&report)?))) {
                        return Heard::Report { size, report };
                    }
                }
            }
        }
    }
}

fn closed(unprivileged: &io::Error, raw: &io::Error) -> String {
    format!(
        "neither a ping socket ({}: net.ipv4.ping_group_range leaves this group out) nor a raw one ({}: it needs CAP_NET_RAW)",
        plain(unprivileged),
        plain(raw)
    )
}

/// `IP_PMTUDISC_PROBE`: packets leave whole whatever was learnt of the path, and may not be cut on it.
pub(crate) fn never_cut(socket: &Socket, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        option::set_int(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
        return option::set_int(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, 1);
    }
    option::set_int(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
}
