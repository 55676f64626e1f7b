//! Answer to one request: the pure part of the reflector's loop. No allocation, no system call.

use crate::native::header::{Flags, Header, LENGTH};

/// Settings of a session, as far as each reply needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The longest reply, octets.
    pub reply_bytes: u32,
    /// Every n-th request is answered, by sequence number: those where sequence number + 1 is a multiple. 0 and 1: all.
    pub reply_every: u32,
    /// True where messages are datagrams: a reply is then never longer than its request, and a header at least.
    pub datagrams: bool,
}

impl Agreed {
    /// Returns the length of the reply to `request`, which was `request_length` octets long, in octets; `None`: no reply.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;
    use crate::native::header::Token;

    fn request(word: u32) -> Header {
        Header { token: Token([1; 16]), seq: 4, flags: Flags::WARM_UP, flow: 2, word }
    }

    #[test_case(false, 100, 100, 64, Some(100); "a stream answers at length")]
    #[test_case(false, 100, 40, 64, Some(40); "less was asked")]
    #[test_case(false, 100, 200, 64, Some(100); "more was asked than agreed on")]
    #[test_case(false, 100, 0, 64, None; "nothing was asked")]
    #[test_case(false, 1, 1, 64, Some(1); "shorter than a header")]
    #[test_case(true, 100, 100, 64, Some(64); "a datagram is never longer than its request")]
    #[test_case(true, 64, 64, 64, Some(64); "a datagram of the same size")]
    #[test_case(true, 64, 40, 64, Some(40); "a datagram that asks for less")]
    #[test_case(true, 64, 0, 64, Some(32); "a datagram is a header at least")]
    #[test_case(true, 64, u32::MAX, 32, Some(32); "the smallest datagram")]
    fn a_reply_has_its_length(datagrams: bool, agreed: u32, asked: u32, length: usize, reply: Option<usize>) {
        let agreed = Agreed { reply_bytes: agreed, reply_every: 1, datagrams };
        assert_eq!(agreed.reply_length(&request(asked), length), reply);
    }

    #[test]
    fn every_nth_is_answered_by_its_number() {
        let agreed = Agreed { reply_bytes: 64, reply_every: 3, datagrams: true };
        let answered = |seq| agreed.reply_length(&Header { seq, ..request(64) }, 64).is_some();
        assert_eq!((0..7).filter(|seq| answered(*seq)).collect::<Vec<_>>(), [2, 5]);
        assert!(!answered(u64::MAX) || u64::MAX.wrapping_add(1).is_multiple_of(3));
    }

    #[test]
    fn the_reply_is_the_request_with_the_count_in_its_place() {
        let agreed = Agreed { reply_bytes: 64, reply_every: 0, datagrams: true };
        let mut buffer = [7; 64];
        assert_eq!(agreed.reply(&request(48), 64, (1 << 32) + 9, &mut buffer), Some(48));
        assert_eq!(Header::read(&buffer), Some(request(9)));
        assert_eq!(buffer[LENGTH..], [7; 32]);
    }

    #[test]
    fn a_silent_request_gets_no_reply_and_the_buffer_stays() {
        let agreed = Agreed { reply_bytes: 64, reply_every: 1, datagrams: false };
        let silent = Header { flags: Flags::SILENT, ..request(64) };
        let mut buffer = [7; 64];
        assert_eq!(agreed.reply(&silent, 64, 1, &mut buffer), None);
        assert_eq!(buffer, [7; 64]);
    }

    proptest! {
        #[test]
        fn nothing_is_amplified(
            bytes: u32, every in 0..4_u32, word: u32, seq: u64, flags: u8,
            length in LENGTH..65_508, room in 0..64_usize,
        ) {
            let agreed = Agreed { reply_bytes: bytes, reply_every: every, datagrams: true };
            let header = Header { seq, flags: Flags(flags), ..request(word) };
            let mut buffer = vec![0; room];
            let reply = agreed.reply(&header, length, 1, &mut buffer);
            prop_assert!(reply.is_none_or(|reply| reply <= length && reply >= LENGTH));
        }
    }
}
