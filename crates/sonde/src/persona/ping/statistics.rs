//! The figures as the original computes them: whole microseconds, integer divisions, an integer root. The record has
//! better ones.

/// Number of the latest requests of which a second reply is known for one.
const REMEMBERED: usize = 1 << 16;

/// Counts of requests and replies.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Requests that left, and those our host could not send.
    pub transmitted: u64,
    /// Replies, each request's first alone.
    pub received: u64,
    /// Further ones.
    pub repeats: u64,
    /// Replies with a wrong checksum, which are among none of the above.
    pub corrupted: u64,
    /// Errors in place of replies.
    pub errors: u64,
    min: u64,
    max: u64,
    sum: i64,
    sum_of_squares: f64,
    /// The smoothed round trip, times eight.
    smoothed: u64,
    /// So many requests were out at most when one of them was answered.
    pub pipe: u64,
    /// Requests up to this count are answered, or will hardly be.
    acknowledged: u64,
    /// By number, modulo [`REMEMBERED`]: whether it was answered.
    answered: Vec<bool>,
    /// Likewise: when it left, nanoseconds since 1970.
    sent: Vec<u64>,
    /// Departures of the first request and of the latest.
    span: Option<(u64, u64)>,
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            transmitted: 0,
            received: 0,
            repeats: 0,
            corrupted: 0,
            errors: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_of_squares: 0.0,
            smoothed: 0,
            pipe: 0,
            acknowledged: 0,
            answered: vec![false; REMEMBERED],
            sent: vec![0; REMEMBERED],
            span: None,
        }
    }
}

/// Class of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its round trip, microseconds; `None` where the payload has no room for the original's time stamp.
    pub micros: Option<u64>,
    /// True where its request had been answered before.
    pub again: bool,
}

/// Times of the summary, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Shortest.
    pub min: u64,
    /// Mean, cut to a whole microsecond.
    pub mean: u64,
    /// Longest.
    pub max: u64,
    /// Standard deviation of all, cut likewise.
    pub deviation: u64,
}

impl Statistics {
    /// Request `seq`, from 0, left at `at`, or did not.
    pub fn sent(&mut self, seq: u64, at: u64) {
        self.transmitted = seq + 1;
        self.answered[place(seq)] = false;
        self.sent[place(seq)] = at;
        self.span = Some((self.span.map_or(at, |(first, _)| first), at));
    }

    /// Returns true where request `seq` has been answered, as far as it is remembered.
    pub fn is_answered(&self, seq: u64) -> bool {
        self.answered[place(seq)]
    }

    /// Requests that are out, as the original counts them: answers in between do not matter.
    pub fn in_flight(&self) -> u64 {
        self.transmitted.saturating_sub(self.acknowledged)
    }

    /// Request `seq` was answered, or complained of.
    pub fn acknowledge(&mut self, seq: u64) {
        self.pipe = self.pipe.max(self.transmitted.saturating_sub(seq));
        self.acknowledged = self.acknowledged.max(seq + 1);
    }

    /// A reply to request `seq` came at `at`. A clock that was set back in the meantime makes it 0 long.
    pub fn received(&mut self, seq: u64, at: u64, timed: bool, sound: bool) -> Received {
        if sound {
            self.acknowledge(seq);
        }
        // Both in whole microseconds first, as the original has them.
        let micros = timed.then(|| (at / 1_000).saturating_sub(self.sent[place(seq)] / 1_000));
        if let Some(micros) = micros.filter(|_| sound) {
            self.time(micros);
        }
        let again = sound && std::mem::replace(&mut self.answered[place(seq)], true);
        match (sound, again) {
            (false, _) => self.corrupted += 1,
            (true, true) => self.repeats += 1,
            (true, false) => self.received += 1,
        }
        Received { micros, again }
    }

    fn time(&mut self, micros: u64) {
        self.sum += micros as i64;
        self.sum_of_squares += (micros as f64) * (micros as f64);
        self.min = self.min.min(micros);
        self.max = self.max.max(micros);
        self.smoothed =
            if self.smoothed == 0 { micros * 8 } else { (self.smoothed + micros).saturating_sub(self.smoothed / 8) };
    }

    /// The times; `None` before the first reply.
    pub fn times(&self) -> Option<Times> {
        let all = i64::try_from(self.received + self.repeats).ok().filter(|all| *all > 0)?;
        if self.received == 0 || self.min == u64::MAX {
            return None;
        }
        let mean = self.sum / all;
        // The square of the sum fits while the sum does; beyond, the mean is squared, at the price of its fraction.
        let variance = if self.sum < i64::from(i32::MAX) {
            ((self.sum_of_squares - (self.sum * self.sum / all) as f64) / all as f64) as i64
        } else {
            (self.sum_of_squares / all as f64 - (mean * mean) as f64) as i64
        };
        let deviation = variance.max(0).unsigned_abs().isqrt();
        Some(Times { min: self.min, mean: mean.unsigned_abs(), max: self.max, deviation })
    }

    /// The smoothed round trip, microseconds.
    pub fn smoothed(&self) -> u64 {
        self.smoothed / 8
    }

    /// From the first request to the latest, microseconds.
    pub fn elapsed_us(&self) -> u64 {
        self.span.map_or(0, |(first, last)| last.saturating_sub(first) / 1_000)
    }

    /// Share of requests without a reply, percent; `None` before the first request.
    pub fn loss_percent(&self) -> Option<f32> {
        let missing = self.transmitted as i64 - self.received as i64;
        (self.transmitted > 0).then(|| (missing as f64 * 100.0 / self.transmitted as f64) as f32)
    }
}

fn place(seq: u64) -> usize {
    (seq % REMEMBERED as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(replies: &[(u64, u64)]) -> Statistics {
        let mut statistics = Statistics::default();
        for &(seq, micros) in replies {
            if seq >= statistics.transmitted {
                (statistics.transmitted..=seq).for_each(|seq| statistics.sent(seq, 1_000_000 * seq));
            }
            statistics.received(seq, 1_000_000 * seq + 1_000 * micros, true, true);
        }
        statistics
    }

    #[test]
    fn times_are_in_whole_microseconds() {
        let times = after(&[(0, 14), (1, 19), (2, 12), (3, 26)]).times().unwrap();
        assert_eq!(times, Times { min: 12, mean: 17, max: 26, deviation: 5 });
        assert_eq!(Statistics::default().times(), None);
    }

    #[test]
    fn a_second_reply_is_no_reply_but_has_its_time() {
        let statistics = after(&[(0, 301), (0, 312), (1, 229), (1, 240), (2, 233), (2, 244), (3, 228)]);
        assert_eq!((statistics.transmitted, statistics.received, statistics.repeats), (4, 4, 3));
        assert_eq!(statistics.times(), Some(Times { min: 228, mean: 255, max: 312, deviation: 32 }));
    }

    #[test]
    fn a_reply_with_a_wrong_checksum_counts_as_none() {
        let mut statistics = Statistics::default();
        statistics.sent(0, 0);
        assert_eq!(statistics.received(0, 9_000, true, false), Received { micros: Some(9), again: false });
        assert_eq!((statistics.received, statistics.corrupted, statistics.in_flight()), (0, 1, 1));
        assert!(statistics.times().is_none() && !statistics.is_answered(0));
    }

    #[test]
    fn what_is_out_at_once_is_the_pipe() {
        let mut statistics = Statistics::default();
        (0..5).for_each(|seq| statistics.sent(seq, 0));
        assert_eq!((statistics.in_flight(), statistics.pipe), (5, 0));
        statistics.received(1, 0, true, true);
        assert_eq!((statistics.in_flight(), statistics.pipe), (3, 4));
        statistics.received(4, 0, true, true);
        statistics.received(2, 0, true, true);
        assert_eq!((statistics.in_flight(), statistics.pipe), (0, 4));
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_negative_time() {
        let mut statistics = Statistics::default();
        statistics.sent(0, 5_000_000);
        assert_eq!(statistics.received(0, 1_000_000, true, true).micros, Some(0));
        assert_eq!(statistics.times(), Some(Times { min: 0, mean: 0, max: 0, deviation: 0 }));
    }
}
