//! Deviations of a reflector from answering at once.

use measure::unit::{Nanos, Rate};

/// Deviations of a reflector from answering at once: for tests, and to limit a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Delay of each reply; absent: none.
    pub hold: Option<Nanos>,
    /// Length of a stall, and the number of requests of a flow between two stalls.
    pub stall: Option<(Nanos, u64)>,
    /// Highest rate of replies on one flow; absent: no limit.
    pub rate: Option<Rate>,
}

impl Behaviour {
    /// True where it deviates at all.
    pub(super) fn is_unusual(&self) -> bool {
        self.hold.is_some() || self.stall.is_some() || self.rate.is_some()
    }
}
