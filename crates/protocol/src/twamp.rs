//! TWAMP's control connection (RFC 5357 section 3, upon RFC 4656 section 3), a client's end in open mode: what it says, and what
//! a server's answers mean. The packets of a session are those of [`stamp`](crate::stamp).
//!
//! Each message has one length, so that who reads knows how much to wait for. In open mode what stands for keys, tokens and
//! seals is zeros, and is not looked at.

use std::net::IpAddr;

use crate::stamp::layout::take;

/// TCP port of a server's control connections (RFC 5357 section 7.2).
pub const PORT: u16 = 862;
/// Octets of a packet of a session in front of its padding.
pub const PACKET: usize = 14;
/// Octets of a greeting.
pub const GREETING: usize = 64;
/// Octets of what a server says when it is ready.
pub const SERVER_START: usize = 48;
/// Octets of the answer to a request for a session.
pub const ACCEPT_SESSION: usize = 48;
/// Octets of the answer to the word that sessions start.
pub const START_ACK: usize = 32;

/// The bit of the mode without authentication.
const OPEN: u32 = 1;
/// Numbers of commands.
const START: u8 = 2;
const STOP: u8 = 3;
const REQUEST: u8 = 5;
/// Octets of a response to a greeting, of a request, and of the two other commands.
const RESPONSE: usize = 164;
const SESSION: usize = 112;
const COMMAND: usize = 32;

/// The reason why a server does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No mode: it does not serve us.
    #[error("the server offers no mode: it does not serve this host")]
    NoMode,
    /// Authentication is wanted.
    #[error("the server requires authentication (modes {0:#x}) and offers no open mode")]
    NotOpen(u32),
    /// A code of its answer.
    #[error("the server reports: {}", code(*.0))]
    Code(u8),
    /// A port that is none.
    #[error("the server names no port for the session")]
    NoPort,
}

/// The meaning of an answer's code (RFC 4656 section 3.3).
fn code(code: u8) -> String {
    let text = match code {
        1 => "failure, reason unspecified",
        2 => "internal error",
        3 => "some aspect of the request is not supported",
        4 => "permanent resource limits",
        5 => "temporary resource limits",
        other => return format!("code {other}, which RFC 4656 does not define"),
    };
    text.to_owned()
}

/// Reads a greeting: it has to offer the open mode.
pub fn greeting(octets: &[u8; GREETING]) -> Result<(), Refusal> {
    let [.., first, second, third, fourth] = octets[..16] else { return Err(Refusal::NoMode) };
    match u32::from_be_bytes([first, second, third, fourth]) {
        0 => Err(Refusal::NoMode),
        modes if modes & OPEN == 0 => Err(Refusal::NotOpen(modes)),
        _ => Ok(()),
    }
}

/// The response to a greeting: the open mode.
pub fn response() -> [u8; RESPONSE] {
    let mut octets = [0; RESPONSE];
    octets[..4].copy_from_slice(&OPEN.to_be_bytes());
    octets
}

/// Reads what a server says when it is ready.
pub fn server_start(octets: &[u8; SERVER_START]) -> Result<(), Refusal> {
    accepted(octets[15])
}

/// A session that is asked for: packets from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// From where.
    pub sender: (IpAddr, u16),
    /// To where; the server may name another port.
    pub receiver: (IpAddr, u16),
    /// Octets behind those of [`PACKET`].
    pub padding: u32,
    /// For how long after the end packets are still answered, seconds.
    pub timeout_s: u32,
    /// Code point of the packets.
    pub class: u8,
}

impl Session {
    /// The request for it (RFC 5357 section 3.5): it starts when all do.
    pub fn request(&self) -> [u8; SESSION] {
        let mut octets = [0; SESSION];
        octets[0] = REQUEST;
        octets[1] = if self.sender.0.is_ipv4() { 4 } else { 6 };
        octets[12..14].copy_from_slice(&self.sender.1.to_be_bytes());
        octets[14..16].copy_from_slice(&self.receiver.1.to_be_bytes());
        address(&mut octets[16..32], self.sender.0);
        address(&mut octets[32..48], self.receiver.0);
        octets[64..68].copy_from_slice(&self.padding.to_be_bytes());
        octets[76..80].copy_from_slice(&self.timeout_s.to_be_bytes());
        // The code point in the low six bits of the first octet.
        octets[84] = self.class & 0x3F;
        octets
    }
}

fn address(place: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => place[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => place.copy_from_slice(&address.octets()),
    }
}

/// A session that is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The port to which its packets go.
    pub port: u16,
    /// Its identifier (SID), which the server chose.
    pub session: [u8; 16],
}

/// Reads the answer to a request.
pub fn accept_session(octets: &[u8; ACCEPT_SESSION]) -> Result<Granted, Refusal> {
    accepted(octets[0])?;
    match u16::from_be_bytes([octets[2], octets[3]]) {
        0 => Err(Refusal::NoPort),
        port => Ok(Granted { port, session: take(octets, 4) }),
    }
}

/// The word that all sessions start.
pub fn start_sessions() -> [u8; COMMAND] {
    let mut octets = [0; COMMAND];
    octets[0] = START;
    octets
}

/// Reads the answer to it.
pub fn start_ack(octets: &[u8; START_ACK]) -> Result<(), Refusal> {
    accepted(octets[0])
}

/// The word that all sessions are over, as they were to be; nothing answers it.
pub fn stop_sessions(count: u32) -> [u8; COMMAND] {
    let mut octets = [0; COMMAND];
    octets[0] = STOP;
    octets[4..8].copy_from_slice(&count.to_be_bytes());
    octets
}

fn accepted(code: u8) -> Result<(), Refusal> {
    if code == 0 { Ok(()) } else { Err(Refusal::Code(code)) }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn modes(modes: u32) -> [u8; GREETING] {
        let mut octets = [0xEE; GREETING];
        octets[12..16].copy_from_slice(&modes.to_be_bytes());
        octets
    }

    #[test_case(1, Ok(()); "open alone")]
    #[test_case(0x7F, Ok(()); "all of them")]
    #[test_case(0, Err(Refusal::NoMode); "none")]
    #[test_case(6, Err(Refusal::NotOpen(6)); "authenticated and encrypted")]
    fn a_greeting_offers_modes(offered: u32, read: Result<(), Refusal>) {
        assert_eq!(greeting(&modes(offered)), read);
    }

    #[test]
    fn commands_stand_where_the_rfc_has_them() {
        let response = response();
        assert_eq!((&response[..4], response.iter().filter(|octet| **octet > 0).count()), (&[0, 0, 0, 1][..], 1));
        assert_eq!((start_sessions()[0], stop_sessions(3)[0], &stop_sessions(3)[4..8]), (2, 3, &[0, 0, 0, 3][..]));
        let session = Session {
            sender: ("192.0.2.1".parse().unwrap(), 0x1234),
            receiver: ("192.0.2.2".parse().unwrap(), 0x5678),
            padding: 30,
            timeout_s: 3,
            class: 46,
        };
        let octets = session.request();
        assert_eq!(octets[..2], [5, 4]);
        assert_eq!(octets[12..20], [0x12, 0x34, 0x56, 0x78, 192, 0, 2, 1]);
        assert_eq!((&octets[32..36], &octets[64..68]), (&[192, 0, 2, 2][..], &[0, 0, 0, 30][..]));
        assert_eq!((&octets[76..84], octets[84]), (&[0, 0, 0, 3, 0, 0, 0, 0][..], 46));
        let sixth = ("2001:db8::1".parse().unwrap(), 1);
        let octets = Session { sender: sixth, receiver: sixth, ..session }.request();
        assert_eq!((octets[1], &octets[16..20], octets[47]), (6, &[0x20, 1, 0x0d, 0xb8][..], 1));
    }

    #[test_case(0, 20_001, Ok(20_001); "accepted")]
    #[test_case(0, 0, Err(Refusal::NoPort); "without a port")]
    #[test_case(5, 20_001, Err(Refusal::Code(5)); "refused")]
    fn a_session_is_accepted_or_not(accept: u8, port: u16, read: Result<u16, Refusal>) {
        let mut octets = [0; ACCEPT_SESSION];
        octets[0] = accept;
        octets[2..4].copy_from_slice(&port.to_be_bytes());
        octets[4..20].copy_from_slice(b"a session's name");
        let read = read.map(|port| Granted { port, session: *b"a session's name" });
        assert_eq!(accept_session(&octets), read);
    }

    #[test]
    fn every_code_is_told_of() {
        for code in 1..=u8::MAX {
            let (mut ready, mut started) = ([0; SERVER_START], [0; START_ACK]);
            (ready[15], started[0]) = (code, code);
            assert_eq!(
                (server_start(&ready), start_ack(&started)),
                (Err(Refusal::Code(code)), Err(Refusal::Code(code)))
            );
            assert!(Refusal::Code(code).to_string().len() > 20);
        }
    }
}
