//! Check of a measurement against the wire: packets that a capture saw beside it, compared with the measurement's own counts.
//!
//! An [`observer::Observer`] takes packet after packet in bounded memory; at the end [`judge::judge`] compares its counts
//! with those of the measurement, and every comparison ends in one of three words ([`finding::Verdict`]). Nothing
//! here opens a socket: the capturing side hands in [`Seen`].

pub mod finding;
pub mod judge;
pub mod observer;
pub mod stream;
#[cfg(test)]
mod tests;
mod total;

use std::net::SocketAddr;

/// Direction of a packet, seen from this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the peer.
    Out,
    /// From the peer.
    In,
}

/// A packet of the measurement as it passed an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Time of its passage, nanoseconds since 1970 by this host's clock.
    pub at_ns: u64,
    /// Its direction.
    pub way: Way,
    /// Index of the interface it passed.
    pub interface: u32,
    /// Our address and port; of ICMP the identifier in the port's place.
    pub local: SocketAddr,
    /// The peer's; of ICMP with port 0.
    pub remote: SocketAddr,
    /// Length of the packet, bytes of IP; of segments that were merged all of them.
    pub packet_bytes: u32,
    /// Length of the payload of TCP, UDP or an ICMP echo, bytes.
    pub payload_bytes: u32,
    /// Kind of the packet.
    pub what: What,
    /// Identity of its message.
    pub mark: Mark,
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A segment of TCP.
    Segment(Segment),
    /// A datagram, or an echo: its first fragment where it is in several.
    Datagram,
    /// A later fragment of one.
    Fragment,
}

/// The head of a segment of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of TCP's header")]
pub struct Segment {
    /// Sequence number.
    pub number: u32,
    /// Acknowledgement number; without meaning unless `ack`.
    pub acknowledges: u32,
    /// SYN.
    pub syn: bool,
    /// ACK.
    pub ack: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
}

/// Identity of the first message in a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: it has no number, or it cannot be read here.
    #[default]
    None,
    /// It is recorded, and has this number.
    Number(u64),
    /// It belongs to the measurement and is not recorded: a greeting, the warm-up, the end.
    Aside,
}
