//! Commands of the user's to memcached, in its text and meta forms, and where the reply to each ends (memcached's protocol.txt). Replies come
//! in order.

use std::borrow::Cow;

use super::super::speech::{Kind, Reply, Speech, Taken, line};

/// Longest line that is believed.
const LONGEST_LINE: usize = 2_048;
/// The longest value that is believed, octets: the largest `-I` of a server.
const LONGEST_VALUE: u64 = 1 << 30;

/// Commands that are known, and the place of the length among the words of one with a value behind it.
const COMMANDS: [(&str, Option<usize>); 19] = [
    ("get", None),
    ("gets", None),
    ("gat", None),
    ("gats", None),
    ("set", Some(4)),
    ("add", Some(4)),
    ("replace", Some(4)),
    ("append", Some(4)),
    ("prepend", Some(4)),
    ("cas", Some(4)),
    ("delete", None),
    ("incr", None),
    ("decr", None),
    ("touch", None),
    ("mg", None),
    ("ms", Some(2)),
    ("md", None),
    ("mn", None),
    ("version", None),
];

/// First words of replies that end with their line; the place is the kind.
const ANSWERS: [&str; 14] = [
    "END",
    "STORED",
    "NOT_STORED",
    "EXISTS",
    "NOT_FOUND",
    "DELETED",
    "TOUCHED",
    "VERSION",
    "HD",
    "EN",
    "NS",
    "EX",
    "NF",
    "MN",
];
/// Kinds that have other beginnings.
const VALUE: u16 = 100;
const NUMBER: u16 = 101;
/// Errors; the place above this is the kind.
const REFUSED: u16 = 200;
const REFUSALS: [&str; 3] = ["ERROR", "CLIENT_ERROR", "SERVER_ERROR"];

const FOREIGN: &str = "the reply is none of memcached";

/// The fault of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Its name is not known, or it has several lines.
    #[error("unsupported command {0:?}: use get, set, delete, incr, touch or a related one, or mg, ms, md or mn")]
    Unknown(String),
    /// One that is not always answered.
    #[error("{0} prevents the server from answering")]
    Silent(String),
    /// The value behind it has another length than the command says.
    #[error("the value has {found} octets, but word {place} of {name} is not {found}")]
    Length {
        /// The command.
        name: String,
        /// The word that has to say it, from 1.
        place: usize,
        /// Octets of the value.
        found: usize,
    },
    /// One that has no value.
    #[error("{0} does not take a value")]
    Value(String),
}

/// A client of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    request: Vec<u8>,
    words: String,
    /// Octets of a value that are still to come.
    rest: u64,
    /// Set where the reply under way ends with that value.
    ends: bool,
    /// Set once the reply under way has had a value.
    found: bool,
}

impl Commands {
    /// A client that asks `text`, with `value` behind it where the command has one.
    ///
    /// # Errors
    /// A text that is no command with one reply.
    pub fn new(text: &str, value: Option<&[u8]>) -> Result<Self, CommandError> {
        let text = text.trim();
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let name = words.first().copied().unwrap_or_default();
        let known = COMMANDS.iter().find(|(known, _)| *known == name).filter(|_| !text.contains(char::is_control));
        let (_, place) = known.ok_or_else(|| CommandError::Unknown(text.chars().take(40).collect()))?;
        let is_meta = name.len() == 2;
        if let Some(word) = words.iter().skip(1).find(|word| **word == "noreply" || is_meta && **word == "q") {
            return Err(CommandError::Silent((*word).to_owned()));
        }
        let mut request = format!("{text}\r\n").into_bytes();
        match (place, value) {
            (None, Some(_)) => return Err(CommandError::Value(name.to_owned())),
            (None, None) => {}
            (Some(place), value) => {
                let value = value.unwrap_or_default();
                if words.get(*place).and_then(|word| word.parse().ok()) != Some(value.len()) {
                    let (name, place, found) = (name.to_owned(), place + 1, value.len());
                    return Err(CommandError::Length { name, place, found });
                }
                request.extend_from_slice(value);
                request.extend_from_slice(b"\r\n");
            }
        }
        Ok(Self { request, words: text.to_owned(), rest: 0, ends: false, found: false })
    }

    /// The command as it was written.
    pub fn words(&self) -> &str {
        &self.words
    }

    fn ended(&mut self, octets: usize, kind: u16) -> Taken {
        (self.ends, self.found) = (false, false);
        let reply = if kind < REFUSED { Reply::answered(Kind(kind)) } else { Reply::refused(Kind(kind)) };
        Taken::reply(octets, reply)
    }

    /// A value of so many octets follows the line.
    fn value(&mut self, length: Option<&[u8]>, ends: bool, octets: usize) -> Taken {
        let length = length.and_then(|word| std::str::from_utf8(word).ok()).and_then(|word| word.parse().ok());
        match length.filter(|length: &u64| *length <= LONGEST_VALUE) {
            Some(length) => {
                (self.rest, self.ends, self.found) = (length + 2, ends, true);
                Taken::part(octets)
            }
            None => Taken::unsound("the length of a value is none"),
        }
    }
}

impl Speech for Commands {
    fn begin(&mut self) {
        (self.rest, self.ends, self.found) = (0, false, false);
    }

    fn request(&self) -> Vec<u8> {
        self.request.clone()
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        if self.rest > 0 {
            let part = octets.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
            self.rest -= part as u64;
            return if self.rest == 0 && self.ends { self.ended(part, VALUE) } else { Taken::part(part) };
        }
        let (text, end) = match line(octets, LONGEST_LINE) {
            Ok(Some(line)) => line,
            Ok(None) => return Taken::MORE,
            Err(()) => return Taken::unsound("a line has no end"),
        };
        let mut words = text.split(|octet| *octet == b' ');
        let word = words.next().unwrap_or_default();
        let place = |of: &[&str]| of.iter().position(|known| known.as_bytes() == word).map(|place| place as u16);
        match word {
            // The key and the flags stand before it.
            b"VALUE" => self.value(words.nth(2), false, end),
            b"VA" => self.value(words.next(), true, end),
            b"END" if self.found => self.ended(end, VALUE),
            _ => match (place(&ANSWERS), place(&REFUSALS)) {
                (Some(place), _) => self.ended(end, place),
                (None, Some(place)) => self.ended(end, REFUSED + place),
                (None, None) if !word.is_empty() && word.iter().all(u8::is_ascii_digit) => self.ended(end, NUMBER),
                (None, None) => Taken::unsound(FOREIGN),
            },
        }
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        let refusal = |place: u16| REFUSALS.get(usize::from(place)).copied().unwrap_or("ERROR");
        Cow::Borrowed(match kind.0 {
            VALUE => "VALUE",
            NUMBER => "number",
            kind if kind >= REFUSED => refusal(kind - REFUSED),
            kind => ANSWERS.get(usize::from(kind)).copied().unwrap_or("END"),
        })
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    #[test]
    fn a_command_has_its_value_behind_it() {
        let request = |text: &str, value: Option<&[u8]>| Commands::new(text, value).map(|client| client.request());
        assert_eq!(request("get a b", None).unwrap(), b"get a b\r\n");
        assert_eq!(request("set a 0 0 5", Some(b"hello")).unwrap(), b"set a 0 0 5\r\nhello\r\n");
        assert_eq!(request("ms a 0", None).unwrap(), b"ms a 0\r\n\r\n");
        let length = CommandError::Length { name: "set".into(), place: 5, found: 4 };
        assert_eq!(request("set a 0 0 5", Some(b"four")), Err(length));
        assert_eq!(request("get a", Some(b"x")), Err(CommandError::Value("get".into())));
        assert_eq!(request("set a 0 0 1 noreply", Some(b"x")), Err(CommandError::Silent("noreply".into())));
        assert_eq!(request("mg a v q", None), Err(CommandError::Silent("q".into())));
        assert_eq!(request("get q", None).unwrap(), b"get q\r\n", "a key may be called so");
        assert_eq!(request("shutdown", None), Err(CommandError::Unknown("shutdown".into())));
        assert_eq!(request("get a\r\nflush_all", None), Err(CommandError::Unknown("get a\r\nflush_all".into())));
    }

    // As memcached 1.6.18 answers.
    #[test_case(b"VALUE a 0 5\r\nhello\r\nEND\r\nEND\r\n", &["VALUE", "END"]; "found, and not")]
    #[test_case(b"VALUE a 0 5\r\nEND\r\n\r\nVALUE b 0 0 9\r\n\r\nEND\r\n", &["VALUE"]; "two, one with an end in it")]
    #[test_case(b"STORED\r\nNOT_FOUND\r\n12\r\nVERSION 1.6.18\r\n", &["STORED", "NOT_FOUND", "number", "VERSION"]; "lines")]
    #[test_case(b"VA 2 s2\r\nhi\r\nEN\r\nHD\r\n", &["VALUE", "EN", "HD"]; "meta")]
    #[test_case(b"SERVER_ERROR out of memory\r\nERROR\r\n", &["SERVER_ERROR, refused", "ERROR, refused"]; "refused")]
    #[test_case(b"VALUE a 0 99999999999\r\n", &["Unsound(\"the length of a value is none\")"]; "too long")]
    #[test_case(b"+PONG\r\n", &["Unsound(\"the reply is none of memcached\")"]; "another program")]
    fn replies_are_read(octets: &[u8], expected: &[&str]) {
        let client = Commands::new("get a", None).unwrap();
        let told = alike(&client, octets).into_iter().map(|came| match came {
            Came::Reply(reply) => format!("{}{}", client.kind(reply.kind), if reply.sound { "" } else { ", refused" }),
            other => format!("{other:?}"),
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
