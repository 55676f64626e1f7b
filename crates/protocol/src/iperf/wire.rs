//! A bounceback's requests and replies as an engine sees them.
//!
//! All of them have the number 1. A reply is recognised by the time at which its request was sent, which comes
//! back in it.

use std::sync::{Arc, Mutex, PoisonError};

use measure::interval::arrivals::Transit;
use measure::unit::Nanos;

use super::bounce::{self, Bounce};
use super::time::{Stamp, difference};
use crate::native::header::Flags as Asked;
use crate::wire::{Reading, Wire};

/// Something that knows the time of day.
pub trait WallClock {
    /// Nanoseconds since 1970.
    fn wall(&self) -> Nanos;
}

/// Requests and replies of one connection.
#[derive(Clone, Debug)]
pub struct BounceWire<C> {
    clock: C,
    header: Bounce,
    /// The latest request, when it was sent, and whether it counts.
    latest: Option<(u64, Stamp, bool)>,
    delays: Option<Arc<Delays>>,
}

/// One-way delays of the exchanges, as far as two synchronised clocks tell them. Those of a client's connections add up
/// in one.
#[derive(Debug, Default)]
pub struct Delays(Mutex<OneWay>);

/// Content of a [`Delays`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWay {
    /// From the client to the server: its receive time less our send time.
    pub to: Transit,
    /// And back: our receive time less its send time.
    pub from: Transit,
    /// Difference of the two delays of an exchange, without its sign.
    pub asymmetry: Transit,
}

impl Delays {
    /// Returns the delays so far.
    pub fn read(&self) -> OneWay {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, reply: &Bounce, now: Nanos) {
        let mut delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let to = difference(reply.received.nanos(), reply.sent.nanos());
        let from = difference(now, reply.returned.nanos());
        delays.to.take(to);
        delays.from.take(from);
        delays.asymmetry.take(to.saturating_sub(from).saturating_abs());
    }
}

impl<C: WallClock> BounceWire<C> {
    /// Requests with `header`, whose times are filled in.
    pub fn new(clock: C, header: Bounce) -> Self {
        Self { clock, header, latest: None, delays: None }
    }

    /// Keeps one-way delays in `delays`.
    #[must_use]
    pub fn with_delays(mut self, delays: Arc<Delays>) -> Self {
        self.delays = Some(delays);
        self
    }
}

impl<C: WallClock> Wire for BounceWire<C> {
    /// Only the latest request's time is kept.
    const KNOWS_LATE: bool = false;

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Asked) {
        let mut sent = Stamp::of(self.clock.wall());
        // Two within a microsecond would not be told apart.
        if let Some((_, before, _)) = self.latest
            && before == sent
        {
            sent.micros += 1;
        }
        bounce::stamp_sent(message, sent);
        self.latest = Some((seq, sent, !flags.has(Asked::WARM_UP)));
    }

    fn open(&mut self, message: &mut [u8]) {
        super::fill(message, 0);
        self.header.size = u32::try_from(message.len()).unwrap_or(u32::MAX);
        self.header.write(message);
    }

    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let (Some(header), Some((seq, sent, counts))) = (Bounce::read(reply), self.latest) else {
            return Reading::Stray;
        };
        if header.sent != sent {
            return Reading::Stray;
        }
        if header.size != self.header.size || header.received == Stamp::UNSET || header.returned == Stamp::UNSET {
            return Reading::Corrupt(Some(seq));
        }
        if let Some(delays) = self.delays.as_ref().filter(|_| counts) {
            delays.add(&header, self.clock.wall());
        }
        Reading::Reply(seq)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Ticking(Cell<u64>);

    impl WallClock for Ticking {
        fn wall(&self) -> Nanos {
            self.0.set(self.0.get() + 1_000_000);
            Nanos(self.0.get())
        }
    }

    fn wire() -> (BounceWire<Ticking>, Vec<u8>) {
        let mut wire = BounceWire::new(Ticking(Cell::new(1_000_000_000)), Bounce::default());
        let mut message = vec![0; 100];
        wire.open(&mut message);
        (wire, message)
    }

    fn at(nanos: u64) -> Stamp {
        Stamp::of(Nanos(nanos))
    }

    #[test]
    fn a_reply_is_told_by_the_time_of_its_request() {
        let (wire, mut message) = wire();
        let delays = Arc::new(Delays::default());
        let mut wire = wire.with_delays(Arc::clone(&delays));
        wire.prepare(&mut message, 3, Asked::NONE);
        let early = message.clone();
        wire.prepare(&mut message, 4, Asked::NONE);
        assert_eq!(wire.identify(&message, 0), Reading::Corrupt(Some(4)), "the server filled nothing in");
        bounce::answer(&mut message, at(1_002_300_000), at(1_002_500_000));
        assert_eq!(wire.identify(&message, 0), Reading::Reply(4));
        let OneWay { to, from, asymmetry } = delays.read();
        assert_eq!((to.count, to.min_ns, from.max_ns, asymmetry.max_ns), (1, 300_000, 500_000, 200_000));
        let mut late = early;
        bounce::answer(&mut late, at(1), at(1));
        assert_eq!(wire.identify(&late, 0), Reading::Stray);
        assert_eq!(wire.identify(&message[..bounce::HEADER - 1], 0), Reading::Stray);
    }

    #[test]
    fn two_requests_of_one_microsecond_differ() {
        struct Standing;
        impl WallClock for Standing {
            fn wall(&self) -> Nanos {
                Nanos(5_000)
            }
        }
        let mut wire = BounceWire::new(Standing, Bounce::default());
        let mut message = vec![0; 100];
        wire.open(&mut message);
        wire.prepare(&mut message, 0, Asked::NONE);
        let first = Bounce::read(&message).unwrap().sent;
        wire.prepare(&mut message, 1, Asked::NONE);
        assert_ne!(Bounce::read(&message).unwrap().sent, first);
    }
}
