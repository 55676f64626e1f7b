//! The highest rate that a pair of programs carries with hardly a loss, found by trying rates from above.

use anyhow::{Result, bail};

/// Share of the messages that may be lost, of which the rate counts as carried.
pub const LOSS: f64 = 0.001;
/// The highest rate tried, messages a second, after as fast as it goes.
const HIGHEST: f64 = 4e6;
/// The lowest.
const LOWEST: f64 = 2e4;
/// From one to the next.
const STEP: f64 = 0.92;

/// Rate that a run was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rung {
    /// As fast as the sender can.
    Max,
    /// So many messages a second.
    Rate(u32),
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flood {
    /// Messages handed to the kernel.
    pub sent: f64,
    /// Messages among them that the far side received.
    pub received: f64,
    /// In so many seconds.
    pub seconds: f64,
}

impl Flood {
    fn is_carried(self) -> bool {
        self.sent > 0.0 && self.sent - self.received < LOSS * self.sent
    }

    fn per_s(self) -> f64 {
        self.received / self.seconds
    }
}

/// One side's way down the rates, which remembers where it ended: the next begins one above.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    carried: Option<f64>,
}

impl Ladder {
    /// Messages a second received of the first rate, from above, at which fewer than [`LOSS`] are lost.
    pub fn highest(&mut self, mut run: impl FnMut(Rung) -> Result<Flood>) -> Result<f64> {
        let mut rate = match self.carried {
            Some(before) => before / STEP,
            None => f64::INFINITY,
        };
        loop {
            let rung = if rate > HIGHEST { Rung::Max } else { Rung::Rate(rate as u32) };
            let flood = run(rung)?;
            if flood.is_carried() {
                self.carried = Some(rate);
                return Ok(flood.per_s());
            }
            // The rate received under a flood is about the highest possible; the rate sent can't be exceeded.
            rate = if rung == Rung::Max { (flood.per_s() / STEP).min(HIGHEST) } else { rate * STEP };
            if rate < LOWEST {
                bail!("more than {} in 1000 are lost even at {:.0} a second", LOSS * 1e3, rate / STEP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A far side that takes so many a second, of a sender that can send so many.
    fn pair(takes: f64, sends: f64, asked: &mut Vec<Rung>) -> impl FnMut(Rung) -> Result<Flood> {
        move |rung| {
            asked.push(rung);
            let sent = if let Rung::Rate(rate) = rung { f64::from(rate).min(sends) } else { sends };
            Ok(Flood { sent, received: sent.min(takes), seconds: 1.0 })
        }
    }

    #[test]
    fn where_the_sender_is_the_slower_end_its_best_is_the_rate() {
        let mut asked = Vec::new();
        let mut ladder = Ladder::default();
        assert_eq!(ladder.highest(pair(5e5, 4e5, &mut asked)).unwrap(), 4e5);
        assert_eq!(ladder.highest(pair(5e5, 4e5, &mut asked)).unwrap(), 4e5);
        assert_eq!(asked, [Rung::Max, Rung::Max]);
    }

    #[test]
    fn where_the_far_side_is_the_highest_rate_it_takes_is_found_from_above() {
        let mut asked = Vec::new();
        let mut ladder = Ladder::default();
        let found = ladder.highest(pair(3e5, 1e6, &mut asked)).unwrap();
        assert!(found <= 3e5 && found > 0.9 * 3e5, "{found}");
        let tried = asked.len();
        let again = ladder.highest(pair(3e5, 1e6, &mut asked)).unwrap();
        assert!((again - found).abs() < 0.02 * found && asked.len() == tried + 2, "{again}: {asked:?}");
    }

    #[test]
    fn a_far_side_that_got_better_is_tried_higher() {
        let mut ladder = Ladder { carried: Some(1e5) };
        let found = ladder.highest(pair(3e5, 1e6, &mut Vec::new())).unwrap();
        assert!(found > 1e5, "{found}");
    }

    #[test]
    fn one_that_loses_whatever_is_sent_is_an_error() {
        let lossy = |_| Ok(Flood { sent: 1_000.0, received: 990.0, seconds: 1.0 });
        assert!(Ladder::default().highest(lossy).is_err());
        let silent = |_| Ok(Flood { sent: 0.0, received: 0.0, seconds: 1.0 });
        assert!(Ladder::default().highest(silent).is_err());
    }
}
