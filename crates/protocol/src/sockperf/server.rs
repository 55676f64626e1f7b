//! Rules by which a server handles each message, and a datagram of them.
//!
//! Seen with sockperf 3.7 and 3.10, in this order: a message without the client's bit is ignored (or two servers could
//! answer each other without end), so is a warm-up; every other is counted, and goes back where it asks for that.
//!
//! Datagrams are taken one by one here. The real servers append them to one buffer, so that the tail of a malformed one
//! spoils the next, whoever sent it, and 3.10 can be brought to loop without end.

use crate::sockperf::message::{self, Flags, HEADER, Header, LARGEST_DATAGRAM, LengthError};

/// Settings of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Bytes of the largest message that is taken. Unless told otherwise 65,507 on connections too, as 3.7 does; 3.10
    /// takes one byte more.
    pub largest: u32,
    /// True where messages are answered.
    pub answers: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { largest: LARGEST_DATAGRAM, answers: true }
    }
}

impl Rules {
    /// Decides about a message by its flags.
    #[inline]
    pub fn decide(&self, flags: Flags) -> Decision {
        if !flags.has(Flags::CLIENT) || flags.has(Flags::WARMUP) {
            Decision::Ignore
        } else if self.answers && flags.has(Flags::PONG_REQUEST) {
            Decision::Answer
        } else {
            Decision::Count
        }
    }

    /// Handles one whole message, whose header is `header`; where it is to be answered it is made the answer.
    #[inline]
    pub fn handle(&self, header: Header, bytes: &mut [u8]) -> Decision {
        let decision = self.decide(header.flags);
        if decision == Decision::Answer {
            message::answer(bytes);
        }
        decision
    }

    /// Handles all messages of one datagram, in place. Each answer leaves as a datagram of its own.
    #[inline]
    pub fn datagram<'a>(&self, datagram: &'a mut [u8]) -> Datagram<'a> {
        Datagram { rest: datagram, rules: *self }
    }
}

/// Decision about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: not a client's, or a warm-up.
    Ignore,
    /// It is counted.
    Count,
    /// It is counted, and goes back.
    Answer,
}

/// A message that was handled.
#[derive(Debug, PartialEq, Eq)]
pub struct Handled<'a> {
    /// Its header, as it came.
    pub header: Header,
    /// Decision about it.
    pub decision: Decision,
    /// All of it; with [`Decision::Answer`] it is the answer.
    pub bytes: &'a mut [u8],
}

/// The messages of one datagram, handled one after the other. Ends after a malformed one: the place of the next message
/// is then unknown.
#[derive(Debug)]
pub struct Datagram<'a> {
    rest: &'a mut [u8],
    rules: Rules,
}

impl<'a> Iterator for Datagram<'a> {
    type Item = Result<Handled<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let (header, length) = match measure(rest, self.rules.largest) {
            Ok(measured) => measured,
            Err(malformed) => return Some(Err(malformed)),
        };
        let (bytes, rest) = rest.split_at_mut(length);
        self.rest = rest;
        let decision = self.rules.handle(header, bytes);
        Some(Ok(Handled { header, decision, bytes }))
    }
}

/// The header in front of `rest` and the bytes of its message, which is all there.
#[inline]
fn measure(rest: &[u8], largest: u32) -> Result<(Header, usize), Malformed> {
    let there = rest.len();
    let header = Header::read(rest).ok_or(Malformed::Tail { there })?;
    let length = header.length_within(largest)?;
    if length > there { Err(Malformed::Cut { length, there }) } else { Ok((header, length)) }
}

/// The rest of a datagram that is no message. It is counted and forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Less than a header.
    #[error("{there} bytes, but a header has {HEADER}")]
    Tail {
        /// Bytes that are there, 1 to 13.
        there: usize,
    },
    /// Less than the message says that it has.
    #[error("a message of {length} bytes, of which the datagram holds {there}")]
    Cut {
        /// As the message says, bytes.
        length: usize,
        /// Bytes that are there.
        there: usize,
    },
    /// A length that no message may have.
    #[error(transparent)]
    Length(#[from] LengthError),
}
