//! Answers to a raw probe: a TCP segment, a datagram, an echo or an ICMP error, with every field that identifies the sender.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::unit::Instant;

/// An answer to one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The probe it answers, counted from 0.
    pub seq: u64,
    /// Instant at which the program had it.
    pub at: Instant,
    /// Source address of the packet, which anybody can forge.
    pub from: IpAddr,
    /// Kind of the answer, with its fields.
    pub content: Content,
}

/// Kind of an answer, with its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A TCP segment.
    Segment(Segment),
    /// A datagram of UDP.
    Datagram(Datagram),
    /// The reply to an ICMP echo request.
    Echo(Datagram),
    /// An ICMP error that quotes the probe.
    Icmp {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
        /// The largest packet the next link takes, of "too big"; else without meaning.
        info: u32,
        /// Our port that the packet it quotes came from; `None` of an echo, which has none.
        port: Option<u16>,
    },
}

/// A TCP segment and the IP header it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Octets of the IP packet; over IPv6 header and payload.
    pub length: u16,
    /// Hops it could still have gone: TTL or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class; `None` where the socket did not tell.
    pub tos: Option<u8>,
    /// The identification of IPv4; IPv6 has none.
    pub ip_id: Option<u16>,
    /// True where no hop may fragment it; absent in IPv6, which has no such bit.
    pub dont_fragment: Option<bool>,
    /// Where it comes from.
    pub source_port: u16,
    /// Where it goes to.
    pub destination_port: u16,
    /// Its sequence number.
    pub seq: u32,
    /// Acknowledgement number; valid only with the flag ACK.
    pub ack: u32,
    /// Its flags.
    pub flags: Flags,
    /// Its window, unscaled.
    pub window: u16,
    /// Its checksum as it came.
    pub checksum: u16,
    /// Its urgent pointer.
    pub urgent: u16,
    /// Its options.
    pub options: Options,
}

/// An answer that is no TCP segment, and the IP header it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Octets of the IP packet; over IPv6 header and payload.
    pub length: u16,
    /// Hops it could still have gone: TTL or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class; `None` where the socket did not tell.
    pub tos: Option<u8>,
    /// The identification of IPv4; IPv6 has none.
    pub ip_id: Option<u16>,
    /// True where no hop may fragment it; absent in IPv6, which has no such bit.
    pub dont_fragment: Option<bool>,
    /// The port it comes from; of an echo, which has none, its number.
    pub source: u16,
}

/// The flags of a TCP segment (RFC 9293 section 3.1), as the octet that carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Ends a connection at once.
    pub const RST: Self = Self(0x04);
    /// Data to be handed over.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// Congestion was met (RFC 3168); hping3's X.
    pub const ECE: Self = Self(0x40);
    /// The window was reduced (RFC 3168); hping3's Y.
    pub const CWR: Self = Self(0x80);

    /// Returns true where all flags of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// `SYN+ACK`; `none` where there is none.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let set = NAMES.into_iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1);
        let names: Vec<&str> = set.map(|(_, name)| name).collect();
        if names.is_empty() { f.write_str("none") } else { f.write_str(&names.join("+")) }
    }
}

/// The options of a TCP segment: the order of their kinds, which differs from one system to another, and the values of the
/// usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    kinds: [u8; Self::ROOM],
    count: u8,
    /// The largest segment its sender takes (RFC 9293), octets.
    pub mss: Option<u16>,
    /// The shift of its windows (RFC 7323).
    pub window_scale: Option<u8>,
    /// Its clock, and the one it echoes (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
}

impl Options {
    /// Kinds that are remembered: forty octets hold more only where they are padding.
    pub const ROOM: usize = 12;

    /// Remembers the next kind.
    pub fn push(&mut self, kind: u8) {
        if let Some(place) = self.kinds.get_mut(usize::from(self.count)) {
            *place = kind;
            self.count += 1;
        }
    }

    /// The kinds as they stood.
    pub fn kinds(&self) -> &[u8] {
        &self.kinds[..usize::from(self.count)]
    }
}

/// `mss 1460, sack, timestamps, nop, wscale 7`; `none` where there is none.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("none");
        }
        for (place, kind) in self.kinds().iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            match kind {
                0 => f.write_str("end")?,
                1 => f.write_str("nop")?,
                2 => with_value(f, "mss", self.mss.map(u32::from))?,
                3 => with_value(f, "wscale", self.window_scale.map(u32::from))?,
                4 => f.write_str("sack")?,
                8 => f.write_str("timestamps")?,
                other => write!(f, "kind {other}")?,
            }
        }
        Ok(())
    }
}

fn with_value(f: &mut fmt::Formatter<'_>, name: &str, value: Option<u32>) -> fmt::Result {
    f.write_str(name)?;
    value.map_or(Ok(()), |value| write!(f, " {value}"))
}

/// State of the probed port, by the kind of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// SYN and ACK: somebody accepts connections there.
    SynAck,
    /// RST and ACK: somebody says that the port is closed.
    RstAck,
    /// RST alone: the answer to a segment that had an ACK, or of a box that makes its own.
    Rst,
    /// A segment of other flags.
    Other,
    /// An ICMP error.
    Icmp,
    /// A datagram: somebody answers there.
    Datagram,
    /// The reply to an echo request.
    Echo,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SynAck => "SYN+ACK",
            Self::RstAck => "RST+ACK",
            Self::Rst => "RST",
            Self::Other => "other flags",
            Self::Icmp => "ICMP error",
            Self::Datagram => "datagram",
            Self::Echo => "echo reply",
        })
    }
}

impl Class {
    /// Returns true for a reset, which says that the port is closed.
    pub fn is_reset(self) -> bool {
        matches!(self, Self::RstAck | Self::Rst)
    }
}

impl Content {
    /// Classifies the answer by its kind and flags.
    pub fn class(&self) -> Class {
        let segment = match self {
            Self::Segment(segment) => segment,
            Self::Datagram(_) => return Class::Datagram,
            Self::Echo(_) => return Class::Echo,
            Self::Icmp { .. } => return Class::Icmp,
        };
        let has = |flags| segment.flags.has(flags);
        match (has(Flags::RST), has(Flags::ACK), has(Flags::SYN)) {
            (true, true, _) => Class::RstAck,
            (true, false, _) => Class::Rst,
            (false, true, true) => Class::SynAck,
            _ => Class::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Flags::SYN.with(Flags::ACK), "SYN+ACK")]
    #[test_case(Flags::RST, "RST")]
    #[test_case(Flags(0), "none")]
    #[test_case(Flags(0xFF), "FIN+SYN+RST+PSH+ACK+URG+ECE+CWR")]
    fn flags_are_named(flags: Flags, text: &str) {
        assert_eq!(flags.to_string(), text);
    }

    #[test]
    fn options_keep_their_order() {
        let mut options = Options { mss: Some(1_460), window_scale: Some(7), ..Options::default() };
        assert_eq!(options.to_string(), "none");
        for kind in [2, 4, 8, 1, 3, 77] {
            options.push(kind);
        }
        assert_eq!(options.to_string(), "mss 1460, sack, timestamps, nop, wscale 7, kind 77");
        (0..40).for_each(|_| options.push(1));
        assert_eq!(options.kinds().len(), Options::ROOM);
    }
}
