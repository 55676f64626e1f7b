//! The wire's verdict on a measurement, as it is kept and told.

use serde::{Deserialize, Serialize};

/// Packets of a measurement that a capture on this host saw, and whether they confirm the counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wire {
    /// Name of the interface that the measurement should have crossed: the one it was bound to, or the route's.
    pub interface: String,
    /// Largest packet of that interface, bytes of IP; absent where it could not be read.
    pub mtu_bytes: Option<u32>,
    /// The comparisons, each with its verdict.
    pub checks: Vec<Check>,
    /// True where replies were accepted by their content (the number and the session of the request, an echo of the payload):
    /// the peer's own program, or its kernel over ICMP, has answered. Absent where nothing carries such.
    pub data_echoed: Option<bool>,
    /// Packets to the peer.
    pub sent: WireWay,
    /// Packets from the peer.
    pub received: WireWay,
    /// SYNs that were sent again, a count; absent where no connection was made.
    pub syns_repeated: Option<u64>,
    /// Times of exchanges on the wire, beside those measured; absent where none could be told apart.
    pub times: Option<WireTimes>,
    /// The capture itself.
    pub capture: CaptureFacts,
}

/// One comparison of our count with the count at the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Subject of the comparison.
    pub subject: Subject,
    /// Its verdict.
    pub verdict: Verdict,
    /// Count of the measurement, warm-up included where the packets do not tell it; in the subject's unit. Absent where
    /// it has no such count.
    pub counted: Option<u64>,
    /// Count of the capture on the interface, in the subject's unit; absent where that could not be told.
    pub seen: Option<u64>,
    /// The reason why it is not established, or a possible explanation of a contradiction.
    pub reason: Option<String>,
}

/// Subject of a comparison, which is also its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Connections asked for: SYN.
    ConnectionsAsked,
    /// Connections made: SYN, SYN-ACK and ACK.
    Handshakes,
    /// SYNs that a SYN-ACK or a reset has answered.
    Answers,
    /// Requests: datagrams or echoes to the peer.
    Requests,
    /// Replies: datagrams or echoes from the peer.
    Replies,
    /// Octets of payload to the peer, each counted once.
    OctetsSent,
    /// Octets of payload from the peer, each counted once.
    OctetsReceived,
}

/// Verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Both numbers are the same.
    Verified,
    /// They differ.
    Contradicted,
    /// They could not be compared, or their difference says nothing.
    NotEstablished,
}

/// One way, on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireWay {
    /// Packets, a count; segments that were merged are one.
    pub packets: u64,
    /// Segments with octets that had passed before, a count: retransmitted.
    pub repeated_segments: u64,
    /// Those octets, bytes.
    pub repeated_bytes: u64,
    /// Segments that passed after later ones, a count: reordered, or sent again after a loss in front of this interface.
    pub late_segments: u64,
    /// Octets that never passed though later ones did, bytes: lost in front of this interface, or by the capture.
    pub missing_bytes: u64,
    /// Packets longer than the interface takes, a count: merged by segmentation or receive offload, which is usual.
    pub merged: u64,
    /// The longest packet, bytes of IP.
    pub longest_bytes: u32,
    /// Fragments of datagrams after their first, a count.
    pub fragments: u64,
    /// Packets that passed another interface, a count.
    pub elsewhere: u64,
}

/// Times on the wire: from a request's departure to its reply's arrival at this host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WireTimes {
    /// True where they are of handshakes, from SYN to SYN-ACK.
    pub of_handshakes: bool,
    /// Number of exchanges.
    pub count: u64,
    /// Shortest, nanoseconds.
    pub min_ns: i64,
    /// Median, nanoseconds.
    pub p50_ns: i64,
    /// 99th percentile, nanoseconds; absent where fewer than 10 lie beyond it.
    pub p99_ns: Option<i64>,
    /// Median of the measured times less that, nanoseconds: our system calls and our wake-up.
    pub application_less_p50_ns: Option<i64>,
    /// 99th percentile of the measured times less that, nanoseconds.
    pub application_less_p99_ns: Option<i64>,
    /// Median from driver to receive stamp, by the kernel's own stamps of a few exchanges, less that, nanoseconds.
    pub kernel_less_p50_ns: Option<i64>,
}

/// The capture itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureFacts {
    /// Packets to and from the peer that it took, a count.
    pub packets: u64,
    /// Packets that it had no room for, a count.
    pub dropped: u64,
    /// Where packets were kept: the file; absent where none were to be.
    pub file: Option<String>,
    /// Packets in that file, a count.
    pub kept: u64,
    /// Packets that were left out of it as it was full, a count.
    pub left_out: u64,
    /// Bytes kept of each packet at most.
    pub snap_bytes: u32,
}

impl Wire {
    /// The verdict of all comparisons: a contradiction weighs most.
    pub fn verdict(&self) -> Verdict {
        let any = |verdict| self.checks.iter().any(|check| check.verdict == verdict);
        match (any(Verdict::Contradicted), any(Verdict::NotEstablished) || self.checks.is_empty()) {
            (true, _) => Verdict::Contradicted,
            (_, true) => Verdict::NotEstablished,
            _ => Verdict::Verified,
        }
    }
}

impl Subject {
    /// Its name, of so many.
    pub fn of(self, count: u64) -> &'static str {
        match self {
            Self::ConnectionsAsked if count == 1 => "connection asked for",
            Self::Handshakes if count == 1 => "handshake",
            Self::Answers if count == 1 => "answer",
            Self::Requests if count == 1 => "request",
            Self::Replies if count == 1 => "reply",
            Self::OctetsSent if count == 1 => "octet sent",
            Self::OctetsReceived if count == 1 => "octet received",
            _ => self.name(),
        }
    }

    /// Its name, of several.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectionsAsked => "connections asked for",
            Self::Handshakes => "handshakes",
            Self::Answers => "answers",
            Self::Requests => "requests",
            Self::Replies => "replies",
            Self::OctetsSent => "octets sent",
            Self::OctetsReceived => "octets received",
        }
    }
}
