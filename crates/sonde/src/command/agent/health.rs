//! Health of this host and this process in a second.

use std::collections::BTreeMap;
use std::fs;

use endpoint::clock::{self, Monotonic};
use logbook::monitor::talk::Health;
use measure::unit::{Instant, Nanos};

/// Seconds of which it is remembered: more than may be untold.
const REMEMBERED: usize = 256;

/// Readings of the last look, and of each second.
#[derive(Debug)]
pub struct Watch {
    at: Instant,
    pressure: Option<u64>,
    cpu: Nanos,
    seen: BTreeMap<u64, Health>,
}

impl Watch {
    /// From now on.
    pub fn new() -> Self {
        Self { at: Monotonic::now(), pressure: pressure(), cpu: clock::own_cpu(), seen: BTreeMap::new() }
    }

    /// Second number `began` has begun: what was since the last is of the one before it.
    pub fn began(&mut self, began: u64) {
        let seen = std::mem::take(&mut self.seen);
        let before = std::mem::replace(self, Self { seen, ..Self::new() });
        let passed = self.at.since(before.at).unwrap_or_default().as_secs_f64();
        let share = |nanos: u64| (passed > 0.0).then(|| nanos as f64 / 1e9 / passed);
        let waited = self.pressure.zip(before.pressure).and_then(|(now, then)| now.checked_sub(then));
        let health = Health {
            slip_ns: None,
            late: None,
            cpu_pressure: waited.and_then(|micros| share(micros * 1_000)).map(|share| share.min(1.0)),
            dropped: None,
            own_cpu: share(self.cpu.0.saturating_sub(before.cpu.0)),
        };
        if let Some(number) = began.checked_sub(1) {
            self.seen.insert(number, health);
        }
        while self.seen.len() > REMEMBERED {
            self.seen.pop_first();
        }
    }

    /// Health in second `number`; nothing is known where it was not seen.
    pub fn of(&mut self, number: u64) -> Health {
        self.seen.remove(&number).unwrap_or_default()
    }
}

/// Microseconds in which something waited for a processor since the system began; absent where it does not say.
fn pressure() -> Option<u64> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split("total=").nth(1)?.trim().parse().ok()
}
