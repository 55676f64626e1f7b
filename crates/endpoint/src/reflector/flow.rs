//! Counts of a session's flow.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use measure::unit::{Instant, Nanos, Rate};

use super::seen::{Seen, Sight, number};

/// Counts of one flow; written by its thread alone, read by the control connection.
#[derive(Debug, Default)]
pub struct FlowCount {
    /// Requests received.
    pub received: AtomicU64,
    /// Requests of `received` that were marked as warm-up.
    pub warm_up: AtomicU64,
    /// Copies among the recorded requests, which the path made.
    pub again: AtomicU64,
    /// Replies sent.
    pub replied: AtomicU64,
    /// Replies to such copies.
    pub replied_again: AtomicU64,
    /// The client's port while a connection, or datagrams, carry it; 0 while none do.
    taken: AtomicU16,
    /// Time of the next reply where its rate is limited, nanoseconds of the monotonic clock.
    due: AtomicU64,
}

/// Longest lead of a flow over its limited rate: a reply that its timer delays is made up for within this time.
const AHEAD: Nanos = Nanos::millis(10);

impl FlowCount {
    /// Takes the flow for what comes from the client's `port`.
    ///
    /// # Errors
    /// The port that has it.
    pub fn take(&self, port: u16) -> Result<(), u16> {
        self.taken.compare_exchange(0, port, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    /// One more request has come; how many that makes. By the flow's thread alone, which is why it takes no locked
    /// instruction.
    #[inline]
    pub fn another_received(&self) -> u64 {
        let received = self.received.load(Ordering::Relaxed) + 1;
        self.received.store(received, Ordering::Relaxed);
        received
    }

    /// Counts further messages that are not answered; called by the flow's thread alone.
    #[inline]
    pub fn more_received(&self, count: u64) {
        self.received.store(self.received.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Notes the number of a recorded request, a datagram with a header; whether it had come before. By the flow's thread alone.
    #[inline]
    pub(super) fn noted(&self, seen: &mut Seen, message: &[u8]) -> bool {
        self.sighted(seen, message, true) == Sight::Again
    }

    /// Notes the number of any datagram with a header, counted if it is a copy of a recorded request. By the flow's thread alone.
    #[inline]
    pub(super) fn sighted(&self, seen: &mut Seen, message: &[u8], recorded: bool) -> Sight {
        let sight = seen.look(number(message));
        if sight == Sight::Again && recorded {
            self.again.fetch_add(1, Ordering::Relaxed);
        }
        sight
    }

    /// One more reply was sent, to a copy where `again`; by the flow's thread alone.
    #[inline]
    pub fn another_replied(&self, again: bool) {
        self.replied.store(self.replied.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if again {
            self.replied_again.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the time at which one more reply keeps the flow below `rate`, as of `now`, and counts that reply as
    /// sent. A flow may be ahead by the replies of 10 ms.
    pub fn next_reply(&self, now: Instant, rate: Rate) -> Instant {
        // Rounded up, so that the rate is never exceeded.
        let gap = 1_000_000_000_000_u64.div_ceil(rate.0.get());
        let earliest = now.before(AHEAD).0;
        let advance = |due: u64| Some(due.max(earliest).saturating_add(gap));
        let before = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).unwrap_or_default();
        Instant(before.max(earliest))
    }

    /// The client's port that carries the flow; `None` while none does.
    pub fn port(&self) -> Option<u16> {
        Some(self.taken.load(Ordering::Acquire)).filter(|port| *port > 0)
    }

    /// The connection has ended.
    pub fn leave(&self) {
        self.taken.store(0, Ordering::Release);
    }
}
