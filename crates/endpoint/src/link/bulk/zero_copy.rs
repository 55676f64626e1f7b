//! Sending from our memory without a copy (`MSG_ZEROCOPY`, `Documentation/networking/msg_zerocopy.rst`), and counting how
//! often the kernel copied after all: on loopback and virtual interfaces always.

use std::io;
use std::os::fd::AsFd;

use measure::method::Waiting;
use measure::throughput::Sight;
use measure::unit::Instant;
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use socket2::Socket;

use super::{not_sent, sender_sight};
use crate::clock::{self, Monotonic};
use crate::link::ring::Ring;
use crate::pace;
use crate::socket::option::set_int;
use crate::socket::queue::{self, Notice};

/// include/uapi/asm-generic/socket.h.
const SO_ZEROCOPY: i32 = 60;
/// Calls between two looks at what the kernel released: a notice stands for many calls.
const CALLS: u32 = 64;

/// A sender whose buffers the kernel reads in place. Their content never changes, so a buffer may go out again before it
/// was released.
#[derive(Debug)]
pub struct ZeroCopySender {
    socket: Socket,
    ring: Ring,
    flags: SendFlags,
    rest: usize,
    calls: u32,
    released: Released,
}

/// Sends that the kernel is done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Number of such sends.
    pub sends: u64,
    /// Number of sends among them whose payload the kernel copied.
    pub copied: u64,
}

impl ZeroCopySender {
    /// A sender over `socket`. Fails where the socket cannot do it.
    pub fn new(socket: Socket, ring: Ring, waiting: Waiting) -> io::Result<Self> {
        set_int(socket.as_fd(), libc::SOL_SOCKET, SO_ZEROCOPY, 1)?;
        let wait = if waiting == Waiting::Spin { SendFlags::DONTWAIT } else { SendFlags::empty() };
        let zero_copy = SendFlags::from_bits_retain(libc::MSG_ZEROCOPY.cast_unsigned());
        let flags = SendFlags::NOSIGNAL | zero_copy | wait;
        Ok(Self { socket, ring, flags, rest: 0, calls: 0, released: Released::default() })
    }

    /// Returns the counts of the sends that the kernel has finished so far.
    pub fn released(&mut self) -> Released {
        self.collect();
        self.released
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    #[cold]
    fn collect(&mut self) {
        self.calls = 0;
        while let Some(notice) = queue::next_notice(self.socket.as_fd()) {
            if let Notice::Released { first, last, copied } = notice {
                let sends = u64::from(last.wrapping_sub(first)) + 1;
                self.released.sends += sends;
                self.released.copied += if copied { sends } else { 0 };
            }
        }
    }
}

impl Bulk for ZeroCopySender {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        self.calls += 1;
        if self.calls >= CALLS {
            self.collect();
        }
        let buffer = if self.rest == 0 { self.ring.turn() } else { self.ring.tail(self.rest) };
        match send(&self.socket, buffer, self.flags) {
            Ok(count) => {
                self.rest = buffer.len() - count;
                Ok(Call::Moved(count))
            }
            // Unread notices hold memory of the socket (`net.core.optmem_max`).
            Err(Errno::NOBUFS) => {
                self.collect();
                Ok(Call::Nothing)
            }
            Err(errno) => not_sent(&self.socket, errno),
        }
    }

    fn sight(&mut self) -> Sight {
        sender_sight(&self.socket)
    }

    super::by_the_machines_clocks!();
}
