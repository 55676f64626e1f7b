//! QUIC: the negotiation of a version (RFC 9000 section 6), which a server answers without a connection, a key or a state.
//!
//! A packet with a long header and a version that there cannot be (section 15) is answered by the list of versions that
//! the server has (section 17.2.1). A server may leave a datagram of less than 1200 octets without an answer (section
//! 6.1), so each has as many. The result is the round trip to the part of the server that reads first packets, which
//! may be a balancer in front of it; a handshake takes longer.
//!
//! The two connection ids come back, each in the place of the other (RFC 8999 section 6). The source's is the number of the request, and the
//! destination's its SipHash-2-4 with a key that chance has made: nobody who does not see a request foresees it.

use std::borrow::Cow;
use std::hash::Hasher as _;
use std::sync::Arc;

use measure::reach::Transport;
use siphasher::sip::SipHasher24;

use super::speech::{Kind, Protocol};
use super::tally::{Counted, Tally};
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["quic"],
    over: Transport::Udp,
    port: 443,
    tls: None,
    asks: "the versions that are there, by one that is not: no connection is begun",
};

/// One request in words.
pub const WORDS: &str = "Version Negotiation";
/// Octets of a request: the least with which a connection is begun (section 14.1).
pub const LENGTH: usize = 1_200;
/// Longest datagram: of one that is cut versions would be missing.
pub const LONGEST_DATAGRAM: usize = 65_535;

/// A packet with a long header whose fixed bit is set, its version, which forces a negotiation, and the length of an id.
const BEGIN: [u8; 6] = [0xC0, 0x1A, 0x2A, 0x3A, 0x4A, ID as u8];
/// Octets of an id.
const ID: usize = 8;
const DESTINATION: std::ops::Range<usize> = 6..14;
const SOURCE: std::ops::Range<usize> = 15..23;

/// Families of versions by their names; the place is the bit of a kind. Drafts have their number in the last octet.
const FAMILIES: [&str; 4] = ["v1", "v2", "drafts", "others"];

/// Packets that make a server negotiate, and whose answer is whose.
#[derive(Clone, Debug)]
pub struct Quic {
    /// Whatever chance has made.
    draw: [u8; 16],
    tally: Arc<Tally>,
    /// The number of the first request that is recorded.
    recorded: u64,
    counted: Counted,
}

impl Quic {
    /// A client that counts in `tally`. Chance has made `draw`.
    pub fn new(draw: [u8; 16], tally: Arc<Tally>) -> Self {
        Self { draw, tally, recorded: 0, counted: Counted::default() }
    }

    /// The name of a kind of reply: the versions that the server has.
    pub fn kind(kind: Kind) -> Cow<'static, str> {
        let named = FAMILIES.iter().enumerate().filter(|(place, _)| kind.0 >> place & 1 == 1);
        let names: Vec<_> = named.map(|(_, name)| *name).collect();
        if names.is_empty() { Cow::Borrowed("no version") } else { Cow::Owned(names.join("+")) }
    }

    #[inline]
    fn destination(&self, number: u64) -> [u8; ID] {
        let mut hasher = SipHasher24::new_with_key(&self.draw);
        hasher.write_u64(number);
        hasher.finish().to_be_bytes()
    }
}

impl Wire for Quic {
    fn open(&mut self, message: &mut [u8]) {
        message.fill(0);
        if let Some((begin, rest)) = message.split_first_chunk_mut() {
            *begin = BEGIN;
            if let Some(length) = rest.get_mut(ID) {
                *length = ID as u8;
            }
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        if let Some(place) = message.get_mut(DESTINATION) {
            place.copy_from_slice(&self.destination(seq));
        }
        if let Some(place) = message.get_mut(SOURCE) {
            place.copy_from_slice(&seq.to_be_bytes());
        }
        self.counted.asked(seq);
        if flags.has(Flags::WARM_UP) {
            self.recorded = seq + 1;
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let Some((number, destination, versions)) = negotiation(reply) else { return Reading::Stray };
        if destination != self.destination(number) {
            return Reading::Stray;
        }
        let Some(kind) = families(versions) else { return Reading::Corrupt(Some(number)) };
        if number >= self.recorded && self.counted.first(number) {
            self.tally.count(kind, true, reply.len() as u64);
        }
        Reading::Reply(number)
    }
}

/// The number of the request, the id of its destination, and the list of versions, of a packet of negotiation (section 17.2.1). The
/// seven low bits of its first octet say nothing.
#[inline]
fn negotiation(packet: &[u8]) -> Option<(u64, [u8; ID], &[u8])> {
    let [first, 0, 0, 0, 0, rest @ ..] = packet else { return None };
    let (number, rest) = id(rest)?;
    let (destination, versions) = id(rest)?;
    (first & 0x80 != 0).then_some((u64::from_be_bytes(number), destination, versions))
}

/// Reads the id that `octets` begin with, and returns the rest too; one of another length is none of ours.
#[inline]
fn id(octets: &[u8]) -> Option<([u8; ID], &[u8])> {
    let (length, rest) = octets.split_first()?;
    let (id, rest) = rest.split_first_chunk()?;
    (usize::from(*length) == ID).then_some((*id, rest))
}

/// The families of a list of versions; `None` of a list that is empty or ends in the middle of one (RFC 8999 section 6).
#[inline]
fn families(versions: &[u8]) -> Option<Kind> {
    let (versions, rest) = versions.as_chunks();
    let kind = versions.iter().fold(0, |kind, version| kind | family(*version));
    (rest.is_empty() && !versions.is_empty()).then_some(Kind(kind))
}

/// The bit of a version's family. Those that only see to it that unknown ones are passed over (section 15) have none, and change
/// from reply to reply.
#[inline]
fn family(version: [u8; 4]) -> u16 {
    match version {
        [0, 0, 0, 1] => 1,
        // RFC 9369.
        [0x6B, 0x33, 0x43, 0xCF] => 1 << 1,
        [0xFF, 0, 0, _] => 1 << 2,
        _ if version.iter().all(|octet| octet & 0x0F == 0x0A) => 0,
        _ => 1 << 3,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    fn client() -> (Quic, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        (Quic::new([7; 16], Arc::clone(&tally)), tally)
    }

    fn asked(seq: u64) -> [u8; LENGTH] {
        let (mut client, _) = client();
        let mut message = [9; LENGTH];
        client.open(&mut message);
        client.prepare(&mut message, seq, Flags::NONE);
        message
    }

    /// The answer to `request`, with this list.
    fn answer(request: &[u8; LENGTH], versions: &[u8]) -> Vec<u8> {
        let ids = [&[8][..], &request[SOURCE], &[8], &request[DESTINATION]].concat();
        [&[0xA6, 0, 0, 0, 0][..], &ids, versions].concat()
    }

    /// As caddy 2.6.2 has it: v1, a number of a draft of v2, draft 29, and one that is none.
    const CADDY: &[u8] = b"\0\0\0\x01\x70\x9A\x50\xC4\xFF\0\0\x1D\xDA\x4A\x2A\xCA";

    #[test]
    fn a_request_is_as_the_standard_has_it() {
        let request = asked(5);
        assert_eq!(request[..DESTINATION.start], *b"\xC0\x1A\x2A\x3A\x4A\x08");
        assert_eq!(request[DESTINATION.end..SOURCE.end], *b"\x08\0\0\0\0\0\0\0\x05");
        assert_eq!(request[SOURCE.end..], [0; LENGTH - 23]);
        assert_ne!(request[DESTINATION], asked(6)[DESTINATION]);
        let (mut client, _) = client();
        client.open(&mut [0; 9]);
        client.prepare(&mut [0; 9], 1, Flags::NONE);
    }

    #[test]
    fn an_answer_gives_the_ids_back() {
        let (mut client, tally) = client();
        let request = asked(1 << 40);
        let sound = answer(&request, CADDY);
        assert_eq!((sound.len(), client.identify(&sound, 3)), (39, Reading::Reply(1 << 40)));
        for (versions, expected) in [
            (&CADDY[..15], Reading::Corrupt(Some(1 << 40))),
            (b"", Reading::Corrupt(Some(1 << 40))),
            (b"\0\0\0\x01\x6B\x33\x43\xCF", Reading::Reply(1 << 40)),
            (b"\x0A\x1A\x2A\xFA", Reading::Reply(1 << 40)),
        ] {
            client.prepare(&mut [], 1 << 40, Flags::NONE);
            assert_eq!(client.identify(&answer(&request, versions), 3), expected);
        }
        let kinds: Vec<_> = tally.kinds().into_iter().map(|(kind, sound, _)| (Quic::kind(kind), sound)).collect();
        assert_eq!(kinds, [("v1+drafts+others".into(), true), ("v1+v2".into(), true), ("no version".into(), true)]);
        client.prepare(&mut [], 1 << 40, Flags::WARM_UP);
        client.identify(&answer(&request, b"\0\0\0\x02"), 3);
        assert_eq!(tally.kinds().len(), 3, "what is not recorded is not counted");
    }

    #[test_case(0, 0x26; "a short header")]
    #[test_case(4, 1; "a packet of version 1")]
    #[test_case(5, 7; "a shorter id")]
    #[test_case(5, 255; "an id beyond the end")]
    #[test_case(13, 4; "the number of another")]
    #[test_case(14, 9; "a longer id")]
    #[test_case(22, 0; "the id of another")]
    fn a_packet_of_another_is_known(place: usize, octet: u8) {
        let mut packet = answer(&asked(5), CADDY);
        assert_eq!(client().0.identify(&packet, 5), Reading::Reply(5));
        assert_ne!(packet[place], octet);
        packet[place] = octet;
        assert_eq!(client().0.identify(&packet, 5), Reading::Stray);
        assert_eq!(client().0.identify(&asked(5), 5), Reading::Stray, "an echo");
        for end in 0..23 {
            assert_eq!(client().0.identify(&answer(&asked(5), CADDY)[..end], 5), Reading::Stray, "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_found_again(number: u64) {
            prop_assert_eq!(client().0.identify(&answer(&asked(number), CADDY), 0), Reading::Reply(number));
        }

        #[test]
        fn no_datagram_upsets_it(reply in prop::collection::vec(any::<u8>(), 0..100), oldest: u64) {
            client().0.identify(&reply, oldest);
            client().0.identify(&[b"\xC0\0\0\0\0\x08", &reply[..]].concat(), oldest);
        }
    }
}
