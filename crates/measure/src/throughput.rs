//! What a stream carried: bytes and calls at each end, by interval and in all, and the rates that follow.
//!
//! A [`meter::Meter`] counts while an engine runs; [`Throughput::of`] makes of it what is kept. Rates are bytes over the
//! time of our end, for both ends: one clock. Invariant: the intervals of a stream add up to what our end carried.

pub mod meter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::meter::Metered;
use crate::method::Direction;
use crate::outcome::{Distribution, SocketFacts};
use crate::statistics::summary;
use crate::unit::{Bytes, Nanos};

/// What was found out about a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Which way it went, seen from our end.
    pub direction: Direction,
    /// From the start of the stream to its end as our end saw it, in nanoseconds: with what it took to drain, where our
    /// end waited for that.
    pub elapsed_ns: Nanos,
    /// What our end's calls carried.
    pub ours: Carried,
    /// What the peer's calls carried, as it told; absent where it told nothing.
    pub theirs: Option<Theirs>,
    /// Bytes per second that were handed to the kernel of the sending end, over our time; absent where that end is the
    /// peer's and told nothing, or where there was no time.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes per second that the receiving end's program had, over our time; absent where that end is the peer's and told
    /// nothing, or where there was no time.
    pub received_bytes_per_s: Option<f64>,
    /// How long our end's calls took; only where that was asked for. A call that waits for room or for data says how the
    /// stream was held up, not how long anything was on its way.
    pub calls: Option<Distribution>,
    /// What our end carried by interval, all threads together.
    pub intervals: Vec<Interval>,
    /// What each connection's socket really got.
    pub sockets: Vec<SocketFacts>,
}

/// What the peer told of its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Theirs {
    /// What its calls carried.
    #[serde(flatten)]
    pub carried: Carried,
    /// How long the stream was by its own clock, in nanoseconds; absent where it did not tell.
    pub elapsed_ns: Option<Nanos>,
}

/// What the calls of one end carried, one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Bytes of payload that the kernel took or gave.
    pub bytes: Bytes,
    /// Calls that carried something; of datagrams: how many.
    pub calls: u64,
    /// Calls that our own side could not make, for want of a buffer: what they were to send was sent by nobody, so no
    /// network lost it. A count of calls.
    pub failed_calls: u64,
}

/// An interval of a stream as it went by; the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start, nanoseconds after the start of the measurement.
    pub at_ns: Nanos,
    /// How long it was, in nanoseconds.
    pub length_ns: Nanos,
    /// What was carried in it.
    #[serde(flatten)]
    pub carried: Carried,
}

impl Throughput {
    /// What is to be kept of a stream that went `direction`, as our end and the peer's metered it.
    pub fn of(direction: Direction, metered: &Metered, theirs: Option<Theirs>, sockets: Vec<SocketFacts>) -> Self {
        let elapsed_ns = metered.elapsed();
        let rate = |carried: &Carried| per_second(carried.bytes, elapsed_ns);
        let (ours, far) = (rate(&metered.carried), theirs.and_then(|theirs| rate(&theirs.carried)));
        let (sent_bytes_per_s, received_bytes_per_s) = match direction {
            Direction::Send => (ours, far),
            Direction::Receive => (far, ours),
        };
        Self {
            direction,
            elapsed_ns,
            ours: metered.carried,
            theirs,
            sent_bytes_per_s,
            received_bytes_per_s,
            calls: metered.calls.as_ref().map(summary::distribution),
            intervals: merged(&metered.intervals),
            sockets,
        }
    }
}

/// Bytes per second; `None` where there was no time.
pub fn per_second(bytes: Bytes, time: Nanos) -> Option<f64> {
    (time > Nanos::ZERO).then(|| bytes.0 as f64 / time.as_secs_f64())
}

impl Carried {
    /// Adds what another part of the same stream carried.
    pub fn add(&mut self, other: &Self) {
        self.bytes.0 += other.bytes.0;
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
    }

    /// What was carried since `earlier`, an older state of the same counts.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.0.saturating_sub(earlier.bytes.0)),
            calls: self.calls.saturating_sub(earlier.calls),
            failed_calls: self.failed_calls.saturating_sub(earlier.failed_calls),
        }
    }
}

/// The intervals of all threads together, by their number from the start.
fn merged(threads: &[Vec<Interval>]) -> Vec<Interval> {
    let most = threads.iter().map(Vec::len).max().unwrap_or(0);
    let at = |place: usize| threads.iter().filter_map(move |thread| thread.get(place));
    (0..most).filter_map(|place| at(place).copied().reduce(|one, other| one.beside(&other))).collect()
}

impl Interval {
    /// This interval and another thread's of the same time as one.
    fn beside(mut self, other: &Self) -> Self {
        self.at_ns = self.at_ns.min(other.at_ns);
        self.length_ns = self.length_ns.max(other.length_ns);
        self.carried.add(&other.carried);
        self
    }

    /// This interval and the one that followed it as one.
    fn then(mut self, next: &Self) -> Self {
        self.length_ns = Nanos(self.length_ns.0 + next.length_ns.0);
        self.carried.add(&next.carried);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::meter::Meter;
    use super::*;
    use crate::unit::Instant;

    fn metered(keeps: usize) -> Metered {
        let mut meter = Meter::new(keeps);
        meter.begin(Instant(1_000));
        for n in 0..10_u64 {
            let before = Instant(1_000 + n * 100_000_000);
            meter.moved(1_000);
            meter.took(before, before.after(Nanos(500 + n)));
        }
        meter.failed();
        meter.interval(Instant(1_000).after(Nanos::secs(1)));
        meter.moved(24);
        meter.finish(Instant(1_000).after(Nanos::secs(2)))
    }

    #[test]
    fn rates_are_bytes_over_the_time_of_our_end() {
        let theirs =
            Theirs { carried: Carried { bytes: Bytes(9_000), ..Carried::default() }, elapsed_ns: Some(Nanos::secs(9)) };
        let sent = Throughput::of(Direction::Send, &metered(0), Some(theirs), Vec::new());
        assert_eq!((sent.sent_bytes_per_s, sent.received_bytes_per_s), (Some(5_012.0), Some(4_500.0)));
        let received = Throughput::of(Direction::Receive, &metered(0), None, Vec::new());
        assert_eq!((received.sent_bytes_per_s, received.received_bytes_per_s), (None, Some(5_012.0)));
    }

    #[test]
    fn no_time_is_no_rate() {
        let mut meter = Meter::new(0);
        meter.begin(Instant(5));
        let none = Throughput::of(Direction::Send, &meter.finish(Instant(5)), None, Vec::new());
        assert_eq!((none.sent_bytes_per_s, none.elapsed_ns), (None, Nanos::ZERO));
    }

    #[test]
    fn calls_are_timed_where_that_was_asked_for() {
        let timed = Throughput::of(Direction::Send, &metered(100), None, Vec::new()).calls.unwrap();
        assert_eq!((timed.count, timed.min_ns, timed.max_ns), (10, Some(Nanos(500)), Some(Nanos(509))));
        assert_eq!(Throughput::of(Direction::Send, &metered(0), None, Vec::new()).calls, None);
    }

    #[test]
    fn threads_add_up_by_interval_and_in_all() {
        let mut both = metered(10);
        both.merge(metered(10));
        assert_eq!(both.carried, Carried { bytes: Bytes(20_048), calls: 22, failed_calls: 2 });
        let whole = Throughput::of(Direction::Send, &both, None, Vec::new());
        let bytes: Vec<u64> = whole.intervals.iter().map(|interval| interval.carried.bytes.0).collect();
        assert_eq!(bytes, [20_000, 48]);
        assert_eq!(whole.calls.unwrap().count, 20);
    }
}
