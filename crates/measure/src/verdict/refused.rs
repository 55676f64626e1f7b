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
    /// Likewise: what it asks in its turn, a backend or another resolver, may have failed it.
    Upstream,
    /// Likewise: it, or all that is behind it, may not be able to serve at this time.
    Unavailable,
    /// Likewise: more was asked than it lets one client ask.
    Limited,
    /// Likewise: it runs, and does not serve as yet.
    NotReady,
    /// Likewise: it does not serve this client, or not this.
    Denied,
    /// Whoever shares connections out, or limits them: every request of some connections was refused, and none of the others.
    Connections,
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

/// Replies by which programs refuse, as their protocols name them.
const BY_REPLY: [(RefusedBy, &[&str]); 5] = [
    (RefusedBy::Upstream, &["502", "504", "SERVFAIL"]),
    (RefusedBy::Unavailable, &["503", "UNAVAILABLE"]),
    (RefusedBy::Limited, &["429", "RESOURCE_EXHAUSTED", "RATE", "ERR max number of clients reached"]),
    (RefusedBy::NotReady, &["LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN"]),
    (RefusedBy::Denied, &["REFUSED", "NOTAUTH", "DENIED", "NOPERM", "DENY", "RSTR"]),
];

impl RefusedBy {
    /// The program, whose refusals are replies of these kinds: by their common reason, where they have one.
    pub fn program<'a>(kinds: impl Iterator<Item = &'a str>) -> Self {
        let of = |kind: &str| {
            let found = BY_REPLY.iter().find(|(_, names)| names.contains(&kind));
            found.map_or(Self::Program, |(by, _)| *by)
        };
        let mut reasons = kinds.map(|kind| of(kind.split(',').next().unwrap_or(kind)));
        let first = reasons.next().unwrap_or(Self::Program);
        if reasons.all(|reason| reason == first) { first } else { Self::Program }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&["SERVFAIL"], RefusedBy::Upstream; "a resolver's upstream")]
    #[test_case(&["SERVFAIL, truncated"], RefusedBy::Upstream; "the same, cut")]
    #[test_case(&["502", "504"], RefusedBy::Upstream; "a proxy's backend, in two ways")]
    #[test_case(&["429"], RefusedBy::Limited; "a limit")]
    #[test_case(&["429", "503"], RefusedBy::Program; "two reasons")]
    #[test_case(&["LOADING"], RefusedBy::NotReady; "data that is loaded")]
    #[test_case(&["ERR max number of clients reached"], RefusedBy::Limited; "a server that is full")]
    #[test_case(&["REFUSED"], RefusedBy::Denied; "a server for others")]
    #[test_case(&["404"], RefusedBy::Program; "a status that was not expected")]
    fn refusals_have_the_reason_that_their_replies_give(kinds: &[&str], by: RefusedBy) {
        assert_eq!(RefusedBy::program(kinds.iter().copied()), by);
    }
}
