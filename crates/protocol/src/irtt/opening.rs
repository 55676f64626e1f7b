//! A session's opening: the parameters that are asked for, those that the server grants, and the difference that ends it.
//!
//! A server says how often it answers by the interval that it grants: the shortest one is asked for, so that it says its own. It
//! answers five packets at once beyond that, and drops the rest, without a word and without counting them as received.

use super::key::Key;
use super::parameters::{COUNT, MONOTONIC, Parameters, RECEIVE, SEND, WALL};
use super::{CLOSE, OPEN, REPLY, VERSION, datagram, head};

/// Times of arrival and departure.
const BOTH_TIMES: i64 = RECEIVE | SEND;
/// Wall clock and monotonic clock.
const BOTH_CLOCKS: i64 = WALL | MONOTONIC;
/// The longest gap between packets: a server forgets a session that was silent for a minute unless it is told otherwise.
const LONGEST_GAP: u64 = 60_000_000_000;

/// A session that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The key, where datagrams are sealed.
    pub key: Option<Key>,
    /// Octets of each packet and of each reply.
    pub length: usize,
    /// Type of service that replies are to have.
    pub class: u8,
    /// Nanoseconds for which packets are sent, where that is known.
    pub duration: Option<u64>,
    /// Mean nanoseconds between two packets; absent: each as soon as the reply before it has come.
    pub gap: Option<u64>,
    /// True where packets leave evenly, or one after the reply to the other.
    pub is_even: bool,
}

/// A session that the server has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its name in every packet.
    pub token: u64,
    /// Shortest nanoseconds between packets that all are answered; absent: any.
    pub floor: Option<u64>,
    /// True where replies have the times of arrival and departure by both clocks.
    pub has_times: bool,
}

/// A server's reply to an opening, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The session's name in every packet.
    pub token: u64,
    /// True where the server closes the session with it.
    pub is_closed: bool,
    /// The parameters that it grants.
    pub parameters: Parameters,
}

/// The reason why a session is not opened as it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another version of the protocol.
    #[error("the server speaks version {0} of the irtt protocol, and only version {VERSION} is supported here")]
    Version(i64),
    /// It closes the session with the reply that opens it.
    #[error("the server closes the session at once")]
    Closed,
    /// A reply without a token, or with parameters that cannot be read.
    #[error("the server's reply cannot be read")]
    Garbled,
    /// It answers less often.
    #[error("the server answers one packet every {}", time(*.floor))]
    TooOften {
        /// The shortest interval, nanoseconds.
        floor: u64,
    },
    /// It answers less often than packets come together.
    #[error("the server answers one packet every {} and five at once, and drops the rest of larger groups", time(*.floor))]
    Uneven {
        /// The shortest interval, nanoseconds.
        floor: u64,
    },
    /// Packets are too far apart.
    #[error("a server forgets a session that is silent for {}", time(LONGEST_GAP))]
    TooRare,
    /// It serves a session for a shorter time.
    #[error("the server serves a session for at most {}", time(*.longest))]
    TooLong {
        /// The longest time, nanoseconds.
        longest: u64,
    },
    /// It takes shorter packets alone.
    #[error("the server accepts packets of at most {longest} bytes")]
    TooLarge {
        /// The most, octets.
        longest: u64,
    },
    /// It does not mark replies.
    #[error("the server does not mark its replies with a type of service")]
    Unmarked,
}

/// A time in words.
fn time(nanos: u64) -> String {
    measure::unit::Nanos(nanos).to_string()
}

/// The datagram that asks for a session of these parameters; where it `closes`, for the reply alone.
pub fn request(parameters: &Parameters, closes: bool, key: Option<&Key>) -> Vec<u8> {
    let flags = if closes { OPEN | CLOSE } else { OPEN };
    datagram(flags, &[&parameters.encode()], key)
}

/// Reads a datagram of a server; `None`: it is no reply to an opening, or it is sealed otherwise.
///
/// # Errors
/// One that cannot be read to its end.
pub fn reply(octets: &[u8], key: Option<&Key>) -> Option<Result<Reply, Refusal>> {
    let (flags, at) = head(octets, key)?;
    if flags & (OPEN | REPLY) != OPEN | REPLY {
        return None;
    }
    let Some((token, parameters)) = octets.get(at..).and_then(<[u8]>::split_first_chunk) else {
        return Some(Err(Refusal::Garbled));
    };
    let granted = Parameters::decode(parameters).map_err(|_| Refusal::Garbled);
    let (token, is_closed) = (u64::from_le_bytes(*token), flags & CLOSE != 0);
    Some(granted.map(|parameters| Reply { token, is_closed, parameters }))
}

impl Opening {
    /// The datagram that asks for it.
    pub fn request(&self) -> Vec<u8> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let parameters = Parameters {
            version: VERSION,
            // An hour where nobody knows: a server that ends the session says so in its replies.
            duration: self.duration.map_or(3_600_000_000_000, number).max(1),
            interval: 1,
            length: number(self.length as u64),
            stats: COUNT,
            stamp_at: BOTH_TIMES,
            clock: BOTH_CLOCKS,
            class: i64::from(self.class),
            fill: String::new(),
        };
        request(&parameters, false, self.key.as_ref())
    }

    /// Reads a datagram of the server; `None`: it is no reply to an opening, or it is sealed otherwise.
    ///
    /// # Errors
    /// A session that cannot be had as it is wanted.
    pub fn read(&self, octets: &[u8]) -> Option<Result<Granted, Refusal>> {
        reply(octets, self.key.as_ref()).map(|reply| reply.and_then(|reply| self.judged(&reply)))
    }

    fn judged(&self, reply: &Reply) -> Result<Granted, Refusal> {
        let Reply { token, is_closed: closed, parameters: ref granted } = *reply;
        let positive = |value: i64| u64::try_from(value).ok().filter(|value| *value > 0).ok_or(Refusal::Garbled);
        if granted.version != VERSION {
            return Err(Refusal::Version(granted.version));
        }
        if closed {
            return Err(Refusal::Closed);
        }
        let (interval, length) = (positive(granted.interval)?, positive(granted.length)?);
        let longest = positive(granted.duration)?;
        let floor = Some(interval).filter(|interval| *interval > 1);
        if token == 0 || length > self.length as u64 {
            return Err(Refusal::Garbled);
        }
        match (floor, self.gap) {
            (Some(floor), gap) if gap.is_none_or(|gap| gap < floor) => return Err(Refusal::TooOften { floor }),
            (Some(floor), _) if !self.is_even => return Err(Refusal::Uneven { floor }),
            (_, Some(LONGEST_GAP..)) => return Err(Refusal::TooRare),
            _ => {}
        }
        if length < self.length as u64 {
            return Err(Refusal::TooLarge { longest: length });
        }
        if self.duration.is_some_and(|duration| longest < duration) {
            return Err(Refusal::TooLong { longest });
        }
        if granted.class != i64::from(self.class) {
            return Err(Refusal::Unmarked);
        }
        let has_times = (granted.stamp_at, granted.clock) == (BOTH_TIMES, BOTH_CLOCKS);
        Ok(Granted { token, floor, has_times })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    const OPENING: Opening = Opening {
        key: None,
        length: 52,
        class: 0,
        duration: Some(5_000_000_000),
        gap: Some(20_000_000),
        is_even: true,
    };
    const ASKED: Parameters = Parameters {
        version: 1,
        duration: 5_000_000_000,
        interval: 1,
        length: 52,
        stats: 1,
        stamp_at: 3,
        clock: 3,
        class: 0,
        fill: String::new(),
    };

    /// A server's reply with these parameters.
    fn reply(granted: &Parameters, flags: u8, token: u64) -> Vec<u8> {
        datagram(flags, &[&token.to_le_bytes(), &granted.encode()], None)
    }

    #[test]
    fn a_request_is_what_a_server_reads() {
        let request = OPENING.request();
        assert_eq!(request[..4], [0x14, 0xa7, 0x5b, 1]);
        assert_eq!(Parameters::decode(&request[4..]), Ok(ASKED));
        // 5 s as a signed number of seven bits an octet: 10^10.
        assert_eq!(request[4..12], [1, 2, 2, 0x80, 0xc8, 0xaf, 0xa0, 0x25]);
        let sealed = Opening { key: Some(Key::new(b"secret")), ..OPENING }.request();
        assert_eq!((sealed[3], sealed.len()), (9, request.len() + 16));
    }

    #[test]
    fn a_session_has_the_name_that_the_server_gives_it() {
        let granted = Granted { token: 7, floor: None, has_times: true };
        assert_eq!(OPENING.read(&reply(&ASKED, 3, 7)), Some(Ok(granted)));
        let slower = Parameters { interval: 10_000_000, ..ASKED };
        assert_eq!(OPENING.read(&reply(&slower, 3, 7)), Some(Ok(Granted { floor: Some(10_000_000), ..granted })));
        let one_time = Parameters { stamp_at: 4, ..ASKED };
        assert_eq!(OPENING.read(&reply(&one_time, 3, 7)), Some(Ok(Granted { has_times: false, ..granted })));
    }

    #[test_case(&Parameters { version: 2, ..ASKED }, 7, 7, Refusal::Version(2); "another version, which closes")]
    #[test_case(&ASKED, 7, 7, Refusal::Closed; "closed")]
    #[test_case(&ASKED, 3, 0, Refusal::Garbled; "no token")]
    #[test_case(&Parameters { interval: -1, ..ASKED }, 3, 7, Refusal::Garbled; "an interval below zero")]
    #[test_case(&Parameters { length: 53, ..ASKED }, 3, 7, Refusal::Garbled; "longer than it was asked for")]
    #[test_case(&Parameters { interval: 20_000_001, ..ASKED }, 3, 7, Refusal::TooOften { floor: 20_000_001 }; "less often")]
    #[test_case(&Parameters { duration: 4_999_999_999, ..ASKED }, 3, 7, Refusal::TooLong { longest: 4_999_999_999 }; "not for so long")]
    #[test_case(&Parameters { length: 51, ..ASKED }, 3, 7, Refusal::TooLarge { longest: 51 }; "shorter")]
    #[test_case(&Parameters { class: 4, ..ASKED }, 3, 7, Refusal::Unmarked; "marked otherwise")]
    fn what_a_server_does_not_grant_is_refused(granted: &Parameters, flags: u8, token: u64, refusal: Refusal) {
        assert_eq!(OPENING.read(&reply(granted, flags, token)), Some(Err(refusal)));
        assert!(refusal.to_string().len() > 20);
    }

    #[test]
    fn how_often_packets_leave_has_to_be_what_a_server_answers() {
        let slower = reply(&Parameters { interval: 10_000_000, ..ASKED }, 3, 7);
        let read = |gap, is_even| Opening { gap, is_even, ..OPENING }.read(&slower).unwrap().map(|_| ());
        assert_eq!(read(None, true), Err(Refusal::TooOften { floor: 10_000_000 }));
        assert_eq!(read(Some(10_000_000), true), Ok(()));
        assert_eq!(read(Some(100_000_000), false), Err(Refusal::Uneven { floor: 10_000_000 }));
        assert_eq!(read(Some(60_000_000_000), true), Err(Refusal::TooRare));
        let any = |gap, is_even| Opening { gap, is_even, ..OPENING }.read(&reply(&ASKED, 3, 7)).unwrap().map(|_| ());
        assert_eq!((any(None, true), any(Some(1_000), false)), (Ok(()), Ok(())));
    }

    #[test_case(&[], None; "nothing")]
    #[test_case(&[0x14, 0xa7, 0x5b], None; "cut in the head")]
    #[test_case(&[0x14, 0xa7, 0x5c, 3, 7, 0, 0, 0, 0, 0, 0, 0], None; "another magic number")]
    #[test_case(&[0x14, 0xa7, 0x5b, 0x13, 7, 0, 0, 0, 0, 0, 0, 0], None; "flags that nobody knows")]
    #[test_case(&[0x14, 0xa7, 0x5b, 2, 7, 0, 0, 0, 0, 0, 0, 0], None; "no opening")]
    #[test_case(&[0x14, 0xa7, 0x5b, 1, 7, 0, 0, 0, 0, 0, 0, 0], None; "no reply")]
    #[test_case(&[0x14, 0xa7, 0x5b, 3, 7, 0, 0, 0], Some(Err(Refusal::Garbled)); "cut in the token")]
    #[test_case(&[0x14, 0xa7, 0x5b, 3, 7, 0, 0, 0, 0, 0, 0, 0, 1], Some(Err(Refusal::Garbled)); "cut in a parameter")]
    #[test_case(&[0x14, 0xa7, 0x5b, 3, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0x20, 1], Some(Err(Refusal::Garbled)); "cut in a text")]
    #[test_case(&[0x14, 0xa7, 0x5b, 3, 7, 0, 0, 0, 0, 0, 0, 0], Some(Err(Refusal::Version(0))); "without parameters")]
    fn what_is_no_reply_is_passed_over(octets: &[u8], read: Option<Result<Granted, Refusal>>) {
        assert_eq!(OPENING.read(octets), read);
    }

    proptest! {
        #[test]
        fn any_octets_are_read_without_a_fault(octets in prop::collection::vec(any::<u8>(), 0..80), sealed: bool) {
            let opening = Opening { key: sealed.then(|| Key::new(b"k")), ..OPENING };
            let behind = [&[0x14, 0xa7, 0x5b, 3][..], &octets].concat();
            for octets in [&octets, &behind] {
                if let Some(Ok(granted)) = opening.read(octets) {
                    prop_assert!(granted.token != 0 && granted.floor != Some(0));
                }
            }
        }
    }
}
