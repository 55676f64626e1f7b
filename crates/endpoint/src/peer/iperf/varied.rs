//! Ways whose calls wait for something else than the engine's schedule: for a rate that varies (`-b mean,deviation`), or for a
//! part of a round trip (`--near-congestion`).

use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};
use measure::varying::{Spread, VaryingRate};
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;

use crate::clock::{self, Monotonic};
use crate::link::bulk::by_the_machines_clocks;
use crate::pace;
use crate::random;
use crate::stop::GLANCE;

/// The time for which a rate holds, as in the original.
const PERIOD: Nanos = Nanos::millis(100);

/// A way at a rate that varies.
#[derive(Debug)]
pub struct Varied<B> {
    /// The way itself.
    pub way: B,
    rate: VaryingRate,
}

impl<B> Varied<B> {
    /// `way` at a rate that begins now.
    pub fn new(way: B, spread: Spread) -> Self {
        // The rates drawn need not be secret: a kernel without random octets gives the same ones each time.
        let seed = u64::from_be_bytes(random::bytes().unwrap_or_default());
        Self { way, rate: VaryingRate::new(spread, PERIOD, Monotonic::now(), seed) }
    }
}

impl<B: Bulk> Bulk for Varied<B> {
    fn call(&mut self) -> Result<Call, Fault> {
        let now = Monotonic::now();
        if let Some(until) = self.rate.wait(now) {
            // No further than to the engine's next look.
            pace::sleep_until(until.min(now.after(GLANCE)));
            return Ok(Call::Nothing);
        }
        let called = self.way.call()?;
        if let Call::Moved(octets) = called {
            self.rate.spend(octets);
        }
        Ok(called)
    }

    fn sight(&mut self) -> Sight {
        self.way.sight()
    }

    fn begin(&mut self) -> Sight {
        self.way.begin()
    }

    fn total(&mut self) -> Sight {
        self.way.total()
    }

    by_the_machines_clocks!();
}

/// A way that pauses behind each write for a number of TCP's round trips, so that the path empties meanwhile.
#[derive(Debug)]
pub struct Paused<B> {
    /// The way itself.
    pub way: B,
    round_trips: f64,
    /// Octets of a write, and those of it that are still to be written.
    size: u64,
    left: u64,
    until: Instant,
}

impl<B> Paused<B> {
    /// `way`, with a pause of so many round trips behind each `size` octets.
    pub fn new(way: B, size: usize, round_trips: f64) -> Self {
        let size = size as u64;
        Self { way, round_trips, size, left: size, until: Instant(0) }
    }
}

impl<B: Bulk> Bulk for Paused<B> {
    fn call(&mut self) -> Result<Call, Fault> {
        let now = Monotonic::now();
        if now < self.until {
            pace::sleep_until(self.until.min(now.after(GLANCE)));
            return Ok(Call::Nothing);
        }
        let called = self.way.call()?;
        if let Call::Moved(octets) = called {
            self.left = self.left.saturating_sub(octets as u64);
            if self.left == 0 {
                self.left = self.size;
                let round_trip = self.way.sight().tcp.and_then(|tcp| tcp.rtt_ns).unwrap_or_default();
                self.until = Monotonic::now().after(Nanos((round_trip.0 as f64 * self.round_trips) as u64));
            }
        }
        Ok(called)
    }

    fn sight(&mut self) -> Sight {
        self.way.sight()
    }

    fn begin(&mut self) -> Sight {
        self.way.begin()
    }

    fn total(&mut self) -> Sight {
        self.way.total()
    }

    by_the_machines_clocks!();
}

#[cfg(test)]
mod tests {
    use measure::interval::glance::TcpGlance;

    use super::*;

    /// A way that half a write fits into at a time, over a path of 10 ms.
    struct Halves;

    impl Bulk for Halves {
        fn call(&mut self) -> Result<Call, Fault> {
            Ok(Call::Moved(50))
        }

        fn sight(&mut self) -> Sight {
            let tcp = TcpGlance { rtt_ns: Some(Nanos::millis(10)), ..TcpGlance::default() };
            Sight { tcp: Some(tcp), ..Sight::default() }
        }

        fn begin(&mut self) -> Sight {
            self.sight()
        }

        fn total(&mut self) -> Sight {
            self.sight()
        }

        by_the_machines_clocks!();
    }

    #[test]
    fn half_a_round_trip_lies_between_two_writes() {
        let mut paused = Paused::new(Halves, 100, 0.5);
        let began = Monotonic::now();
        for _ in 0..4 {
            while let Call::Nothing = paused.call().unwrap() {}
            assert!(matches!(paused.call(), Ok(Call::Moved(50))), "no pause within a write");
        }
        assert!(Monotonic::now().since(began) >= Some(Nanos::millis(15)));
    }
}
