//! The echo service (RFC 862): whatever comes, over TCP or UDP, is sent back as it is.
//!
//! So a request needs a mark of its own to be known again: [`Marked`] begins with four octets that nobody else has and a number.
//! Any service that sends its input back is measured so; nothing is agreed on with it.

use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// The usual port, of TCP and UDP.
pub const PORT: u16 = 7;
/// Octets of the mark: the shortest message that has room for it.
pub const LENGTH: usize = MARK + size_of::<u64>();

const MARK: usize = 4;

/// Messages that begin with a mark of this run and their number, big endian. A message shorter than [`LENGTH`] has none
/// of that: it is taken for the reply to the oldest request.
#[derive(Clone, Debug)]
pub struct Marked {
    mark: [u8; MARK],
    /// The request as it was sent last, behind its number.
    rest: Vec<u8>,
}

impl Marked {
    /// Messages of `length` octets with `mark`, which chance has made.
    pub fn new(mark: [u8; MARK], length: usize) -> Self {
        // Not all alike, so that octets that were moved are seen.
        let rest = (0..length.saturating_sub(LENGTH)).map(|place| (place % 251) as u8).collect();
        Self { mark, rest }
    }

    fn has_room(message: &[u8]) -> bool {
        message.len() >= LENGTH
    }
}

impl Wire for Marked {
    fn open(&mut self, message: &mut [u8]) {
        if Self::has_room(message) {
            message[..MARK].copy_from_slice(&self.mark);
            // An engine holds only the head of a long message.
            for (octet, own) in message[LENGTH..].iter_mut().zip(&self.rest) {
                *octet = *own;
            }
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, _flags: Flags) {
        if let Some(number) = message.get_mut(MARK..LENGTH) {
            number.copy_from_slice(&seq.to_be_bytes());
        }
    }

    #[inline]
    fn answers(&self, request: &[u8], reply: &[u8]) -> bool {
        request == reply
    }

    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        if !Self::has_room(reply) {
            return if self.rest.is_empty() { Reading::Reply(oldest) } else { Reading::Stray };
        }
        let Some(number) = reply[MARK..].first_chunk() else { return Reading::Stray };
        if reply[..MARK] != self.mark {
            return Reading::Stray;
        }
        let seq = u64::from_be_bytes(*number);
        // The engine, which knows the length, checks that all of it came.
        if self.rest.starts_with(&reply[LENGTH..]) { Reading::Reply(seq) } else { Reading::Corrupt(Some(seq)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_is_known_by_its_mark_and_its_number() {
        let mut wire = Marked::new([1, 2, 3, 4], 64);
        let mut request = vec![0; 64];
        wire.open(&mut request);
        wire.prepare(&mut request, 7, Flags::NONE);
        assert!(wire.answers(&request, &request.clone()));
        assert_eq!(wire.identify(&request, 3), Reading::Reply(7));
        let changed = |at: usize| {
            let mut other = request.clone();
            other[at] ^= 0x40;
            other
        };
        assert_eq!(wire.identify(&changed(0), 3), Reading::Stray, "another's");
        assert_eq!(wire.identify(&changed(63), 3), Reading::Corrupt(Some(7)), "changed on the way");
        assert_eq!(wire.identify(&request[..40], 3), Reading::Reply(7), "its head");
        assert_eq!(wire.identify(&[&request[..], &[0]].concat(), 3), Reading::Corrupt(Some(7)), "more than was sent");
        assert_eq!(wire.identify(&request[..9], 3), Reading::Stray, "too little of it");
        let mut next = request.clone();
        wire.prepare(&mut next, 8, Flags::NONE);
        assert!(!wire.answers(&next, &request), "the reply before");
    }

    #[test]
    fn messages_without_room_for_a_mark_come_in_their_order() {
        let mut wire = Marked::new([1, 2, 3, 4], 5);
        let mut request = vec![9; 5];
        wire.open(&mut request);
        wire.prepare(&mut request, 7, Flags::NONE);
        assert_eq!((request.clone(), wire.identify(&request, 3)), (vec![9; 5], Reading::Reply(3)));
    }
}
