//! A client's messages as an engine sees them.
//!
//! A real client ends its run where a reply has a number that it has not sent yet, or is longer than its own messages
//! (exit status 6), and where `--data-integrity` finds a difference (2): seen with sockperf 3.7 and 3.10. This one
//! tells the engine and goes on.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::native::header::Flags as Asked;
use crate::sockperf::count;
use crate::sockperf::message::{Flags, HEADER, Header};
use crate::sockperf::numbering::Numbering;
use crate::wire::{Reading, Wire};

/// Messages of one connection of a client.
///
/// It takes whole messages only: the length in a header is that of the slice it is written to, and a reply
/// whose header says another length than it has is corrupt. A reply may be shorter than its request.
#[derive(Clone, Debug)]
pub struct SockperfWire {
    numbering: Numbering,
    /// The connection's messages below this number were prepared.
    prepared: u64,
    /// Bytes of the connection's longest message.
    largest: usize,
    integrity: Option<Content>,
    /// Counters of messages that no sound server sends, and the interval of those that ask.
    tally: Option<(Arc<Tally>, Option<NonZeroU32>)>,
}

/// Counts of messages that no sound server sends, kept where the engine that owns the wire does not look. Those of a
/// client's connections add up in one.
#[derive(Debug, Default)]
pub struct Tally {
    unasked: AtomicU64,
    unknown: AtomicU64,
    too_long: AtomicU64,
    malformed: AtomicU64,
    different: AtomicU64,
}

/// Content of a [`Tally`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallied {
    /// Replies to messages that had asked for none.
    pub unasked: u64,
    /// Replies with a number that was not sent yet.
    pub unknown: u64,
    /// Replies longer than any message.
    pub too_long: u64,
    /// Replies that say another length than they have.
    pub malformed: u64,
    /// Replies that are not their request, where that is checked.
    pub different: u64,
}

impl Tally {
    /// Returns the counts so far.
    pub fn read(&self) -> Tallied {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Tallied {
            unasked: of(&self.unasked),
            unknown: of(&self.unknown),
            too_long: of(&self.too_long),
            malformed: of(&self.malformed),
            different: of(&self.different),
        }
    }
}

/// Content that every reply must carry.
#[derive(Clone, Debug, Default)]
struct Content {
    /// Payload behind the header, the same in every message as far as it goes.
    payload: Vec<u8>,
    /// Bytes of the latest message.
    latest: usize,
}

impl SockperfWire {
    /// Messages numbered by `numbering`.
    pub fn new(numbering: Numbering) -> Self {
        Self { numbering, prepared: 0, largest: usize::MAX, integrity: None, tally: None }
    }

    /// Counts in `tally` the messages that no sound server sends. Every `reply_every`th message of the client asks for
    /// a reply; absent: none does.
    #[must_use]
    pub fn with_tally(mut self, tally: Arc<Tally>, reply_every: Option<NonZeroU32>) -> Self {
        self.tally = Some((tally, reply_every));
        self
    }

    /// Takes no reply for sound that is not its request, but for the client's bit.
    #[must_use]
    pub fn with_integrity(mut self) -> Self {
        self.integrity = Some(Content::default());
        self
    }

    /// The numbers of this connection.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    #[cold]
    fn count(&self, which: fn(&Tally) -> &AtomicU64) {
        if let Some((tally, _)) = &self.tally {
            which(tally).fetch_add(1, Ordering::Relaxed);
        }
    }

    fn asked(&self, local: u64) -> bool {
        let asks = |every: &Option<NonZeroU32>| every.is_some_and(|every| self.numbering.asks(local, every));
        self.tally.as_ref().is_none_or(|(_, every)| asks(every))
    }

    /// Returns the counter for the fault of a reply to message `seq`; `None` where it is sound.
    fn flaw(&self, header: Header, reply: &[u8], seq: u64) -> Option<fn(&Tally) -> &AtomicU64> {
        if header.length as usize > self.largest || reply.len() > self.largest {
            return Some(|tally| &tally.too_long);
        }
        if header.length as usize != reply.len() {
            return Some(|tally| &tally.malformed);
        }
        let differs = self.integrity.as_ref().is_some_and(|content| !content.is_in(header, reply, seq, self.prepared));
        if differs { Some(|tally| &tally.different) } else { None }
    }
}

impl Wire for SockperfWire {
    /// [`Asked::SILENT`] asks for no answer; every other flag is a message as any, for there is no warm-up in unicast
    /// that would be answered.
    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Asked) {
        self.prepared = self.prepared.max(seq.saturating_add(1));
        if let Some(content) = &mut self.integrity {
            content.latest = message.len();
        }
        let wanted = if flags.has(Asked::SILENT) { Flags::NONE } else { Flags::PONG_REQUEST };
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let header = Header { sequence: self.numbering.global(seq), flags: Flags::CLIENT.with(wanted), length };
        header.write(message);
    }

    /// `message` is as long as the connection's messages get.
    fn open(&mut self, message: &mut [u8]) {
        self.largest = message.len();
        if let Some(content) = &mut self.integrity {
            content.payload = message.get(HEADER..).unwrap_or_default().to_vec();
        }
    }

    #[inline]
    fn answers(&self, request: &[u8], reply: &[u8]) -> bool {
        let (Some(asked), Some(told)) = (request.first_chunk::<HEADER>(), reply.first_chunk::<HEADER>()) else {
            return false;
        };
        let mut echo = *asked;
        echo[9] ^= 1;
        echo == *told
            && request.len() == reply.len()
            && (self.integrity.is_none() || request[HEADER..] == reply[HEADER..])
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let Some(header) = Header::read(reply) else { return Reading::Stray };
        if header.flags.has(Flags::CLIENT) || header.flags.has(Flags::WARMUP) {
            return Reading::Stray;
        }
        // Answers to the question for arrivals that come too late to be awaited are nobody's fault.
        if header.flags == count::TOLD || header.flags == count::ASKED {
            return Reading::Stray;
        }
        let Some(seq) = self.numbering.local(header.sequence) else { return Reading::Stray };
        if seq >= self.prepared {
            self.count(|tally| &tally.unknown);
            return Reading::Stray;
        }
        if let Some(flaw) = self.flaw(header, reply, seq) {
            self.count(flaw);
            return Reading::Corrupt(Some(seq));
        }
        if !self.asked(seq) {
            self.count(|tally| &tally.unasked);
        }
        Reading::Reply(seq)
    }

    /// Those whose number on the wire `reply_every` divides.
    #[inline]
    fn asks(&self, number: u64, reply_every: u32) -> bool {
        NonZeroU32::new(reply_every).is_some_and(|every| self.numbering.asks(number, every))
    }
}

impl Content {
    /// Returns true where `reply` is its request. The length of the request is known for the latest alone.
    fn is_in(&self, header: Header, reply: &[u8], seq: u64, prepared: u64) -> bool {
        header.flags == Flags::PONG_REQUEST
            && (seq + 1 < prepared || reply.len() == self.latest)
            && self.payload.get(..reply.len() - HEADER).is_some_and(|payload| *payload == reply[HEADER..])
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn second_of_two() -> SockperfWire {
        let two = NonZeroU32::new(2).expect("positive");
        SockperfWire::new(Numbering::new(1, two, NonZeroU32::MIN))
    }

    fn request(wire: &mut SockperfWire, seq: u64, length: usize, flags: Asked) -> Vec<u8> {
        let mut message: Vec<u8> = (0..=255).cycle().take(40).collect();
        wire.open(&mut message);
        message.truncate(length);
        wire.prepare(&mut message, seq, flags);
        message
    }

    fn answer_to(request: &[u8]) -> Vec<u8> {
        let mut reply = request.to_vec();
        crate::sockperf::message::answer(&mut reply);
        reply
    }

    fn with(message: &[u8], octet: usize, value: u8) -> Vec<u8> {
        let mut changed = message.to_vec();
        changed[octet] = value;
        changed
    }

    #[test]
    fn a_message_says_its_number_its_wish_and_its_length() {
        let mut wire = second_of_two();
        for (flags, said) in [(Asked::NONE, 3), (Asked::SILENT, 1), (Asked::WARM_UP, 3), (Asked::STAMPED, 3)] {
            let message = request(&mut wire, 4, 20, flags);
            assert_eq!(message[..HEADER], [0, 0, 0, 0, 0, 0, 0, 10, 0, said, 0, 0, 0, 20]);
            assert_eq!(message[HEADER..], [14, 15, 16, 17, 18, 19], "the payload stays");
        }
    }

    #[test]
    fn the_answer_is_told_by_a_comparison() {
        let mut wire = second_of_two();
        let request = request(&mut wire, 0, 20, Asked::NONE);
        let reply = answer_to(&request);
        assert!(wire.answers(&request, &reply));
        for octet in 0..HEADER {
            assert!(!wire.answers(&request, &with(&reply, octet, reply[octet] ^ 1)), "octet {octet}");
        }
        assert!(!wire.answers(&request, &reply[..19]));
        assert!(wire.answers(&request, &with(&reply, 19, 0)), "nobody looks at the payload");
        assert!(!wire.with_integrity().answers(&request, &with(&reply, 19, 0)));
    }

    #[test]
    fn a_late_answer_to_how_many_arrived_is_no_reply_and_no_fault() {
        let tally = Arc::new(Tally::default());
        let mut wire = second_of_two().with_tally(Arc::clone(&tally), None);
        request(&mut wire, 0, 20, Asked::NONE);
        let mut told = count::question(1 << 63);
        count::answer(&mut told, 1 << 63, 5);
        // As a flow sees it whose messages are short.
        for message in [&told[..], &told[..15], &count::question(1 << 63)] {
            assert_eq!(wire.identify(message, 0), Reading::Stray);
        }
        assert_eq!(tally.read(), Tallied::default());
    }

    #[test]
    fn a_reply_is_known_by_its_number_and_its_flags() {
        let mut wire = second_of_two();
        let first = answer_to(&request(&mut wire, 0, 20, Asked::NONE));
        let reply = answer_to(&request(&mut wire, 1, 20, Asked::NONE));
        assert_eq!(wire.identify(&reply, 0), Reading::Reply(1));
        assert_eq!(wire.identify(&first, 0), Reading::Reply(0), "late, or a second time");
        for (what, octet, value, reading) in [
            ("the other connection's", 7, 1, Reading::Stray),
            ("not sent yet", 7, 6, Reading::Stray),
            ("never sent", 7, 0, Reading::Stray),
            ("far beyond", 0, 0x80, Reading::Stray),
            ("a client's", 9, 3, Reading::Stray),
            ("a warm-up", 9, 4, Reading::Stray),
            ("without the wish", 9, 0, Reading::Reply(1)),
            ("with unknown flags", 8, 0xFF, Reading::Reply(1)),
            ("with another length", 13, 19, Reading::Corrupt(Some(1))),
        ] {
            assert_eq!(wire.identify(&with(&reply, octet, value), 0), reading, "{what}");
        }
        assert_eq!(wire.identify(&reply[..19], 0), Reading::Corrupt(Some(1)));
        assert_eq!(wire.identify(&reply[..13], 0), Reading::Stray);
        assert_eq!(wire.identify(&with(&reply[..HEADER], 13, 14), 0), Reading::Reply(1), "a header alone will do");
        let mut longer = with(&reply, 13, 41);
        longer.resize(41, 0);
        assert_eq!(wire.identify(&longer, 0), Reading::Corrupt(Some(1)), "longer than any request");
    }

    #[test]
    fn every_nth_number_on_the_wire_asks() {
        let wire = second_of_two();
        let asking = |every| (0..6).filter(|number| wire.asks(*number, every)).collect::<Vec<_>>();
        // 2, 4, 6, 8, 10, 12.
        assert_eq!((asking(1), asking(3), asking(4), asking(0)), ((0..6).collect(), vec![2, 5], vec![1, 3, 5], vec![]));
    }

    #[test]
    fn what_no_sound_server_sends_is_counted_by_its_kind() {
        let tally = Arc::new(Tally::default());
        let mut wire =
            SockperfWire::new(Numbering::ONLY).with_integrity().with_tally(tally.clone(), NonZeroU32::new(2));
        let silent = answer_to(&request(&mut wire, 0, 20, Asked::SILENT));
        let reply = answer_to(&request(&mut wire, 1, 20, Asked::NONE));
        assert_eq!(wire.identify(&reply, 0), Reading::Reply(1));
        assert_eq!(tally.read(), Tallied::default());
        assert_eq!(wire.identify(&with(&silent, 9, 2), 0), Reading::Reply(0), "nobody is told, so it is nobody's");
        for (octet, value) in [(7, 3), (12, 1), (13, 19), (19, 0)] {
            wire.identify(&with(&reply, octet, value), 0);
        }
        let one_each = Tallied { unasked: 1, unknown: 1, too_long: 1, malformed: 1, different: 1 };
        assert_eq!(tally.read(), one_each);
    }

    #[test]
    fn with_integrity_the_reply_is_the_request() {
        let mut wire = second_of_two().with_integrity();
        let first = answer_to(&request(&mut wire, 0, 24, Asked::NONE));
        let reply = answer_to(&request(&mut wire, 1, 20, Asked::NONE));
        assert_eq!(wire.identify(&reply, 0), Reading::Reply(1));
        assert_eq!(wire.identify(&first, 0), Reading::Reply(0), "of another length");
        for octet in [8, 19] {
            let wrong = with(&reply, octet, reply[octet] ^ 0x10);
            assert_eq!(wire.identify(&wrong, 0), Reading::Corrupt(Some(1)), "octet {octet}");
        }
        assert_eq!(wire.identify(&with(&reply, 9, 0), 0), Reading::Corrupt(Some(1)), "the wish is gone");
        assert_eq!(wire.identify(&with(&reply[..HEADER], 13, 14), 0), Reading::Corrupt(Some(1)), "a header alone");
    }
}
