//! Frames of HTTP/3 (RFC 9114 section 7), and a response as its stream brings it.

use super::qpack;
use crate::application::http::LONGEST_HEAD;

/// Octets of a body.
pub const DATA: u64 = 0;
/// A block of fields.
pub const HEADERS: u64 = 1;
/// Settings of a connection.
pub const SETTINGS: u64 = 4;
/// The server goes.
pub const GOAWAY: u64 = 7;
/// A push that is promised.
pub const PUSH_PROMISE: u64 = 5;
/// A push that is taken back.
pub const CANCEL_PUSH: u64 = 3;
/// The most pushes, which a client alone says.
pub const MAX_PUSH_ID: u64 = 13;
/// Kinds that HTTP/2 has and HTTP/3 has not (section 7.2.8).
pub const OLD: [u64; 4] = [2, 6, 8, 9];

/// Writes a number of variable length (RFC 9000 section 16); those that are written here are below 2^30.
pub fn number(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0x3F => out.push(number as u8),
        0x40..=0x3FFF => out.extend_from_slice(&(number as u16 | 0x4000).to_be_bytes()),
        _ => out.extend_from_slice(&(number as u32 | 0x8000_0000).to_be_bytes()),
    }
}

/// The number that `octets` begin with, and how many octets it has; `None`: more has to come.
pub fn read_number(octets: &[u8]) -> Option<(u64, usize)> {
    let length = 1 << (octets.first()? >> 6);
    let written = octets.get(..length)?;
    let number = written.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
    // The two highest bits are its length.
    Some((number & (u64::MAX >> (66 - 8 * length)), length))
}

/// Writes a frame.
pub fn write(out: &mut Vec<u8>, kind: u64, payload: &[u8]) {
    number(out, kind);
    number(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its kind.
    pub kind: u64,
    /// Octets of its payload.
    pub length: u64,
    /// Octets of the head itself.
    pub octets: usize,
}

impl Head {
    /// The head that `octets` begin with; `None`: more has to come.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let (kind, first) = read_number(octets)?;
        let (length, second) = read_number(&octets[first..])?;
        Some(Self { kind, length, octets: first + second })
    }

    /// The payload behind it and the octets of the whole frame; `None`: more has to come. `Err`: longer than `longest`.
    pub fn payload(self, octets: &[u8], longest: usize) -> Result<Option<(&[u8], usize)>, ()> {
        let length = usize::try_from(self.length).ok().filter(|length| *length <= longest).ok_or(())?;
        let end = self.octets + length;
        Ok(octets.get(self.octets..end).map(|payload| (payload, end)))
    }
}

/// The place in a response that its reader has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Octets of a payload that are still to be passed over.
    left: u64,
    /// The status of the response, once it was read.
    status: Option<u16>,
    /// The fields behind the body have come.
    trailed: bool,
}

impl Reading {
    /// Takes a part of `octets`, which come next on the stream, and returns its length. 0: more has to come.
    ///
    /// # Errors
    /// No response.
    pub fn take(&mut self, octets: &[u8]) -> Result<usize, &'static str> {
        if self.left > 0 {
            let part = octets.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.left -= part as u64;
            return Ok(part);
        }
        let Some(head) = Head::read(octets) else { return Ok(0) };
        match head.kind {
            HEADERS if self.trailed => Err("a response has fields behind its end"),
            HEADERS => {
                let block = head.payload(octets, LONGEST_HEAD).map_err(|()| "the fields of a response are too long")?;
                let Some((block, taken)) = block else { return Ok(0) };
                self.fields(qpack::status(block)?)?;
                Ok(taken)
            }
            DATA if self.status.is_none() => Err("a body without a response"),
            DATA if self.trailed => Err("a response has a body behind its end"),
            CANCEL_PUSH | SETTINGS | PUSH_PROMISE | GOAWAY | MAX_PUSH_ID => Err("a frame that a response cannot have"),
            old if OLD.contains(&old) => Err("a frame of HTTP/2"),
            // A body is counted and forgotten; a frame that is not known is passed over (section 9).
            _ => {
                self.left = head.length;
                Ok(head.octets)
            }
        }
    }

    fn fields(&mut self, status: Option<u16>) -> Result<(), &'static str> {
        match (self.status, status) {
            // An interim response: the one that counts follows (RFC 9110 section 15.2).
            (None, Some(100..=199)) => {}
            (None, Some(status)) => self.status = Some(status),
            (None, None) => return Err("a response has no status"),
            (Some(_), _) => self.trailed = true,
        }
        Ok(())
    }

    /// The stream has ended here: the status of the response, where it is whole.
    pub fn ended(&self) -> Option<u16> {
        self.status.filter(|_| self.left == 0)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    // RFC 9000 appendix A.1.
    #[test_case(&[0xC2, 0x19, 0x7C, 0x5E, 0xFF, 0x14, 0xE8, 0x8C], 151_288_809_941_952_652)]
    #[test_case(&[0x9D, 0x7F, 0x3E, 0x7D], 494_878_333)]
    #[test_case(&[0x7B, 0xBD], 15_293)]
    #[test_case(&[0x25], 37)]
    #[test_case(&[0x40, 0x25], 37; "more octets than it takes")]
    fn numbers_are_read(octets: &[u8], expected: u64) {
        assert_eq!(read_number(octets), Some((expected, octets.len())));
        assert_eq!(read_number(&octets[..octets.len() - 1]), None);
        let mut out = Vec::new();
        if expected < 1 << 30 {
            number(&mut out, expected);
            assert_eq!(read_number(&out), Some((expected, out.len())));
        }
    }
}
