//! Requests of a flow of datagrams that have come before: a path may double them, and a copy is no further request.
//! Where datagrams are authenticated, a recorded copy is none either.

/// So far behind the newest number a copy is still known as one.
const WINDOW: u64 = 1 << 16;
const WORDS: u64 = WINDOW / 64;

const SEQ: std::ops::Range<usize> = 16..24;

/// Largest numbers, which datagrams before the first request have, from the largest down.
const HELLOS: u64 = 64;

/// Knowledge about a sequence number that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It had not arrived before.
    New,
    /// It had arrived before.
    Again,
    /// It is older than the window: not known.
    Old,
}

/// The number of a request.
#[inline]
pub(super) fn number(message: &[u8]) -> u64 {
    let mut seq = [0; 8];
    seq.copy_from_slice(&message[SEQ]);
    u64::from_be_bytes(seq)
}

/// The numbers of one flow that came, those of the window below the newest.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// One above the newest.
    next: u64,
    /// A bit for each number, its place taken again a window later: cleared when the first number of its word is passed. As many
    /// as numbers have needed: a flow that is hardly used takes little memory.
    bits: Vec<u64>,
    /// Bits of the numbers of greetings that arrived; the largest number has the lowest bit.
    hellos: u64,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { next: 0, bits: Vec::new(), hellos: 0 }
    }

    /// Notes that number `seq` arrived, and returns true where it had arrived before. A number older than the window
    /// counts as new.
    #[inline]
    pub(super) fn again(&mut self, seq: u64) -> bool {
        self.look_back(seq) == Sight::Again
    }

    /// Notes that number `seq` arrived, and returns whether it had before. It may be any number that a client sends:
    /// the greetings of a flow count down.
    pub(super) fn look(&mut self, seq: u64) -> Sight {
        let hello = u64::MAX - seq;
        if hello >= HELLOS {
            return self.look_back(seq);
        }
        let again = self.hellos >> hello & 1 != 0;
        self.hellos |= 1 << hello;
        if again { Sight::Again } else { Sight::New }
    }

    #[inline]
    fn look_back(&mut self, seq: u64) -> Sight {
        // The usual one is the next of a word that has begun: nothing to clear, and room enough.
        if seq == self.next && !seq.is_multiple_of(64) && seq < u64::MAX {
            self.next += 1;
        } else if seq >= self.next {
            self.pass(seq);
        } else if self.next - seq > WINDOW {
            return Sight::Old;
        }
        let (word, bit) = (&mut self.bits[(seq / 64 % WORDS) as usize], 1 << (seq % 64));
        let again = *word & bit != 0;
        *word |= bit;
        if again { Sight::Again } else { Sight::New }
    }

    #[inline(never)]
    fn pass(&mut self, seq: u64) {
        // Words of which no number was passed yet.
        let (first, last) = (self.next.div_ceil(64), seq / 64);
        if self.bits.len() as u64 <= last.min(WORDS - 1) {
            self.grow(last);
        }
        for word in first.max(last.saturating_sub(WORDS - 1))..=last {
            self.bits[(word % WORDS) as usize] = 0;
        }
        self.next = seq.saturating_add(1);
    }

    #[cold]
    fn grow(&mut self, word: u64) {
        self.bits.resize(word.saturating_add(1).min(WORDS).next_power_of_two() as usize, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_copy_within_the_window_is_known() {
        let (mut seen, mut truth, mut newest, mut draw) = (Seen::new(), BTreeSet::new(), 0, 18_u64);
        for _ in 0..20_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (ahead, behind, leap) = ((draw >> 33) % 200, (draw >> 41) % 400, (draw >> 50).is_multiple_of(50));
            newest += if leap { ahead * 1_000 } else { ahead };
            for seq in [newest, newest.saturating_sub(behind)] {
                assert_eq!(seen.again(seq), !truth.insert(seq), "{seq} below {newest}");
            }
        }
    }

    #[test]
    fn of_all_that_a_client_sends_each_is_new_once() {
        let mut seen = Seen::new();
        let greetings = [u64::MAX, u64::MAX - 1, u64::MAX - (HELLOS - 1)];
        assert_eq!(greetings.map(|seq| seen.look(seq)), [Sight::New; 3]);
        assert!((0..2 * WINDOW).all(|seq| seen.look(seq) == Sight::New), "no greeting is the newest number");
        assert_eq!(greetings.map(|seq| seen.look(seq)), [Sight::Again; 3]);
        let looked = [0, WINDOW - 1, WINDOW, 2 * WINDOW - 1, 2 * WINDOW].map(|seq| seen.look(seq));
        assert_eq!(looked, [Sight::Old, Sight::Old, Sight::Again, Sight::Again, Sight::New]);
    }

    #[test]
    fn what_is_older_than_the_window_counts_as_new() {
        let mut seen = Seen::new();
        assert!((0..3 * WINDOW).all(|seq| !seen.again(seq)));
        assert_eq!(
            (seen.again(3 * WINDOW - 1), seen.again(2 * WINDOW), seen.again(2 * WINDOW - 1)),
            (true, true, false)
        );
        assert_eq!((seen.again(u64::MAX), seen.again(u64::MAX), seen.again(0)), (false, true, false));
    }
}
