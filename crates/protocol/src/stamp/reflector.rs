//! A session-reflector: which packet is answered, and with what (RFC 8762 section 4.3).
//!
//! A packet is answered where it is long enough, where it is sealed by the key that the reflector has, and where its source
//! does not come too fast. The answer is as long as the packet: what of it does not fit a short packet of TWAMP Light is cut off, unless the
//! reflector is to lengthen it.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use measure::unit::Instant;

use super::key::Key;
use super::layout::{self, LIGHT_ANSWER, Layout, SHORTEST, put, take};
use super::part::Known;
use super::share::{Limiter, Name, Sessions};
use super::time::{ErrorEstimate, Format};
use super::tlv;

/// Rules by which a reflector answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The key, where packets are to be authenticated. Others are not answered then.
    pub key: Option<Key>,
    /// True where answers have numbers of their own (a stateful reflector), by which losses there are told from losses
    /// back. False where they have that of the packet.
    pub counts: bool,
    /// True where an unauthenticated packet of a TWAMP Light sender has an answer with all fields though the packet is shorter (RFC 5357 section 4.2.1):
    /// up to 2.9 times its length. Then identifiers of sessions do not count: such a sender has padding in their place.
    pub lengthens: bool,
    /// Packets a second that each address may send.
    pub per_second: NonZeroU32,
}

/// Facts about a packet besides its octets.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its sender.
    pub from: SocketAddr,
    /// Wall clock of its arrival, nanoseconds since 1970.
    pub at: u64,
    /// The same instant, or a little later, by the clock that shares are counted by.
    pub now: Instant,
    /// Remaining time to live, a number of hops; absent where the kernel did not report it.
    pub time_to_live: Option<u8>,
    /// Where it went, likewise.
    pub to: Option<SocketAddr>,
    /// The octet of its type of service, likewise.
    pub service: Option<u8>,
}

/// Reason why a packet is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It is too short for a packet of this mode.
    Short,
    /// It is not sealed by our key.
    Unsealed,
    /// Its source has used its share.
    TooFast,
    /// There are too many sessions.
    TooMany,
}

/// Answers packets.
#[derive(Debug)]
pub struct Reflector {
    manner: Manner,
    layout: &'static Layout,
    limiter: Limiter,
    sessions: Sessions,
}

impl Reflector {
    /// One that answers in this manner.
    pub fn new(manner: Manner) -> Self {
        let layout = Layout::of(manner.key.as_ref());
        Self { layout, limiter: Limiter::new(manner.per_second), sessions: Sessions::default(), manner }
    }

    /// Octets of the answer to a packet of so many. The packet is followed by zeros up to there where [`Reflector::answer`] has it.
    pub fn answer_length(&self, packet: usize) -> usize {
        let lengthens = self.manner.lengthens && self.manner.key.is_none() && packet >= SHORTEST;
        if lengthens { packet.max(LIGHT_ANSWER) } else { packet }
    }

    /// Makes the answer of `packet` in its place; with what type of service it is to leave, where the packet asks for one. `depart` is asked for the wall clock as late as can be, for the answer
    /// has to be sealed afterwards; `error` is our clock's, whose format gives way to the packet's.
    pub fn answer(
        &mut self,
        packet: &mut [u8],
        arrival: Arrival,
        error: ErrorEstimate,
        depart: impl FnOnce() -> u64,
    ) -> Result<Option<u8>, Silence> {
        let shortest = if self.manner.key.is_some() { self.layout.length } else { SHORTEST };
        if packet.len() < shortest {
            return Err(Silence::Short);
        }
        if !self.limiter.admits(arrival.from.ip(), arrival.now) {
            return Err(Silence::TooFast);
        }
        if self.manner.key.as_ref().is_some_and(|key| !layout::is_sealed(packet, key)) {
            return Err(Silence::Unsealed);
        }
        let layout = self.layout;
        let asked = Asked::read(packet, layout);
        // A sender of TWAMP has padding in the place of the identifier, and may have other octets there in each packet.
        let is_padding = self.manner.lengthens && self.manner.key.is_none();
        let session = if is_padding { 0 } else { u16::from_be_bytes(asked.session) };
        let name = Name { from: arrival.from, session };
        let (number, session) = if self.manner.counts {
            let (number, counted) = self.sessions.count(name, arrival.now).ok_or(Silence::TooMany)?;
            (number.to_be_bytes(), Some(counted))
        } else {
            (asked.number, None)
        };
        let format = ErrorEstimate::decode(asked.error).format;
        let error = ErrorEstimate { format, ..error };
        let base = packet.len().min(layout.length);
        let (head, rest) = packet.split_at_mut(base);
        head.fill(0);
        let known = Known { from: arrival.from, to: arrival.to, service: arrival.service, session };
        // Parts of authenticated packets would want a seal of their own (RFC 8972 section 4.8), which is not known here.
        let service = tlv::answer(rest, Some(&known).filter(|_| self.manner.key.is_none()));
        put(head, 0, &number);
        put(head, layout.error, &error.encode());
        put(head, layout.session, &asked.session);
        asked.write(head, layout, format, &arrival);
        let left = format.encode(depart());
        put(head, layout.timestamp, &left);
        if let Some(key) = &self.manner.key {
            layout::seal(head, key);
        }
        if session.is_some() && !rest.is_empty() {
            self.sessions.left(name, arrival.now, u32::from_be_bytes(number), left);
        }
        Ok(service)
    }
}

/// Fields of its packet that an answer repeats.
struct Asked {
    number: [u8; 4],
    sent: [u8; 8],
    error: [u8; 2],
    session: [u8; 2],
}

impl Asked {
    fn read(packet: &[u8], layout: &Layout) -> Self {
        Self {
            number: take(packet, 0),
            sent: take(packet, layout.timestamp),
            error: take(packet, layout.error),
            session: take(packet, layout.session),
        }
    }

    fn write(&self, head: &mut [u8], layout: &Layout, format: Format, arrival: &Arrival) {
        put(head, layout.received, &format.encode(arrival.at));
        put(head, layout.number, &self.number);
        put(head, layout.sent, &self.sent);
        put(head, layout.sent_error, &self.error);
        put(head, layout.time_to_live, &[arrival.time_to_live.unwrap_or(0)]);
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::stamp::layout::{BARE, SEALED, seal};

    const ARRIVED: u64 = 1_700_000_000_000_001_000;
    const LEFT: u64 = 1_700_000_000_000_031_000;
    const OURS: ErrorEstimate = ErrorEstimate { synchronised: true, format: Format::Ntp, scale: 20, multiplier: 9 };

    fn manner(key: Option<&[u8]>, counts: bool) -> Manner {
        Manner { key: key.map(Key::new), counts, lengthens: false, per_second: NonZeroU32::new(1_000_000).unwrap() }
    }

    fn arrival(port: u16) -> Arrival {
        let from = SocketAddr::from(([192, 0, 2, 1], port));
        Arrival { from, at: ARRIVED, now: Instant(1), time_to_live: Some(61), to: None, service: None }
    }

    fn packet() -> [u8; BARE] {
        let mut packet = [0; BARE];
        packet[..4].copy_from_slice(&[0, 0, 0, 9]);
        packet[4..12].copy_from_slice(&Format::Ntp.encode(ARRIVED - 1_000));
        packet[12..16].copy_from_slice(&[0x2a, 7, 0xbe, 0xef]);
        packet
    }

    #[test]
    fn every_field_stands_at_its_place() {
        let sent = packet();
        let mut answer = sent;
        let mut reflector = Reflector::new(manner(None, true));
        reflector.answer(&mut answer, arrival(1), OURS, || LEFT).unwrap();
        assert_eq!(answer[..4], [0; 4], "the first of this session");
        assert_eq!(answer[4..12], Format::Ntp.encode(LEFT));
        assert_eq!(answer[12..16], [0x80 | 0x14, 9, 0xbe, 0xef]);
        assert_eq!(answer[16..24], Format::Ntp.encode(ARRIVED));
        assert_eq!((&answer[24..28], &answer[28..36], &answer[36..38]), (&sent[..4], &sent[4..12], &sent[12..14]));
        assert_eq!(answer[38..], [0, 0, 61, 0, 0, 0]);
        let mut answer = sent;
        reflector.answer(&mut answer, arrival(1), OURS, || LEFT).unwrap();
        assert_eq!(answer[..4], [0, 0, 0, 1]);
    }

    #[test]
    fn a_stateless_one_repeats_the_number() {
        let mut answer = packet();
        Reflector::new(manner(None, false)).answer(&mut answer, arrival(1), OURS, || LEFT).unwrap();
        assert_eq!((&answer[..4], &answer[24..28]), (&[0, 0, 0, 9][..], &[0, 0, 0, 9][..]));
    }

    #[test]
    fn times_are_written_as_those_of_the_packet() {
        let mut answer = packet();
        answer[12] |= 0x40;
        Reflector::new(manner(None, true)).answer(&mut answer, arrival(1), OURS, || LEFT).unwrap();
        assert_eq!(answer[4..12], Format::Ptp.encode(LEFT));
        assert_eq!(answer[16..24], Format::Ptp.encode(ARRIVED));
        assert_eq!(answer[12], 0xc0 | 0x14);
    }

    #[test_case(14; "the shortest of TWAMP Light")]
    #[test_case(41; "as long as its answers")]
    #[test_case(44; "of STAMP")]
    #[test_case(1_400; "padded")]
    fn an_answer_is_as_long_as_its_packet_and_a_short_one_is_the_beginning_of_a_long_one(length: usize) {
        let mut whole = vec![0; 1_400];
        whole[..BARE].copy_from_slice(&packet());
        whole[14..16].fill(0);
        let mut short = whole[..length].to_vec();
        for answer in [&mut whole, &mut short] {
            Reflector::new(manner(None, true)).answer(answer, arrival(1), OURS, || LEFT).unwrap();
        }
        assert_eq!(short, whole[..length]);
    }

    #[test_case(true, None, 14, 41; "of TWAMP Light")]
    #[test_case(true, None, 40, 41; "without a TTL")]
    #[test_case(true, None, 44, 44; "of STAMP")]
    #[test_case(true, None, 13, 13; "too short for a packet")]
    #[test_case(true, Some(b"0123456789abcdef"), 60, 60; "that is to be sealed")]
    #[test_case(false, None, 14, 14; "unless it is asked for")]
    fn a_short_packet_has_a_longer_answer(lengthens: bool, key: Option<&[u8]>, packet: usize, answer: usize) {
        let reflector = Reflector::new(Manner { lengthens, ..manner(key, true) });
        assert_eq!(reflector.answer_length(packet), answer);
    }

    #[test]
    fn a_lengthened_answer_has_every_field() {
        let mut reflector = Reflector::new(Manner { lengthens: true, ..manner(None, true) });
        let mut buffer = packet();
        buffer[14..].fill(0);
        let mut whole = buffer;
        reflector.answer(&mut buffer[..41], arrival(1), OURS, || LEFT).unwrap();
        reflector.answer(&mut whole, arrival(2), OURS, || LEFT).unwrap();
        assert_eq!((&buffer[..41], buffer[40]), (&whole[..41], 61));
    }

    #[test_case(true, 1; "of twamp")]
    #[test_case(false, 0; "of stamp, where each is a session")]
    fn padding_that_changes_is_no_session_of_its_own(lengthens: bool, number: u8) {
        let mut reflector = Reflector::new(Manner { lengthens, ..manner(None, true) });
        let answers = [7, 8].map(|padding| {
            let mut packet = packet();
            packet[14..].fill(padding);
            reflector.answer(&mut packet, arrival(1), OURS, || LEFT).unwrap();
            packet[3]
        });
        assert_eq!(answers, [0, number]);
    }

    #[test_case(0; "nothing")]
    #[test_case(13; "no error estimate")]
    fn what_is_too_short_is_not_answered(length: usize) {
        let mut packet = packet()[..length].to_vec();
        let answer = Reflector::new(manner(None, true)).answer(&mut packet, arrival(1), OURS, || LEFT);
        assert_eq!(answer, Err(Silence::Short));
    }

    fn sealed(key: &Key) -> [u8; SEALED] {
        let mut packet = [0; SEALED];
        packet[3] = 9;
        packet[16..24].copy_from_slice(&Format::Ntp.encode(ARRIVED - 1_000));
        packet[24..28].copy_from_slice(&[0x2a, 7, 0xbe, 0xef]);
        seal(&mut packet, key);
        packet
    }

    #[test]
    fn a_sealed_packet_has_a_sealed_answer_with_every_field_at_its_place() {
        let key = Key::new(b"0123456789abcdef");
        let sent = sealed(&key);
        let mut answer = sent;
        let mut reflector = Reflector::new(manner(Some(b"0123456789abcdef"), false));
        reflector.answer(&mut answer, arrival(1), OURS, || LEFT).unwrap();
        assert!(layout::is_sealed(&answer, &key));
        assert_eq!((&answer[..4], &answer[4..16]), (&[0, 0, 0, 9][..], &[0; 12][..]));
        assert_eq!(answer[16..24], Format::Ntp.encode(LEFT));
        assert_eq!(answer[24..32], [0x80 | 0x14, 9, 0xbe, 0xef, 0, 0, 0, 0]);
        assert_eq!(answer[32..40], Format::Ntp.encode(ARRIVED));
        assert_eq!((&answer[40..48], &answer[48..52], &answer[52..64]), (&[0; 8][..], &sent[..4], &[0; 12][..]));
        assert_eq!((&answer[64..72], &answer[72..74]), (&sent[16..24], &sent[24..26]));
        assert_eq!((&answer[74..80], answer[80], &answer[81..96]), (&[0; 6][..], 61, &[0; 15][..]));
    }

    #[test]
    fn a_packet_that_is_sealed_otherwise_or_not_at_all_is_not_answered() {
        let mut reflector = Reflector::new(manner(Some(b"another key than"), true));
        let mut packet = sealed(&Key::new(b"0123456789abcdef"));
        assert_eq!(reflector.answer(&mut packet, arrival(1), OURS, || LEFT), Err(Silence::Unsealed));
        let answer = reflector.answer(&mut packet[..SEALED - 1], arrival(1), OURS, || LEFT);
        assert_eq!(answer, Err(Silence::Short));
    }

    #[test]
    fn a_flood_is_answered_as_far_as_its_share_goes() {
        let mut reflector = Reflector::new(Manner { per_second: NonZeroU32::new(50).unwrap(), ..manner(None, true) });
        let mut answered = 0;
        for port in 0..1_000 {
            match reflector.answer(&mut packet(), arrival(port), OURS, || LEFT) {
                Ok(_) => answered += 1,
                Err(silence) => assert_eq!(silence, Silence::TooFast),
            }
        }
        assert_eq!(answered, 5, "a tenth of a second's");
    }
}
