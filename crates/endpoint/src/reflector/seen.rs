//! Requests of a flow of datagrams that have come before: a path may double them, and a copy is no further request.

/// So far behind the newest number a copy is still known as one.
const WINDOW: u64 = 1 << 16;
const WORDS: u64 = WINDOW / 64;

const SEQ: std::ops::Range<usize> = 16..24;

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
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { next: 0, bits: Vec::new() }
    }

    /// Number `seq` came; whether it had come before. What is older than the window counts as new.
    #[inline]
    pub(super) fn again(&mut self, seq: u64) -> bool {
        if seq >= self.next {
            self.pass(seq);
        } else if self.next - seq > WINDOW {
            return false;
        }
        let (word, bit) = (&mut self.bits[(seq / 64 % WORDS) as usize], 1 << (seq % 64));
        let again = *word & bit != 0;
        *word |= bit;
        again
    }

    #[inline]
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
