//! Send times of the requests to one host that is probed without end.
//!
//! A fixed period from a random phase, and each request by chance a little before or after its time: another periodic event is
//! not always met at the same phase. An instant follows from the first and from the number of the request: a late one
//! moves no other.

use fastrand::Rng;

use crate::unit::{Instant, Nanos};

/// A request leaves within this part of the period around its time.
const PART: u64 = 10;

/// The due instants of one host, in order, without end.
#[derive(Clone, Debug)]
pub struct Rhythm {
    every: Nanos,
    /// The earliest that request 0 can be due.
    first: Instant,
    number: u64,
    rng: Rng,
    due: Instant,
}

impl Rhythm {
    /// One request `every` so often, the first within one period and a tenth from `start`. The same seed has the same instants.
    pub fn new(every: Nanos, start: Instant, seed: u64) -> Self {
        let every = Nanos(every.0.max(1));
        let mut rng = Rng::with_seed(seed);
        let first = start.after(Nanos(rng.u64(0..every.0)));
        let mut rhythm = Self { every, first, number: 0, rng, due: first };
        rhythm.draw();
        rhythm
    }

    /// Returns the send time of the next request.
    pub fn peek(&self) -> Instant {
        self.due
    }

    /// The next one was dealt with.
    pub fn advance(&mut self) {
        self.number += 1;
        self.draw();
    }

    /// Skips the requests due before `now`.
    pub fn skip_to(&mut self, now: Instant) {
        while self.due < now {
            let behind = now.since(self.due).unwrap_or_default().0 / self.every.0;
            self.number += behind.max(1);
            self.draw();
        }
    }

    fn draw(&mut self) {
        let chance = self.rng.u64(0..=2 * (self.every.0 / PART));
        self.due = self.first.after(Nanos(self.every.0.saturating_mul(self.number).saturating_add(chance)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Nanos = Nanos::millis(100);

    #[test]
    fn each_is_within_a_tenth_of_its_time_and_the_period_never_drifts() {
        let mut rhythm = Rhythm::new(EVERY, Instant(5_000), 7);
        let first = rhythm.first;
        assert!((5_000..5_000 + EVERY.0).contains(&first.0));
        let mut offsets = Vec::new();
        for number in 0..10_000 {
            let time = first.0 + number * EVERY.0 + EVERY.0 / 10;
            offsets.push(rhythm.peek().0 as i64 - time as i64);
            rhythm.advance();
        }
        let tenth = (EVERY.0 / 10) as i64;
        assert!(offsets.iter().all(|offset| offset.abs() <= tenth));
        assert!(
            offsets.iter().any(|offset| *offset < -tenth * 9 / 10)
                && offsets.iter().any(|offset| *offset > tenth * 9 / 10)
        );
        // Uniform: the mean of 10,000 is within five standard errors of the middle, 2·10 ms/√12/√10,000 each.
        assert!((offsets.iter().sum::<i64>() / 10_000).abs() < 300_000);
    }

    #[test]
    fn a_seed_repeats_its_instants_and_another_has_others() {
        let take = |seed| {
            let mut rhythm = Rhythm::new(EVERY, Instant(0), seed);
            (0..20).map(|_| (rhythm.peek(), rhythm.advance()).0).collect::<Vec<_>>()
        };
        assert_eq!(take(3), take(3));
        assert_ne!(take(3), take(4));
    }

    #[test]
    fn what_was_passed_over_moves_nothing() {
        let mut rhythm = Rhythm::new(EVERY, Instant(0), 3);
        let first = rhythm.first.0;
        let later = Instant(3_600_000_000_000);
        rhythm.skip_to(later);
        let place = (rhythm.peek().0 - first) % EVERY.0;
        assert!(rhythm.peek() >= later && rhythm.peek().0 < later.0 + 2 * EVERY.0);
        assert!(place <= EVERY.0 / 5, "{place}");
    }
}
