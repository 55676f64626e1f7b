//! Whole messages out of a connection's bytes, in place, for either end.
//!
//! Octets that come are read straight into the framer's buffer and the messages are handed out of it; only the beginning of a
//! message whose rest did not come yet is ever moved.

use crate::sockperf::message::{HEADER, Header, LengthError};
use crate::sockperf::server::{Decision, Rules};

/// Bytes of a buffer as it begins: several reads of a socket's usual backlog.
const ROOM: usize = 128 << 10;

/// The beginning of a message up to this long is moved to the front before the next read, so that it has the whole
/// buffer; a longer one only where its rest would not fit behind it.
const CHEAP: usize = 4 << 10;

/// Cuts a stream of bytes into messages.
#[derive(Clone, Debug)]
pub struct Framer {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    largest: u32,
}

impl Framer {
    /// A framer for messages up to `largest` bytes.
    pub fn new(largest: u32) -> Self {
        Self { buffer: vec![0; ROOM], start: 0, end: 0, largest }
    }

    /// Where the next read goes: never empty, once [`Framer::message`] or [`Framer::serve`] has said that no whole
    /// message is left. Follow by [`Framer::filled`].
    pub fn room(&mut self) -> &mut [u8] {
        let pending = self.end - self.start;
        let whole = self.front().max(HEADER);
        if pending <= CHEAP || self.start + whole > self.buffer.len() {
            self.make_room(pending, whole);
        }
        &mut self.buffer[self.end..]
    }

    /// The first `length` bytes of [`Framer::room`] were filled.
    pub fn filled(&mut self, length: usize) {
        self.end = (self.end + length).min(self.buffer.len());
    }

    /// Bytes that came and were not handed out: of a message whose rest is still to come.
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    /// Returns true where [`Framer::message`] has something to give, be it an error.
    #[inline]
    pub fn has_message(&self) -> bool {
        !matches!(self.peek(), Ok(None))
    }

    /// The next whole message with its header; `None` where more has to come first. An error is final.
    #[inline]
    pub fn message(&mut self) -> Result<Option<(Header, &mut [u8])>, LengthError> {
        Ok(self.take()?.map(|(header, from)| (header, &mut self.buffer[from..self.start])))
    }

    /// Handles messages as a server does: up to the end of the first row of neighbours that all go back, which one
    /// send call can then hand over, or as many as are whole. `each` sees every header. `None` where more has to come
    /// first. An error is final; messages before it are handled first.
    #[inline]
    pub fn serve(&mut self, rules: &Rules, mut each: impl FnMut(&Header)) -> Result<Option<Batch<'_>>, LengthError> {
        let Some((mut header, mut from)) = self.take()? else { return Ok(None) };
        let (mut counted, mut answered, mut answers) = (0, 0, None);
        loop {
            each(&header);
            match rules.handle(header, &mut self.buffer[from..self.start]) {
                Decision::Ignore => {}
                Decision::Count => counted += 1,
                Decision::Answer => {
                    counted += 1;
                    answered += 1;
                    answers.get_or_insert(from);
                }
            }
            let wanted = |next: &Header| answers.is_none() || rules.decide(next.flags) == Decision::Answer;
            match self.peek() {
                Ok(Some(next)) if wanted(&next) => {
                    (header, from) = (next, self.start);
                    self.start += next.length as usize;
                }
                _ => break,
            }
        }
        Ok(Some(Batch { counted, answered, answers: &self.buffer[answers.unwrap_or(self.start)..self.start] }))
    }

    /// The header of the next message, if that is whole.
    #[inline]
    fn peek(&self) -> Result<Option<Header>, LengthError> {
        let pending = &self.buffer[self.start..self.end];
        let Some(header) = Header::read(pending) else { return Ok(None) };
        let length = header.length_within(self.largest)?;
        Ok((length <= pending.len()).then_some(header))
    }

    /// Takes the next message: its header and where it begins. It ends where the framer now starts.
    #[inline]
    fn take(&mut self) -> Result<Option<(Header, usize)>, LengthError> {
        let Some(header) = self.peek()? else { return Ok(None) };
        let from = self.start;
        self.start += header.length as usize;
        Ok(Some((header, from)))
    }

    /// Bytes of the message in front, where its header is there and sound; else 0.
    fn front(&self) -> usize {
        let header = Header::read(&self.buffer[self.start..self.end]);
        header.and_then(|header| header.length_within(self.largest).ok()).unwrap_or(0)
    }

    #[inline]
    fn make_room(&mut self, pending: usize, whole: usize) {
        if whole > self.buffer.len() {
            let mut longer = vec![0; whole];
            longer[..pending].copy_from_slice(&self.buffer[self.start..self.end]);
            self.buffer = longer;
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, pending);
    }
}

/// Messages that were handled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Messages that are counted, those answered among them.
    pub counted: u64,
    /// Messages that are answered.
    pub answered: u64,
    /// The answers, one after the other, ready to be sent; empty where nothing asked.
    pub answers: &'a [u8],
}
