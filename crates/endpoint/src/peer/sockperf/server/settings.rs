//! Settings of a server, and its limits.

use std::net::{IpAddr, SocketAddr};

use protocol::sockperf::server::Rules;

use super::event::Tell;
use crate::serve::door::Door;
use crate::socket::multicast::{Interface, Outgoing};

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses at which it listens.
    pub places: Vec<Place>,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Handling of each message.
    pub rules: Rules,
    /// Threads that the sockets are dealt out to, in rows of neighbours: 1 or more, and no more than there are sockets.
    /// Each connection has a further thread.
    pub threads: u32,
    /// CPUs that these are pinned to, in turn, and those of connections likewise; empty: the scheduler decides.
    pub cpus: Vec<u32>,
    /// True where it polls without blocking: a UDP thread always, that of a connection while messages come.
    pub spin: bool,
    /// True where a datagram to the wildcard address is answered from the very address that it was sent to, and not
    /// from the one that routes prefer: a client behind a firewall, or one whose socket is connected, accepts no other.
    /// It costs some of a message's time. Absent: true where the host has several addresses.
    pub answer_from_asked: Option<bool>,
    /// Options of its sockets.
    pub options: Options,
    /// Options of groups.
    pub multicast: Multicast,
    /// True where it reports which messages of each sender are missing.
    pub gaps: bool,
    /// Number of messages after each of which it reports its activity; absent: it does not.
    pub activity: Option<u64>,
    /// Its bounds.
    pub limits: Limits,
    /// Listener to the events; absent: none.
    pub tell: Option<Tell>,
}

impl Settings {
    /// Listening at `places`, all else as usual.
    pub fn at(places: Vec<Place>) -> Self {
        Self {
            places,
            door: Door::default(),
            rules: Rules::default(),
            threads: 1,
            cpus: Vec::new(),
            spin: false,
            answer_from_asked: None,
            options: Options::default(),
            multicast: Multicast::default(),
            gaps: false,
            activity: None,
            limits: Limits::default(),
            tell: None,
        }
    }
}

/// Address and protocols at which a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// A local address, or a group, which is joined. The wildcard of IPv6 serves IPv4 too.
    pub address: SocketAddr,
    /// Protocols that it serves there.
    pub carriers: Carriers,
    /// Only sender accepted of a group; absent: any.
    pub source: Option<IpAddr>,
}

/// Protocols of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriers {
    /// Datagrams.
    Udp,
    /// Connections.
    Tcp,
    /// Both, on the same port.
    Both,
}

/// Options of the sockets of a server; a new one leaves all but `TCP_NODELAY` as the system sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// True where an answer over a connection leaves at once (`TCP_NODELAY`).
    pub nodelay: bool,
    /// `IP_TOS`, `IPV6_TCLASS`.
    pub tos: Option<u8>,
    /// True where others may have the address too (`SO_REUSEADDR`). Listeners and sockets of groups always allow it.
    pub reuse_address: bool,
    /// `SO_BUSY_POLL`, microseconds.
    pub busy_poll_us: Option<u32>,
    /// `SO_RCVBUF` and `SO_SNDBUF`, bytes.
    pub buffer_bytes: Option<u32>,
    /// `SO_MAX_PACING_RATE`, bytes a second.
    pub pacing_bytes_per_s: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            nodelay: true,
            tos: None,
            reuse_address: false,
            busy_poll_us: None,
            buffer_bytes: None,
            pacing_bytes_per_s: None,
        }
    }
}

/// Options of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multicast {
    /// Interface at which groups are joined; absent: the routing table's choice.
    pub receive: Option<Interface>,
    /// Settings of answers to groups.
    pub outgoing: Outgoing,
    /// True where a request to a group is answered to its sender; false: to the group, at the sender's port.
    pub unicast_reply: bool,
    /// True where the first datagrams to each group are two warm-ups.
    pub warm_up: bool,
}

impl Default for Multicast {
    /// As sockperf: two hops, not to members on this host, answers to the group, a warm-up.
    fn default() -> Self {
        let outgoing = Outgoing { interface: None, ttl: 2, loopback: false };
        Self { receive: None, outgoing, unicast_reply: false, warm_up: true }
    }
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; for one more a stranger gives way, or it is closed at once: see [`crate::serve::visits`]. Each that
    /// has said something has a thread.
    pub connections: u32,
    /// Bytes of memory of all their buffers: of large messages, fewer connections fit.
    pub buffer_bytes: u64,
    /// Senders whose gaps are followed; those beyond are counted.
    pub senders: usize,
}

impl Default for Limits {
    /// 2,048 connections, 1 GiB, 65,536 senders.
    fn default() -> Self {
        Self { connections: 2_048, buffer_bytes: 1 << 30, senders: 1 << 16 }
    }
}

/// Bytes of a connection's buffer where messages are small.
const BUFFER: u64 = 128 << 10;

impl Limits {
    /// Connections at once, where the largest message has `largest` bytes: 1 at least.
    pub(super) fn connections_of(&self, largest: u32) -> u32 {
        let fit = self.buffer_bytes / BUFFER.max(largest.into());
        u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, self.connections.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_messages_leave_room_for_fewer_connections() {
        let limits = Limits::default();
        assert_eq!(limits.connections_of(65_507), 2_048);
        assert_eq!(limits.connections_of(1_048_575), 1_024);
        assert_eq!(Limits { buffer_bytes: 0, ..limits }.connections_of(14), 1);
        assert_eq!(Limits { connections: 0, ..limits }.connections_of(14), 1);
    }
}
