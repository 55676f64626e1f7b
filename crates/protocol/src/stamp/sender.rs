//! A session-sender's packets: written with the time of their departure, and their answers read.

use super::key::Key;
use super::layout::{self, Layout, SHORTEST_ANSWER, put, take};
use super::part::{Part, Told};
use super::time::ErrorEstimate;
use super::tlv;

/// Common part of a sender's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The key, where packets are authenticated.
    pub key: Option<Key>,
    /// The session's identifier (RFC 8972 section 3); 0: none.
    pub session: u16,
    /// Quality of our clock as it reports it, and the format of times.
    pub error: ErrorEstimate,
    /// The parts by which it asks (RFC 8972 section 4), in this order.
    pub parts: Vec<Part>,
    /// The code point that answers are to have, where the class of service is asked for.
    pub class: u8,
}

/// Content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the packet that it answers.
    pub number: u32,
    /// Its own number: that of its packet, or the reflector's count of answers.
    pub own_number: u32,
    /// Arrival of the packet at the reflector, nanoseconds since 1970 by its clock.
    pub received: u64,
    /// Departure of the answer, likewise.
    pub left: u64,
    /// Quality of the reflector's clock, as it reports it.
    pub error: ErrorEstimate,
    /// Remaining time to live of the packet at the reflector; `None` where it does not report it.
    pub time_to_live: Option<u8>,
}

/// Reason why octets are no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// They are none of this session: too short for an answer, or of another session.
    Foreign,
    /// They are not sealed by our key, or hold no time.
    Corrupt,
}

impl Session {
    /// Octets of a packet without padding.
    pub fn length(&self) -> usize {
        Layout::of(self.key.as_ref()).length + tlv::length(&self.parts)
    }

    /// Writes all of a packet that stays the same, padding included.
    pub fn open(&self, packet: &mut [u8]) {
        let layout = Layout::of(self.key.as_ref());
        let base = packet.len().min(layout.length);
        let (head, rest) = packet.split_at_mut(base);
        head.fill(0);
        put(head, layout.error, &self.error.encode());
        put(head, layout.session, &self.session.to_be_bytes());
        tlv::ask(rest, &self.parts, self.class);
    }

    /// Writes packet `number`, which leaves at `at`, nanoseconds since 1970, into what [`Session::open`] has written.
    #[inline]
    pub fn write(&self, packet: &mut [u8], number: u32, at: u64) {
        let layout = Layout::of(self.key.as_ref());
        put(packet, 0, &number.to_be_bytes());
        put(packet, layout.timestamp, &self.error.format.encode(at));
        if !self.parts.is_empty()
            && let Some(rest) = packet.get_mut(layout.length..)
        {
            // The first packet is number 0, and one number is left out behind it.
            tlv::count(rest, &self.parts, number.max(1));
        }
        if let Some(key) = &self.key {
            layout::seal(packet, key);
        }
    }

    /// Reads an answer that came at `near`, nanoseconds since 1970 by our clock: of all years that its times may be of,
    /// those next to this are meant.
    pub fn read(&self, answer: &[u8], near: u64) -> Result<Answer, Wrong> {
        let layout = Layout::of(self.key.as_ref());
        let shortest = if self.key.is_some() { layout.length } else { SHORTEST_ANSWER };
        // A reflector that knows no identifiers puts zeros there.
        let session = u16::from_be_bytes(take(answer, layout.session));
        if answer.len() < shortest || (session != self.session && session != 0) {
            return Err(Wrong::Foreign);
        }
        if self.key.as_ref().is_some_and(|key| !layout::is_sealed(answer, key)) {
            return Err(Wrong::Corrupt);
        }
        let error = layout::error(answer, layout.error);
        let time = |at| error.format.decode(take(answer, at), near).ok_or(Wrong::Corrupt);
        let [time_to_live] = take(answer, layout.time_to_live);
        Ok(Answer {
            number: u32::from_be_bytes(take(answer, layout.number)),
            own_number: u32::from_be_bytes(take(answer, 0)),
            received: time(layout.received)?,
            left: time(layout.timestamp)?,
            error,
            time_to_live: Some(time_to_live).filter(|left| *left > 0),
        })
    }

    /// Answers that it has read to the parts by which it was asked.
    pub fn told(&self, answer: &[u8], near: u64) -> Told {
        let layout = Layout::of(self.key.as_ref());
        let format = layout::error(answer, layout.error).format;
        tlv::read(answer.get(layout.length..).unwrap_or_default(), &self.parts, format, near)
    }

    /// The number in a packet of ours, or that of the packet that an answer says it answers; nothing of it is checked.
    pub fn number(&self, message: &[u8], is_answer: bool) -> u32 {
        let place = if is_answer { Layout::of(self.key.as_ref()).number } else { 0 };
        u32::from_be_bytes(take(message, place))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use measure::unit::Instant;
    use test_case::test_case;

    use super::*;
    use crate::stamp::reflector::{Arrival, Manner, Reflector};
    use crate::stamp::time::Format;

    const AT: u64 = 1_700_000_000_000_000_000;

    fn session(key: Option<&[u8]>, format: Format) -> Session {
        let error = ErrorEstimate::new(true, format, Some(1_000));
        Session { key: key.map(Key::new), session: 0xbeef, error, parts: Vec::new(), class: 0 }
    }

    fn reflected(session: &Session, packet: &[u8], counts: bool) -> Vec<u8> {
        let mut answer = packet.to_vec();
        let manner = Manner { key: session.key.clone(), counts, lengthens: false, per_second: NonZeroU32::MAX };
        let from = "[::1]:7".parse().unwrap();
        let arrival =
            Arrival { from, at: AT + 5_000, now: Instant(9), time_to_live: Some(64), to: None, service: None };
        let theirs = ErrorEstimate::new(false, Format::Ntp, None);
        Reflector::new(manner).answer(&mut answer, arrival, theirs, || AT + 7_000).unwrap();
        answer
    }

    #[test_case(None, Format::Ntp, 44; "plain")]
    #[test_case(None, Format::Ptp, 60; "by ptp, padded")]
    #[test_case(Some(b"0123456789abcdef"), Format::Ntp, 112; "sealed")]
    #[test_case(Some(b"0123456789abcdef"), Format::Ptp, 1_400; "sealed, by ptp, padded")]
    fn what_is_written_is_answered_and_the_answer_read(key: Option<&[u8]>, format: Format, length: usize) {
        let session = session(key, format);
        let mut packet = vec![7; length];
        session.open(&mut packet);
        session.write(&mut packet, 77, AT);
        assert_eq!(session.number(&packet, false), 77);
        let answer = reflected(&session, &packet, true);
        assert_eq!(session.number(&answer, true), 77);
        let expected = Answer {
            number: 77,
            own_number: 0,
            received: AT + 5_000,
            left: AT + 7_000,
            error: ErrorEstimate::new(false, format, None),
            time_to_live: Some(64),
        };
        assert_eq!(session.read(&answer, AT + 10_000), Ok(expected));
        assert_eq!(session.read(&reflected(&session, &packet, false), AT).unwrap().own_number, 77);
    }

    #[test]
    fn an_answer_of_twamp_light_is_read() {
        let session = session(None, Format::Ntp);
        let mut packet = [0; 44];
        session.open(&mut packet);
        session.write(&mut packet, 3, AT);
        let mut answer = reflected(&session, &packet, false);
        // Where STAMP has its identifier, it has zeros; and it ends with the TTL.
        answer[14..16].fill(0);
        assert_eq!(session.read(&answer[..41], AT).unwrap().number, 3);
        assert_eq!(
            session.read(&answer[..38], AT).map(|read| (read.received, read.time_to_live)),
            Ok((AT + 5_000, None))
        );
        assert_eq!(session.read(&answer[..37], AT), Err(Wrong::Foreign));
    }

    #[test]
    fn what_is_of_another_session_or_broken_is_told_apart() {
        let session = session(Some(b"0123456789abcdef"), Format::Ntp);
        let mut packet = [0; 112];
        session.open(&mut packet);
        session.write(&mut packet, 3, AT);
        let answer = reflected(&session, &packet, true);
        let other = Session { session: 1, ..session.clone() };
        assert_eq!(other.read(&answer, AT), Err(Wrong::Foreign));
        let mut forged = answer.clone();
        forged[33] ^= 1;
        assert_eq!(session.read(&forged, AT), Err(Wrong::Corrupt));
        assert_eq!(session.read(&answer[..111], AT), Err(Wrong::Foreign));
    }

    #[test]
    fn an_answer_without_a_time_is_corrupt() {
        let session = session(None, Format::Ptp);
        let mut packet = [0; 44];
        session.open(&mut packet);
        session.write(&mut packet, 3, AT);
        let mut answer = reflected(&session, &packet, true);
        answer[20..24].fill(0xff);
        assert_eq!(session.read(&answer, AT), Err(Wrong::Corrupt));
    }
}
