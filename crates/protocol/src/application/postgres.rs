//! PostgreSQL (protocol 3.0, "Message Flow" and "Message Formats" of its documentation): a session is opened, and `Sync` is answered by
//! `ReadyForQuery`: the way through the backend without a statement.
//!
//! A server that asks for a password is given a proof that we know it (SCRAM-SHA-256), and has to prove that it does; one that wants to have it in clear or as
//! MD5 is not. TLS is asked for by a message of its own (`SSLRequest`), in clear: one octet says whether it begins.

mod scram;

use std::borrow::Cow;

use measure::reach::Transport;

use self::scram::Scram;
use super::login::Login;
use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["postgres", "postgresql"],
    over: Transport::Tcp,
    port: 5432,
    tls: None,
    asks: "Sync, which runs no statement, in a session; postgres://USER@HOST/DATABASE",
};

/// The same within TLS, which it is asked for in clear.
pub const SECURE: Protocol =
    Protocol { schemes: &["postgres+tls", "postgresql+tls"], tls: Some(""), asks: "the same within TLS", ..PROTOCOL };

/// Asks for TLS; one octet comes back, before any session.
pub const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F];

/// Version 3.0.
const VERSION: u32 = 196_608;
const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];
/// Longest row that is believed: a field has at most 1 GiB ("Limits" of the documentation).
const LONGEST_ROW: usize = (1 << 30) + (64 << 10);
/// Longest of the other messages, octets; those that come here are settings and errors.
const LONGEST: usize = 64 << 10;
const FOREIGN: &str = "the reply is none of PostgreSQL";
const READY: Kind = Kind(0);
const ERROR: Kind = Kind(1);

/// The fault of a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// An empty one, or one with a zero in it.
    #[error("a query needs at least one word and must not contain a zero octet")]
    Text,
    /// Answered by a stream of data.
    #[error("COPY is not supported: it is answered by a stream of data, or waits for one")]
    Copy,
}

/// Answer to the request for TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Veil {
    /// TLS begins, or was not asked for.
    Settled,
    /// None has come as yet: all goes in clear.
    Asked,
    /// There is no TLS.
    Lacking,
}

/// A client that synchronises, or asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    login: Login,
    /// The query; absent where `Sync` is sent.
    query: Option<String>,
    /// Octets of a message that are still to come.
    rest: u64,
    /// Set once the query under way has failed.
    failed: bool,
    scram: Option<Scram>,
    /// Whatever chance has made, for the proof.
    draw: [u8; 16],
    /// Sessions that were begun.
    begun: u64,
    is_open: bool,
    veil: Veil,
    /// True where every session goes through TLS.
    within_tls: bool,
    answer: Vec<u8>,
}

impl Postgres {
    /// A client that is let in by `login`. Chance has made `draw`.
    pub fn new(login: Login, draw: [u8; 16]) -> Self {
        Self {
            login,
            query: None,
            rest: 0,
            failed: false,
            scram: None,
            draw,
            begun: 0,
            is_open: false,
            veil: Veil::Settled,
            within_tls: false,
            answer: Vec::new(),
        }
    }

    /// The same within TLS.
    #[must_use]
    pub fn within_tls(self) -> Self {
        Self { within_tls: true, veil: Veil::Asked, ..self }
    }

    /// The same that asks `query` (the simple query, "Simple Query" of the documentation) instead of nothing.
    ///
    /// # Errors
    /// A text that has no place in a message, or that is answered in another form.
    pub fn asking(self, query: &str) -> Result<Self, QueryError> {
        if query.trim().is_empty() || query.contains('\0') {
            return Err(QueryError::Text);
        }
        let word: String = query.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
        if word.eq_ignore_ascii_case("copy") {
            return Err(QueryError::Copy);
        }
        Ok(Self { query: Some(query.to_owned()), ..self })
    }

    /// One request in words.
    pub fn words(&self) -> &str {
        self.query.as_deref().unwrap_or("Sync")
    }

    /// The same with a draw of its own.
    #[must_use]
    pub fn drawn(self, draw: [u8; 16]) -> Self {
        Self { draw, ..self }
    }

    /// Answers a demand for a login.
    fn authenticate(&mut self, body: &[u8]) -> Result<(), &'static str> {
        let Some((code, rest)) = body.split_first_chunk() else { return Err("asks for a password in no known way") };
        match u32::from_be_bytes(*code) {
            0 if self.scram.as_ref().is_none_or(Scram::is_proved) => Ok(()),
            0 => Err("does not prove that it knows the password"),
            3 => Err("wants the password in clear, which is not told"),
            5 => Err("wants the password as MD5, which is not told"),
            10 => {
                let password = self.login.password.as_ref().ok_or("wants a password")?;
                if !rest.split(|octet| *octet == 0).any(|name| name == scram::MECHANISM.as_bytes()) {
                    return Err("knows no way to prove a password that is known here (SCRAM-SHA-256)");
                }
                let scram = Scram::new(password.clone(), self.draw, self.begun);
                let first = scram.first();
                let mut body = [scram::MECHANISM.as_bytes(), &[0]].concat();
                body.extend_from_slice(&(first.len() as u32).to_be_bytes());
                body.extend_from_slice(&first);
                self.answer = message(b'p', &body);
                self.scram = Some(scram);
                Ok(())
            }
            11 => {
                let scram = self.scram.as_mut().ok_or("asks for a proof that it did not begin")?;
                self.answer = message(b'p', &scram.prove(rest)?);
                Ok(())
            }
            12 => self.scram.as_mut().ok_or("proves what was not asked")?.verify(rest),
            _ => Err("wants a password in a way that is not known here"),
        }
    }

    /// The message that begins a session.
    fn startup(&self) -> Vec<u8> {
        let Login { user, database, .. } = &self.login;
        let mut body = VERSION.to_be_bytes().to_vec();
        let database = database.as_deref().unwrap_or(user);
        for word in ["user", user, "database", database, "application_name", "sonde"] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
        body.push(0);
        let length = body.len() as u32 + 4;
        [&length.to_be_bytes()[..], &body].concat()
    }

    /// A message of the reply to a query.
    fn replying(&mut self, kind: u8, octets: &[u8], length: usize) -> Taken {
        let whole = length + 1;
        match kind {
            // The content of a row is counted and forgotten.
            b'T' | b'D' | b'C' | b'I' => {
                let part = octets.len().min(whole);
                self.rest = (whole - part) as u64;
                Taken::part(part)
            }
            b'G' | b'H' | b'W' => Taken::unsound("a COPY is no query with a reply"),
            _ => Taken::unsound(FOREIGN),
        }
    }

    fn opening(&mut self, kind: u8, body: &[u8], octets: usize) -> Taken {
        match kind {
            b'R' => match self.authenticate(body) {
                Ok(()) if self.answer.is_empty() => Taken::part(octets),
                Ok(()) => Taken::aside(octets),
                Err(why) => Taken::declined(octets, why.as_bytes()),
            },
            b'E' => Taken::declined(octets, words(body)),
            b'Z' => {
                self.is_open = true;
                Taken { octets, came: Came::Opened }
            }
            // Settings, the key to cancel by, notices, another version.
            b'S' | b'K' | b'N' | b'v' => Taken::part(octets),
            _ => Taken::unsound(FOREIGN),
        }
    }
}

/// True of an error behind which the server closes: its field `V` or `S`.
fn ends_session(body: &[u8]) -> bool {
    let mut fields = body.split(|octet| *octet == 0);
    let severity = fields.find_map(|field| field.strip_prefix(b"V").or_else(|| field.strip_prefix(b"S")));
    severity.is_some_and(|word| matches!(word, b"FATAL" | b"PANIC"))
}

/// The words of an error for people: its field `M`.
fn words(body: &[u8]) -> &[u8] {
    let mut fields = body.split(|octet| *octet == 0);
    fields.find_map(|field| field.strip_prefix(b"M")).unwrap_or(b"an error without words")
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u32 + 4;
    [&[kind], &length.to_be_bytes()[..], body].concat()
}

impl Speech for Postgres {
    fn opening(&self) -> Cow<'static, [u8]> {
        if self.within_tls { Cow::Borrowed(&SSL_REQUEST) } else { Cow::Owned(self.startup()) }
    }

    fn asks_for_tls(&self) -> bool {
        self.within_tls
    }

    fn lacks_tls(&self) -> bool {
        self.veil == Veil::Lacking
    }

    fn secured(&self) -> Cow<'static, [u8]> {
        Cow::Owned(self.startup())
    }

    fn begin(&mut self) {
        self.begun += 1;
        (self.rest, self.failed) = (0, false);
        (self.scram, self.is_open) = (None, false);
        self.veil = if self.within_tls { Veil::Asked } else { Veil::Settled };
        self.answer.clear();
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn request(&self) -> Vec<u8> {
        self.query.as_ref().map_or_else(|| SYNC.to_vec(), |query| message(b'Q', &[query.as_bytes(), &[0]].concat()))
    }

    fn farewell(&self) -> Cow<'static, [u8]> {
        // Before TLS a server waits for its handshake, and nothing else.
        Cow::Borrowed(if self.veil == Veil::Settled { &TERMINATE } else { &[] })
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        if let (Veil::Asked, Some(word)) = (self.veil, octets.first()) {
            match word {
                b'S' => {
                    self.veil = Veil::Settled;
                    return Taken { octets: 1, came: Came::Secure };
                }
                b'N' => {
                    self.veil = Veil::Lacking;
                    return Taken::declined(1, b"offers no TLS (`ssl` is off there)");
                }
                // An error, as another message has it.
                b'E' => {}
                _ => return Taken::unsound(FOREIGN),
            }
        }
        if self.rest > 0 {
            let part = octets.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
            self.rest -= part as u64;
            return Taken::part(part);
        }
        let asks = self.is_open && self.query.is_some();
        let [kind, a, b, c, d, rest @ ..] = octets else {
            // Other programs are told by their first octet.
            return match octets {
                [b'R' | b'E' | b'Z' | b'S' | b'K' | b'N' | b'v' | b'A', ..] => Taken::MORE,
                [b'T' | b'D' | b'C' | b'I' | b'G' | b'H' | b'W', ..] if asks => Taken::MORE,
                _ => Taken::unsound(FOREIGN),
            };
        };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if asks && b"TDCIGHW".contains(kind) && (4..=LONGEST_ROW).contains(&length) {
            return self.replying(*kind, octets, length);
        }
        if !b"REZSKNvA".contains(kind) || !(4..=LONGEST).contains(&length) {
            return Taken::unsound(FOREIGN);
        }
        let Some(body) = rest.get(..length - 4) else { return Taken::MORE };
        let taken = length + 1;
        self.answer.clear();
        match (self.is_open, kind) {
            (false, kind) => self.opening(*kind, body, taken),
            (true, b'Z') if self.failed => {
                self.failed = false;
                Taken::reply(taken, Reply::refused(ERROR))
            }
            (true, b'Z') => Taken::reply(taken, Reply::answered(READY)),
            (true, b'E') if asks && !ends_session(body) => {
                self.failed = true;
                Taken::part(taken)
            }
            // A session that is ended says why.
            (true, b'E') => Taken::reply(taken, Reply { closes: true, ..Reply::refused(ERROR) }),
            (true, b'S' | b'N' | b'A') => Taken::aside(taken),
            _ => Taken::unsound(FOREIGN),
        }
    }

    fn answer(&self) -> &[u8] {
        &self.answer
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Cow::Borrowed(if kind == READY { "ReadyForQuery" } else { "ErrorResponse" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::login::Password;
    use crate::application::speech::tests::{alike, hear};

    fn client(password: Option<&str>) -> Postgres {
        let password = password.map(|word| Password::new(word.to_owned()));
        Postgres::new(Login { user: "me".into(), database: None, password }, [7; 16])
    }

    fn ready() -> Came {
        Came::Reply(Reply::answered(READY))
    }

    #[test]
    fn a_session_that_asks_for_nothing_is_opened() {
        let opening = client(None).opening();
        assert_eq!(&opening[..], b"\0\0\0\x34\0\x03\0\0user\0me\0database\0me\0application_name\0sonde\0\0");
        let mut octets = message(b'R', &[0; 4]);
        octets.extend(message(b'S', b"server_version\x0015.18\0"));
        octets.extend(message(b'K', &[1; 8]));
        for _ in 0..3 {
            octets.extend(message(b'Z', b"I"));
        }
        octets.extend(message(b'N', b"SNOTICE\0\0"));
        octets.extend(message(b'E', b"SFATAL\0C57P01\0Mterminating connection\0\0"));
        let ended = Came::Reply(Reply { closes: true, ..Reply::refused(ERROR) });
        assert_eq!(alike(&client(None), &octets), [Came::Opened, ready(), ready(), Came::Aside, ended]);
    }

    #[test]
    fn a_server_that_does_not_let_us_in_says_why() {
        let declined = |octets: Vec<u8>, password| match &alike(&client(password), &octets)[..] {
            [Came::Declined(words)] => words.to_string(),
            other => panic!("{other:?}"),
        };
        let sasl = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        assert_eq!(declined(sasl, None), "wants a password");
        assert_eq!(declined(message(b'R', &[0, 0, 0, 3]), Some("x")), "wants the password in clear, which is not told");
        assert_eq!(
            declined(message(b'E', b"SFATAL\0Mrole \"me\" does not exist\0\0"), None),
            "role \"me\" does not exist"
        );
        let other = message(b'R', b"\0\0\0\x0aOTHER\0\0");
        assert!(declined(other, Some("x")).contains("SCRAM-SHA-256"));
    }

    #[test]
    fn a_server_that_proves_nothing_is_no_server_of_ours() {
        let octets = [message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"), message(b'R', &[0; 4])].concat();
        let came = alike(&client(Some("x")), &octets);
        assert_eq!(came[1], Taken::declined(0, b"does not prove that it knows the password").came);
    }

    #[test]
    fn tls_is_asked_for_before_anything_is_told() {
        let client = client(None).within_tls();
        assert_eq!(client.opening(), &SSL_REQUEST[..]);
        let mut octets = b"S".to_vec();
        octets.extend(message(b'R', &[0; 4]));
        octets.extend(message(b'Z', b"I"));
        assert_eq!(alike(&client, &octets), [Came::Secure, Came::Opened]);
        assert!(client.secured().ends_with(b"sonde\0\0"));
        let declined = alike(&client, b"N");
        assert_eq!(declined, [Taken::declined(0, b"offers no TLS (`ssl` is off there)").came]);
        assert_eq!(alike(&client, b"HTTP"), [Came::Unsound(FOREIGN)]);
    }

    #[test]
    fn a_query_ends_where_the_server_is_ready_again() {
        let client = client(None);
        let mut asking = client.clone().asking("SELECT 1").unwrap();
        assert_eq!(asking.request(), b"Q\0\0\0\x0dSELECT 1\0");
        asking.take(&message(b'Z', b"I"));
        let mut octets =
            [message(b'T', &[0; 30]), message(b'D', &vec![b'Z'; 70_000]), message(b'C', b"SELECT 1\0")].concat();
        octets.extend(message(b'Z', b"I"));
        octets.extend(message(b'E', b"SERROR\0VERROR\0C42P01\0Mrelation does not exist\0\0"));
        octets.extend(message(b'Z', b"I"));
        octets.extend(message(b'I', b""));
        octets.extend(message(b'Z', b"I"));
        octets.extend(message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating\0\0"));
        let refused = Came::Reply(Reply::refused(ERROR));
        let ended = Came::Reply(Reply { closes: true, ..Reply::refused(ERROR) });
        for every in [usize::MAX, 1, 7, 4_096] {
            let came = hear(&mut asking.clone(), &octets, |end| end.is_multiple_of(every));
            assert_eq!(came, [ready(), refused.clone(), ready(), ended.clone()]);
        }
        assert_eq!(alike(&asking, &message(b'G', b"\0\0\0")), [Came::Unsound("a COPY is no query with a reply")]);
        assert_eq!(client.clone().asking(" copy t from stdin"), Err(QueryError::Copy));
        assert_eq!(client.asking("  "), Err(QueryError::Text));
    }

    #[test]
    fn other_programs_are_told_by_their_first_octets() {
        for octets in [&b"HTTP/1.1 400"[..], b"S\0\0\0\x03", b"E\xff\xff\xff\xff", b"$8\r\n"] {
            assert_eq!(alike(&client(None), octets), [Came::Unsound(FOREIGN)]);
        }
    }
}
