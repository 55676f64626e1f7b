//! HTTP/1.1 (RFC 9110, RFC 9112): one request over and over on connections that stay open, and the end of each response.
//!
//! A response in time is an answer whatever its status, but for 408, 429, 502, 503 and 504, which say that the program did nothing. The user
//! may name other statuses ([`Expected`]). Redirections are not followed, bodies are counted and forgotten.

mod chunked;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use measure::reach::Transport;

use self::chunked::Chunked;
use super::speech::{Came, Kind, Protocol, Reply, Speech, Taken};

/// Its row.
pub const PROTOCOL: Protocol = Protocol {
    schemes: &["http"],
    over: Transport::Tcp,
    port: 80,
    tls: None,
    asks: "GET of the path, on connections that stay open",
};
/// The same through TLS.
pub const SECURE: Protocol = Protocol { schemes: &["https"], port: 443, tls: Some("http/1.1"), ..PROTOCOL };

/// Longest head of a response that is believed, octets; the reader of a connection has room for it.
pub const LONGEST_HEAD: usize = 32 << 10;
/// Most fields of a head.
const MOST_FIELDS: usize = 128;
/// Room for the requests that are usually out at once.
const USUALLY_OUT: usize = 64;
/// Statuses by which a server says that it did not do the request, by 408 that it never had all of it (RFC 9110 section 15.5.9), or a
/// gateway that it got no answer from the program behind it.
const DID_NOTHING: [u16; 5] = [408, 429, 502, 503, 504];

/// Statuses that count as answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// All but 408, 429, 502, 503 and 504.
    #[default]
    Any,
    /// These statuses, and those of these hundreds (`2` is all of 200 to 299).
    Only {
        /// Statuses.
        statuses: Vec<u16>,
        /// Hundreds.
        classes: Vec<u16>,
    },
}

impl Expected {
    /// True where a response with this status counts as answered.
    pub(super) fn has(&self, status: u16) -> bool {
        match self {
            Self::Any => !DID_NOTHING.contains(&status),
            Self::Only { statuses, classes } => statuses.contains(&status) || classes.contains(&(status / 100)),
        }
    }
}

/// Reason to refuse a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A method is a word.
    #[error("{0:?} is not a method: use a word such as GET, HEAD or POST")]
    Method(String),
    /// A target has neither spaces nor characters that a terminal would obey.
    #[error("a path is printable ASCII without spaces: write other octets as %XX")]
    Target,
    /// A field is `name: value`.
    #[error("{0:?} is not a header field: write one per line, as in Accept: text/html")]
    Field(String),
    /// A field that a measurement writes itself.
    #[error("the measurement sets the field {0} itself")]
    OwnField(String),
    /// A field that HTTP/2 and HTTP/3 do not have (RFC 9113 section 8.2.2, RFC 9114 section 4.2).
    #[error("the field {0} is about an HTTP/1 connection: later versions do not have it")]
    OldField(String),
    /// A body that a server would have to make room for first.
    #[error("the body has {0} octets: HTTP/2 and HTTP/3 send at most 65,535 before the server permits more")]
    Body(usize),
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `HEAD`, `POST` …
    pub method: String,
    /// The host as its URL has it, with the port where that is not the usual one.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// Further fields, in their order.
    pub fields: Vec<(String, String)>,
    /// The octets behind its head.
    pub body: Vec<u8>,
    /// The program that asks.
    pub agent: String,
}

impl Request {
    /// The field that a line of a file of fields says.
    ///
    /// # Errors
    /// A line that is none, or one whose field the measurement writes itself.
    pub fn field(line: &str) -> Result<(String, String), RequestError> {
        let wrong = || RequestError::Field(line.to_owned());
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        if !is_token(name) || value.bytes().any(|octet| octet < b' ' && octet != b'\t' || octet == 0x7F) {
            return Err(wrong());
        }
        if ["content-length", "transfer-encoding", "connection"].contains(&name.to_ascii_lowercase().as_str()) {
            return Err(RequestError::OwnField(name.to_owned()));
        }
        Ok((name.to_owned(), value.trim().to_owned()))
    }

    /// Refuses a request that cannot be written in any version.
    pub(super) fn check(&self) -> Result<(), RequestError> {
        if !is_token(&self.method) {
            return Err(RequestError::Method(self.method.clone()));
        }
        let plain = |text: &str| text.bytes().all(|octet| octet.is_ascii_graphic());
        if plain(&self.target) && plain(&self.host) && !self.target.is_empty() {
            Ok(())
        } else {
            Err(RequestError::Target)
        }
    }

    /// True where the request gives the length of its body: a server expects that of some methods even where there is
    /// none (RFC 9110 section 8.6).
    pub(super) fn says_length(&self) -> bool {
        !self.body.is_empty() || ["POST", "PUT", "PATCH"].contains(&self.method.as_str())
    }

    /// Its line of words: `GET /health`.
    pub(super) fn words(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    fn written(&self) -> Vec<u8> {
        let has = |wanted: &str| self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        // Writing to a string does not fail.
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        let own = [("Host", &self.host), ("User-Agent", &self.agent)];
        let own = own.into_iter().filter(|(name, _)| !has(name)).map(|(name, value)| (name, value.as_str()));
        let given = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(given) {
            let _written = write!(head, "{name}: {value}\r\n");
        }
        if self.says_length() {
            let _written = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

fn is_token(word: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&octet);
    !word.is_empty() && word.bytes().all(allowed)
}

/// A client of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    request: Vec<u8>,
    words: String,
    /// Set where responses have no body whatever their fields say.
    headless: bool,
    /// The same of each request that has no response yet, oldest first, where requests differ.
    headless_each: Option<VecDeque<bool>>,
    expected: Expected,
    stage: Stage,
    /// The response under way, octets of its head, and those of its body so far, without the frames of chunks.
    reply: Reply,
    head: u64,
    body: u64,
    /// Set once the body of a 400 has said that the port is one of HTTPS.
    told_of_tls: bool,
}

/// Words of servers to a request that came in clear: of Go, of nginx, of Apache httpd.
const TO_HTTPS: [&[u8]; 3] = [b"to an HTTPS server", b"to HTTPS port", b"to an SSL-enabled server port"];
/// The status that they have.
const BAD_REQUEST: Kind = Kind(400);

/// The place in a response that the reader has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    /// Octets of a body that are still to come.
    Body(u64),
    Chunks(Chunked),
    /// The body ends with the connection.
    ToTheEnd,
}

/// The parts of a head that say where the response ends.
struct Head {
    octets: usize,
    status: u16,
    length: Option<u64>,
    chunked: bool,
    /// Set where a coding stands last that does not say where it ends.
    endless: bool,
    closes: bool,
}

impl Http {
    /// A client that makes `request` and takes `expected` statuses for answers.
    ///
    /// # Errors
    /// A request that cannot be written.
    pub fn new(request: &Request, expected: Expected) -> Result<Self, RequestError> {
        request.check()?;
        Ok(Self {
            request: request.written(),
            words: request.words(),
            headless: request.method == "HEAD",
            headless_each: None,
            expected,
            stage: Stage::Head,
            reply: Reply::answered(Kind(0)),
            head: 0,
            body: 0,
            told_of_tls: false,
        })
    }

    /// The same of requests that differ: responses have bodies or not by the request that each is to.
    #[must_use]
    pub fn mixed(self) -> Self {
        Self { headless_each: Some(VecDeque::with_capacity(USUALLY_OUT)), ..self }
    }

    /// Its request in words: `GET /health`.
    pub fn words(&self) -> &str {
        &self.words
    }

    fn head(&mut self, octets: &[u8]) -> Taken {
        let head = match read_head(octets) {
            Ok(Some(head)) => head,
            Ok(None) if octets.len() < LONGEST_HEAD => return Taken::MORE,
            Ok(None) => return Taken::unsound("the head of a response has no end"),
            Err(why) => return Taken::unsound(why),
        };
        // An interim response: the one that counts follows (RFC 9110 section 15.2). Another protocol was not asked for.
        if head.status / 100 == 1 && head.status != 101 {
            return Taken::aside(head.octets);
        }
        self.reply =
            Reply { sound: self.expected.has(head.status), closes: head.closes, ..Reply::answered(Kind(head.status)) };
        (self.head, self.body) = (head.octets as u64, 0);
        // RFC 9112 section 6.3, in its order.
        let asked = self.headless_each.as_mut().and_then(VecDeque::pop_front);
        if asked.unwrap_or(self.headless) || matches!(head.status, 101 | 204 | 304) {
            return Taken::reply(head.octets, self.reply);
        }
        self.stage = match (head.chunked, head.endless, head.length) {
            (true, ..) => Stage::Chunks(Chunked::default()),
            (false, false, Some(0)) => return Taken::reply(head.octets, self.reply),
            (false, false, Some(length)) => Stage::Body(length),
            (false, ..) => Stage::ToTheEnd,
        };
        Taken::part(head.octets)
    }

    /// Looks for the words of a server of HTTPS in a part of a body.
    fn look_for_tls(&mut self, octets: &[u8]) {
        if self.reply.kind == BAD_REQUEST && !self.told_of_tls {
            self.told_of_tls = TO_HTTPS.iter().any(|words| octets.windows(words.len()).any(|window| window == *words));
        }
    }

    fn ended(&mut self, octets: usize) -> Taken {
        self.stage = Stage::Head;
        Taken::reply(octets, self.reply)
    }
}

impl Speech for Http {
    fn begin(&mut self) {
        self.stage = Stage::Head;
        self.headless_each.iter_mut().for_each(VecDeque::clear);
    }

    #[inline]
    fn asked(&mut self, request: &[u8]) {
        if let Some(each) = &mut self.headless_each {
            each.push_back(request.starts_with(b"HEAD "));
        }
    }

    fn request(&self) -> Vec<u8> {
        self.request.clone()
    }

    fn is_told_of_tls(&self) -> bool {
        self.told_of_tls
    }

    fn take(&mut self, octets: &[u8]) -> Taken {
        if self.stage != Stage::Head {
            self.look_for_tls(octets);
        }
        match &mut self.stage {
            Stage::Head => self.head(octets),
            Stage::Body(left) => {
                let part = octets.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= part as u64;
                self.body += part as u64;
                if *left == 0 { self.ended(part) } else { Taken::part(part) }
            }
            Stage::Chunks(chunked) => {
                let data = chunked.data();
                match chunked.take(octets) {
                    Ok((part, ended)) => {
                        self.body += data.min(part as u64);
                        if ended { self.ended(part) } else { Taken::part(part) }
                    }
                    Err(why) => Taken { octets: 0, came: Came::Unsound(why) },
                }
            }
            Stage::ToTheEnd => {
                self.body += octets.len() as u64;
                Taken::part(octets.len())
            }
        }
    }

    fn closed(&mut self) -> Option<Reply> {
        let ends = self.stage == Stage::ToTheEnd;
        self.stage = Stage::Head;
        ends.then_some(Reply { closes: true, ..self.reply })
    }

    fn lengths(&self) -> Option<(u64, u64)> {
        Some((self.head, self.body))
    }

    fn kind(&self, kind: Kind) -> Cow<'static, str> {
        Cow::Owned(kind.0.to_string())
    }
}

/// The head that `octets` begin with; `None`: more has to come.
fn read_head(octets: &[u8]) -> Result<Option<Head>, &'static str> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let octets = match response.parse(octets) {
        Ok(httparse::Status::Complete(octets)) => octets,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err("the head of a response has more than 128 fields"),
        Err(_) => return Err("the reply is none of HTTP/1"),
    };
    let status = response.code.filter(|code| (100..600).contains(code)).ok_or("a response has no status")?;
    let is_old = response.version == Some(0);
    let mut head = Head { octets, status, length: None, chunked: false, endless: false, closes: is_old };
    for field in &*response.headers {
        let value = std::str::from_utf8(field.value).unwrap_or_default();
        if field.name.eq_ignore_ascii_case("content-length") {
            head.length = Some(length(value, head.length)?);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            let last = value.rsplit(',').next().unwrap_or_default().trim();
            head.chunked = last.eq_ignore_ascii_case("chunked");
            head.endless = !head.chunked;
        } else if field.name.eq_ignore_ascii_case("connection") {
            let says = |word: &str| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word));
            head.closes = says("close") || is_old && !says("keep-alive");
        }
    }
    Ok(Some(head))
}

/// A length, which a head may repeat but not contradict (RFC 9112 section 6.3).
fn length(value: &str, before: Option<u64>) -> Result<u64, &'static str> {
    let mut lengths = value.split(',').map(|part| {
        let digits = part.trim();
        let plain = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    });
    let first: Option<u64> = lengths.next().flatten();
    let alike = lengths.all(|other| other == first) && before.is_none_or(|before| Some(before) == first);
    first.filter(|_| alike).ok_or("the length of a response contradicts itself or is none")
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::application::speech::tests::{alike, hear};

    pub fn request() -> Request {
        Request {
            method: "GET".into(),
            host: "db1".into(),
            target: "/health".into(),
            fields: Vec::new(),
            body: Vec::new(),
            agent: "sonde/1".into(),
        }
    }

    fn http(method: &str) -> Http {
        Http::new(&Request { method: method.into(), ..request() }, Expected::Any).unwrap()
    }

    fn answered(status: u16) -> Came {
        Came::Reply(Reply::answered(Kind(status)))
    }

    fn closing(status: u16) -> Came {
        Came::Reply(Reply { closes: true, ..Reply::answered(Kind(status)) })
    }

    #[test]
    fn a_request_is_written_once() {
        assert_eq!(http("GET").request(), b"GET /health HTTP/1.1\r\nHost: db1\r\nUser-Agent: sonde/1\r\n\r\n");
        let fields = vec![Request::field("host: other").unwrap(), Request::field("Accept:  */* ").unwrap()];
        let post = Request { method: "POST".into(), fields, body: b"abc".to_vec(), ..request() };
        let written = Http::new(&post, Expected::Any).unwrap().request();
        let expected = "POST /health HTTP/1.1\r\nUser-Agent: sonde/1\r\nhost: other\r\nAccept: */*\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test_case("Accept", RequestError::Field("Accept".into()); "no value")]
    #[test_case("a b: c", RequestError::Field("a b: c".into()); "a space in a name")]
    #[test_case("a: b\r\nc: d", RequestError::Field("a: b\r\nc: d".into()); "two in one")]
    #[test_case("Content-Length: 5", RequestError::OwnField("Content-Length".into()); "a field of our own")]
    fn fields_that_are_none(line: &str, expected: RequestError) {
        assert_eq!(Request::field(line), Err(expected));
    }

    #[test]
    fn requests_that_are_none() {
        for (wrong, why) in [
            (Request { method: "GET /".into(), ..request() }, RequestError::Method("GET /".into())),
            (Request { target: "/a b".into(), ..request() }, RequestError::Target),
            (Request { target: "/\r\nX: y".into(), ..request() }, RequestError::Target),
            (Request { host: "a\nb".into(), ..request() }, RequestError::Target),
        ] {
            assert_eq!(Http::new(&wrong, Expected::Any), Err(why));
        }
    }

    #[test_case("400", "Client sent an HTTP request to an HTTPS server.\n", true; "of Go")]
    #[test_case("400", "<center>The plain HTTP request was sent to HTTPS port</center>", true; "of nginx")]
    #[test_case("200", "Client sent an HTTP request to an HTTPS server.\n", false; "a page about it")]
    #[test_case("400", "Bad Request", false; "another error")]
    fn a_server_of_https_says_so_to_a_request_in_clear(status: &str, body: &str, told: bool) {
        let mut http = http("GET");
        for octets in [format!("HTTP/1.0 {status} Bad Request\r\n\r\n"), body.to_owned()] {
            http.take(octets.as_bytes());
        }
        assert_eq!(http.is_told_of_tls(), told);
    }

    // Heads as nginx 1.22, haproxy 2.6 and others send them, shortened.
    #[test_case("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", &[answered(200), answered(404)]; "two")]
    #[test_case("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", &[answered(200), answered(200)]; "head has no body")]
    #[test_case("GET", "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", &[answered(204), answered(304)]; "statuses without a body")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n.", &[answered(200), answered(200)]; "chunks")]
    #[test_case("GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &[Came::Aside, Came::Aside, answered(200)]; "interim responses")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", &[closing(200)]; "it closes")]
    #[test_case("GET", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", &[closing(200)]; "the old version closes")]
    #[test_case("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", &[answered(200)]; "but where it stays")]
    #[test_case("GET", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", &[Came::Reply(Reply::refused(Kind(503)))]; "it did nothing")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\ncontent-length: 3\r\n\r\nabc", &[answered(200)]; "a length said again")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", &[Came::Unsound("the length of a response contradicts itself or is none")]; "two lengths")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", &[Came::Unsound("the length of a response contradicts itself or is none")]; "a length below nothing")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", &[Came::Unsound("the length of a response contradicts itself or is none")]; "a length beyond all")]
    #[test_case("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", &[Came::Unsound("the length of a chunk is none")]; "rubbish for a chunk")]
    #[test_case("GET", "SSH-2.0-OpenSSH_9.2p1\r\n", &[Came::Unsound("the reply is none of HTTP/1")]; "another program")]
    fn responses_end_where_they_end(method: &str, octets: &str, expected: &[Came]) {
        assert_eq!(alike(&http(method), octets.as_bytes()), expected);
    }

    #[test]
    fn a_body_may_end_with_the_connection() {
        let mut http = http("GET");
        assert_eq!(alike(&http, b"HTTP/1.1 200 OK\r\n\r\nany length of body"), []);
        http.take(b"HTTP/1.1 200 OK\r\n\r\n");
        assert_eq!(http.take(b"any length"), Taken::part(10));
        assert_eq!(http.closed(), Some(Reply { closes: true, ..Reply::answered(Kind(200)) }));
        assert_eq!(http.closed(), None);
    }

    #[test_case("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n", (38, 3); "a length")]
    #[test_case("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n", (47, 5); "chunks")]
    #[test_case("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n", (40, 0); "none")]
    fn head_and_body_are_counted_without_frames(method: &str, octets: &[u8], expected: (u64, u64)) {
        for every in [1, 2, 7, octets.len()] {
            let mut http = http(method);
            assert_eq!(hear(&mut http, octets, |end| end % every == 0).len(), 1);
            assert_eq!(http.lengths(), Some(expected), "{every} at a time");
        }
    }

    #[test]
    fn what_counts_is_the_users_word() {
        let only = Expected::Only { statuses: vec![404], classes: vec![2] };
        assert_eq!([204, 404, 301, 503].map(|status| only.has(status)), [true, true, false, false]);
        assert_eq!([204, 404, 500].map(|status| Expected::Any.has(status)), [true; 3]);
        let nothing = [408, 429, 502, 503, 504].map(|status| Expected::Any.has(status));
        assert_eq!(nothing, [false; 5], "the program did nothing");
    }

    #[test]
    fn a_head_without_an_end_is_not_waited_for() {
        let mut octets = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        octets.resize(LONGEST_HEAD - 1, b'x');
        assert_eq!(http("GET").take(&octets), Taken::MORE);
        octets.push(b'x');
        assert_eq!(http("GET").take(&octets), Taken::unsound("the head of a response has no end"));
    }

    #[test]
    fn a_body_of_any_length_is_not_kept() {
        let mut http = http("GET");
        http.take(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n");
        assert_eq!(http.take(&[0; 1_000]), Taken::part(1_000));
    }
}
