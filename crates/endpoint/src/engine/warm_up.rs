//! Exchanges before recording: neighbour resolution, slow start, page faults, the first wake of an idle core.

use measure::unit::{Instant, Nanos};
use protocol::link::Fault;

use super::Told;

/// Least number of exchanges of a warm-up.
const LEAST: u32 = 32;
/// Multiple of the warm-up time after which a slow path is warm, however few exchanges that was.
const PATIENCE: u64 = 4;
/// Gap of warm-up exchanges at the most: a schedule of one a second is warmed up faster than it runs.
pub const GAP: Nanos = Nanos(12_500_000);

/// One unrecorded exchange after the other, until warm.
#[derive(Clone, Copy, Debug)]
pub struct WarmUp {
    start: Instant,
    until: Instant,
    patience: Instant,
    gap: Nanos,
    done: u32,
    warmed: Warmed,
}

/// Result of a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warmed {
    /// Round-trip time of the very first exchange; absent where it was not answered in time.
    pub first: Option<Nanos>,
    /// Exchanges tried; of several connections all together.
    pub tried: u64,
    /// Those that were answered in time.
    pub answered: u64,
}

impl Warmed {
    /// Combines it with the warm-up of another thread.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let first = self.first.or(other.first);
        Self { first, tried: self.tried + other.tried, answered: self.answered + other.answered }
    }
}

/// Result of an unrecorded exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Answered after this time; `None` where the clock stepped back.
    Answered(Option<Nanos>),
    /// Not answered in time.
    Unanswered,
    /// A fault of the link.
    Fault(Fault),
}

impl WarmUp {
    /// A warm-up from `start`; `None` when none is wanted.
    pub fn new(start: Instant, told: &Told<'_>) -> Option<Self> {
        let length = told.method.warm_up_ns;
        if length == Nanos::ZERO {
            return None;
        }
        let gap = told.method.schedule.mean_gap().map_or(Nanos::ZERO, |gap| gap.min(GAP));
        let patience = start.after(Nanos(length.0.saturating_mul(PATIENCE)));
        Some(Self { start, until: start.after(length), patience, gap, done: 0, warmed: Warmed::default() })
    }

    /// Returns the time of the next unrecorded exchange.
    pub fn due(&self) -> Instant {
        self.start.after(Nanos(self.gap.0 * u64::from(self.done)))
    }

    /// Takes an exchange that ended at `now`, and returns true where the warm-up continues. It does not wait for a peer
    /// without answers: the recording will count the losses.
    pub fn goes_on(&mut self, trial: Trial, now: Instant) -> Result<bool, Fault> {
        self.warmed.tried += 1;
        match trial {
            Trial::Answered(time) => {
                if self.done == 0 {
                    self.warmed.first = time;
                }
                self.done += 1;
                self.warmed.answered += 1;
                let warm = now >= self.until && self.done >= LEAST;
                Ok(!warm && now < self.patience)
            }
            Trial::Fault(fault) if fault.ends_the_run() => Err(fault),
            Trial::Unanswered | Trial::Fault(_) => Ok(false),
        }
    }

    /// Result so far.
    pub fn warmed(&self) -> Warmed {
        self.warmed
    }
}
