//! An open way to the peer, as an engine sees it: sockets in `endpoint`, a virtual path in `testbed`.

use measure::unit::Instant;

/// What an engine needs of a carrier, and of the clock beside it. The engine is compiled for each link apart: no call
/// here is dynamic.
pub trait Link {
    /// The present instant of the clock that all stamps of this link come from.
    fn now(&self) -> Instant;

    /// Gets ready for the next [`Link::send`], outside of what is timed: a link that opens a connection for each
    /// exchange puts the old one away and the new socket up here.
    #[inline]
    fn ready(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Hands one message to the kernel. `message` is the message, or its head where it is longer than the engine's
    /// buffer; the link knows its full length. Returns when the kernel has taken it, or as much of it as it can: see
    /// [`Link::flush`].
    fn send(&mut self, message: &[u8]) -> Result<(), Fault>;

    /// Messages sent from here on have `length` octets on a stream: a reflector may be asked for a shorter reply than
    /// agreed on. A datagram is as long as what is handed to [`Link::send`]. Not while a message is half sent.
    fn set_sent_length(&mut self, _length: usize) {}

    /// Hands over whole messages of `length` bytes each, one after the other in `messages`, in as few calls as this link
    /// can. Returns how many of them the kernel took, from the first on: at least one, or a fault that is the first's.
    fn send_many(&mut self, messages: &[u8], length: usize) -> Result<usize, Fault> {
        self.send(messages.get(..length).unwrap_or(messages)).map(|()| 1)
    }

    /// Goes on handing over a message that did not fit at once; `true` when nothing is left and the next may be sent.
    /// Only a stream whose buffers are full ever has something left.
    fn flush(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Waits for one message, coarsely until `until` (it may return up to a tenth of a second later), and puts it, or
    /// its head, into `buffer`. `None`: nothing came. Made for a loop that has nothing else to do.
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault>;

    /// As [`Link::receive`], of as many messages as one call brings.
    fn receive_many(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Many>, Fault> {
        Ok(self.receive(buffer, until)?.map(|length| Many { length, segment: length }))
    }

    /// Takes one message if one is there.
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault>;

    /// Waits, as the method's waiting says, until one of `links` may have a message, or until `until`.
    fn wait_any(links: &mut [Self], until: Instant)
    where
        Self: Sized;

    /// Sleeps until `until`, never relative to now.
    fn sleep(&self, until: Instant);

    /// One turn of a loop that reads the clock until `until`.
    fn spin(&self, until: Instant);

    /// Switches the kernel's stamps of what arrives on or off: on for [`Link::receive_stamped`] to have them.
    fn stamp_arrivals(&mut self, _on: bool) {}

    /// Sends a message of which the kernel shall tell when it left: as [`Link::send`], with stamps asked for.
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

    /// The kernel's stamps of the latest [`Link::send_stamped`], which come back after the reply.
    fn departure(&mut self) -> Departure {
        Departure::default()
    }
}

/// Messages that came in one call, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Many {
    /// Bytes put into the buffer, all messages together.
    pub length: usize,
    /// Bytes of one message; the last may be shorter.
    pub segment: usize,
}

/// A message that came with its stamps, wall clock in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Bytes put into the buffer.
    pub length: usize,
    /// When the kernel took it from the driver.
    pub kernel: Option<u64>,
    /// When the application had it.
    pub application: Option<u64>,
}

/// When a message left, wall clock in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// It entered the packet scheduler.
    pub sched: Option<u64>,
    /// The driver had it.
    pub driver: Option<u64>,
}

/// Why a link could not do what it was told. Some are counted and the run goes on; see [`Fault::ends_the_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The peer, or a hop, refused: an ICMP error, or a reset of a handshake.
    #[error("refused by the peer or a hop on the way (os error {0})")]
    Refused(i32),
    /// Our own side could not send: no buffer, or a local filter forbids it.
    #[error("our own side could not send (os error {0})")]
    SendFailed(i32),
    /// The message would have had to wait for room, and this link leaves such out: nothing of it was handed over, and its
    /// number goes to the next.
    #[error("left out for want of room")]
    LeftOut,
    /// The peer closed the connection, or it was reset.
    #[error("the peer closed the connection")]
    Closed,
    /// The message does not fit the path or the socket.
    #[error("the message is too long for the path or the socket")]
    TooLong,
    /// Anything else the system says.
    #[error("os error {0}")]
    System(i32),
}

impl Fault {
    /// Whether nothing further can be measured over this link.
    pub fn ends_the_run(self) -> bool {
        matches!(self, Self::Closed | Self::TooLong | Self::System(_))
    }
}
