//! The header of every message: 14 bytes, big-endian, in front of whatever else the message carries.
//!
//! | octets | |
//! |---|---|
//! | 0-7 | sequence number: one counter for a client with all its sockets, from 1; 0 in a warm-up |
//! | 8-9 | flags |
//! | 10-13 | length of the message with its header, bytes |
//!
//! An answer is the request with the bit [`Flags::CLIENT`] cleared and nothing else changed. Seen with sockperf 3.7 and
//! 3.10, whose messages are the same.

/// Bytes of the header, and so of the smallest message.
pub const HEADER: usize = 14;

/// Bytes of the largest message in a datagram: the room of UDP over IPv4.
pub const LARGEST_DATAGRAM: u32 = 65_507;

/// Bytes of the largest message on a connection that sockperf can be told to send or to take.
pub const LARGEST_STREAM: u32 = 1_048_575;

/// Octet of the flags that are in use.
const FLAGS: usize = 9;

/// Kind of a message, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// A server's message.
    pub const NONE: Self = Self(0);
    /// A client's message. Whatever has not this bit is a server's.
    pub const CLIENT: Self = Self(1);
    /// An answer is wanted; in an answer: was.
    pub const PONG_REQUEST: Self = Self(2);
    /// Sent before the test, over multicast alone: not answered, not counted.
    pub const WARMUP: Self = Self(4);

    /// Returns true where all of `other` is set.
    #[inline]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A header as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Number of the message at its client.
    pub sequence: u64,
    /// Kind of the message. Bits without a meaning are kept: a server gives them back.
    pub flags: Flags,
    /// Bytes of the whole message, as it says: anything at all, see [`Header::length_within`].
    pub length: u32,
}

impl Header {
    /// Reads the header in front of `message`; `None` when there is no whole one.
    #[inline]
    pub fn read(message: &[u8]) -> Option<Self> {
        let (sequence, rest) = message.first_chunk::<HEADER>()?.split_first_chunk::<8>()?;
        Some(Self {
            sequence: u64::from_be_bytes(*sequence),
            flags: Flags(u16::from_be_bytes([rest[0], rest[1]])),
            length: u32::from_be_bytes([rest[2], rest[3], rest[4], rest[5]]),
        })
    }

    /// Writes it to the front of `message`; a message shorter than a header stays as it is.
    #[inline]
    pub fn write(&self, message: &mut [u8]) {
        let Some(head) = message.first_chunk_mut::<HEADER>() else { return };
        head[..8].copy_from_slice(&self.sequence.to_be_bytes());
        head[8..10].copy_from_slice(&self.flags.0.to_be_bytes());
        head[10..].copy_from_slice(&self.length.to_be_bytes());
    }

    /// Bytes of the whole message, where that is a length between [`HEADER`] and `largest`.
    #[inline]
    pub fn length_within(&self, largest: u32) -> Result<usize, LengthError> {
        let length = self.length;
        if length > largest {
            Err(LengthError::TooLong { length, largest })
        } else if (length as usize) < HEADER {
            Err(LengthError::TooShort { length })
        } else {
            Ok(length as usize)
        }
    }
}

/// Makes `message`, which has a header, its own answer.
#[inline]
pub fn answer(message: &mut [u8]) {
    if let Some(octet) = message.get_mut(FLAGS) {
        *octet &= !(Flags::CLIENT.0.to_be_bytes()[1]);
    }
}

/// A message that cannot be as long as it says. On a connection nothing after it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LengthError {
    /// Longer than this end takes.
    #[error("a message of {length} bytes, but this end accepts at most {largest}")]
    TooLong {
        /// As the message says, bytes.
        length: u32,
        /// The most that is taken, bytes.
        largest: u32,
    },
    /// Shorter than its own header.
    #[error("a message of {length} bytes, but its header alone has {HEADER}")]
    TooShort {
        /// As the message says, bytes.
        length: u32,
    },
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test]
    fn a_header_is_read_as_written() {
        let header = Header { sequence: 0x0102_0304_0506_0708, flags: Flags(0xFFF3), length: 20 };
        let mut message = [0xAA; 20];
        header.write(&mut message);
        assert_eq!(message[..HEADER], [1, 2, 3, 4, 5, 6, 7, 8, 0xFF, 0xF3, 0, 0, 0, 20]);
        assert_eq!(message[HEADER..], [0xAA; 6], "what follows the header stays");
        assert_eq!(Header::read(&message), Some(header));
        assert_eq!(Header::read(&message[..HEADER - 1]), None);
    }

    #[test]
    fn an_answer_differs_by_the_clients_bit_alone() {
        let mut message = [0xFF; 30];
        answer(&mut message);
        assert_eq!(message[FLAGS], 0xFE);
        message[FLAGS] = 0xFF;
        assert_eq!(message, [0xFF; 30]);
        answer(&mut message[..FLAGS]);
    }

    #[test]
    fn what_is_too_short_for_a_header_is_left_alone() {
        let mut message = [7; HEADER - 1];
        Header { sequence: 1, flags: Flags::CLIENT, length: 14 }.write(&mut message);
        assert_eq!(message, [7; HEADER - 1]);
    }

    #[test_case(0 => Err(LengthError::TooShort { length: 0 }))]
    #[test_case(13 => Err(LengthError::TooShort { length: 13 }))]
    #[test_case(14 => Ok(14))]
    #[test_case(65_507 => Ok(65_507))]
    #[test_case(65_508 => Err(LengthError::TooLong { length: 65_508, largest: LARGEST_DATAGRAM }))]
    #[test_case(u32::MAX => Err(LengthError::TooLong { length: u32::MAX, largest: LARGEST_DATAGRAM }))]
    fn a_length_has_its_bounds(length: u32) -> Result<usize, LengthError> {
        Header { sequence: 1, flags: Flags::CLIENT, length }.length_within(LARGEST_DATAGRAM)
    }
}
