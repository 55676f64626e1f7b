//! Limits on the rates of all sessions of a reflector together, or of one key: octets of messages a second in each
//! direction, and messages a second.
//!
//! A message beyond a limit waits: each has its place in one row, in the order in which it asked. Takes no lock, and
//! does nothing where nothing is limited.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::unit::{Bytes, Instant, Nanos, Rate};
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;
use protocol::native::message::{Open, Reason, Refused};

use crate::clock::Monotonic;
use crate::stop::GLANCE;

/// Longest lead of a budget: a thread that woke late makes up for it.
const AHEAD: Nanos = Nanos::millis(10);
const SECOND: u128 = 1_000_000_000;

/// The bounds; absent: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Octets of messages a second, each way.
    pub octets: Option<NonZeroU64>,
    /// Messages a second, those that come and those that are sent together; of streams, calls and datagrams.
    pub messages: Option<Rate>,
}

impl Bounds {
    /// Returns true where any limit is set.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Checks that a session as `open` asks fits alone, with the rate that it announces, and with a message of each
    /// flow a second.
    ///
    /// # Errors
    /// The refusal, with the limit that the session exceeds.
    pub fn check(&self, open: &Open) -> Result<(), Refused> {
        let flows = u64::from(open.flows);
        let rate = open.rate_per_flow.map_or(1_000, |rate| rate.0.get());
        let each_way = [open.request_bytes, open.response_bytes];
        for bytes in each_way {
            let asked = u128::from(bytes.0) * u128::from(rate) * u128::from(flows) / 1_000;
            if let Some(octets) = self.octets
                && asked > u128::from(octets.get())
            {
                let asked = Bytes(u64::try_from(asked).unwrap_or(u64::MAX));
                return Err(beyond(&format!("{asked}/s"), &format!("{}/s each way", Bytes(octets.get()))));
            }
        }
        if let (Some(announced), Some(most)) = (open.rate_per_flow, self.messages)
            && u128::from(announced.0.get()) * u128::from(flows) > u128::from(most.0.get())
        {
            return Err(beyond(&format!("{announced} on each of {flows} flows"), &most.to_string()));
        }
        Ok(())
    }
}

fn beyond(asked: &str, allowed: &str) -> Refused {
    Refused {
        reason: Reason::Rate,
        detail: format!("traffic of all sessions: {asked} were asked for, {allowed} are allowed together"),
        hint: Some("ask for a lower rate, fewer flows or smaller messages".to_owned()),
    }
}

/// Bounds, and what was taken of them.
#[derive(Debug)]
pub struct Budget {
    bounds: Bounds,
    received: Row,
    sent: Row,
    messages: Row,
}

/// Time of the next free place in a row, nanoseconds of the monotonic clock.
#[derive(Debug, Default)]
struct Row(AtomicU64);

impl Row {
    /// Returns the time at which a message that takes `cost` nanoseconds of the row is due, as of `now`.
    fn take(&self, cost: u64, now: Instant) -> Instant {
        let earliest = now.before(AHEAD).0;
        let advance = |due: u64| Some(due.max(earliest).saturating_add(cost));
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).unwrap_or_default();
        Instant(before.max(earliest))
    }

    fn give_back(&self, cost: u64) {
        self.0.fetch_sub(cost, Ordering::Relaxed);
    }
}

/// Compares the limits alone; the state of the rows does not count.
impl PartialEq for Budget {
    fn eq(&self, other: &Self) -> bool {
        self.bounds == other.bounds
    }
}

/// Octets and messages that one message or call takes from a budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Octets that came.
    pub received: usize,
    /// Octets to be sent.
    pub sent: usize,
    /// Messages.
    pub messages: usize,
}

impl Budget {
    /// One of these bounds; `None` where there are none.
    pub fn of(bounds: Bounds) -> Option<Arc<Self>> {
        let unused = || Row::default();
        bounds.any().then(|| Arc::new(Self { bounds, received: unused(), sent: unused(), messages: unused() }))
    }

    /// Its bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Each row, with what `load` costs of it.
    fn costs(&self, load: Load) -> [(&Row, u64); 3] {
        let time = |amount: usize, a_second: u128| {
            u64::try_from((amount as u128 * SECOND).div_ceil(a_second)).unwrap_or(u64::MAX)
        };
        let octets = |amount: usize| self.bounds.octets.map_or(0, |octets| time(amount, u128::from(octets.get())));
        let messages =
            self.bounds.messages.map_or(0, |rate| time(load.messages.saturating_mul(1_000), u128::from(rate.0.get())));
        [(&self.received, octets(load.received)), (&self.sent, octets(load.sent)), (&self.messages, messages)]
    }

    /// Returns the time from which `load` may pass, and counts it as passed.
    pub fn take(&self, load: Load, now: Instant) -> Instant {
        let costly = self.costs(load).into_iter().filter(|(_, cost)| *cost > 0);
        costly.map(|(row, cost)| row.take(cost, now)).max().unwrap_or(now)
    }

    /// It did not pass after all.
    pub fn give_back(&self, load: Load) {
        self.costs(load).into_iter().for_each(|(row, cost)| row.give_back(cost));
    }
}

/// Session that shares budgets with others.
pub trait Shares {
    /// Returns the time from which `load` may pass, and counts it as passed.
    fn take(&self, load: Load, now: Instant) -> Instant;

    /// Waits until then, or until all is over, and counts how long.
    fn hold_back(&self, until: Instant);
}

/// A way of a stream whose calls wait for their place.
#[derive(Debug)]
pub struct Limited<'a, B, S> {
    /// The way itself.
    pub way: B,
    session: &'a S,
    sends: bool,
    due: Instant,
}

impl<'a, B: Bulk, S: Shares> Limited<'a, B, S> {
    /// `way`, of a stream of `session`.
    pub fn new(way: B, session: &'a S, sends: bool) -> Self {
        Self { way, session, sends, due: Instant(0) }
    }

    fn charge(&mut self, octets: usize, messages: usize) {
        let load = if self.sends {
            Load { sent: octets, messages, received: 0 }
        } else {
            Load { received: octets, messages, sent: 0 }
        };
        self.due = self.session.take(load, Monotonic::now());
    }
}

impl<B: Bulk, S: Shares> Bulk for Limited<'_, B, S> {
    fn now(&self) -> Instant {
        self.way.now()
    }

    fn recently(&self) -> Instant {
        self.way.recently()
    }

    fn call(&mut self) -> Result<Call, Fault> {
        let now = Monotonic::now();
        if now < self.due {
            // No longer than other calls wait.
            self.session.hold_back(self.due.min(now.after(GLANCE)));
            if Monotonic::now() < self.due {
                return Ok(Call::Nothing);
            }
        }
        let called = self.way.call()?;
        match called {
            Call::Moved(octets) => self.charge(octets, 1),
            Call::MovedMany { bytes, datagrams } => self.charge(bytes, datagrams),
            Call::Nothing | Call::Failed | Call::End => {}
        }
        Ok(called)
    }

    fn sight(&mut self) -> measure::throughput::Sight {
        self.way.sight()
    }

    fn begin(&mut self) -> measure::throughput::Sight {
        self.way.begin()
    }

    fn total(&mut self) -> measure::throughput::Sight {
        self.way.total()
    }

    fn sleep(&self, until: Instant) {
        self.way.sleep(until);
    }

    fn spin(&self, until: Instant) {
        self.way.spin(until);
    }
}

#[cfg(test)]
mod tests {
    use measure::method::Carrier;
    use testbed::client::open;

    use super::*;

    const NOW: Instant = Instant(1_000_000_000_000);

    fn budget(octets: u64, messages: u64) -> Arc<Budget> {
        let bounds = Bounds { octets: NonZeroU64::new(octets), messages: Rate::per_second(messages) };
        Budget::of(bounds).expect("bounds")
    }

    #[test]
    fn each_has_its_place_in_the_row_of_what_it_takes() {
        let budget = budget(1_000_000, 1_000);
        let request = Load { received: 1_000, messages: 1, sent: 0 };
        // Ten milliseconds ahead, a millisecond each: the eleventh is due now.
        let due: Vec<Instant> = (0..12).map(|_| budget.take(request, NOW)).collect();
        assert_eq!((due[0], due[10], due[11]), (NOW.before(AHEAD), NOW, NOW.after(Nanos::millis(1))));
        // The way back has a row of its own, that of messages is common.
        let reply = Load { sent: 1_000, ..Load::default() };
        assert_eq!(budget.take(reply, NOW), NOW.before(AHEAD));
        assert_eq!(budget.take(Load { messages: 1, ..reply }, NOW), NOW.after(Nanos::millis(2)));
        budget.give_back(request);
        assert_eq!(budget.take(request, NOW), NOW.after(Nanos::millis(2)));
    }

    #[test]
    fn what_does_not_fit_alone_is_refused() {
        let bounds = budget(1_000, 50).bounds();
        let asks = |change: fn(&mut Open)| {
            let mut open = open(Carrier::Udp);
            change(&mut open);
            bounds.check(&open).map_err(|refused| refused.reason)
        };
        assert_eq!(asks(|_| ()), Ok(()), "64 octets, at no announced rate");
        assert_eq!(asks(|open| open.rate_per_flow = Rate::per_second(15)), Ok(()));
        assert_eq!(asks(|open| open.rate_per_flow = Rate::per_second(16)), Err(Reason::Rate), "1024 octets a second");
        assert_eq!(asks(|open| open.response_bytes = Bytes(1_001)), Err(Reason::Rate));
        assert_eq!(asks(|open| open.flows = 16), Err(Reason::Rate), "a message of each flow a second");
        let slow = |open: &mut Open| (open.flows, open.rate_per_flow) = (1, Rate::per_second(51));
        assert_eq!(asks(slow), Err(Reason::Rate));
    }

    #[test]
    fn without_bounds_there_is_no_budget() {
        assert!(Budget::of(Bounds::default()).is_none());
    }
}
