//! All protocols over TCP as one: an engine is compiled once for them, and picks by a branch.

use std::borrow::Cow;
use std::sync::Arc;

use super::dns::OverTcp;
use super::h2::H2;
use super::http::Http;
use super::kafka::Kafka;
use super::memcached::{Commands as MemcachedCommands, Memcached};
use super::mix::Turns;
use super::mqtt::Mqtt;
use super::mysql::Mysql;
use super::nats::Nats;
use super::number::nearest;
use super::postgres::Postgres;
use super::redis::{Commands as RedisCommands, Redis};
use super::speech::{Kind, Reply, Speech, Taken};
use super::ssh::{self, Ssh};
use super::tally::Tally;
use super::websocket::WebSocket;
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// A protocol over TCP that is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Redis.
    Redis(Redis),
    /// Redis, by commands of the user's.
    RedisCommands(RedisCommands),
    /// memcached.
    Memcached(Memcached),
    /// memcached, by commands of the user's.
    MemcachedCommands(MemcachedCommands),
    /// HTTP/1.1.
    Http(Box<Http>),
    /// HTTP/2, and gRPC over it.
    H2(Box<H2>),
    /// DNS.
    Dns(Box<OverTcp>),
    /// NATS.
    Nats(Nats),
    /// MQTT.
    Mqtt(Mqtt),
    /// PostgreSQL.
    Postgres(Box<Postgres>),
    /// MySQL and MariaDB.
    Mysql(Box<Mysql>),
    /// Kafka.
    Kafka(Kafka),
    /// WebSocket.
    WebSocket(Box<WebSocket>),
    /// SSH.
    Ssh(Ssh),
}

macro_rules! each {
    ($talk:expr, $speech:ident => $call:expr) => {
        match $talk {
            Talk::Redis($speech) => $call,
            Talk::RedisCommands($speech) => $call,
            Talk::Memcached($speech) => $call,
            Talk::MemcachedCommands($speech) => $call,
            Talk::Http($speech) => $call,
            Talk::H2($speech) => $call,
            Talk::Dns($speech) => $call,
            Talk::Nats($speech) => $call,
            Talk::Mqtt($speech) => $call,
            Talk::Postgres($speech) => $call,
            Talk::Mysql($speech) => $call,
            Talk::Kafka($speech) => $call,
            Talk::WebSocket($speech) => $call,
            Talk::Ssh($speech) => $call,
        }
    };
}

impl Speech for Talk {
    fn opening(&self) -> Cow<'static, [u8]> {
        each!(self, speech => speech.opening())
    }

    fn begin(&mut self) {
        each!(self, speech => speech.begin());
    }

    fn is_open(&self) -> bool {
        each!(self, speech => speech.is_open())
    }

    fn asks_for_tls(&self) -> bool {
        each!(self, speech => speech.asks_for_tls())
    }

    fn is_told_of_tls(&self) -> bool {
        each!(self, speech => speech.is_told_of_tls())
    }

    fn lacks_tls(&self) -> bool {
        each!(self, speech => speech.lacks_tls())
    }

    fn secured(&self) -> Cow<'static, [u8]> {
        each!(self, speech => speech.secured())
    }

    fn request(&self) -> Vec<u8> {
        each!(self, speech => speech.request())
    }

    #[inline]
    fn mark(&self, request: &mut [u8], number: u64) {
        each!(self, speech => speech.mark(request, number));
    }

    fn asked(&mut self, request: &[u8]) {
        each!(self, speech => speech.asked(request));
    }

    fn mark_bits(&self) -> u32 {
        each!(self, speech => speech.mark_bits())
    }

    #[inline]
    fn interleaves(&self) -> bool {
        each!(self, speech => speech.interleaves())
    }

    #[inline]
    fn most_at_once(&self) -> Option<u32> {
        each!(self, speech => speech.most_at_once())
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        each!(self, speech => speech.take(octets))
    }

    fn answer(&self) -> &[u8] {
        each!(self, speech => speech.answer())
    }

    fn farewell(&self) -> Cow<'static, [u8]> {
        each!(self, speech => speech.farewell())
    }

    fn closed(&mut self) -> Option<Reply> {
        each!(self, speech => speech.closed())
    }

    fn lengths(&self) -> Option<(u64, u64)> {
        each!(self, speech => speech.lengths())
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        each!(self, speech => speech.kind(kind))
    }
}

impl Talk {
    /// The same for a connection of its own, whose numbers nobody foresees who knows another's: chance has made `draw`.
    #[must_use]
    pub fn drawn(self, draw: [u8; 16]) -> Self {
        match self {
            Self::Dns(dns) => Self::Dns(Box::new(dns.drawn(draw))),
            Self::Postgres(postgres) => Self::Postgres(Box::new(postgres.drawn(draw))),
            Self::WebSocket(socket) => Self::WebSocket(Box::new(socket.drawn(draw))),
            other => other,
        }
    }

    /// One request in words.
    pub fn words(&self) -> String {
        match self {
            Self::Redis(_) | Self::Nats(_) => "PING".to_owned(),
            Self::RedisCommands(commands) => commands.words().to_owned(),
            Self::MemcachedCommands(commands) => commands.words().to_owned(),
            Self::Memcached(Memcached::NoOperation) => "mn".to_owned(),
            Self::Memcached(Memcached::Version) => "version".to_owned(),
            Self::Http(http) => http.words().to_owned(),
            Self::H2(h2) => h2.words().to_owned(),
            Self::Dns(dns) => dns.words().to_owned(),
            Self::Mqtt(_) => "PINGREQ".to_owned(),
            Self::Postgres(postgres) => postgres.words().to_owned(),
            Self::Mysql(mysql) => mysql.words().to_owned(),
            Self::Kafka(_) => "ApiVersions".to_owned(),
            Self::WebSocket(socket) => socket.words().to_owned(),
            Self::Ssh(_) => ssh::WORDS.to_owned(),
        }
    }

    /// One of each, for tests that are about all of them.
    #[cfg(test)]
    pub fn samples() -> Vec<Self> {
        use super::dns::Question;
        use super::http::{Expected, Request};
        use super::login::{Login, Password};
        use super::websocket::tests::{client, opened};
        let request = Request {
            method: "GET".into(),
            host: "db1".into(),
            target: "/".into(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: "sonde".into(),
        };
        // As a server of HTTP/2 begins: nothing set.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let question = Question::new("a.test", "A").unwrap();
        let password = Some(Password::new("x".into()));
        let login = || Login { user: "me".into(), database: None, password: password.clone() };
        let open = |mut talk: Self, octets: &[u8]| {
            talk.take(octets);
            talk
        };
        vec![
            Self::Redis(Redis),
            Self::RedisCommands(RedisCommands::new("GET a").unwrap()),
            Self::Memcached(Memcached::NoOperation),
            Self::MemcachedCommands(MemcachedCommands::new("get a", None).unwrap()),
            Self::Http(Box::new(Http::new(&request, Expected::Any).unwrap())),
            Self::Http(Box::new(Http::new(&request, Expected::Any).unwrap().mixed())),
            Self::H2(Box::new(H2::new(&request, Expected::Any, false).unwrap())),
            open(Self::H2(Box::new(H2::new(&request, Expected::Any, false).unwrap())), &settings),
            open(Self::H2(Box::new(H2::health("db1", "", false).unwrap())), &settings),
            open(Self::H2(Box::new(H2::dns(question.clone(), "db1", "sonde").unwrap())), &settings),
            open(Self::H2(Box::new(H2::ping())), &settings),
            Self::Dns(Box::new(OverTcp::new(question, [3; 16]))),
            Self::Nats(Nats::default()),
            open(Self::Nats(Nats::default()), b"INFO {}\r\n"),
            Self::Mqtt(Mqtt::default()),
            open(Self::Mqtt(Mqtt::default()), &[0x20, 2, 0, 0]),
            Self::Postgres(Box::new(Postgres::new(login(), [3; 16]))),
            open(Self::Postgres(Box::new(Postgres::new(login(), [3; 16]))), &[b'Z', 0, 0, 0, 5, b'I']),
            Self::Postgres(Box::new(Postgres::new(login(), [3; 16]).within_tls())),
            open(
                Self::Postgres(Box::new(Postgres::new(login(), [3; 16]).asking("SELECT 1").unwrap())),
                &[b'Z', 0, 0, 0, 5, b'I'],
            ),
            Self::Mysql(Box::new(Mysql::new(login()).within_tls(true))),
            Self::Mysql(Box::new(Mysql::new(login()))),
            Self::Mysql(Box::new(Mysql::greeted(login()))),
            Self::Mysql(Box::new(Mysql::opened(login()))),
            Self::Mysql(Box::new(Mysql::opened(login()).asking("SELECT 1").unwrap())),
            Self::Kafka(Kafka),
            Self::WebSocket(Box::new(client())),
            Self::WebSocket(Box::new(opened())),
            Self::Ssh(Ssh::default()),
        ]
    }
}

/// A reply as a link hands it to [`Asking`]: its kind, number and length, without its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The reply.
    pub reply: Reply,
    /// Its octets; 0 where they are not known.
    pub octets: u64,
}

impl Digest {
    /// Octets of its form.
    pub const LENGTH: usize = 16;

    const SOUND: u8 = 1;
    const NUMBERED: u8 = 2;
    const UNREAD: u8 = 4;

    /// In the place of one: something came that was none of the protocol.
    pub const CORRUPT: [u8; Self::LENGTH] = {
        let mut form = [0; Self::LENGTH];
        form[0] = Self::UNREAD;
        form
    };

    /// In the place of one that nobody asked for and that has no number.
    pub const UNASKED: [u8; Self::LENGTH] = {
        let mut form = [0; Self::LENGTH];
        form[0] = Self::UNREAD;
        form[1] = 1;
        form
    };

    /// Its form: flags, the kind, the number and the length.
    #[inline]
    pub fn encode(self) -> [u8; Self::LENGTH] {
        let Self { reply: Reply { kind, sound, number, .. }, octets } = self;
        let mut form = [0; Self::LENGTH];
        form[0] = u8::from(sound) | if number.is_some() { Self::NUMBERED } else { 0 };
        form[2..4].copy_from_slice(&kind.0.to_be_bytes());
        form[4..8].copy_from_slice(&number.unwrap_or(0).to_be_bytes());
        form[8..].copy_from_slice(&octets.to_be_bytes());
        form
    }

    /// Reads its form; `None` where no reply was read.
    #[inline]
    pub fn read(form: &[u8]) -> Option<Self> {
        let form: &[u8; Self::LENGTH] = form.try_into().ok()?;
        let [flags, _, high, low, a, b, c, d, octets @ ..] = *form;
        if flags & Self::UNREAD != 0 {
            return None;
        }
        let number = (flags & Self::NUMBERED != 0).then(|| u32::from_be_bytes([a, b, c, d]));
        let kind = Kind(u16::from_be_bytes([high, low]));
        let reply = Reply { kind, sound: flags & Self::SOUND != 0, number, closes: false };
        Some(Self { reply, octets: u64::from_be_bytes(octets) })
    }
}

/// Requests of one protocol over TCP, and whose reply is whose: by its number where it has one, by order otherwise. Where each request has its
/// own connection, a reply is to the latest: those before it went with their connections.
#[derive(Clone, Debug)]
pub struct Asking<S> {
    speech: S,
    bits: u32,
    tally: Arc<Tally>,
    /// One more than the number of the latest request.
    asked: u64,
    /// Set where each request has its own connection.
    anew: bool,
    /// Where requests differ: whose turn it is.
    turns: Option<Box<Turns>>,
}

impl<S: Speech> Asking<S> {
    /// Requests of `speech`, whose replies are counted in `tally`.
    pub fn new(speech: S, tally: Arc<Tally>) -> Self {
        let bits = speech.mark_bits();
        Self { speech, bits, tally, asked: 0, anew: false, turns: None }
    }

    /// The same, each request with its own connection where `anew`.
    #[must_use]
    pub fn with_connections(self, anew: bool) -> Self {
        Self { anew, ..self }
    }

    /// The same of requests that differ.
    #[must_use]
    pub fn mixing(self, turns: Option<Turns>) -> Self {
        Self { turns: turns.map(Box::new), ..self }
    }
}

impl<S: Speech> Wire for Asking<S> {
    fn open(&mut self, message: &mut [u8]) {
        let request = self.speech.request();
        let length = message.len().min(request.len());
        message[..length].copy_from_slice(&request[..length]);
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        if flags.has(Flags::WARM_UP) {
            self.tally.record_from(seq + 1);
        }
        self.asked = seq + 1;
        match &mut self.turns {
            None => self.speech.mark(message, seq),
            Some(turns) => self.speech.mark(turns.turn_to(seq, self.tally.recorded()), seq),
        }
    }

    #[inline]
    fn prepared<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        self.turns.as_ref().map_or(message, |turns| turns.written())
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        if reply == Digest::UNASKED {
            return Reading::Stray;
        }
        let Some(Digest { reply, octets }) = Digest::read(reply) else { return Reading::Corrupt(None) };
        let awaited = if self.anew { self.asked.saturating_sub(1) } else { oldest };
        let number = reply.number.map_or(awaited, |number| nearest(number, self.bits, awaited));
        // A reply to a request that was never sent says nothing of the program, and is not counted.
        if number >= self.asked && reply.number.is_some() {
            return Reading::Stray;
        }
        let turn = self.turns.as_ref().map(|turns| (turns, turns.item(number, self.tally.recorded())));
        let sound = turn.map_or(reply.sound, |(_, item)| Turns::is_sound(item, &reply));
        if self.tally.records(number) {
            self.tally.count(reply.kind, sound, octets);
            if let Some((turns, item)) = turn {
                turns.count(item.class, &reply, sound, octets);
            }
        }
        if sound { Reading::Reply(number) } else { Reading::Refused(number) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_digest_is_what_it_was(kind: u16, sound: bool, number: Option<u32>, octets: u64) {
            let digest = Digest { reply: Reply { kind: Kind(kind), sound, number, closes: false }, octets };
            prop_assert_eq!(Digest::read(&digest.encode()), Some(digest));
        }
    }

    #[test]
    fn a_reply_answers_its_number_or_else_the_oldest() {
        let tally = Arc::new(Tally::default());
        let mut asking = Asking::new(Redis, Arc::clone(&tally));
        let digest = |number, sound| {
            Digest { reply: Reply { kind: Kind(1), sound, number, closes: false }, octets: 14 }.encode()
        };
        let beyond = 1 << 32;
        asking.prepare(&mut [], beyond, Flags::WARM_UP);
        asking.asked = beyond + 9;
        assert_eq!(asking.identify(&Digest::UNASKED, beyond), Reading::Stray);
        assert_eq!(asking.identify(&digest(Some(9), true), beyond), Reading::Stray, "what was not asked yet");
        assert_eq!(asking.identify(&digest(Some(0), true), beyond), Reading::Reply(beyond));
        assert_eq!(tally.kinds(), [], "what is not recorded is not counted");
        assert_eq!(asking.identify(&digest(Some(5), true), beyond + 1), Reading::Reply(beyond + 5));
        assert_eq!(asking.identify(&digest(None, true), beyond + 7), Reading::Reply(beyond + 7));
        assert_eq!(asking.identify(&digest(None, false), beyond + 8), Reading::Refused(beyond + 8));
        assert_eq!(asking.identify(&Digest::CORRUPT, beyond), Reading::Corrupt(None));
        assert_eq!(tally.kinds(), [(Kind(1), true, 2), (Kind(1), false, 1)]);
        assert_eq!(tally.lengths(), Some((14, 14)));
    }

    #[test]
    fn a_reply_on_a_connection_of_its_own_answers_the_latest() {
        let mut asking = Asking::new(Redis, Arc::default()).with_connections(true);
        let digest = |number| Digest { reply: Reply { kind: Kind(1), sound: true, number, closes: false }, octets: 14 };
        asking.prepare(&mut [], 7, Flags::NONE);
        assert_eq!(asking.identify(&digest(None).encode(), 3), Reading::Reply(7), "3 was given up with its connection");
        assert_eq!(asking.identify(&digest(Some(7)).encode(), 3), Reading::Reply(7));
    }

    #[test]
    fn each_says_what_it_asks() {
        let words: Vec<_> = Talk::samples().iter().map(Talk::words).collect();
        let expected = [
            "PING",
            "GET a",
            "mn",
            "get a",
            "GET /",
            "GET /",
            "GET /",
            "GET /",
            "Health/Check",
            "A a.test",
            "PING",
            "A a.test",
            "PING",
            "PING",
            "PINGREQ",
            "PINGREQ",
            "Sync",
            "Sync",
            "Sync",
            "SELECT 1",
            "COM_PING",
            "COM_PING",
            "COM_PING",
            "COM_PING",
            "SELECT 1",
            "ApiVersions",
            "Ping /mqtt",
            "Ping /mqtt",
            "version",
        ];
        assert_eq!(words, expected);
        for talk in Talk::samples() {
            assert!(!talk.request().is_empty(), "{talk:?}");
        }
    }
}
