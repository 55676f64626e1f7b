//! Match of a reply to its request: a small fixed header, stamped and parsed in place; no allocation, no dynamic call.

use crate::native::header::Flags;

/// Match of requests and replies on one carrier.
pub trait Wire {
    /// True where a reply to a request that was given up can still be told from a reply to a later one. Where it cannot, a
    /// request that was given up is forgotten at once.
    const KNOWS_LATE: bool = true;
    /// True where the peer tells a message of the warm-up from one that is recorded, so that one may be sent at any time.
    const MARKS_WARM_UP: bool = false;

    /// Writes request number `seq` into `message`, which keeps whatever else is in it.
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags);

    /// Writes all of a message that stays the same from request to request. [`Wire::prepare`] may rely on it.
    fn open(&mut self, _message: &mut [u8]) {}

    /// The message that [`Wire::prepare`] has prepared: `message`, or another in its place where requests differ.
    #[inline]
    fn prepared<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        message
    }

    /// Returns true where `reply` is, beyond doubt, the sound reply to `request`: the usual case, found by a comparison. `false`
    /// says nothing; then [`Wire::identify`] looks closer.
    #[inline]
    fn answers(&self, _request: &[u8], _reply: &[u8]) -> bool {
        false
    }

    /// Reads a reply. `oldest` is the number of the oldest request without an answer, which a wire without numbers
    /// takes every reply for.
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading;

    /// Returns true where message `number` of a load asks for a reply; numbers count from 0 on each connection, warm-up
    /// left out. One that does not is prepared with [`Flags::SILENT`]. With a `reply_every` of 0 none asks.
    #[inline]
    fn asks(&self, number: u64, reply_every: u32) -> bool {
        reply_every == 1 || (number + 1).is_multiple_of(u64::from(reply_every))
    }

    /// Returns the peer's own stamps in this reply; `None` where this wire carries none.
    fn peer_stamps(&self, _reply: &[u8]) -> Option<crate::native::header::PeerStamps> {
        None
    }
}

/// Identity of a message that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The reply to this request of ours.
    Reply(u64),
    /// Somebody says that this request will get no reply.
    Refused(u64),
    /// Nothing of this run.
    Stray,
    /// A reply of this run whose content is wrong.
    Corrupt(
        /// Number of the request that it answers, where that can still be read.
        Option<u64>,
    ),
}

/// Messages without any header, in order, on a stream: netperf's way, and ours below 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bare;

impl Wire for Bare {
    #[inline]
    fn prepare(&mut self, _message: &mut [u8], _seq: u64, _flags: Flags) {}

    #[inline]
    fn identify(&mut self, _reply: &[u8], oldest: u64) -> Reading {
        Reading::Reply(oldest)
    }
}

/// Messages without any header where one may be lost: netperf's datagrams, and its connections for each exchange. A reply
/// answers the oldest request that is still waited for.
///
/// One that was given up cannot be told any more: of datagrams, a reply that comes after its timeout counts for the next
/// request, and so does a second copy of a reply. With several outstanding, a lost one is known only when no reply is
/// left for the last of them: losses are counted right at the end of the run, not at the place where they happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unnumbered;

impl Wire for Unnumbered {
    const KNOWS_LATE: bool = false;

    #[inline]
    fn prepare(&mut self, _message: &mut [u8], _seq: u64, _flags: Flags) {}

    #[inline]
    fn identify(&mut self, _reply: &[u8], oldest: u64) -> Reading {
        Reading::Reply(oldest)
    }
}
