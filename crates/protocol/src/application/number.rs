//! Numbers that come back shorter than they are.

/// The number whose low `bits` are `low` and that lies nearest to `oldest`, the oldest without an answer: half of the
/// range of `bits` lies before it, half behind.
#[inline]
pub fn nearest(low: u32, bits: u32, oldest: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let ahead = u64::from(low).wrapping_sub(oldest) & mask;
    let half = mask / 2 + 1;
    if ahead < half || oldest < mask + 1 - ahead { oldest + ahead } else { oldest - (mask + 1 - ahead) }
}

/// Sixteen bits in an order that nobody outside can foresee from a few of them, each once: four rounds of a balanced Feistel network with `key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle(pub [u8; 16]);

impl Shuffle {
    const ROUNDS: usize = 4;

    /// The place of `number`.
    #[inline]
    pub fn place(self, number: u16) -> u16 {
        let (mut left, mut right) = halves(number);
        for round in 0..Self::ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        u16::from_be_bytes([left, right])
    }

    /// The number at `place`.
    #[inline]
    pub fn number(self, place: u16) -> u16 {
        let (mut left, mut right) = halves(place);
        for round in (0..Self::ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        u16::from_be_bytes([left, right])
    }

    #[inline]
    fn round(self, round: usize, half: u8) -> u8 {
        let key = &self.0[4 * round..4 * round + 4];
        let word = u32::from_be_bytes([key[0], key[1], key[2], key[3]]);
        let mixed = (word ^ u32::from(half)).wrapping_mul(0x9E37_79B1);
        (mixed ^ (mixed >> 15)).wrapping_mul(0x85EB_CA77).to_be_bytes()[0]
    }
}

fn halves(number: u16) -> (u8, u8) {
    let [left, right] = number.to_be_bytes();
    (left, right)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_known_by_its_end(oldest in 0_u64..u64::MAX / 2, ahead in 0_u64..0x8000, behind in 0_u64..0x8000) {
            prop_assert_eq!(nearest(((oldest + ahead) & 0xFFFF) as u32, 16, oldest), oldest + ahead);
            prop_assume!(behind <= oldest && behind > 0);
            prop_assert_eq!(nearest(((oldest - behind) & 0xFFFF) as u32, 16, oldest), oldest - behind);
        }
    }

    #[test]
    fn each_place_is_taken_once_and_found_again() {
        let shuffle = Shuffle(*b"sixteen octets !");
        let mut taken = vec![false; 1 << 16];
        for number in 0..=u16::MAX {
            let place = shuffle.place(number);
            assert_eq!(shuffle.number(place), number);
            assert!(!std::mem::replace(&mut taken[usize::from(place)], true));
        }
        let gaps = (0..1_000_u16).filter(|number| shuffle.place(number + 1) == shuffle.place(*number).wrapping_add(1));
        assert!(gaps.count() < 10, "the next is not one more");
    }
}
