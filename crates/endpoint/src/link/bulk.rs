//! One way of a stream over a socket: sending from memory, sending from a file, receiving.
//!
//! Each is connected, or for receiving datagrams bound, and set to return from blocking calls every now and then
//! (`socket::set_glance`).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use measure::method::Waiting;
use measure::throughput::Sight;
use measure::unit::Instant;
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::clockwork::fault_of;
use super::ring::{Ring, Shape};
use crate::clock::{self, Monotonic};
use crate::pace;
use crate::socket::queue;
use crate::tcp_info::TcpInfo;

pub mod any;
pub mod numbered;
pub mod zero_copy;

/// Methods that all ways over sockets share.
macro_rules! by_the_machines_clocks {
    () => {
        fn now(&self) -> Instant {
            Monotonic::now()
        }

        #[inline]
        fn recently(&self) -> Instant {
            clock::recently()
        }

        fn sleep(&self, until: Instant) {
            pace::sleep_until(until);
        }

        #[inline]
        fn spin(&self, _until: Instant) {
            std::hint::spin_loop();
        }
    };
}

pub(crate) use by_the_machines_clocks;

/// Sends what the buffers hold, one buffer a call. Where a stream has room for a part of it only, the next call sends the
/// rest, so that what was sent is whole messages in the end; a datagram goes whole or not at all.
#[derive(Debug)]
pub struct Sender {
    socket: Socket,
    ring: Ring,
    flags: SendFlags,
    /// Octets of the buffer in turn that have no room yet.
    rest: usize,
}

impl Sender {
    /// A sender over `socket`.
    pub fn new(socket: Socket, ring: Ring, waiting: Waiting) -> Self {
        let wait = if waiting == Waiting::Spin { SendFlags::DONTWAIT } else { SendFlags::empty() };
        Self { socket, ring, flags: SendFlags::NOSIGNAL | wait, rest: 0 }
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl Bulk for Sender {
    fn sight(&mut self) -> Sight {
        sender_sight(&self.socket)
    }

    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        let buffer = if self.rest == 0 { self.ring.turn() } else { self.ring.tail(self.rest) };
        match send(&self.socket, buffer, self.flags) {
            Ok(count) => {
                self.rest = buffer.len() - count;
                Ok(Call::Moved(count))
            }
            Err(errno) => not_sent(&self.socket, errno),
        }
    }

    by_the_machines_clocks!();
}

/// Reads the sender's TCP facts; empty where the socket is none of TCP.
#[cold]
fn sender_sight(socket: &Socket) -> Sight {
    Sight { tcp: TcpInfo::of(socket).ok().map(|info| info.glance()), ..Sight::default() }
}

#[cold]
fn not_sent(socket: &Socket, errno: Errno) -> Result<Call, Fault> {
    match errno {
        Errno::AGAIN | Errno::INTR => Ok(Call::Nothing),
        Errno::NOBUFS | Errno::NOMEM => Ok(Call::Failed),
        errno => {
            // The details of an error that an earlier datagram met would wake every poll from now on.
            while queue::next_notice(socket.as_fd()).is_some() {}
            Err(fault_of(errno))
        }
    }
}

/// Takes what comes into the buffers, one buffer a call.
#[derive(Debug)]
pub struct Receiver {
    socket: Socket,
    ring: Ring,
    flags: RecvFlags,
}

impl Receiver {
    /// A receiver over `socket`. The end of a stream ends it, and so does a datagram without content.
    pub fn new(socket: Socket, ring: Ring, waiting: Waiting) -> Self {
        let flags = if waiting == Waiting::Spin { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        Self { socket, ring, flags }
    }

    /// Has the kernel discard the payload instead of copying it (`MSG_TRUNC`, tcp(7)), over TCP alone: the count stays
    /// true and no payload is read. For datagrams it would also count octets beyond the buffer.
    #[must_use]
    pub fn discarding(mut self) -> Self {
        self.flags |= RecvFlags::TRUNC;
        self
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl Bulk for Receiver {
    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        match recv(&self.socket, self.ring.turn(), self.flags) {
            Ok((0, _)) => Ok(Call::End),
            Ok((count, _)) => Ok(Call::Moved(count)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Call::Nothing),
            Err(errno) => Err(fault_of(errno)),
        }
    }

    by_the_machines_clocks!();
}

/// Sends a file by `sendfile`: what is in the page cache goes to the socket without a copy through memory of ours.
#[derive(Debug)]
pub struct FileSender {
    socket: Socket,
    file: File,
    length: u64,
    size: usize,
    offset: u64,
    once: bool,
}

impl FileSender {
    /// A sender of `file` over `socket`, `size` bytes a call, from its start again where it ends. Fails where the file has
    /// no length.
    ///
    /// A connection that is gone raises `SIGPIPE`, which Rust programs ignore: `sendfile` knows no flag against it.
    pub fn new(socket: Socket, file: File, size: usize) -> io::Result<Self> {
        let length = file.metadata()?.len();
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty file, or one of no fixed length"));
        }
        Ok(Self { socket, file, length, size: size.max(1), offset: 0, once: false })
    }

    /// The end of the file is the end of the stream.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }
}

/// Octets of the spare file: no call of iperf3 sends more.
const SPARE_LENGTH: usize = 1 << 20;
/// A file of random octets for servers that may make none once they are confined.
static SPARE: OnceLock<File> = OnceLock::new();

/// Makes the spare file, once. Servers that may be asked to send from a file call it before they are confined; where it cannot be made, that
/// is told when such a test comes.
pub fn make_spare() {
    let seed = u64::from_be_bytes(crate::random::bytes().unwrap_or([0x5a; 8]));
    if SPARE.get().is_none()
        && let Ok(file) = new_file(Ring::random(Shape::of(SPARE_LENGTH), seed).turn(), SPARE_LENGTH)
    {
        // A file that another thread made first is as good.
        let _other = SPARE.set(file);
    }
}

/// A file in memory for octets that are not looked at: a new one with `pattern`, or the spare one where none can be
/// made.
pub fn any_file(pattern: &[u8], length: usize) -> io::Result<File> {
    new_file(pattern, length).or_else(|refused| SPARE.get().map_or(Err(refused), File::try_clone))
}

/// A file in memory that holds `pattern` over and over, `length` bytes of it: used where the user names no file to be
/// sent.
pub fn new_file(pattern: &[u8], length: usize) -> io::Result<File> {
    let mut file = File::from(memfd_create("sonde-stream", MemfdFlags::CLOEXEC)?);
    let octets: Vec<u8> = pattern.iter().copied().cycle().take(length).collect();
    file.write_all(&octets)?;
    Ok(file)
}

impl Bulk for FileSender {
    fn sight(&mut self) -> Sight {
        sender_sight(&self.socket)
    }

    #[inline]
    fn call(&mut self) -> Result<Call, Fault> {
        // A call does not run on from the end of the file to its start: it ends there, and the next begins anew.
        if self.offset >= self.length {
            if self.once {
                return Ok(Call::End);
            }
            self.offset = 0;
        }
        match sendfile(&self.socket, &self.file, Some(&mut self.offset), self.size) {
            // The file has become shorter since.
            Ok(0) => Err(Fault::System(libc::ENODATA)),
            Ok(count) => Ok(Call::Moved(count)),
            Err(errno) => not_sent(&self.socket, errno),
        }
    }

    by_the_machines_clocks!();
}
