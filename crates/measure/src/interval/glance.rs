//! State of a sending socket's TCP at an instant: the part of `TCP_INFO` that shows why a stream is no faster.

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

/// State of one connection as its kernel sees it. Counts and times are since the connection began; fields that this kernel does
/// not report are absent. Source: include/uapi/linux/tcp.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpGlance {
    /// Segments retransmitted since the connection began.
    pub retransmits: Option<u64>,
    /// Bytes of payload sent, retransmissions included.
    pub sent_bytes: Option<Bytes>,
    /// Part of `sent_bytes` that was retransmitted.
    pub retransmitted_bytes: Option<Bytes>,
    /// Segments that the peer acknowledged, a count.
    pub delivered: Option<u64>,
    /// Those of them that it says arrived with a congestion mark (ECN CE, RFC 3168), a count.
    pub delivered_marked: Option<u64>,
    /// Bytes that the peer acknowledged.
    pub acknowledged_bytes: Option<Bytes>,
    /// Congestion window, in bytes: segments times the size of one.
    pub cwnd_bytes: Option<Bytes>,
    /// The peer's receive window, in bytes.
    pub snd_wnd_bytes: Option<Bytes>,
    /// Bytes of payload in a segment.
    pub mss_bytes: Option<Bytes>,
    /// Path MTU, bytes of IP.
    pub pmtu_bytes: Option<Bytes>,
    /// Smoothed round trip, in nanoseconds. It holds the peer's delayed acknowledgements: no latency.
    pub rtt_ns: Option<Nanos>,
    /// Mean deviation of the smoothed round trip, in nanoseconds.
    pub rttvar_ns: Option<Nanos>,
    /// Smallest round trip, in nanoseconds.
    pub min_rtt_ns: Option<Nanos>,
    /// Segments by which arrivals at the peer may be out of order before loss is assumed.
    pub reordering: Option<u32>,
    /// Times that a reordering was seen on the way to the peer.
    pub reorderings: Option<u32>,
    /// Latest estimate of the rate of delivery, bytes per second.
    pub delivery_bytes_per_s: Option<u64>,
    /// Rate that TCP paces at, bytes per second; absent where it does not pace.
    pub pacing_bytes_per_s: Option<u64>,
    /// Time with something to send or outstanding, in nanoseconds.
    pub busy_ns: Option<Nanos>,
    /// Part of `busy_ns` in which the peer's receive window held TCP back, in nanoseconds.
    pub rwnd_limited_ns: Option<Nanos>,
    /// Part of `busy_ns` in which our send buffer held TCP back, in nanoseconds.
    pub sndbuf_limited_ns: Option<Nanos>,
}

impl TcpGlance {
    /// The same connection with what it counted since `earlier`, an older state of it; sizes and round trips are those of
    /// now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let count = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        let bytes = |now: Option<Bytes>, then: Option<Bytes>| count(now.map(|b| b.0), then.map(|b| b.0)).map(Bytes);
        let time = |now: Option<Nanos>, then: Option<Nanos>| count(now.map(|n| n.0), then.map(|n| n.0)).map(Nanos);
        Self {
            retransmits: count(self.retransmits, earlier.retransmits),
            sent_bytes: bytes(self.sent_bytes, earlier.sent_bytes),
            retransmitted_bytes: bytes(self.retransmitted_bytes, earlier.retransmitted_bytes),
            delivered: count(self.delivered, earlier.delivered),
            delivered_marked: count(self.delivered_marked, earlier.delivered_marked),
            acknowledged_bytes: bytes(self.acknowledged_bytes, earlier.acknowledged_bytes),
            busy_ns: time(self.busy_ns, earlier.busy_ns),
            rwnd_limited_ns: time(self.rwnd_limited_ns, earlier.rwnd_limited_ns),
            sndbuf_limited_ns: time(self.sndbuf_limited_ns, earlier.sndbuf_limited_ns),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_differences_and_states_are_those_of_now() {
        let then = TcpGlance {
            retransmits: Some(3),
            busy_ns: Some(Nanos(10)),
            rtt_ns: Some(Nanos(7)),
            ..TcpGlance::default()
        };
        let now = TcpGlance {
            retransmits: Some(5),
            busy_ns: Some(Nanos(110)),
            rtt_ns: Some(Nanos(9)),
            acknowledged_bytes: Some(Bytes(4)),
            ..TcpGlance::default()
        };
        let between = now.since(&then);
        assert_eq!((between.retransmits, between.busy_ns, between.rtt_ns), (Some(2), Some(Nanos(100)), Some(Nanos(9))));
        assert_eq!((between.acknowledged_bytes, between.sndbuf_limited_ns), (Some(Bytes(4)), None));
    }
}
