//! The figures of a hop, in whole microseconds as the original keeps them.

use std::net::IpAddr;

use measure::hops::Answer;

/// A hop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// Those who answered, the first one first.
    pub addresses: Vec<IpAddr>,
    /// Probes that left.
    pub sent: u64,
    /// Answers.
    pub received: u64,
    /// True where a probe went no farther.
    pub is_end: bool,
    /// Time of the latest answer, µs.
    pub last: u64,
    /// The shortest, µs.
    pub best: u64,
    /// The longest, µs.
    pub worst: u64,
    /// The mean, µs.
    pub mean: f64,
    pub(super) squares: f64,
    pub(super) logarithms: f64,
    /// Difference of the latest two, µs.
    pub jitter: u64,
    /// The longest such difference, µs.
    pub worst_jitter: u64,
    pub(super) jitters: u64,
    /// The smoothed one of RFC 3550 section 6.4.1, µs, sixteen-fold as it is kept there.
    pub smoothed: i64,
}

impl Hop {
    /// An answer came.
    pub fn take(&mut self, answer: &Answer) {
        if !self.addresses.contains(&answer.from) {
            self.addresses.push(answer.from);
        }
        let time = answer.time.0 / 1_000;
        self.received += 1;
        self.jitter = if self.received == 1 { 0 } else { time.abs_diff(self.last) };
        self.jitters += self.jitter;
        self.worst_jitter = self.worst_jitter.max(self.jitter);
        self.smoothed += self.jitter as i64 - ((self.smoothed + 8) >> 4);
        self.last = time;
        self.best = if self.received == 1 { time } else { self.best.min(time) };
        self.worst = self.worst.max(time);
        let before = time as f64 - self.mean;
        self.mean += before / self.received as f64;
        self.squares += before * (time as f64 - self.mean);
        self.logarithms += (time.max(1) as f64).ln();
    }

    /// Probes without an answer, in the hundred.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { (self.sent - self.received) as f64 * 100.0 / self.sent as f64 }
    }

    /// The standard deviation of a sample, µs; 0 of fewer than two, as the original has it.
    pub fn deviation(&self) -> f64 {
        if self.received < 2 { 0.0 } else { (self.squares / (self.received - 1) as f64).sqrt() }
    }

    /// The geometric mean, µs.
    pub fn geometric(&self) -> f64 {
        if self.received == 0 { 0.0 } else { (self.logarithms / self.received as f64).exp() }
    }

    /// The mean difference, µs.
    pub fn mean_jitter(&self) -> u64 {
        self.jitters.checked_div(self.received).unwrap_or(0)
    }
}

/// The hops that are shown: as far as somebody ended the way, else one beyond the last who answered; none where nobody did.
pub fn shown(hops: &[Hop]) -> &[Hop] {
    let end = hops.iter().position(|hop| hop.is_end).map(|place| place + 1);
    let beyond = || hops.iter().rposition(|hop| hop.received > 0).map_or(0, |place| place + 2);
    let sent = hops.iter().rposition(|hop| hop.sent > 0).map_or(0, |place| place + 1);
    &hops[..end.unwrap_or_else(beyond).min(sent)]
}

#[cfg(test)]
mod tests {
    use measure::hops::Says;
    use measure::unit::Nanos;

    use super::*;

    fn answer(micros: u64) -> Answer {
        let from = IpAddr::from([10, 0, 0, 1]);
        Answer { from, says: Says::Passed, time: Nanos::micros(micros), stamped: true, ttl: None }
    }

    #[test]
    fn figures_of_known_times() {
        let mut hop = Hop { sent: 4, ..Hop::default() };
        for micros in [100, 400, 200] {
            hop.take(&answer(micros));
        }
        assert_eq!((hop.last, hop.best, hop.worst, hop.jitter, hop.worst_jitter), (200, 100, 400, 200, 300));
        assert!((hop.mean - 700.0 / 3.0).abs() < 1e-9 && (hop.deviation() - 152.752_5).abs() < 1e-3);
        assert!((hop.geometric() - 200.0).abs() < 1e-9 && (hop.loss() - 25.0).abs() < f64::EPSILON);
        assert_eq!((hop.mean_jitter(), hop.smoothed), (166, 481));
    }

    #[test]
    fn one_silent_hop_is_shown_behind_the_last_that_answers() {
        let mut hops = vec![Hop { sent: 2, ..Hop::default() }; 6];
        assert_eq!(shown(&hops).len(), 0);
        hops[1].take(&answer(9));
        assert_eq!(shown(&hops).len(), 3);
        hops[3].take(&answer(9));
        hops[3].is_end = true;
        hops[4].is_end = true;
        assert_eq!((shown(&hops).len(), shown(&[]).len()), (4, 0));
    }
}
