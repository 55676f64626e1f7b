//! Acknowledgement that a server sends right after a header.
//!
//! Most clients never read it; one that was started with `-X` or `--trip-times` does.

use super::settings::Version;
use super::time::Stamp;
use super::word;

/// Octets of the usual form.
pub const SHORT: usize = 28;
/// Octets of the form with times.
pub const LONG: usize = 52;

const KIND: u32 = 2;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// 0.
    pub flags: u32,
    /// The server's version.
    pub version: Version,
    /// 0.
    pub reserved: [u32; 2],
    /// Where the client asked for trip times.
    pub times: Option<Times>,
}

/// Times of the header and its acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The start time of the client's header, given back.
    pub start: Stamp,
    /// Arrival of the header at the server.
    pub received: Stamp,
    /// Send time of the acknowledgement.
    pub sent: Stamp,
}

impl Ack {
    /// One of ours.
    pub fn new(times: Option<Times>) -> Self {
        Self { flags: 0, version: Version::OURS, reserved: [0; 2], times }
    }

    /// As it goes over the wire.
    pub fn encode(&self) -> Vec<u8> {
        let length = if self.times.is_some() { LONG } else { SHORT };
        let mut octets = vec![0; length];
        let Version { upper, lower } = self.version;
        let [first, second] = self.reserved;
        word::write_all(&mut octets, 0, &[KIND, length as u32, self.flags, upper, lower, first, second]);
        if let Some(Times { start, received, sent }) = self.times {
            let words = [start.seconds, start.micros, received.seconds, received.micros, sent.seconds, sent.micros];
            word::write_all(&mut octets, SHORT, &words);
        }
        octets
    }

    /// Reads one at the start of the octets that came; `Ok(None)` where more has to come first.
    pub fn read(octets: &[u8]) -> Result<Option<(Self, usize)>, NoAck> {
        let Some(kind) = word::read(octets, 0) else { return Ok(None) };
        if kind != KIND {
            return Err(NoAck { kind, length: None });
        }
        let Some(told) = word::read(octets, 4) else { return Ok(None) };
        let length @ (SHORT | LONG) = told as usize else { return Err(NoAck { kind, length: Some(told) }) };
        let Some([_, _, flags, upper, lower, first, second]) = word::read_all(octets) else { return Ok(None) };
        let mut ack = Self { flags, version: Version { upper, lower }, reserved: [first, second], times: None };
        if length == LONG {
            let Some(words) = octets.get(SHORT..).and_then(word::read_all::<6>) else { return Ok(None) };
            let stamp = |place: usize| Stamp { seconds: words[place], micros: words[place + 1] };
            ack.times = Some(Times { start: stamp(0), received: stamp(2), sent: stamp(4) });
        }
        Ok(Some((ack, length)))
    }
}

/// A message that is no acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it begins with {kind:#010x}{}, which is not an acknowledgement",
    length.map_or_else(String::new, |length| format!(" and a length of {length}"))
)]
pub struct NoAck {
    /// Its first word.
    pub kind: u32,
    /// Its second, where the first was right.
    pub length: Option<u32>,
}
