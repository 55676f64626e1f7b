//! memcached: `mn`, the meta no-op, which begins no work and is answered by `MN` (memcached's protocol.txt, since 1.6), or `version`, which
//! every version answers.

mod commands;

use std::borrow::Cow;

use measure::reach::Transport;

use super::speech::{Kind, Protocol, Reply, Speech, Taken, line};

pub use self::commands::{CommandError, Commands};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["memcached"],
    over: Transport::Tcp,
    port: 11211,
    tls: None,
    asks: "mn, a command that does nothing; memcached://HOST/version asks for the version",
};

/// Longest line that is believed.
const LONGEST_LINE: usize = 2_048;
const ANSWERED: Kind = Kind(0);
/// Refusals by their first word; the place is the kind.
const REFUSALS: [&str; 4] = ["", "ERROR", "CLIENT_ERROR", "SERVER_ERROR"];

/// A client of memcached, by its question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memcached {
    /// Nothing, to be answered.
    #[default]
    NoOperation,
    /// The version.
    Version,
}

impl Memcached {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NoOperation => ("mn", "MN"),
            Self::Version => ("version", "VERSION"),
        }
    }
}

impl Speech for Memcached {
    fn request(&self) -> Vec<u8> {
        format!("{}\r\n", self.words().0).into_bytes()
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        let (text, end) = match line(octets, LONGEST_LINE) {
            Ok(Some(line)) => line,
            Ok(None) => return Taken::MORE,
            Err(()) => return Taken::unsound("a line has no end"),
        };
        let word = text.split(|octet| *octet == b' ').next().unwrap_or_default();
        if word == self.words().1.as_bytes() {
            return Taken::reply(end, Reply::answered(ANSWERED));
        }
        match REFUSALS.iter().position(|known| !known.is_empty() && known.as_bytes() == word) {
            Some(place) => Taken::reply(end, Reply::refused(Kind(place as u16))),
            None => Taken::unsound("the reply is none of memcached"),
        }
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        let refusal = REFUSALS.get(usize::from(kind.0)).copied().filter(|word| !word.is_empty());
        Cow::Borrowed(refusal.unwrap_or(self.words().1))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    // As memcached 1.6.18 answers.
    #[test_case(Memcached::NoOperation, b"MN\r\nMN\r\n", &[Came::Reply(Reply::answered(Kind(0))), Came::Reply(Reply::answered(Kind(0)))]; "two")]
    #[test_case(Memcached::Version, b"VERSION 1.6.18\r\n", &[Came::Reply(Reply::answered(Kind(0)))]; "version")]
    #[test_case(Memcached::NoOperation, b"ERROR\r\n", &[Came::Reply(Reply::refused(Kind(1)))]; "before 1.6")]
    #[test_case(Memcached::NoOperation, b"SERVER_ERROR out of memory\r\n", &[Came::Reply(Reply::refused(Kind(3)))]; "in trouble")]
    #[test_case(Memcached::NoOperation, b"+PONG\r\n", &[Came::Unsound("the reply is none of memcached")]; "another program")]
    fn replies_are_read(asked: Memcached, octets: &[u8], expected: &[Came]) {
        assert_eq!(alike(&asked, octets), expected);
    }

    #[test]
    fn what_is_asked_and_what_it_is_called() {
        assert_eq!(Memcached::NoOperation.request(), b"mn\r\n");
        assert_eq!(Memcached::Version.request(), b"version\r\n");
        let names = [0, 1, 9].map(|kind| Memcached::NoOperation.kind(Kind(kind)));
        assert_eq!(names, ["MN", "ERROR", "MN"]);
    }
}
