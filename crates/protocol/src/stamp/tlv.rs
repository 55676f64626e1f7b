//! Optional parts behind a packet: a type, a length and a value each (RFC 8972 section 4), or plain padding.
//!
//! A reflector gives back all that it was sent, and marks each part with the result. Padding and the parts of [`super::part`]
//! are known here; the others come back as not known, which is what their sender then knows.

use super::part::{self, Filled, Known, Part, Told};
use super::time::Format;

/// Octets in front of a part's value: flags, type, length.
pub const HEAD: usize = 4;
/// The type of padding (RFC 8972 section 4.1).
pub const EXTRA_PADDING: u8 = 1;

/// The sender sets it, and a reflector that knows the type clears it.
pub(super) const UNKNOWN: u8 = 0x80;
/// Its length does not fit its type, or goes beyond the packet: nothing behind it was read.
pub(super) const MALFORMED: u8 = 0x40;
/// Its seal is broken.
const BROKEN: u8 = 0x20;
/// All that a reflector may say of a part.
pub(super) const FLAGS: u8 = UNKNOWN | MALFORMED | BROKEN;

/// Octets of questions by `parts`, their heads among them.
pub fn length(parts: &[Part]) -> usize {
    parts.iter().map(|part| HEAD + part.length()).sum()
}

/// Writes questions by `parts` and then padding that fills `rest`; `class` is the code point that answers are to have. Parts
/// for which there is no room are left away.
pub fn ask(mut rest: &mut [u8], parts: &[Part], class: u8) {
    rest.fill(0);
    for part in parts {
        let Some((place, behind)) = std::mem::take(&mut rest).split_at_mut_checked(HEAD + part.length()) else {
            return;
        };
        let [high, low] = (part.length() as u16).to_be_bytes();
        let (head, value) = place.split_at_mut(HEAD);
        head.copy_from_slice(&[UNKNOWN, part.kind(), high, low]);
        part.ask(value, class);
        rest = behind;
    }
    pad(rest);
}

/// Writes one part of padding that fills all of `rest`, or zeros where that has no room for its head.
pub fn pad(rest: &mut [u8]) {
    rest.fill(0);
    let value = rest.len().saturating_sub(HEAD);
    if let (Some(head), Ok(length)) = (rest.first_chunk_mut::<HEAD>(), u16::try_from(value)) {
        let [high, low] = length.to_be_bytes();
        *head = [UNKNOWN, EXTRA_PADDING, high, low];
    }
}

/// Writes how many packets have left into the question for counts, where there is one.
#[inline]
pub fn count(rest: &mut [u8], parts: &[Part], sent: u32) {
    let before = parts.iter().take_while(|part| **part != Part::Counts);
    let place: usize = before.map(|part| HEAD + part.length()).sum();
    if parts.contains(&Part::Counts) {
        super::layout::put(rest, place + HEAD, &sent.to_be_bytes());
    }
}

/// Answers in `rest`, a copy of the octets behind a packet, each part that is known, and marks each with the result.
/// Octets that do not begin as parts do are plain padding and stay as they are. Returns the type of service for the
/// answer, where that was asked for. Without `known` no part but padding is known.
pub fn answer(rest: &mut [u8], known: Option<&Known>) -> Option<u8> {
    if rest.first().is_none_or(|flags| flags & UNKNOWN == 0) {
        return None;
    }
    let mut service = None;
    walk(rest, |kind, value| {
        let Some((part, known)) = Part::of(kind).zip(known) else {
            return (kind, if kind == EXTRA_PADDING { Filled::Known(None) } else { Filled::Unknown });
        };
        if !part.fits(value.len()) {
            return (kind, Filled::Malformed);
        }
        let filled = part::fill(part, value, known);
        if let Filled::Known(Some(asked)) = filled {
            service = Some(asked);
        }
        (kind, filled)
    });
    service
}

/// Goes from part to part as a reflector does: `each` has type and value, and says the type that is answered and how. Behind
/// a malformed part nothing is read.
pub(super) fn walk(octets: &mut [u8], mut each: impl FnMut(u8, &mut [u8]) -> (u8, Filled)) {
    let mut rest = octets;
    while !rest.is_empty() {
        let Some([_, kind, high, low]) = rest.first_chunk::<HEAD>().copied() else {
            rest[0] |= MALFORMED;
            return;
        };
        let length = HEAD + usize::from(u16::from_be_bytes([high, low]));
        if length > rest.len() {
            let known = kind == EXTRA_PADDING || Part::of(kind).is_some();
            rest[0] = MALFORMED | if known { 0 } else { UNKNOWN };
            return;
        }
        let (place, behind) = std::mem::take(&mut rest).split_at_mut(length);
        let (head, value) = place.split_at_mut(HEAD);
        let (answered, filled) = each(kind, value);
        (head[0], head[1]) = match filled {
            Filled::Known(_) => (0, answered),
            Filled::Unknown => (UNKNOWN, kind),
            Filled::Malformed => (MALFORMED, kind),
        };
        if filled == Filled::Malformed {
            return;
        }
        rest = behind;
    }
}

/// Reads what came back of questions by `parts`. Nothing behind a malformed part is read, nor of one whose length is another than
/// was sent.
pub fn read(mut rest: &[u8], parts: &[Part], format: Format, near: u64) -> Told {
    let mut told = Told::default();
    for part in parts {
        let Some([flags, kind, high, low]) = rest.first_chunk::<HEAD>().copied() else { break };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let bit = Part::ALL.iter().position(|known| known == part).map_or(0, |place| 1 << place);
        if kind != part.kind() || length != part.length() || flags & MALFORMED != 0 {
            told.malformed |= bit;
            break;
        }
        let Some(value) = rest.get(HEAD..HEAD + length) else { break };
        match flags & FLAGS {
            0 => told.read(*part, value, format, near),
            flags if flags & UNKNOWN != 0 => told.unknown |= bit,
            _ => told.malformed |= bit,
        }
        rest = &rest[HEAD + length..];
    }
    told
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

    use test_case::test_case;

    use super::*;
    use crate::stamp::part::{Class, Counted, Counts, Location};

    #[test_case(&[], &[]; "nothing")]
    #[test_case(&[0, 0, 0], &[0, 0, 0]; "padding of zeros")]
    #[test_case(&[0x41, 0x80, 9, 9], &[0x41, 0x80, 9, 9]; "padding of anything")]
    #[test_case(&[0x80, 1, 0, 2, 5, 5], &[0, 1, 0, 2, 5, 5]; "padding that says so is known")]
    #[test_case(&[0x80, 9, 0, 1, 5], &[0x80, 9, 0, 1, 5]; "a type of later is not")]
    #[test_case(&[0x80, 8, 0, 1, 5], &[0x80, 8, 0, 1, 5]; "a seal is not")]
    #[test_case(&[0x80, 2, 0, 1, 5, 0x80, 1, 0, 0], &[0x40, 2, 0, 1, 5, 0x80, 1, 0, 0]; "too short a location, and nothing behind it is read")]
    #[test_case(&[0x80, 5, 0, 0, 0x80, 1, 0, 0], &[0x40, 5, 0, 0, 0x80, 1, 0, 0]; "counts without room for any")]
    #[test_case(&[0xff, 1, 0, 0], &[0, 1, 0, 0]; "flags that a sender must not set are cleared")]
    #[test_case(&[0x80, 9, 0, 9, 5], &[0xc0, 9, 0, 9, 5]; "a length beyond the packet of a type of later")]
    #[test_case(&[0x80, 1, 0, 0, 0x80, 8, 0, 1, 7], &[0, 1, 0, 0, 0x80, 8, 0, 1, 7]; "one behind the other")]
    #[test_case(&[0x80, 1, 0, 3, 5], &[0x40, 1, 0, 3, 5]; "a length beyond the packet")]
    #[test_case(&[0x80, 1, 0, 0, 0x80, 1], &[0, 1, 0, 0, 0xc0, 1]; "half a head")]
    fn what_follows_comes_back_marked(sent: &[u8], back: &[u8]) {
        let mut rest = sent.to_vec();
        assert_eq!(answer(&mut rest, Some(&KNOWN)), None);
        assert_eq!(rest, back);
    }

    const KNOWN: Known = Known { from: FROM, to: Some(TO), service: Some(0xb9), session: Some(COUNTED) };
    const FROM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 7_000);
    const TO: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)), 862);
    const COUNTED: Counted =
        Counted { received: 9, answered: 8, before: Some((7, [0xe8, 0xfe, 0x6f, 0x80, 0, 0, 0, 5])) };
    const NEAR: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn what_is_asked_comes_back() {
        let mut rest = vec![9; length(&Part::ALL) + 7];
        ask(&mut rest, &Part::ALL, 46);
        count(&mut rest, &Part::ALL, 10);
        assert_eq!(answer(&mut rest, Some(&KNOWN)), Some(46 << 2));
        let told = read(&rest, &Part::ALL, Format::Ntp, NEAR);
        let location = Location { from_port: 7_000, from: Some(FROM.ip()), to_port: 862, to: Some(TO.ip()) };
        let expected = Told {
            class: Some(Class { code_point: 46, marks: 1, refused: false }),
            location: Some(location),
            counts: Some(Counts { sent: 10, received: 9, answered: 8 }),
            before: Some((7, NEAR + 1)),
            unknown: 0,
            malformed: 0,
        };
        assert_eq!(told, expected);
        // Addresses are told as what they are (RFC 8972 section 4.2.1).
        assert_eq!((rest[HEAD + 4 + 1], rest[HEAD + 4 + 20 + 1]), (8, 6));
    }

    #[test]
    fn who_keeps_no_sessions_and_sees_no_headers_says_so() {
        let mut rest = vec![0; length(&Part::ALL)];
        ask(&mut rest, &Part::ALL, 0);
        assert_eq!(answer(&mut rest, Some(&Known { to: None, service: None, session: None, ..KNOWN })), None);
        let told = read(&rest, &Part::ALL, Format::Ntp, NEAR);
        assert_eq!((told.unknown, told.malformed), (0b0110, 0), "class of service, and counts");
        assert_eq!((told.before, told.counts, told.class), (None, None, None));
        assert_eq!(told.location.map(|location| (location.from, location.to)), Some((Some(FROM.ip()), None)));
    }

    #[test]
    fn what_no_key_protects_is_not_known_where_there_is_one() {
        let mut rest = vec![0; length(&Part::ALL)];
        ask(&mut rest, &Part::ALL, 46);
        assert_eq!(answer(&mut rest, None), None);
        assert_eq!(read(&rest, &Part::ALL, Format::Ntp, NEAR), Told { unknown: 0b1111, ..Told::default() });
    }

    #[test]
    fn no_stranger_is_answered_as_network_control() {
        let mut rest = vec![0; length(&[Part::Class])];
        ask(&mut rest, &[Part::Class], 48);
        assert_eq!(answer(&mut rest, Some(&KNOWN)), Some(46 << 2), "as it came");
        assert!(read(&rest, &[Part::Class], Format::Ntp, NEAR).class.is_some_and(|class| class.refused));
    }

    #[test]
    fn what_came_back_otherwise_than_it_was_asked_is_not_believed() {
        let mut rest = vec![0; length(&Part::ALL)];
        ask(&mut rest, &Part::ALL, 0);
        // As an echo returns it: all flags as they were sent.
        assert_eq!(read(&rest, &Part::ALL, Format::Ntp, NEAR), Told { unknown: 0b1111, ..Told::default() });
        rest[3] = 1;
        assert_eq!(read(&rest, &Part::ALL, Format::Ntp, NEAR), Told { malformed: 1, ..Told::default() });
        assert_eq!(read(&[], &Part::ALL, Format::Ntp, NEAR), Told::default());
    }

    #[test_case(0, &[]; "no room")]
    #[test_case(3, &[0, 0, 0]; "no room for a head")]
    #[test_case(4, &[0x80, 1, 0, 0]; "a head alone")]
    #[test_case(6, &[0x80, 1, 0, 2, 0, 0]; "with a value")]
    fn padding_fills_the_packet(length: usize, expected: &[u8]) {
        let mut rest = vec![9; length];
        pad(&mut rest);
        assert_eq!(rest, expected);
        answer(&mut rest, Some(&KNOWN));
        assert_eq!(rest.first().map(|flags| flags & 0xc0), expected.first().map(|_| 0));
    }
}
