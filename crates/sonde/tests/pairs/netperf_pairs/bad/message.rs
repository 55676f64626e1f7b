//! The control messages as the reference has them: 164 words, most of them 0.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Octets of a message.
pub const SIZE: usize = 656;

/// One message.
#[derive(Clone)]
pub struct Message(pub Vec<u8>);

impl Message {
    /// A message of this type, with `second` in its second word.
    pub fn new(kind: i32, second: i32) -> Self {
        Self(vec![0; SIZE]).with(0, kind).with(4, second)
    }

    /// The request for an omni test of transactions over TCP for a second, one octet each way.
    pub fn tcp_rr() -> Self {
        let words = [
            (8, -1),
            (12, -1),
            (16, 8),
            (24, 1),
            (28, 1),
            (32, -1),
            (36, -1),
            (40, 8),
            (48, 1),
            (52, 1),
            (56, 0x20),
            (64, 1),
            (76, -1),
            (80, -1),
            (84, -1),
            (92, 4),
            (96, 1),
            (100, 6),
            (104, 6),
            (152, -1),
            (156, -1),
        ];
        words.into_iter().fold(Self::new(97, -1), |message, (at, word)| message.with(at, word))
    }

    /// The same over UDP.
    pub fn udp_rr() -> Self {
        Self::tcp_rr().with(96, 2).with(100, 17)
    }

    /// A stream that the server receives.
    pub fn tcp_stream() -> Self {
        Self::tcp_rr().with(28, -1).with(52, -1).with(104, 4)
    }

    /// A stream that the server sends.
    pub fn tcp_maerts() -> Self {
        Self::tcp_rr().with(28, -1).with(52, -1).with(104, 2)
    }

    /// An omni response that names a data port.
    pub fn ready(data_port: i32) -> Self {
        let words =
            [(8, 131_072), (12, 1), (16, 1), (20, 16_384), (24, 1), (28, 1), (52, data_port), (72, -1), (76, -1)];
        words.into_iter().fold(Self::new(98, 0), |message, (at, word)| message.with(at, word))
    }

    /// The same with a word changed.
    pub fn with(mut self, at: usize, word: i32) -> Self {
        self.0[at..at + 4].copy_from_slice(&word.to_be_bytes());
        self
    }

    /// The same with a text in place.
    pub fn with_text(mut self, at: usize, text: &str) -> Self {
        self.0[at..at + text.len()].copy_from_slice(text.as_bytes());
        self
    }

    /// A word.
    pub fn word(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    /// The next message of a connection, waited for at most `seconds`; `None` at its end.
    pub fn read(stream: &mut TcpStream, seconds: u64) -> Option<Self> {
        stream.set_read_timeout(Some(Duration::from_secs(seconds))).unwrap();
        let mut octets = vec![0; SIZE];
        match stream.read_exact(&mut octets) {
            Ok(()) => Some(Self(octets)),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("nothing came within {seconds} s"),
            Err(_) => None,
        }
    }

    /// Sends it.
    pub fn send(&self, stream: &mut TcpStream) {
        stream.write_all(&self.0).unwrap();
    }
}
