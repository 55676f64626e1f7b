//! WebSocket (RFC 6455): a connection of HTTP/1.1 is upgraded, and a Ping frame with a number is answered by a Pong with the same octets.
//!
//! One Ping is out at a time: a server that has several before it may answer only the latest (section 5.5.3), and some answer only the
//! first. A Pong is often the work of a proxy or of the server's library, and not of the program behind it.
//!
//! A client masks its frames by keys that nobody foresees (section 5.3), so that the chooser of a payload does not
//! choose the octets that proxies see. Ours come from SipHash-2-4 with a key of the connection that chance has made: as
//! hard to foresee as that key, and made without a call of the system. Messages of the server that nobody asked for are
//! counted and forgotten.

mod frame;
mod upgrade;

use std::borrow::Cow;
use std::hash::Hasher as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use measure::reach::Transport;
use siphasher::sip::SipHasher24;

use self::frame::Control;
use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

pub use self::upgrade::{Upgrade, UpgradeError};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["ws"],
    over: Transport::Tcp,
    port: 80,
    tls: None,
    asks: "a Ping frame, its number given back, behind an upgrade at the path",
};
/// The same through TLS.
pub const SECURE: Protocol = Protocol { schemes: &["wss"], port: 443, tls: Some("http/1.1"), ..PROTOCOL };

/// Octets of the payload of a Ping: our sign, and the number.
const PAYLOAD: usize = 8;
const PONG: Kind = Kind(0);
/// The lowest code of a Close (section 7.4.2); lower kinds are no codes.
const LOWEST_CODE: u16 = 1_000;
/// The code of a Close by one whose purpose is fulfilled (section 7.4.1).
const NORMAL: u16 = 1_000;
/// A Close that says no code (section 7.1.5).
const NO_CODE: u16 = 1_005;

/// Codes of a Close by their names (section 7.4.1; IANA, WebSocket Close Code Number Registry).
const CODES: [(u16, &str); 13] = [
    (1_000, "normal closure"),
    (1_001, "going away"),
    (1_002, "protocol error"),
    (1_003, "unsupported data"),
    (NO_CODE, "no code"),
    (1_006, "abnormal closure"),
    (1_007, "invalid payload"),
    (1_008, "policy violation"),
    (1_009, "message too big"),
    (1_010, "extension missing"),
    (1_011, "internal error"),
    (1_012, "service restart"),
    (1_013, "try again later"),
];

/// The uses of chance: none of its numbers tells anything of another.
#[derive(Clone, Copy)]
enum Lot {
    Key,
    Sign,
    PingMask,
    AnswerMask,
}

/// A client that pings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSocket {
    head: String,
    words: String,
    subprotocol: Option<String>,
    /// Whatever chance has made.
    draw: [u8; 16],
    /// Told from a Pong that nobody asked for by these octets of its payload.
    sign: [u8; 4],
    /// Connections that were begun.
    begun: u64,
    /// Answers that were written.
    answers: u64,
    stage: Stage,
    /// Set once this connection has brought a Pong.
    fruitful: bool,
    answer: Vec<u8>,
}

/// The place on a connection that the reader has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before the end of the response to the upgrade.
    Upgrade,
    /// Between frames.
    Frame,
    /// Octets still to come of a message that nobody asked for.
    Passing(u64),
    /// Behind the first octet of a Close that is answered.
    Closing,
    /// Behind a Close: nothing that follows has a meaning (section 5.5.1).
    Closed,
}

impl WebSocket {
    /// A client that asks for `upgrade`. Chance has made `draw`.
    ///
    /// # Errors
    /// An upgrade that cannot be written.
    pub fn new(upgrade: &Upgrade, draw: [u8; 16]) -> Result<Self, UpgradeError> {
        let client = Self {
            head: upgrade.written()?,
            words: format!("Ping {}", upgrade.target),
            subprotocol: upgrade.subprotocol.clone(),
            draw,
            sign: [0; 4],
            begun: 0,
            answers: 0,
            stage: Stage::Upgrade,
            fruitful: false,
            answer: Vec::new(),
        };
        Ok(client.drawn(draw))
    }

    /// The same with a draw of its own.
    #[must_use]
    pub fn drawn(self, draw: [u8; 16]) -> Self {
        let mut drawn = Self { draw, ..self };
        drawn.sign = drawn.mask(Lot::Sign, 0);
        drawn
    }

    /// Its request in words: `Ping /chat`.
    pub fn words(&self) -> &str {
        &self.words
    }

    #[inline]
    fn chance(&self, lot: Lot, number: u64) -> [u8; 8] {
        let mut hasher = SipHasher24::new_with_key(&self.draw);
        hasher.write_u8(lot as u8);
        hasher.write_u64(number);
        hasher.finish().to_be_bytes()
    }

    #[inline]
    fn mask(&self, lot: Lot, number: u64) -> [u8; 4] {
        let [a, b, c, d, ..] = self.chance(lot, number);
        [a, b, c, d]
    }

    /// The key of this connection's upgrade: sixteen octets that are its own (section 4.1).
    fn key(&self) -> String {
        let halves = [2 * self.begun, 2 * self.begun + 1].map(|half| self.chance(Lot::Key, half));
        STANDARD.encode(halves.concat())
    }

    fn payload(&self, number: u64) -> [u8; PAYLOAD] {
        let mut payload = number.to_be_bytes();
        if let Some(place) = payload.first_chunk_mut() {
            *place = self.sign;
        }
        payload
    }

    #[inline]
    fn frame(&mut self, octets: &[u8]) -> Taken {
        let head = match frame::read(octets) {
            Ok(Some(head)) => head,
            Ok(None) => return Taken::MORE,
            Err(why) => return Taken::unsound(why),
        };
        let Some(control) = head.control else {
            if head.length == 0 {
                return Taken::aside(head.octets);
            }
            self.stage = Stage::Passing(head.length);
            return Taken::part(head.octets);
        };
        let end = head.octets + head.length as usize;
        let Some(payload) = octets.get(head.octets..end) else { return Taken::MORE };
        match control {
            Control::Pong => self.pong(payload, end),
            Control::Ping => {
                self.write(frame::PONG, payload);
                Taken::aside(end)
            }
            Control::Close => self.close(payload),
        }
    }

    #[inline]
    fn pong(&mut self, payload: &[u8], octets: usize) -> Taken {
        let number = payload.strip_prefix(&self.sign).and_then(|number| number.try_into().ok());
        match number.map(u32::from_be_bytes) {
            Some(number) => {
                self.fruitful = true;
                Taken::reply(octets, Reply { number: Some(number), ..Reply::answered(PONG) })
            }
            // A sign of life (section 5.5.3).
            None => Taken::aside(octets),
        }
    }

    /// Answers a Close, by taking its first octet; the rest of it is the end.
    fn close(&mut self, payload: &[u8]) -> Taken {
        match payload.first_chunk() {
            Some(code) if u16::from_be_bytes(*code) >= LOWEST_CODE => self.write(frame::CLOSE, code),
            None if payload.is_empty() => self.write(frame::CLOSE, &[]),
            _ => return Taken::unsound("a Close has a code that is none"),
        }
        self.stage = Stage::Closing;
        Taken::aside(1)
    }

    /// The end of a connection. One that has not brought a Pong yet was not meant for us.
    fn end(&mut self, octets: &[u8]) -> Taken {
        let rest = octets.split_first().and_then(|(length, rest)| rest.get(..usize::from(*length)));
        let Some(payload) = rest else { return Taken::MORE };
        self.stage = Stage::Closed;
        let taken = 1 + payload.len();
        let (code, reason) = match payload.split_first_chunk() {
            Some((code, reason)) => (u16::from_be_bytes(*code), reason),
            None => (NO_CODE, payload),
        };
        if self.fruitful {
            return Taken::reply(taken, Reply { closes: true, ..Reply::refused(Kind(code)) });
        }
        let between: &[u8] = if reason.is_empty() { b"" } else { b": " };
        Taken::declined(taken, &[self.kind(Kind(code)).as_bytes(), between, reason].concat())
    }

    fn write(&mut self, opcode: u8, payload: &[u8]) {
        let key = self.mask(Lot::AnswerMask, self.answers);
        self.answers += 1;
        frame::write(&mut self.answer, opcode, payload, key);
    }
}

impl Speech for WebSocket {
    fn opening(&self) -> Cow<'static, [u8]> {
        Cow::Owned(format!("{}Sec-WebSocket-Key: {}\r\n\r\n", self.head, self.key()).into_bytes())
    }

    fn begin(&mut self) {
        self.begun += 1;
        (self.stage, self.fruitful) = (Stage::Upgrade, false);
        self.answer.clear();
    }

    fn is_open(&self) -> bool {
        self.stage != Stage::Upgrade
    }

    fn request(&self) -> Vec<u8> {
        let mut request = Vec::with_capacity(frame::HEAD + PAYLOAD);
        frame::write(&mut request, frame::PING, &self.payload(0), self.mask(Lot::PingMask, 0));
        request
    }

    #[inline]
    fn mark(&self, request: &mut [u8], number: u64) {
        let key = self.mask(Lot::PingMask, number);
        let payload = self.payload(number);
        let marked = key.into_iter().chain(frame::masked(&payload, key));
        for (place, octet) in request.iter_mut().skip(frame::HEAD - key.len()).zip(marked) {
            *place = octet;
        }
    }

    #[inline]
    fn take(&mut self, octets: &[u8]) -> Taken {
        self.answer.clear();
        match self.stage {
            Stage::Frame => self.frame(octets),
            Stage::Passing(left) => {
                let part = octets.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left - part as u64;
                self.stage = if left == 0 { Stage::Frame } else { Stage::Passing(left) };
                if left == 0 { Taken::aside(part) } else { Taken::part(part) }
            }
            Stage::Upgrade => {
                let taken = upgrade::read(octets, &self.key(), self.subprotocol.as_deref());
                if taken.came == Came::Opened {
                    self.stage = Stage::Frame;
                }
                taken
            }
            Stage::Closing => self.end(octets),
            Stage::Closed => Taken::part(octets.len()),
        }
    }

    fn answer(&self) -> &[u8] {
        &self.answer
    }

    fn farewell(&self) -> Cow<'static, [u8]> {
        let mut close = Vec::new();
        if self.stage == Stage::Frame {
            // A mask that no answer has had.
            frame::write(&mut close, frame::CLOSE, &NORMAL.to_be_bytes(), self.mask(Lot::AnswerMask, self.answers));
        }
        Cow::Owned(close)
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        if kind == PONG {
            return Cow::Borrowed("Pong");
        }
        match CODES.iter().find(|(code, _)| *code == kind.0) {
            Some((code, name)) => Cow::Owned(format!("Close {code} {name}")),
            None => Cow::Owned(format!("Close {}", kind.0)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::application::speech::tests::{alike, hear};

    fn asked() -> Upgrade {
        Upgrade {
            host: "db1".into(),
            target: "/mqtt".into(),
            subprotocol: Some("mqtt".into()),
            fields: Vec::new(),
            agent: "sonde/1".into(),
        }
    }

    pub fn client() -> WebSocket {
        WebSocket::new(&asked(), [7; 16]).unwrap()
    }

    /// The client behind its upgrade.
    pub fn opened() -> WebSocket {
        let mut client = client();
        client.take(agreement("").as_bytes());
        client
    }

    /// The response as mosquitto 2.0.11 gives it, and these fields.
    fn agreement(more: &str) -> String {
        let proof = upgrade::proof(&client().key());
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {proof}\r\nSec-WebSocket-Protocol: mqtt\r\n{more}\r\n"
        )
    }

    fn pong(number: u32) -> Came {
        Came::Reply(Reply { number: Some(number), ..Reply::answered(PONG) })
    }

    /// A frame as a server sends it.
    fn sent(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = payload.len();
        let head = match length {
            0..126 => vec![first, length as u8],
            _ => [&[first, 126][..], &(length as u16).to_be_bytes()].concat(),
        };
        [&head, payload].concat()
    }

    fn answer_of(client: &WebSocket) -> Vec<u8> {
        let frame = client.answer();
        let key = *frame[2..].first_chunk().unwrap();
        frame[..2].iter().copied().chain(frame::masked(&frame[6..], key)).collect()
    }

    #[test]
    fn an_upgrade_is_as_the_standard_has_it() {
        let mut client = client();
        let key = client.key();
        let expected = format!(
            "GET /mqtt HTTP/1.1\r\nHost: db1\r\nUser-Agent: sonde/1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        );
        assert_eq!(String::from_utf8(client.opening().into_owned()).unwrap(), expected);
        assert_eq!(STANDARD.decode(&key).unwrap().len(), 16);
        client.begin();
        assert_ne!(client.key(), key, "each connection has its own");
        assert_ne!(client.clone().drawn([8; 16]).key(), client.key());
        let fields = vec![("host".to_owned(), "other".to_owned()), ("Cookie".to_owned(), "a=b".to_owned())];
        let plain = Upgrade { subprotocol: None, fields, ..asked() };
        let opening = WebSocket::new(&plain, [7; 16]).unwrap().opening().into_owned();
        let opening = String::from_utf8(opening).unwrap();
        assert!(opening.contains("\r\nhost: other\r\nCookie: a=b\r\n") && !opening.contains("Host"), "{opening}");
        assert!(!opening.contains("Protocol"), "{opening}");
    }

    #[test]
    fn a_ping_carries_its_number_under_a_mask_of_its_own() {
        let client = client();
        let mut request = client.request();
        assert_eq!((request.len(), &request[..2]), (14, &[0x89, 0x88][..]));
        let read = |request: &[u8]| {
            let key = *request[2..].first_chunk().unwrap();
            (key, frame::masked(&request[6..], key).collect::<Vec<_>>())
        };
        assert_eq!(read(&request).1, client.payload(0));
        let mut keys = Vec::new();
        for number in [0, 1, 2, 0x1_2345_6789] {
            client.mark(&mut request, number);
            let (key, payload) = read(&request);
            assert_eq!(
                (payload.as_slice(), &payload[4..]),
                (&client.payload(number)[..], &(number as u32).to_be_bytes()[..])
            );
            assert!(!keys.contains(&key), "a key is used once");
            keys.push(key);
        }
        client.mark(&mut [], 1);
        client.mark(&mut [0; 9], 1);
    }

    #[test]
    fn a_server_answers_pings_and_is_answered() {
        let ours = |number: u64| sent(0x8A, &client().payload(number));
        let octets = [
            agreement("").as_bytes(),
            &ours(1),
            // Unasked messages of programs: a text in three parts with a Ping between, a long message, an empty one.
            &sent(0x01, b"he"),
            &sent(0x89, b"alive?"),
            &sent(0x00, b"ll"),
            &sent(0x80, b"o"),
            &sent(0x82, &[1; 300]),
            &sent(0x81, b""),
            &sent(0x8A, b""),
            &sent(0x8A, b"12345678"),
            &ours(0x1_FFFF_FFFF),
        ]
        .concat();
        let mut expected = vec![Came::Opened, pong(1)];
        expected.resize(expected.len() + 8, Came::Aside);
        expected.push(pong(u32::MAX));
        assert_eq!(alike(&client(), &octets), expected);

        let mut client = opened();
        assert!(client.is_open());
        client.take(&sent(0x89, b"alive?"));
        assert_eq!(answer_of(&client), b"\x8A\x86alive?");
        let first = client.answer()[2..6].to_vec();
        client.take(&sent(0x89, &[9; 125]));
        assert_eq!(answer_of(&client)[..4], [0x8A, 0xFD, 9, 9]);
        assert_ne!(client.answer()[2..6], first);
        client.take(&ours(1));
        assert_eq!(client.answer(), b"");
        client.begin();
        assert!(!client.is_open());
    }

    // As nginx 1.22.1 answers at places without WebSocket, and others; shortened.
    #[test_case("HTTP/1.1 403 Forbidden\r\nServer: nginx/1.22.1\r\nContent-Length: 153\r\n\r\n", &[Taken::declined(0, b"HTTP/1.1 403 Forbidden").came]; "forbidden")]
    #[test_case("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", &[Taken::declined(0, b"HTTP/1.1 200 OK").came]; "no upgrade")]
    #[test_case("HTTP/1.1 426 Upgrade Required\r\n\r\n", &[Taken::declined(0, b"HTTP/1.1 426 Upgrade Required").came]; "another version")]
    #[test_case("HTTP/1.0 502 Bad Gateway\r\n\r\n", &[Taken::declined(0, b"HTTP/1.0 502 Bad Gateway").came]; "nothing behind a proxy")]
    #[test_case("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", &[Came::Unsound("the server switches to something else than WebSocket")]; "another protocol")]
    #[test_case("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: keep-alive, upgrade\r\n\r\n", &[Came::Unsound("the server does not prove that it has read the upgrade")]; "no proof")]
    #[test_case("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", &[Came::Unsound("the server does not prove that it has read the upgrade")]; "the proof of another")]
    #[test_case("SSH-2.0-OpenSSH_9.2p1\r\n", &[Came::Unsound("the reply is none of HTTP/1")]; "another program")]
    fn what_is_no_upgrade(octets: &str, expected: &[Came]) {
        assert_eq!(alike(&client(), octets.as_bytes())[..1], *expected);
    }

    #[test_case("Sec-WebSocket-Extensions: permessage-deflate\r\n", "the server chose an extension that it was not offered"; "an extension")]
    #[test_case("Sec-WebSocket-Protocol: chat\r\n", "the server chose a subprotocol that it was not offered"; "a subprotocol")]
    fn nothing_is_agreed_on_that_was_not_offered(more: &str, why: &'static str) {
        assert_eq!(alike(&client(), agreement(more).as_bytes()), [Came::Unsound(why)]);
    }

    #[test]
    fn an_interim_response_is_passed_over() {
        let octets = ["HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", &agreement("")].concat();
        assert_eq!(alike(&client(), octets.as_bytes()), [Came::Aside, Came::Opened]);
    }

    #[test]
    fn a_close_ends_the_connection_and_is_answered() {
        let closes = |kind| Came::Reply(Reply { closes: true, ..Reply::refused(Kind(kind)) });
        let ours = sent(0x8A, &client().payload(1));
        let octets = [&ours, &sent(0x88, b"\x03\xE9bye")[..], b"whatever"].concat();
        assert_eq!(alike(&opened(), &octets), [pong(1), Came::Aside, closes(1001)]);
        let octets = [&ours[..], &[0x88, 0]].concat();
        assert_eq!(alike(&opened(), &octets), [pong(1), Came::Aside, closes(NO_CODE)]);
        // Programs that look who it is behind the upgrade.
        let declined = |words: &[u8]| [Came::Aside, Taken::declined(0, words).came];
        assert_eq!(
            alike(&opened(), &sent(0x88, b"\x03\xF0no token")),
            declined(b"Close 1008 policy violation: no token")
        );
        assert_eq!(alike(&opened(), &sent(0x88, b"\x11\x31")), declined(b"Close 4401"));
        for wrong in [&b"\x03"[..], b"\0\x07"] {
            assert_eq!(alike(&opened(), &sent(0x88, wrong)), [Came::Unsound("a Close has a code that is none")]);
        }
        let mut client = opened();
        client.take(&sent(0x88, b"\x03\xE9bye"));
        assert_eq!(answer_of(&client), b"\x88\x82\x03\xE9");
        let names = [0, 1001, 4401].map(|kind| client.kind(Kind(kind)));
        assert_eq!(names, ["Pong", "Close 1001 going away", "Close 4401"]);
    }

    #[test]
    fn a_message_of_any_length_is_not_kept() {
        let mut client = opened();
        client.take(&[0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(client.take(&[0x8A; 1_000]), Taken::part(1_000));
        assert_eq!(client.stage, Stage::Passing((u64::MAX >> 1) - 1_000));
    }

    fn frames() -> impl Strategy<Value = (Vec<u8>, Came)> {
        let octets = |most| prop::collection::vec(any::<u8>(), 0..most);
        prop_oneof![
            (prop::sample::select(&[0_u8, 1, 2, 0x80, 0x81, 0x82][..]), octets(400))
                .prop_map(|(first, payload)| (sent(first, &payload), Came::Aside)),
            octets(126).prop_map(|payload| (sent(0x89, &payload), Came::Aside)),
            octets(8).prop_map(|payload| (sent(0x8A, &payload), Came::Aside)),
            any::<u32>().prop_map(|number| (sent(0x8A, &client().payload(number.into())), pong(number))),
        ]
    }

    proptest! {
        /// Sound frames are recognised, in whatever pieces they come.
        #[test]
        fn frames_are_told_apart_however_they_are_cut(frames in prop::collection::vec(frames(), 0..12), every in 1_usize..60) {
            let (octets, expected): (Vec<_>, Vec<_>) = frames.into_iter().unzip();
            prop_assert_eq!(hear(&mut opened(), &octets.concat(), |end| end.is_multiple_of(every)), expected);
        }

        /// A response to the upgrade with any octet changed: no panic, the same however it is cut, and no other proof is believed.
        #[test]
        fn a_response_is_not_upset_by_an_octet(at in any::<prop::sample::Index>(), octet: u8, every in 1_usize..60) {
            let mut octets = agreement("").into_bytes();
            *at.get_mut(&mut octets) = octet;
            let whole = hear(&mut client(), &octets, |_| false);
            prop_assert_eq!(hear(&mut client(), &octets, |end| end.is_multiple_of(every)), whole);
        }
    }
}
