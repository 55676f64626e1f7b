//! Payload of a stream: bytes and calls at each end, by interval and in all, and the rates that follow.
//!
//! A [`meter::Meter`] counts while an engine runs; [`Throughput::of`] turns its counts into the result. Rates are bytes over the
//! time of our end, for both ends: one clock; of a receiving peer over its own time where that is longer, for a queue on the path lets
//! go of what it holds after our end is done. Invariant: the intervals of a stream add up to the total of our end.

pub mod change;
pub mod detail;
pub mod latency;
pub mod limit;
pub mod meter;
pub mod silence;

use serde::{Deserialize, Serialize};

use self::detail::Detail;
use self::latency::UnderLoad;
use self::meter::{Metered, StreamCount};
use crate::frames::Frames;
use crate::interval::arrivals::Datagrams;
use crate::interval::glance::TcpGlance;
pub use crate::interval::{Carried, Interval};
use crate::method::Direction;
use crate::outcome::{Distribution, SocketFacts};
use crate::statistics::summary;
use crate::unit::{Bytes, Nanos};

/// Result of a throughput measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Direction of the streams, seen from our end; streams of both directions have a result each.
    pub direction: Direction,
    /// From the start of the stream to its end as our end saw it, in nanoseconds: with the time to drain, where our
    /// end waited for that.
    pub elapsed_ns: Nanos,
    /// Payload of our end's calls.
    pub ours: Carried,
    /// Payload of the peer's calls, as it reported; absent where it reported nothing.
    pub theirs: Option<Theirs>,
    /// Bytes per second that were handed to the kernel of the sending end, over our time, of several streams for a set time each over its own;
    /// absent where that end is the peer's and told nothing, or where there was no time.
    pub sent_bytes_per_s: Option<f64>,
    /// Bytes per second that the receiving end's program had, over our time, or the peer's where that end is the peer's and its time is
    /// longer, of several streams for a set time each over its own; absent where that end is the peer's and told nothing, or where there was no time.
    pub received_bytes_per_s: Option<f64>,
    /// Durations of our end's calls; absent unless requested. A call that waits for room or for data shows how the
    /// stream was held up, not how long anything was on its way.
    pub calls: Option<Distribution>,
    /// Payload of our end by interval, all threads together.
    pub intervals: Vec<Interval>,
    /// Our end of each stream, in the order in which they were made; the intervals above are all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<Stream>,
    /// Settings and counts of each connection's socket, as the kernel reported them.
    pub sockets: Vec<SocketFacts>,
    /// Further results, where both ends are ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<Detail>>,
    /// The other way of streams that went both ways at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Box<Self>>,
    /// Effect of the streams on the round trip of an exchange beside them; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Box<UnderLoad>>,
}

/// One stream of several, or the only one, as our end saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// Payload of our end's calls.
    #[serde(flatten)]
    pub carried: Carried,
    /// From its start to its end, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// State of its sender's TCP at the end, counted from the end of the warm-up; absent for a receiver and for datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpGlance>,
    /// Counts of its receiver; absent for a sender, for TCP, and where datagrams have no numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Its intervals.
    pub intervals: Vec<Interval>,
}

/// State of a way beside the payload of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sight {
    /// Its sender's TCP; absent for a receiver and for datagrams.
    pub tcp: Option<TcpGlance>,
    /// Counts of a receiver of numbered datagrams since its start; transit times are those since the sight before.
    pub datagrams: Option<Datagrams>,
    /// Counts of frames since its start, where its payload is frames; times are those since the sight before.
    pub frames: Option<Frames>,
}

impl Sight {
    /// Returns its counts since `earlier`, an older sight of the same way.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            tcp: self.tcp.map(|tcp| tcp.since(&earlier.tcp.unwrap_or_default())),
            datagrams: self.datagrams.map(|datagrams| datagrams.since(&earlier.datagrams.unwrap_or_default())),
            frames: self.frames.map(|frames| frames.since(&earlier.frames.unwrap_or_default())),
        }
    }
}

/// Report of the peer about its end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Theirs {
    /// Payload of its calls.
    #[serde(flatten)]
    pub carried: Carried,
    /// Length of the stream by its own clock, in nanoseconds; absent where it did not report it.
    pub elapsed_ns: Option<Nanos>,
}

impl Throughput {
    /// Makes the result of a stream that went `direction`, as our end and the peer's metered it.
    pub fn of(direction: Direction, metered: &Metered, theirs: Option<Theirs>, sockets: Vec<SocketFacts>) -> Self {
        let elapsed_ns = metered.elapsed();
        let ours = per_second(metered.carried.bytes, elapsed_ns);
        let far = |time: Nanos| theirs.and_then(|theirs| per_second(theirs.carried.bytes, time));
        let (sent_bytes_per_s, received_bytes_per_s) = match direction {
            Direction::Send | Direction::Both => {
                let drained = theirs.and_then(|theirs| theirs.elapsed_ns).unwrap_or_default();
                (ours, far(drained.max(elapsed_ns)))
            }
            Direction::Receive => (far(elapsed_ns), ours),
        };
        Self {
            direction,
            elapsed_ns,
            ours: metered.carried,
            theirs,
            sent_bytes_per_s,
            received_bytes_per_s,
            calls: metered.calls.as_ref().map(summary::distribution),
            intervals: merged(&metered.intervals().collect::<Vec<_>>()),
            streams: metered.streams.iter().map(Stream::of).collect(),
            sockets,
            detail: None,
            back: None,
            latency: None,
        }
    }
}

impl Throughput {
    /// Has the rates of several streams be the sums of those that each had over its own time; `theirs` are the peer's ends of them, in the same
    /// order. Where all send for a set time, one that drains long after the others has not slowed them.
    pub fn rate_by_stream(&mut self, theirs: &[Stream]) {
        if self.streams.len() < 2 {
            return;
        }
        let sum = |streams: &mut dyn Iterator<Item = (Bytes, Nanos)>| {
            streams.map(|(bytes, time)| per_second(bytes, time)).sum::<Option<f64>>()
        };
        let ours = sum(&mut self.streams.iter().map(|ours| (ours.carried.bytes, ours.elapsed_ns)));
        let paired = || self.streams.iter().zip(theirs).filter(|_| theirs.len() == self.streams.len());
        let sends = self.direction == Direction::Send;
        let far = |(ours, theirs): (&Stream, &Stream)| {
            let drained = if sends { theirs.elapsed_ns } else { Nanos::ZERO };
            (theirs.carried.bytes, ours.elapsed_ns.max(drained))
        };
        let far = paired().next().and_then(|_| sum(&mut paired().map(far)));
        let (sent, received) = if sends { (ours, far) } else { (far, ours) };
        self.sent_bytes_per_s = self.sent_bytes_per_s.and(sent).or(self.sent_bytes_per_s);
        self.received_bytes_per_s = self.received_bytes_per_s.and(received).or(self.received_bytes_per_s);
    }
}

/// Bytes per second; `None` where there was no time.
pub fn per_second(bytes: Bytes, time: Nanos) -> Option<f64> {
    (time > Nanos::ZERO).then(|| bytes.0 as f64 / time.as_secs_f64())
}

impl Carried {
    /// Adds the payload of another part of the same stream.
    pub fn add(&mut self, other: &Self) {
        self.bytes.0 += other.bytes.0;
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
    }

    /// Returns the payload since `earlier`, an older state of the same counts.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.0.saturating_sub(earlier.bytes.0)),
            calls: self.calls.saturating_sub(earlier.calls),
            failed_calls: self.failed_calls.saturating_sub(earlier.failed_calls),
        }
    }
}

/// The intervals of all threads together, by their number from the start.
fn merged(threads: &[&[Interval]]) -> Vec<Interval> {
    let most = threads.iter().map(|thread| thread.len()).max().unwrap_or(0);
    let at = |place: usize| threads.iter().filter_map(move |thread| thread.get(place));
    (0..most).filter_map(|place| at(place).copied().reduce(|one, other| one.beside(&other))).collect()
}

impl Interval {
    /// This interval and another thread's of the same time as one.
    fn beside(mut self, other: &Self) -> Self {
        self.at_ns = self.at_ns.min(other.at_ns);
        self.length_ns = self.length_ns.max(other.length_ns);
        self.carried.add(&other.carried);
        self.tcp = None;
        self.datagrams = both(self.datagrams, other.datagrams, Datagrams::and);
        self
    }

    /// This interval and the one that followed it as one.
    #[must_use]
    pub fn then(mut self, next: &Self) -> Self {
        self.length_ns = Nanos(self.length_ns.0 + next.length_ns.0);
        self.carried.add(&next.carried);
        self.tcp = next.tcp.or(self.tcp);
        self.datagrams =
            both(self.datagrams, next.datagrams, |one, next| Datagrams { jitter_ns: next.jitter_ns, ..one.and(next) });
        self
    }
}

/// Two parts as one, or the one that there is.
fn both<T: Copy>(one: Option<T>, other: Option<T>, and: impl FnOnce(&T, &T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(and(&one, &other)),
        (one, other) => one.or(other),
    }
}

impl Stream {
    /// Makes the result of one stream.
    pub fn of(count: &StreamCount) -> Self {
        Self {
            carried: count.carried,
            elapsed_ns: count.ended.since(count.began).unwrap_or(Nanos::ZERO),
            tcp: count.sight.tcp,
            datagrams: count.sight.datagrams,
            intervals: count.intervals.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::meter::Meter;
    use super::*;
    use crate::unit::Instant;

    fn metered(keeps: usize) -> Metered {
        let mut meter = Meter::new(keeps);
        meter.begin(Instant(1_000), Sight::default());
        for n in 0..10_u64 {
            let before = Instant(1_000 + n * 100_000_000);
            meter.moved(1_000);
            meter.took(before, before.after(Nanos(500 + n)));
        }
        meter.failed();
        meter.interval(Instant(1_000).after(Nanos::secs(1)), Sight::default());
        meter.moved(24);
        meter.finish(Instant(1_000).after(Nanos::secs(2)), Sight::default())
    }

    #[test]
    fn rates_are_bytes_over_the_time_of_our_end_or_a_longer_one_of_a_receiver() {
        let theirs =
            Theirs { carried: Carried { bytes: Bytes(9_000), ..Carried::default() }, elapsed_ns: Some(Nanos::secs(9)) };
        let sent = Throughput::of(Direction::Send, &metered(0), Some(theirs), Vec::new());
        assert_eq!((sent.sent_bytes_per_s, sent.received_bytes_per_s), (Some(5_012.0), Some(1_000.0)), "drained later");
        let early = Theirs { elapsed_ns: Some(Nanos::secs(1)), ..theirs };
        let sent = Throughput::of(Direction::Send, &metered(0), Some(early), Vec::new());
        assert_eq!(sent.received_bytes_per_s, Some(4_500.0));
        let received = Throughput::of(Direction::Receive, &metered(0), None, Vec::new());
        assert_eq!((received.sent_bytes_per_s, received.received_bytes_per_s), (None, Some(5_012.0)));
    }

    /// Of three streams for two seconds, one drains for ten more.
    #[test_case(Direction::Send, Some(2_300.0), Some(2_100.0); "that we send")]
    #[test_case(Direction::Receive, Some(2_125.0), Some(2_300.0); "that we receive")]
    fn a_stream_that_drains_long_does_not_slow_the_others(
        direction: Direction,
        sent: Option<f64>,
        received: Option<f64>,
    ) {
        let stream = |bytes: u64, seconds: u64| Stream {
            carried: Carried { bytes: Bytes(bytes), ..Carried::default() },
            elapsed_ns: Nanos::secs(seconds),
            ..Stream::default()
        };
        let theirs = [stream(2_000, 2), stream(2_000, 2), stream(1_500, 15)];
        let told = Theirs { carried: Carried { bytes: Bytes(5_500), ..Carried::default() }, elapsed_ns: None };
        let mut found = Throughput::of(direction, &metered(0), Some(told), Vec::new());
        let alone = found.clone();
        found.rate_by_stream(&theirs);
        assert_eq!(found, alone, "one stream by itself");
        found.streams = vec![stream(2_000, 2), stream(2_000, 2), stream(3_600, 12)];
        found.rate_by_stream(&theirs);
        assert_eq!((found.sent_bytes_per_s, found.received_bytes_per_s), (sent, received));
        found.rate_by_stream(&theirs[..2]);
        assert_eq!((found.sent_bytes_per_s, found.received_bytes_per_s), (sent, received), "not all of them told");
    }

    #[test]
    fn no_time_is_no_rate() {
        let mut meter = Meter::new(0);
        meter.begin(Instant(5), Sight::default());
        let none = Throughput::of(Direction::Send, &meter.finish(Instant(5), Sight::default()), None, Vec::new());
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
        assert_eq!(whole.streams.len(), 2);
        assert_eq!(whole.streams[1].carried, Carried { bytes: Bytes(10_024), calls: 11, failed_calls: 1 });
        assert_eq!(whole.calls.unwrap().count, 20);
    }
}
