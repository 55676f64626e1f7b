//! DNS (RFC 1035): one question over and over, by UDP, or by TCP with its length in front (RFC 7766).
//!
//! A reply is taken for ours where its number, its question and the bit of a response fit. Over UDP that is all there
//! is against a forger who does not see the question, so numbers follow in an order that nobody outside foresees. A
//! resolver answers from its cache a thousand times sooner than by asking: the same name each time is the cache's.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use measure::reach::Transport;

use super::mix::{Item, Turns};
use super::number::{Shuffle, nearest};
use super::speech::{Kind, Protocol, Reply, Speech, Taken};
use super::tally::{Counted, Tally};
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["dns"],
    over: Transport::Udp,
    port: 53,
    tls: None,
    asks: "an address; dns://HOST/NAME?type=AAAA says what is asked for",
};
/// The same over TCP.
pub const OVER_TCP: Protocol = Protocol { schemes: &["dns+tcp"], over: Transport::Tcp, ..PROTOCOL };
/// The same through TLS (RFC 7858).
pub const OVER_TLS: Protocol = Protocol { schemes: &["dns+tls"], port: 853, tls: Some("dot"), ..OVER_TCP };

/// The same over HTTP/2 (RFC 8484): [`super::h2`] speaks it.
pub const OVER_HTTPS: Protocol = Protocol { schemes: &["dns+https"], port: 443, tls: Some("h2"), ..OVER_TCP };

/// Octets of a header.
const HEADER: usize = 12;
/// Longest name, octets on the wire (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;
/// Octets of a question by which [`Questions::answer_begun`] knows it: the shortest has one more.
const BEGINS: usize = 4;
/// A datagram that is longer than this is none that we asked for: no larger one was allowed (RFC 1035 section 4.2.1).
pub const LONGEST_DATAGRAM: usize = 512;
const RESPONSE: u8 = 0x80;
const OPERATION: u8 = 0x78;
const TRUNCATED: u8 = 0x02;
const RECURSION: u8 = 0x01;
/// Set in a kind whose reply was cut off.
const CUT: u16 = 0x100;

/// Response codes by their names (IANA, DNS RCODEs).
const CODES: [&str; 11] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH",
    "NOTZONE",
];
/// Response codes of a server that did the request: that there is no such name is an answer.
const SOUND: [u16; 2] = [0, 3];
/// The operation STATUS, where it stands in a header (RFC 1035 section 4.1.1), and the usual answer to it.
const STATUS: u8 = 2 << 3;
const NOT_IMPLEMENTED: u16 = 4;

/// Types that can be asked for (IANA, DNS resource record types).
const TYPES: [(&str, u16); 10] = [
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("HTTPS", 65),
];

/// Reason to refuse a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// A part between dots is empty, too long or not ASCII.
    #[error("{0:?} has a part that is empty or longer than 63 octets, or is not ASCII (write its xn-- form)")]
    Label(String),
    /// All together are too long.
    #[error("a name has at most 255 octets")]
    Name,
    /// Not one of the types.
    #[error("unsupported record type {0:?}: use A, AAAA, CNAME, HTTPS, MX, NS, PTR, SOA, SRV or TXT")]
    Type(String),
}

/// A question, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The message, its number zero.
    message: Vec<u8>,
    /// As it is said.
    words: String,
}

impl Question {
    /// The records of type `kind` of `name`, which recursion may find. The root is `.`.
    ///
    /// # Errors
    /// A name or a type that there is not.
    pub fn new(name: &str, kind: &str) -> Result<Self, QuestionError> {
        let upper = kind.to_ascii_uppercase();
        let number =
            TYPES.iter().find(|(word, _)| *word == upper).ok_or_else(|| QuestionError::Type(kind.to_owned()))?;
        let mut message = vec![0, 0, RECURSION, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let labels = name.strip_suffix('.').unwrap_or(name);
        for label in labels.split('.').filter(|_| !labels.is_empty()) {
            let plain = label.bytes().all(|octet| octet.is_ascii_graphic());
            let fits = plain && (1..=LONGEST_LABEL).contains(&label.len());
            let length = u8::try_from(label.len()).ok().filter(|_| fits);
            message.push(length.ok_or_else(|| QuestionError::Label(name.to_owned()))?);
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
        if message.len() - HEADER > LONGEST_NAME {
            return Err(QuestionError::Name);
        }
        message.extend_from_slice(&number.1.to_be_bytes());
        message.extend_from_slice(&1_u16.to_be_bytes());
        let words = format!("{upper} {}", if labels.is_empty() { "." } else { labels });
        Ok(Self { message, words })
    }

    /// The operation STATUS: a header and nothing else, which touches neither a cache nor a zone. Servers answer that they do not have it.
    pub fn status() -> Self {
        let mut message = vec![0; HEADER];
        message[2] = STATUS;
        Self { message, words: "STATUS".to_owned() }
    }

    /// The message as it is sent over UDP, its number zero.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// As it is said: `A example.org`.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Octets of the question as it is sent over UDP.
    pub fn length(&self) -> usize {
        self.message.len()
    }

    /// The message without a number: over HTTP there is none (RFC 8484 section 4.1).
    pub(super) fn unnumbered(&self) -> &[u8] {
        &self.message
    }

    /// Number and reply in `message`, where it is the answer to this question.
    #[inline]
    pub fn read(&self, message: &[u8]) -> Option<(u16, Reply)> {
        self.read_as(message, &self.message[HEADER..])
    }

    /// Number and reply in `message`, where its question begins as `asked`.
    #[inline]
    fn read_as(&self, message: &[u8], asked: &[u8]) -> Option<(u16, Reply)> {
        let [high, low, first, second, ..] = *message else { return None };
        // Some servers leave the question out where they do not understand it.
        let repeats =
            message.get(4..6) == Some(&[0, 1]) && message.get(HEADER..).is_some_and(|rest| is_question(rest, asked));
        let leaves_out = message.get(4..6) == Some(&[0, 0]) && (second & 0x0F != 0 || asked.is_empty());
        let same = first & OPERATION == self.message[2] & OPERATION;
        if message.len() < HEADER || first & RESPONSE == 0 || !same || !(repeats || leaves_out) {
            return None;
        }
        let code = u16::from(second & 0x0F);
        let kind = Kind(code | if first & TRUNCATED == 0 { 0 } else { CUT });
        let is_sound = SOUND.contains(&code) || asked.is_empty() && code == NOT_IMPLEMENTED;
        let reply = if is_sound { Reply::answered(kind) } else { Reply::refused(kind) };
        Some((u16::from_be_bytes([high, low]), reply))
    }

    pub(super) fn kind(kind: Kind) -> Cow<'static, str> {
        let code = usize::from(kind.0 & 0x0F);
        let name = CODES.get(code).map_or_else(|| Cow::Owned(format!("RCODE {code}")), |name| Cow::Borrowed(*name));
        if kind.0 & CUT == 0 { name } else { Cow::Owned(format!("{name}, truncated")) }
    }
}

/// True where `rest` begins with the question that was asked: names are the same in capitals (RFC 4343).
fn is_question(rest: &[u8], asked: &[u8]) -> bool {
    rest.get(..asked.len()).is_some_and(|given| given.eq_ignore_ascii_case(asked))
}

/// The order of names: they are the same in capitals.
fn in_order(one: &[u8], other: &[u8]) -> Ordering {
    one.iter().map(u8::to_ascii_lowercase).cmp(other.iter().map(u8::to_ascii_lowercase))
}

/// Questions without numbers: that of all, or those of a mix by their beginnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Questions {
    first: Question,
    /// The beginnings where they differ, in their order.
    several: Arc<[[u8; BEGINS]]>,
}

impl Questions {
    /// One that is asked over and over.
    pub fn one(first: Question) -> Self {
        Self { first, several: Arc::default() }
    }

    /// The same of questions that differ, by their messages.
    pub fn mixed<'a>(self, messages: impl Iterator<Item = &'a [u8]>) -> Self {
        let begins = messages.filter_map(|message| message.get(HEADER..)?.first_chunk().copied());
        let mut several: Vec<[u8; BEGINS]> = begins.collect();
        several.sort_unstable_by(|one, other| in_order(one, other));
        Self { several: several.into(), ..self }
    }

    /// The reply that begins with `message`, where that answers one of them.
    pub fn answer_begun(&self, message: &[u8]) -> Option<Reply> {
        let first = self.first.message.get(HEADER..HEADER + BEGINS)?;
        let given = message.get(HEADER..HEADER + BEGINS);
        let place = given.and_then(|given| self.several.binary_search_by(|asked| in_order(asked, given)).ok());
        let asked = place.and_then(|place| self.several.get(place)).map_or(first, |asked| asked);
        let (number, reply) = self.first.read_as(message, asked)?;
        (number == 0).then_some(reply)
    }
}

/// A question over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverTcp {
    question: Question,
    /// The questions where they differ, in their order.
    several: Arc<[Box<[u8]>]>,
    shuffle: Shuffle,
}

impl OverTcp {
    /// A client that asks `question`; its numbers follow by chance, which `draw` is.
    pub fn new(question: Question, draw: [u8; 16]) -> Self {
        Self { question, several: Arc::default(), shuffle: Shuffle(draw) }
    }

    /// The same of questions that differ, as they go over TCP.
    #[must_use]
    pub fn mixed(self, items: &[Item]) -> Self {
        let asked = items.iter().filter_map(|item| item.octets.get(2 + HEADER..));
        let mut several: Vec<Box<[u8]>> = asked.map(Into::into).collect();
        several.sort_unstable_by(|one, other| in_order(one, other));
        Self { several: several.into(), ..self }
    }

    /// Returns number and reply in `message`, where it answers one of our questions. No question begins with another.
    fn read(&self, message: &[u8]) -> Option<(u16, Reply)> {
        let rest = message.get(HEADER..).filter(|_| !self.several.is_empty());
        let Some(rest) = rest else { return self.question.read(message) };
        let place = self.several.binary_search_by(|asked| in_order(asked, &rest[..asked.len().min(rest.len())]));
        // Some servers leave the question out of an error.
        let asked = place.ok().and_then(|place| self.several.get(place));
        self.question.read_as(message, asked.map_or(&self.question.message[HEADER..], |asked| asked))
    }

    /// The same with numbers of its own, which `draw` is.
    #[must_use]
    pub fn drawn(self, draw: [u8; 16]) -> Self {
        Self { shuffle: Shuffle(draw), ..self }
    }

    /// Its question in words.
    pub fn words(&self) -> &str {
        self.question.words()
    }
}

impl Speech for OverTcp {
    fn request(&self) -> Vec<u8> {
        let length = self.question.message.len() as u16;
        [&length.to_be_bytes(), &self.question.message[..]].concat()
    }

    fn mark(&self, request: &mut [u8], number: u64) {
        if let Some(place) = request.get_mut(2..4) {
            place.copy_from_slice(&self.shuffle.place(number as u16).to_be_bytes());
        }
    }

    fn mark_bits(&self) -> u32 {
        u16::BITS
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        let [high, low, rest @ ..] = octets else { return Taken::MORE };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < HEADER {
            return Taken::unsound("a message is shorter than its header");
        }
        let Some(message) = rest.get(..length) else { return Taken::MORE };
        match self.read(message) {
            // Replies may come in another order (RFC 7766 section 7): the number says whose each is.
            Some((place, reply)) => {
                let number = self.shuffle.number(place);
                Taken::reply(2 + length, Reply { number: Some(u32::from(number)), ..reply })
            }
            None => Taken::unsound("the reply is none to the question"),
        }
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Question::kind(kind)
    }
}

/// A question over UDP, and whose reply is whose.
#[derive(Clone, Debug)]
pub struct OverUdp {
    question: Question,
    shuffle: Shuffle,
    tally: Arc<Tally>,
    /// The number of the first request that is recorded.
    recorded: u64,
    /// One more than the number of the latest request.
    asked: u64,
    counted: Counted,
    /// Where questions differ: whose turn it is.
    turns: Option<Turns>,
}

impl OverUdp {
    /// A client that asks `question` and counts in `tally`; its numbers follow by chance, which `draw` is.
    pub fn new(question: Question, draw: [u8; 16], tally: Arc<Tally>) -> Self {
        Self {
            question,
            shuffle: Shuffle(draw),
            tally,
            recorded: 0,
            asked: 0,
            counted: Counted::default(),
            turns: None,
        }
    }

    /// The same of questions that differ.
    #[must_use]
    pub fn mixing(self, turns: Option<Turns>) -> Self {
        Self { turns, ..self }
    }

    /// Octets of a request.
    pub fn length(&self) -> usize {
        self.question.length()
    }

    /// The name of a kind of reply.
    pub fn kind(kind: Kind) -> Cow<'static, str> {
        Question::kind(kind)
    }
}

impl Wire for OverUdp {
    fn open(&mut self, message: &mut [u8]) {
        let length = message.len().min(self.question.message.len());
        message[..length].copy_from_slice(&self.question.message[..length]);
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        if flags.has(Flags::WARM_UP) {
            self.recorded = seq + 1;
        }
        self.asked = seq + 1;
        self.counted.asked(seq);
        let message = self.turns.as_mut().map_or(message, |turns| turns.turn_to(seq, self.recorded));
        if let Some(place) = message.get_mut(..2) {
            place.copy_from_slice(&self.shuffle.place(seq as u16).to_be_bytes());
        }
    }

    #[inline]
    fn prepared<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        self.turns.as_ref().map_or(message, Turns::written)
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        let Some(place) = reply.first_chunk().map(|number| u16::from_be_bytes(*number)) else { return Reading::Stray };
        let number = nearest(u32::from(self.shuffle.number(place)), 16, oldest);
        // A reply to a question that was never asked is forged or lost its way, and is not counted.
        if number >= self.asked {
            return Reading::Stray;
        }
        let turn = self.turns.as_ref().map(|turns| (turns, turns.item(number, self.recorded)));
        let asked = turn.map_or(&self.question.message, |(_, item)| &item.octets);
        let Some((_, read)) = self.question.read_as(reply, &asked[HEADER..]) else { return Reading::Stray };
        if number >= self.recorded && self.counted.first(number) {
            let octets = reply.len() as u64;
            self.tally.count(read.kind, read.sound, octets);
            if let Some((turns, item)) = turn {
                turns.count(item.class, &read, read.sound, octets);
            }
        }
        if read.sound { Reading::Reply(number) } else { Reading::Refused(number) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::application::speech::Came;
    use crate::application::speech::tests::alike;

    const DRAW: [u8; 16] = [7; 16];

    fn question() -> Question {
        Question::new("a.test.", "a").unwrap()
    }

    /// The answer to `question` with this number, these two octets of flags and a record behind it.
    fn answer(number: u16, flags: [u8; 2]) -> Vec<u8> {
        let mut message = question().message;
        message[..2].copy_from_slice(&number.to_be_bytes());
        message[2..4].copy_from_slice(&flags);
        message[7] = 1;
        message.extend_from_slice(&[0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
        message
    }

    #[test]
    fn a_question_is_as_the_standard_has_it() {
        let asked = question();
        assert_eq!(asked.message, b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01");
        assert_eq!((asked.words(), asked.length()), ("A a.test", 24));
        assert_eq!(Question::new(".", "NS").unwrap().message[HEADER..], [0, 0, 2, 0, 1]);
    }

    #[test]
    fn a_status_is_answered_by_a_header() {
        let status = Question::status();
        assert_eq!(status.message(), b"\0\0\x10\0\0\0\0\0\0\0\0\0");
        // As bind 9.18 and unbound 1.17 answer: there is no such operation, which is an answer in time.
        let answer = b"\x55\xaa\x90\x04\0\0\0\0\0\0\0\0";
        assert_eq!(status.read(answer), Some((0x55AA, Reply::answered(Kind(NOT_IMPLEMENTED)))));
        assert_eq!(status.read(b"\x55\xaa\x90\x05\0\0\0\0\0\0\0\0"), Some((0x55AA, Reply::refused(Kind(5)))));
        for other in [&answer[..11], b"\x55\xaa\x80\x04\0\0\0\0\0\0\0\0", b"\x55\xaa\x10\0\0\0\0\0\0\0\0\0"] {
            assert_eq!(status.read(other), None);
        }
        assert_eq!(question().read(answer), None, "of another operation");
    }

    #[test_case("a..b", "A", QuestionError::Label("a..b".into()); "an empty part")]
    #[test_case(&"x".repeat(64), "A", QuestionError::Label("x".repeat(64)); "a long part")]
    #[test_case(&["x".repeat(63).as_str(); 5].join("."), "A", QuestionError::Name; "a long name")]
    #[test_case("bücher.test", "A", QuestionError::Label("bücher.test".into()); "not ASCII")]
    #[test_case("a.test", "ANY", QuestionError::Type("ANY".into()); "a type that is not asked for")]
    fn what_cannot_be_asked(name: &str, kind: &str, expected: QuestionError) {
        assert_eq!(Question::new(name, kind), Err(expected));
    }

    fn wire() -> (OverUdp, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        (OverUdp::new(question(), DRAW, Arc::clone(&tally)), tally)
    }

    #[test]
    fn a_reply_is_known_by_number_and_question() {
        let (mut wire, tally) = wire();
        let mut request = vec![0; question().length()];
        wire.open(&mut request);
        wire.prepare(&mut request, 70_000, Flags::NONE);
        let number = u16::from_be_bytes([request[0], request[1]]);
        let answers = [
            ([0x81, 0x80], Reading::Reply(70_000)),
            ([0x81, 0x85], Reading::Refused(70_000)),
            ([0x81, 0x83], Reading::Reply(70_000)),
            ([0x83, 0x80], Reading::Reply(70_000)),
        ];
        for (flags, reading) in answers {
            wire.prepare(&mut request, 70_000, Flags::NONE);
            assert_eq!(wire.identify(&answer(number, flags), 70_000), reading);
            // A copy is one to the recorder, and no reply of another kind.
            assert_eq!(wire.identify(&answer(number, [0x81, 0x80]), 70_000), Reading::Reply(70_000));
        }
        assert_eq!(tally.kinds().iter().map(|(_, _, count)| count).sum::<u64>(), 4);
        let kinds: Vec<_> = tally.kinds().into_iter().map(|(kind, ..)| Question::kind(kind)).collect();
        assert_eq!(kinds, ["NOERROR", "REFUSED", "NXDOMAIN", "NOERROR, truncated"]);
        let mut another = answer(number, [0x81, 0x80]);
        another[13] = b'b';
        let capital = {
            let mut message = answer(number, [0x81, 0x80]);
            message[13] = b'A';
            message
        };
        assert_eq!(wire.identify(&capital, 70_000), Reading::Reply(70_000));
        for stray in
            [&another[..], &request, &answer(number, [0x91, 0x80]), b"\0\0\0", &answer(number, [0x81, 0x80])[..20]]
        {
            assert_eq!(wire.identify(stray, 70_000), Reading::Stray);
        }
        assert_ne!(
            wire.identify(&answer(number.wrapping_add(1), [0x81, 0x80]), 70_000),
            Reading::Reply(70_000),
            "forged"
        );
    }

    #[test]
    fn what_is_not_recorded_is_not_counted() {
        let (mut wire, tally) = wire();
        let mut request = vec![0; question().length()];
        wire.open(&mut request);
        wire.prepare(&mut request, 4, Flags::WARM_UP);
        let number = u16::from_be_bytes([request[0], request[1]]);
        assert_eq!(wire.identify(&answer(number, [0x81, 0x80]), 4), Reading::Reply(4));
        assert_eq!(tally.kinds(), []);
    }

    #[test]
    fn replies_over_tcp_have_their_length_in_front() {
        let speech = OverTcp::new(question(), DRAW);
        let mut request = speech.request();
        assert_eq!(request[..2], [0, 24]);
        speech.mark(&mut request, 5);
        let place = u16::from_be_bytes([request[2], request[3]]);
        let message = answer(place, [0x81, 0x80]);
        let framed = [&(message.len() as u16).to_be_bytes(), &message[..]].concat();
        let reply = Came::Reply(Reply { number: Some(5), ..Reply::answered(Kind(0)) });
        assert_eq!(alike(&speech, &[&framed[..], &framed].concat()), [reply.clone(), reply]);
        assert_eq!(alike(&speech, b"\0\x03abc"), [Came::Unsound("a message is shorter than its header")]);
        assert_eq!(
            alike(&speech, &[&[0, 24], &request[2..]].concat()),
            [Came::Unsound("the reply is none to the question")]
        );
    }

    proptest! {
        #[test]
        fn no_datagram_upsets_it(reply in prop::collection::vec(any::<u8>(), 0..600), oldest: u64) {
            wire().0.identify(&reply, oldest >> 1);
        }
    }
}
