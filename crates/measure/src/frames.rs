//! Frames as an encoder of pictures sends them: so many a second, each when its time has come, of a size that varies.
//!
//! The times lie on a grid from the start, so that nothing drifts. A frame whose time has passed is left out, and not sent late.

use fastrand::Rng;

use crate::interval::arrivals::Transit;
use crate::unit::{Instant, Nanos};
use crate::varying::Spread;

/// Counts of frames, since the start or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frames {
    /// Frames of which all left; at a receiver those that came to their end.
    pub carried: u64,
    /// Frames left out by a sender, for their time had passed; at a receiver those that were sent and did not come to their end.
    pub missed: u64,
    /// Times that a sender left frames out, one or several at once.
    pub slips: u64,
    /// At a sender how late each began; at a receiver from when each was due to when it was there. Absent where there was none.
    pub transit: Option<Transit>,
}

impl Frames {
    /// Returns the counts since `earlier`, an older state of the same end; times are those of now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            carried: self.carried.saturating_sub(earlier.carried),
            missed: self.missed.saturating_sub(earlier.missed),
            slips: self.slips.saturating_sub(earlier.slips),
            transit: self.transit,
        }
    }
}

/// The count of one end, with the times of the present interval and of all.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCount {
    /// Counts; without times.
    pub frames: Frames,
    transits: [Transit; 2],
}

impl FrameCount {
    /// Takes a time of a frame, nanoseconds.
    pub fn took(&mut self, time: i64) {
        self.transits.iter_mut().for_each(|transit| transit.take(time));
    }

    /// Returns the counts so far, with the times since this was asked last.
    pub fn sight(&mut self) -> Frames {
        let transit = std::mem::take(&mut self.transits[0]);
        Frames { transit: Some(transit).filter(|transit| transit.count > 0), ..self.frames }
    }

    /// Returns the counts so far, with all times.
    pub fn total(&self) -> Frames {
        Frames { transit: Some(self.transits[1]).filter(|transit| transit.count > 0), ..self.frames }
    }
}

/// The time of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Its place on the grid, from 1.
    pub number: u32,
    /// The instant at which it is to leave.
    pub due: Instant,
    /// Frames left out in front of it.
    pub missed: u32,
}

/// The grid.
#[derive(Clone, Copy, Debug)]
pub struct FrameClock {
    period: Nanos,
    start: Option<Instant>,
    latest: u32,
}

impl FrameClock {
    /// A frame each `period`, the first when it is asked for.
    pub fn new(period: Nanos) -> Self {
        Self { period: period.max(Nanos(1)), start: None, latest: 0 }
    }

    /// The next frame that can be in time at `now`.
    pub fn next(&mut self, now: Instant) -> Tick {
        let start = *self.start.get_or_insert(now);
        let passed = now.since(start).unwrap_or_default().0.div_ceil(self.period.0);
        let soonest = u32::try_from(passed.saturating_add(1)).unwrap_or(u32::MAX);
        let next = self.latest.saturating_add(1);
        let number = next.max(soonest);
        self.latest = number;
        let after = Nanos(self.period.0.saturating_mul(u64::from(number) - 1));
        Tick { number, due: start.after(after), missed: number - next }
    }
}

/// Octets of frames.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// All of one size.
    Same(u32),
    /// Drawn about a rate, of which each frame is the part of its period.
    Drawn {
        /// The rate, and how far frames lie from it.
        spread: Spread,
        /// Frames a second.
        per_second: f64,
        /// The drawer.
        rng: Rng,
    },
}

impl Sizes {
    /// Sizes about a rate; the same seed yields the same ones.
    pub fn drawn(spread: Spread, per_second: f64, seed: u64) -> Self {
        Self::Drawn { spread, per_second, rng: Rng::with_seed(seed) }
    }

    /// Octets of the next frame: at least one, at most what 31 bits hold.
    pub fn draw(&mut self) -> u32 {
        let octets = match self {
            Self::Same(octets) => f64::from(*octets),
            Self::Drawn { spread, per_second, rng } => spread.draw(rng) / (*per_second * 8.0),
        };
        (octets as u32).clamp(1, i32::MAX as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Nanos = Nanos::millis(20);

    fn at(millis: u64) -> Instant {
        Instant(5_000_000_000).after(Nanos::millis(millis))
    }

    #[test]
    fn frames_lie_on_a_grid_however_late_each_is_asked_for() {
        let mut clock = FrameClock::new(PERIOD);
        for number in 1..1_000 {
            // The one before took none, or up to all, of its period.
            let due = u64::from(number - 1) * 20;
            let asked = at(due.saturating_sub(u64::from(number % 21)));
            assert_eq!(clock.next(asked), Tick { number, due: at(due), missed: 0 });
        }
    }

    #[test]
    fn a_frame_whose_time_has_passed_is_left_out() {
        let mut clock = FrameClock::new(PERIOD);
        assert_eq!(clock.next(at(0)).number, 1);
        // In time to the nanosecond, then late by one, then by much.
        assert_eq!(clock.next(at(20)), Tick { number: 2, due: at(20), missed: 0 });
        let late = at(40).after(Nanos(1));
        assert_eq!(clock.next(late), Tick { number: 4, due: at(60), missed: 1 });
        assert_eq!(clock.next(at(200)), Tick { number: 11, due: at(200), missed: 6 });
        assert_eq!(clock.next(at(201)), Tick { number: 12, due: at(220), missed: 0 });
    }

    #[test]
    fn no_time_overflows() {
        let mut clock = FrameClock::new(Nanos::ZERO);
        clock.next(Instant(0));
        assert_eq!(clock.next(Instant(u64::MAX - 1)).number, u32::MAX);
        assert_eq!(clock.next(Instant(u64::MAX - 1)).number, u32::MAX);
    }

    #[test]
    fn sizes_have_the_mean_and_the_deviation_asked_for() {
        let spread = Spread { mean: 40_000_000, deviation: 10_000_000 };
        let mut sizes = Sizes::drawn(spread, 50.0, 7);
        let drawn: Vec<f64> = (0..20_000).map(|_| f64::from(sizes.draw())).collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let deviation = (drawn.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / count).sqrt();
        // 100,000 octets, a quarter of that beside it; and the logarithm's own mean, whose distribution is symmetric.
        assert!((0.99..1.01).contains(&(mean / 1e5)), "{mean}");
        assert!((0.24..0.26).contains(&(deviation / 1e5)), "{deviation}");
        let logarithm = drawn.iter().map(|size| size.ln()).sum::<f64>() / count;
        let expected = 1e5_f64.ln() - 0.0625_f64.ln_1p() / 2.0;
        assert!((logarithm - expected).abs() < 0.01, "{logarithm} {expected}");
    }

    #[test]
    fn sizes_are_bounded() {
        assert_eq!(Sizes::drawn(Spread { mean: 1, deviation: 0 }, 1_000.0, 1).draw(), 1);
        assert_eq!(Sizes::drawn(Spread { mean: u64::MAX, deviation: 0 }, 1.0, 1).draw(), i32::MAX as u32);
        assert_eq!(Sizes::Same(0).draw(), 1);
        assert!(Sizes::drawn(Spread { mean: 1_000, deviation: u64::MAX }, f64::NAN, 1).draw() >= 1);
    }
}
