//! Commands of the user's to Redis, and where the reply to each ends (Redis serialization protocol, version 2). Replies come in order.

use std::borrow::Cow;

use super::super::speech::{Kind, Reply, Speech, Taken, line};
use super::{CLOSING, FULL, OTHER_ERROR, place};

/// Most words of a command.
const MOST_WORDS: usize = 1_024;
/// Longest line that is believed: a simple string or an error says a sentence.
const LONGEST_LINE: usize = 16 << 10;
/// The longest string that is believed, octets: that of the server's own limit (`proto-max-bulk-len`).
const LONGEST_STRING: u64 = 512 << 20;
/// Most values of an array that are believed.
const MOST_VALUES: u64 = 1 << 24;

/// Kinds of replies; errors by their first word follow.
const KINDS: [&str; 5] = ["OK", "integer", "string", "array", "nil"];
const STRING: usize = 2;
const NIL: usize = 4;
/// Errors that are told apart, and all others together; all are refusals.
const ERRORS: [&str; 17] = [
    "ERR",
    "NOAUTH",
    "NOPERM",
    "LOADING",
    "MASTERDOWN",
    "DENIED",
    "BUSY",
    "OOM",
    "WRONGTYPE",
    "MOVED",
    "ASK",
    "READONLY",
    "NOSCRIPT",
    "CLUSTERDOWN",
    "EXECABORT",
    FULL,
    OTHER_ERROR,
];

/// Commands behind which a connection answers no longer once for each request, or in another form.
const OTHER_FORM: [&str; 13] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
    "HELLO",
    "RESET",
    "QUIT",
    "SHUTDOWN",
];

/// The fault of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is none.
    #[error("a command needs at least one word, as in GET user:1")]
    Empty,
    /// More than anybody asks.
    #[error("the command has {0} words; the limit is {MOST_WORDS}")]
    Words(usize),
    /// A word is not ended.
    #[error("a quotation mark is not closed")]
    Quote,
    /// One that has no reply of its own, or changes the form of later ones.
    #[error("{0} does not get exactly one reply per request")]
    Form(String),
    /// A login is no request.
    #[error("{0} contains a password, which does not belong in a list of requests")]
    Secret(String),
}

/// A client of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    request: Vec<u8>,
    words: String,
    /// Values of the reply under way that are still to come; 0 before it begins.
    owed: u64,
    /// Octets of a string that are still to come.
    rest: u64,
    /// The kind of the reply under way.
    kind: usize,
}

impl Commands {
    /// A client that asks `text`, words as `redis-cli` reads them: those with spaces stand in quotes.
    ///
    /// # Errors
    /// A text that is no command, or one without a reply for each request.
    pub fn new(text: &str) -> Result<Self, CommandError> {
        let words = words(text)?;
        let name = words.first().map(|word| String::from_utf8_lossy(word).to_ascii_uppercase());
        let name = name.filter(|name| !name.is_empty()).ok_or(CommandError::Empty)?;
        if words.len() > MOST_WORDS {
            return Err(CommandError::Words(words.len()));
        }
        if name == "AUTH" {
            return Err(CommandError::Secret(name));
        }
        let replies = name == "CLIENT" && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"REPLY"));
        if replies || OTHER_FORM.contains(&name.as_str()) {
            return Err(CommandError::Form(if replies { "CLIENT REPLY".to_owned() } else { name }));
        }
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in &words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        Ok(Self { request, words: text.trim().to_owned(), owed: 0, rest: 0, kind: 0 })
    }

    /// The command as it was written.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// One value has come to its end, `octets` of it here.
    fn value(&mut self, octets: usize) -> Taken {
        self.owed = self.owed.saturating_sub(1);
        if self.owed > 0 {
            return Taken::part(octets);
        }
        let kind = Kind(self.kind as u16);
        let Some(error) = self.kind.checked_sub(KINDS.len()) else {
            return Taken::reply(octets, Reply::answered(kind));
        };
        Taken::reply(octets, Reply { closes: CLOSING.contains(&ERRORS[error]), ..Reply::refused(kind) })
    }

    /// Begins a value: one that is no part of another decides the kind of the reply.
    fn begins(&mut self, kind: usize) {
        if self.owed == 0 {
            (self.owed, self.kind) = (1, kind);
        }
    }

    fn string(&mut self, text: &[u8], octets: usize) -> Result<Taken, &'static str> {
        match number(text)? {
            None => {
                self.begins(NIL);
                Ok(self.value(octets))
            }
            Some(length) if length > LONGEST_STRING => Err("a string is longer than Redis has them"),
            Some(length) => {
                self.begins(STRING);
                self.rest = length + 2;
                Ok(Taken::part(octets))
            }
        }
    }

    fn array(&mut self, text: &[u8], octets: usize) -> Result<Taken, &'static str> {
        let count = number(text)?;
        self.begins(if count.is_none() { NIL } else { NIL - 1 });
        self.owed = self.owed.saturating_add(count.unwrap_or(0));
        if self.owed > MOST_VALUES {
            return Err("an array has more values than is believed");
        }
        Ok(self.value(octets))
    }

    fn read(&mut self, octets: &[u8]) -> Result<Taken, &'static str> {
        if self.rest > 0 {
            let part = octets.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
            self.rest -= part as u64;
            return Ok(if self.rest == 0 { self.value(part) } else { Taken::part(part) });
        }
        let (text, end) = match line(octets, LONGEST_LINE) {
            Ok(Some(line)) => line,
            Ok(None) if octets.first().is_some_and(|first| !b"$*-+:".contains(first)) => return Err(FOREIGN),
            Ok(None) => return Ok(Taken::MORE),
            Err(()) => return Err("a line has no end"),
        };
        match text.split_first() {
            Some((b'$', length)) => self.string(length, end),
            Some((b'*', count)) => self.array(count, end),
            Some((b'+', _)) => {
                self.begins(0);
                Ok(self.value(end))
            }
            Some((b':', digits)) if integer(digits) => {
                self.begins(1);
                Ok(self.value(end))
            }
            Some((b'-', error)) => {
                self.begins(KINDS.len() + place(&ERRORS, error));
                Ok(self.value(end))
            }
            _ => Err(FOREIGN),
        }
    }
}

const FOREIGN: &str = "the reply is none of Redis";

/// Parses a length; `None` is that of an absent value.
fn number(text: &[u8]) -> Result<Option<u64>, &'static str> {
    if text == b"-1" {
        return Ok(None);
    }
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|octet| octet.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).map(Some).ok_or(FOREIGN)
}

fn integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The words of a line: in double quotes with `\n`, `\r`, `\t`, `\"` and `\\`, in single ones as they are.
fn words(text: &str) -> Result<Vec<Vec<u8>>, CommandError> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<Vec<u8>>, None);
    let mut letters = text.chars();
    let mut buffer = [0; 4];
    while let Some(letter) = letters.next() {
        let mut put = |letter: char| word.get_or_insert_default().extend(letter.encode_utf8(&mut buffer).bytes());
        match (open, letter) {
            (None, '"' | '\'') => {
                word.get_or_insert_default();
                open = Some(letter);
            }
            (None, letter) if letter.is_ascii_whitespace() => words.extend(word.take()),
            (Some(quote), letter) if letter == quote => open = None,
            (Some('"'), '\\') => put(match letters.next().ok_or(CommandError::Quote)? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            }),
            _ => put(letter),
        }
    }
    words.extend(word);
    if open.is_some() { Err(CommandError::Quote) } else { Ok(words) }
}

impl Speech for Commands {
    fn begin(&mut self) {
        (self.owed, self.rest) = (0, 0);
    }

    fn request(&self) -> Vec<u8> {
        self.request.clone()
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        self.read(octets).unwrap_or_else(Taken::unsound)
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        let place = usize::from(kind.0);
        let name = KINDS.get(place).or_else(|| ERRORS.get(place - KINDS.len().min(place)));
        Cow::Borrowed(name.copied().unwrap_or(OTHER_ERROR))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    #[test_case("GET user:1", b"*2\r\n$3\r\nGET\r\n$6\r\nuser:1\r\n"; "plain")]
    #[test_case(" set  a \"b c\\n\\\"\" ", b"*3\r\n$3\r\nset\r\n$1\r\na\r\n$5\r\nb c\n\"\r\n"; "in quotes")]
    #[test_case("SET a ''", b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n"; "an empty word")]
    fn a_command_is_an_array_of_its_words(text: &str, octets: &[u8]) {
        assert_eq!(Commands::new(text).unwrap().request(), octets);
    }

    #[test_case("", &CommandError::Empty)]
    #[test_case("SET a 'b", &CommandError::Quote)]
    #[test_case("AUTH x", &CommandError::Secret("AUTH".into()))]
    #[test_case("subscribe news", &CommandError::Form("SUBSCRIBE".into()))]
    #[test_case("client reply off", &CommandError::Form("CLIENT REPLY".into()))]
    fn what_is_no_command(text: &str, expected: &CommandError) {
        assert_eq!(Commands::new(text).as_ref(), Err(expected));
    }

    fn told(octets: &[u8]) -> Vec<String> {
        let commands = Commands::new("GET a").unwrap();
        let told = alike(&commands, octets).into_iter().map(|came| match came {
            Came::Reply(reply) => {
                format!("{}{}", commands.kind(reply.kind), if reply.sound { "" } else { ", refused" })
            }
            other => format!("{other:?}"),
        });
        told.collect()
    }

    #[test_case(b"+OK\r\n:-7\r\n$3\r\nabc\r\n$0\r\n\r\n$-1\r\n", &["OK", "integer", "string", "string", "nil"]; "one by one")]
    #[test_case(b"*2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n+OK\r\n", &["array", "OK"]; "an array in an array")]
    #[test_case(b"*0\r\n*-1\r\n", &["array", "nil"]; "no values")]
    #[test_case(b"-ERR max number of clients reached\r\n", &["ERR max number of clients reached, refused"]; "full")]
    #[test_case(b"-WRONGTYPE Operation against a key\r\n-WHAT\r\n", &["WRONGTYPE, refused", "other error, refused"]; "errors")]
    #[test_case(b"*1\r\n-ERR in a transaction\r\n", &["array"]; "an error of a part")]
    #[test_case(b"$999999999999\r\n", &["Unsound(\"a string is longer than Redis has them\")"]; "too long")]
    #[test_case(b"*18446744073709551615\r\n", &["Unsound(\"an array has more values than is believed\")"]; "more values than are counted")]
    #[test_case(b"*99999999999999999999\r\n", &["Unsound(\"the reply is none of Redis\")"]; "too many")]
    #[test_case(b"*16777216\r\n*16777216\r\n", &["Unsound(\"an array has more values than is believed\")"]; "too many together")]
    #[test_case(b"HTTP/1.1 400\r\n", &["Unsound(\"the reply is none of Redis\")"]; "another program")]
    fn replies_are_read(octets: &[u8], expected: &[&str]) {
        assert_eq!(told(octets), expected);
    }
}
