//! Settings of a server, and its limits.

use std::net::{IpAddr, SocketAddr};

use measure::interval::bins::Layout;
use measure::unit::Nanos;
use protocol::iperf::first::Beginning;

use super::event::{Tell, Transport};
use crate::peer::iperf::course::NO_SERIES;
use crate::serve::door::Door;
use crate::socket::multicast::Interface;

/// No interval of a series is shorter: each costs an event.
const SHORTEST: Nanos = Nanos::millis(1);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses at which it listens.
    pub places: Vec<Place>,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Length of an interval of the reported series, at least a millisecond; absent: none is reported.
    pub interval: Option<Nanos>,
    /// Octets of a read (`-l`); absent: the usual.
    pub read_bytes: Option<u32>,
    /// Interface at which groups are joined (`-B` of one); absent: the routing table's choice.
    pub interface: Option<Interface>,
    /// Only sender accepted of a group (`-H`); absent: any.
    pub source: Option<IpAddr>,
    /// Buffers of its sockets (`-w`), bytes; absent: as the system has them.
    pub buffer_bytes: Option<u32>,
    /// True where it opens a connection or flow back to a client that asks (`-d`, `-r`): to the client's own address
    /// alone, at a port of the client's choice.
    pub connects_back: bool,
    /// True where it sends datagrams to any client that asks by one (`-R`, `--full-duplex`, `-d`, `-r`), whose source
    /// may be forged. Reports are sent all the same, to flows that brought more octets than the reports have.
    pub sends_datagrams: bool,
    /// True where reports on datagrams carry latencies to clients too that did not ask for them by their clocks. A
    /// client of 2.2 then prints its longer lines.
    pub tells_latencies: bool,
    /// Bins for the transit of datagrams and of `--trip-times` bursts; absent: none.
    pub bins: Option<Layout>,
    /// Only client served; absent: any.
    pub only: Option<IpAddr>,
    /// The key that a connection has to show (`--permit-key`); absent: none may show one, as the original has it.
    pub key: Option<String>,
    /// Its bounds.
    pub limits: Limits,
    /// Listener to the events; absent: none.
    pub tell: Option<Tell>,
}

impl Settings {
    /// Listening at `places`, all else as the original does it.
    pub fn at(places: Vec<Place>) -> Self {
        Self {
            places,
            door: Door::default(),
            interval: None,
            read_bytes: None,
            interface: None,
            source: None,
            buffer_bytes: None,
            connects_back: true,
            sends_datagrams: true,
            tells_latencies: true,
            bins: None,
            only: None,
            key: None,
            limits: Limits::default(),
            tell: None,
        }
    }

    /// Length of an interval; that of an unwanted series never ends.
    pub(super) fn interval(&self) -> Nanos {
        self.interval.map_or(NO_SERIES, |interval| interval.max(SHORTEST))
    }

    /// Refuses a connection that does not show the key.
    pub(super) fn permits(&self, beginning: &Beginning) -> Result<(), &'static str> {
        let shown = if let Beginning::Test(first) = beginning { first.key.as_deref() } else { None };
        match (&self.key, shown) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err("the client shows a permit key, which this server has none of"),
            (Some(_), None) => Err("the client shows no permit key"),
            (Some(key), Some(shown)) if key.as_bytes() == shown => Ok(()),
            (Some(_), Some(_)) => Err("the client shows another permit key"),
        }
    }

    pub(super) fn serves(&self, peer: IpAddr) -> bool {
        self.only.is_none_or(|only| only.to_canonical() == peer.to_canonical())
    }
}

/// Address and transport at which a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// A local address. The wildcard of IPv6 serves IPv4 too.
    pub address: SocketAddr,
    /// Transport it serves.
    pub transport: Transport,
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; for one more a stranger gives way, or it is closed at once: see [`crate::serve::visits`]. Each that
    /// has said something has a thread and a buffer.
    pub connections: u32,
    /// Flows of datagrams at once, by a socket; what comes of one more is dropped.
    pub flows: usize,
    /// Streams that it sends at once: reverse, both ways, and back. Each has a thread and a buffer.
    pub senders: u32,
    /// Octets of a write, whatever a client asks.
    pub write_bytes: u32,
    /// Longest time that it sends, whatever a client asks.
    pub longest: Nanos,
    /// Silence after which a connection is given up, and a flow of datagrams forgotten; longer where the client says
    /// that it sends that slowly.
    pub idle: Nanos,
}

impl Default for Limits {
    /// 512 connections, 1,024 flows, 256 senders, 1 MiB, a day, a minute.
    fn default() -> Self {
        Self {
            connections: 512,
            flows: 1_024,
            senders: 256,
            write_bytes: 1 << 20,
            longest: Nanos::secs(86_400),
            idle: Nanos::secs(60),
        }
    }
}
