//! Streams of datagrams that carry their number and the instant of sending, in whichever format the peer reads.
//!
//! A call of the sender is one datagram, or one buffer that the kernel cuts into several (`UDP_SEGMENT`): all of them
//! carry one instant. A call of the receiver takes one datagram, or all that came as one buffer (`UDP_GRO`).

use std::os::fd::AsFd;

use libc::c_int;
use measure::interval::arrivals::Arrivals;
use measure::method::Waiting;
use measure::throughput::Sight;
use measure::unit::{Instant, Nanos};
use protocol::bulk::{Bulk, Call, Mark, Numbering, StampClock};
use protocol::link::{Fault, Many};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

use super::not_sent;
use crate::clock::{self, Monotonic};
use crate::link::clockwork::{fault_of, poll_one};
use crate::pace;
use crate::socket::many;

/// Longest datagram over IPv4, bytes of payload; a buffer that is cut into segments is no longer either.
pub const LONGEST: usize = 65_507;
/// Segments of one buffer at most, on every kernel that knows them (`UDP_MAX_SEGMENTS` was 64 before Linux 6.9).
pub const SEGMENTS: usize = 64;
/// Longest wait for datagrams that the sender's end mark overtook, which is smaller than they are. The sender repeats the mark during it.
const OVERTAKEN: Nanos = Nanos::millis(100);
/// Longest plausible wait of a datagram in a socket that is being read.
const LONGEST_WAIT: Nanos = Nanos::secs(2);

/// The instant that `clock` shows, nanoseconds.
#[inline]
fn reading(clock: StampClock) -> Nanos {
    match clock {
        StampClock::Monotonic => Nanos(Monotonic::now().0),
        StampClock::Wall => Nanos(clock::wall()),
    }
}

/// Sends numbered datagrams, all of one size.
#[derive(Debug)]
pub struct NumberedSender<N> {
    socket: Socket,
    numbering: N,
    /// As many datagrams as one call sends, one behind the other.
    buffer: Vec<u8>,
    size: usize,
    /// Bytes of one call.
    turn: usize,
    flags: SendFlags,
    sent: u64,
    most: u64,
}

impl<N: Numbering> NumberedSender<N> {
    /// A sender over the connected `socket` of datagrams of `size` bytes filled with `pattern`, `segments` of them a call:
    /// as many as fit a buffer, at least one. A size below the format's own octets is made as long as these.
    pub fn new(socket: Socket, numbering: N, size: usize, segments: usize, pattern: &[u8], waiting: Waiting) -> Self {
        let size = size.max(numbering.octets()).max(1);
        let segments = segments.clamp(1, (LONGEST / size).clamp(1, SEGMENTS));
        let one: Vec<u8> = pattern.iter().copied().cycle().take(size).chain(std::iter::repeat(0)).take(size).collect();
        let buffer = one.repeat(segments);
        let wait = if waiting == Waiting::Spin { SendFlags::DONTWAIT } else { SendFlags::empty() };
        let (flags, turn) = (SendFlags::NOSIGNAL | wait, buffer.len());
        Self { socket, numbering, buffer, size, turn, flags, sent: 0, most: u64::MAX }
    }

    /// Sends no more than `datagrams`: the last call is as much shorter as it must be, and one beyond says that all is
    /// over.
    #[must_use]
    pub fn at_most(self, datagrams: u64) -> Self {
        Self { most: datagrams, ..self }
    }

    /// Datagrams that left: the number of the last.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Datagrams of one call.
    pub fn segments(&self) -> usize {
        self.buffer.len() / self.size
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The buffer of the next call, for what the format has besides number and instant.
    pub fn datagrams(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.buffer.chunks_exact_mut(self.size)
    }

    #[inline]
    fn stamp(&mut self) {
        let now = reading(self.numbering.clock());
        for (datagram, number) in self.buffer[..self.turn].chunks_exact_mut(self.size).zip(self.sent + 1..) {
            self.numbering.write(datagram, number, now);
        }
    }
}

impl<N: Numbering> Bulk for NumberedSender<N> {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        if self.most - self.sent < (self.turn / self.size) as u64 {
            // Less than a whole turn is left.
            self.turn = (self.most - self.sent) as usize * self.size;
            if self.turn == 0 {
                return Ok(Call::End);
            }
        }
        self.stamp();
        let datagrams = self.turn / self.size;
        if datagrams == 1 {
            return match send(&self.socket, &self.buffer[..self.size], self.flags) {
                Ok(count) => {
                    self.sent += 1;
                    Ok(Call::Moved(count))
                }
                Err(errno) => not_sent(&self.socket, errno),
            };
        }
        let (buffer, size) = (&self.buffer[..self.turn], self.size as u16);
        match many::send_segmented(self.socket.as_fd(), buffer, size, SendFlags::NOSIGNAL) {
            Ok(()) => {
                self.sent += datagrams as u64;
                Ok(Call::MovedMany { bytes: self.turn, datagrams })
            }
            Err(errno) => not_sent(&self.socket, errno),
        }
    }

    super::by_the_machines_clocks!();
}

/// Part that a datagram has in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Account {
    /// Payload.
    Payload,
    /// A copy, or a datagram of others.
    Other,
    /// A word about the stream.
    Word,
}

/// Receives numbered datagrams of one sender.
#[derive(Debug)]
pub struct NumberedReceiver<N> {
    socket: Socket,
    numbering: N,
    buffer: Vec<u8>,
    flags: c_int,
    /// True where the kernel stamps arrivals.
    stamped: bool,
    /// True where copies and datagrams of others are no payload.
    once: bool,
    arrivals: Arrivals,
    /// Number of datagrams that the sender's end mark announced; absent: none came yet.
    last: Option<u64>,
    /// End of the wait for datagrams that the end mark overtook; 0 where there is no such wait.
    until: Instant,
    /// Arrival of the last datagram, or of the end mark; absent: the stream goes on.
    ended: Option<Instant>,
}

impl<N: Numbering> NumberedReceiver<N> {
    /// A receiver over `socket`, connected to the sender. Datagrams that came together are taken together where the kernel
    /// knows how.
    pub fn new(socket: Socket, numbering: N, waiting: Waiting) -> Self {
        // Without it each comes alone.
        let _ = many::take_segments(socket.as_fd());
        let flags = if waiting == Waiting::Spin { libc::MSG_DONTWAIT } else { 0 };
        let arrivals = Arrivals::new(numbering.clock() == StampClock::Wall);
        Self {
            socket,
            numbering,
            buffer: vec![0; 1 << 16],
            flags,
            stamped: false,
            once: false,
            arrivals,
            last: None,
            until: Instant(0),
            ended: None,
        }
    }

    /// Takes arrival times from the kernel, where it gives them: a datagram that waits in the socket for a late program
    /// was not on its way that long. It costs two readings of clocks a call.
    #[must_use]
    pub fn stamped(self, wanted: bool) -> Self {
        let stamped = wanted && many::stamp_arrivals(self.socket.as_fd()).is_ok();
        Self { stamped, ..self }
    }

    /// Counts the payload of each datagram of the stream once: what the path doubled is no throughput. Programs of others count all that
    /// comes.
    #[must_use]
    pub fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Returns the number of datagrams that the sender says it sent; `None` before its end mark.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the highest number that came, where no end mark did.
    pub fn highest(&self) -> Option<u64> {
        self.last.is_none().then(|| self.arrivals.highest())
    }

    /// Returns the arrival of the stream's last datagram, or of the end mark; `None` before the end mark.
    pub fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Takes a datagram that was received before its flow was known: the first of a flow, say.
    pub fn take(&mut self, datagram: &[u8]) -> Call {
        let now = reading(self.numbering.clock());
        let account = self.account(datagram, now);
        match account {
            _ if self.last.is_some() => Call::End,
            Account::Payload => Call::Moved(datagram.len()),
            Account::Other | Account::Word => Call::Nothing,
        }
    }

    /// Returns the arrival time of a datagram read now: from its kernel stamp where there is one, else now.
    #[inline]
    fn came(&self, stamp: Option<u64>) -> Nanos {
        let clock = self.numbering.clock();
        let now = reading(clock);
        let Some(stamp) = stamp.filter(|_| self.stamped) else { return now };
        // A wall clock that was stepped in between shows nothing.
        let waited = clock::wall().checked_sub(stamp).filter(|waited| *waited <= LONGEST_WAIT.0);
        waited.map_or(now, |waited| Nanos(now.0.saturating_sub(waited)))
    }

    /// [`Call::End`] once the sender's end mark came and no datagram before it can be missing any more, else [`Call::Nothing`].
    fn after_word(&self) -> Call {
        if self.until > Instant(0) && self.arrivals.is_incomplete() { Call::Nothing } else { Call::End }
    }

    /// Payload came, perhaps behind the end mark.
    fn moved(&mut self, bytes: usize, datagrams: usize) -> Call {
        self.ended = self.ended.map(|_| Monotonic::now());
        Call::MovedMany { bytes, datagrams }
    }

    /// Waits for datagrams that the end mark overtook.
    fn await_overtaken(&self) -> Call {
        if Monotonic::now() >= self.until {
            return Call::End;
        }
        poll_one(self.socket.as_fd(), false, self.until);
        Call::Nothing
    }

    #[inline]
    fn account(&mut self, datagram: &[u8], now: Nanos) -> Account {
        let transit = |sent: Nanos| now.0.cast_signed().wrapping_sub(sent.0.cast_signed());
        let is_new = match self.numbering.read(datagram) {
            Some(Mark::Data { number, sent }) => self.arrivals.arrived(number, transit(sent)),
            Some(Mark::Last { count, sent }) => {
                self.arrivals.last(count);
                let is_data = self.numbering.last_is_data();
                if self.last.replace(count).is_none() {
                    let now = Monotonic::now();
                    self.ended = Some(now);
                    // Peers whose last datagram is that word end by it.
                    if !is_data {
                        self.until = now.after(self.arrivals.overtaken(transit(sent)).min(OVERTAKEN));
                    }
                }
                return if is_data { Account::Payload } else { Account::Word };
            }
            None => {
                self.arrivals.foreign();
                false
            }
        };
        if is_new || !self.once { Account::Payload } else { Account::Other }
    }
}

impl<N: Numbering> Bulk for NumberedReceiver<N> {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        let mut flags = self.flags;
        if self.last.is_some() {
            if self.after_word() == Call::End {
                return Ok(Call::End);
            }
            flags |= libc::MSG_DONTWAIT;
        }
        let received = many::receive_stamped(self.socket.as_fd(), &mut self.buffer, flags);
        let (Many { length, segment }, stamp) = match received {
            Ok(received) => received,
            Err(libc::EAGAIN) if self.last.is_some() => return Ok(self.await_overtaken()),
            Err(libc::EAGAIN | libc::EINTR) => return Ok(Call::Nothing),
            Err(errno) => return Err(fault_of(Errno::from_raw_os_error(errno))),
        };
        if length == 0 {
            self.arrivals.foreign();
            return Ok(Call::Nothing);
        }
        let now = self.came(stamp);
        if length <= segment {
            let datagram = std::mem::take(&mut self.buffer);
            let account = self.account(&datagram[..length], now);
            self.buffer = datagram;
            return Ok(match account {
                Account::Word => self.after_word(),
                Account::Other => Call::Nothing,
                Account::Payload => self.moved(length, 1),
            });
        }
        let buffer = std::mem::take(&mut self.buffer);
        let (mut bytes, mut datagrams) = (0, 0);
        for datagram in buffer[..length].chunks(segment) {
            if self.account(datagram, now) == Account::Payload {
                (bytes, datagrams) = (bytes + datagram.len(), datagrams + 1);
            }
        }
        self.buffer = buffer;
        Ok(match datagrams {
            0 if self.last.is_some() => self.after_word(),
            0 => Call::Nothing,
            _ => self.moved(bytes, datagrams),
        })
    }

    fn sight(&mut self) -> Sight {
        Sight { datagrams: Some(self.arrivals.sight()), ..Sight::default() }
    }

    fn begin(&mut self) -> Sight {
        self.arrivals.begin();
        self.total()
    }

    fn total(&mut self) -> Sight {
        Sight { datagrams: Some(self.arrivals.total()), ..Sight::default() }
    }

    super::by_the_machines_clocks!();
}
