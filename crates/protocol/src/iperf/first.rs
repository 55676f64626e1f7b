//! The first octets of a connection: a header, an old header, requests and replies, or traffic at once.
//!
//! | octets | |
//! |---|---|
//! | 0-23 | [`Base`]; all that clients before 2.0.10 send |
//! | 24-59 | [`Extension`]: the end of 2.1's usual header |
//! | 60-63 | 2.2's barrier, the end of its usual header |
//! | 64-71 | start time |
//! | 72-79 | fair queueing's rate |
//! | 80-111 | isochronous settings |
//! | 112- | 2.2: length (16 bits) and name of a congestion control |
//!
//! Their number stands in the first word. With a key (`--permit-key`) these are two more, its length (16 bits),
//! and the key follows.

use std::ops::RangeInclusive;

use super::flag::{Flags, Lower, Upper};
use super::settings::{BASE, Base, EXTENSION, Extension};
use super::time::Stamp;
use super::{bounce, word};

/// Octets of 2.1's usual header, and of one whose length is not told.
pub const USUAL: usize = BASE + EXTENSION;
/// Octets of a header with a start time, in both versions.
pub const STAMPED: usize = 80;
/// No header is longer: its length has 8 bits, and a key may follow.
pub const LONGEST: usize = 255 + *KEY.end();
/// Octets of a key.
pub const KEY: RangeInclusive<usize> = 4..=128;

const START: usize = 64;
/// Place of the settings of frames.
pub const SETTINGS: usize = 80;
const CONGESTION: usize = 112;

/// A header as it stands at the start of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct First {
    /// The part that every header has.
    pub base: Base,
    /// The part that newer headers have.
    pub extension: Option<Extension>,
    /// The octets behind these, up to the length that the header says.
    pub tail: Vec<u8>,
    /// The key that the client shows (`--permit-key`).
    pub key: Option<Vec<u8>>,
}

/// Beginning of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// A test with its settings.
    Test(First),
    /// Requests and replies, this being the length of the first.
    Bounce {
        /// Octets of a message, its header included.
        size: usize,
    },
    /// No header: the octets are traffic already.
    Plain,
}

/// Result of reading a beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Octets that have to be there first, counted from the connection's start; more than there are.
    Needs(usize),
    /// The beginning, and the octets that it took. Those of a bounceback, and of traffic, are left: 0.
    Is(Beginning, usize),
}

/// Reason why a connection can't be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Its header is shorter than the part that every header has.
    #[error("a header of {length} bytes; the shortest has {BASE}")]
    Short {
        /// As it says.
        length: usize,
    },
    /// It shows a key that is none.
    #[error("a permit key of {length} bytes; it must have {} to {}", KEY.start(), KEY.end())]
    Key {
        /// Its length.
        length: usize,
    },
    /// Messages of a size that no client sends.
    #[error("bounceback messages of {size} bytes; {} to {} are accepted", bounce::SMALLEST, bounce::LARGEST)]
    Size {
        /// As it says.
        size: u32,
    },
}

/// Reads the start of a connection; `octets` are those that have come.
pub fn read(octets: &[u8]) -> Result<Reading, Malformed> {
    let Some(flags) = word::read(octets, 0).map(Flags) else { return Ok(Reading::Needs(4)) };
    if flags == Flags::BOUNCE {
        let Some(size) = word::read(octets, 4) else { return Ok(Reading::Needs(8)) };
        let sound = bounce::sound(size).ok_or(Malformed::Size { size })?;
        return Ok(Reading::Is(Beginning::Bounce { size: sound }, 0));
    }
    if !flags.begins_a_header() {
        return Ok(Reading::Is(Beginning::Plain, 0));
    }
    let mut length = length(flags)?;
    let Some(mut header) = octets.get(..length) else { return Ok(Reading::Needs(length)) };
    let mut key = None;
    if flags.has(Flags::KEY) {
        let Some((before, told)) = header.split_last_chunk::<2>() else { return Err(Malformed::Short { length }) };
        let whole = length + key_length(*told)?;
        let Some(shown) = octets.get(length..whole) else { return Ok(Reading::Needs(whole)) };
        (header, length, key) = (before, whole, Some(shown.to_vec()));
    }
    let Some(base) = Base::read(header) else { return Err(Malformed::Short { length: header.len() }) };
    let (extension, tail) = match Extension::read(&header[BASE..]) {
        Some(extension) => (Some(extension), &header[USUAL..]),
        None => (None, &header[BASE..]),
    };
    Ok(Reading::Is(Beginning::Test(First { base, extension, tail: tail.to_vec(), key }), length))
}

/// Octets of a key, as its header says.
fn key_length(told: [u8; 2]) -> Result<usize, Malformed> {
    let length = usize::from(u16::from_be_bytes(told));
    if KEY.contains(&length) { Ok(length) } else { Err(Malformed::Key { length }) }
}

/// Octets of the header that `flags` begin.
fn length(flags: Flags) -> Result<usize, Malformed> {
    let length = match flags.length() {
        _ if !flags.has(Flags::EXTENDED) => BASE,
        None => USUAL,
        Some(length) => length,
    };
    if length < BASE { Err(Malformed::Short { length }) } else { Ok(length) }
}

impl First {
    /// Octets of the whole header.
    pub fn length(&self) -> usize {
        self.length_to_tail() + self.key.as_ref().map_or(0, |key| 2 + key.len())
    }

    fn length_to_tail(&self) -> usize {
        BASE + self.extension.map_or(0, |_| EXTENSION) + self.tail.len()
    }

    /// The same header, by which a key is shown: of [`KEY`] octets.
    #[must_use]
    pub fn showing(mut self, key: &[u8]) -> Self {
        self.base.flags = self.base.flags.with(Flags::KEY).with_length(self.length_to_tail() + 2);
        self.key = Some(key.to_vec());
        self
    }

    /// The header as it goes over the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut octets = vec![0; self.length_to_tail() - self.tail.len()];
        self.base.write(&mut octets);
        if let Some(extension) = &self.extension {
            extension.write(&mut octets[BASE..]);
        }
        octets.extend_from_slice(&self.tail);
        if let Some(key) = &self.key {
            octets.extend_from_slice(&u16::try_from(key.len()).unwrap_or(u16::MAX).to_be_bytes());
            octets.extend_from_slice(key);
        }
        octets
    }

    /// Returns the start time of the client, where the header has it.
    pub fn start(&self) -> Option<Stamp> {
        let (seconds, micros) = (self.word(START)?, self.word(START + 4)?);
        Some(Stamp { seconds, micros })
    }

    /// Frames a second, mean, variance and burst gap of isochronous traffic: a low and a high word each.
    pub fn isochronous(&self) -> Option<[u32; 8]> {
        word::read_all(self.tail.get(SETTINGS - USUAL..).filter(|_| self.extension.is_some())?)
    }

    /// Bursts a second, where the client sends them at fixed times; `None`: it does not, or says none that can be.
    pub fn bursts(&self) -> Option<f64> {
        self.extension.filter(|extension| extension.upper.has(Upper::PERIODIC))?;
        let [whole, part] = [self.word(SETTINGS)?, self.word(SETTINGS + 4)?];
        let rate = f64::from(whole) + f64::from(part) / 1e6;
        (part < 1_000_000 && rate > 0.0).then_some(rate)
    }

    /// The congestion control that the client uses (2.2, `-Z`).
    pub fn congestion(&self) -> Option<&str> {
        self.extension.filter(|extension| extension.lower.has(Lower::CONGESTION))?;
        let name = self.tail.get(CONGESTION - USUAL..)?;
        let length = usize::from(word::read_half(name, 0)?);
        std::str::from_utf8(name.get(2..2 + length)?).ok()
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.extension.and_then(|_| word::read(&self.tail, at - USUAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf::ask::Ask;

    #[test]
    fn a_key_follows_what_the_first_word_counts() {
        let header = Ask::default().first(Stamp::default());
        let keyed = header.clone().showing(b"abcdef");
        let octets = keyed.encode();
        assert_eq!(octets[..4], [0x50, 1, 0, 62 << 1]);
        assert_eq!((&octets[4..60], &octets[60..]), (&header.encode()[4..], &b"\0\x06abcdef"[..]));
        assert_eq!(read(&octets[..30]), Ok(Reading::Needs(62)));
        assert_eq!(read(&octets[..63]), Ok(Reading::Needs(68)));
        assert_eq!(read(&octets), Ok(Reading::Is(Beginning::Test(keyed), 68)));
    }

    #[test]
    fn a_key_is_neither_short_nor_long() {
        for length in [0, 3, 129, 65_535] {
            let mut octets = Ask::default().first(Stamp::default()).showing(b"abcd").encode();
            octets[60..62].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
            assert_eq!(read(&octets), Err(Malformed::Key { length }));
        }
    }
}
