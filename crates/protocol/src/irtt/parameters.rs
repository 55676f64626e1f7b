//! The parameters of a session, as a client asks for them and as a server grants them.
//!
//! Each is its name and its value, numbers of seven bits an octet; values have a sign, but for the length of a text. One that
//! is 0 or empty is not written. A number out of its range is a fault, and a name that is not known is passed over.

use super::HEAD;
use super::key::SEAL;

/// Numbers of the parameters.
const P_VERSION: u64 = 1;
const P_DURATION: u64 = 2;
const P_INTERVAL: u64 = 3;
const P_LENGTH: u64 = 4;
const P_STATS: u64 = 5;
const P_STAMP_AT: u64 = 6;
const P_CLOCK: u64 = 7;
const P_CLASS: u64 = 8;
const P_FILL: u64 = 9;

/// Bit of [`Parameters::stats`]: the server's count of packets.
pub const COUNT: i64 = 1;
/// The same: bits of the last 64 packets.
pub const WINDOW: i64 = 2;
/// Bit of [`Parameters::stamp_at`]: the time of departure.
pub const SEND: i64 = 1;
/// The same: the time of arrival.
pub const RECEIVE: i64 = 2;
/// The same: the time halfway between arrival and departure, in place of both.
pub const MIDPOINT: i64 = 4;
/// Bit of [`Parameters::clock`]: the wall clock.
pub const WALL: i64 = 1;
/// The same: a clock that is never set, from an unknown start.
pub const MONOTONIC: i64 = 2;

/// Octets of the longest text.
pub const LONGEST_FILL: usize = 32;
/// Octets of token and number in a packet.
const NAMES: usize = 12;

/// The parameters of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Version of the protocol.
    pub version: i64,
    /// Nanoseconds for which packets are sent; 0 where nothing is said.
    pub duration: i64,
    /// Nanoseconds between two packets; 0 where nothing is said.
    pub interval: i64,
    /// Octets of each packet and of each reply. One that holds fewer than its fields is as long as these.
    pub length: i64,
    /// The counts in replies: [`COUNT`], [`WINDOW`], both or none.
    pub stats: i64,
    /// The times in replies: [`SEND`], [`RECEIVE`], both, [`MIDPOINT`] or none.
    pub stamp_at: i64,
    /// The clocks of these times: [`WALL`], [`MONOTONIC`], or both; 0 where nothing is said.
    pub clock: i64,
    /// The octet of the type of service of packets and replies.
    pub class: i64,
    /// Filling of replies behind their fields, as `rand` or `pattern:` and hexadecimal digits; empty where the server chooses.
    pub fill: String,
}

/// The reason why octets are no parameters, in the words of irtt's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// They end within a number.
    #[error("[ShortParamBuffer] param buffer too short for {kind} ({left})")]
    Short {
        /// The kind of number.
        kind: &'static str,
        /// Octets that were left for it.
        left: usize,
    },
    /// A number has more than 64 bits.
    #[error("[ParamOverflow] param value overflow for {kind} (read -{read})")]
    Overflow {
        /// The kind of number.
        kind: &'static str,
        /// Octets until that was clear.
        read: usize,
    },
    /// A text is longer than it may be.
    #[error("[ParamOverflow] string param too large ({0}>{LONGEST_FILL})")]
    LongText(u64),
    /// They end within a text.
    #[error("[ShortParamBuffer] param buffer ({left}) too short for string ({length})")]
    ShortText {
        /// Octets that were left for it.
        left: usize,
        /// Octets that it has.
        length: usize,
    },
    /// A text is not of UTF-8.
    #[error("[InvalidParamValue] string param is not UTF-8")]
    NoText,
    /// A time is not above zero.
    #[error("[InvalidParamValue] {name} {value} is <= 0")]
    NotPositive {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: i64,
    },
    /// A choice that there is not.
    #[error("[Invalid{name}Int] invalid {name} int: {value}")]
    NoSuch {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: i64,
    },
}

impl Parameters {
    /// Writes them. Of a longer text the first [`LONGEST_FILL`] octets are written.
    pub fn encode(&self) -> Vec<u8> {
        let all = [
            (P_VERSION, self.version),
            (P_DURATION, self.duration),
            (P_INTERVAL, self.interval),
            (P_LENGTH, self.length),
            (P_STATS, self.stats),
            (P_STAMP_AT, self.stamp_at),
            (P_CLOCK, self.clock),
            (P_CLASS, self.class),
        ];
        let mut octets = Vec::new();
        for (name, value) in all.into_iter().filter(|(_, value)| *value != 0) {
            put_number(&mut octets, name);
            put_number(&mut octets, (value << 1 ^ value >> 63).cast_unsigned());
        }
        let fill = self.fill.as_bytes();
        let fill = fill.get(..LONGEST_FILL).unwrap_or(fill);
        if !fill.is_empty() {
            put_number(&mut octets, P_FILL);
            put_number(&mut octets, fill.len() as u64);
            octets.extend_from_slice(fill);
        }
        octets
    }

    /// Reads them.
    ///
    /// # Errors
    /// The first one that cannot be read.
    pub fn decode(mut octets: &[u8]) -> Result<Self, Fault> {
        let mut read = Self::default();
        while !octets.is_empty() {
            let name = take_number(&mut octets, "uvarint")?;
            if name == P_FILL {
                read.fill = take_text(&mut octets)?;
                continue;
            }
            let value = take_number(&mut octets, "varint")?;
            let value = (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
            match name {
                P_VERSION => read.version = value,
                P_DURATION => read.duration = positive("duration", value)?,
                P_INTERVAL => read.interval = positive("interval", value)?,
                P_LENGTH => read.length = value,
                P_STATS => read.stats = within("ReceivedStats", 0..=COUNT | WINDOW, value)?,
                P_STAMP_AT => read.stamp_at = within("StampAt", 0..=MIDPOINT, value)?,
                P_CLOCK => read.clock = within("Clock", WALL..=WALL | MONOTONIC, value)?,
                P_CLASS => read.class = value,
                _ => {}
            }
        }
        Ok(read)
    }

    /// Octets of a packet's fields, and of its reply's: the least that either has.
    pub fn shortest(&self, is_sealed: bool) -> usize {
        let seal = if is_sealed { SEAL } else { 0 };
        let count = if self.stats & COUNT != 0 { 4 } else { 0 };
        let window = if self.stats & WINDOW != 0 { 8 } else { 0 };
        let times = self.stamp_at.count_ones() as usize * self.clock.count_ones() as usize;
        HEAD + seal + NAMES + count + window + 8 * times
    }
}

fn positive(name: &'static str, value: i64) -> Result<i64, Fault> {
    if value > 0 { Ok(value) } else { Err(Fault::NotPositive { name, value }) }
}

fn within(name: &'static str, range: std::ops::RangeInclusive<i64>, value: i64) -> Result<i64, Fault> {
    if range.contains(&value) { Ok(value) } else { Err(Fault::NoSuch { name, value }) }
}

/// Writes a number, seven bits an octet, the lowest first; the highest bit of an octet says that more follow.
fn put_number(octets: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        octets.push(number as u8 | 0x80);
        number >>= 7;
    }
    octets.push(number as u8);
}

/// Octets of the longest number.
const LONGEST_NUMBER: usize = 10;

/// Reads such a number.
fn take_number(octets: &mut &[u8], kind: &'static str) -> Result<u64, Fault> {
    let all = *octets;
    let mut number = 0;
    for (place, octet) in all.iter().enumerate() {
        let is_last = *octet & 0x80 == 0;
        if place == LONGEST_NUMBER || is_last && place + 1 == LONGEST_NUMBER && *octet > 1 {
            return Err(Fault::Overflow { kind, read: place + 1 });
        }
        number |= u64::from(octet & 0x7f) << (7 * place);
        if is_last {
            *octets = &all[place + 1..];
            return Ok(number);
        }
    }
    Err(Fault::Short { kind, left: all.len() })
}

/// Reads a text behind its length.
fn take_text(octets: &mut &[u8]) -> Result<String, Fault> {
    let length = take_number(octets, "uvarint")?;
    let length =
        usize::try_from(length).ok().filter(|length| *length <= LONGEST_FILL).ok_or(Fault::LongText(length))?;
    let (text, rest) = octets.split_at_checked(length).ok_or(Fault::ShortText { left: octets.len(), length })?;
    *octets = rest;
    std::str::from_utf8(text).map(str::to_owned).map_err(|_| Fault::NoText)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    /// Parameters of every kind, each within its range.
    fn any_parameters() -> impl Strategy<Value = Parameters> {
        let times = (any::<i64>(), 0..i64::MAX, 0..i64::MAX, any::<i64>());
        let choices = (0..=3_i64, 0..=4_i64, 0..=3_i64, any::<i64>(), "\\PC{0,8}");
        (times, choices).prop_map(|((version, duration, interval, length), (stats, stamp_at, clock, class, fill))| {
            Parameters { version, duration, interval, length, stats, stamp_at, clock, class, fill }
        })
    }

    proptest! {
        #[test]
        fn they_come_back_as_they_were_written(written in any_parameters()) {
            prop_assert_eq!(Parameters::decode(&written.encode()), Ok(written));
        }

        #[test]
        fn what_was_read_is_within_its_range(octets in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(read) = Parameters::decode(&octets) {
                prop_assert!(read.fill.len() <= LONGEST_FILL && read.shortest(true) <= 76);
                prop_assert_eq!(Parameters::decode(&read.encode()), Ok(read));
            }
        }
    }

    /// Each in the words of irtt 0.9.0.
    #[test_case(&[1], "[ShortParamBuffer] param buffer too short for varint (0)"; "no value")]
    #[test_case(&[0x80, 0x80], "[ShortParamBuffer] param buffer too short for uvarint (2)"; "cut in a name")]
    #[test_case(&[0xff; 11], "[ParamOverflow] param value overflow for uvarint (read -11)"; "without an end")]
    #[test_case(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "[ParamOverflow] param value overflow for varint (read -10)"; "more than 64 bits")]
    #[test_case(&[9, 33], "[ParamOverflow] string param too large (33>32)"; "a long text")]
    #[test_case(&[9, 2, b'a'], "[ShortParamBuffer] param buffer (1) too short for string (2)"; "cut in a text")]
    #[test_case(&[2, 1], "[InvalidParamValue] duration -1 is <= 0"; "a duration below zero")]
    #[test_case(&[3, 0], "[InvalidParamValue] interval 0 is <= 0"; "no interval")]
    #[test_case(&[5, 8], "[InvalidReceivedStatsInt] invalid ReceivedStats int: 4"; "other counts")]
    #[test_case(&[6, 10], "[InvalidStampAtInt] invalid StampAt int: 5"; "other times")]
    #[test_case(&[7, 0], "[InvalidClockInt] invalid Clock int: 0"; "no clock")]
    #[test_case(&[9, 1, 0xff], "[InvalidParamValue] string param is not UTF-8"; "no text")]
    fn a_fault_is_said_as_the_original_says_it(octets: &[u8], said: &str) {
        assert_eq!(Parameters::decode(octets).unwrap_err().to_string(), said);
    }

    #[test_case(0, 0, 0, 16; "no fields")]
    #[test_case(1, 3, 3, 52; "count and both times by both clocks")]
    #[test_case(3, 3, 3, 60; "the usual ones")]
    #[test_case(3, 4, 3, 44; "the midpoint")]
    #[test_case(2, 1, 2, 32; "one time by one clock")]
    fn a_packet_is_as_long_as_its_fields(stats: i64, stamp_at: i64, clock: i64, length: usize) {
        let parameters = Parameters { stats, stamp_at, clock, ..Parameters::default() };
        assert_eq!((parameters.shortest(false), parameters.shortest(true)), (length, length + 16));
    }

    #[test]
    fn a_name_that_is_not_known_is_passed_over() {
        let read = Parameters::decode(&[0x0a, 4, 4, 0x68]).unwrap();
        assert_eq!(read, Parameters { length: 52, ..Parameters::default() });
    }
}
