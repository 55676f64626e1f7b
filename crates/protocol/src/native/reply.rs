//! How one request is answered: the pure part of the reflector's loop. No allocation, no system call.

use crate::native::header::{Flags, Header, LENGTH};

/// What a session agreed on, as far as each reply needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The longest reply, octets.
    pub reply_bytes: u32,
    /// Every n-th request is answered, by sequence number: those where sequence number + 1 is a multiple. 0 and 1: all.
    pub reply_every: u32,
    /// Whether messages are datagrams: a reply is then never longer than its request, and a header at least.
    pub datagrams: bool,
}

impl Agreed {
    /// How many octets the reply to `request` has, which was `request_length` octets long; `None`: no reply.
    #[inline]
    pub fn reply_length(&self, request: &Header, request_length: usize) -> Option<usize> {
        if request.flags.has(Flags::SILENT) {
            return None;
        }
        // By number and not by count: under loss both ends still agree on which are answered.
        if self.reply_every > 1 && !request.seq.wrapping_add(1).is_multiple_of(u64::from(self.reply_every)) {
            return None;
        }
        let asked = self.reply_bytes.min(request.word) as usize;
        if self.datagrams { Some(asked.max(LENGTH).min(request_length)) } else { (asked > 0).then_some(asked) }
    }

    /// Writes the header of the reply to `request` to the front of `reply`, which may be the request's own buffer, and
    /// returns how many octets to send; `None`: no reply, and nothing is written. `received` counts the requests of
    /// this flow, this one included. A reply longer than `reply` is sent with whatever the driver has behind it; one
    /// shorter than a header (on a stream) carries none.
    #[inline]
    pub fn reply(&self, request: &Header, request_length: usize, received: u64, reply: &mut [u8]) -> Option<usize> {
        let length = self.reply_length(request, request_length)?;
        let header = Header { word: received as u32, ..*request };
        if let Some(head) = reply.get_mut(..length.min(LENGTH)) {
            header.write(head);
        }
        Some(length)
    }
}
