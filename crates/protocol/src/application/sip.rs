//! SIP (RFC 3261) over UDP: OPTIONS, which asks a server or a telephone for its abilities and changes nothing there (section 11).
//!
//! The answer is that which a call would get (section 11.2): 486 of one that is busy, 404 of one that is not there.
//! Only 503 says that the server did nothing. Provisional responses are passed over. Nothing is sent again where no
//! answer comes (section 17.1.2): a lost request stays lost.
//!
//! `Via` should name our own address, which a program behind a translation of addresses does not know. It names a host that there cannot be
//! (RFC 6761 section 6.4), so that a server looks where the request came from (section 18.2.1), and `rport` asks it to answer to that port
//! (RFC 3581). A server without RFC 3581 answers to port 5060, and is not heard.
//!
//! A response is ours by the transaction in its `Via` and `CSeq` (section 17.1.3). Each request has a branch, a tag and a call of its own, as one
//! outside of a dialog has to (sections 8.1.1.3 and 8.1.1.4). Nobody who does not see the request foresees them: they are the SipHash-2-4
//! of its number with a key that chance has made.

use std::borrow::Cow;
use std::hash::Hasher as _;
use std::sync::Arc;

use measure::reach::Transport;
use siphasher::sip::SipHasher24;

use super::number::nearest;
use super::speech::{Kind, Protocol};
use super::tally::{Counted, Tally};
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["sip"],
    over: Transport::Udp,
    port: 5060,
    tls: None,
    asks: "OPTIONS; sip://USER@HOST asks for one that is registered there",
};

/// Longest datagram: of one that is cut the body would be missing.
pub const LONGEST_DATAGRAM: usize = 65_535;

/// The status by which a server says that it did not do the request.
const DID_NOTHING: u16 = 503;
/// Begins each branch that is unlike all others (section 8.1.1.7).
const COOKIE: &[u8] = b"z9hG4bK";
/// Digits of a branch, a tag and a call, hexadecimal.
const DIGITS: usize = 16;
/// Bits of a number that come back in `CSeq`, which ends below 2^31 (section 8.1.1.5).
const BITS: u32 = 30;
/// The first sequence number, so that all have as many digits.
const FIRST: u32 = 1_000_000_000;
/// Digits of each sequence number, decimal.
const DECIMALS: usize = 10;

/// Reason to refuse a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A host is a name or an address.
    #[error("{0:?} is not a SIP host: use a name, an address, or an IPv6 address in brackets")]
    Host(String),
    /// A user is a word.
    #[error("{0:?} is not a SIP user: write octets that a word cannot have as %XX")]
    User(String),
    /// A program is a word.
    #[error("{0:?} is not a program name")]
    Agent(String),
}

/// A question of OPTIONS, and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    uri: String,
    agent: String,
    words: String,
}

/// A message, and the places in it that change.
#[derive(Clone, Debug)]
struct Message {
    octets: Vec<u8>,
    /// The places of branch, tag and call.
    ids: [(Lot, usize); 3],
    sequence: usize,
}

impl Options {
    /// Asks `host`, as its URL has it, or `user` there. `agent` is the program that asks.
    ///
    /// # Errors
    /// A host, a user or a program that cannot be written.
    pub fn new(host: &str, user: Option<&str>, agent: &str) -> Result<Self, OptionsError> {
        let plain = |text: &str, others: &[u8]| {
            !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_alphanumeric() || others.contains(&octet))
        };
        if !plain(host, b".-_[]:") {
            return Err(OptionsError::Host(host.to_owned()));
        }
        // Section 25.1, `user`.
        if let Some(user) = user.filter(|user| !plain(user, b"-_.!~*'()%&=+$,;?/")) {
            return Err(OptionsError::User(user.to_owned()));
        }
        if !plain(agent, b"-.!%*_+`'~/") {
            return Err(OptionsError::Agent(agent.to_owned()));
        }
        let uri = user.map_or_else(|| format!("sip:{host}"), |user| format!("sip:{user}@{host}"));
        let words = format!("OPTIONS {uri}");
        Ok(Self { uri, agent: agent.to_owned(), words })
    }

    /// As it is said: `OPTIONS sip:db1`.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Octets of a request.
    pub fn length(&self) -> usize {
        self.message().octets.len()
    }

    fn message(&self) -> Message {
        let Self { uri, agent, .. } = self;
        let mut octets = format!("OPTIONS {uri} SIP/2.0\r\nVia: SIP/2.0/UDP sonde.invalid;branch=z9hG4bK").into_bytes();
        let to = format!("\r\nTo: <{uri}>\r\nCall-ID: ");
        let ids = [
            (Lot::Branch, ";rport\r\nMax-Forwards: 70\r\nFrom: <sip:sonde@sonde.invalid>;tag="),
            (Lot::Tag, &to),
            (Lot::Call, "\r\nCSeq: "),
        ];
        let ids = ids.map(|(lot, behind)| {
            let place = octets.len();
            octets.extend_from_slice(&[b'0'; DIGITS]);
            octets.extend_from_slice(behind.as_bytes());
            (lot, place)
        });
        let sequence = octets.len();
        octets.extend_from_slice(&decimals(FIRST));
        let rest = format!(" OPTIONS\r\nAccept: application/sdp\r\nUser-Agent: {agent}\r\nContent-Length: 0\r\n\r\n");
        octets.extend_from_slice(rest.as_bytes());
        Message { octets, ids, sequence }
    }
}

/// The uses of chance: none of its numbers tells anything of another.
#[derive(Clone, Copy, Debug)]
enum Lot {
    Branch,
    Call,
    Tag,
}

/// Requests of OPTIONS, and whose response is whose.
#[derive(Clone, Debug)]
pub struct Sip {
    message: Message,
    /// Whatever chance has made.
    draw: [u8; 16],
    tally: Arc<Tally>,
    /// The number of the first request that is recorded.
    recorded: u64,
    counted: Counted,
}

impl Sip {
    /// A client that asks `options` and counts in `tally`. Chance has made `draw`.
    pub fn new(options: &Options, draw: [u8; 16], tally: Arc<Tally>) -> Self {
        Self { message: options.message(), draw, tally, recorded: 0, counted: Counted::default() }
    }

    /// Octets of a request.
    pub fn length(&self) -> usize {
        self.message.octets.len()
    }

    /// The name of a kind of reply.
    pub fn kind(kind: Kind) -> Cow<'static, str> {
        Cow::Owned(kind.0.to_string())
    }

    #[inline]
    fn id(&self, lot: Lot, number: u64) -> [u8; DIGITS] {
        let mut hasher = SipHasher24::new_with_key(&self.draw);
        hasher.write_u8(lot as u8);
        hasher.write_u64(number);
        let hash = hasher.finish();
        std::array::from_fn(|place| b"0123456789abcdef"[(hash >> (4 * place)) as usize & 15])
    }

    /// The number of the request that `response` answers.
    #[inline]
    fn number(&self, response: &Response<'_>, oldest: u64) -> Option<u64> {
        let low = response.sequence.checked_sub(FIRST).filter(|low| low >> BITS == 0)?;
        let number = nearest(low, BITS, oldest);
        // Letters of a branch are the same in capitals (section 7.3.1).
        let (cookie, digits) = response.branch.split_at_checked(COOKIE.len())?;
        let fits = digits.eq_ignore_ascii_case(&self.id(Lot::Branch, number));
        (fits && cookie.eq_ignore_ascii_case(COOKIE)).then_some(number)
    }
}

#[inline]
fn decimals(mut number: u32) -> [u8; DECIMALS] {
    let mut digits = [0; DECIMALS];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

impl Wire for Sip {
    fn open(&mut self, message: &mut [u8]) {
        for (place, octet) in message.iter_mut().zip(&self.message.octets) {
            *place = *octet;
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        let Message { ids, sequence, .. } = self.message;
        for (lot, place) in ids {
            if let Some(place) = message.get_mut(place..place + DIGITS) {
                place.copy_from_slice(&self.id(lot, seq));
            }
        }
        if let Some(place) = message.get_mut(sequence..sequence + DECIMALS) {
            place.copy_from_slice(&decimals(FIRST + (seq & ((1 << BITS) - 1)) as u32));
        }
        self.counted.asked(seq);
        if flags.has(Flags::WARM_UP) {
            self.recorded = seq + 1;
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        let Some(response) = Response::read(reply) else { return Reading::Stray };
        let Some(number) = self.number(&response, oldest) else { return Reading::Stray };
        // A provisional response: the one that counts follows (section 8.2.6.1).
        if response.status < 200 {
            return Reading::Stray;
        }
        let is_kept = response.call == self.id(Lot::Call, number) && response.tag == self.id(Lot::Tag, number);
        if !response.is_whole || !is_kept {
            return Reading::Corrupt(Some(number));
        }
        let is_sound = response.status != DID_NOTHING;
        if number >= self.recorded && self.counted.first(number) {
            self.tally.count(Kind(response.status), is_sound, reply.len() as u64);
        }
        if is_sound { Reading::Reply(number) } else { Reading::Refused(number) }
    }
}

/// The parts of a response that say whose it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Response<'a> {
    status: u16,
    branch: &'a [u8],
    sequence: u32,
    call: &'a [u8],
    tag: &'a [u8],
    /// Set where the head has an end, and behind it stands as much as it says (section 18.3).
    is_whole: bool,
}

impl<'a> Response<'a> {
    /// The response to a request of OPTIONS that `datagram` is. One that passed through somebody else has a second `Via`, and is not for us
    /// (section 8.1.3.3).
    fn read(datagram: &'a [u8]) -> Option<Self> {
        let (first, mut rest) = field(datagram)?;
        let mut response = Self { status: status(first)?, ..Self::default() };
        let (mut hops, mut length) = (0_u32, Some(0));
        while let Some((line, more)) = field(rest) {
            rest = more;
            if line.is_empty() {
                response.is_whole = length.is_some_and(|length| length <= rest.len());
                break;
            }
            let (name, Some(value)) = cut(line, b':') else { return None };
            let (name, value) = (name.trim_ascii_end(), value.trim_ascii());
            let is = |long: &str, short: &str| {
                name.eq_ignore_ascii_case(long.as_bytes()) || name.eq_ignore_ascii_case(short.as_bytes())
            };
            if is("Via", "v") {
                let (top, others) = cut(value, b',');
                hops += 1 + u32::from(others.is_some());
                response.branch = parameter(top, b"branch")?;
            } else if is("CSeq", "CSeq") {
                response.sequence = sequence(value)?;
            } else if is("Call-ID", "i") {
                response.call = value;
            } else if is("From", "f") {
                response.tag = parameter(value, b"tag").unwrap_or_default();
            } else if is("Content-Length", "l") {
                length = decimal(value);
            }
        }
        (hops == 1).then_some(response)
    }
}

/// The status that `answer` gives to `request`, an OPTIONS of ours; `None` where it answers another, or none.
pub(crate) fn status_of(request: &[u8], answer: &[u8]) -> Option<u16> {
    let response = Response::read(answer)?;
    let asks = |before: &[u8], id: &[u8], behind: &[u8]| {
        let whole = [before, id, behind].concat();
        request.windows(whole.len()).any(|part| part == whole)
    };
    let ours = asks(b";branch=", response.branch, b";")
        && asks(b";tag=", response.tag, b"\r\n")
        && asks(b"\r\nCall-ID: ", response.call, b"\r\n");
    (ours && response.is_whole).then_some(response.status)
}

/// Reads the line that `octets` begin with, without its end, and returns the rest too. A line that begins with a space
/// continues the one before (section 7.3.1); an empty one ends the head.
fn field(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut end = 0;
    loop {
        end += octets.get(end..)?.iter().position(|octet| *octet == b'\n')? + 1;
        let line = octets.get(..end - 1)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let rest = octets.get(end..)?;
        if line.is_empty() || !matches!(rest, [b' ' | b'\t', ..]) {
            return Some((line, rest));
        }
    }
}

/// The status of a response by its first line.
fn status(line: &[u8]) -> Option<u16> {
    let (version, rest) = line.split_at_checked(8)?;
    let (digits, reason) = rest.split_at_checked(3)?;
    let fits = version.eq_ignore_ascii_case(b"SIP/2.0 ") && matches!(reason, [] | [b' ', ..]);
    decimal(digits).filter(|status| fits && (100..700).contains(status)).and_then(|status| status.try_into().ok())
}

/// The number of a request of OPTIONS by its `CSeq`.
fn sequence(value: &[u8]) -> Option<u32> {
    let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (number, method) = (words.next().and_then(decimal)?, words.next()?);
    (method == b"OPTIONS" && words.next().is_none()).then(|| number.try_into().ok()).flatten()
}

fn decimal(digits: &[u8]) -> Option<usize> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
}

/// The part of `text` before the first `mark` that stands in no quotes, and the part behind it.
fn cut(text: &[u8], mark: u8) -> (&[u8], Option<&[u8]>) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let place = text.iter().position(|octet| {
        if is_escaped {
            is_escaped = false;
        } else if *octet == b'"' {
            is_quoted = !is_quoted;
        } else {
            is_escaped = is_quoted && *octet == b'\\';
        }
        !is_quoted && *octet == mark
    });
    match place.and_then(|place| text.split_at_checked(place)) {
        Some((before, behind)) => (before, behind.get(1..)),
        None => (text, None),
    }
}

/// The parameter `name` of a value.
fn parameter<'a>(value: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut rest = cut(value, b';').1;
    while let Some(parameters) = rest {
        let (one, others) = cut(parameters, b';');
        if let (key, Some(given)) = cut(one, b'=')
            && key.trim_ascii().eq_ignore_ascii_case(name)
        {
            return Some(given.trim_ascii());
        }
        rest = others;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    fn client() -> (Sip, Arc<Tally>) {
        let tally = Arc::new(Tally::default());
        let options = Options::new("db1", None, "sonde/1").unwrap();
        (Sip::new(&options, [7; 16], Arc::clone(&tally)), tally)
    }

    fn asked(seq: u64) -> String {
        let (mut client, _) = client();
        let mut message = vec![b'?'; client.length()];
        client.open(&mut message);
        client.prepare(&mut message, seq, Flags::NONE);
        String::from_utf8(message).unwrap()
    }

    /// The value of a field of the request with this number.
    fn value(seq: u64, name: &str) -> String {
        let request = asked(seq);
        let mut lines = request.lines();
        lines.find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "))).unwrap().to_owned()
    }

    /// The response of kamailio 5.6.3 to the request with this number.
    fn answer(seq: u64, status: &str) -> String {
        let [via, from, call, sequence] = ["Via", "From", "Call-ID", "CSeq"].map(|name| value(seq, name));
        format!(
            "SIP/2.0 {status}\r\nVia: {via}=46751;received=127.0.0.1\r\nFrom: {from}\r\n\
             To: <sip:127.0.0.1:25060>;tag=5497176f96ac98204aead303f19a0d17.c30b0000\r\nCall-ID: {call}\r\n\
             CSeq: {sequence}\r\nServer: kamailio (5.6.3 (x86_64/linux))\r\nContent-Length: 0\r\n\r\n"
        )
    }

    fn read(reply: &str, oldest: u64) -> Reading {
        client().0.identify(reply.as_bytes(), oldest)
    }

    #[test]
    fn a_request_is_as_the_standard_has_it() {
        let request = asked(5);
        let id = |lot| String::from_utf8(client().0.id(lot, 5).to_vec()).unwrap();
        let [branch, tag, call] = [Lot::Branch, Lot::Tag, Lot::Call].map(id);
        assert!(branch != tag && tag != call && call != branch);
        let expected = format!(
            "OPTIONS sip:db1 SIP/2.0\r\nVia: SIP/2.0/UDP sonde.invalid;branch=z9hG4bK{branch};rport\r\n\
             Max-Forwards: 70\r\nFrom: <sip:sonde@sonde.invalid>;tag={tag}\r\nTo: <sip:db1>\r\nCall-ID: {call}\r\n\
             CSeq: 1000000005 OPTIONS\r\nAccept: application/sdp\r\nUser-Agent: sonde/1\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(request, expected);
        let options = Options::new("[::1]:5070", Some("alice"), "sonde/1").unwrap();
        assert_eq!(options.words(), "OPTIONS sip:alice@[::1]:5070");
        assert_eq!(options.length(), Sip::new(&options, [1; 16], Arc::default()).length());
        assert_eq!(value(u64::MAX, "CSeq"), "2073741823 OPTIONS", "below 2^31");
        let (mut client, _) = client();
        client.open(&mut [0; 9]);
        client.prepare(&mut [0; 9], 1, Flags::NONE);
    }

    #[test_case("a b", None, "x", OptionsError::Host("a b".into()); "a space")]
    #[test_case("", None, "x", OptionsError::Host(String::new()); "no host")]
    #[test_case("a>\r\nX: y", None, "x", OptionsError::Host("a>\r\nX: y".into()); "a field in a host")]
    #[test_case("a", Some("b@c"), "x", OptionsError::User("b@c".into()); "two users")]
    #[test_case("a", Some("b\r\n"), "x", OptionsError::User("b\r\n".into()); "a line in a user")]
    #[test_case("a", None, "x\r\ny", OptionsError::Agent("x\r\ny".into()); "a line in a program")]
    fn what_cannot_be_asked(host: &str, user: Option<&str>, agent: &str, expected: OptionsError) {
        assert_eq!(Options::new(host, user, agent), Err(expected));
    }

    #[test]
    fn a_response_gives_the_number_back() {
        let (mut client, tally) = client();
        let seq = (1 << 30) + 70_000;
        for (status, expected) in [
            ("200 Keepalive", Reading::Reply(seq)),
            ("486 Busy Here", Reading::Reply(seq)),
            ("404", Reading::Reply(seq)),
            ("503 Service Unavailable", Reading::Refused(seq)),
            ("180 Ringing", Reading::Stray),
            ("099 x", Reading::Stray),
            ("700 x", Reading::Stray),
            ("2000 x", Reading::Stray),
        ] {
            client.prepare(&mut [], seq, Flags::NONE);
            assert_eq!(client.identify(answer(seq, status).as_bytes(), seq - 3), expected, "{status}");
        }
        let kinds: Vec<_> = tally.kinds().into_iter().map(|(kind, sound, _)| (Sip::kind(kind), sound)).collect();
        assert_eq!(kinds, [("200".into(), true), ("486".into(), true), ("404".into(), true), ("503".into(), false)]);
        client.prepare(&mut [], seq, Flags::WARM_UP);
        client.identify(answer(seq, "603 Decline").as_bytes(), seq);
        assert_eq!(tally.kinds().len(), 4, "what is not recorded is not counted");
    }

    #[test]
    fn fields_have_short_names_and_go_on_in_further_lines() {
        let [via, tag, call] = ["Via", "From", "Call-ID"].map(|name| value(3, name));
        let branch = via.split_once("branch=").unwrap().1.split_once(';').unwrap().0.to_uppercase();
        let tag = tag.split_once("tag=").unwrap().1;
        let response = |via: &str, body: &str| {
            format!(
                "sip/2.0 200 OK\r\nv: {via}\r\nf:\r\n \"A \\\"; tag=x\" <sip:sonde@sonde.invalid> ;\r\n\ttag = {tag}\r\n\
                 i : {call}\r\ncseq:\r\n  1000000003\r\n  OPTIONS\r\nt: <sip:db1>\r\nl: 4\r\n\r\n{body}"
            )
        };
        let via = format!("SIP  / 2.0\r\n / UDP sonde.invalid ; x=\"a;b,\"; branch =\r\n {branch} ;rport=4");
        assert_eq!(read(&response(&via, "v=0\n"), 0), Reading::Reply(3));
        assert_eq!(read(&response(&via, " v=0 and more"), 0), Reading::Reply(3));
        assert_eq!(read(&response(&via, "v=0"), 0), Reading::Corrupt(Some(3)), "cut off");
        assert_eq!(read(&response(&format!("{via}, {via}"), "v=0\n"), 0), Reading::Stray, "for somebody else");
        assert_eq!(read(&response(&format!("{via}\r\nVia: {via}"), "v=0\n"), 0), Reading::Stray);
        assert_eq!(read(&response("SIP/2.0/UDP sonde.invalid;rport", "v=0\n"), 0), Reading::Stray, "no branch");
    }

    #[test]
    fn a_description_behind_the_head_has_its_length() {
        // As SIPp 3.6.1 answers: the length stands at the right of its column, and the parameters of `Via` are given back as they came.
        let sound = answer(3, "200 OK").replace("=46751;received=127.0.0.1", "");
        let body = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n";
        let described = format!("Content-Type: application/sdp\r\nContent-Length:    {}\r\n\r\n{body}", body.len());
        let sound = sound.replace("Content-Length: 0\r\n\r\n", &described);
        assert_eq!(read(&sound, 3), Reading::Reply(3));
        assert_eq!(read(&sound[..sound.len() - 1], 3), Reading::Corrupt(Some(3)));
    }

    #[test]
    fn a_response_of_another_is_known() {
        let sound = answer(3, "200 OK");
        for (from, to, expected) in [
            ("z9hG4bK", "z9hG4bJ", Reading::Stray),
            ("CSeq: 1000000003", "CSeq: 1000000004", Reading::Stray),
            ("CSeq: 1000000003", "CSeq: 3", Reading::Stray),
            ("CSeq: 1000000003", "CSeq: 99999999999999999999", Reading::Stray),
            (" OPTIONS\r\n", " INVITE\r\n", Reading::Stray),
            ("SIP/2.0 200 OK", "OPTIONS sip:db1 SIP/2.0", Reading::Stray),
            ("CSeq", "CSeq\r\nX", Reading::Stray),
            ("\r\nVia", "\r\nX", Reading::Stray),
            ("Call-ID: ", "Call-ID: x", Reading::Corrupt(Some(3))),
            ("Call-ID: ", "X: ", Reading::Corrupt(Some(3))),
            ("invalid>;tag=", "invalid>;tag=x", Reading::Corrupt(Some(3))),
            ("Content-Length: 0", "Content-Length: -1", Reading::Corrupt(Some(3))),
            ("Content-Length: 0", "Content-Length: 18446744073709551616", Reading::Corrupt(Some(3))),
            ("Content-Length: 0\r\n\r\n", "", Reading::Corrupt(Some(3))),
            ("Content-Length: 0\r\n", "", Reading::Reply(3)),
        ] {
            assert_eq!(read(&sound.replacen(from, to, 1), 3), expected, "{to}");
        }
        assert_eq!(read(&asked(3), 3), Reading::Stray, "an echo");
        let other = Options::new("db1", None, "sonde/1").unwrap();
        let mut other = Sip::new(&other, [8; 16], Arc::default());
        assert_eq!(other.identify(sound.as_bytes(), 3), Reading::Stray);
    }

    proptest! {
        #[test]
        fn numbers_are_found_again(oldest in 0_u64..u64::MAX / 2, ahead in 0_u64..1 << 29) {
            prop_assert_eq!(read(&answer(oldest + ahead, "200 OK"), oldest), Reading::Reply(oldest + ahead));
        }

        /// A response with any octets changed, left out or put in: no panic, and it answers its own request or none.
        #[test]
        fn a_response_answers_no_other(at in any::<prop::sample::Index>(), length in 0_usize..8, with in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut reply = answer(77, "200 OK").into_bytes();
            let from = at.index(reply.len());
            reply.splice(from..(from + length).min(reply.len()), with);
            let reading = client().0.identify(&reply, 70);
            prop_assert!(matches!(reading, Reading::Reply(77) | Reading::Refused(77) | Reading::Corrupt(Some(77)) | Reading::Stray));
        }

        #[test]
        fn no_datagram_upsets_it(reply in prop::collection::vec(any::<u8>(), 0..600), oldest: u64) {
            let (mut client, _) = client();
            client.identify(&reply, oldest);
            client.identify(&[b"SIP/2.0 200 OK\r\nVia:", &reply[..]].concat(), oldest);
        }
    }
}
