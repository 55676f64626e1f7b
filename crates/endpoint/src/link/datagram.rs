//! Messages that are datagrams: UDP, and ICMP echo through a ping or raw socket.
//!
//! An ICMP error may be found by the call that sends the next message. Then that message is sent again, and the next
//! call that receives reports the error: it is about an earlier message.

pub mod complaints;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use std::os::fd::AsFd;
use std::sync::Arc;

use measure::method::{BatchBy, Waiting};
use measure::unit::{Instant, Nanos};
use protocol::icmp::echo::Echo;
use protocol::link::{Departure, Fault, Link, Many, Stamped};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv, send};
use socket2::Socket;

use super::batching::{Batching, Handed};
use super::clockwork::{fault_of, poll_one, poll_until};
use super::room::Room;
use super::stamping::{self, Stamping};
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::socket::{many, queue};
use crate::stop::Stop;
use complaints::{Complaints, IcmpErrors};

/// As often a message is sent again that others' errors kept from leaving.
const TRIES: u32 = 8;

/// A connected socket of datagrams.
#[derive(Debug)]
pub struct Datagram {
    socket: Socket,
    flags: RecvFlags,
    spinning: bool,
    /// Kernel timestamps, where they were asked for.
    pub stamping: Stamping,
    batching: Option<Batching>,
    /// True where one buffer may hold several messages that arrived.
    segments: bool,
    /// Filter of ICMP errors about our own echo requests; absent for UDP.
    echo: Option<Echo>,
    /// Refusals of messages that are still out, as far as they were found and not told yet.
    refused: VecDeque<Fault>,
    /// All that came so far, by sender and kind.
    errors: Arc<IcmpErrors>,
    /// True where each message has its end before the next is sent.
    one_by_one: bool,
    room: Room,
    stop: Stop,
}

impl Datagram {
    /// A link over `socket`, which is connected and set to return from blocking calls every now and then
    /// (`socket::set_glance`).
    pub fn new(socket: Socket, waiting: Waiting, stop: Stop) -> Self {
        let spinning = waiting == Waiting::Spin;
        let flags = if spinning { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        Self {
            socket,
            flags,
            spinning,
            stamping: Stamping::default(),
            batching: None,
            segments: false,
            echo: None,
            refused: VecDeque::new(),
            errors: Arc::default(),
            one_by_one: false,
            room: Room::default(),
            stop,
        }
    }

    /// [`Link::send_many`] hands messages over as `asked` from here on, or as the kernel can; the returned counts show
    /// which, then and later.
    pub fn batch(&mut self, asked: BatchBy) -> Arc<Handed> {
        self.batching.insert(Batching::new(self.socket.as_fd(), asked)).handed()
    }

    /// [`Link::receive_many`] takes segments that came together in one call from here on, and every other way of
    /// receiving is none any more: it would take them for one message. An error: this kernel cannot.
    pub fn take_segments(&mut self) -> std::io::Result<()> {
        many::take_segments(self.socket.as_fd())?;
        self.segments = true;
        Ok(())
    }

    /// Sets the echo requests that it carries. A raw socket receives every ICMP error from its peer's direction,
    /// whichever request it quotes.
    pub fn carries(&mut self, echo: Echo) {
        self.echo = Some(echo);
    }

    /// Sets that each message has its end before the next is sent: an error found then belongs to none.
    pub fn go_one_by_one(&mut self) {
        self.one_by_one = true;
    }

    /// Counts of the ICMP errors that come for it, warm-up included, shared with the thread that receives.
    pub fn errors(&self) -> Arc<IcmpErrors> {
        Arc::clone(&self.errors)
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns true where it polls in place of blocking.
    pub fn spins(&self) -> bool {
        self.spinning
    }

    /// Returns the fault of a failed call, and empties the error queue, which would otherwise wake every poll from now
    /// on. The other notices there are stamps that no exchange waits for any more.
    #[cold]
    pub fn fault(&self, errno: Errno) -> Fault {
        while queue::next_notice(self.socket.as_fd()).is_some() {}
        fault_of(errno)
    }
}

impl Datagram {
    fn complaints(&self) -> Complaints {
        let found = Complaints::take(self.socket.as_fd(), self.echo.as_ref());
        self.errors.count(&found);
        found
    }

    /// Handles an error of a call that receives. It may be about another program's message: then there is none. Where
    /// several messages were refused, each is reported by a separate call.
    #[cold]
    fn heed(&mut self, errno: Errno) -> Result<(), Fault> {
        let found = self.complaints();
        if found.local || !found.any() {
            return Err(fault_of(errno));
        }
        self.keep(found.ours);
        self.refusal().map_or(Ok(()), Err)
    }

    /// An error of a call that sends: where it is about a message before, what was to be sent may be sent again.
    #[cold]
    fn cleared(&mut self, errno: Errno) -> Result<(), Fault> {
        let found = self.complaints();
        if !found.explain(errno) {
            return Err(fault_of(errno));
        }
        if !self.one_by_one {
            let unlisted = (!found.any()).then(|| complaints::refusal(errno.raw_os_error()));
            self.keep(found.ours.into_iter().chain(unlisted));
        }
        Ok(())
    }

    /// Calls `send` until it is no error of an earlier message that fails it.
    #[inline]
    fn send_by<T>(&mut self, mut send: impl FnMut(&mut Self) -> Result<T, Errno>) -> Result<T, Fault> {
        match send(self) {
            Ok(sent) => Ok(sent),
            Err(errno) => self.send_again(errno, send),
        }
    }

    #[cold]
    fn send_again<T>(
        &mut self,
        mut errno: Errno,
        mut send: impl FnMut(&mut Self) -> Result<T, Errno>,
    ) -> Result<T, Fault> {
        for _ in 0..TRIES {
            self.cleared(errno)?;
            match send(self) {
                Ok(sent) => return Ok(sent),
                Err(again) => errno = again,
            }
        }
        Err(Fault::SendFailed(errno.raw_os_error()))
    }

    /// A message that did not go at once, by `errno`.
    #[cold]
    #[inline(never)]
    fn send_later(&mut self, message: &[u8], errno: Errno) -> Result<(), Fault> {
        let mut first = Some(errno);
        let mut call = |socket: &Socket, flags| first.take().map_or_else(|| send(socket, message, flags), Err);
        self.send_by(|link| link.room.send(|flags| call(&link.socket, flags))).map(|_| ())
    }

    /// Keeps refusals for the calls that receive. None of those waits while there are some.
    fn keep(&mut self, refused: impl IntoIterator<Item = Fault>) {
        self.refused.extend(refused);
        if !self.refused.is_empty() {
            self.flags = RecvFlags::DONTWAIT;
        }
    }

    /// The oldest refusal that was not told yet.
    #[cold]
    fn refusal(&mut self) -> Option<Fault> {
        let refused = self.refused.pop_front();
        if self.refused.is_empty() && !self.spinning {
            self.flags = RecvFlags::empty();
        }
        refused
    }

    /// Handles `errno` of a call without a message: none, unless a message was refused.
    #[inline]
    fn nothing<T>(&mut self, errno: Errno) -> Result<Option<T>, Fault> {
        match errno {
            Errno::AGAIN | Errno::INTR if self.refused.is_empty() => Ok(None),
            Errno::AGAIN | Errno::INTR => self.refusal().map_or(Ok(None), Err),
            errno => self.heed(errno).map(|()| None),
        }
    }

    fn tells_at_once(&self) -> bool {
        self.spinning || !self.refused.is_empty()
    }
}

impl Link for Datagram {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        // The usual case alone is kept short: nothing is put by for another try before there has to be one.
        match send(&self.socket, message, Room::FIRST_TRY) {
            Ok(_) => Ok(()),
            Err(errno) => self.send_later(message, errno),
        }
    }

    fn held(&mut self) -> Nanos {
        self.room.take_waited()
    }

    #[inline]
    fn pending_refusal(&mut self) -> Option<Fault> {
        if self.refused.is_empty() { None } else { self.refusal() }
    }

    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        // The usual case alone is kept short.
        match recv(&self.socket, &mut *buffer, self.flags) {
            // Both lengths are the same where truncation is not asked about; this one was not compared with the buffer's.
            Ok((_, length)) => Ok(Some(length)),
            Err(errno) => self.receive_on(buffer, until, errno),
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        match recv(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok((length, _)) => Ok(Some(length)),
            Err(errno) => self.nothing(errno),
        }
    }

    fn send_many(&mut self, messages: &[u8], length: usize) -> Result<usize, Fault> {
        self.send_by(|link| {
            let batching = link.batching.get_or_insert_with(|| Batching::new(link.socket.as_fd(), BatchBy::Calls));
            batching.send(link.socket.as_fd(), &mut link.room, messages, length.max(1))
        })
    }

    fn receive_many(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Many>, Fault> {
        if !self.segments {
            return Ok(self.receive(buffer, until)?.map(Many::one));
        }
        let mut turns = 0;
        loop {
            match many::receive(self.socket.as_fd(), buffer, self.flags.bits() as libc::c_int) {
                Ok(many) => return Ok(Some(many)),
                Err(errno) => {
                    if !self.goes_on(Errno::from_raw_os_error(errno), until, &mut turns)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn try_receive_many(&mut self, buffer: &mut [u8]) -> Result<Option<Many>, Fault> {
        if !self.segments {
            return Ok(self.try_receive(buffer)?.map(Many::one));
        }
        match many::receive(self.socket.as_fd(), buffer, libc::MSG_DONTWAIT) {
            Ok(many) => Ok(Some(many)),
            Err(errno) => self.nothing(Errno::from_raw_os_error(errno)),
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [only] if only.tells_at_once() => {}
            [only] => poll_one(only.socket.as_fd(), false, until),
            many if many.iter().any(Self::tells_at_once) => {}
            _ => poll_until(links.iter().map(|link| (link.socket.as_fd(), false)), until),
        }
    }

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }

    fn stamp_arrivals(&mut self, on: bool) {
        self.stamping.switch(self.socket.as_fd(), on);
    }

    fn send_stamped(&mut self, message: &[u8]) -> Result<Option<u64>, Fault> {
        if !self.stamping.possible() {
            return self.send(message).map(|()| None);
        }
        self.send_by(|link| {
            let at = wall();
            let send =
                |flags| queue::send_stamped(link.socket.as_fd(), message, stamping::MESSAGE_FLAGS, flags).map(|_| at);
            link.room.send(send)
        })
        .map(Some)
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        loop {
            let flags = if self.tells_at_once() { libc::MSG_DONTWAIT } else { 0 };
            if let Some(stamped) = self.take_stamped(buffer, flags)? {
                return Ok(Some(stamped));
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
        }
    }

    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        self.take_stamped(buffer, libc::MSG_DONTWAIT)
    }

    fn departure(&mut self) -> Departure {
        let found = self.complaints();
        if !self.one_by_one {
            self.keep(found.ours);
        }
        found.departure
    }
}

impl Datagram {
    /// The wait for a message beyond its first try, which failed by `errno`.
    #[inline(never)]
    fn receive_on(&mut self, buffer: &mut [u8], until: Instant, mut errno: Errno) -> Result<Option<usize>, Fault> {
        let mut turns = 0;
        loop {
            if !self.goes_on(errno, until, &mut turns)? {
                return Ok(None);
            }
            match recv(&self.socket, &mut *buffer, self.flags) {
                Ok((length, _)) => return Ok(Some(length)),
                Err(again) => errno = again,
            }
        }
    }

    /// Returns true where a wait continues after its latest try failed by `errno`; `turns` counts the tries. An error
    /// ends the wait.
    #[inline]
    fn goes_on(&mut self, errno: Errno, until: Instant, turns: &mut u32) -> Result<bool, Fault> {
        match errno {
            Errno::AGAIN => {
                if !self.refused.is_empty() {
                    return self.refusal().map_or(Ok(true), Err);
                }
                *turns = turns.wrapping_add(1);
                // Spinning, the clock is looked at now and then: it costs a fifth of an empty poll.
                let look = !self.spinning || turns.is_multiple_of(64);
                Ok(!look || !(Monotonic::now() >= until || self.stop.requested()))
            }
            Errno::INTR => Ok(true),
            errno => self.heed(errno).map(|()| true),
        }
    }

    fn take_stamped(&mut self, buffer: &mut [u8], flags: libc::c_int) -> Result<Option<Stamped>, Fault> {
        match queue::receive(self.socket.as_fd(), buffer, flags) {
            Ok(arrival) => {
                Ok(Some(Stamped { length: arrival.length, kernel: arrival.stamp, application: Some(wall()) }))
            }
            Err(errno) => self.nothing(Errno::from_raw_os_error(errno)),
        }
    }
}
