//! A TLS hello that is cheap to answer, and the conclusion from the answer: TLS or not, its version, and the protocol inside.
//!
//! The hello offers TLS 1.3 without a key (RFC 8446 section 4.2.8 allows that), so a server of 1.3 asks for one before it has signed anything.
//! One of 1.2 answers with its hello and its certificate; both say it in clear. No session comes of either.

use super::{Draw, Reading, bounded};
use measure::reach::Service;

const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// Octets of a random, and those of the head of a record and of a handshake message.
const RANDOM: usize = 32;
const RECORD: usize = 5;
const MESSAGE: usize = 4;
/// Extensions (IANA, "TLS `ExtensionType` Values").
const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;
const VERSIONS: u16 = 43;

/// Suites of 1.3, then of 1.2, in pairs of octets.
const SUITES: [u8; 20] = [
    0x13, 0x01, 0x13, 0x02, 0x13, 0x03, 0xC0, 0x2B, 0xC0, 0x2F, 0xC0, 0x2C, 0xC0, 0x30, 0xCC, 0xA9, 0xCC, 0xA8, 0x00,
    0x9C,
];
/// Extensions that are the same in every hello: groups (X25519, P-256, P-384), uncompressed points, signatures, `h2` and `http/1.1`,
/// versions 1.3 and 1.2, no key.
const USUAL: &[(u16, &[u8])] = &[
    (10, &[0, 6, 0, 0x1D, 0, 0x17, 0, 0x18]),
    (11, &[1, 0]),
    (13, &[0, 16, 4, 3, 8, 4, 4, 1, 5, 3, 8, 5, 5, 1, 8, 6, 6, 1]),
    (ALPN, b"\0\x0c\x02h2\x08http/1.1"),
    (VERSIONS, &[4, 3, 4, 3, 3]),
    (51, &[0, 0]),
];

/// The hello to `host`, which is named in it where it is a name; addresses are not (RFC 6066 section 3).
pub fn question(host: &str, draw: Draw) -> Vec<u8> {
    let mut extensions = Vec::new();
    let is_name = host.parse::<std::net::IpAddr>().is_err() && !host.contains([':', '%']);
    if is_name && (1..=255).contains(&host.len()) && host.is_ascii() {
        let name = [&[0][..], &long(host.as_bytes())].concat();
        extensions.extend(extension(SERVER_NAME, &long(&name)));
    }
    for (number, body) in USUAL {
        extensions.extend(extension(*number, body));
    }
    // Version 1.2, as 1.3 says it too; no session, and no compression.
    let body = [&[3, 3][..], &draw[..RANDOM], &[0], &long(&SUITES), &[1, 0], &long(&extensions)].concat();
    let length = (body.len() as u32).to_be_bytes();
    let message = [&[CLIENT_HELLO][..], &length[1..], &body].concat();
    [&[HANDSHAKE, 3, 1][..], &long(&message)].concat()
}

fn extension(number: u16, body: &[u8]) -> Vec<u8> {
    [&number.to_be_bytes()[..], &long(body)].concat()
}

/// `body` behind its length in two octets.
fn long(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u16).to_be_bytes()[..], body].concat()
}

/// The meaning of an answer to a hello.
pub fn read(answer: &[u8]) -> Reading {
    match answer {
        [] | [HANDSHAKE | ALERT] | [HANDSHAKE | ALERT, 3] => Reading::Unfinished,
        [ALERT, 3, _, rest @ ..] => match rest {
            [0, 2, _, code, ..] => Reading::known(Service::Tls, Some(format!("alert {code}"))),
            [] | [0] | [0, 2] | [0, 2, _] => Reading::Unfinished,
            _ => Reading::Other,
        },
        [HANDSHAKE, 3, _, ..] => match answer.get(RECORD) {
            None => Reading::Unfinished,
            Some(&SERVER_HELLO) => server_hello(answer),
            Some(_) => Reading::Other,
        },
        // A server of HTTP in clear refuses octets that it cannot read in its own words.
        _ => bounded(answer, b"HTTP/1.", |_| Reading::known(Service::Http, None)),
    }
}

/// Reads a hello of the server, which stands at the begin of a record.
fn server_hello(answer: &[u8]) -> Reading {
    let Some([_, a, b, c]) = answer.get(RECORD..RECORD + MESSAGE) else { return Reading::Unfinished };
    let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
    // No hello of a server is longer than the part of an answer that is read.
    if !(RANDOM + 6..=super::LONGEST_ANSWER - RECORD - MESSAGE).contains(&length) {
        return Reading::Other;
    }
    match answer.get(RECORD + MESSAGE..RECORD + MESSAGE + length) {
        None => Reading::Unfinished,
        Some(body) => match told(body) {
            Some(state) => Reading::known(Service::Tls, Some(state)),
            None => Reading::Other,
        },
    }
}

/// Version and protocol inside that a hello has chosen (RFC 8446 section 4.1.3); `None` where it is none.
fn told(body: &[u8]) -> Option<String> {
    let version = u16::from_be_bytes(*body.first_chunk()?);
    let session = usize::from(*body.get(2 + RANDOM)?);
    // Behind the session: a suite, and no compression.
    let rest = body.get(2 + RANDOM + 1 + session + 3..)?;
    let (mut version, mut inside) = (version, None);
    let mut rest = if rest.is_empty() { rest } else { taken(rest).filter(|(_, behind)| behind.is_empty())?.0 };
    while !rest.is_empty() {
        let (number, behind) = rest.split_first_chunk()?;
        let (body, behind) = taken(behind)?;
        match (u16::from_be_bytes(*number), body) {
            (VERSIONS, [high, low]) => version = u16::from_be_bytes([*high, *low]),
            (ALPN, [_, _, _, name @ ..]) => inside = Some(super::plain(name)),
            _ => {}
        }
        rest = behind;
    }
    let version = match version {
        0x0301 => "1.0",
        0x0302 => "1.1",
        0x0303 => "1.2",
        0x0304 => "1.3",
        _ => return None,
    };
    Some(inside.map_or_else(|| format!("version {version}"), |inside| format!("version {version}, {inside}")))
}

/// The octets behind a length of two octets, and the rest.
fn taken(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = octets.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const DRAW: Draw = [0x5A; 36];

    #[test]
    fn a_hello_names_a_host_and_no_address() {
        let hello = question("db1.test", DRAW);
        assert_eq!(
            (&hello[..3], hello.len()),
            (&[22, 3, 1][..], 5 + usize::from(u16::from_be_bytes([hello[3], hello[4]])))
        );
        let has = |hello: &[u8], what: &[u8]| hello.windows(what.len()).any(|part| part == what);
        assert!(has(&hello, b"\0\0\0\x0d\0\x0b\0\0\x08db1.test"));
        for address in ["10.0.0.2", "fd00::2", "fe80::1%eth0"] {
            assert!(!has(&question(address, DRAW), address.as_bytes()), "{address}");
        }
    }

    /// A hello of a server with these extensions, and further octets behind it.
    fn answer(extensions: &[u8]) -> Vec<u8> {
        let body = [&[3, 3][..], &[7; RANDOM], &[1, 9], &[0x13, 1, 0], &long(extensions)].concat();
        let message = [&[SERVER_HELLO, 0][..], &long(&body)].concat();
        [&[HANDSHAKE, 3, 3][..], &long(&message)].concat()
    }

    #[test_case(b"\0\x2b\0\x02\x03\x04\0\x33\0\x02\0\x1d", "version 1.3"; "asks for a key")]
    #[test_case(b"\xff\x01\0\x01\0\0\x10\0\x05\0\x03\x02h2", "version 1.2, h2"; "of 1.2, with a protocol inside")]
    #[test_case(b"", "version 1.2"; "no extensions")]
    fn a_hello_says_version_and_protocol(extensions: &[u8], state: &str) {
        let answer = answer(extensions);
        for cut in 0..answer.len() {
            assert_eq!(read(&answer[..cut]), Reading::Unfinished, "{cut}");
        }
        let known = Reading::known(Service::Tls, Some(state.into()));
        assert_eq!(read(&answer), known);
        assert_eq!(read(&[&answer[..], b"any more"].concat()), known);
    }

    #[test]
    fn an_alert_and_words_in_clear_are_told_apart() {
        assert_eq!(read(&[21, 3, 3, 0, 2, 2, 70]), Reading::known(Service::Tls, Some("alert 70".into())));
        assert_eq!(read(b"HTTP/1.1 400 Bad Request\r\n"), Reading::known(Service::Http, None));
        for cut in 0..7 {
            assert_eq!(read(&[21, 3, 3, 0, 2, 2, 70][..cut]), Reading::Unfinished);
            assert_eq!(read(&b"HTTP/1."[..cut]), Reading::Unfinished);
        }
        for other in
            [&b"-ERR x\r\n"[..], &[22, 3, 3, 0, 9, 11], &[21, 3, 3, 0, 3], b"\x16\x03\x03\0\x10\x02\xff\xff\xff"]
        {
            assert_eq!(read(other), Reading::Other, "{other:?}");
        }
        assert_eq!(read(&answer(&[0, 43, 0, 9, 3])), Reading::Other, "an extension longer than all");
    }
}
