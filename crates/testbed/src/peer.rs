//! A model of the peer: which number a request has, and what its reply looks like.

use std::fmt;

use protocol::native::header::{Flags, Header, LENGTH, PeerStamps};

use crate::path::Parts;

/// Peer at the far end of a flow.
pub struct Peer {
    kind: Kind,
    sent: u64,
    /// Number in the header of the first request after the warm-up.
    base: Option<u64>,
    received: u32,
    announced: bool,
    previous: Option<Parts>,
}

enum Kind {
    Native,
    Plain { reply_length: usize },
    Other(Answer),
}

/// Makes the reply to a request; `None`: it gets none.
type Answer = Box<dyn FnMut(&[u8]) -> Option<Vec<u8>>>;

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Native => "native".to_owned(),
            Kind::Plain { reply_length } => format!("plain, {reply_length} bytes"),
            Kind::Other(_) => "other".to_owned(),
        };
        f.debug_struct("Peer").field("kind", &kind).field("received", &self.received).finish_non_exhaustive()
    }
}

/// Number of a message's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub number: u64,
    pub warm_up: bool,
}

/// Times at which the peer had a request and let go of its reply, in nanoseconds of true time or lengths thereof.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtPeer {
    /// Its kernel's receive stamp, by its wall clock.
    pub received: u64,
    /// From there to its application.
    pub wake_up: u64,
    /// From its receive to its send.
    pub hold: u64,
    /// Planted times between its stamps.
    pub parts: Parts,
}

impl Peer {
    /// Ours: echoes the native header and its content, at the length the request asks for.
    pub fn native() -> Self {
        Self::of(Kind::Native)
    }

    /// Answers every message with `reply_length` octets without a header: the request's, repeated or cut.
    pub fn plain(reply_length: usize) -> Self {
        Self::of(Kind::Plain { reply_length })
    }

    /// Answers with what `answer` makes of a request; requests are numbered as they are sent.
    pub fn answering(answer: impl FnMut(&[u8]) -> Option<Vec<u8>> + 'static) -> Self {
        Self::of(Kind::Other(Box::new(answer)))
    }

    fn of(kind: Kind) -> Self {
        Self { kind, sent: 0, base: None, received: 0, announced: false, previous: None }
    }

    /// The number of a request that our side hands over for sending. A message without a header is numbered when it
    /// has left: see [`Peer::left`].
    pub(crate) fn number(&mut self, request: &[u8]) -> Numbered {
        let (Kind::Native, Some(header)) = (&self.kind, Header::read(request)) else {
            return Numbered { number: self.sent, warm_up: false };
        };
        if header.flags.has(Flags::WARM_UP) {
            return Numbered { number: header.seq, warm_up: true };
        }
        let base = *self.base.get_or_insert(header.seq);
        Numbered { number: header.seq.wrapping_sub(base), warm_up: false }
    }

    /// The message that was numbered has been dealt with: the next one gets the next number.
    pub(crate) fn left(&mut self) {
        self.sent += 1;
    }

    /// A request reached the peer: its reply, or none where none is due.
    pub(crate) fn answer(&mut self, request: &[u8], at: Option<AtPeer>) -> Option<Vec<u8>> {
        self.received = self.received.wrapping_add(1);
        match &mut self.kind {
            Kind::Native => self.answer_natively(request, at),
            Kind::Plain { reply_length } => Some(request.iter().copied().cycle().take(*reply_length).collect()),
            Kind::Other(answer) => answer(request),
        }
    }

    fn answer_natively(&mut self, request: &[u8], at: Option<AtPeer>) -> Option<Vec<u8>> {
        let header = Header::read(request)?;
        let announced = std::mem::replace(&mut self.announced, header.flags.has(Flags::ANNOUNCE));
        if header.flags.has(Flags::SILENT) {
            return None;
        }
        let mut reply = request.to_vec();
        reply.resize(LENGTH.max(header.word as usize), 0);
        Header { word: self.received, ..header }.write(&mut reply);
        if let Some(at) = at.filter(|_| header.flags.has(Flags::STAMPED)) {
            let previous = self.previous.replace(at.parts);
            let stamps = PeerStamps {
                received: announced.then_some(at.received),
                wake_up: announced.then_some(at.wake_up as u32),
                hold: Some(at.hold as u32),
                previous_sched: previous.map(|parts| parts.peer_sched.0 as u32),
                previous_driver: previous.map(|parts| parts.peer_driver.0 as u32),
            };
            stamps.write(&mut reply);
        }
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::unit::Nanos;
    use protocol::native::header::{Native, Token};
    use protocol::wire::{Reading, Wire};

    fn request(seq: u64, flags: Flags) -> Vec<u8> {
        let mut message = vec![9; 64];
        let mut wire = Native::new(Token([7; 16]), 3, 80);
        wire.open(&mut message);
        wire.prepare(&mut message, seq, flags);
        message
    }

    #[test]
    fn a_native_reply_is_known_by_the_wire_that_asked() {
        let mut peer = Peer::native();
        let reply = peer.answer(&request(41, Flags::NONE), None).unwrap();
        assert_eq!(reply.len(), 80);
        assert_eq!(Native::new(Token([7; 16]), 3, 80).identify(&reply, 0), Reading::Reply(41));
        assert_eq!(Header::read(&reply).unwrap().word, 1, "requests received so far");
        assert_eq!(reply[32..64], [9; 32], "the content comes back");
    }

    #[test]
    fn a_silent_request_is_received_and_not_answered() {
        let mut peer = Peer::native();
        assert_eq!(peer.answer(&request(0, Flags::SILENT), None), None);
        let reply = peer.answer(&request(1, Flags::NONE), None).unwrap();
        assert_eq!(Header::read(&reply).unwrap().word, 2);
    }

    #[test]
    fn numbers_count_from_the_warm_up_s_end_or_in_order() {
        let mut native = Peer::native();
        assert_eq!(native.number(&request(5, Flags::WARM_UP)), Numbered { number: 5, warm_up: true });
        assert_eq!(native.number(&request(6, Flags::NONE)), Numbered { number: 0, warm_up: false });
        assert_eq!(native.number(&request(8, Flags::NONE)), Numbered { number: 2, warm_up: false });
        let mut plain = Peer::plain(1);
        plain.left();
        assert_eq!(plain.number(&[0]), Numbered { number: 1, warm_up: false });
    }

    #[test]
    fn stamps_travel_when_asked_for_and_receive_stamps_when_announced() {
        let parts = Parts { peer_sched: Nanos(3), peer_driver: Nanos(4), ..Parts::default() };
        let at = Some(AtPeer { received: 1_000, wake_up: 20, hold: 300, parts });
        let mut peer = Peer::native();
        let stamps = |reply: Option<Vec<u8>>| PeerStamps::read(&reply.unwrap()).unwrap();
        let first = stamps(peer.answer(&request(0, Flags::STAMPED.with(Flags::ANNOUNCE)), at));
        assert_eq!(first, PeerStamps { hold: Some(300), ..PeerStamps::default() });
        let second = stamps(peer.answer(&request(1, Flags::STAMPED), at));
        let all = PeerStamps {
            received: Some(1_000),
            wake_up: Some(20),
            hold: Some(300),
            previous_sched: Some(3),
            previous_driver: Some(4),
        };
        assert_eq!(second, all);
    }

    #[test]
    fn a_plain_reply_has_its_length() {
        assert_eq!(Peer::plain(5).answer(&[1, 2], None), Some(vec![1, 2, 1, 2, 1]));
        assert_eq!(Peer::plain(1).answer(&[1, 2], None), Some(vec![1]));
    }
}
