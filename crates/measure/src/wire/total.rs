//! Sums over the flows of a measurement.

use super::observer::{Handshakes, OneWay};
use super::stream::Counted;

/// Sums over flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Packets.
    pub packets: u64,
    /// Datagrams that are recorded, or say nothing of themselves.
    pub datagrams: u64,
    /// Datagrams that belong to it and are not recorded.
    pub aside: u64,
    /// Octets of connections.
    pub octets: Counted,
    /// Packets longer than the interface takes.
    pub merged: u64,
    /// The longest packet, bytes of IP.
    pub longest_bytes: u32,
    /// Later fragments of datagrams.
    pub fragments: u64,
    /// Packets that passed another interface, and the index of one.
    pub elsewhere: Option<(u32, u64)>,
}

impl Total {
    /// Adds one way of a flow.
    #[must_use]
    pub fn and(mut self, way: &OneWay) -> Self {
        let octets = way.octets.counted();
        self.packets += way.packets;
        self.datagrams += way.datagrams;
        self.aside += way.aside;
        self.octets.distinct += octets.distinct;
        self.octets.repeated_bytes += octets.repeated_bytes;
        self.octets.repeated_segments += octets.repeated_segments;
        self.octets.late_segments += octets.late_segments;
        self.octets.missing += octets.missing;
        self.merged += way.merged;
        self.longest_bytes = self.longest_bytes.max(way.longest_bytes);
        self.fragments += way.fragments;
        self.elsewhere = match (self.elsewhere, way.elsewhere) {
            (Some((index, count)), Some((_, more))) => Some((index, count + more)),
            (one, other) => one.or(other),
        };
        self
    }
}

impl Handshakes {
    /// Both together.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            asked_again: self.asked_again + other.asked_again,
            answered: self.answered + other.answered,
            made: self.made + other.made,
            refused: self.refused + other.refused,
        }
    }
}
