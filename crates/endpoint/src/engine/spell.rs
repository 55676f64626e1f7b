//! Spells of stamped exchanges: a few in a row, then a pause.
//!
//! While one socket asks for stamps of what arrives the kernel stamps every packet of the host, and to switch that on or
//! off it has to stop all CPUs for a moment. Stamping one exchange now and then would leave it on throughout; a spell of
//! several with a pause a hundred times as long leaves the rest of the run as it is without. Where requests are far apart
//! it is left on throughout: what it adds to a packet is nothing beside such a gap.

use measure::method::Stamps;
use measure::unit::{Instant, Nanos};

/// No spell goes on for longer once it has stamped an exchange: at slow schedules and over long paths it is that one.
const LONGEST: Nanos = Nanos::millis(5);
/// Interval at which an engine that cannot see the end of a spell checks for it.
const LOOK: Nanos = Nanos::millis(1);

/// The spells of one thread's run.
#[derive(Clone, Debug)]
pub struct Spells {
    stamps: Stamps,
    due: Instant,
    began: Instant,
    stamped: u32,
}

impl Spells {
    /// The spells of a run that begins at `start`; none where nothing is stamped.
    pub fn new(start: Instant, stamps: Option<Stamps>) -> Self {
        let due = if stamps.is_some() { start } else { Instant::NEVER };
        let stamps = stamps.unwrap_or(Stamps { spacing_ns: Nanos::ZERO, in_a_row: 0, rest: 0 });
        Self { stamps, due, began: start, stamped: 0 }
    }

    /// Returns the start of the next spell.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// One begins. Returns when to look again whether it is over.
    pub fn begin(&mut self, now: Instant) -> Instant {
        (self.began, self.stamped) = (now, 0);
        Self::look(now)
    }

    /// Returns the time of the next check for the end of a spell.
    pub fn look(now: Instant) -> Instant {
        now.after(LOOK)
    }

    /// Returns true where the stamped exchange that starts at `now` is to be the last of this spell.
    pub fn is_last(&self, now: Instant) -> bool {
        self.stamped + 1 >= self.stamps.in_a_row || now.since(self.began).is_some_and(|length| length > LONGEST)
    }

    /// An exchange was stamped at both of its ends here.
    pub fn stamped(&mut self) {
        self.stamped += 1;
    }

    /// Returns true where the kernel is to stop stamping between spells.
    pub fn pauses(&self) -> bool {
        self.stamps.rest > 0
    }

    /// The spell is over. Returns when the next is due.
    pub fn end(&mut self, now: Instant) -> Instant {
        let length = now.since(self.began).unwrap_or(Nanos::ZERO);
        let rest = Nanos(length.0.saturating_mul(u64::from(self.stamps.rest)));
        self.due = self.began.after(self.stamps.spacing_ns).max(now.after(rest));
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMPS: Stamps = Stamps { spacing_ns: Nanos::millis(300), in_a_row: 3, rest: 99 };
    const START: Instant = Instant(1_000_000_000);

    #[test]
    fn a_spell_is_a_few_in_a_row() {
        let mut spells = Spells::new(START, Some(STAMPS));
        assert_eq!(spells.due(), START);
        spells.begin(START);
        let lasts = [0, 1, 2].map(|_| {
            let last = spells.is_last(START.after(Nanos::micros(20)));
            spells.stamped();
            last
        });
        assert_eq!(lasts, [false, false, true]);
    }

    #[test]
    fn slow_exchanges_are_stamped_one_at_a_time_and_rest_for_long() {
        let mut spells = Spells::new(START, Some(STAMPS));
        spells.begin(START);
        assert!(spells.is_last(START.after(Nanos::millis(10))));
        let end = START.after(Nanos::millis(20));
        assert_eq!(spells.end(end), end.after(Nanos::millis(20 * 99)));
    }

    #[test]
    fn short_spells_are_spaced() {
        let mut spells = Spells::new(START, Some(STAMPS));
        spells.begin(START);
        let end = START.after(Nanos::micros(900));
        assert_eq!(spells.end(end), START.after(Nanos::millis(300)));
    }

    #[test]
    fn without_stamps_no_spell_is_ever_due() {
        assert_eq!(Spells::new(START, None).due(), Instant::NEVER);
    }
}
