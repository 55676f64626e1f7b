//! Arrivals of a stream's numbered datagrams at their receiver: losses, order and jitter.
//!
//! Numbers count from 1. A number that was left out is lost until it comes after all, and then it was out of order; one that
//! comes twice is a duplicate, and hides no loss. That takes a memory of the latest [`WINDOW`] numbers: an older number
//! cannot be told from a duplicate, and is taken for late.
//!
//! Jitter is the estimator of RFC 3550, section 6.4.1: it takes differences of transit times alone, so the two ends' clocks
//! need not agree.

mod thinned;

use serde::{Deserialize, Serialize};

use self::thinned::Thinned;
use crate::unit::Nanos;

/// Numbers that are remembered, below the highest that came: at a million datagrams a second, 65 ms.
pub const WINDOW: u64 = 1 << 16;
/// Places with lost datagrams from which the transit times after them are evidence.
const PLACES: u64 = 10;
const WORDS: usize = (WINDOW / 64) as usize;

/// Counts of a receiver of numbered datagrams, since the stream's start or in an interval of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// Datagrams that the numbers account for: how far the highest has come.
    pub expected: u64,
    /// Datagrams that came, each counted once.
    pub received: u64,
    /// Numbers left out. In an interval below zero, where more late ones came than were newly left out.
    pub lost: i64,
    /// Datagrams that came after one with a higher number.
    pub out_of_order: u64,
    /// Number of datagrams that were copies beyond the first.
    pub duplicates: u64,
    /// Number of datagrams that were none of the stream: too short, or of another format.
    pub foreign: u64,
    /// Smoothed difference of transit times at the end, in nanoseconds (RFC 3550, section 6.4.1); absent below two
    /// datagrams.
    pub jitter_ns: Option<f64>,
    /// Mean time on the way beyond the shortest, in nanoseconds: the delay of queues. The clocks need not agree, and
    /// are taken not to drift. Absent where nothing came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<f64>,
    /// In an interval: shortest time on the way beyond the shortest there ever was, in nanoseconds. A queue that never empties
    /// shows here, and a receiver that is now and then late does not. Absent of a whole stream, and where nothing came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing_ns: Option<f64>,
    /// For a whole stream: lower quartile of the time on the way, beyond the shortest, of datagrams that came next
    /// after lost ones, in nanoseconds. Behind a queue that drops they have waited for nearly a full queue, however
    /// rarely it is full; behind a policer they have not. Absent for an interval, and where losses were at fewer than
    /// ten places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_loss_ns: Option<f64>,
    /// Times from sending to receiving; absent where the two clocks are not of one kind, or nothing came.
    pub transit: Option<Transit>,
}

/// Times from sending to receiving by two clocks: true only where these agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transit {
    /// Datagrams with a transit time, a count.
    pub count: u64,
    /// The shortest, in nanoseconds; below zero where the clocks do not agree.
    pub min_ns: i64,
    /// Their mean, in nanoseconds.
    pub mean_ns: f64,
    /// The longest, in nanoseconds.
    pub max_ns: i64,
    /// Sum of squared deviations from the mean, in square nanoseconds.
    pub squares: f64,
}

impl Datagrams {
    /// So many more were sent behind the highest that came: they are lost.
    pub fn miss(&mut self, count: u64) {
        self.expected = self.expected.saturating_add(count);
        self.lost = self.lost.saturating_add_unsigned(count);
    }
}

/// The memory of one receiver.
#[derive(Clone, Debug)]
pub struct Arrivals {
    highest: u64,
    received: u64,
    out_of_order: u64,
    duplicates: u64,
    foreign: u64,
    seen: Box<[u64; WORDS]>,
    last_transit: Option<i64>,
    smoothed: Option<f64>,
    /// Transit times of the present interval, and of all.
    transits: [Transit; 2],
    /// Transit times of the datagrams that came next after lost ones.
    after_loss: Thinned,
    /// True where the clocks are of one kind, so that transit times mean something.
    comparable: bool,
}

impl Arrivals {
    /// Nothing has come yet. `comparable`: whether both ends' clocks are of one kind, so that times on the way are told.
    pub fn new(comparable: bool) -> Self {
        Self {
            highest: 0,
            received: 0,
            out_of_order: 0,
            duplicates: 0,
            foreign: 0,
            seen: Box::new([0; WORDS]),
            last_transit: None,
            smoothed: None,
            transits: Default::default(),
            after_loss: Thinned::default(),
            comparable,
        }
    }

    /// Datagram `number`, at least 1, has come; `transit` is when it came less when it was sent, in nanoseconds. `false`: it is a copy of
    /// one that came before, or has no number.
    #[inline]
    pub fn arrived(&mut self, number: u64, transit: i64) -> bool {
        if number == self.highest + 1 {
            self.advance(number);
        } else if !self.out_of_step(number, transit) {
            return false;
        }
        self.received += 1;
        self.took(transit);
        true
    }

    /// A datagram came that is none of the stream's.
    pub fn foreign(&mut self) {
        self.foreign += 1;
    }

    /// The sender says that it sent `count`: those after the highest that came are lost too.
    pub fn last(&mut self, count: u64) {
        if count > self.highest {
            self.skip_to(count);
        }
    }

    /// Returns the highest number that came, or that the sender announced.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns true where numbers up to the highest are missing.
    pub fn is_incomplete(&self) -> bool {
        self.received < self.highest
    }

    /// Returns the longest time by which a datagram may come after one that was sent later and took `transit`, as far as times on the way
    /// show it: that one may be smaller, and take a faster way than all of the stream.
    pub fn overtaken(&self, transit: i64) -> Nanos {
        let Transit { count, min_ns, max_ns, .. } = self.transits[1];
        if count == 0 { Nanos::ZERO } else { Nanos(max_ns.abs_diff(min_ns.min(transit))) }
    }

    /// Returns the counts so far. Each call begins a new interval of transit times, and returns those of the one that ends.
    pub fn sight(&mut self) -> Datagrams {
        let transit = std::mem::take(&mut self.transits[0]);
        let standing = transit.min_ns.saturating_sub(self.transits[1].min_ns).max(0) as f64;
        Datagrams { standing_ns: (transit.count > 0).then_some(standing), ..self.with(&transit) }
    }

    /// Returns the counts so far, with the transit times of all that came.
    pub fn total(&self) -> Datagrams {
        let least = self.transits[1].min_ns;
        let enough = Some(&self.after_loss).filter(|after_loss| after_loss.seen() >= PLACES);
        let after_loss = enough.and_then(Thinned::quarter).map(|transit| transit.saturating_sub(least).max(0) as f64);
        Datagrams { after_loss_ns: after_loss, ..self.with(&self.transits[1]) }
    }

    /// Begins transit times and jitter anew: earlier ones are not to be counted.
    pub fn begin(&mut self) {
        (self.last_transit, self.smoothed) = (None, None);
        self.transits = Default::default();
        self.after_loss = Thinned::default();
    }

    fn with(&self, transit: &Transit) -> Datagrams {
        let taken = transit.count > 0;
        Datagrams {
            expected: self.highest,
            received: self.received,
            lost: self.highest.saturating_sub(self.received).cast_signed(),
            out_of_order: self.out_of_order,
            duplicates: self.duplicates,
            foreign: self.foreign,
            jitter_ns: self.smoothed,
            waited_ns: taken.then(|| (transit.mean_ns - transit.min_ns as f64).max(0.0)),
            standing_ns: None,
            after_loss_ns: None,
            transit: (taken && self.comparable).then_some(*transit),
        }
    }

    /// The next number in order, whose place an old one had.
    #[inline]
    fn advance(&mut self, number: u64) {
        let (word, bit) = place(number);
        if bit == 0 {
            self.seen[word] = 1;
        } else {
            // Higher bits of the same word are of a round before.
            self.seen[word] = self.seen[word] & ((1 << bit) - 1) | 1 << bit;
        }
        self.highest = number;
    }

    /// A number out of step. `false`: it came before.
    #[cold]
    fn out_of_step(&mut self, number: u64, transit: i64) -> bool {
        if number > self.highest {
            self.after_loss.take(transit);
            self.skip_to(number - 1);
            self.advance(number);
            return true;
        }
        if number == 0 {
            self.foreign += 1;
            return false;
        }
        let (word, bit) = place(number);
        if self.highest - number < WINDOW - 64 {
            if self.seen[word] & 1 << bit != 0 {
                self.duplicates += 1;
                return false;
            }
            self.seen[word] |= 1 << bit;
        } else if self.received >= self.highest {
            // Nothing is missing that it could be.
            self.duplicates += 1;
            return false;
        }
        self.out_of_order += 1;
        true
    }

    /// All numbers up to `number` are missing so far.
    fn skip_to(&mut self, number: u64) {
        if number - self.highest >= WINDOW {
            self.seen.fill(0);
        } else {
            // A word at a time; the rest of the last is cleared by whoever comes next in it.
            let mut next = self.highest + 1;
            while next <= number {
                let (word, bit) = place(next);
                self.seen[word] &= (1_u64 << bit) - 1;
                next += 64 - bit;
            }
        }
        self.highest = number;
    }

    #[inline]
    fn took(&mut self, transit: i64) {
        if let Some(last) = self.last_transit.replace(transit) {
            let difference = transit.abs_diff(last) as f64;
            let smoothed = self.smoothed.unwrap_or(0.0);
            self.smoothed = Some(smoothed + (difference - smoothed) / 16.0);
        }
        for moments in &mut self.transits {
            moments.take(transit);
        }
    }
}

#[inline]
fn place(number: u64) -> (usize, u64) {
    ((number / 64 % WORDS as u64) as usize, number % 64)
}

impl Transit {
    /// Adds a value (Welford's recurrence).
    pub fn take(&mut self, transit: i64) {
        self.count += 1;
        let value = transit as f64;
        let before = value - self.mean_ns;
        self.mean_ns += before / self.count as f64;
        self.squares += before * (value - self.mean_ns);
        (self.min_ns, self.max_ns) = match self.count {
            1 => (transit, transit),
            _ => (self.min_ns.min(transit), self.max_ns.max(transit)),
        };
    }

    /// Sample standard deviation, in nanoseconds; `None` below two values.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }

    /// These and `other` as one.
    fn and(&self, other: &Self) -> Self {
        let count = self.count + other.count;
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { *other } else { *self };
        }
        let (share, apart) = (other.count as f64 / count as f64, other.mean_ns - self.mean_ns);
        Self {
            count,
            min_ns: self.min_ns.min(other.min_ns),
            mean_ns: self.mean_ns + apart * share,
            max_ns: self.max_ns.max(other.max_ns),
            squares: self.squares + other.squares + apart * apart * share * self.count as f64,
        }
    }
}

impl Datagrams {
    /// Returns the counts since `earlier`, an older state of the same receiver; jitter and transit times are those of now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            expected: self.expected.saturating_sub(earlier.expected),
            received: self.received.saturating_sub(earlier.received),
            lost: self.lost - earlier.lost,
            out_of_order: self.out_of_order.saturating_sub(earlier.out_of_order),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            foreign: self.foreign.saturating_sub(earlier.foreign),
            jitter_ns: self.jitter_ns,
            waited_ns: self.waited_ns,
            standing_ns: self.standing_ns,
            after_loss_ns: self.after_loss_ns,
            transit: self.transit,
        }
    }

    /// Returns the sums of this receiver and `other`, of another stream; jitter and waiting are their means, weighted by
    /// datagrams.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let weight = |datagrams: &Self| datagrams.received as f64;
        let mean = |one: Option<f64>, two: Option<f64>| match (one, two) {
            (Some(one), Some(two)) => {
                Some((one * weight(self) + two * weight(other)) / (weight(self) + weight(other)).max(1.0))
            }
            (one, two) => one.or(two),
        };
        let transit = match (self.transit, other.transit) {
            (Some(one), Some(two)) => Some(one.and(&two)),
            (one, two) => one.or(two),
        };
        Self {
            expected: self.expected + other.expected,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            out_of_order: self.out_of_order + other.out_of_order,
            duplicates: self.duplicates + other.duplicates,
            foreign: self.foreign + other.foreign,
            jitter_ns: mean(self.jitter_ns, other.jitter_ns),
            waited_ns: mean(self.waited_ns, other.waited_ns),
            // Two intervals of one stream, or two streams of one path: a queue that never emptied did so in neither.
            standing_ns: self.standing_ns.into_iter().chain(other.standing_ns).reduce(f64::min),
            after_loss_ns: mean(self.after_loss_ns, other.after_loss_ns),
            transit,
        }
    }

    /// Datagrams lost, of those that the numbers account for; `None` where there are none.
    pub fn loss(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.lost.max(0) as f64 / self.expected as f64)
    }

    /// Jitter rounded to nanoseconds.
    pub fn jitter(&self) -> Option<Nanos> {
        self.jitter_ns.map(|jitter| Nanos(jitter.round().max(0.0) as u64))
    }
}

#[cfg(test)]
mod tests;
