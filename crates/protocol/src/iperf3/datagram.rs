//! Beginning of a stream over UDP, and the header of its datagrams.
//!
//! A stream begins with a datagram of four octets either way, which nobody repeats: [`HELLO`] and [`REPLY`]. After them come
//! datagrams of exactly the size agreed on, each with the sender's time since it was started, its number and content.

use measure::unit::Nanos;

use crate::bulk::{Mark, Numbering, StampClock};

/// First datagram of a client since 3.12.
pub const HELLO: [u8; 4] = *b"9876";
/// Answer of a server since 3.12.
pub const REPLY: [u8; 4] = *b"6789";
/// First datagram of a client before 3.12: a number in its own order of octets.
pub const OLD_HELLO: u32 = 123_456_789;
/// Answer of a server before 3.12: a number in its own order of octets.
pub const OLD_REPLY: u32 = 987_654_321;

/// Datagrams of a sender that may come before its answer does, where it is the server that sends.
pub const EARLY: usize = 2;

/// Returns true for the first datagram of a client of any version, from a host of any order of octets.
pub fn is_hello(datagram: &[u8]) -> bool {
    is(datagram, HELLO, OLD_HELLO)
}

/// Returns true for the answer of a server of any version, from a host of any order of octets.
pub fn is_reply(datagram: &[u8]) -> bool {
    is(datagram, REPLY, OLD_REPLY)
}

fn is(datagram: &[u8], word: [u8; 4], old: u32) -> bool {
    [word, old.to_le_bytes(), old.to_be_bytes()].iter().any(|each| each == datagram)
}

/// Numbering of datagrams: seconds and microseconds of the sender's monotonic clock, then the number.
///
/// In 32 bits the number begins anew after 4,294,967,295 datagrams, and iperf3's statistics are then nonsense: long and fast
/// tests want 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// In 32 bits.
    Bits32,
    /// In 64 bits (`--udp-counters-64bit`).
    Bits64,
}

impl Counter {
    /// The one that these parameters ask for.
    pub fn of(counters_64bit: bool) -> Self {
        if counters_64bit { Self::Bits64 } else { Self::Bits32 }
    }
}

impl Numbering for Counter {
    #[inline]
    fn octets(&self) -> usize {
        match self {
            Self::Bits32 => 12,
            Self::Bits64 => 16,
        }
    }

    fn clock(&self) -> StampClock {
        StampClock::Monotonic
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos) {
        let (seconds, micros) = ((sent.0 / 1_000_000_000) as u32, (sent.0 % 1_000_000_000 / 1_000) as u32);
        datagram[..4].copy_from_slice(&seconds.to_be_bytes());
        datagram[4..8].copy_from_slice(&micros.to_be_bytes());
        match self {
            Self::Bits32 => datagram[8..12].copy_from_slice(&(number as u32).to_be_bytes()),
            Self::Bits64 => datagram[8..16].copy_from_slice(&number.to_be_bytes()),
        }
    }

    #[inline]
    fn read(&self, datagram: &[u8]) -> Option<Mark> {
        let (head, rest) = datagram.split_first_chunk::<8>()?;
        let (seconds, micros) = head.split_at(4);
        let word = |octets: &[u8]| octets.iter().fold(0_u64, |word, octet| word << 8 | u64::from(*octet));
        let number = match self {
            Self::Bits32 => word(rest.get(..4)?),
            Self::Bits64 => word(rest.get(..8)?),
        };
        let sent = Nanos(word(seconds) * 1_000_000_000 + word(micros) * 1_000);
        (number > 0).then_some(Mark::Data { number, sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_and_replies_of_every_version_are_known() {
        assert!(is_hello(b"9876") && is_hello(&[0x15, 0xcd, 0x5b, 0x07]) && is_hello(&[0x07, 0x5b, 0xcd, 0x15]));
        assert!(is_reply(b"6789") && is_reply(&[0xb1, 0x68, 0xde, 0x3a]) && is_reply(&[0x3a, 0xde, 0x68, 0xb1]));
        assert!(!is_hello(b"98765") && !is_hello(b"987") && !is_reply(b"9876"));
    }

    /// The starts of the first datagrams of captured streams: iperf3 3.21, in 32 bits and in 64.
    #[test]
    fn a_number_is_where_iperf3_has_it() {
        let head = [0, 0, 0x04, 0x6b, 0, 0x09, 0xf6, 0xc2, 0, 0, 0, 1, 0xd5, 0x29, 0xd1, 0xc0];
        let sent = Nanos(1_131_652_994_000);
        assert_eq!(Counter::Bits32.read(&head), Some(Mark::Data { number: 1, sent }));
        let head = [0, 0, 0x04, 0x6e, 0, 0x04, 0xd5, 0x66, 0, 0, 0, 0, 0, 0, 0, 2];
        let sent = Nanos(1_134_316_774_000);
        assert_eq!(Counter::Bits64.read(&head), Some(Mark::Data { number: 2, sent }));
    }

    #[test]
    fn what_is_written_is_read_to_the_microsecond() {
        for (counter, number) in [(Counter::Bits32, u64::from(u32::MAX)), (Counter::Bits64, u64::MAX)] {
            let mut datagram = [7_u8; 20];
            counter.write(&mut datagram, number, Nanos(5_000_001_999));
            assert_eq!(counter.read(&datagram), Some(Mark::Data { number, sent: Nanos(5_000_001_000) }));
            assert_eq!(datagram[counter.octets()..], [7; 20][counter.octets()..], "content is left alone");
            for short in 0..counter.octets() {
                assert_eq!(counter.read(&datagram[..short]), None, "{short}");
            }
        }
        assert_eq!(Counter::Bits32.read(&[0; 16]), None, "the first is 1");
    }

    #[test]
    fn octets_of_any_content_are_read_without_overflow() {
        let sent = Nanos(u64::from(u32::MAX) * 1_000_000_000 + u64::from(u32::MAX) * 1_000);
        assert_eq!(Counter::Bits64.read(&[0xff; 16]), Some(Mark::Data { number: u64::MAX, sent }));
    }
}
