//! A way whose calls wait for a rate that varies (`-b mean,deviation`). The engine lets it go back to back.

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
