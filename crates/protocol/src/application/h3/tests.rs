//! Responses by their octets, and whole connections with a server of the same machine, in virtual time.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use measure::unit::{Instant, Nanos};
use proptest::prelude::*;
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, StreamEvent, VarInt,
};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use test_case::test_case;

use super::control::Control;
use super::conversation::{Conversation, Heard, Unasked};
use super::session::{Anchor, Dial, QuicError, TheirInstant};
use super::*;
use crate::application::speech::Came;
use crate::application::speech::tests::{alike, hear};
use crate::application::talk::Digest;
use crate::tls::{Terms, TlsError, Trust};

fn question() -> H3 {
    let request = Request {
        method: "GET".into(),
        host: "db1".into(),
        target: "/".into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde".into(),
    };
    H3::new(&request, Expected::Any).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of the answers that a case has")]
fn answered(status: u16) -> Option<Reply> {
    Some(Reply::answered(Kind(status)))
}

/// `HEADERS` with a status of the static table.
const OK: &[u8] = &[1, 3, 0, 0, 0xD9];
const BUSY: &[u8] = &[1, 3, 0, 0, 0xDC];
const EARLY_HINTS: &[u8] = &[1, 3, 0, 0, 0xD8];

#[test_case(&[OK], answered(200); "no body")]
#[test_case(&[OK, &[0, 2, b'o', b'k']], answered(200); "a body")]
#[test_case(&[OK, &[0, 1, b'o', 0, 1, b'k'], &[1, 3, 0, 0, 0xD1]], answered(200); "fields behind it")]
#[test_case(&[EARLY_HINTS, EARLY_HINTS, OK], answered(200); "interim responses")]
#[test_case(&[&[0x21, 3, 1, 2, 3], OK, &[0x40, 0x5F, 0]], answered(200); "frames that are not known")]
#[test_case(&[BUSY], Some(Reply::refused(Kind(503))); "it did nothing")]
#[test_case(&[OK, &[0, 2, b'o']], None; "a body that is cut")]
#[test_case(&[EARLY_HINTS], None; "an interim one alone")]
#[test_case(&[], None; "nothing")]
fn a_response_ends_with_its_stream(parts: &[&[u8]], expected: Option<Reply>) {
    let octets = parts.concat();
    assert_eq!(alike(&question(), &octets), []);
    let mut h3 = question();
    hear(&mut h3, &octets, |_| false);
    assert_eq!(h3.closed(), expected);
    assert_eq!(h3.closed(), None, "the next begins anew");
}

#[test_case(&[&[0, 1, b'x']], "a body without a response"; "a body first")]
#[test_case(&[&[1, 3, 0, 0, 0xD1]], "a response has no status"; "no status")]
#[test_case(&[OK, OK, OK], "a response has fields behind its end"; "three heads")]
#[test_case(&[OK, OK, &[0, 1, b'x']], "a response has a body behind its end"; "a body behind the end")]
#[test_case(&[&[4, 0]], "a frame that a response cannot have"; "settings")]
#[test_case(&[&[5, 0]], "a frame that a response cannot have"; "a push")]
#[test_case(&[&[6, 8]], "a frame of HTTP/2"; "a ping")]
#[test_case(&[&[1, 0xC0, 0, 0, 1, 0, 0, 0, 0]], "the fields of a response are too long"; "a head of gigabytes")]
fn what_is_no_response_is_told(parts: &[&[u8]], why: &'static str) {
    assert_eq!(alike(&question(), &parts.concat()), [Came::Unsound(why)]);
}

#[test_case(&[0, 4, 0, 7, 1, 12], Ok(Some(12)); "it goes")]
#[test_case(&[0, 4, 2, 1, 0, 0x21, 1, 9, 7, 2, 0x40, 8], Ok(Some(8)); "settings and a frame that is not known before it")]
#[test_case(&[0, 4, 0, 7, 1, 8, 7, 1, 4], Ok(Some(4)); "twice, lower")]
#[test_case(&[0, 4, 0, 7, 1, 4, 7, 1, 8], Err("a GOAWAY names no stream"); "twice, higher")]
#[test_case(&[0, 4, 0, 7, 0], Err("a GOAWAY names no stream"); "no stream")]
#[test_case(&[0, 4, 0, 7, 9], Err("a GOAWAY names no stream"); "too many octets")]
#[test_case(&[0, 7, 1, 0], Err("the server does not begin with its settings"); "no settings")]
#[test_case(&[0, 4, 0, 4, 0], Err("a frame that the server may not send there"); "settings twice")]
#[test_case(&[1, 0], Err("the server pushes, which nobody asked for"); "a push")]
#[test_case(&[2, 0x20, 0x3F, 1], Ok(None); "the coder of fields")]
#[test_case(&[0x40, 0x54, 1, 2, 3], Ok(None); "a kind that is not known")]
fn a_stream_of_the_server_is_read(octets: &[u8], expected: Result<Option<u64>, &str>) {
    for cut in 0..octets.len() {
        assert_eq!(controlled(octets, |end| end == cut), expected, "cut at {cut}");
    }
    assert_eq!(controlled(octets, |_| true), expected);
}

fn controlled(octets: &[u8], cuts: impl Fn(usize) -> bool) -> Result<Option<u64>, &'static str> {
    let (mut control, mut from) = (Control::default(), 0);
    for end in (1..=octets.len()).filter(|end| *end == octets.len() || cuts(*end)) {
        while from < end {
            match control.take(&octets[from..end])? {
                0 => break,
                taken => from += taken,
            }
        }
    }
    Ok(control.leaving())
}

proptest! {
    /// Whatever comes, in whatever pieces: no panic, nothing taken that is not there, and the same is said of it however it is cut.
    #[test]
    fn no_octets_upset_a_reader(octets in prop::collection::vec(any::<u8>(), 0..400), every in 1_usize..40) {
        for begin in [&[][..], OK, EARLY_HINTS] {
            let octets = [begin, &octets[..]].concat();
            let (mut whole, mut cut) = (question(), question());
            let said = hear(&mut whole, &octets, |_| false);
            prop_assert_eq!(said, hear(&mut cut, &octets, |end| end.is_multiple_of(every)));
            prop_assert_eq!(whole.closed(), cut.closed());
        }
        for begin in [&[][..], &[0, 4, 0]] {
            let octets = [begin, &octets[..]].concat();
            prop_assert_eq!(controlled(&octets, |_| false), controlled(&octets, |end| end.is_multiple_of(every)));
        }
    }
}

/// A server of QUIC whose requests are answered by the octets that stand next in `answers`, and at its end by the last of them.
struct Played {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The datagram that turns a client away, or sends it back with a token.
    refusal: Option<Vec<u8>>,
    /// True where a client has to prove its address by a token.
    retries: bool,
    answers: VecDeque<Answer>,
    /// The octets that have come of each request.
    requests: HashMap<quinn_proto::StreamId, Vec<u8>>,
}

#[derive(Clone)]
enum Answer {
    Octets(Vec<u8>),
    Reset(u32),
    Close(u32),
    /// A control stream with these octets; the request has no answer.
    Control(Vec<u8>),
}

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 4_433);

fn octets(parts: &[&[u8]]) -> Answer {
    Answer::Octets(parts.concat())
}

/// A connection, the server that it is with, and the present instant.
struct World {
    client: Conversation,
    server: Played,
    anchor: Anchor,
    now: Instant,
}

impl World {
    /// A server for `name` that speaks `inside`, asked by a client who believes it or not.
    fn new(name: &str, inside: &str, believed: bool, answers: &[Answer]) -> Self {
        Self::of(EndpointConfig::default(), false, (name, inside), believed, answers)
    }

    /// The same of a server by `config`, which sends clients back with a token or takes them as they come.
    fn of(
        config: EndpointConfig,
        retries: bool,
        (name, inside): (&str, &str),
        believed: bool,
        answers: &[Answer],
    ) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        let mut other = CertificateParams::new([]).unwrap();
        other.distinguished_name.push(DnType::CommonName, "another");
        let other = other.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let root = if believed { &certificate } else { &other };
        let terms = Terms::new("db1", &Trust::Roots(vec![root.der().to_vec()]), "h3").unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.into())
            .unwrap();
        tls.alpn_protocols = vec![inside.as_bytes().to_vec()];
        let tls = QuicServerConfig::try_from(tls).unwrap();
        let serving = quinn_proto::ServerConfig::with_crypto(Arc::new(tls));
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(serving)), false, None);
        #[expect(clippy::disallowed_methods, reason = "an instant that virtual time begins at")]
        let anchor = Anchor::new(TheirInstant::now(), Instant(0));
        let dial = Dial::new(&terms, anchor).unwrap();
        let client = Conversation::begin(&dial, question(), SocketAddr::from(HERE), Instant(0)).unwrap();
        let server = Played {
            endpoint,
            connection: None,
            refusal: None,
            retries,
            answers: answers.to_vec().into(),
            requests: HashMap::new(),
        };
        let mut world = Self { client, server, anchor, now: Instant(0) };
        world.settle();
        world
    }

    fn believed(answers: &[Answer]) -> Self {
        let world = Self::new("db1", "h3", true, answers);
        assert!(world.client.is_open(), "{:?}", world.client.ended());
        world
    }

    /// Datagrams go to and fro, a millisecond each, until nothing more is said.
    fn settle(&mut self) {
        loop {
            let mut said = false;
            let mut datagram = Vec::new();
            self.now = self.now.after(Nanos::millis(1));
            self.client.tick(self.now);
            while self.client.next_datagram(self.now, &mut datagram) {
                said = true;
                self.server.take(self.anchor.theirs(self.now), &datagram);
            }
            self.now = self.now.after(Nanos::millis(1));
            for datagram in self.server.datagrams(self.anchor.theirs(self.now)) {
                said = true;
                self.client.take(self.now, &datagram);
            }
            if !said {
                return;
            }
        }
    }

    fn ask(&mut self, number: u64) -> Option<Heard> {
        self.client.ask(number).unwrap();
        self.settle();
        self.client.hear()
    }
}

impl Played {
    fn take(&mut self, now: TheirInstant, datagram: &[u8]) {
        let mut answer = Vec::new();
        match self.endpoint.handle(now, SocketAddr::from(HERE), None, None, datagram.into(), &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) if self.retries && incoming.may_retry() => {
                let sent_back = self.endpoint.retry(incoming, &mut answer).unwrap();
                self.refusal = Some(answer[..sent_back.size].to_vec());
            }
            Some(DatagramEvent::Response(response)) => self.refusal = Some(answer[..response.size].to_vec()),
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(connection) => self.connection = Some(connection),
                    Err(error) => {
                        self.refusal = error.response.map(|response| answer[..response.size].to_vec());
                    }
                }
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
        self.serve(now);
    }

    fn serve(&mut self, now: TheirInstant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            let streams: Vec<_> = match event {
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    std::iter::from_fn(|| connection.streams().accept(Dir::Bi)).collect()
                }
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Bi => vec![id],
                _ => Vec::new(),
            };
            for stream in streams {
                let request = self.requests.entry(stream).or_default();
                let mut receiving = connection.recv_stream(stream);
                let Ok(mut chunks) = receiving.read(true) else { continue };
                let whole = loop {
                    match chunks.next(usize::MAX) {
                        Ok(Some(chunk)) => request.extend_from_slice(&chunk.bytes),
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                };
                drop(chunks);
                if !whole {
                    continue;
                }
                assert_eq!(*request, question().request);
                match self.answers.pop_front() {
                    Some(Answer::Octets(octets)) => {
                        assert_eq!(connection.send_stream(stream).write(&octets), Ok(octets.len()));
                        connection.send_stream(stream).finish().unwrap();
                    }
                    Some(Answer::Reset(error)) => {
                        connection.send_stream(stream).reset(VarInt::from_u32(error)).unwrap();
                    }
                    Some(Answer::Close(error)) => {
                        connection.close(now, VarInt::from_u32(error), b"no more".to_vec().into());
                    }
                    Some(Answer::Control(octets)) => {
                        let own = connection.streams().open(Dir::Uni).unwrap();
                        assert_eq!(connection.send_stream(own).write(&octets), Ok(octets.len()));
                    }
                    None => {}
                }
            }
        }
    }

    fn datagrams(&mut self, now: TheirInstant) -> Vec<Vec<u8>> {
        let Some((_, connection)) = &mut self.connection else { return self.refusal.take().into_iter().collect() };
        connection.handle_timeout(now);
        let mut datagrams = Vec::new();
        loop {
            let mut datagram = Vec::new();
            if connection.poll_transmit(now, 1, &mut datagram).is_none() {
                return datagrams;
            }
            datagrams.push(datagram);
        }
    }
}

fn reply(number: u32, reply: Reply, octets: u64) -> impl Fn(Option<Heard>) -> bool {
    move |heard| {
        let expected = Digest { reply: Reply { number: Some(number), ..reply }, octets };
        matches!(heard, Some(Heard::Reply { digest, .. }) if digest == expected)
    }
}

#[test]
fn requests_are_answered_on_streams_of_one_connection() {
    let body = vec![b'x'; 100_000];
    let mut long = OK.to_vec();
    frame::write(&mut long, frame::DATA, &body);
    let length = long.len() as u64;
    let mut world =
        World::believed(&[octets(&[OK, &[0, 1, b'x']]), octets(&[BUSY]), Answer::Octets(long), Answer::Reset(0x10B)]);
    let facts = world.client.facts();
    assert_eq!((facts.version, facts.verified, facts.resumed), ("TLS 1.3", true, false));
    assert!(facts.until.is_some());
    assert!(reply(7, Reply::answered(Kind(200)), 8)(world.ask(7)));
    assert!(reply(8, Reply::refused(Kind(503)), 5)(world.ask(8)));
    assert!(reply(9, Reply::answered(Kind(200)), length)(world.ask(9)));
    let heard = world.ask(10);
    assert!(reply(10, Reply::refused(Kind(kind::reset(0x10B))), 0)(heard), "{heard:?}");
    assert_eq!((world.client.ended(), world.client.unanswered()), (None, 0));
}

#[test]
fn a_reply_has_the_stamp_of_the_datagram_that_completes_it() {
    let mut world = World::believed(&[octets(&[OK])]);
    world.client.ask(0).unwrap();
    let begun = world.now;
    world.settle();
    let Some(Heard::Reply { at, .. }) = world.client.hear() else { panic!("no reply") };
    assert_eq!(at.since(begun), Some(Nanos::millis(2)));
}

#[test]
fn a_server_that_goes_names_what_it_does_not_answer() {
    let mut world = World::believed(&[octets(&[OK]), Answer::Control(vec![0, 4, 0, 7, 1, 4])]);
    assert!(world.ask(0).is_some());
    assert_eq!(world.ask(1), Some(Heard::Gone(1)));
    assert!(world.client.is_leaving());
}

#[test]
fn who_is_not_believed_is_not_asked() {
    let untrusted = World::new("db1", "h3", false, &[]);
    assert_eq!(untrusted.client.ended(), Some(&QuicError::Tls(TlsError::Untrusted)));
    let misnamed = World::new("db2", "h3", true, &[]);
    let expected = TlsError::Misnamed { asked: "db1".into(), shown: vec!["db2".into()] };
    assert_eq!(misnamed.client.ended(), Some(&QuicError::Tls(expected)));
    let foreign = World::new("db1", "hq-29", true, &[]);
    assert_eq!(foreign.client.ended(), Some(&QuicError::Tls(TlsError::Alert("NoApplicationProtocol".into()))));
}

/// The client comes again with the token, a round trip later, and is asked no more of.
#[test]
fn a_server_that_wants_an_address_proved_has_its_token() {
    let of = |retries| World::of(EndpointConfig::default(), retries, ("db1", "h3"), true, &[octets(&[OK])]);
    let (plain, mut proved) = (of(false), of(true));
    assert!(proved.client.is_open(), "{:?}", proved.client.ended());
    assert_eq!(proved.now.since(plain.now), Some(Nanos::millis(2)));
    assert!(reply(0, Reply::answered(Kind(200)), 5)(proved.ask(0)));
}

#[test]
fn a_server_of_other_versions_is_told_as_that() {
    let mut config = EndpointConfig::default();
    config.supported_versions(vec![0xFF00_001D]);
    let world = World::of(config, false, ("db1", "h3"), true, &[]);
    assert_eq!(world.client.ended(), Some(&QuicError::Version));
}

#[test]
fn a_connection_that_ends_says_why() {
    let mut world = World::believed(&[Answer::Close(0x107)]);
    assert_eq!(world.ask(0), None);
    let told = world.client.ended().map(ToString::to_string);
    assert_eq!(told.as_deref(), Some("it closes the HTTP/3 connection: H3_EXCESSIVE_LOAD: no more"));
    assert_eq!(world.client.given_up().collect::<Vec<_>>(), [0]);
    let mut world = World::believed(&[octets(&[&[0, 1, b'x']])]);
    assert_eq!(world.ask(0), Some(Heard::Corrupt));
    assert_eq!(
        world.client.ended().map(ToString::to_string).as_deref(),
        Some("it violates the protocol: a body without a response")
    );
    // A server that is silent: the connection is kept by pings for as long as it may be, and then it has ended.
    let mut world = World::believed(&[]);
    world.client.ask(0).unwrap();
    let mut unheard = Vec::new();
    while world.client.ended().is_none() {
        while world.client.next_datagram(world.now, &mut unheard) {}
        world.now = world.client.due();
        assert!(world.now < Instant(Nanos::secs(60).0), "it is never told");
        world.client.tick(world.now);
    }
    assert_eq!(world.client.ended(), Some(&QuicError::Silent));
}

#[test]
fn a_request_finds_no_stream_where_the_server_allows_none() {
    let mut world = World::believed(&[]);
    let asked = (0..).map_while(|number| world.client.ask(number).is_ok().then_some(number)).count();
    assert_eq!((asked, world.client.ask(1_000)), (100, Err(Unasked::NoStream)), "as this server has it");
    // A caller that looks for room before each request finds as much.
    let mut world = World::believed(&[]);
    let asked = (0..1_000).take_while(|number| world.client.has_room() && world.client.ask(*number).is_ok()).count();
    assert_eq!((asked, world.client.has_room(), world.client.unanswered()), (100, false, 100));
}
