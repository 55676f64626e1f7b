//! NATS: the server greets with `INFO`, and answers `PING` with `PONG` (NATS client protocol). It pings too, and drops a
//! client that does not answer.

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken, line};

/// Its row.
pub const PROTOCOL: Protocol =
    Protocol { schemes: &["nats"], over: Transport::Tcp, port: 4222, tls: None, asks: "PING" };

/// Longest line that is believed: `INFO` lists the servers of a cluster.
const LONGEST_LINE: usize = 32 << 10;
const PONG: Kind = Kind(0);
const ERROR: Kind = Kind(1);
const CONNECT: &[u8] = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"rust\",\"name\":\"sonde\"}\r\n";

/// A client that pings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nats {
    is_open: bool,
    answer: &'static [u8],
}

impl Speech for Nats {
    fn begin(&mut self) {
        *self = Self::default();
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn request(&self) -> Vec<u8> {
        b"PING\r\n".to_vec()
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        let (text, end) = match line(octets, LONGEST_LINE) {
            Ok(Some(line)) => line,
            Ok(None) => return Taken::MORE,
            Err(()) => return Taken::unsound("a line has no end"),
        };
        self.answer = b"";
        let word = text.split(|octet| *octet == b' ').next().unwrap_or_default();
        match (word, self.is_open) {
            (b"INFO", false) => {
                (self.is_open, self.answer) = (true, CONNECT);
                Taken { octets: end, came: Came::Opened }
            }
            (b"-ERR", false) => Taken::declined(end, text),
            (b"PONG", true) => Taken::reply(end, Reply::answered(PONG)),
            (b"PING", true) => {
                self.answer = b"PONG\r\n";
                Taken::aside(end)
            }
            // The servers of its cluster have changed; or an addition of a verbose server.
            (b"INFO" | b"+OK", true) => Taken::aside(end),
            // Behind an error the server closes.
            (b"-ERR", true) => Taken::reply(end, Reply { closes: true, ..Reply::refused(ERROR) }),
            _ => Taken::unsound("the reply is none of NATS"),
        }
    }

    fn answer(&self) -> &[u8] {
        self.answer
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Cow::Borrowed(if kind == PONG { "PONG" } else { "-ERR" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::speech::tests::alike;

    #[test]
    fn a_server_greets_pings_and_is_pinged() {
        // As nats-server 2.9.10 speaks, its INFO shortened.
        let came = alike(
            &Nats::default(),
            b"INFO {\"server_id\":\"N\",\"version\":\"2.9.10\"}\r\nPONG\r\nPING\r\nINFO {}\r\nPONG\r\n",
        );
        let pong = Came::Reply(Reply::answered(PONG));
        assert_eq!(came, [Came::Opened, pong.clone(), Came::Aside, Came::Aside, pong]);
        let mut nats = Nats::default();
        nats.take(b"INFO {}\r\n");
        assert_eq!((nats.is_open(), nats.answer()), (true, CONNECT));
        nats.take(b"PING\r\n");
        assert_eq!(nats.answer(), b"PONG\r\n");
        nats.take(b"PONG\r\n");
        assert_eq!(nats.answer(), b"");
        nats.begin();
        assert!(!nats.is_open());
    }

    #[test]
    fn a_server_that_lets_nobody_in_says_so() {
        let came = alike(&Nats::default(), b"-ERR 'maximum connections exceeded'\r\n");
        assert_eq!(came, [Taken::declined(0, b"-ERR 'maximum connections exceeded'").came]);
        let came = alike(&Nats::default(), b"INFO {}\r\n-ERR 'Authorization Violation'\r\n");
        assert_eq!(came, [Came::Opened, Came::Reply(Reply { closes: true, ..Reply::refused(ERROR) })]);
        assert_eq!(alike(&Nats::default(), b"SSH-2.0-x\r\n"), [Came::Unsound("the reply is none of NATS")]);
    }
}
