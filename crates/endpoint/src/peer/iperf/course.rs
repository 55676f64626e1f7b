//! Plan of a stream of either end: rate, duration, and the limit on a peer's silence.

use std::cell::Cell;

use measure::method::Schedule;
use measure::throughput::Carried;
use measure::unit::{Instant, Nanos};
use protocol::iperf::wish::{Pace, Quantity};

use crate::clock::Monotonic;
use crate::engine::stream::Plan;
use crate::stop::Stop;

/// Length of the intervals of an unwanted series: they never end.
pub const NO_SERIES: Nanos = Nanos::secs(100 * 365 * 86_400);

/// Intervals of a stream that a server keeps: each is reported as it ends, and a client may stay for days.
pub const KEPT: usize = 2;

/// Schedule of calls of `size` octets.
pub fn schedule(pace: Option<Pace>, size: usize) -> Schedule {
    match pace.map(|pace| pace.gap(size)) {
        None | Some(Nanos::ZERO) => Schedule::BackToBack,
        Some(interval_ns) => Schedule::Every { interval_ns },
    }
}

/// A plan for who sends so much so fast. Octets are counted by the way itself.
pub fn sending(quantity: Quantity, pace: Option<Pace>, size: usize, interval: Nanos, stop: &Stop) -> Plan<'_> {
    let after = if let Quantity::Time(time) = quantity { Some(time) } else { None };
    Plan { schedule: schedule(pace, size), after, interval, ..Plan::unbounded(stop) }
}

/// The octets of a quantity that is a number of these.
pub fn bytes(quantity: Quantity) -> Option<u64> {
    if let Quantity::Bytes(bytes) = quantity { Some(bytes) } else { None }
}

/// Sees when nothing has been carried for too long.
#[derive(Debug)]
pub struct Idle {
    most: Nanos,
    latest: Cell<(u64, Instant)>,
}

impl Idle {
    /// Gives up after `most` without an octet.
    pub fn new(most: Nanos) -> Self {
        Self { most, latest: Cell::new((u64::MAX, Monotonic::now())) }
    }

    /// Returns true where the silence has lasted too long.
    pub fn is_over(&self, carried: &Carried) -> bool {
        let (bytes, since) = self.latest.get();
        let now = Monotonic::now();
        if carried.bytes.0 != bytes {
            self.latest.set((carried.bytes.0, now));
            return false;
        }
        now.since(since).is_some_and(|silence| silence > self.most)
    }
}
