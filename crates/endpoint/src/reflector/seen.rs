//! Requests of a flow of datagrams that have come before: a path may double them, and a copy is no further request.
//! Where datagrams are authenticated, a recorded copy is none either.

/// Words of numbers behind the newest one's, its own among them, of which a copy is still known as one.
const WORDS: u64 = 1 << 10;

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

/// The numbers of one flow that came, those of the last [`WORDS`] words.
///
/// Those of a flow without a gap are an unbroken row, which its two ends describe: the usual request costs a comparison and takes no
/// memory. A gap ends the row, which is written down as bits then.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// One above the newest.
    next: u64,
    /// From this number on all came; bits tell of those below.
    row: u64,
    /// A bit for each number, its place taken again [`WORDS`] words later. As many as numbers have needed.
    bits: Vec<u64>,
    /// Bits of the numbers of greetings that arrived; the largest number has the lowest bit.
    hellos: u64,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { next: 0, row: 0, bits: Vec::new(), hellos: 0 }
    }

    /// Notes that number `seq` arrived, and returns whether it had before. It may be any number that a client sends:
    /// the greetings of a flow count down.
    #[inline]
    pub(super) fn look(&mut self, seq: u64) -> Sight {
        if self.continues(seq) { Sight::New } else { self.look_closer(seq) }
    }

    /// Notes that number `seq` arrived where it is the one after the newest; all others are left to [`Self::look`].
    #[inline]
    pub(super) fn continues(&mut self, seq: u64) -> bool {
        let next = seq == self.next;
        if next {
            self.next = seq.wrapping_add(1);
        }
        next
    }

    #[inline(never)]
    fn look_closer(&mut self, seq: u64) -> Sight {
        let hello = u64::MAX - seq;
        let (word, bit) = if hello < HELLOS {
            (&mut self.hellos, 1 << hello)
        } else if seq > self.next {
            self.write_down();
            self.pass(seq);
            return Sight::New;
        } else if (self.next - 1) / 64 - seq / 64 >= WORDS {
            return Sight::Old;
        } else if seq >= self.row {
            return Sight::Again;
        } else {
            (&mut self.bits[(seq / 64 % WORDS) as usize], 1 << (seq % 64))
        };
        let again = *word & bit != 0;
        *word |= bit;
        if again { Sight::Again } else { Sight::New }
    }

    /// Lays out the bits of the unbroken row.
    fn write_down(&mut self) {
        if self.row >= self.next {
            return;
        }
        let (first, last) = (self.row / 64, (self.next - 1) / 64);
        self.make_room(last);
        for word in first.max(last.saturating_sub(WORDS - 1))..=last {
            let from = if word == first { u64::MAX << (self.row % 64) } else { u64::MAX };
            let till = if word == last { u64::MAX >> (63 - (self.next - 1) % 64) } else { u64::MAX };
            let place = &mut self.bits[(word % WORDS) as usize];
            *place = (*place & !from) | (from & till);
        }
    }

    /// Notes that `seq`, above all others, arrived: it begins a row.
    fn pass(&mut self, seq: u64) {
        // Words of which no number was passed yet.
        let (first, last) = (self.next.div_ceil(64), seq / 64);
        self.make_room(last);
        for word in first.max(last.saturating_sub(WORDS - 1))..=last {
            self.bits[(word % WORDS) as usize] = 0;
        }
        (self.row, self.next) = (seq, seq + 1);
    }

    fn make_room(&mut self, word: u64) {
        let words = (word + 1).min(WORDS).next_power_of_two() as usize;
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const WINDOW: u64 = WORDS * 64;

    #[test]
    fn a_copy_within_the_window_is_known() {
        let (mut seen, mut truth, mut newest, mut draw) = (Seen::new(), BTreeSet::new(), 0, 18_u64);
        for _ in 0..20_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (ahead, behind, leap) = ((draw >> 33) % 200, (draw >> 41) % 400, (draw >> 50).is_multiple_of(50));
            newest += if leap { ahead * 1_000 } else { ahead };
            for seq in [newest, newest.saturating_sub(behind)] {
                let sight = if truth.insert(seq) { Sight::New } else { Sight::Again };
                assert_eq!(seen.look(seq), sight, "{seq} below {newest}");
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
    fn what_is_older_than_the_window_is_not_known_and_changes_nothing() {
        let mut seen = Seen::new();
        assert_eq!([0, 2].map(|seq| seen.look(seq)), [Sight::New; 2]);
        assert!((3..=WINDOW).all(|seq| seen.look(seq) == Sight::New));
        // Its bit would stand where that of `WINDOW + 1` does.
        assert_eq!(
            [1, WINDOW + 1, 1, WINDOW].map(|seq| seen.look(seq)),
            [Sight::Old, Sight::New, Sight::Old, Sight::Again]
        );
    }

    #[test]
    fn a_flow_in_order_takes_no_memory_and_one_with_a_gap_takes_little() {
        let mut seen = Seen::new();
        assert!((0..3 * WINDOW).all(|seq| seen.look(seq) == Sight::New));
        assert_eq!(seen.bits.capacity(), 0);
        assert_eq!([3 * WINDOW + 1, 3 * WINDOW].map(|seq| seen.look(seq)), [Sight::New; 2]);
        assert!(seen.bits.len() as u64 <= WORDS, "{}", seen.bits.len());
        let looked = [2 * WINDOW + 64, 2 * WINDOW + 63, 3 * WINDOW].map(|seq| seen.look(seq));
        assert_eq!(looked, [Sight::Again, Sight::Old, Sight::Again]);
    }

    #[test]
    fn numbers_that_end_wrap_round() {
        let mut seen = Seen::new();
        let last = u64::MAX - HELLOS;
        assert_eq!([last, last, 0].map(|seq| seen.look(seq)), [Sight::New, Sight::Again, Sight::Old]);
        assert!((last..u64::MAX).all(|seq| seen.look(seq + 1) == Sight::New));
        assert_eq!([1, 0, 1].map(|seq| seen.look(seq)), [Sight::New, Sight::New, Sight::Again]);
    }
}
