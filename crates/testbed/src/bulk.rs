//! A pipe for the bulk engine, in virtual time: what each call does is known beforehand.

use std::collections::{BTreeMap, BTreeSet};

use measure::clock::Clock;
use measure::unit::{Instant, Nanos};
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;

use crate::clock::VirtualClock;

/// Longest wait of a call for room or data before it gives up.
const GLANCE: Nanos = Nanos::millis(100);

/// One way of a stream whose calls each take a stated time.
#[derive(Debug)]
pub struct VirtualPipe {
    clock: VirtualClock,
    bytes: usize,
    takes: Nanos,
    lag: Nanos,
    calls: u64,
    failing: BTreeSet<u64>,
    short: BTreeMap<u64, usize>,
    breaking: Option<(u64, Fault)>,
    ending: Option<u64>,
    stalls: Vec<(Nanos, Nanos)>,
    oversleep: Nanos,
    /// Times at which calls that moved something began, from the start of the clock.
    pub departures: Vec<Nanos>,
}

impl VirtualPipe {
    /// A pipe whose every call moves `bytes` in `takes`.
    pub fn new(clock: &VirtualClock, bytes: usize, takes: Nanos) -> Self {
        Self {
            clock: clock.clone(),
            bytes,
            takes,
            lag: Nanos::ZERO,
            calls: 0,
            failing: BTreeSet::new(),
            short: BTreeMap::new(),
            breaking: None,
            ending: None,
            stalls: Vec::new(),
            oversleep: Nanos::ZERO,
            departures: Vec::new(),
        }
    }

    /// The cheap clock goes in steps of `lag`.
    #[must_use]
    pub fn coarse(self, lag: Nanos) -> Self {
        Self { lag, ..self }
    }

    /// These calls, counted from 0, find no buffer.
    #[must_use]
    pub fn fail(mut self, calls: impl IntoIterator<Item = u64>) -> Self {
        self.failing.extend(calls);
        self
    }

    /// This call moves only so many bytes.
    #[must_use]
    pub fn cut(mut self, call: u64, bytes: usize) -> Self {
        self.short.insert(call, bytes);
        self
    }

    /// The sender ends the stream before this call.
    #[must_use]
    pub fn end_at(self, call: u64) -> Self {
        Self { ending: Some(call), ..self }
    }

    /// This call meets a fault.
    #[must_use]
    pub fn break_at(self, call: u64, fault: Fault) -> Self {
        Self { breaking: Some((call, fault)), ..self }
    }

    /// From `from` after the start on, nothing is moved for `length`.
    #[must_use]
    pub fn stall(mut self, from: Nanos, length: Nanos) -> Self {
        self.stalls.push((from, length));
        self
    }

    /// Sleeps end late by this.
    #[must_use]
    pub fn oversleeping(self, oversleep: Nanos) -> Self {
        Self { oversleep, ..self }
    }

    fn stalled_until(&self) -> Option<Instant> {
        let elapsed = self.clock.elapsed();
        let stall = self.stalls.iter().find(|(from, length)| *from <= elapsed && elapsed.0 < from.0 + length.0)?;
        Some(self.clock.start().after(Nanos(stall.0.0 + stall.1.0)))
    }
}

impl Bulk for VirtualPipe {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn recently(&self) -> Instant {
        let now = self.clock.now();
        Instant(now.0 - now.0 % self.lag.0.max(1))
    }

    fn call(&mut self) -> Result<Call, Fault> {
        if let Some(end) = self.stalled_until() {
            self.clock.pass_until(end.min(self.clock.true_now().after(GLANCE)));
            return Ok(Call::Nothing);
        }
        let call = self.calls;
        self.calls += 1;
        if self.ending == Some(call) {
            return Ok(Call::End);
        }
        if let Some((_, fault)) = self.breaking.filter(|(at, _)| *at == call) {
            return Err(fault);
        }
        let departed = self.clock.elapsed();
        self.clock.pass(self.takes);
        if self.failing.contains(&call) {
            return Ok(Call::Failed);
        }
        self.departures.push(departed);
        Ok(Call::Moved(self.short.get(&call).copied().unwrap_or(self.bytes)))
    }

    fn sleep(&self, until: Instant) {
        if until > self.clock.true_now() {
            self.clock.pass_until(until.after(self.oversleep));
        }
    }

    fn spin(&self, until: Instant) {
        self.clock.pass_until(until);
    }
}
