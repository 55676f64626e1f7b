//! NTP (RFC 5905): a client's packet whose transmit time is a number nobody foresees; the server gives it back as the time of origin.
//!
//! Our clock stays our own (the number hides it). A server that has had enough says so (a kiss of death, section 7.4): refused.

use std::borrow::Cow;
use std::sync::Arc;

use measure::reach::Transport;

use super::speech::{Kind, Protocol};
use super::tally::{Counted, Tally};
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["ntp"],
    over: Transport::Udp,
    port: 123,
    tls: None,
    asks: "the time, as a client of version 4",
};

/// Octets of a packet without extensions.
pub const LENGTH: usize = 48;
/// No leap second is known of, version 4, a client.
const CLIENT: u8 = 0b00_100_011;
const MODE: u8 = 0b111;
const SERVER: u8 = 4;
const ORIGIN: std::ops::Range<usize> = 24..32;
const TRANSMIT: std::ops::Range<usize> = 40..48;
const REFERENCE: std::ops::Range<usize> = 12..16;

/// Kisses of death that are told apart (section 7.4); the place is the kind, and 0 is an answer.
const KISSES: [&str; 6] = ["time", "RATE", "DENY", "RSTR", "INIT", "other kiss"];

/// A server that has no time to tell yet: the highest stratum, or the leap indicator of a clock that was never set (section 7.3).
const UNSYNCHRONISED: u16 = KISSES.len() as u16;
const NO_STRATUM: u8 = 16;
const NEVER_SET: u8 = 0b11;

/// Packets of a client.
#[derive(Clone, Debug)]
pub struct Ntp {
    /// Mixed into each number.
    key: u64,
    tally: Arc<Tally>,
    recorded: u64,
    counted: Counted,
}

impl Ntp {
    /// A client that counts in `tally`; its numbers are hidden by `key`, which is drawn by chance.
    pub fn new(key: u64, tally: Arc<Tally>) -> Self {
        Self { key, tally, recorded: 0, counted: Counted::default() }
    }

    /// Each number once, far from its neighbours (the finaliser of `SplitMix64`, which can be undone).
    #[inline]
    fn hidden(&self, number: u64) -> u64 {
        let mixed = number ^ self.key;
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    #[inline]
    fn number(&self, hidden: u64) -> u64 {
        let mixed = hidden ^ (hidden >> 31) ^ (hidden >> 62);
        let mixed = mixed.wrapping_mul(0x3196_42B2_D24D_8EC3);
        let mixed = mixed ^ (mixed >> 27) ^ (mixed >> 54);
        let mixed = mixed.wrapping_mul(0x96DE_1B17_3F11_9089);
        (mixed ^ (mixed >> 30) ^ (mixed >> 60)) ^ self.key
    }

    /// The name of a kind of reply.
    pub fn kind(kind: Kind) -> Cow<'static, str> {
        let name = if kind.0 == UNSYNCHRONISED { Some("not synchronised") } else { None };
        Cow::Borrowed(name.or(KISSES.get(usize::from(kind.0)).copied()).unwrap_or("other kiss"))
    }
}

impl Wire for Ntp {
    fn open(&mut self, message: &mut [u8]) {
        message.fill(0);
        if let Some(first) = message.first_mut() {
            *first = CLIENT;
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        let hidden = self.hidden(seq);
        if let Some(place) = message.get_mut(TRANSMIT) {
            place.copy_from_slice(&hidden.to_be_bytes());
        }
        self.counted.asked(seq);
        if flags.has(Flags::WARM_UP) {
            self.recorded = seq + 1;
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        let origin = reply.get(ORIGIN).and_then(|octets| octets.try_into().ok()).map(u64::from_be_bytes);
        let number = origin.map(|origin| self.number(origin));
        // A forger does not know the number: one that is far from those that are out is no number of ours.
        let near = |number: &u64| number.abs_diff(oldest) < 1 << 32;
        let (Some(number), [first, stratum, ..]) = (number.filter(near), reply) else { return Reading::Stray };
        if reply.len() < LENGTH || first & MODE != SERVER {
            return Reading::Stray;
        }
        let kiss = (*stratum == 0).then(|| {
            let place = KISSES.iter().position(|kiss| reply.get(REFERENCE) == Some(kiss.as_bytes()));
            place.unwrap_or(KISSES.len() - 1)
        });
        if number >= self.recorded && self.counted.first(number) {
            let unset = *stratum >= NO_STRATUM || first >> 6 == NEVER_SET;
            let kind = kiss.map_or(if unset { UNSYNCHRONISED } else { 0 }, |kiss| kiss as u16);
            self.tally.count(Kind(kind), kiss.is_none(), reply.len() as u64);
        }
        if kiss.is_none() { Reading::Reply(number) } else { Reading::Refused(number) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn client() -> (Ntp, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        (Ntp::new(0x1234_5678_9ABC_DEF0, Arc::clone(&tally)), tally)
    }

    fn asked(client: &mut Ntp, seq: u64) -> [u8; LENGTH] {
        let mut message = [9; LENGTH];
        client.open(&mut message);
        client.prepare(&mut message, seq, Flags::NONE);
        message
    }

    /// The reply of a server to `request`.
    fn answer(request: &[u8; LENGTH], stratum: u8, reference: [u8; 4]) -> [u8; LENGTH] {
        let mut reply = [0; LENGTH];
        (reply[0], reply[1]) = (0b00_100_100, stratum);
        reply[REFERENCE].copy_from_slice(&reference);
        reply[ORIGIN].copy_from_slice(&request[TRANSMIT]);
        reply
    }

    #[test]
    fn a_reply_gives_the_number_back() {
        let (mut client, tally) = client();
        let request = asked(&mut client, 3);
        assert_eq!((request[0], &request[1..40]), (0x23, &[0; 39][..]));
        assert_eq!(client.identify(&answer(&request, 2, *b"GPS\0"), 3), Reading::Reply(3));
        for kiss in [*b"RATE", *b"what"] {
            asked(&mut client, 3);
            assert_eq!(client.identify(&answer(&request, 0, kiss), 3), Reading::Refused(3));
        }
        let mut unset = answer(&request, 2, *b"INIT");
        unset[0] |= 0b1100_0000;
        for unset in [answer(&request, 16, *b"INIT"), unset] {
            asked(&mut client, 3);
            assert_eq!(client.identify(&unset, 3), Reading::Reply(3));
        }
        assert_eq!(client.identify(&request, 3), Reading::Stray, "no server's");
        assert_eq!(client.identify(&answer(&request, 2, *b"GPS\0")[..40], 3), Reading::Stray);
        assert_eq!(client.identify(&answer(&[0; LENGTH], 2, *b"GPS\0"), 3), Reading::Stray, "forged");
        let kinds: Vec<_> = tally.kinds().into_iter().map(|(kind, sound, _)| (Ntp::kind(kind), sound)).collect();
        let expected = [("time", true), ("RATE", false), ("other kiss", false), ("not synchronised", true)];
        assert_eq!(kinds, expected.map(|(name, sound)| (name.into(), sound)));
    }

    proptest! {
        #[test]
        fn numbers_are_found_again(number: u64, key: u64) {
            let client = Ntp::new(key, Arc::default());
            prop_assert_eq!(client.number(client.hidden(number)), number);
        }

        #[test]
        fn no_datagram_upsets_it(reply in prop::collection::vec(any::<u8>(), 0..100), oldest: u64) {
            client().0.identify(&reply, oldest);
        }
    }
}
