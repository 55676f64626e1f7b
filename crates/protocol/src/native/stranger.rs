//! Recognition of programs that answer, or call, in another protocol than ours.
//!
//! Only the first octets are looked at, and only to tell the user: nothing is done for a stranger.

use std::fmt;

/// Error of a connection whose other end is no peer of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {saw}", if saw.speaker.is_mute() { "the peer may not be sonde" } else { "the peer is not sonde" })]
pub struct NotSonde {
    /// Octets that came instead.
    pub saw: Saw,
}

/// Octets that came in place of our magic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saw {
    /// Protocol that they seem to belong to.
    pub speaker: Speaker,
    /// The first octets, escaped where they do not print; empty where nothing came.
    pub excerpt: String,
}

/// Most octets of a stranger's greeting that are kept for a message.
const EXCERPT: usize = 48;

impl Saw {
    /// Recognises these octets.
    pub fn of(bytes: &[u8]) -> Self {
        let head = &bytes[..bytes.len().min(EXCERPT)];
        let line = head.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or(head);
        let shown = if line.is_empty() { head } else { line };
        Self { speaker: Speaker::of(bytes), excerpt: shown.escape_ascii().to_string() }
    }

    /// Nothing came although there was time.
    pub const SILENCE: Self = Self { speaker: Speaker::Silent, excerpt: String::new() };
    /// Our own first octets came back.
    pub const ECHO: Self = Self { speaker: Speaker::Echo, excerpt: String::new() };
    /// The connection was closed before a word was said.
    pub const CLOSED: Self = Self { speaker: Speaker::Closed, excerpt: String::new() };
}

impl fmt::Display for Saw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.speaker {
            Speaker::Http => f.write_str("it speaks HTTP")?,
            Speaker::Ssh => f.write_str("it speaks SSH")?,
            Speaker::Tls => f.write_str("it speaks TLS")?,
            Speaker::Greeter => f.write_str("it greets as a mail or file server does")?,
            Speaker::Echo => return f.write_str("it sends back whatever it is sent, as an echo service does"),
            Speaker::Closed => {
                return f.write_str("the peer, or a middlebox, closed the connection without sending anything");
            }
            Speaker::Silent => {
                return f.write_str(
                    "the peer sends nothing, like netserver and iperf3 when they wait for more, or any program that hangs",
                );
            }
            Speaker::Unknown => f.write_str("it answers in an unknown way")?,
        }
        write!(f, " (`{}`)", self.excerpt)
    }
}

/// Protocol that a stranger seems to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// HTTP, from either side.
    Http,
    /// SSH's version line.
    Ssh,
    /// A TLS record: a handshake or an alert.
    Tls,
    /// `220 …`: SMTP or FTP.
    Greeter,
    /// Our own octets come back.
    Echo,
    /// The connection was closed at once.
    Closed,
    /// Nothing came: a server that waits for more (netserver, iperf3), or a hung one.
    Silent,
    /// None of these.
    Unknown,
}

impl Speaker {
    /// True of one that said no word: what it is is not known.
    pub fn is_mute(self) -> bool {
        matches!(self, Self::Closed | Self::Silent)
    }

    fn of(bytes: &[u8]) -> Self {
        const HTTP: [&[u8]; 8] = [b"HTTP/", b"GET ", b"HEAD ", b"POST ", b"PUT ", b"OPTIONS ", b"CONNECT ", b"PRI "];
        const PAGE: [&[u8]; 2] = [b"<!DOCTYPE HTML", b"<HTML"];
        let starts_with_any_case =
            |bytes: &[u8], word: &[u8]| bytes.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        match bytes {
            _ if HTTP.iter().any(|word| bytes.starts_with(word)) => Self::Http,
            // Some web servers answer octets that are no request of HTTP by a page without a status line.
            _ if PAGE.iter().any(|word| starts_with_any_case(bytes, word)) => Self::Http,
            _ if bytes.starts_with(b"SSH-") => Self::Ssh,
            // RFC 8446 section 5.1: type alert (21) or handshake (22), then legacy version 3.x.
            [21 | 22, 3, ..] => Self::Tls,
            _ if bytes.starts_with(b"220 ") || bytes.starts_with(b"220-") => Self::Greeter,
            [] => Self::Closed,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::native::preamble::{Answer, Greeting};

    #[test_case(b"HTTP/1.1 400 Bad Request\r\n\r\n", Speaker::Http, "it speaks HTTP (`HTTP/1.1 400 Bad Request`)")]
    #[test_case(b"<!doctype html>\n<html>", Speaker::Http, "it speaks HTTP (`<!doctype html>`)"; "a page alone")]
    #[test_case(b"GET / HTTP/1.1\r\n", Speaker::Http, "it speaks HTTP (`GET / HTTP/1.1`)")]
    #[test_case(b"SSH-2.0-OpenSSH_9.2\r\n", Speaker::Ssh, "it speaks SSH (`SSH-2.0-OpenSSH_9.2`)")]
    #[test_case(b"\x15\x03\x01\x00\x02\x02\x46", Speaker::Tls, r"it speaks TLS (`\x15\x03\x01\x00\x02\x02F`)")]
    #[test_case(b"220 mail ESMTP\r\n", Speaker::Greeter, "it greets as a mail or file server does (`220 mail ESMTP`)")]
    #[test_case(b"\xff", Speaker::Unknown, r"it answers in an unknown way (`\xff`)"; "iperf3 that is busy")]
    fn a_stranger_is_told_apart(said: &[u8], speaker: Speaker, words: &str) {
        let error = Answer::read(said).unwrap_err();
        assert_eq!((error.saw.speaker, error.saw.to_string().as_str()), (speaker, words));
        assert_eq!(Greeting::read(said), Err(error));
    }

    #[test]
    fn a_long_greeting_is_cut() {
        assert_eq!(Saw::of(&[b'x'; 5_000]).excerpt.len(), EXCERPT);
        assert_eq!(Saw::of(b"\r\n\r\n").excerpt, r"\r\n\r\n");
    }
}
