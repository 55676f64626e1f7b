//! Limits that stand on the path: a queue that the stream fills, a policer, losses at each rate.

use super::ends::{CROWDED, SHUT, SLOW, THROTTLED};
use super::reason::{Reason, Untested, Untried};
use super::{EndSeen, Evidence, LOSSES, Limit, Limiter, found};
use crate::unit::Nanos;

/// Delay that the stream's own round trips gain, beyond the path's own, from which a queue made it.
const QUEUE: Nanos = Nanos::millis(5);
/// Smaller growth, by itself and as a share of the shortest, from which losses may be those of a queue that the stream fills.
const OWN_QUEUE: Nanos = Nanos::millis(3);
const OWN_TIMES: f64 = 0.25;
/// Ratio of the growth of the stream's round trips to the mean wait of slower datagrams beside it, at least: a path of
/// uneven delay makes them wait too, each way half.
const EVEN: u64 = 4;
/// Likewise where both ends do next to nothing, so that neither makes round trips longer: so much, and so many times the shortest.
const IDLE_QUEUE: Nanos = Nanos::micros(300);
const IDLE_TIMES: f64 = 4.0;
/// Share of the time below which an end's busiest thread, with its waits, does next to nothing.
const IDLE: f64 = 0.25;
/// Bytes of a packet that are none of a segment's payload, at most, so that an MSS that a kernel halved for a small window is not called small.
const HEADERS: u64 = 100;
/// Looks at the smoothed round trip from which its middle one is no accident.
const IDLE_LOOKS: usize = 3;

impl Evidence {
    /// Returns the growth of the stream's own round trips, at least `least` and so many `times` the shortest; `None`
    /// where they did not grow, or where a wait for a processor or a reader caused it.
    fn grew(&self, least: Nanos, times: f64) -> Option<Nanos> {
        let tcp = self.tcp.filter(|tcp| tcp.window_limited.unwrap_or(0.0) < SHUT)?;
        let (rtt, min) = (tcp.rtt?, tcp.min_rtt?);
        let grew = Nanos(rtt.0.saturating_sub(min.0));
        let crowded = [&self.sender, &self.receiver].iter().any(|end| end.waiting_thread.unwrap_or(0.0) >= CROWDED);
        (grew >= least && grew.0 as f64 >= min.0 as f64 * times && !crowded).then_some(grew)
    }

    /// Returns the growth of the stream's own round trips.
    pub(super) fn queue(&self) -> Option<Nanos> {
        self.grew(QUEUE, 1.0)
    }

    /// Returns a smaller growth of the stream's own round trips, where nothing else can have caused it: both ends idle
    /// and not kept from running, no window or buffer waited for, nothing lost.
    fn idle_queue(&self) -> Option<Nanos> {
        let tcp = self.tcp.filter(|tcp| tcp.buffer_limited.unwrap_or(0.0) < SHUT)?;
        let idle = |end: &EndSeen| {
            let does_little = end.busiest_thread.is_some() && end.taken() < IDLE && end.softirq.unwrap_or(0.0) < SLOW;
            does_little && end.throttled.is_some_and(|share| share < THROTTLED)
        };
        let alone = tcp.rtts >= IDLE_LOOKS && self.losses().is_none() && idle(&self.sender) && idle(&self.receiver);
        self.grew(IDLE_QUEUE, IDLE_TIMES).filter(|_| alone)
    }

    pub(super) fn by_path(&self) -> Limit {
        let needless = self.needless();
        let again =
            self.tcp.and_then(|tcp| tcp.retransmitted).filter(|_| self.losses().is_some() || needless.is_some());
        let lost = match self.tcp {
            Some(_) => again.map(|share| Reason::Retransmitted { share }),
            None => self.losses().map(|share| Reason::DatagramsLost { share }),
        };
        let (moved, tried) = match &self.moved {
            Ok(moved) => {
                // Datagrams that come after the stream meet the path as it was at its end.
                let at_the_end = self.later_bytes_per_s.or(self.received_bytes_per_s);
                let each = at_the_end.map(|rate| rate / f64::from(self.streams.max(1)));
                let (limiter, mut tried) = moved.tells(self.losses(), self.received_bytes_per_s, each);
                let is_of_each = self.streams > 1 && limiter.is_some() && moved.is_below_all();
                tried.extend(is_of_each.then_some(Reason::AsMuchAsEach));
                (limiter, tried)
            }
            Err(untried) => (None, self.untried(*untried)),
        };
        // A stream that fills a queue loses what that drops; what the path takes of datagrams beside it may be none of its own.
        let fills = self.grew(OWN_QUEUE, OWN_TIMES).is_some();
        let moved = moved.filter(|limiter| *limiter != Limiter::Loss || !fills);
        let idle = self.idle_queue();
        let made = idle.filter(|grew| self.is_of_the_stream(*grew));
        let limiter = moved.or(made.map(|_| Limiter::Congestion)).unwrap_or(Limiter::NotDetermined);
        let trips = self.tcp.and_then(|tcp| tcp.rtt.zip(tcp.min_rtt)).filter(|_| idle.or(self.queue()).is_some());
        let queue = trips.map(|(rtt_ns, shortest_ns)| Reason::RoundTrips { rtt_ns, shortest_ns, idle: made.is_some() });
        let alone = self.loses_alone().then_some(Reason::OnlyStreamLoses);
        let marked = self.tcp.and_then(|tcp| tcp.marked).filter(|share| *share >= LOSSES);
        let marked = marked.map(|share| Reason::Marked { share });
        let unremarkable = if limiter == Limiter::NotDetermined { self.unremarkable() } else { Vec::new() };
        let small = if limiter == Limiter::NotDetermined { self.small_segments() } else { None };
        let finds_one = lost.is_some() && self.tcp.is_some_and(|tcp| tcp.cumulative);
        let needless = needless.map(|share| Reason::Needless { share });
        let acks = needless.into_iter().chain(finds_one.then_some(Reason::CumulativeAcks));
        let own = lost.into_iter().chain(acks).chain(marked).chain(queue).chain(small);
        found(limiter, own.chain(tried).chain(alone).chain(unremarkable).collect())
    }

    /// Returns the segments where they are far smaller than the path allows: what counts packets then lets less through.
    fn small_segments(&self) -> Option<Reason> {
        let (mss_bytes, path_mtu_bytes) = self.tcp?.segments?;
        (mss_bytes.0.saturating_add(HEADERS).saturating_mul(2) < path_mtu_bytes.0)
            .then_some(Reason::SmallSegments { mss_bytes, path_mtu_bytes })
    }

    /// True where the stream lost, and no datagram beside it did, as fast and faster.
    fn loses_alone(&self) -> bool {
        let (Ok(moved), Some(rate), Some(_), Some(_), None) =
            (&self.moved, self.received_bytes_per_s, self.losses(), self.tcp, self.needless())
        else {
            return false;
        };
        moved.carried_more(rate) && moved.lost_nothing()
    }

    /// Returns true where the stream caused the growth of its round trips: the path let nothing faster through beside it, and
    /// slower datagrams waited far less. False where none were sent, for then it is unknown.
    fn is_of_the_stream(&self, grew: Nanos) -> bool {
        let (Ok(moved), Some(rate)) = (&self.moved, self.received_bytes_per_s) else { return false };
        let slowest = moved.legs.first().filter(|leg| leg.left()).and_then(|leg| leg.datagrams.waited_ns);
        slowest.is_some_and(|waited| waited * EVEN as f64 <= grew.0 as f64) && !moved.carried_more(rate)
    }

    /// Returns the test that was not made, with the reason; empty where it would have shown nothing.
    fn untried(&self, why: Untried) -> Vec<Reason> {
        let what = if self.losses().is_some() {
            Untested::Losses
        } else if self.queue().or(self.idle_queue()).is_some() {
            Untested::RoundTrips
        } else {
            return Vec::new();
        };
        vec![Reason::NotTested { what, why }]
    }
}
