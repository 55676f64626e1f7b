//! Drives every decoder of `protocol` and both its session machines by arbitrary octets, and checks what must hold whatever they are.
//!
//! The fuzz targets and the replay of their corpus (`tests/corpus`) run this same code. A broken invariant panics;
//! nothing else here may.

use std::collections::BTreeSet;

use measure::authentication::Authentication;
use measure::method::{Carrier, Pattern, Waiting};
use measure::unit::{Bytes, Instant, Nanos};

use protocol::bulk::{Mark, Numbering};
use protocol::icmp::echo::{Echo, Family, Socket};
use protocol::icmp::error::{EchoError, IcmpError};
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::{SessionError, Step};
use protocol::native::frame::{self, Decoder, FrameError};
use protocol::native::header::{
    Authenticated, Flags, Header, LENGTH, Native, PeerStamps, STAMPED_LENGTH, Token, VERSION,
};
use protocol::native::identity::{Identity, Public};
use protocol::native::key::{Key, KeyError, Keyring, Proof, Secret};
use protocol::native::limits::Limits;
use protocol::native::mac::{DatagramKey, Direction as Way, Mac, NAME};
use protocol::native::message::{Ending, FromClient, FromServer, Open, Opened, Reason, Received, Refused, Report};
use protocol::native::noise::{Handshake, Prologue};
use protocol::native::preamble::{Answer, Control, DATA_LENGTH, DataAnswer, Greeting, Versions};
use protocol::native::reply::Agreed;
use protocol::native::server::{OUTBOX, Server, ServerEvent, Terms};
use protocol::native::stream::{self, Numbers};
use protocol::wire::{Reading, Wire};

mod application;
mod inquiry;
mod iperf;
mod iperf3;
mod irtt;
mod netperf;
mod schedules;
mod sockperf;
mod stamp;
mod syn;

pub use self::application::application;
pub use self::inquiry::inquiry;
pub use self::iperf::{iperf_bounce, iperf_bursts, iperf_datagram, iperf_first};
pub use self::iperf3::{iperf3_client, iperf3_login, iperf3_parameters, iperf3_results, iperf3_server};
pub use self::irtt::irtt;
pub use self::netperf::{netperf_client, netperf_server};
pub use self::schedules::{capture, trace_text};
pub use self::sockperf::{sockperf_client, sockperf_datagram, sockperf_feed, sockperf_playback, sockperf_stream};
pub use self::stamp::stamp;
pub use self::syn::syn_probe;

/// A driving function, by the name of its fuzz target.
pub type Drive = fn(&[u8]);

/// All of them.
pub const ALL: [(&str, Drive); 30] = [
    ("application", application),
    ("native_header", native_header),
    ("native_preamble", native_preamble),
    ("native_frames", native_frames),
    ("native_client", native_client),
    ("native_server", native_server),
    ("icmp_echo", icmp_echo),
    ("key_text", key_text),
    ("netperf_client", netperf_client),
    ("netperf_server", netperf_server),
    ("trace_text", trace_text),
    ("capture", capture),
    ("sockperf_client", sockperf_client),
    ("sockperf_datagram", sockperf_datagram),
    ("sockperf_feed", sockperf_feed),
    ("sockperf_playback", sockperf_playback),
    ("sockperf_stream", sockperf_stream),
    ("inquiry", inquiry),
    ("iperf_first", iperf_first),
    ("iperf_datagram", iperf_datagram),
    ("iperf_bursts", iperf_bursts),
    ("iperf_bounce", iperf_bounce),
    ("iperf3_client", iperf3_client),
    ("iperf3_login", iperf3_login),
    ("iperf3_parameters", iperf3_parameters),
    ("iperf3_results", iperf3_results),
    ("iperf3_server", iperf3_server),
    ("irtt", irtt),
    ("stamp", stamp),
    ("syn_probe", syn_probe),
];

/// Arbitrary octets, taken piece by piece; zeros and nothing where they have run out.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn quad(&mut self) -> u32 {
        u32::from(self.word()) << 16 | u32::from(self.word())
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Headers, stamps, and the reply to whatever was read.
pub fn native_header(data: &[u8]) {
    let mut input = Input(data);
    let agreed =
        Agreed { reply_bytes: input.quad(), reply_every: u32::from(input.byte()), datagrams: input.byte() & 1 == 1 };
    let message = input.0;
    number(message);
    let Some(header) = Header::read(message) else {
        assert!(message.len() < LENGTH || message[24] != VERSION, "a whole header of our version was not read");
        return;
    };
    let mut copy = message.to_vec();
    header.write(&mut copy);
    assert_eq!(copy, message, "a header is written as it was read");
    if let Some(stamps) = PeerStamps::read(message) {
        stamps.write(&mut copy);
        assert_eq!(copy[..STAMPED_LENGTH], message[..STAMPED_LENGTH], "stamps are written as they were read");
    }
    let mut wire = Native::new(header.token, header.flow, 64);
    assert_eq!(wire.identify(message, 0), Reading::Reply(header.seq));
    assert_eq!(
        wire.peer_stamps(message).is_some(),
        header.flags.has(Flags::STAMPED) && message.len() >= STAMPED_LENGTH
    );
    authenticated(&header, message);
    answer(&agreed, &header, message);
}

/// The same datagram under a key: nobody's before it has its code, then ours, and not the other way's.
fn authenticated(header: &Header, message: &[u8]) {
    let mac = Mac::new(&DatagramKey([7; 16]));
    let mut wire = Authenticated::new(Native::new(header.token, header.flow, 64), mac);
    let mut sealed = message.to_vec();
    mac.seal(&mut sealed, Way::Back);
    assert_eq!(wire.identify(&sealed, 0), Reading::Reply(header.seq));
    assert!(!mac.holds(&sealed, Way::There), "a reply is no request");
    assert_eq!(wire.identify(message, 0) == Reading::Reply(header.seq), sealed == message);
    sealed[NAME] ^= 1;
    assert_eq!(wire.identify(&sealed, 0), Reading::Stray);
}

/// The number of a datagram of a stream, taken for one of the flow that it names.
fn number(datagram: &[u8]) {
    let Some(head) = datagram.first_chunk::<{ stream::OCTETS }>() else {
        assert_eq!(Numbers::new(&Token([0; 16]), 0).read(datagram), None, "too short for a number");
        return;
    };
    let mut token = [0; 16];
    token[..4].copy_from_slice(&head[..4]);
    let numbers = Numbers::new(&Token(token), u16::from_be_bytes([head[6], head[7]]));
    let mut copy = *head;
    match numbers.read(datagram) {
        Some(Mark::Data { number, sent }) => numbers.write(&mut copy, number, sent),
        Some(Mark::Last { count, sent }) => copy = numbers.last(count, sent),
        None => {
            let numberless = head[5] == 1 && head[8..16] == [0; 8];
            assert!(
                head[4] != stream::VERSION || !matches!(head[5], 1 | 2) || numberless,
                "a whole number was not read"
            );
        }
    }
    assert_eq!(copy, *head, "a number is written as it was read");
}

fn answer(agreed: &Agreed, header: &Header, message: &[u8]) {
    let mut reply = message.to_vec();
    let Some(length) = agreed.reply(header, message.len(), 7, &mut reply) else {
        assert_eq!(reply, message, "no reply, nothing written");
        return;
    };
    assert!(!header.flags.has(Flags::SILENT));
    if agreed.datagrams {
        assert!((LENGTH..=message.len()).contains(&length), "a reply of {length} to {} octets", message.len());
    } else {
        assert!(length as u64 <= u64::from(agreed.reply_bytes.min(header.word)));
    }
    if length >= LENGTH {
        assert_eq!(Header::read(&reply), Some(Header { word: 7, ..*header }));
    }
}

/// Preambles and both answers: decode, encode, decode; and no prefix is read as something else.
pub fn native_preamble(data: &[u8]) {
    if let Ok(Some((greeting, length))) = Greeting::read(data) {
        assert!(length <= DATA_LENGTH && length <= data.len());
        for cut in 0..length {
            assert_eq!(Greeting::read(&data[..cut]), Ok(None), "cut at {cut}");
        }
        let again = match greeting {
            Greeting::Control(control) => control.encode().to_vec(),
            Greeting::Data(data) => data.encode().to_vec(),
            Greeting::Unknown { .. } => data[..length].to_vec(),
        };
        assert_eq!(Greeting::read(&again), Ok(Some((greeting, length))));
    }
    match Answer::read(data) {
        Ok(Some((answer, length))) => {
            let again = Answer::read(&answer.encode());
            assert_eq!(again, Ok(Some((answer, length))));
        }
        Ok(None) => {}
        Err(stranger) => {
            assert_eq!(Greeting::read(data), Err(stranger.clone()), "both ways round the same stranger");
            assert!(stranger.to_string().chars().all(|character| !character.is_control()), "an excerpt prints");
        }
    }
    for code in data.iter().take(2) {
        assert_eq!(DataAnswer::from_code(*code).code(), *code);
    }
}

/// A stream of frames in pieces and whole; and the same octets as a handshake's other side.
pub fn native_frames(data: &[u8]) {
    let mut input = Input(data);
    let piece = usize::from(input.byte()).max(1);
    let stream = input.0;
    let whole = decode(stream.chunks(stream.len().max(1)));
    let pieces = decode(stream.chunks(piece));
    assert_eq!(whole, pieces, "pieces of {piece}");
    let mut again = Vec::new();
    for message in &whole.0 {
        frame::write(message, &mut again).expect("what was read can be written");
    }
    assert_eq!(stream[..again.len()], again[..], "frames are written as they were read");
    handshake(stream, piece);
}

type Frames = (Vec<Vec<u8>>, Option<FrameError>);

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Frames {
    let (mut decoder, mut messages) = (Decoder::default(), Vec::new());
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
        assert!(decoder.pending() <= frame::LARGEST + 4, "one frame at most is held");
    }
    (messages, None)
}

/// Authentication of the ends of a drive, by two bits of its first octet: every other drive has a key, and every other of
/// those has identities.
fn kind(start: u8) -> Option<Authentication> {
    let by_identity = start & 32 != 0;
    let kind = if by_identity { Authentication::Identity } else { Authentication::PreShared };
    (start & 1 == 1).then_some(kind)
}

/// The client's, whose server is [`keyring`]'s.
fn secret(kind: Authentication) -> Secret {
    let proof = match kind {
        Authentication::PreShared => Proof::PreShared(Key([1; 32])),
        Authentication::Identity => {
            Proof::Identity { own: Identity::new([4; 32]), peer: *Identity::new([5; 32]).public() }
        }
    };
    Secret { proof, ephemeral: [3; 32] }
}

fn keyring() -> Keyring {
    let holders = [Key([1; 32]).into(), (*Identity::new([4; 32]).public()).into()].into();
    Keyring { holders, identity: Some(Identity::new([5; 32]).into()), ephemeral: [2; 32] }
}

/// Without a key, or an identity that is known, nobody gets through a handshake.
fn handshake(stream: &[u8], piece: usize) {
    let wrong =
        [(Authentication::PreShared, SessionError::WrongKey), (Authentication::Identity, SessionError::WrongPeer)];
    for (kind, wrong) in wrong {
        let mut out = Vec::new();
        let mut shaking = Handshake::respond(keyring(), kind, &Prologue([0; 32]));
        let error = stream.chunks(piece).find_map(|part| match shaking.feed(part, &mut out) {
            Ok(done) => {
                assert!(!done, "let in without the key");
                None
            }
            Err(error) => Some(error),
        });
        assert_eq!(out, if error.is_some() { &[0, 0][..] } else { &[] });
        assert!(error.is_none_or(|error| error == wrong));
    }
}

fn open(flows: u32) -> Open {
    Open {
        program: String::new(),
        capabilities: BTreeSet::new(),
        carrier: Carrier::Tcp,
        pattern: Pattern::Exchange,
        request_bytes: Bytes(64),
        response_bytes: Bytes(64),
        reply_every: 1,
        waiting: Some(Waiting::Block),
        cpus: vec![],
        flows,
        stamps: false,
        batch: None,
        receive_buffer_bytes: None,
        stream: None,
        rate_per_flow: None,
        duration_ns: None,
        idle_ns: Nanos::secs(5),
    }
}

fn terms(keyring: Option<Keyring>) -> Terms {
    Terms {
        program: String::new(),
        versions: Versions::OURS,
        capabilities: BTreeSet::new(),
        limits: Limits::default(),
        udp: true,
        keyring,
        decline: None,
    }
}

fn framed(text: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    frame::write(text, &mut octets).expect("short of the longest frame");
    octets
}

fn framed_json<M: serde::Serialize>(message: &M) -> Vec<u8> {
    framed(&serde_json::to_vec(message).expect("a message of ours is JSON"))
}

/// The client's machine, fed by a server that says anything at any time.
pub fn native_client(data: &[u8]) {
    let mut input = Input(data);
    let start = input.byte();
    let keyed = kind(start);
    let flows = u32::from(start >> 6) + 1;
    let mut now = Instant(0);
    let mut client = Client::new(open(flows), keyed.map(secret), now);
    let mut failed = None;
    if start & 2 != 0 {
        let answer = Answer { verdict: Ok(1), keyed, versions: Versions::OURS };
        note(&mut failed, client.feed(&answer.encode(), now));
    }
    if start & 4 != 0 && keyed.is_none() {
        note(&mut failed, client.feed(&server_says(1, flows), now));
    }
    while let Some(what) = input.next() {
        let result = match what % 9 {
            0 => {
                let length = usize::from(input.byte());
                client.feed(input.take(length), now)
            }
            1 => {
                let length = usize::from(input.word());
                client.feed(&framed(input.take(length)), now)
            }
            2 => client.feed(&server_says(input.byte(), flows), now),
            3 => {
                now = now.after(Nanos::millis(u64::from(input.word())));
                client.overdue(now)
            }
            4 => ask(client.progress(now).map(drop)),
            5 => ask(client.close(now)),
            6 => ask(client.keep_alive(now).map(drop)),
            7 => client.ended(),
            _ => {
                check_said(&client.outgoing());
                Ok(())
            }
        };
        note(&mut failed, result);
    }
    finish_client(client, flows, failed.as_ref());
}

/// Takes a refusal for an answer where a driver acts too early or too late: the session goes on.
fn ask(result: Result<(), SessionError>) -> Result<(), SessionError> {
    match result {
        Err(SessionError::OutOfOrder {
            what: "progress" | "close" | "received" | "report" | "accept" | "refuse",
            ..
        }) => Ok(()),
        other => other,
    }
}

/// An error is final: whatever is done after it fails by the same.
fn note(failed: &mut Option<SessionError>, result: Result<(), SessionError>) {
    let Err(error) = result else { return };
    assert!(!error.to_string().is_empty());
    let _ = error.side();
    assert_eq!(*failed.get_or_insert(error.clone()), error, "an error is final");
}

fn finish_client(mut client: Client, flows: u32, failed: Option<&SessionError>) {
    if failed.is_some() {
        assert_eq!((client.step(), client.deadline()), (Step::Done, None));
    }
    while let Some(event) = client.event() {
        match event {
            ClientEvent::Opened(_) => {}
            ClientEvent::Received(received) => assert_eq!(received.received.len(), flows as usize),
            ClientEvent::Report(report) => assert_eq!(report.received.len(), flows as usize),
        }
    }
}

/// Tests that the octets a machine sends are bounded.
fn check_said(octets: &[u8]) {
    assert!(octets.len() <= OUTBOX + 2 * frame::LARGEST, "{} octets wait", octets.len());
}

fn server_says(which: u8, flows: u32) -> Vec<u8> {
    let counts = vec![u64::from(which); flows as usize];
    let message = match which % 7 {
        0 => FromServer::Refused(Refused { reason: Reason::Flows, detail: String::new(), hint: None }),
        1 => FromServer::Opened(Opened {
            token: Token([which; 16]),
            program: String::new(),
            udp: false,
            capabilities: BTreeSet::new(),
            limits: Limits::default(),
            got: Limits::default().grant(&open(flows)),
        }),
        2 | 3 => FromServer::Received(Received { received: counts }),
        4 => FromServer::Report(Box::new(Report { received: counts.clone(), replied: counts, ..Report::default() })),
        5 => return framed(br#"{"type":"newer","x":[{"y":null}]}"#),
        _ => FromServer::Fault(protocol::native::message::Notice { reason: Ending::Other, detail: String::new() }),
    };
    framed_json(&message)
}

/// The server's machine, fed by a client that says anything at any time.
pub fn native_server(data: &[u8]) {
    let mut input = Input(data);
    let start = input.byte();
    let keyed = kind(start);
    let mut now = Instant(0);
    let mut server = Server::new(terms(keyed.map(|_| keyring())), now);
    let mut failed = None;
    if start & 2 != 0 {
        note(&mut failed, server.feed(&Control { versions: Versions::OURS, keyed }.encode(), now));
    }
    if start & 4 != 0 && keyed.is_none() {
        note(&mut failed, server.feed(&client_says(0), now));
        note(&mut failed, decide(&mut server, start, now));
    }
    while let Some(what) = input.next() {
        let result = match what % 9 {
            0 => {
                let length = usize::from(input.byte());
                server.feed(input.take(length), now)
            }
            1 => {
                let length = usize::from(input.word());
                server.feed(&framed(input.take(length)), now)
            }
            2 => server.feed(&client_says(input.byte()), now),
            3 => {
                now = now.after(Nanos::millis(u64::from(input.word())));
                server.overdue(now)
            }
            4 => {
                server.touch(now);
                Ok(())
            }
            5 => decide(&mut server, input.byte(), now),
            6 => ask(server.report(Report::default())),
            7 => server.ended(),
            _ => {
                check_said(&server.outgoing());
                Ok(())
            }
        };
        note(&mut failed, result);
    }
    if failed.is_some() {
        assert_eq!((server.step(), server.deadline()), (Step::Done, None));
    }
    server.stop(Ending::Stopping, "");
    assert_eq!(server.step(), Step::Done);
    check_said(&server.outgoing());
}

/// Does what a driver does with each event, or the contrary.
fn decide(server: &mut Server, how: u8, now: Instant) -> Result<(), SessionError> {
    while let Some(event) = server.event() {
        match event {
            ServerEvent::Open(open) => {
                assert!(open.flows > 0 && Limits::default().check(&open).is_ok(), "the limits were looked at");
                if how & 8 == 0 {
                    ask(server.accept(Token([how; 16]), Limits::default().grant(&open), now))?;
                } else {
                    ask(server.refuse(Refused { reason: Reason::Cpus, detail: String::new(), hint: None }))?;
                }
            }
            ServerEvent::Progress => ask(server.received(vec![1]))?,
            ServerEvent::Close if how & 16 == 0 => ask(server.report(Report::default()))?,
            ServerEvent::Close => {}
            ServerEvent::Data(_) => assert_eq!(server.step(), Step::Done),
        }
    }
    Ok(())
}

fn client_says(which: u8) -> Vec<u8> {
    let message = match which % 6 {
        0 => FromClient::Open(open(u32::from(which) + 1)),
        1 | 2 => FromClient::Progress,
        3 => FromClient::Close,
        4 => return framed(br#"{"type":"newer","x":[{"y":null}]}"#),
        _ => FromClient::Fault(protocol::native::message::Notice { reason: Ending::Other, detail: String::new() }),
    };
    framed_json(&message)
}

/// Echo replies and errors on every kind of socket.
pub fn icmp_echo(data: &[u8]) {
    let mut input = Input(data);
    let (identifier, nonce) = (input.word(), input.quad());
    for family in [Family::V4, Family::V6] {
        for socket in [Socket::Ping, Socket::Raw] {
            let mut echo = Echo::new(family, socket, identifier, nonce);
            let reading = echo.identify(input.0, 0);
            let message = echo.message(input.0);
            assert!(message.is_some() || reading == Reading::Stray);
            if let Some(error) = message.and_then(|message| EchoError::read(family, message)) {
                assert!(!error.error.to_string().is_empty());
                assert_eq!(reading, Reading::Stray, "an error is no reply");
            }
            let mut request = input.0.to_vec();
            echo.prepare(&mut request, u64::from(nonce), Flags::NONE);
            assert_eq!(request.len(), input.0.len());
            let mut short = Echo::new(family, socket, identifier, nonce).counting_from(identifier).for_payload(0);
            let oldest = u64::from(nonce);
            let number = short.message(input.0).map(|message| u16::from_be_bytes([message[6], message[7]]));
            if let Reading::Reply(seq) = short.identify(input.0, oldest) {
                assert_eq!(Some(short.header_number(seq)), number, "its number is that of the header");
                assert!(seq >= oldest.saturating_sub(0x4000) && seq <= oldest + 0xFFFF);
            }
            let _ = short.quoted(input.0);
            let again = Echo::new(family, Socket::Ping, identifier, nonce).identify(&request, 0);
            assert!(again == Reading::Stray || request == input.0, "a request is no reply");
        }
        if let [kind, code, ..] = *input.0 {
            let _ = IcmpError::of(family, kind, code, nonce).map(|error| (error.is_final(), error.to_string()));
        }
    }
}

/// Key files, those of identities and of their public parts: what is read is written and read again as the same.
pub fn key_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    read_again(&text, Key::parse, Key::to_text);
    read_again(&text, Identity::parse, Identity::to_text);
    read_again(&text, Public::parse, Public::to_string);
}

fn read_again<T: PartialEq + std::fmt::Debug>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, KeyError>,
    write: impl Fn(&T) -> String,
) {
    match parse(text) {
        Ok(key) => assert_eq!(parse(&format!("# again\n{}\n", write(&key))), Ok(key)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
