//! The header of datagrams: a number and a stamp in each, and behind them the content of a connection's header.
//!
//! | octets | |
//! |---|---|
//! | 0-3 | number, low 32 bits |
//! | 4-11 | when it was sent: seconds and microseconds of the wall clock |
//! | 12-15 | number, high 32 bits |
//! | 16-39 | [`Base`] |
//! | 40-75 | [`Extension`]: the end of 2.1's usual header |
//! | 76-111 | isochronous settings, in 2.2 behind its barrier |
//! | 112-119 | start time |
//! | 120-127 | fair queueing's rate |
//!
//! Clients repeat it in every datagram, cut off where these are shorter: only the first one, which is made longer for
//! it, is to be believed. A server's own datagrams have the first 16 octets alone, and the pattern behind them.

use measure::unit::Nanos;

use super::flag::{Flags, Upper};
use super::frame::{self, Layout};
use super::settings::{BASE, Base, EXTENSION, Extension, Version};
use super::time::Stamp;
use super::word;
use crate::bulk::{Mark, Numbering, StampClock};

/// Octets of number and stamp.
pub const HEAD: usize = 16;
/// Octets of 2.1's usual header: a client's first datagram is no shorter.
pub const USUAL: usize = HEAD + BASE + EXTENSION;
/// Octets of the longest header.
pub const LONGEST: usize = 128;
/// Octets of 2.1's header as it counts them where a start time follows.
pub const STAMPED: usize = 108;

const EXTENDED: usize = HEAD + BASE;
const START: usize = 112;

/// Settings of a test in a flow's first datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settings {
    /// A test with its settings.
    Test(Opening),
    /// The short header: nothing but that there are trip times, and 2.2's start time.
    Short {
        /// Start time of the client.
        start: Option<Stamp>,
    },
    /// No header: traffic alone.
    Plain,
}

/// A client's header, behind number and stamp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The part that every header has.
    pub base: Base,
    /// The part that newer headers have.
    pub extension: Option<Extension>,
    /// The octets behind these, up to octet 128 of the datagram.
    pub tail: Vec<u8>,
}

/// Reads the first datagram of a flow.
pub fn settings(datagram: &[u8]) -> Settings {
    let Some(flags) = word::read(datagram, HEAD).map(Flags) else { return Settings::Plain };
    // The pattern has this bit too, but others of this half of the word besides.
    if flags.0 >> 16 == Flags::SHORT.0 >> 16 {
        let start = stamp(datagram, HEAD + 4).filter(|start| *start != Stamp::default());
        return Settings::Short { start };
    }
    if !flags.begins_a_header() {
        return Settings::Plain;
    }
    let Some(base) = Base::read(&datagram[HEAD..]) else { return Settings::Plain };
    let header = &datagram[..datagram.len().min(LONGEST)];
    let extended = flags.has(Flags::EXTENDED).then(|| Extension::read(&header[EXTENDED..])).flatten();
    let tail = if extended.is_some() { header[USUAL..].to_vec() } else { Vec::new() };
    Settings::Test(Opening { base, extension: extended, tail })
}

impl Opening {
    /// Octets from the start of the datagram to the end of the header.
    pub fn length(&self) -> usize {
        EXTENDED + self.extension.map_or(0, |_| EXTENSION) + self.tail.len()
    }

    /// Writes it behind number and stamp, as far as there is room for whole words.
    pub fn write(&self, datagram: &mut [u8]) {
        if let Some(place) = datagram.get_mut(HEAD..) {
            self.base.write(place);
        }
        if let (Some(extension), Some(place)) = (&self.extension, datagram.get_mut(EXTENDED..)) {
            extension.write(place);
        }
        let room = datagram.get_mut(self.length() - self.tail.len()..).unwrap_or_default();
        let fits = room.len().min(self.tail.len());
        room[..fits].copy_from_slice(&self.tail[..fits]);
    }

    /// Returns the start time of the client, where there is room for it. The flags say whether it is meant.
    pub fn start(&self) -> Option<Stamp> {
        stamp(&self.tail, START - USUAL)
    }

    /// Settings of isochronous traffic, which stand in another place in 2.2: period in µs, start, previous and present
    /// frame, octets of the burst, octets that are left.
    pub fn isochronous(&self) -> Option<[u32; 8]> {
        let start = self.layout()?.offset() - USUAL;
        word::read_all(self.tail.get(start..start + frame::BLOCK)?)
    }

    /// The place of the isochronous settings, by the client's version; `None`: it does not say.
    pub fn layout(&self) -> Option<Layout> {
        let version = self.extension?.version;
        Some(if version.upper >= Version::BARRED.upper { Layout::Barred } else { Layout::Plain })
    }

    /// True where the client sends frames.
    pub fn is_isochronous(&self) -> bool {
        let upper = self.extension.map_or(Upper(0), |extension| extension.upper);
        self.base.flags.has(Flags::UDP_TESTS) && upper.has(Upper::ISOCHRONOUS)
    }
}

fn stamp(octets: &[u8], at: usize) -> Option<Stamp> {
    Some(Stamp { seconds: word::read(octets, at)?, micros: word::read(octets, at + 4)? })
}

/// Number and stamp at the start of each datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IperfNumbering {
    width: Width,
    first: u8,
}

/// Octets of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Four, signed: clients that do not say otherwise.
    Narrow,
    /// Eight, signed, in two places: [`Flags::WIDE`].
    Wide,
}

impl IperfNumbering {
    /// As 2.1 and 2.2 number: 64 bits, from 1.
    pub const CURRENT: Self = Self { width: Width::Wide, first: 1 };

    /// As a flow numbers that begins with `datagram`; old clients begin with 0. `None` where it is too short, or begins
    /// with the end of a test.
    pub fn of_first(datagram: &[u8]) -> Option<Self> {
        let wide = word::read(datagram, HEAD)
            .map(Flags)
            .is_some_and(|flags| flags.begins_a_header() && flags.has(Flags::WIDE));
        let width = if wide { Width::Wide } else { Width::Narrow };
        let id = id(width, datagram)?;
        (id >= 0).then_some(Self { width, first: u8::from(id > 0) })
    }

    /// Returns the width of numbers.
    pub fn width(self) -> Width {
        self.width
    }

    /// Writes number and stamp of a datagram that says that `count` were sent before it, which is the `again`th to say
    /// so, from 0: each one says one more, so that none is taken for another.
    pub fn write_last(self, datagram: &mut [u8], count: u64, again: u64, sent: Nanos) {
        let next = count.saturating_add(u64::from(self.first)).saturating_add(again);
        let id = i64::try_from(next).map_or(i64::MIN, |next| -next);
        write(datagram, id, sent);
    }
}

fn id(width: Width, datagram: &[u8]) -> Option<i64> {
    let low = word::read(datagram, 0)?;
    // The stamp is to be there too.
    let high = word::read(datagram, 12)?;
    Some(match width {
        Width::Wide => (u64::from(high) << 32 | u64::from(low)).cast_signed(),
        Width::Narrow => i64::from(low.cast_signed()),
    })
}

fn write(datagram: &mut [u8], id: i64, sent: Nanos) {
    let Stamp { seconds, micros } = Stamp::of(sent);
    word::write_all(datagram, 0, &[id as u32, seconds, micros, (id >> 32) as u32]);
}

impl Numbering for IperfNumbering {
    fn octets(&self) -> usize {
        HEAD
    }

    fn clock(&self) -> StampClock {
        StampClock::Wall
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos) {
        let id = number.saturating_sub(1).saturating_add(u64::from(self.first));
        write(datagram, i64::try_from(id).unwrap_or(i64::MAX), sent);
    }

    #[inline]
    fn read(&self, datagram: &[u8]) -> Option<Mark> {
        let id = id(self.width, datagram)?;
        let sent = stamp(datagram, 4)?.nanos();
        let beyond = id.unsigned_abs() + 1 - u64::from(self.first);
        if id < 0 {
            return Some(Mark::Last { count: beyond - 1, sent });
        }
        (beyond > 0).then_some(Mark::Data { number: beyond, sent })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn datagram(id: i64) -> [u8; HEAD] {
        let mut datagram = [0; HEAD];
        write(&mut datagram, id, Nanos::secs(7));
        datagram
    }

    const OLD: IperfNumbering = IperfNumbering { width: Width::Narrow, first: 0 };

    #[test_case(IperfNumbering::CURRENT, 1, Some((1, false)))]
    #[test_case(IperfNumbering::CURRENT, 0, None; "nothing has this number")]
    #[test_case(IperfNumbering::CURRENT, 5_000_000_000, Some((5_000_000_000, false)))]
    #[test_case(IperfNumbering::CURRENT, -47, Some((46, true)))]
    #[test_case(IperfNumbering::CURRENT, -1, Some((0, true)); "the last and only one")]
    #[test_case(IperfNumbering::CURRENT, i64::MIN, Some((i64::MAX as u64, true)))]
    #[test_case(OLD, 0, Some((1, false)))]
    #[test_case(OLD, 45, Some((46, false)))]
    #[test_case(OLD, -46, Some((46, true)))]
    fn a_number_is_read(numbering: IperfNumbering, id: i64, told: Option<(u64, bool)>) {
        let sent = Nanos::secs(7);
        let expected = told.map(
            |(number, last)| {
                if last { Mark::Last { count: number, sent } } else { Mark::Data { number, sent } }
            },
        );
        assert_eq!(numbering.read(&datagram(id)), expected);
        assert_eq!(numbering.read(&datagram(id)[..HEAD - 1]), None);
    }

    #[test]
    fn the_last_ones_differ() {
        let mut last = [0; HEAD];
        for again in 0..3 {
            IperfNumbering::CURRENT.write_last(&mut last, 46, again, Nanos::ZERO);
            assert_eq!(id(Width::Wide, &last), Some(-47 - again.cast_signed()));
        }
        OLD.write_last(&mut last, 46, 0, Nanos::ZERO);
        assert_eq!(OLD.read(&last), Some(Mark::Last { count: 46, sent: Nanos::ZERO }));
    }

    #[test]
    fn how_a_flow_numbers_is_seen_in_its_first_datagram() {
        let flags = |id: i64, flags: u32| [&datagram(id)[..], &flags.to_be_bytes()].concat();
        let of =
            |datagram: &[u8]| IperfNumbering::of_first(datagram).map(|numbering| (numbering.width, numbering.first));
        assert_eq!(of(&flags(1, 0x4801_0098)), Some((Width::Wide, 1)));
        assert_eq!(of(&flags(1, 0x4001_0098)), Some((Width::Narrow, 1)));
        assert_eq!(of(&flags(1, 0x3637_3839)), Some((Width::Narrow, 1)), "traffic alone");
        assert_eq!(of(&flags(0, 0)), Some((Width::Narrow, 0)), "an old client");
        assert_eq!(of(&flags(-5, 0x4801_0098)), None, "what begins with its end");
        assert_eq!(of(&datagram(3)), Some((Width::Narrow, 1)), "a datagram of nothing else");
    }

    #[test]
    fn the_pattern_is_no_short_header() {
        let mut traffic = [0; 64];
        crate::iperf::fill(&mut traffic, 0);
        assert_eq!(settings(&traffic), Settings::Plain);
        traffic[HEAD..HEAD + 4].copy_from_slice(&[0, 2, 0, 0]);
        assert!(matches!(settings(&traffic), Settings::Short { .. }));
        assert_eq!(settings(&[0; HEAD]), Settings::Plain);
    }

    #[test]
    fn a_header_that_is_cut_off_is_read_as_far_as_it_goes() {
        let opening = Opening {
            base: Base { flags: Flags(0x4801_0098), port: 5_001, ..Base::default() },
            extension: Some(Extension { service: 7, ..Extension::default() }),
            tail: vec![],
        };
        let mut whole = [0; USUAL];
        opening.write(&mut whole);
        assert_eq!(settings(&whole), Settings::Test(opening.clone()));
        let short = Opening { extension: None, ..opening };
        assert_eq!(settings(&whole[..USUAL - 1]), Settings::Test(short));
        assert_eq!(settings(&whole[..EXTENDED - 1]), Settings::Plain);
    }
}
