//! The largest datagrams that reach each hop of a flow: whole, with a growing TTL. A hop before a narrower link says so, or it drops them
//! and says nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use measure::method::SocketOptions;
use measure::outcome::hops::{Narrower, PathMtu, Probing};
use measure::reach::mtu::{LARGEST, MtuFinding};
use measure::unit::{Instant, Nanos};
use protocol::icmp::error::IcmpError;
use rustix::event::PollFlags;
use socket2::Socket;

use super::Flow;
use super::probe::bound;
use crate::clock::Monotonic;
use crate::name::Family;
use crate::random;
use crate::reach::Plan;
use crate::reach::datagram::UNUSED;
use crate::reach::echo::{Heard, Prober, never_cut};
use crate::reach::mtu::{PAYLOAD, RATION, search};
use crate::reach::seen::icmp;
use crate::reach::wait::{Waited, until};
use crate::socket::queue;
use crate::socket::report::Report;
use crate::socket::{self, option};
use crate::stop::Stop;

/// Searches the largest packets that reach the hops at `ttls`, ascending, which answer small ones. They go from the
/// flow's port; to the peer's port where the flow is one of UDP, else to one without a known listener.
///
/// # Errors
/// The reason on our side why nothing leaves.
pub fn path_mtu(
    flow: &Flow,
    protocol: Probing,
    ttls: &[u8],
    options: &SocketOptions,
    stop: &Stop,
) -> Result<PathMtu, String> {
    let told = |error: io::Error| crate::error::plain(&error);
    let mut remote = flow.remote;
    if protocol != Probing::Udp {
        remote.set_port(UNUSED);
    }
    let socket = socket::udp_unconnected(remote, &bound(options, flow.local)).map_err(|error| error.to_string())?;
    socket.set_nonblocking(true).map_err(told)?;
    never_cut(&socket, remote.is_ipv6()).map_err(told)?;
    socket.connect(&socket::towards(&socket, remote)).map_err(told)?;
    let first = u64::from_be_bytes(random::bytes::<8>().map_err(told)?);
    let mut sized = Sized { socket, remote, first, sent: Vec::new(), ttl: 0 };
    let interface = sized.interface().map_err(told)?;
    let mut found = PathMtu { flow: flow.flow, interface_bytes: interface, narrower: Vec::new(), shown_to: 0 };
    let mut largest = interface;
    for ttl in ttls {
        option::set_time_to_live(sized.socket.as_fd(), remote.is_ipv6(), *ttl).map_err(told)?;
        sized.ttl = *ttl;
        let (bytes, by, vanishing_bytes) = match sized.largest(largest, stop) {
            Some(MtuFinding::Whole { .. }) => (largest, None, None),
            Some(MtuFinding::Told { bytes, by }) => (bytes, by.and_then(|by| by.parse::<IpAddr>().ok()), None),
            Some(MtuFinding::Hole { bytes, vanishing_bytes }) => (bytes, None, Some(vanishing_bytes)),
            Some(MtuFinding::NotFound { .. }) | None => continue,
        };
        found.shown_to = *ttl;
        if bytes < largest {
            found.narrower.push(Narrower { ttl: *ttl, bytes, by, vanishing_bytes });
            largest = bytes;
        }
    }
    Ok(found)
}

/// Datagrams of any size that end at one TTL.
struct Sized {
    socket: Socket,
    remote: SocketAddr,
    /// The number of the first.
    first: u64,
    /// Size and TTL of each.
    sent: Vec<(u32, u8)>,
    ttl: u8,
}

impl Sized {
    /// The largest packet that this host's interface takes, whatever is known of the path.
    fn interface(&mut self) -> io::Result<u32> {
        match self.send(LARGEST) {
            Ok(()) => Ok(LARGEST),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                queue::next_report(self.socket.as_fd()).map(|report| report.info).filter(|mtu| *mtu > 0).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// The largest of at most `largest` bytes that gets as far as the TTL does; `None` where the hop does not answer now.
    fn largest(&mut self, largest: u32, stop: &Stop) -> Option<MtuFinding> {
        let small = self.packet(PAYLOAD);
        if self.arrives(largest, stop) {
            return Some(MtuFinding::Whole { bytes: largest });
        }
        // That may have been the hop's ration of answers, or a loss.
        if !self.arrives(small, stop) {
            return None;
        }
        let (family, timeout) = (Family::Any, RATION);
        let plan =
            Plan { family, ports: Vec::new(), timeout, tries: 1, services: false, host: String::new(), tls: None };
        let peer = self.remote.ip();
        let found = search(self, peer, largest, small, RATION, &plan, stop);
        // A hop that has become silent during the search shows nothing by its silence.
        let counts = !matches!(found, MtuFinding::Hole { .. }) || self.arrives(small, stop);
        (counts && !stop.requested()).then_some(found)
    }

    /// True where the hop answers a packet of `size` bytes.
    fn arrives(&mut self, size: u32, stop: &Stop) -> bool {
        let until = Monotonic::now().after(RATION);
        self.send(size).is_ok() && matches!(self.hear(until, stop), Heard::Reply { size: of, .. } if of == size)
    }

    /// The size of the datagram to this TTL that `report` is about.
    fn about(&self, report: &Report) -> Option<u32> {
        let number = u64::from_be_bytes(report.about).wrapping_sub(self.first);
        let whole = report.quoted == report.about.len();
        let sent = usize::try_from(number).ok().filter(|_| whole).and_then(|number| self.sent.get(number));
        sent.filter(|(_, ttl)| *ttl == self.ttl).map(|(size, _)| *size)
    }
}

impl Prober for Sized {
    fn packet(&self, payload: u32) -> u32 {
        payload + if self.remote.is_ipv4() { 28 } else { 48 }
    }

    fn send(&mut self, size: u32) -> io::Result<()> {
        let mut message = vec![0; (size.saturating_sub(self.packet(0)) as usize).max(8)];
        message[..8].copy_from_slice(&self.first.wrapping_add(self.sent.len() as u64).to_be_bytes());
        self.sent.push((size, self.ttl));
        let refused = |error: &io::Error| error.raw_os_error() != Some(libc::EMSGSIZE);
        // An error that came for an earlier one is taken by the send after it: once more.
        match self.socket.send(&message) {
            Err(error) if refused(&error) => self.socket.send(&message).map(drop),
            sent => sent.map(drop),
        }
    }

    fn hear(&mut self, instant: Instant, stop: &Stop) -> Heard {
        loop {
            match until(&self.socket, PollFlags::IN, instant, stop) {
                Waited::Stopped => return Heard::Stopped,
                Waited::Late => return Heard::Nothing,
                Waited::Ready(_) => {}
            }
            // Takes the socket's error, or a reply if one comes after all.
            let answered = self.socket.recv(&mut [std::mem::MaybeUninit::uninit(); 64]).is_ok();
            let Some(report) = queue::next_report(self.socket.as_fd()) else {
                match self.sent.last() {
                    Some((size, _)) if answered => return Heard::Reply { size: *size, after: Nanos::ZERO },
                    _ => continue,
                }
            };
            let Some(size) = self.about(&report) else { continue };
            return match icmp(&report, self.remote.ip()) {
                Some(IcmpError::TooBig { .. }) => Heard::Report { size, report },
                // Any other error shows that the sender had the packet.
                Some(_) => Heard::Reply { size, after: Nanos::ZERO },
                None => continue,
            };
        }
    }
}
