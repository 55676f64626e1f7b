//! Replies of a program at work, by their kind in its own protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

/// Counts of replies by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Replies {
    /// Each kind, by the name that its protocol gives it, as in `200`, `NOAUTH`, `NXDOMAIN`. Replies to the warm-up are left out; late ones
    /// are counted, and of what comes over UDP no copies.
    pub kinds: BTreeMap<String, Kind>,
    /// Replies of further kinds: sixteen are told apart on a connection.
    pub others: u64,
    /// The shortest reply, bytes; absent where none came.
    pub shortest_bytes: Option<Bytes>,
    /// The longest.
    pub longest_bytes: Option<Bytes>,
    /// Connections that were made anew, outside of all times, because the server had ended one or had sent what is no reply. Those of the warm-up
    /// are left out.
    pub renewals: u64,
    /// The first octets, escaped where they do not print, that came where a reply was due and were none, and the reason; absent where each was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// The replies whose rest came after a pause as long as this host's kernel delays an acknowledgement; absent where there
    /// were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Requests that went down with their connection, by how that ended; absent where there were none, and where it is not told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Down>,
    /// Requests without a reply that were asked behind another one that had none to the end; absent where there were none, and where replies are told
    /// apart by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// Requests that the server takes at once on a connection, by its settings, where that is fewer than were wanted in flight; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_at_once: Option<u64>,
    /// True where a reply said that the port speaks TLS, and that the request came in clear.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_tls: bool,
    /// The TCP handshake of the connections before the first request, nanoseconds, of several the median; of HTTP/3 that of QUIC, which has the
    /// TLS handshake within it. Absent where there is no connection.
    pub connect_ns: Option<Nanos>,
    /// The TLS handshake of the connections before the first request, nanoseconds, likewise; absent where the protocol goes in clear,
    /// and of HTTP/3. From the client's first words, which stood ready, until it may send. Each is a full one.
    pub tls_ns: Option<Nanos>,
    /// The outcome of the first connection's TLS handshake; absent likewise.
    pub tls: Option<Tls>,
    /// The parts of each request that took a connection of its own; absent where connections were kept.
    pub phases: Option<Phases>,
    /// The greeting or the session before the first request, nanoseconds, likewise; absent where the protocol has none.
    pub prologue_ns: Option<Nanos>,
    /// The first request of all, nanoseconds from its departure to its reply: it comes before the measurement and is in no distribution. Absent where
    /// none came before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_ns: Option<Nanos>,
    /// The requests by their classes; absent where the program was asked one thing.
    #[serde(default)]
    pub classes: Option<Classes>,
}

/// Replies that came in parts, with a pause between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// Their number.
    pub count: u64,
    /// The pauses of all of them together, nanoseconds.
    pub pauses_ns: Nanos,
}

/// Requests whose connection ended before their reply was complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Down {
    /// Number of those whose connection the other end closed with no octet of the reply.
    pub closed: u64,
    /// Number of those whose connection ended in the middle of the reply.
    pub cut: u64,
    /// Number of those whose connection was reset with no octet of the reply.
    pub reset: u64,
}

/// Connections that a reply held until the end of the run: replies come in the order of the requests, so that nothing behind it could be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stuck {
    /// Number of requests that were asked behind those without a reply.
    pub behind: u64,
    /// Number of connections on which the first part of that reply had come.
    pub begun: u64,
}

/// Requests of several classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Classes {
    /// Each class, in the order of the method.
    pub each: Vec<OfClass>,
    /// Requests that ended faster than they could be told apart: they are in none.
    pub untold: u64,
}

/// The requests of one class, without the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfClass {
    /// Its name.
    pub name: String,
    /// Requests that were due: the sum of the following five.
    pub scheduled: u64,
    /// Requests answered in time.
    pub answered: u64,
    /// Requests without a reply in time: lost, or late.
    pub unanswered: u64,
    /// Requests that were refused, by the program or by the end of their connection.
    pub refused: u64,
    /// Requests answered by octets that are no reply.
    pub corrupt: u64,
    /// Requests that were not sent, for a reason of our own side.
    pub send_failed: u64,
    /// Its replies by kind, as those of all; late ones are counted.
    pub kinds: BTreeMap<String, Kind>,
    /// Times of the answered, as those of all are taken.
    pub times: Phase,
}

/// The parts of requests with a connection each, one after the other; together they are a request's whole time. Names as those of curl and of
/// HTTP Archive: `time_connect`, `time_appconnect`, `time_starttransfer`; `connect`, `ssl`, `wait`, `receive`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phases {
    /// The TCP handshake; of HTTP/3 that of QUIC, which has the TLS handshake within it.
    pub connect: Phase,
    /// The TLS handshake, from the client's first words; absent where the protocol goes in clear, and of HTTP/3.
    pub tls: Option<Phase>,
    /// The number of TLS handshakes among them that took up an earlier session; the others were full. Absent where the protocol goes in clear.
    #[serde(default)]
    pub resumed: Option<u64>,
    /// The greeting or the session before the request; absent where the protocol has none.
    pub greeting: Option<Phase>,
    /// From the request to the first octet of its reply.
    pub wait: Phase,
    /// From the first octet of the reply to its last.
    pub receive: Phase,
}

/// The times of one part of the requests that were answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Their number.
    pub count: u64,
    /// The shortest, nanoseconds.
    pub min_ns: Option<Nanos>,
    /// The median, nanoseconds, to three significant digits; absent, as the others, where it has too few values beyond it.
    pub p50_ns: Option<Nanos>,
    /// The 90th percentile, nanoseconds.
    pub p90_ns: Option<Nanos>,
    /// The 99th percentile, nanoseconds.
    pub p99_ns: Option<Nanos>,
    /// The longest, nanoseconds.
    pub max_ns: Option<Nanos>,
}

/// The outcome of a TLS handshake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tls {
    /// The version, as `TLS 1.3`.
    pub version: String,
    /// The cipher suite, by its registered name; absent of HTTP/3, where it is not told.
    #[serde(default)]
    pub cipher_suite: Option<String>,
    /// True where the server's certificate was verified; otherwise anybody may have answered.
    pub verified: bool,
    /// The number of seconds from the begin of 1970 (UTC) to the end of the first of the server's certificates; absent where none was understood.
    #[serde(default)]
    pub valid_until_s: Option<u64>,
}

/// Replies of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kind {
    /// Their number.
    pub count: u64,
    /// True where their requests count as answered; otherwise they count as refused.
    pub answers: bool,
}

impl Replies {
    /// Adds `count` replies of a kind.
    pub fn add(&mut self, name: String, answers: bool, count: u64) {
        self.kinds.entry(name).or_insert(Kind { count: 0, answers }).count += count;
    }

    /// Shortest and longest together with those of another connection.
    pub fn stretch(&mut self, shortest: Bytes, longest: Bytes) {
        self.shortest_bytes = Some(self.shortest_bytes.map_or(shortest, |other| other.min(shortest)));
        self.longest_bytes = self.longest_bytes.max(Some(longest));
    }

    /// Kinds that came since `earlier`, an older state of the same counts.
    pub fn kinds_since(&self, earlier: &Self) -> BTreeMap<String, Kind> {
        let before = |name| earlier.kinds.get(name).map_or(0, |kind| kind.count);
        let news = self.kinds.iter().map(|(name, kind)| {
            (name.clone(), Kind { count: kind.count.saturating_sub(before(name)), answers: kind.answers })
        });
        news.filter(|(_, kind)| kind.count > 0).collect()
    }

    /// Kinds from the most frequent on.
    pub fn ranked(&self) -> Vec<(&str, Kind)> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_several_connections_come_together() {
        let mut replies = Replies::default();
        replies.add("200".into(), true, 3);
        replies.add("503".into(), false, 9);
        replies.add("200".into(), true, 2);
        let earlier = replies.clone();
        replies.add("503".into(), false, 1);
        let since = BTreeMap::from([("503".to_owned(), Kind { count: 1, answers: false })]);
        assert_eq!(replies.kinds_since(&earlier), since);
        replies.stretch(Bytes(150), Bytes(151));
        replies.stretch(Bytes(90), Bytes(90));
        let ranked = [("503", Kind { count: 10, answers: false }), ("200", Kind { count: 5, answers: true })];
        assert_eq!(replies.ranked(), ranked);
        assert_eq!((replies.shortest_bytes, replies.longest_bytes), (Some(Bytes(90)), Some(Bytes(151))));
    }
}
