//! A session-sender as the engines have it: a link that knows when each packet left and each answer came, a wire that
//! reads the peer's times out of the answer, and a gatherer of both on another thread.
//!
//! The measuring thread allocates nothing and takes no lock for it: four times of an exchange are one entry of a ring.

pub mod gather;
pub mod heard;
pub mod link;
pub mod opening;
pub mod packets;
pub mod wire;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use measure::clock_offset::FourTimes;
use protocol::stamp::part::Told;
use protocol::stamp::time::ErrorEstimate;

/// Times that the link noted of the answer that the wire reads next. Both are of one thread.
#[derive(Debug, Default)]
pub struct Glimpse {
    sent: AtomicU64,
    came: AtomicU64,
    left_by_kernel: AtomicBool,
    came_by_kernel: AtomicBool,
    /// 0: not told.
    time_to_live: AtomicU8,
}

/// The same, read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Departure of the packet, wall clock in nanoseconds since 1970; 0: not known any more.
    pub sent: u64,
    /// Arrival of its answer, likewise.
    pub came: u64,
    /// True where the first is the kernel's stamp …
    pub left_by_kernel: bool,
    /// … and the second.
    pub came_by_kernel: bool,
    /// Time to live that was left of the answer, where the socket delivers it.
    pub time_to_live: Option<u8>,
}

impl Glimpse {
    fn put(&self, seen: Seen) {
        self.sent.store(seen.sent, Ordering::Relaxed);
        self.came.store(seen.came, Ordering::Relaxed);
        self.left_by_kernel.store(seen.left_by_kernel, Ordering::Relaxed);
        self.came_by_kernel.store(seen.came_by_kernel, Ordering::Relaxed);
        self.time_to_live.store(seen.time_to_live.unwrap_or(0), Ordering::Relaxed);
    }

    fn seen(&self) -> Seen {
        Seen {
            sent: self.sent.load(Ordering::Relaxed),
            came: self.came.load(Ordering::Relaxed),
            left_by_kernel: self.left_by_kernel.load(Ordering::Relaxed),
            came_by_kernel: self.came_by_kernel.load(Ordering::Relaxed),
            time_to_live: Some(self.time_to_live.load(Ordering::Relaxed)).filter(|hops| *hops > 0),
        }
    }
}

/// Fact that a measuring thread reports.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// Recording begins with the packet of this number.
    Began(u32),
    /// The packet of this number was the last.
    Ended(u32),
    /// An answer came.
    Answered(Exchanged),
    /// The far side has ended the session.
    Closed,
}

/// An answer with all its facts.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    /// The number of its packet.
    pub number: u32,
    /// Its own number.
    pub own_number: u32,
    /// Its four times; absent where our own departure is not known any more.
    pub times: Option<FourTimes>,
    /// True where the departure of the packet is the kernel's stamp …
    pub left_by_kernel: bool,
    /// … and the arrival of the answer.
    pub came_by_kernel: bool,
    /// Error that the far side admits of its clock; absent where it does not say.
    pub error: Option<ErrorEstimate>,
    /// What was left of the packet's time to live.
    pub time_to_live: Option<u8>,
    /// What was left of the answer's own, where the socket delivers it.
    pub answer_time_to_live: Option<u8>,
    /// Departure of the reply by the far clock, nanoseconds since 1970; absent where the far side does not say.
    pub left: Option<u64>,
    /// Its answers to the parts by which it was asked.
    pub told: Told,
}

/// Answers of a session, kept one by one for a caller that tells of each.
#[derive(Debug, Default)]
pub struct Each {
    /// The most that are kept.
    pub most: usize,
    /// Answers to recorded packets of the first session in the order of their arrival, copies among them. Numbers of packets count
    /// from the first recorded one, and those of answers from what the far side has given before.
    pub answers: Vec<Exchanged>,
    /// Identifier of the session, where a server of TWAMP has granted it.
    pub session: Option<[u8; 16]>,
}
