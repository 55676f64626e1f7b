//! A recorded schedule: when each message left, and how long it was. Values only; files are read elsewhere: the form
//! `time,size` in [`text`], captures of packets in `protocol`, for they are bytes of a wire.

use crate::method::Schedule;
use crate::unit::{Bytes, Nanos};

pub mod text;

/// One message of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Departure, counted from the start of the run, nanoseconds.
    pub at: Nanos,
    /// Its payload, bytes.
    pub bytes: u32,
}

/// The messages of a trace in the order of their departure: at least one, times never running backwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    departures: Vec<Departure>,
    largest: u32,
    smallest: u32,
    bytes: u64,
}

/// The most messages of a trace that is read out of a file: with their places, a quarter of a gigabyte.
pub const MOST: usize = 10_000_000;

/// Reason to refuse departures as a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Nothing leaves.
    #[error("the trace has no messages: there is nothing to send")]
    Empty,
    /// Time runs backwards.
    #[error("time runs backwards: message {number} is {back} earlier than the previous one")]
    Backwards {
        /// Number of the message, from 1.
        number: u64,
        /// Size of the step back, nanoseconds.
        back: Nanos,
    },
}

impl Trace {
    /// A trace of these departures.
    pub fn new(departures: Vec<Departure>) -> Result<Self, TraceError> {
        let backwards = departures.windows(2).position(|pair| pair[1].at < pair[0].at);
        if let Some(index) = backwards {
            let back = Nanos(departures[index].at.0 - departures[index + 1].at.0);
            return Err(TraceError::Backwards { number: index as u64 + 2, back });
        }
        let sizes = || departures.iter().map(|departure| departure.bytes);
        let (Some(smallest), Some(largest)) = (sizes().min(), sizes().max()) else { return Err(TraceError::Empty) };
        let bytes = sizes().map(u64::from).sum();
        Ok(Self { departures, largest, smallest, bytes })
    }

    /// The messages, in order.
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    /// The smallest of its messages.
    pub fn smallest(&self) -> Bytes {
        Bytes(self.smallest.into())
    }

    /// The largest of its messages.
    pub fn largest(&self) -> Bytes {
        Bytes(self.largest.into())
    }

    /// All its messages together.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// From the start to the last message.
    pub fn length(&self) -> Nanos {
        self.departures.last().map_or(Nanos::ZERO, |last| last.at)
    }

    /// The same messages with the first one leaving at once: for times that count from another start, such as 1970.
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
            self.bytes += u64::from(bytes - message.bytes);
            message.bytes = bytes;
            lengthened += 1;
        }
        self.smallest = self.smallest.max(bytes);
        self.largest = self.largest.max(bytes);
        (self, lengthened)
    }

    /// Its summary, as a method keeps it.
    pub fn schedule(&self) -> Schedule {
        Schedule::Trace {
            messages: self.departures.len() as u64,
            length_ns: self.length(),
            bytes: self.bytes(),
            smallest: self.smallest(),
            largest: self.largest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(departures: &[(u64, u32)]) -> Result<Trace, TraceError> {
        Trace::new(departures.iter().map(|&(at, bytes)| Departure { at: Nanos(at), bytes }).collect())
    }

    #[test]
    fn a_trace_knows_its_sum() {
        let schedule = trace(&[(0, 100), (0, 40), (1_000_000, 60)]).unwrap().schedule();
        let expected = Schedule::Trace {
            messages: 3,
            length_ns: Nanos::millis(1),
            bytes: Bytes(200),
            smallest: Bytes(40),
            largest: Bytes(100),
        };
        assert_eq!((schedule, schedule.mean_gap()), (expected, Some(Nanos::micros(500))));
        assert_eq!(schedule.to_string(), "trace of 3 messages, 200 B over 1 ms");
    }

    #[test]
    fn time_does_not_run_backwards_and_nothing_is_no_trace() {
        let back = TraceError::Backwards { number: 3, back: Nanos(2) };
        assert_eq!(trace(&[(5, 1), (9, 1), (7, 1)]), Err(back));
        assert_eq!(trace(&[]), Err(TraceError::Empty));
    }

    #[test]
    fn one_instant_has_no_gap() {
        assert_eq!(trace(&[(7, 9)]).unwrap().schedule().mean_gap(), None);
        assert_eq!(trace(&[(0, 9), (0, 9)]).unwrap().schedule().mean_gap(), None);
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
        let (same, none) = trace(&[(0, 41)]).unwrap().at_least(40);
        assert_eq!((same, none), (trace(&[(0, 41)]).unwrap(), 0));
    }
}
