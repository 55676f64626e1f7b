//! The hops of a path, traced by flow: the record of the judgement of [`crate::hops`].

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// The hops that packets of some connections passed. Each probe had addresses and ports of its connection, or one identifier, and a TTL of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hops {
    /// Protocol of the probes.
    pub protocol: Probing,
    /// Times that each hop of each flow was asked at the most; a count.
    pub rounds: u32,
    /// The largest TTL, a count of hops.
    pub max_hops: u8,
    /// The wait for an answer, nanoseconds.
    pub timeout_ns: Nanos,
    /// Each traced flow.
    pub each: Vec<TracedFlow>,
    /// Flows that are compared: of each group of times those of each way that was found.
    pub sides: Vec<Side>,
    /// The largest packets that get as far as each hop, of the first flow of each side; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mtu: Vec<PathMtu>,
    /// Addresses whose answers came back with different TTLs: their ways back differ in length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<Returns>,
}

/// Protocol of the probes of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// SYNs.
    Tcp,
    /// Datagrams.
    Udp,
    /// Echo requests of ICMP; their identifier and their checksum are those of the flow.
    Icmp,
}

/// The hops of one flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedFlow {
    /// The number of its connection from 0, in the order of `sockets`.
    pub flow: u32,
    /// Its hops by TTL, from 1.
    pub hops: Vec<Hop>,
    /// The least TTL at which the peer itself answered, a count of hops; absent where it did not.
    pub reached: Option<u8>,
    /// True where an address answered again behind another one: packets went round, or hops share an address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub circles: bool,
    /// The reason why no more probes left this host; absent where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Flows that are compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Their group of times, its number from 0 in `flows.groups`; absent where there is one group.
    pub group: Option<u32>,
    /// Their way, its number from 0; absent where one way was found, and of flows without an answer where ways differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<u32>,
    /// The flows, by the number of their connection from 0.
    pub flows: Vec<u32>,
    /// Their hops by TTL, from 1, all flows together.
    pub hops: Vec<Hop>,
    /// Its parting from the way of the first side; absent of the first.
    pub parting: Option<Parting>,
}

/// Answers at one TTL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hop {
    /// TTL of the probes, a count of hops.
    pub ttl: u8,
    /// Probes that left; a count.
    pub sent: u64,
    /// Probes that were answered in time; a count.
    pub answered: u64,
    /// Those who answered, the most frequent first.
    pub addresses: Vec<Answering>,
    /// Shortest time from the send to the answer, nanoseconds: that of a slow path of the hop, no part of a longer path's time.
    pub min_ns: Option<Nanos>,
    /// Median of these times, nanoseconds.
    pub p50_ns: Option<Nanos>,
    /// Longest of these times, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<Nanos>,
    /// Answers that were timed by the kernel; a count. The others are timed by this program's clock, its waking up included.
    pub stamped: u64,
    /// True where the peer itself was among those who answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub peer: bool,
    /// True where packets of one flow met several addresses, and came back to one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_packet: bool,
    /// Lower end of the share of probes lost up to here, 0 to 1 (one-sided, 95 %); absent unless loss was shown: an unanswered probe
    /// counts as lost only where later hops, the peer above all, answer no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<f64>,
}

/// One address that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answering {
    /// The address.
    pub address: IpAddr,
    /// Its answers; a count.
    pub answers: u64,
    /// Flows that it answered; a count.
    pub flows: u64,
    /// TTLs that its answers had left on arrival, hops, ascending; absent of answers without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_ttls: Vec<u8>,
    /// Type and code of the ICMP error by which it ended the way; absent of hops that were passed, and of a peer that answered by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<(u8, u8)>,
}

/// The parting of two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parting {
    /// The first TTL at which no address answers both, a count of hops; absent where none was found.
    pub first_apart: Option<u8>,
    /// The last TTL before it at which an address answers both, a count of hops; 0 is this host. Without `first_apart` the last one of all. Where it is
    /// not the neighbour of `first_apart`, the hop where they part is not established.
    pub last_common: u8,
    /// True where it cannot be told of some hop if it is the same: it was silent, or answered too few to tell ways from balancing per packet.
    pub gaps: bool,
}

/// The largest packets that get as far as the hops of a flow's path, by datagrams that may not be cut. They are whole IP packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathMtu {
    /// The number of its connection from 0.
    pub flow: u32,
    /// MTU of this host's interface, bytes.
    pub interface_bytes: u32,
    /// Hops that only smaller ones reach, ascending.
    pub narrower: Vec<Narrower>,
    /// The last hop up to which it is shown, a count of hops; 0: none. Hops that answer nothing show nothing.
    pub shown_to: u8,
}

/// A hop behind a link that takes less than those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Narrower {
    /// The first TTL at which it is shown, a count of hops.
    pub ttl: u8,
    /// The largest packet that gets there, bytes.
    pub bytes: u32,
    /// The hop that says so; absent where none does.
    pub by: Option<IpAddr>,
    /// The smallest packet that vanishes without a word, bytes; absent where a hop says that it is too big.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vanishing_bytes: Option<u32>,
}

/// An address whose answers took ways of different length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Returns {
    /// The address.
    pub address: IpAddr,
    /// TTLs that its answers had left on arrival, hops, ascending.
    pub reply_ttls: Vec<u8>,
}
