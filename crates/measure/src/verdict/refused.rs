//! Senders of refusals, as far as they can be told from here.

use serde::{Deserialize, Serialize};

/// Sender of refusals, by the replies of a program at work, or the ICMP errors that our kernel counted in that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RefusedBy {
    /// TCP resets: no ICMP error came. From the peer's host, or from a box that resets in its place.
    Reset,
    /// ICMP errors (port unreachable) of the peer's host itself: nothing listens on the port there.
    PortUnreachable,
    /// ICMP errors (destination unreachable), from the peer's host or from a hop before it.
    IcmpError,
    /// ICMP errors (hop limit exceeded), from a hop: packets go round, or the way is longer than their TTL.
    HopLimit,
    /// Our own kernel: it sent those errors to itself.
    OurKernel,
    /// The program that was asked: its replies said so.
    Program,
    /// Nobody by a word: the connection to a program at work ended, or no new one was opened.
    Ended,
    /// Likewise, of each: the other end closed the connection with no octet of the reply.
    Closed,
    /// Likewise, of each: the connection ended in the middle of the reply.
    Cut,
    /// Likewise, of each: the connection was reset with no octet of the reply.
    ConnectionReset,
    /// Not to be told: the kernel's counters were not read, or do not fit.
    Unknown,
}
