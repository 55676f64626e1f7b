//! Authentication of datagrams: a message authentication code (MAC) in each, keyed by a secret that the ends agreed on over the
//! sealed control connection.
//!
//! SipHash-2-4 (Aumasson and Bernstein, 2012), which was made for short messages: 64 bits under a key of 128. Nothing is
//! allocated. The code covers the direction, the length and the header, in a stamped reply the stamps too. Padding is not
//! covered, and a code does not show whether its datagram came before: the reader looks at numbers for that.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use siphasher::sip::SipHasher24;

use crate::native::header::{Flags, LENGTH, STAMPED_LENGTH, Token};

/// Octets of a header that name the session where the others of the token's place are its code.
pub const NAME: usize = 8;

/// Where the code stands in a header.
const CODE: std::ops::Range<usize> = NAME..16;
/// Octets of every header that it covers: number, version, flags, flow, and length asked for or count.
const COVERED: std::ops::Range<usize> = 16..LENGTH;
const FLAGS: usize = 25;
/// Octets of a stream's datagram that are covered: all of its numbers but the code itself.
const STREAM: std::ops::Range<usize> = 4..24;

/// The secret of one session's datagrams: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DatagramKey(pub [u8; 16]);

/// `DatagramKey(…)`, always.
impl fmt::Debug for DatagramKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatagramKey(…)")
    }
}

/// 32 hexadecimal digits.
impl Serialize for DatagramKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Token(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DatagramKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Token::deserialize(deserializer).map(|octets| Self(octets.0))
    }
}

/// Direction of a datagram: none can be sent back as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the reflector.
    There,
    /// From it.
    Back,
}

impl Direction {
    /// Its octet before the covered part of a header. That of a stream's datagram is another, so that neither is taken for the
    /// other.
    fn octet(self) -> u8 {
        match self {
            Self::There => 1,
            Self::Back => 2,
        }
    }

    fn stream_octet(self) -> u8 {
        self.octet() | 4
    }

    /// The other one.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::There => Self::Back,
            Self::Back => Self::There,
        }
    }
}

/// Writes and checks the codes of one session.
#[derive(Clone, Copy)]
pub struct Mac {
    hasher: SipHasher24,
}

/// `Mac(…)`, always: its state is the key.
impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mac(…)")
    }
}

impl Mac {
    /// That of a session with this secret.
    pub fn new(key: &DatagramKey) -> Self {
        Self { hasher: SipHasher24::new_with_key(&key.0) }
    }

    /// Writes the code into a message with a header, which is the whole datagram. A shorter one stays as it is.
    #[inline]
    pub fn seal(&self, message: &mut [u8], direction: Direction) {
        if let Some(code) = self.code(message, message.len(), direction) {
            message[CODE].copy_from_slice(&code);
        }
    }

    /// Returns true where the whole datagram `message` has a header with the right code.
    #[inline]
    pub fn holds(&self, message: &[u8], direction: Direction) -> bool {
        self.holds_of(message, message.len(), direction)
    }

    /// Returns true where a datagram of `length` octets, of which `front` was kept, has the right code. The front of one
    /// with stamps holds those too.
    #[inline]
    pub fn holds_of(&self, front: &[u8], length: usize, direction: Direction) -> bool {
        self.code(front, length, direction).is_some_and(|code| front[CODE] == code)
    }

    #[inline]
    fn code(&self, front: &[u8], length: usize, direction: Direction) -> Option<[u8; 8]> {
        let head = front.first_chunk::<LENGTH>()?;
        let has_stamps = direction == Direction::Back && Flags(head[FLAGS]).has(Flags::STAMPED);
        if has_stamps && length >= STAMPED_LENGTH {
            let stamped = front.first_chunk::<STAMPED_LENGTH>()?;
            let mut covered = [0; 8 + STAMPED_LENGTH - 16];
            covered[..8].copy_from_slice(&prefix(direction.octet(), length));
            covered[8..].copy_from_slice(&stamped[16..]);
            return Some(self.hasher.hash(&covered).to_be_bytes());
        }
        let mut covered = [0; 8 + COVERED.end - COVERED.start];
        covered[..8].copy_from_slice(&prefix(direction.octet(), length));
        covered[8..].copy_from_slice(&head[COVERED]);
        Some(self.hasher.hash(&covered).to_be_bytes())
    }

    /// The first four octets of a stream's datagram of `length` octets, whose numbers are `octets`.
    #[inline]
    pub fn of_stream(&self, octets: &[u8; STREAM.end], length: usize, direction: Direction) -> [u8; 4] {
        let mut covered = [0; 8 + STREAM.end - STREAM.start];
        covered[..8].copy_from_slice(&prefix(direction.stream_octet(), length));
        covered[8..].copy_from_slice(&octets[STREAM]);
        let [a, b, c, d, ..] = self.hasher.hash(&covered).to_be_bytes();
        [a, b, c, d]
    }
}

/// Octets that a code covers before those of the datagram itself.
#[inline]
fn prefix(direction: u8, length: usize) -> [u8; 8] {
    (u64::from(direction) << 56 | length as u64).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac() -> Mac {
        Mac::new(&DatagramKey(std::array::from_fn(|index| index as u8)))
    }

    #[test]
    fn the_function_is_siphash_2_4() {
        // The first, the second and the last vector of the reference implementation, key 00 to 0f, input 00, 01, …
        let input: Vec<u8> = (0..63).collect();
        let hashed = |length| mac().hasher.hash(&input[..length]);
        assert_eq!(
            [hashed(0), hashed(1), hashed(15), hashed(63)],
            [0x726f_db47_dd0e_0e31, 0x74f8_39c5_93dc_67fd, 0xa129_ca61_49be_45e5, 0x958a_324c_eb06_4572]
        );
    }

    #[test]
    fn every_octet_that_is_covered_counts_and_padding_does_not() {
        let mut message: Vec<u8> = (0..64).collect();
        for (direction, stamped, covered) in [
            (Direction::There, false, 0..LENGTH),
            (Direction::There, true, 0..LENGTH),
            (Direction::Back, false, 0..LENGTH),
            (Direction::Back, true, 0..STAMPED_LENGTH),
        ] {
            message[FLAGS] = if stamped { Flags::STAMPED.0 } else { 0 };
            mac().seal(&mut message, direction);
            assert!(mac().holds(&message, direction));
            assert!(!mac().holds(&message, direction.reversed()), "sent back as it came");
            assert!(!mac().holds(&message[..63], direction), "shorter");
            for octet in NAME..64 {
                let mut wrong = message.clone();
                wrong[octet] ^= 0x80;
                assert_eq!(mac().holds(&wrong, direction), !covered.contains(&octet), "octet {octet} of {direction:?}");
            }
            let other = Mac::new(&DatagramKey([9; 16]));
            assert!(!other.holds(&message, direction), "another session's");
        }
    }

    #[test]
    fn what_is_too_short_has_no_code() {
        let mut short = [7; LENGTH - 1];
        mac().seal(&mut short, Direction::There);
        assert_eq!(short, [7; LENGTH - 1]);
        assert!(!mac().holds(&short, Direction::There));
        // Cut in the middle of its stamps: the rest cannot be checked.
        let mut front = [0; STAMPED_LENGTH - 1];
        front[FLAGS] = Flags::STAMPED.0;
        assert!(!mac().holds_of(&front, 64, Direction::Back));
    }

    #[test]
    fn no_key_is_shown() {
        assert_eq!(format!("{:?} {:?}", DatagramKey([1; 16]), mac()), "DatagramKey(…) Mac(…)");
    }
}
