//! End of the streams of one end: together, and with the payload that was still on its way.
//!
//! Senders stop when the test is over; receivers continue until nothing more comes, a moment at most, so that the
//! payload that one end sent is counted by the other. In a test by bytes or calls each sender takes its next call from
//! the rest that all of them share: together they make exactly as many calls as requested.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;

use crate::stop::Stop;

/// Longest time for which a receiver takes late payload once it has seen that the test is over.
const DRAIN: Nanos = Nanos::millis(500);
/// Longest wait for the sender to close the connection, where it does that first.
const CLOSE: Nanos = Nanos::secs(1);

/// Limit on the payload of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// None: the test ends by time, or on request.
    #[default]
    None,
    /// Number of bytes of one direction, all streams together; a sender sends whole calls.
    Bytes(u64),
    /// Number of calls.
    Calls(u64),
}

/// State that the streams of one end of a test share.
#[derive(Debug, Default)]
pub struct Course {
    limit: Limit,
    /// True where all bytes are counted as they pass, for a limit on the rate.
    counts: bool,
    /// Senders send no more.
    over: Stop,
    /// The far end knows: what comes now was on its way.
    ending: AtomicBool,
    /// Time of that, nanoseconds of the monotonic clock.
    ended_at: AtomicU64,
    /// Parts of the limit: those that senders have taken, and those that receivers have had.
    taken: AtomicU64,
    had: AtomicU64,
    /// All bytes, both ways.
    moved: AtomicU64,
    /// Streams whose threads are at it still, and the senders among them.
    running: AtomicU32,
    sending: AtomicU32,
    /// A stream carried nothing for too long.
    silent: AtomicBool,
}

impl Course {
    /// A test that is over by `limit`; `counts`: whether [`Course::moved`] is wanted.
    pub fn new(limit: Limit, counts: bool) -> Self {
        Self { limit, counts, ..Self::default() }
    }

    /// Senders are to stop.
    pub fn stop(&self) {
        self.over.request();
    }

    /// Returns the flag that senders check while they wait for their next call.
    pub fn over(&self) -> &Stop {
        &self.over
    }

    /// Returns true where senders are to stop.
    pub fn is_over(&self) -> bool {
        self.over.requested()
    }

    /// The test ended at `now`: the far end knows, or has said so.
    pub fn end(&self, now: Instant) {
        self.stop();
        self.ended_at.store(now.0, Ordering::Relaxed);
        self.ending.store(true, Ordering::Release);
    }

    /// Returns the end of the test; `None`: it has not ended.
    pub fn ended_at(&self) -> Option<Instant> {
        self.ending.load(Ordering::Acquire).then(|| Instant(self.ended_at.load(Ordering::Relaxed)))
    }

    /// Returns true where a stream carried nothing for too long.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Streams whose threads are at it still.
    pub fn running(&self) -> u32 {
        self.running.load(Ordering::Acquire)
    }

    /// The senders among them.
    pub fn sending(&self) -> u32 {
        self.sending.load(Ordering::Acquire)
    }

    /// Bytes that all streams carried, both ways, warm-up included.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Takes a sender's next call of `bytes` from what is left. `false`: nothing is.
    fn take(&self, bytes: u64) -> bool {
        match self.limit {
            Limit::None => true,
            Limit::Bytes(most) => self.taken.fetch_add(bytes, Ordering::Relaxed) < most,
            Limit::Calls(most) => self.taken.fetch_add(1, Ordering::Relaxed) < most,
        }
    }

    /// A receiver had `bytes` more, and came to the end of `calls` calls' worth of them.
    fn have(&self, bytes: u64, calls: u64) {
        let reached = match self.limit {
            Limit::None => false,
            Limit::Bytes(most) => self.had.fetch_add(bytes, Ordering::Relaxed) + bytes >= most,
            Limit::Calls(most) => self.had.fetch_add(calls, Ordering::Relaxed) + calls >= most,
        };
        if reached {
            self.stop();
        }
    }
}

/// Limits of one stream, for its end.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// True where our end sends.
    pub sends: bool,
    /// Bytes of one call.
    pub block: u32,
    /// True where the peer closes the stream once it knows that the test is over: all its payload has arrived then.
    pub closes: bool,
    /// True where payload at the start is not counted.
    pub omits: bool,
    /// Longest time for which the stream may carry nothing; then the test ends.
    pub patience: Nanos,
}

/// A way whose stream ends when the test does.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, looked at by itself")]
pub struct Guarded<'a, B> {
    way: B,
    course: &'a Course,
    bounds: Bounds,
    /// The count has begun: limits hold from here on.
    counting: bool,
    began: bool,
    /// The next call is taken from what is left already.
    holds: bool,
    /// Bytes of the block that is under way.
    of_block: u64,
    /// Something went through since the clock was looked at.
    alive: bool,
    heard: Instant,
    /// Arrival of the last bytes that were on their way at the end.
    last: Option<Instant>,
    drains_until: Option<Instant>,
}

impl<'a, B: Bulk> Guarded<'a, B> {
    /// `way` as one of the streams of `course`, which counts as running from here on.
    pub fn new(way: B, course: &'a Course, bounds: Bounds) -> Self {
        let heard = way.now();
        let (counting, holds) = (false, false);
        let (last, drains_until) = (None, None);
        Self {
            way,
            course,
            bounds,
            counting,
            began: false,
            holds,
            of_block: 0,
            alive: false,
            heard,
            last,
            drains_until,
        }
    }

    /// Returns the arrival of the last bytes that were on their way when the test ended; `None`: there were none.
    pub fn last(&self) -> Option<Instant> {
        self.last
    }

    /// The way itself.
    pub fn into_inner(self) -> B {
        self.way
    }

    fn send(&mut self) -> Result<Call, Fault> {
        if self.course.is_over() {
            return Ok(Call::End);
        }
        if self.counting && self.of_block == 0 && !self.holds {
            if !self.course.take(u64::from(self.bounds.block)) {
                return Ok(Call::End);
            }
            self.holds = true;
        }
        match self.way.call() {
            // A peer that ends the test closes what we send on.
            Err(_) if self.course.is_over() => Ok(Call::End),
            Ok(call) => {
                if let Some(bytes) = bytes_of(call) {
                    self.of_block = (self.of_block + bytes) % u64::from(self.bounds.block);
                    self.holds = false;
                }
                Ok(call)
            }
            Err(fault) => Err(fault),
        }
    }

    fn receive(&mut self) -> Result<Call, Fault> {
        let ended = self.course.ended_at();
        let called = self.way.call();
        if let Some(ended) = ended {
            return Ok(self.drain(ended, called));
        }
        match called {
            Ok(call) if self.counting && self.course.limit != Limit::None => {
                if let Some(bytes) = bytes_of(call) {
                    let block = u64::from(self.bounds.block);
                    self.of_block += bytes;
                    self.course.have(bytes, self.of_block / block);
                    self.of_block %= block;
                }
                Ok(call)
            }
            called => called,
        }
    }

    /// Handles the result of a call after the end of the test, as counted from this stream's own check: on a busy host
    /// a thread may be late to read payload that arrived long ago.
    fn drain(&mut self, ended: Instant, called: Result<Call, Fault>) -> Call {
        let now = self.way.now();
        let patience = if self.bounds.closes { CLOSE } else { DRAIN };
        let late = now > *self.drains_until.get_or_insert(now.after(patience));
        match called {
            Ok(call) if bytes_of(call).is_some() && !late => {
                self.last = Some(now.max(ended));
                call
            }
            Ok(Call::Nothing) if self.bounds.closes && !late => Call::Nothing,
            _ => Call::End,
        }
    }

    /// Nothing went through: for how long already?
    #[cold]
    fn note_silence(&mut self) -> bool {
        let now = self.way.now();
        if self.alive {
            (self.alive, self.heard) = (false, now);
        }
        now.since(self.heard).is_some_and(|silence| silence > self.bounds.patience)
    }
}

/// Returns the bytes that a call moved; `None`: it moved none.
#[inline]
fn bytes_of(call: Call) -> Option<u64> {
    match call {
        Call::Moved(bytes) | Call::MovedMany { bytes, .. } => Some(bytes as u64),
        Call::Nothing | Call::Failed | Call::End => None,
    }
}

impl<B: Bulk> Bulk for Guarded<'_, B> {
    fn now(&self) -> Instant {
        self.way.now()
    }

    #[inline]
    fn recently(&self) -> Instant {
        self.way.recently()
    }

    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        let call = if self.bounds.sends { self.send() } else { self.receive() }?;
        match bytes_of(call) {
            Some(bytes) => {
                self.alive = true;
                if self.course.counts {
                    self.course.moved.fetch_add(bytes, Ordering::Relaxed);
                }
            }
            None if call == Call::Nothing && self.note_silence() => {
                self.course.silent.store(true, Ordering::Relaxed);
                self.course.stop();
                return Ok(Call::End);
            }
            None => {}
        }
        Ok(call)
    }

    fn sight(&mut self) -> Sight {
        self.way.sight()
    }

    /// The engine begins once, and where there is a warm-up once more after it.
    fn begin(&mut self) -> Sight {
        self.counting = self.began || !self.bounds.omits;
        if self.counting {
            self.of_block = 0;
        }
        self.began = true;
        self.way.begin()
    }

    fn total(&mut self) -> Sight {
        self.way.total()
    }

    fn sleep(&self, until: Instant) {
        self.way.sleep(until);
    }

    #[inline]
    fn spin(&self, until: Instant) {
        self.way.spin(until);
    }
}

/// Counts a stream among those at it, while it lives.
#[derive(Debug)]
pub struct AtIt<'a> {
    course: &'a Course,
    sends: bool,
}

impl<'a> AtIt<'a> {
    /// One more stream.
    pub fn of(course: &'a Course, sends: bool) -> Self {
        course.running.fetch_add(1, Ordering::AcqRel);
        course.sending.fetch_add(u32::from(sends), Ordering::AcqRel);
        Self { course, sends }
    }
}

impl Drop for AtIt<'_> {
    fn drop(&mut self) {
        self.course.sending.fetch_sub(u32::from(self.sends), Ordering::AcqRel);
        self.course.running.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
