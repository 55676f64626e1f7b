//! The octets of one message.

use crate::netperf::MESSAGE;

/// The octets of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message([u8; MESSAGE]);

/// Where a message's second word stands: the server's CPU in a request, an error number in an answer.
pub(super) const SECOND: usize = 4;

impl Message {
    /// A message of these first two words and an empty body.
    pub fn new(first: u32, second: u32) -> Self {
        let mut message = Self([0; MESSAGE]);
        message.put(0, first);
        message.put(SECOND, second);
        message
    }

    /// The message that these octets are.
    pub fn of(octets: &[u8; MESSAGE]) -> Self {
        Self(*octets)
    }

    /// As it is sent.
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// The word at `at`.
    pub fn word(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.0[at..at + 4]);
        u32::from_be_bytes(word)
    }

    /// Puts a word at `at`.
    pub fn put(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// The text in `room` octets at `at`: up to a NUL, which need not be there.
    pub fn text(&self, at: usize, room: usize) -> &[u8] {
        let field = &self.0[at..at + room];
        field.split(|octet| *octet == 0).next().unwrap_or(field)
    }

    /// Writes `text` at `at`; the part beyond the message's end is left out.
    pub fn put_text(&mut self, at: usize, text: &[u8]) {
        for (to, from) in self.0[at..].iter_mut().zip(text) {
            *to = *from;
        }
    }
}
