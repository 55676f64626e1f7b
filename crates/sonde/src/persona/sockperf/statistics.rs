//! sockperf's own figures from what became of each message that asked for an answer.
//!
//! A [`Collector`] takes the slots as they end, in any order, and walks them in that of their numbers: it leaves out
//! what lies outside the valid window, counts the dropped, duplicated and overtaken, and keeps the rest. Memory is
//! bounded: up to [`EXACT`](measure::recorder::EXACT) values are kept as they came, beyond that a histogram of three digits. Not here: the
//! record's statistics, which are `measure`'s.

pub mod bins;
pub mod latency;
pub mod normal;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;

use crate::persona::sockperf::options::{BEFORE, Client, Histogram, Kind, Stop};
use crate::persona::sockperf::statistics::latency::Latency;
use crate::persona::sockperf::statistics::walk::Walk;

/// Time that is left out behind the first slot, in nanoseconds.
pub const WARM_UP_NS: u64 = 400_000_000;
/// Time that is left out before the last slot, in nanoseconds.
pub const COOL_DOWN_NS: u64 = 50_000_000;

/// A message that asked for an answer, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number of the socket it left over, from 0: answers of one are in order or not, those of two are not ordered.
    pub socket: u32,
    /// Its number on the wire, a multiple of reply-every.
    pub sequence: u64,
    /// Departure, in nanoseconds of a clock of the caller's. Rises with the number.
    pub sent_ns: u64,
    /// Arrival of its first answer, by the same clock; `None`: never.
    pub received_ns: Option<u64>,
    /// Answers behind the first.
    pub duplicates: u64,
}

/// Slots that wait for one with a lower number, at most: then that one is taken for untold, so that memory is bounded.
/// At a million a second they are those of a second.
const AHEAD: usize = 1 << 20;

/// Slots that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// By time: those from [`WARM_UP_NS`] behind the first slot to [`COOL_DOWN_NS`] before the last (`-t`).
    Trimmed,
    /// By number: `count` messages from `first` on (`-n`).
    Numbered {
        /// The first that counts.
        first: u64,
        /// Number of messages.
        count: u64,
    },
    /// All of them (playback).
    All,
}

impl Window {
    /// The window of some traffic.
    pub fn of(kind: &Kind) -> Self {
        match kind.load().map(|load| load.stop) {
            Some(Stop::Seconds(_)) => Self::Trimmed,
            Some(Stop::Messages(count)) => Self::Numbered { first: u64::from(BEFORE) + 1, count: count.into() },
            None => Self::All,
        }
    }
}

/// A slot that counts as an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its number among them, from 0.
    pub index: u64,
    /// Departure, nanoseconds.
    pub sent_ns: u64,
    /// Arrival of its answer, nanoseconds.
    pub received_ns: u64,
}

/// Settings of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Divisor of the numbers that are slots, 1 or more.
    pub reply_every: u32,
    /// Slots that count.
    pub window: Window,
    /// Round trips in place of half of them.
    pub full_rtt: bool,
    /// `--histogram`.
    pub histogram: Option<Histogram>,
}

impl Setting {
    /// The setting of a client; of one that gets no answers it gives figures of nothing.
    pub fn of(client: &Client) -> Self {
        Self {
            reply_every: client.kind.reply_every().unwrap_or(1),
            window: Window::of(&client.kind),
            full_rtt: client.display.full_rtt,
            histogram: client.display.histogram,
        }
    }
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// First answers in the whole run.
    pub received: u64,
    /// Slots of the window without an answer.
    pub dropped: u64,
    /// Answers behind the first to their slot, in the whole run.
    pub duplicated: u64,
    /// Answers in the window that came before that of an earlier slot of their socket: they are no observations. The original holds
    /// them against all sockets, and so counts and leaves out answers that overtook none.
    pub out_of_order: u64,
    /// Finding in the window.
    pub finding: Finding,
}

/// Finding in the window.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// Not one answer came in the whole run.
    NothingReceived,
    /// The run was shorter than what is left out of it.
    TooShort,
    /// Not one slot of the window was answered.
    NothingValid,
    /// Observations.
    Valid(Box<Valid>),
}

/// The valid window and what was observed in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Valid {
    /// From the first valid send to the last observed answer, or to the send of a message behind it that was dropped,
    /// in nanoseconds.
    pub run_ns: u64,
    /// Messages from the first valid slot to the last, those that asked for no answer among them.
    pub sent: u64,
    /// The observations.
    pub latency: Latency,
}

/// Takes slots, gives [`Statistics`].
#[derive(Debug)]
pub struct Collector {
    reply_every: u64,
    /// The number of the slot that the walk waits for.
    next: u64,
    /// Those that ended before one with a lower number did; `None`: never sent.
    ahead: BTreeMap<u64, Option<Slot>>,
    walk: Walk,
}

impl Collector {
    /// A collector for one run.
    pub fn new(setting: &Setting) -> Self {
        let reply_every = u64::from(setting.reply_every.max(1));
        Self { reply_every, next: reply_every, ahead: BTreeMap::new(), walk: Walk::new(setting) }
    }

    /// A slot has ended: answered, or given up. Each multiple of reply-every, from the first on, is to come exactly
    /// once, here or at [`Collector::unsent`], in any order; those that come early wait for the others. `accepted` hears
    /// of each observation, in order.
    pub fn slot(&mut self, slot: Slot, accepted: &mut dyn FnMut(Observation)) {
        self.take(slot.sequence, Some(slot), accepted);
    }

    /// The message of this number never left.
    pub fn unsent(&mut self, sequence: u64, accepted: &mut dyn FnMut(Observation)) {
        self.take(sequence, None, accepted);
    }

    /// An answer came to a message that had asked for none: it counts as a duplicate, as in the original.
    pub fn unasked(&mut self) {
        self.walk.duplicated += 1;
    }

    /// The run is over.
    pub fn finish(mut self, accepted: &mut dyn FnMut(Observation)) -> Statistics {
        for slot in std::mem::take(&mut self.ahead).into_values().flatten() {
            self.walk.step(slot, accepted);
        }
        self.walk.finish()
    }

    fn take(&mut self, sequence: u64, slot: Option<Slot>, accepted: &mut dyn FnMut(Observation)) {
        if sequence != self.next {
            // One that was walked over already does not count again.
            if sequence > self.next {
                self.ahead.insert(sequence, slot);
            }
            if self.ahead.len() <= AHEAD {
                return;
            }
        }
        let mut due = Some(slot);
        if sequence != self.next
            && let Some((first, slot)) = self.ahead.pop_first()
        {
            (self.next, due) = (first, Some(slot));
        }
        while let Some(slot) = due {
            if let Some(slot) = slot {
                self.walk.step(slot, accepted);
            }
            self.next += self.reply_every;
            due = self.ahead.remove(&self.next);
        }
    }
}
