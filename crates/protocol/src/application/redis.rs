//! Redis and compatible programs (Valkey, KeyDB): `PING` with a number, which comes back (Redis documentation, RESP and PING).
//!
//! Without a login a server that wants one answers `-NOAUTH`: a whole way through its command loop all the same, and so an answer.

mod commands;

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken, line};

pub use self::commands::{CommandError, Commands};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["redis", "valkey"],
    over: Transport::Tcp,
    port: 6379,
    tls: None,
    asks: "PING, its number given back",
};
/// The same through TLS.
pub const SECURE: Protocol = Protocol { schemes: &["rediss"], tls: Some(""), ..PROTOCOL };

/// Digits of a number, hexadecimal.
const DIGITS: usize = 8;
const BEFORE: &[u8] = b"*2\r\n$4\r\nPING\r\n$8\r\n";
/// Longest line that is believed: an error says a sentence.
const LONGEST_LINE: usize = 4_096;

/// Errors that are told apart, by their first word or whole; the place is the kind, and that of all others is the last. `NOAUTH` alone is an answer.
const ERRORS: [&str; 12] = [
    "ERR",
    "NOAUTH",
    "NOPERM",
    "LOADING",
    "MASTERDOWN",
    "DENIED",
    "BUSY",
    "OOM",
    "MOVED",
    "CLUSTERDOWN",
    FULL,
    OTHER_ERROR,
];
/// The error of a server that serves as many connections as it may (`maxclients`).
const FULL: &str = "ERR max number of clients reached";
/// Errors behind which the server closes: a refusal of protected mode, and that of a full one.
const CLOSING: [&str; 2] = ["DENIED", FULL];
/// The name of those that are not told apart: no first word is written so.
const OTHER_ERROR: &str = "other error";
/// The kind of an answer.
const PONG: Kind = Kind(u16::MAX);

/// A client that pings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redis;

impl Redis {
    fn bulk(octets: &[u8], length: &[u8], head: usize) -> Taken {
        if length != b"8" {
            return Taken::unsound("the reply to PING has another length than what was sent with it");
        }
        let whole = head + DIGITS + 2;
        let Some(digits) = octets.get(head..whole) else { return Taken::MORE };
        let digits = digits.strip_suffix(b"\r\n").and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(number) => Taken::reply(whole, Reply { number: Some(number), ..Reply::answered(PONG) }),
            None => Taken::unsound("the reply to PING is not what was sent with it"),
        }
    }

    fn error(text: &[u8], octets: usize) -> Taken {
        let place = place(&ERRORS, text);
        let kind = Kind(place as u16);
        let closes = CLOSING.contains(&ERRORS[place]);
        let reply = if ERRORS[place] == "NOAUTH" { Reply::answered(kind) } else { Reply::refused(kind) };
        Taken::reply(octets, Reply { closes, ..reply })
    }
}

/// The place of an error among the `known` ones, of which the last stands for all others.
fn place(known: &[&str], error: &[u8]) -> usize {
    let word = error.split(|octet| *octet == b' ').next().unwrap_or_default();
    let of = |name: &[u8]| known.iter().position(|known| known.as_bytes() == name);
    of(error).or_else(|| of(word)).unwrap_or(known.len() - 1)
}

impl Speech for Redis {
    fn request(&self) -> Vec<u8> {
        [BEFORE, &[b'0'; DIGITS], b"\r\n"].concat()
    }

    #[inline]
    fn mark(&self, request: &mut [u8], number: u64) {
        let Some(place) = request.get_mut(BEFORE.len()..BEFORE.len() + DIGITS) else { return };
        for (shift, digit) in (0..DIGITS as u32).rev().zip(place) {
            *digit = b"0123456789abcdef"[(number >> (4 * shift)) as usize & 15];
        }
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        let (text, end) = match line(octets, LONGEST_LINE) {
            Ok(Some(line)) => line,
            Ok(None) if octets.first().is_some_and(|first| !b"$-+".contains(first)) => {
                return Taken::unsound("the reply is none of Redis");
            }
            Ok(None) => return Taken::MORE,
            Err(()) => return Taken::unsound("a line has no end"),
        };
        match text.split_first() {
            Some((b'$', length)) => Self::bulk(octets, length, end),
            Some((b'-', error)) => Self::error(error, end),
            Some((b'+', b"PONG")) => Taken::reply(end, Reply::answered(PONG)),
            _ => Taken { octets: 0, came: Came::Unsound("the reply is none of Redis") },
        }
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Cow::Borrowed(ERRORS.get(usize::from(kind.0)).copied().unwrap_or("PONG"))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::tests::alike;

    #[test]
    fn a_request_has_its_number_in_it() {
        let mut request = Redis.request();
        Redis.mark(&mut request, 0x1_2345_6789);
        assert_eq!(request, b"*2\r\n$4\r\nPING\r\n$8\r\n23456789\r\n");
    }

    fn answered(number: u32) -> Came {
        Came::Reply(Reply { number: Some(number), ..Reply::answered(PONG) })
    }

    // As redis-server 7.0.15 answers.
    #[test_case(b"$8\r\n00000001\r\n$8\r\n0000000a\r\n", &[answered(1), answered(10)]; "two")]
    #[test_case(b"+PONG\r\n", &[Came::Reply(Reply::answered(PONG))]; "without its number")]
    #[test_case(b"-NOAUTH Authentication required.\r\n", &[Came::Reply(Reply::answered(Kind(1)))]; "no login")]
    #[test_case(b"-LOADING Redis is loading the dataset in memory\r\n", &[Came::Reply(Reply::refused(Kind(3)))]; "loading")]
    #[test_case(b"-DENIED Redis is running in protected mode\r\n", &[Came::Reply(Reply { closes: true, ..Reply::refused(Kind(5)) })]; "denied")]
    #[test_case(b"-ERR max number of clients reached\r\n", &[Came::Reply(Reply { closes: true, ..Reply::refused(Kind(10)) })]; "full")]
    #[test_case(b"-ERR unknown command\r\n", &[Came::Reply(Reply::refused(Kind(0)))]; "a command that it does not know")]
    #[test_case(b"-WHAT is that\r\n", &[Came::Reply(Reply::refused(Kind(11)))]; "another error")]
    #[test_case(b"-MOVED 3999 127.0.0.1:6381\r\n", &[Came::Reply(Reply::refused(Kind(8)))]; "somewhere else")]
    #[test_case(b"$9\r\n00000001x\r\n", &[Came::Unsound("the reply to PING has another length than what was sent with it")]; "too long")]
    #[test_case(b"$8\r\n0000000g\r\n", &[Came::Unsound("the reply to PING is not what was sent with it")]; "no number")]
    #[test_case(b"HTTP/1.1 400 Bad Request\r\n", &[Came::Unsound("the reply is none of Redis")]; "another program")]
    fn replies_are_read(octets: &[u8], expected: &[Came]) {
        assert_eq!(alike(&Redis, octets), expected);
    }

    #[test]
    fn kinds_have_the_names_of_redis() {
        let names = [PONG, Kind(1), Kind(3), Kind(10), Kind(11)].map(|kind| Redis.kind(kind));
        assert_eq!(names, ["PONG", "NOAUTH", "LOADING", "ERR max number of clients reached", "other error"]);
    }
}
