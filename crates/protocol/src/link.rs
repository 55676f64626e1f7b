//! An open way to the peer, as an engine sees it: sockets in `endpoint`, a virtual path in `testbed`.

use measure::event::Details;
use measure::unit::{Instant, Nanos};

/// Transport and clock that an engine needs. The engine is compiled for each link apart: no call here is dynamic.
pub trait Link {
    /// The present instant of the clock that all stamps of this link come from.
    fn now(&self) -> Instant;

    /// Gets ready for the next [`Link::send`], outside of the measured time: a link that opens a connection for each
    /// exchange puts the old one away and the new socket up here.
    #[inline]
    fn ready(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Hands one message to the kernel. `message` is the message, or its head where it is longer than the engine's
    /// buffer; the link knows its full length. Returns when the kernel has taken it, or as much of it as it can: see
    /// [`Link::flush`].
    fn send(&mut self, message: &[u8]) -> Result<(), Fault>;

    /// The oldest refusal of an earlier message that was found while another was sent, and that no call that receives has told yet.
    fn pending_refusal(&mut self) -> Option<Fault> {
        None
    }

    /// True where one more request may be out beside `out` that are waited for: a peer may say how many it takes at once. Beside none one may
    /// always be. Asked before [`Link::ready`].
    #[inline]
    fn has_room(&mut self, _out: u64) -> bool {
        true
    }

    /// Returns the time that send calls have waited for room since the last call of this: a socket whose buffer is full
    /// keeps the caller, who would otherwise be taken for slow. Zero where sends do not wait.
    fn held(&mut self) -> Nanos {
        Nanos::ZERO
    }

    /// Messages sent from here on have `length` octets on a stream: a reflector may be asked for a shorter reply than
    /// agreed on. A datagram is as long as the message handed to [`Link::send`]. Not while a message is half sent.
    fn set_sent_length(&mut self, _length: usize) {}

    /// Goes on handing over a message that did not fit at once; `true` when nothing is left and the next may be sent.
    /// Only a stream whose buffers are full ever has something left.
    fn flush(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Waits for one message, coarsely until `until` (it may return up to a tenth of a second later), and puts it, or
    /// its head, into `buffer`. `None`: nothing came. Made for a loop that has nothing else to do.
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault>;

    /// Takes one message if one is there.
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault>;

    /// Returns the instant at which the message that the latest receive gave was here: now, but for a link that opens
    /// messages before it knows what they are.
    #[inline]
    fn received(&mut self) -> Instant {
        self.now()
    }

    /// Waits, as the method's waiting says, until one of `links` may have a message, or until `until`.
    fn wait_any(links: &mut [Self], until: Instant)
    where
        Self: Sized;

    /// Notes which of `links` have nothing to read now, where one call tells it of all: those need no call of their own to receive until the next look
    /// or wait, which notes it too. A link that cannot note it is asked each time.
    fn look_any(_links: &mut [Self])
    where
        Self: Sized,
    {
    }

    /// Sleeps until `until`, never relative to now.
    fn sleep(&self, until: Instant);

    /// As [`Link::sleep`], between requests: a link with a connection to look after does so in that time.
    #[inline]
    fn idle(&mut self, until: Instant) {
        self.sleep(until);
    }

    /// One turn of a loop that reads the clock until `until`.
    fn spin(&self, until: Instant);

    /// Switches the kernel's stamps of arrivals on or off: on for [`Link::receive_stamped`] to have them.
    fn stamp_arrivals(&mut self, _on: bool) {}

    /// Sends a message whose departure the kernel shall stamp: as [`Link::send`], with stamps asked for.
    /// Returns the wall clock just before the call, in nanoseconds, where this link can stamp.
    fn send_stamped(&mut self, message: &[u8]) -> Result<Option<u64>, Fault> {
        self.send(message).map(|()| None)
    }

    /// As [`Link::receive`], with the kernel's receive stamp.
    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        Ok(self.receive(buffer, until)?.map(|length| Stamped { length, kernel: None, application: None }))
    }

    /// As [`Link::try_receive`], with the kernel's receive stamp.
    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        Ok(self.try_receive(buffer)?.map(|length| Stamped { length, kernel: None, application: None }))
    }

    /// Hands over the messages that stand one after the other in `messages`, each of `length` octets, in one call where
    /// the link can. Returns the number that the kernel took, from the first on: at least one, or the reason why not
    /// even that. The caller sends the rest again; a fault that stopped a later one shows itself in the next call, if
    /// it lasts. On a stream the last one taken may be half sent: see [`Link::flush`].
    fn send_many(&mut self, messages: &[u8], length: usize) -> Result<usize, Fault> {
        let mut taken = 0;
        for message in messages.chunks(length.max(1)) {
            match self.send(message) {
                Ok(()) => taken += 1,
                Err(_) if taken > 0 => break,
                Err(fault) => return Err(fault),
            }
            if self.flush() != Ok(true) {
                break;
            }
        }
        Ok(taken)
    }

    /// As [`Link::receive`], but messages that came together are given together where the link can: a datagram and those of the
    /// same flow and size behind it. `buffer` has room for one message at least; a longer one is cut off.
    fn receive_many(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Many>, Fault> {
        Ok(self.receive(buffer, until)?.map(Many::one))
    }

    /// As [`Link::receive_many`], without waiting.
    fn try_receive_many(&mut self, buffer: &mut [u8]) -> Result<Option<Many>, Fault> {
        Ok(self.try_receive(buffer)?.map(Many::one))
    }

    /// The number of the request that the latest [`Fault::Refused`] of a receive is about, where the link can tell; taken
    /// by this call.
    fn blamed(&mut self) -> Option<u64> {
        None
    }

    /// Takes the details of the exchange that has just ended, where the link has any. Made for callers that report each
    /// exchange: it may ask the system.
    fn details(&mut self) -> Option<Details> {
        None
    }

    /// The kernel's stamps of the latest [`Link::send_stamped`], which come back after the reply.
    fn departure(&mut self) -> Departure {
        Departure::default()
    }
}

/// Messages that came in one call, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Many {
    /// Octets of all of them.
    pub length: usize,
    /// Octets of each but the last, which may be shorter. 0: a single one without any.
    pub segment: usize,
}

impl Many {
    /// A single message.
    pub fn one(length: usize) -> Self {
        Self { length, segment: length }
    }

    /// Returns the number of messages.
    pub fn count(self) -> usize {
        self.length.div_ceil(self.segment.max(1)).max(1)
    }

    /// The messages, which stand in `buffer` from its beginning.
    pub fn messages(self, buffer: &[u8]) -> impl Iterator<Item = &[u8]> {
        let all = &buffer[..self.length.min(buffer.len())];
        (0..self.count()).map(move |index| {
            let begin = (index * self.segment).min(all.len());
            &all[begin..(begin + self.segment).min(all.len())]
        })
    }
}

/// A message that came with its stamps, wall clock in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Bytes put into the buffer.
    pub length: usize,
    /// Kernel's receive stamp, taken as the driver handed the message over; absent where there is none.
    pub kernel: Option<u64>,
    /// Arrival at the application; absent where it was not read.
    pub application: Option<u64>,
}

/// Stamps of a message's departure, wall clock in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// It entered the packet scheduler.
    pub sched: Option<u64>,
    /// The driver had it.
    pub driver: Option<u64>,
}

/// Reason why a link could not do what it was told. Some are counted and the run goes on; see [`Fault::ends_the_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer, or a hop, refused: an ICMP error, or a reset of a handshake.
    #[error("refused by the peer or a hop on the way (os error {0})")]
    Refused(i32),
    /// Our own side could not send: no buffer, or a local filter forbids it.
    #[error("this host could not send (os error {0})")]
    SendFailed(i32),
    /// The message would have had to wait for room, and this link leaves such out: nothing of it was handed over, and its
    /// number goes to the next.
    #[error("left out because there was no room")]
    LeftOut,
    /// The peer closed the connection in order.
    #[error("the peer closed the connection")]
    Closed,
    /// A reset came. It bears the peer's address, whoever sent it.
    #[error("the connection was reset; the sender of the reset is not established")]
    Reset,
    /// The message does not fit the path or the socket.
    #[error("the message is too long for the path or the socket")]
    TooLong,
    /// Anything else the system says.
    #[error("os error {0}")]
    System(i32),
}

impl Fault {
    /// Returns true where nothing further can be measured over this link.
    pub fn ends_the_run(self) -> bool {
        matches!(self, Self::Closed | Self::Reset | Self::TooLong | Self::System(_))
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Many { length: 10, segment: 4 }, &[4, 4, 2]; "the last is shorter")]
    #[test_case(Many { length: 8, segment: 4 }, &[4, 4]; "all alike")]
    #[test_case(Many::one(7), &[7]; "a single one")]
    #[test_case(Many::one(0), &[0]; "one without octets")]
    #[test_case(Many { length: 3, segment: 9 }, &[3]; "a single one that is shorter than it says")]
    fn messages_are_told_apart_by_their_length(many: Many, lengths: &[usize]) {
        let buffer: Vec<u8> = (0..16).collect();
        let messages: Vec<&[u8]> = many.messages(&buffer).collect();
        assert_eq!(messages.iter().map(|message| message.len()).collect::<Vec<_>>(), lengths);
        assert_eq!(messages.concat(), buffer[..many.length]);
        assert_eq!(many.count(), lengths.len());
    }

    #[test]
    fn a_length_beyond_the_buffer_is_cut_off() {
        assert_eq!(Many { length: 10, segment: 4 }.messages(&[0; 6]).map(<[u8]>::len).collect::<Vec<_>>(), [4, 2, 0]);
    }

    /// Takes messages until `full`, refuses then, and has the last one taken half sent where it is `clogged`.
    struct Taking {
        full: usize,
        clogged: bool,
        taken: Vec<Vec<u8>>,
    }

    impl Link for Taking {
        fn now(&self) -> Instant {
            Instant(0)
        }
        fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
            if self.taken.len() == self.full {
                return Err(Fault::SendFailed(105));
            }
            self.taken.push(message.to_vec());
            Ok(())
        }
        fn flush(&mut self) -> Result<bool, Fault> {
            Ok(!self.clogged)
        }
        fn receive(&mut self, _: &mut [u8], _: Instant) -> Result<Option<usize>, Fault> {
            Ok(None)
        }
        fn try_receive(&mut self, _: &mut [u8]) -> Result<Option<usize>, Fault> {
            Ok(None)
        }
        fn wait_any(_: &mut [Self], _: Instant) {}
        fn sleep(&self, _: Instant) {}
        fn spin(&self, _: Instant) {}
    }

    #[test_case(9, false, Ok(3); "all are taken")]
    #[test_case(2, false, Ok(2); "some are taken")]
    #[test_case(0, false, Err(Fault::SendFailed(105)); "not even one")]
    #[test_case(9, true, Ok(1); "the first is half sent")]
    fn a_link_without_a_call_of_its_own_sends_one_after_the_other(
        full: usize,
        clogged: bool,
        sent: Result<usize, Fault>,
    ) {
        let mut link = Taking { full, clogged, taken: Vec::new() };
        assert_eq!(link.send_many(b"aabbcc", 2), sent);
        assert_eq!(link.taken.concat(), b"aabbcc"[..2 * sent.unwrap_or(0)]);
    }
}
