//! The request by which a connection of HTTP/1.1 becomes one of WebSocket, and the response to it (RFC 6455 section 4). Not here: frames.

use std::fmt::Write as _;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::application::http::{LONGEST_HEAD, RequestError};
use crate::application::speech::{Came, Taken};

/// Joined to the key that a server proves to have read (section 1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Most fields of a head.
const MOST_FIELDS: usize = 128;

/// Reason to refuse an upgrade.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// Nothing that a request of HTTP can say.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A subprotocol is a word.
    #[error("{0:?} is not a subprotocol: use a word such as mqtt")]
    Subprotocol(String),
}

/// A request to speak WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The host as its URL has it, with the port where that is not the usual one.
    pub host: String,
    /// Path and query.
    pub target: String,
    /// The protocol inside, where the server wants one: `mqtt`. mosquitto 2.0.11 upgrades without it too, and then answers a Ping only
    /// when a timer of 200 ms lets it look.
    pub subprotocol: Option<String>,
    /// Further fields, in their order, as [`crate::application::http::Request::field`] reads them.
    pub fields: Vec<(String, String)>,
    /// The program that asks.
    pub agent: String,
}

impl Upgrade {
    /// All of the request but its key.
    ///
    /// # Errors
    /// An upgrade that cannot be written.
    pub fn written(&self) -> Result<String, UpgradeError> {
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_graphic());
        if !plain(&self.target) || !plain(&self.host) {
            return Err(RequestError::Target.into());
        }
        if let Some(word) = self.subprotocol.as_ref().filter(|word| !is_word(word)) {
            return Err(UpgradeError::Subprotocol(word.clone()));
        }
        if let Some((name, _)) = self.fields.iter().find(|(name, _)| is_own(name)) {
            return Err(RequestError::OwnField(name.clone()).into());
        }
        let mut head = format!("GET {} HTTP/1.1\r\n", self.target);
        let own = [
            ("Host", self.host.as_str()),
            ("User-Agent", &self.agent),
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
        ];
        let has = |wanted: &str| self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let own = own.into_iter().filter(|(name, _)| !has(name));
        let inside = self.subprotocol.iter().map(|word| ("Sec-WebSocket-Protocol", word.as_str()));
        let given = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(inside).chain(given) {
            // Writing to a string does not fail.
            let _written = write!(head, "{name}: {value}\r\n");
        }
        Ok(head)
    }
}

/// True of a token of HTTP (RFC 9110 section 5.6.2).
fn is_word(word: &str) -> bool {
    let allowed = |octet: u8| octet.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&octet);
    !word.is_empty() && word.bytes().all(allowed)
}

/// True of a field that the upgrade writes itself.
fn is_own(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "upgrade" || name == "connection" || name.starts_with("sec-websocket-")
}

/// Reads the response to an upgrade with `key` and its offered subprotocol, as far as `octets` go.
pub fn read(octets: &[u8], key: &str, subprotocol: Option<&str>) -> Taken {
    let seen = octets.get(..LONGEST_HEAD).unwrap_or(octets);
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let end = match response.parse(seen) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) if seen.len() < LONGEST_HEAD => return Taken::MORE,
        Ok(httparse::Status::Partial) => return Taken::unsound("the head of a response has no end"),
        Err(httparse::Error::TooManyHeaders) => {
            return Taken::unsound("the head of a response has more than 128 fields");
        }
        Err(_) => return Taken::unsound("the reply is none of HTTP/1"),
    };
    match response.code.unwrap_or(0) {
        101 => match check(response.headers, key, subprotocol) {
            Ok(()) => Taken { octets: end, came: Came::Opened },
            Err(why) => Taken::unsound(why),
        },
        // An interim response: the one that counts follows (RFC 9110 section 15.2).
        100..200 => Taken::aside(end),
        status => {
            let minor = response.version.unwrap_or(1);
            let line = format!("HTTP/1.{minor} {status} {}", response.reason.unwrap_or_default());
            Taken::declined(end, line.as_bytes())
        }
    }
}

/// Compares a response with that of a server that has read the upgrade (section 4.1).
fn check(fields: &[httparse::Header<'_>], key: &str, subprotocol: Option<&str>) -> Result<(), &'static str> {
    let (mut upgrades, mut switches, mut proves) = (false, false, false);
    for field in fields {
        let (name, value) = (field.name.to_ascii_lowercase(), field.value.trim_ascii());
        match name.as_str() {
            "upgrade" => upgrades |= value.eq_ignore_ascii_case(b"websocket"),
            "connection" => {
                let mut words = value.split(|octet| *octet == b',').map(<[u8]>::trim_ascii);
                switches |= words.any(|word| word.eq_ignore_ascii_case(b"upgrade"));
            }
            "sec-websocket-accept" if value == proof(key).as_bytes() => proves = true,
            "sec-websocket-accept" => return Err("the server does not prove that it has read the upgrade"),
            "sec-websocket-extensions" => return Err("the server chose an extension that it was not offered"),
            "sec-websocket-protocol" if subprotocol.map(str::as_bytes) != Some(value) => {
                return Err("the server chose a subprotocol that it was not offered");
            }
            _ => {}
        }
    }
    match (upgrades && switches, proves) {
        (true, true) => Ok(()),
        (true, false) => Err("the server does not prove that it has read the upgrade"),
        (false, _) => Err("the server switches to something else than WebSocket"),
    }
}

/// The proof that a server has read `key` (section 4.2.2). It is no secret, and SHA-1 is good enough for it (section 10.8).
pub fn proof(key: &str) -> String {
    let whole = [key, GUID].concat();
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, whole.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_proved_as_the_standard_has_it() {
        // Section 1.3.
        assert_eq!(proof("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn upgrades_that_are_none() {
        let own = |name: &str| vec![(name.to_owned(), "x".to_owned())];
        for (wrong, why) in [
            (Upgrade { target: "/a b".into(), ..upgrade() }, RequestError::Target.into()),
            (Upgrade { target: String::new(), ..upgrade() }, RequestError::Target.into()),
            (Upgrade { host: "a\r\nb".into(), ..upgrade() }, RequestError::Target.into()),
            (Upgrade { subprotocol: Some("a, b".into()), ..upgrade() }, UpgradeError::Subprotocol("a, b".into())),
            (
                Upgrade { fields: own("Sec-WebSocket-Extensions"), ..upgrade() },
                RequestError::OwnField("Sec-WebSocket-Extensions".into()).into(),
            ),
            (Upgrade { fields: own("upgrade"), ..upgrade() }, RequestError::OwnField("upgrade".into()).into()),
        ] {
            assert_eq!(wrong.written(), Err(why));
        }
    }

    fn upgrade() -> Upgrade {
        Upgrade {
            host: "db1".into(),
            target: "/mqtt".into(),
            subprotocol: Some("mqtt".into()),
            fields: Vec::new(),
            agent: "sonde/1".into(),
        }
    }

    #[test]
    fn a_head_without_an_end_is_not_waited_for() {
        let mut octets = b"HTTP/1.1 101 Switching Protocols\r\nX: ".to_vec();
        octets.resize(LONGEST_HEAD - 1, b'x');
        assert_eq!(read(&octets, "", None), Taken::MORE);
        octets.push(b'x');
        assert_eq!(read(&octets, "", None), Taken::unsound("the head of a response has no end"));
    }
}
