//! One way of a stream, as the bulk engine sees it: sockets in `endpoint`, a virtual pipe in `testbed`.

use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};

use crate::link::Fault;

/// Transport and clocks that the bulk engine needs. The engine is compiled for each implementation apart: no call
/// here is dynamic.
pub trait Bulk {
    /// The present instant.
    fn now(&self) -> Instant;

    /// An instant at most some milliseconds before the present one and never after it, for less than a reading costs: it is
    /// looked at after every call.
    fn recently(&self) -> Instant {
        self.now()
    }

    /// One call: hands the kernel bytes to send, or takes what it received. Waits for room or for data about a tenth of a
    /// second at most, so that the engine can look whether to go on.
    fn call(&mut self) -> Result<Call, Fault>;

    /// Returns the state of the way beside the payload of its calls. It is called at the end of each interval, and begins another
    /// interval of the values that are kept by interval.
    fn sight(&mut self) -> Sight {
        Sight::default()
    }

    /// Returns the state at the beginning of the count: smoothed values and averages begin anew.
    fn begin(&mut self) -> Sight {
        self.sight()
    }

    /// The same at the end, of all since the beginning.
    fn total(&mut self) -> Sight {
        self.sight()
    }

    /// Sleeps until `until`, never relative to now.
    fn sleep(&self, until: Instant);

    /// One turn of a loop that reads the clock until `until`.
    fn spin(&self, until: Instant);
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// It moved so many bytes of payload, at least one.
    Moved(usize),
    /// It moved so many bytes of payload in so many datagrams, at least one.
    MovedMany {
        /// Bytes of payload of all of them.
        bytes: usize,
        /// Their number.
        datagrams: usize,
    },
    /// It waited, and nothing was moved.
    Nothing,
    /// Our own side had no buffer for it: nothing was moved, and its payload is given up.
    Failed,
    /// The sender ended the stream.
    End,
}

/// Layout of the number and the send time in a stream's datagrams: a foreign format, or ours. The link writes
/// and reads in place, a datagram at a time.
pub trait Numbering {
    /// Octets that the format takes at the start of each datagram; no datagram of a stream is shorter.
    fn octets(&self) -> usize;

    /// The clock that its instants are of.
    fn clock(&self) -> StampClock;

    /// Writes `number`, the first being 1, and the instant of sending over the start of `datagram`, which is at least
    /// [`octets`](Numbering::octets) long. The rest is left as it is.
    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos);

    /// Reads the start of a received datagram; `None`: it is too short, or none of this format.
    fn read(&self, datagram: &[u8]) -> Option<Mark>;

    /// Returns true where the datagram that marks the end belongs to the stream itself, and is counted; otherwise it only tells
    /// of the end.
    fn last_is_data(&self) -> bool {
        true
    }
}

/// Number and send time in a datagram of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A datagram of the stream.
    Data {
        /// Its number, the first being 1.
        number: u64,
        /// Send time, nanoseconds of the sender's clock.
        sent: Nanos,
    },
    /// The sender says that it was the last; it may say so many times.
    Last {
        /// Number of datagrams before it.
        count: u64,
        /// Send time, nanoseconds of the sender's clock.
        sent: Nanos,
    },
}

/// Clock of the instants in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampClock {
    /// `CLOCK_MONOTONIC`: only differences mean anything to the peer.
    Monotonic,
    /// Time since 1970.
    Wall,
}
