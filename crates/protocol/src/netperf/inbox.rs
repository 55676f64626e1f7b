//! Puts messages together from a stream in any pieces.

use crate::netperf::MESSAGE;
use crate::netperf::message::Message;

/// Octets that arrived and are no message yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox(Vec<u8>);

impl Inbox {
    /// Takes the next piece of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole message.
    pub fn message(&mut self) -> Option<Message> {
        let message = Message::of(self.0.first_chunk()?);
        self.0.drain(..MESSAGE);
        Some(message)
    }

    /// Octets held.
    pub fn pending(&self) -> usize {
        self.0.len()
    }

    /// Returns the first word of the octets held.
    pub fn first_word(&self) -> Option<u32> {
        self.0.first_chunk().map(|word| u32::from_be_bytes(*word))
    }

    /// Forgets the octets held, and gives the memory back.
    pub fn clear(&mut self) {
        self.0 = Vec::new();
    }
}
