//! A rate that varies: drawn anew at fixed times, log-normally about a mean, as the load of an encoder of pictures does.
//!
//! The account, in bits, fills at the present rate, and sent octets are taken from it. A sender that is late catches up, and
//! nothing is based anew.

use fastrand::Rng;

use crate::unit::{Instant, Nanos};

/// A mean, and how far draws lie from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Mean, bits a second; above 0.
    pub mean: u64,
    /// Standard deviation, bits a second.
    pub deviation: u64,
}

impl Spread {
    /// Draws a number: the exponential of a normal one whose moments yield the mean and the deviation.
    pub fn draw(self, rng: &mut Rng) -> f64 {
        let (mean, deviation) = (self.mean.max(1) as f64, self.deviation as f64);
        let squared = (deviation / mean).powi(2).ln_1p();
        let (first, second) = (1.0 - rng.f64(), rng.f64());
        // Box and Muller, 1958.
        let normal = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos();
        (mean.ln() - squared / 2.0 + squared.sqrt() * normal).exp()
    }
}

/// An account that fills at a rate that varies.
#[derive(Clone, Debug)]
pub struct VaryingRate {
    spread: Spread,
    period: Nanos,
    rng: Rng,
    /// The present rate, bits a nanosecond …
    rate: f64,
    /// … and until when it holds.
    until: Instant,
    /// Up to when the account is filled.
    latest: Instant,
    /// Bits.
    account: f64,
}

impl VaryingRate {
    /// An account that is empty at `start`, with another rate after each `period`.
    pub fn new(spread: Spread, period: Nanos, start: Instant, seed: u64) -> Self {
        let rng = Rng::with_seed(seed);
        let mut rate =
            Self { spread, period: period.max(Nanos(1)), rng, rate: 0.0, until: start, latest: start, account: 0.0 };
        rate.draw();
        rate
    }

    /// The instant before which no more may be sent; `None`: it may be sent at `now`.
    pub fn wait(&mut self, now: Instant) -> Option<Instant> {
        while self.until <= now {
            self.fill(self.until);
            self.draw();
        }
        self.fill(now);
        if self.account >= 0.0 {
            return None;
        }
        let nanos = (-self.account / self.rate).ceil();
        // No further than this rate holds: the next may be higher.
        Some(now.after(Nanos(nanos.min(1e18) as u64)).min(self.until))
    }

    /// Takes `octets` that were sent from the account.
    pub fn spend(&mut self, octets: usize) {
        self.account -= octets as f64 * 8.0;
    }

    fn fill(&mut self, now: Instant) {
        self.account += self.rate * now.since(self.latest).unwrap_or_default().0 as f64;
        self.latest = now;
    }

    /// Draws the next rate.
    fn draw(&mut self) {
        self.rate = self.spread.draw(&mut self.rng).max(1.0) / 1e9;
        self.until = self.until.after(self.period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Nanos = Nanos::millis(100);

    /// Octets that go out in each period of so many, a thousand at a time, by a sender that is never late.
    fn sent(spread: Spread, periods: u64) -> Vec<f64> {
        let mut rate = VaryingRate::new(spread, PERIOD, Instant(0), 7);
        let (mut now, mut sent) = (Instant(0), vec![0.0; usize::try_from(periods).unwrap()]);
        while now.0 < periods * PERIOD.0 {
            if let Some(until) = rate.wait(now) {
                now = until;
            } else {
                sent[usize::try_from(now.0 / PERIOD.0).unwrap()] += 1_000.0;
                rate.spend(1_000);
            }
        }
        sent
    }

    #[test]
    fn a_rate_without_deviation_holds() {
        let sent = sent(Spread { mean: 8_000_000, deviation: 0 }, 20);
        // 100 octets a tenth of a millisecond; the first goes out at once.
        assert!(sent.iter().all(|octets| (99_000.0..=101_000.0).contains(octets)), "{sent:?}");
    }

    #[test]
    fn mean_and_deviation_are_those_asked_for() {
        let sent = sent(Spread { mean: 80_000_000, deviation: 16_000_000 }, 2_000);
        let count = sent.len() as f64;
        let mean = sent.iter().sum::<f64>() / count;
        let deviation = (sent.iter().map(|octets| (octets - mean).powi(2)).sum::<f64>() / count).sqrt();
        // A million octets a period, a fifth of that beside it: of 2,000 draws the mean is known to half a percent.
        assert!((0.98..=1.02).contains(&(mean / 1e6)), "{mean}");
        assert!((0.18..=0.22).contains(&(deviation / 1e6)), "{deviation}");
    }

    #[test]
    fn nobody_waits_beyond_a_draw_and_what_is_late_is_caught_up() {
        let mut rate = VaryingRate::new(Spread { mean: 1, deviation: 1_000 }, PERIOD, Instant(0), 1);
        assert_eq!(rate.wait(Instant(0)), None);
        rate.spend(1_000_000);
        assert_eq!(rate.wait(Instant(0)), Some(Instant(PERIOD.0)));
        let mut rate = VaryingRate::new(Spread { mean: 8_000, deviation: 0 }, PERIOD, Instant(0), 1);
        let after = Instant(1_000_000_000);
        let mut calls = 0;
        while rate.wait(after).is_none() {
            rate.spend(150);
            calls += 1;
        }
        assert_eq!(calls, 7, "1,000 octets of a second, and what is begun with the last of them");
    }
}
