//! Streams that a server opens itself (RFC 9114 section 6.2): its control stream is read, those of QPACK and unknown ones are passed over.

use super::frame::{self, GOAWAY, Head, SETTINGS};

/// A control stream.
const CONTROL: u64 = 0;
/// A push.
const PUSH: u64 = 1;
/// Octets of the number of a stream, at the most.
const LONGEST_NUMBER: usize = 8;

/// The server's control stream. Its settings are passed over: none of them is used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The kind of the stream.
    kind: Option<u64>,
    /// Octets of a payload that are still to be passed over.
    left: u64,
    /// The settings have come.
    begun: bool,
    /// The first request that is not answered, once the server has said that it goes.
    leaving: Option<u64>,
}

impl Control {
    /// Takes a part of `octets`, which come next on the stream, and returns its length. 0: more has to come.
    ///
    /// # Errors
    /// Octets that a server may not send there.
    pub fn take(&mut self, octets: &[u8]) -> Result<usize, &'static str> {
        match self.kind {
            None => {
                let Some((kind, taken)) = frame::read_number(octets) else { return Ok(0) };
                self.kind = Some(kind);
                if kind == PUSH { Err("the server pushes, which nobody asked for") } else { Ok(taken) }
            }
            Some(CONTROL) if self.left > 0 => {
                let part = octets.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= part as u64;
                Ok(part)
            }
            Some(CONTROL) => self.frame(octets),
            Some(_) => Ok(octets.len()),
        }
    }

    /// The number of the first stream that the server does not answer, once it has said so.
    pub fn leaving(&self) -> Option<u64> {
        self.leaving
    }

    /// True of a stream that must not end (RFC 9114 section 6.2.1).
    pub fn is_needed(&self) -> bool {
        self.kind == Some(CONTROL)
    }

    fn frame(&mut self, octets: &[u8]) -> Result<usize, &'static str> {
        let Some(head) = Head::read(octets) else { return Ok(0) };
        match (head.kind, self.begun) {
            (SETTINGS, false) => self.begun = true,
            (_, false) => return Err("the server does not begin with its settings"),
            (GOAWAY, true) => {
                let payload = head.payload(octets, LONGEST_NUMBER).map_err(|()| "a GOAWAY names no stream")?;
                let Some((payload, taken)) = payload else { return Ok(0) };
                let (stream, length) = frame::read_number(payload).ok_or("a GOAWAY names no stream")?;
                if length != payload.len() || self.leaving.is_some_and(|before| stream > before) {
                    return Err("a GOAWAY names no stream");
                }
                self.leaving = Some(stream);
                return Ok(taken);
            }
            (SETTINGS | frame::DATA | frame::HEADERS | frame::PUSH_PROMISE | frame::MAX_PUSH_ID, true) => {
                return Err("a frame that the server may not send there");
            }
            (old, true) if frame::OLD.contains(&old) => return Err("a frame of HTTP/2"),
            // One that takes back a push takes back nothing; others are not known.
            (_, true) => {}
        }
        self.left = head.length;
        Ok(head.octets)
    }
}
