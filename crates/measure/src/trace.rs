//! A recorded schedule: which message leaves when, and how long it is.
//!
//! Times count from the start of sending and never decrease; two messages at one time leave one right after the other.
//! [`text`] reads one from a file of `time,size`; captures of packets are `protocol`'s, for they are bytes of a wire.

use crate::unit::{Bytes, Nanos};

pub mod text;

/// One message of a recorded schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it is due, from the start of sending.
    pub at: Nanos,
    /// Its length, bytes of payload.
    pub bytes: u32,
}

/// A recorded schedule: at least one message, times in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    departures: Vec<Departure>,
}

/// Why a list of departures is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disorder {
    /// There is nothing in it.
    #[error("there is no message in it")]
    Empty,
    /// Time runs backwards.
    #[error("time runs backwards: {at} after {before}")]
    Backwards {
        /// Index of the message that is earlier than the one before it, from 0.
        index: usize,
        /// Its time.
        at: Seconds,
        /// The time of the message before it.
        before: Seconds,
    },
}

/// A time as traces write it, every digit of it: `0.000250000 s`. Neighbours differ in digits that [`Nanos`] rounds away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Nanos);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ns = self.0.0;
        write!(f, "{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
    }
}

impl Trace {
    /// The schedule of these departures.
    ///
    /// # Errors
    /// None at all, or one that is earlier than the one before it: a recording out of order is not sorted here, for the
    /// order may be what is wrong with it.
    pub fn new(departures: Vec<Departure>) -> Result<Self, Disorder> {
        if departures.is_empty() {
            return Err(Disorder::Empty);
        }
        match departures.windows(2).position(|pair| pair[1].at < pair[0].at) {
            None => Ok(Self { departures }),
            Some(before) => Err(Disorder::Backwards {
                index: before + 1,
                at: Seconds(departures[before + 1].at),
                before: Seconds(departures[before].at),
            }),
        }
    }

    /// The messages, in order.
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    /// How many messages.
    pub fn messages(&self) -> u64 {
        self.departures.len() as u64
    }

    /// From the start of sending to the last message.
    pub fn length(&self) -> Nanos {
        self.departures.last().map_or(Nanos::ZERO, |last| last.at)
    }

    /// All messages together, bytes of payload.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.departures.iter().map(|message| u64::from(message.bytes)).sum())
    }

    /// The longest message, bytes of payload.
    pub fn largest(&self) -> u32 {
        self.departures.iter().map(|message| message.bytes).max().unwrap_or_default()
    }

    /// The shortest message, bytes of payload.
    pub fn smallest(&self) -> u32 {
        self.departures.iter().map(|message| message.bytes).min().unwrap_or_default()
    }

    /// The same messages with the first one due at once: for times that count from another start, such as 1970.
    #[must_use]
    pub fn from_first(mut self) -> Self {
        let first = self.departures.first().map_or(Nanos::ZERO, |first| first.at);
        for message in &mut self.departures {
            message.at = Nanos(message.at.0 - first.0);
        }
        self
    }

    /// The same schedule with no message shorter than `bytes`, and how many were lengthened: for carriers whose messages
    /// have a header of their own.
    #[must_use]
    pub fn at_least(mut self, bytes: u32) -> (Self, u64) {
        let mut lengthened = 0;
        for message in self.departures.iter_mut().filter(|message| message.bytes < bytes) {
            message.bytes = bytes;
            lengthened += 1;
        }
        (self, lengthened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(messages: &[(u64, u32)]) -> Result<Trace, Disorder> {
        Trace::new(messages.iter().map(|&(at, bytes)| Departure { at: Nanos(at), bytes }).collect())
    }

    #[test]
    fn a_schedule_tells_its_size() {
        let trace = trace(&[(10, 100), (10, 40), (25, 200)]).unwrap();
        assert_eq!((trace.messages(), trace.length(), trace.bytes()), (3, Nanos(25), Bytes(340)));
        assert_eq!((trace.smallest(), trace.largest()), (40, 200));
    }

    #[test]
    fn time_that_runs_backwards_is_an_error_and_not_sorted() {
        let disorder = trace(&[(0, 1), (1_000_000_007, 1), (1_000_000_005, 1)]).unwrap_err();
        assert_eq!(disorder.to_string(), "time runs backwards: 1.000000005 s after 1.000000007 s");
        assert!(matches!(disorder, Disorder::Backwards { index: 2, .. }));
        assert_eq!(trace(&[]), Err(Disorder::Empty));
    }

    #[test]
    fn times_from_another_start_can_be_moved() {
        let moved = trace(&[(1_000, 5), (1_250, 6)]).unwrap().from_first();
        assert_eq!(moved, trace(&[(0, 5), (250, 6)]).unwrap());
    }

    #[test]
    fn messages_too_short_for_a_header_can_be_lengthened() {
        let (longer, count) = trace(&[(0, 5), (1, 40), (2, 39)]).unwrap().at_least(40);
        assert_eq!((longer, count), (trace(&[(0, 40), (1, 40), (2, 40)]).unwrap(), 2));
    }
}
