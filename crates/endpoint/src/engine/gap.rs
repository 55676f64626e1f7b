//! The longest gap between two requests that replies make room for: after it the next one leaves, answered or not.

use measure::method::Schedule;
use measure::unit::{Instant, Nanos};

/// The gap, which may follow the round trips.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    length: Nanos,
    adapts: bool,
    /// The smoothed round trip times eight, in nanoseconds; absent before the first.
    smoothed: Option<u64>,
    /// True where the latest request could not be sent: to try again at once would be in vain.
    stumbled: bool,
}

impl Gap {
    /// The gap that `schedule` has, where it has one.
    pub fn of(schedule: Schedule) -> Option<Self> {
        match schedule {
            Schedule::AtLatest { gap_ns, adapts } => {
                Some(Self { length: gap_ns, adapts, smoothed: None, stumbled: false })
            }
            _ => None,
        }
    }

    /// A round trip was seen.
    #[inline]
    pub fn saw(&mut self, round_trip: Nanos) {
        if self.adapts {
            let smoothed = self.smoothed.map_or(round_trip.0.saturating_mul(8), |smoothed| {
                (smoothed - smoothed / 8).saturating_add(round_trip.0)
            });
            self.smoothed = Some(smoothed);
            self.length = Nanos(smoothed / 8).max(Schedule::LEAST_GAP);
        }
    }

    /// A request was handed over, or was not.
    #[inline]
    pub fn tried(&mut self, sent: bool) {
        self.stumbled = !sent;
    }

    /// Returns true where the next request may leave at `now`; the last one left at `sent`, and `room` says that the
    /// limit on requests in flight allows one more.
    #[inline]
    pub fn lets(&self, room: bool, sent: Instant, now: Instant) -> bool {
        (room && !self.stumbled) || self.end(sent) <= now
    }

    /// Returns the latest time at which the next request leaves; the last one left at `sent`.
    #[inline]
    pub fn end(&self, sent: Instant) -> Instant {
        sent.after(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_adapts_follows_the_round_trips_and_has_a_floor() {
        let mut gap = Gap::of(Schedule::AtLatest { gap_ns: Nanos::secs(1), adapts: true }).unwrap();
        assert_eq!(gap.end(Instant(5)), Instant(1_000_000_005));
        gap.saw(Nanos::millis(80));
        assert_eq!(gap.end(Instant(0)), Instant(80_000_000));
        gap.saw(Nanos::millis(160));
        assert_eq!(gap.end(Instant(0)), Instant(90_000_000), "an eighth of the way");
        (0..200).for_each(|_| gap.saw(Nanos(30_000)));
        assert_eq!(gap.end(Instant(0)), Instant(Schedule::LEAST_GAP.0));
    }

    #[test]
    fn what_cannot_be_sent_is_tried_again_after_the_gap() {
        let mut gap = Gap::of(Schedule::AtLatest { gap_ns: Nanos(10), adapts: false }).unwrap();
        assert!(gap.lets(true, Instant(100), Instant(101)) && !gap.lets(false, Instant(100), Instant(109)));
        assert!(gap.lets(false, Instant(100), Instant(110)));
        gap.tried(false);
        assert!(!gap.lets(true, Instant(100), Instant(101)) && gap.lets(true, Instant(100), Instant(110)));
        gap.tried(true);
        assert!(gap.lets(true, Instant(100), Instant(101)));
    }

    #[test]
    fn a_fixed_gap_stays_and_other_schedules_have_none() {
        let mut gap = Gap::of(Schedule::AtLatest { gap_ns: Nanos::millis(10), adapts: false }).unwrap();
        gap.saw(Nanos::secs(2));
        assert_eq!(gap.end(Instant(0)), Instant(10_000_000));
        assert!(Gap::of(Schedule::BackToBack).is_none());
    }
}
