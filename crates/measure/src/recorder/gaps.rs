//! The longest times without anything from the peer, and the requests in them.

use crate::unit::{Instant, Nanos};

/// Gaps that are kept, the longest ones. A path that goes dark every second is told of half a minute of such.
const KEPT: usize = 32;

/// A time without a reply of any kind: from the reply before it, or from the start, to the one after it, or to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The instant at which the peer was last heard.
    pub from: Instant,
    /// The instant at which it was heard again.
    pub to: Instant,
    /// Requests of it that got no reply in time.
    pub asked: Asked,
}

/// Requests of a gap that got no reply in time: lost, late, refused or not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Their number.
    pub count: u64,
    /// Those of them that left and were not refused.
    pub left: u64,
    /// The instant at which the first of them left, or was to; without meaning where there is none.
    pub first: Instant,
    /// The instant at which the last of them left, likewise.
    pub last: Instant,
}

impl Asked {
    fn add(&mut self, sent: Instant, left: bool) {
        (self.first, self.last) =
            if self.count == 0 { (sent, sent) } else { (self.first.min(sent), self.last.max(sent)) };
        self.count += 1;
        self.left += u64::from(left);
    }
}

impl Gap {
    /// Its length.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from).unwrap_or(Nanos::ZERO)
    }
}

/// The gaps of one thread: a comparison for each reply, the rest now and then.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    heard: Instant,
    /// Set where something that left since then got no reply in time.
    pending: bool,
    /// Shorter ones are not kept.
    least: u64,
    longest: Vec<Gap>,
    /// Requests of the gap that began at `asked_since`.
    asked: Asked,
    asked_since: Instant,
}

impl Gaps {
    pub(super) fn new() -> Self {
        let start = Instant(0);
        let longest = Vec::with_capacity(KEPT);
        Self { heard: start, pending: false, least: 0, longest, asked: Asked::default(), asked_since: start }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        *self = Self { heard: now, asked_since: now, ..Self::new() };
    }

    /// Notes that the peer was heard at `at` last, or before: nothing until then asked for a note.
    pub(super) fn heard_until(&mut self, at: Instant) {
        if !self.pending {
            self.heard = self.heard.max(at);
        }
    }

    /// Something came from the peer at `now`.
    #[inline]
    pub(super) fn heard(&mut self, now: Instant) {
        // A clock that stepped back looks like a long gap here, and like none in `keep`.
        if now.0.wrapping_sub(self.heard.0) > self.least {
            self.keep(now);
        }
        self.heard = now;
        self.pending = false;
    }

    /// A request that was sent at `sent` got no reply in time. `left`: it left and nobody refused it.
    pub(super) fn unanswered(&mut self, sent: Instant, left: bool) {
        if sent >= self.heard {
            if self.asked_since != self.heard {
                (self.asked, self.asked_since) = (Asked::default(), self.heard);
            }
            self.asked.add(sent, left);
            self.pending = true;
        } else if let Some(gap) = self.longest.iter_mut().find(|gap| gap.from <= sent && sent <= gap.to) {
            gap.asked.add(sent, left);
        }
    }

    #[cold]
    fn keep(&mut self, to: Instant) {
        let asked = if self.asked_since == self.heard { self.asked } else { Asked::default() };
        let gap = Gap { from: self.heard, to, asked };
        if gap.length().0 <= self.least {
            return;
        }
        if self.longest.len() < KEPT {
            self.longest.push(gap);
        } else if let Some(shortest) = self.longest.iter_mut().min_by_key(|gap| gap.length()) {
            *shortest = gap;
        }
        if self.longest.len() == KEPT {
            self.least = self.longest.iter().map(|gap| gap.length().0).min().unwrap_or(0);
        }
    }

    /// All that were kept, in the order of time. The last one lasts to `end`, or as long as was asked in it.
    pub(super) fn finish(mut self, end: Instant) -> Vec<Gap> {
        let asked_until = if self.asked_since == self.heard { self.asked.last } else { end };
        if self.pending {
            self.keep(end.max(asked_until));
        }
        self.longest.sort_unstable_by_key(|gap| gap.from);
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(from: u64, to: u64, asked: &[u64]) -> Gap {
        let mut of = Asked::default();
        for sent in asked {
            of.add(Instant(*sent), *sent != 130);
        }
        Gap { from: Instant(from), to: Instant(to), asked: of }
    }

    #[test]
    fn what_was_asked_stands_in_its_gap_whenever_it_is_given_up() {
        let mut gaps = Gaps::new();
        gaps.begin(Instant(100));
        gaps.heard(Instant(110));
        gaps.unanswered(Instant(120), true);
        gaps.heard(Instant(150));
        gaps.unanswered(Instant(130), false);
        gaps.heard(Instant(155));
        gaps.unanswered(Instant(160), true);
        gaps.unanswered(Instant(190), true);
        let wanted = [gap(100, 110, &[]), gap(110, 150, &[120, 130]), gap(150, 155, &[]), gap(155, 190, &[160, 190])];
        assert_eq!(gaps.finish(Instant(155)), wanted);
    }

    #[test]
    fn the_longest_are_kept_and_a_clock_that_steps_back_makes_none() {
        let mut gaps = Gaps::new();
        gaps.begin(Instant(1_000_000));
        let mut now = Instant(1_000_000);
        for n in 0..1_000_u64 {
            now = now.after(Nanos(if n % 100 == 50 { 500 } else { 10 + n % 7 }));
            gaps.heard(now);
        }
        gaps.heard(Instant(999_000));
        gaps.heard(Instant(999_010));
        let found = gaps.finish(Instant(999_020));
        assert_eq!(found.len(), KEPT);
        assert_eq!(found.iter().filter(|gap| gap.length() == Nanos(500)).count(), 10);
        assert!(found.iter().all(|gap| gap.length() == Nanos(500) || gap.length() <= Nanos(16)), "{found:?}");
    }
}
