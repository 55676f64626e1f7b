//! Messages of fixed size on a TCP connection.

use std::os::fd::AsFd;

use measure::method::Waiting;
use measure::unit::{Instant, Nanos};
use protocol::link::{Departure, Fault, Link, Stamped};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::clockwork::{fault_of, poll_one, poll_until};
use super::stamping::{self, Stamping};
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::socket::queue;
use crate::stop::Stop;

/// Longest piece of a message that stands in memory; what is longer is sent from and read into it again and again.
pub const PIECE: usize = 256 << 10;
/// Longest time for which a peer may take nothing while a message is half sent; then it is given up.
const STALLED: Nanos = Nanos::secs(10);

/// A connected TCP socket that carries requests of one size and replies of another.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    flags: RecvFlags,
    send_flags: SendFlags,
    spinning: bool,
    /// True where a full send buffer must not block the thread, because replies wait to be read.
    patient: bool,
    request_length: usize,
    reply_length: usize,
    have: usize,
    /// Read before this link existed, taken first.
    early: Vec<u8>,
    unsent: usize,
    /// Rest of a message's head, where the thread may not wait for room.
    pending: Vec<u8>,
    scratch: Vec<u8>,
    /// Kernel timestamps, where they were asked for.
    pub stamping: Stamping,
    stop: Stop,
}

impl Stream {
    /// A link over `socket`, which is connected and set to return from blocking calls every now and then
    /// (`socket::set_glance`). `patient` for windows above 1.
    pub fn new(
        socket: Socket,
        waiting: Waiting,
        (request_length, reply_length): (usize, usize),
        patient: bool,
        stop: Stop,
    ) -> Self {
        let spinning = waiting == Waiting::Spin;
        let longest = request_length.max(reply_length);
        Self {
            socket,
            flags: if spinning { RecvFlags::DONTWAIT } else { RecvFlags::empty() },
            send_flags: if patient { SendFlags::NOSIGNAL | SendFlags::DONTWAIT } else { SendFlags::NOSIGNAL },
            spinning,
            patient,
            request_length,
            reply_length,
            have: 0,
            early: Vec::new(),
            unsent: 0,
            pending: Vec::new(),
            scratch: if longest > PIECE { vec![0; PIECE] } else { Vec::new() },
            stamping: Stamping::default(),
            stop,
        }
    }

    /// Bytes that were read off the connection before it became this link: the start of a first message, at most one
    /// whole message.
    pub fn begin_with(&mut self, early: &[u8]) {
        self.early = early.to_vec();
    }

    /// The socket itself, to read back what it got.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    #[inline]
    fn take(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Result<Option<usize>, Errno> {
        let count = if !self.early.is_empty() {
            self.take_early(buffer)
        } else if self.have < buffer.len() {
            recv(&self.socket, &mut buffer[self.have..], flags)?.0
        } else {
            self.take_rest(flags)?
        };
        self.taken(count, buffer.len())
    }

    #[inline]
    fn taken(&mut self, count: usize, head: usize) -> Result<Option<usize>, Errno> {
        if count == 0 {
            return Err(Errno::PIPE);
        }
        self.have += count;
        if self.have < self.reply_length {
            return Ok(None);
        }
        self.have = 0;
        Ok(Some(head.min(self.reply_length)))
    }

    #[cold]
    fn take_early(&mut self, buffer: &mut [u8]) -> usize {
        let head = &mut buffer[self.have..];
        let count = self.early.len().min(head.len());
        head[..count].copy_from_slice(&self.early[..count]);
        self.early.drain(..count);
        count
    }

    /// Reads and discards the rest of a long message behind its head.
    #[cold]
    fn take_rest(&mut self, flags: RecvFlags) -> Result<usize, Errno> {
        let rest = (self.reply_length - self.have).min(self.scratch.len());
        recv(&self.socket, &mut self.scratch[..rest], flags).map(|(count, _)| count)
    }

    /// The part of a message that did not go at once. The head carries the header: it goes before anything else, and
    /// what is beyond it has no content.
    #[cold]
    #[inline(never)]
    fn send_rest(&mut self, message: &[u8], sent: usize) -> Result<(), Fault> {
        self.unsent = self.request_length - sent;
        let head = message.get(sent..).unwrap_or_default();
        if self.patient {
            self.pending.clear();
            self.pending.extend_from_slice(head);
            return self.flush().map(|_| ());
        }
        self.send_piece(head)?;
        let piece = std::mem::take(&mut self.scratch);
        let mut result = Ok(());
        while self.unsent > 0 && result.is_ok() {
            result = self.send_piece(&piece[..self.unsent.min(piece.len())]);
        }
        self.scratch = piece;
        result
    }

    /// Hands over what is left as far as it goes without waiting.
    fn push(&mut self) -> Result<usize, Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if self.pending.is_empty() {
            return send(&self.socket, &self.scratch[..self.unsent.min(self.scratch.len())], flags);
        }
        let count = send(&self.socket, &self.pending, flags)?;
        self.pending.drain(..count);
        Ok(count)
    }

    fn send_piece(&mut self, mut piece: &[u8]) -> Result<(), Fault> {
        let mut give_up = Monotonic::now().after(STALLED);
        while !piece.is_empty() {
            match send(&self.socket, piece, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    piece = &piece[count..];
                    self.unsent -= count;
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

    #[cold]
    #[inline(never)]
    fn not_sent(&mut self, errno: Errno, message: &[u8]) -> Result<(), Fault> {
        match errno {
            Errno::INTR => self.send(message),
            Errno::AGAIN => self.send_rest(message, 0),
            errno => Err(fault_of(errno)),
        }
    }

    fn missing(&self, errno: Errno, until: Instant) -> Result<bool, Fault> {
        match errno {
            Errno::INTR => Ok(false),
            Errno::AGAIN => Ok(Monotonic::now() >= until || self.stop.requested()),
            errno => Err(fault_of(errno)),
        }
    }
}

impl Link for Stream {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        match send(&self.socket, message, self.send_flags) {
            Ok(count) if count == self.request_length => Ok(()),
            Ok(count) => self.send_rest(message, count),
            Err(errno) => self.not_sent(errno, message),
        }
    }

    fn set_sent_length(&mut self, length: usize) {
        self.request_length = length;
    }

    #[inline]
    fn flush(&mut self) -> Result<bool, Fault> {
        while self.unsent > 0 {
            match self.push() {
                Ok(count) => self.unsent -= count,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(fault_of(errno)),
            }
        }
        Ok(true)
    }

    #[expect(
        clippy::inline_always,
        reason = "the measuring loop is one function: a call here is a fifth of its instructions"
    )]
    #[inline(always)]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        // Nearly always a message is there whole or not at all: that case alone is kept short.
        if self.have | self.early.len() == 0 {
            // The second length is used, not the buffer's: they are the same without `MSG_TRUNC`.
            match recv(&self.socket, &mut *buffer, self.flags) {
                Ok((_, count)) if count == self.reply_length => return Ok(Some(count)),
                Ok((_, count)) => {
                    if let Some(length) = self.taken(count, buffer.len()).map_err(fault_of)? {
                        return Ok(Some(length));
                    }
                }
                Err(Errno::AGAIN) if self.spinning => {}
                Err(errno) => {
                    if self.missing(errno, until)? {
                        return Ok(None);
                    }
                }
            }
        }
        self.receive_on(buffer, until)
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        loop {
            match self.take(buffer, RecvFlags::DONTWAIT) {
                Ok(Some(length)) => return Ok(Some(length)),
                Ok(None) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(errno) => return Err(fault_of(errno)),
            }
        }
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [only] if only.spinning => {}
            [only] => poll_one(only.socket.as_fd(), only.unsent > 0, until),
            [first, ..] if first.spinning => {}
            _ => poll_until(links.iter().map(|link| (link.socket.as_fd(), link.unsent > 0)), until),
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
        if !self.stamping.possible() || message.len() != self.request_length {
            return self.send(message).map(|()| None);
        }
        let at = wall();
        match queue::send_stamped(self.socket.as_fd(), message, stamping::MESSAGE_FLAGS, SendFlags::NOSIGNAL) {
            Ok(count) if count == self.request_length => Ok(Some(at)),
            Ok(count) => self.send_rest(message, count).map(|()| None),
            Err(_) => self.send(message).map(|()| None),
        }
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        loop {
            if let Some(stamped) = self.take_stamped(buffer, if self.spinning { libc::MSG_DONTWAIT } else { 0 })? {
                return Ok(Some(stamped));
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
        }
    }

    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        loop {
            let had = self.have;
            match self.take_stamped(buffer, libc::MSG_DONTWAIT)? {
                // A piece of a message: there may be more.
                None if self.have != had => {}
                taken => return Ok(taken),
            }
        }
    }

    fn departure(&mut self) -> Departure {
        stamping::departure(self.socket.as_fd())
    }
}

impl Stream {
    /// The wait for a message beyond its first try.
    #[inline(never)]
    fn receive_on(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        let mut turns = 0_u32;
        loop {
            match self.take(buffer, self.flags) {
                Ok(Some(length)) => return Ok(Some(length)),
                Ok(None) => {}
                // Spinning, the clock is looked at now and then: it costs a fifth of an empty poll.
                Err(Errno::AGAIN) if self.spinning && !turns.is_multiple_of(64) => turns = turns.wrapping_add(1),
                Err(errno) => {
                    turns = turns.wrapping_add(1);
                    if self.missing(errno, until)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn take_stamped(&mut self, buffer: &mut [u8], flags: libc::c_int) -> Result<Option<Stamped>, Fault> {
        if self.have > 0 || buffer.len() < self.reply_length {
            // The middle of a message, or one longer than memory: its stamp would be that of its last piece only.
            let length = self.take(buffer, RecvFlags::from_bits_retain(flags.cast_unsigned()));
            return match length {
                Ok(length) => Ok(length.map(|length| Stamped { length, kernel: None, application: None })),
                Err(Errno::AGAIN | Errno::INTR) => Ok(None),
                Err(errno) => Err(fault_of(errno)),
            };
        }
        match queue::receive(self.socket.as_fd(), buffer, flags) {
            Ok(arrival) => {
                let application = wall();
                let length = self.taken(arrival.length, buffer.len()).map_err(fault_of)?;
                Ok(length.map(|length| Stamped { length, kernel: arrival.stamp, application: Some(application) }))
            }
            Err(libc::EAGAIN | libc::EINTR) => Ok(None),
            Err(errno) => Err(fault_of(Errno::from_raw_os_error(errno))),
        }
    }
}
