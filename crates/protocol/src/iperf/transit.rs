//! Transit times: from a stamp of the sender's clock to one of the receiver's. They mean something where both agree; what
//! they differ by does in any case.

use measure::unit::Nanos;

/// The moments of a number of times, in nanoseconds; negative where the clocks disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transit {
    /// How many there are.
    pub count: u64,
    /// The smallest; 0 where there is none.
    pub min: i64,
    /// The largest; 0 where there is none.
    pub max: i64,
    /// All together.
    pub sum: i64,
    mean: f64,
    m2: f64,
}

impl Transit {
    /// Adds one (Welford's recurrence).
    pub fn add(&mut self, time: i64) {
        self.min = if self.count == 0 { time } else { self.min.min(time) };
        self.max = if self.count == 0 { time } else { self.max.max(time) };
        self.count += 1;
        self.sum = self.sum.saturating_add(time);
        let difference = time as f64 - self.mean;
        self.mean += difference / self.count as f64;
        self.m2 += difference * (time as f64 - self.mean);
    }

    /// Their mean; `None` where there is none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The sum of squared differences from the mean, in square nanoseconds.
    pub fn squares(&self) -> f64 {
        self.m2
    }

    /// The standard deviation of the sample; `None` of fewer than two.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.m2 / (self.count - 1) as f64).sqrt())
    }
}

/// Transit times one after the other, and how they vary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transits {
    /// Their moments.
    pub transit: Transit,
    /// RFC 1889's estimate of how one differs from the one before, in nanoseconds.
    pub jitter: f64,
    variation: i64,
    latest: Option<i64>,
}

impl Transits {
    /// `later` less `earlier`, bounded by what 64 bits hold.
    pub fn difference(later: Nanos, earlier: Nanos) -> i64 {
        let difference = i128::from(later.0) - i128::from(earlier.0);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Adds a datagram that was sent and received at these times.
    pub fn add(&mut self, sent: Nanos, received: Nanos) {
        let time = Self::difference(received, sent);
        if let Some(latest) = self.latest.replace(time) {
            let change = time.saturating_sub(latest);
            self.jitter += (change.unsigned_abs() as f64 - self.jitter) / 16.0;
            self.variation = self.variation.saturating_add(change);
        }
        self.transit.add(time);
    }

    /// The mean of the changes from one to the next; `None` without two.
    pub fn mean_variation(&self) -> Option<i64> {
        let changes = i64::try_from(self.transit.count.checked_sub(1)?).ok()?;
        self.variation.checked_div(changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut transits = Transits::default();
        for (sent, received) in [(1_000, 1_100), (2_000, 2_140), (3_000, 3_060)] {
            transits.add(Nanos(sent), Nanos(received));
        }
        let Transit { count, min, max, sum, .. } = transits.transit;
        assert_eq!((count, min, max, sum), (3, 60, 140, 300));
        // Changes 40 and -80: J = 40/16, then J + (80 - J)/16.
        let first = 40.0 / 16.0;
        assert_eq!(transits.jitter, first + (80.0 - first) / 16.0);
        assert_eq!(transits.mean_variation(), Some(-20));
        assert!((transits.transit.squares() - 3_200.0).abs() < 1e-9, "40² + 40²");
        assert_eq!(transits.transit.deviation(), Some(40.0));
    }

    #[test]
    fn clocks_may_disagree_by_anything() {
        let mut transits = Transits::default();
        transits.add(Nanos(u64::MAX), Nanos::ZERO);
        transits.add(Nanos::ZERO, Nanos(u64::MAX));
        assert_eq!((transits.transit.min, transits.transit.max), (i64::MIN, i64::MAX));
        assert_eq!(Transits::default().mean_variation(), None);
    }
}
