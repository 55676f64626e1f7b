//! Reads the captures of the real iperf3.

use protocol::iperf3::cookie::LENGTH;

const CAPTURES: &str = include_str!("../../fixtures/iperf3/control.txt");

/// Octets of one control connection.
pub struct Capture {
    pub name: &'static str,
    /// Octets of the client behind its cookie.
    pub client: Vec<u8>,
    pub server: Vec<u8>,
}

impl Capture {
    /// The client's parameters, where they were captured whole.
    pub fn parameters(&self) -> Option<&[u8]> {
        message(&self.client)
    }

    /// Returns the results that the client sent after the test.
    pub fn client_results(&self) -> Option<&[u8]> {
        let behind = 4 + self.parameters()?.len() + 1;
        message(self.client.get(behind..)?)
    }

    /// Returns the results that the server sent after the test: behind its states 9, 10, 1, 2 and 13.
    pub fn server_results(&self) -> Option<&[u8]> {
        message(self.server.get(5..)?)
    }
}

/// The text of the frame that `octets` start with.
pub fn message(octets: &[u8]) -> Option<&[u8]> {
    let (length, rest) = octets.split_first_chunk()?;
    rest.get(..u32::from_be_bytes(*length) as usize)
}

fn octets(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        if octet == b'\\' {
            let code: Vec<u8> = rest.by_ref().take(3).collect();
            let code = std::str::from_utf8(&code[1..]).expect("ASCII");
            octets.push(u8::from_str_radix(code, 16).expect("two digits"));
        } else {
            octets.push(octet);
        }
    }
    octets
}

pub fn all() -> Vec<Capture> {
    let mut lines = CAPTURES.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut captures = Vec::new();
    while let Some(name) = lines.next() {
        let name = name.strip_prefix("= ").and_then(|line| line.split_once(": ")).expect("a name").0;
        let mut said = |mark| octets(lines.next().and_then(|line| line.strip_prefix(mark)).expect("what was said"));
        let (mut client, server) = (said("> "), said("< "));
        assert_eq!(client.drain(..LENGTH).next_back(), Some(0), "a cookie ends with a NUL");
        captures.push(Capture { name, client, server });
    }
    assert_eq!(captures.len(), 31, "every capture was read");
    captures
}

pub fn named(name: &str) -> Capture {
    all().into_iter().find(|capture| capture.name == name).unwrap_or_else(|| panic!("no capture {name}"))
}

/// The same octets with -1 in place of what 3.12 writes for it, and lengths that fit.
pub fn modern(octets: &[u8], before: usize) -> Vec<u8> {
    let Some(text) = octets.get(before..).and_then(message) else { return octets.to_vec() };
    let new = String::from_utf8_lossy(text).replace("18446744073709551615", "-1");
    let mut modern = octets[..before].to_vec();
    modern.extend((new.len() as u32).to_be_bytes());
    modern.extend(new.bytes());
    modern.extend(&octets[before + 4 + text.len()..]);
    modern
}
