//! Messages that are datagrams: UDP, and ICMP echo through a ping or raw socket.

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
use crate::socket::echo::next_complaint;
use crate::socket::{many, queue};
use crate::stop::Stop;

/// A connected socket of datagrams.
#[derive(Debug)]
pub struct Datagram {
    socket: Socket,
    flags: RecvFlags,
    spinning: bool,
    /// Kernel timestamps, where they were asked for.
    pub stamping: Stamping,
    batching: Option<Batching>,
    /// Whether arrivals come several in one buffer.
    segments: bool,
    /// Of echo requests: which of the errors that come are about one of ours.
    echo: Option<Echo>,
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
            room: Room::default(),
            stop,
        }
    }

    /// [`Link::send_many`] hands messages over as `asked` from here on, or as the kernel can: what comes back tells, then
    /// and later.
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

    /// What it carries are requests of `echo`. A raw socket is told of every ICMP error that comes from its peer's way,
    /// whosever request it quotes.
    pub fn carries(&mut self, echo: Echo) {
        self.echo = Some(echo);
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(super) fn spins(&self) -> bool {
        self.spinning
    }

    /// An error of a call: what it means, with its details taken off the error queue, where it would otherwise wake
    /// every poll from now on. What stands there besides are stamps nobody waits for any more.
    #[cold]
    pub(super) fn fault(&self, errno: Errno) -> Fault {
        while queue::next_notice(self.socket.as_fd()).is_some() {}
        fault_of(errno)
    }
}

impl Datagram {
    /// An error of a call, which may be about what somebody else sent: then there is none.
    #[cold]
    fn heed(&self, errno: Errno) -> Result<(), Fault> {
        let Some(echo) = &self.echo else { return Err(self.fault(errno)) };
        let (mut any, mut ours) = (false, false);
        while let Some(complaint) = next_complaint(self.socket.as_fd()) {
            any = true;
            ours |= complaint.from.is_none() || echo.quoted(complaint.request()).is_some();
        }
        if any && !ours { Ok(()) } else { Err(fault_of(errno)) }
    }
}

impl Link for Datagram {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        loop {
            match self.room.send(|flags| send(&self.socket, message, flags)) {
                Ok(_) => return Ok(()),
                Err(errno) => self.heed(errno)?,
            }
        }
    }

    fn held(&mut self) -> Nanos {
        self.room.take_waited()
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
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => self.heed(errno).map(|()| None),
        }
    }

    fn send_many(&mut self, messages: &[u8], length: usize) -> Result<usize, Fault> {
        let batching = self.batching.get_or_insert_with(|| Batching::new(self.socket.as_fd(), BatchBy::Calls));
        batching.send(self.socket.as_fd(), &mut self.room, messages, length.max(1)).map_err(|errno| self.fault(errno))
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
            Err(libc::EAGAIN | libc::EINTR) => Ok(None),
            Err(errno) => Err(self.fault(Errno::from_raw_os_error(errno))),
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [only] if only.spinning => {}
            [only] => poll_one(only.socket.as_fd(), false, until),
            [first, ..] if first.spinning => {}
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
        let at = wall();
        let stamped = |flags| queue::send_stamped(self.socket.as_fd(), message, stamping::MESSAGE_FLAGS, flags);
        loop {
            match self.room.send(stamped) {
                Ok(_) => return Ok(Some(at)),
                Err(errno) => self.heed(errno)?,
            }
        }
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        let flags = if self.spinning { libc::MSG_DONTWAIT } else { 0 };
        loop {
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
        stamping::departure(self.socket.as_fd())
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

    /// Whether a wait whose latest try, of so many before, failed by `errno` goes on.
    #[inline]
    fn goes_on(&self, errno: Errno, until: Instant, turns: &mut u32) -> Result<bool, Fault> {
        match errno {
            Errno::AGAIN => {
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
            Err(libc::EAGAIN | libc::EINTR) => Ok(None),
            Err(errno) => self.heed(Errno::from_raw_os_error(errno)).map(|()| None),
        }
    }
}
