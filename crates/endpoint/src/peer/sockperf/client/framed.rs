//! Messages on a TCP connection that say their own length: sockperf's. Requests may differ in length, replies too.

use std::os::fd::AsFd;

use measure::method::Waiting;
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::sockperf::stream::Framer;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use crate::clock::Monotonic;
use crate::link::clockwork::{fault_of, poll_one, poll_until};
use crate::pace;
use crate::stop::Stop;

/// Longest time for which a peer may take nothing while a message is half sent; then it is given up.
const STALLED: Nanos = Nanos::secs(10);

/// Policy for a message that the send buffer has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The thread waits for room: it has nothing else to do.
    Wait,
    /// The rest is sent when there is room ([`Link::flush`]); replies are read in between.
    Later,
    /// The message is skipped where not one byte of it fits. Where a part fits the rest is sent later.
    Skip,
}

/// A connected TCP socket that carries messages with their lengths in front.
#[derive(Debug)]
pub struct Framed {
    socket: Socket,
    framer: Framer,
    flags: RecvFlags,
    spinning: bool,
    full: Full,
    /// Rest of a message that did not fit at once.
    pending: Vec<u8>,
    stop: Stop,
}

impl Framed {
    /// A link over `socket`, which is connected and set to return from blocking calls every now and then
    /// (`socket::set_glance`). A reply longer than `largest` bytes ends it: nothing after that can be read.
    pub fn new(socket: Socket, waiting: Waiting, largest: u32, full: Full, stop: Stop) -> Self {
        let spinning = waiting == Waiting::Spin;
        let flags = if spinning { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        Self { socket, framer: Framer::new(largest), flags, spinning, full, pending: Vec::new(), stop }
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns true where a whole message has been read and waits to be taken: no poll reports it.
    pub(super) fn has_message(&self) -> bool {
        self.framer.has_message()
    }

    /// Returns true where the rest of a message waits for room.
    pub(super) fn is_behind(&self) -> bool {
        !self.pending.is_empty()
    }

    pub(super) fn spins(&self) -> bool {
        self.spinning
    }

    /// The next whole message of what was read already.
    #[inline]
    fn next(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        match self.framer.message() {
            Ok(Some((_, message))) => {
                let length = message.len().min(buffer.len());
                buffer[..length].copy_from_slice(&message[..length]);
                Ok(Some(length))
            }
            Ok(None) => Ok(None),
            // The octets are no message of this protocol, and the start of the next one is not known.
            Err(_) => Err(Fault::System(Errno::PROTO.raw_os_error())),
        }
    }

    #[inline]
    fn fill(&mut self, flags: RecvFlags) -> Result<(), Errno> {
        let (count, _) = recv(&self.socket, self.framer.room(), flags)?;
        if count == 0 {
            return Err(Errno::CONNRESET);
        }
        self.framer.filled(count);
        Ok(())
    }

    /// Hands over what is left as far as it goes without waiting.
    fn push(&mut self) -> Result<bool, Fault> {
        while !self.pending.is_empty() {
            match send(&self.socket, &self.pending, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(fault_of(errno)),
            }
        }
        Ok(true)
    }

    /// `sent` bytes of `message` fitted.
    #[cold]
    fn rest(&mut self, message: &[u8], sent: usize) -> Result<(), Fault> {
        if self.full != Full::Wait {
            self.pending.extend_from_slice(&message[sent..]);
            return Ok(());
        }
        let mut rest = &message[sent..];
        let mut give_up = Monotonic::now().after(STALLED);
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    rest = &rest[count..];
                    give_up = Monotonic::now().after(STALLED);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if !self.stop.requested() && Monotonic::now() < give_up => {}
                Err(Errno::AGAIN) => return Err(Fault::System(Errno::TIMEDOUT.raw_os_error())),
                Err(errno) => return Err(fault_of(errno)),
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn receive_on(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        let mut turns = 0_u32;
        loop {
            match self.fill(self.flags) {
                Ok(()) => {
                    if let Some(length) = self.next(buffer)? {
                        return Ok(Some(length));
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    turns = turns.wrapping_add(1);
                    // Spinning, the clock is looked at now and then: it costs a fifth of an empty poll.
                    let look = !self.spinning || turns.is_multiple_of(64);
                    if look && (Monotonic::now() >= until || self.stop.requested()) {
                        return Ok(None);
                    }
                }
                Err(errno) => return Err(fault_of(errno)),
            }
        }
    }
}

impl Link for Framed {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        let flags =
            if self.full == Full::Wait { SendFlags::NOSIGNAL } else { SendFlags::NOSIGNAL | SendFlags::DONTWAIT };
        loop {
            match send(&self.socket, message, flags) {
                Ok(count) if count == message.len() => return Ok(()),
                Ok(count) => return self.rest(message, count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.full == Full::Skip => return Err(Fault::LeftOut),
                Err(Errno::AGAIN) => return self.rest(message, 0),
                Err(errno) => return Err(fault_of(errno)),
            }
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<bool, Fault> {
        if self.pending.is_empty() { Ok(true) } else { self.push() }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        match self.next(buffer)? {
            Some(length) => Ok(Some(length)),
            None => self.receive_on(buffer, until),
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        loop {
            if let Some(length) = self.next(buffer)? {
                return Ok(Some(length));
            }
            match self.fill(RecvFlags::DONTWAIT) {
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(fault_of(errno)),
            }
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [first, ..] if first.spinning => {}
            // Messages that were read already wake no poll.
            _ if links.iter().any(Self::has_message) => {}
            [only] => poll_one(only.socket.as_fd(), only.is_behind(), until),
            _ => poll_until(links.iter().map(|link| (link.socket.as_fd(), link.is_behind())), until),
        }
    }

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }
}
