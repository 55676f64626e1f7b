//! A new TCP connection for each exchange: the handshake alone, or the handshake with a request and its reply.
//!
//! The timed span is the connect call and, where there is one, the exchange after it. Opening the socket before and
//! closing it afterwards are not timed: they happen in [`Link::ready`]. A connection is ended by a reset (`SO_LINGER`
//! 0), so that thousands of them leave no ports in `TIME_WAIT`; the peer sees the reset.
//!
//! Or all of it is timed ([`Course::Whole`]), as netperf does: socket, local port, connect, request, reply, the peer's
//! end of the connection, and ours. There the peer closes first and keeps the `TIME_WAIT`.

pub mod ports;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measure::method::{SocketOptions, Waiting};
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{SockAddr, Socket};

use self::ports::Ports;
use super::clockwork::{fault_of, poll_until};
use crate::clock::Monotonic;
use crate::error::{Cause, EndpointError, Step};
use crate::pace;
use crate::socket;
use crate::socket::tuning::Tuning;
use crate::stop::{GLANCE, Stop};

/// Messages exchanged over each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: the handshake is all.
    None,
    /// A request and its reply.
    Exchange {
        /// Octets in front of the request, such as a session's token.
        preamble: Vec<u8>,
        /// The one octet before the reply that says the peer let us in, where it says so.
        accepted: Option<u8>,
        /// Length of the reply.
        reply_length: usize,
    },
}

/// Part of a connection's life that is timed, and the end that closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// From the connect call to the end of the reply; we end it by a reset.
    Brief,
    /// From opening the socket to closing it, when the peer has closed its side.
    Whole {
        /// The local ports it comes from, the next one where one is taken.
        ports: Ports,
        /// Socket options beside those of the method.
        tuning: Tuning,
    },
}

/// A link that connects anew for each exchange.
#[derive(Debug)]
pub struct Handshake {
    peer: SocketAddr,
    address: SockAddr,
    options: SocketOptions,
    /// Local address of connections with explicit ports.
    local: IpAddr,
    spinning: bool,
    content: Content,
    course: Course,
    socket: Option<Socket>,
    stage: Stage,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    have: usize,
    /// True where the socket has been connected before: then it is of no more use.
    used: bool,
    stop: Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Connecting,
    Exchanging,
    /// The peer's end of the connection is awaited.
    Ending,
    Answered,
}

impl Handshake {
    /// A link to `peer`. One socket is opened now, so that options that cannot be had are reported before measuring.
    pub fn new(
        peer: SocketAddr,
        options: &SocketOptions,
        waiting: Waiting,
        content: Content,
        course: Course,
        stop: Stop,
    ) -> Result<Self, EndpointError> {
        let spinning = waiting == Waiting::Spin;
        let (outgoing, expected) = match &content {
            Content::None => (Vec::new(), 0),
            Content::Exchange { preamble, accepted, reply_length } => {
                (preamble.clone(), usize::from(accepted.is_some()) + reply_length)
            }
        };
        let mut options = options.clone();
        let local = options.bind.unwrap_or_else(|| socket::any(peer));
        if course != Course::Brief {
            // Bound together with its port, later.
            options.bind = None;
        }
        let mut link = Self {
            peer,
            address: SockAddr::from(peer),
            options,
            local,
            spinning,
            content,
            course,
            socket: None,
            stage: Stage::Idle,
            outgoing,
            incoming: vec![0; expected],
            have: 0,
            used: false,
            stop,
        };
        let socket = link.open()?;
        link.take(socket);
        Ok(link)
    }

    /// The socket that stands ready or is in use, to read back what it got.
    pub fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    fn open(&self) -> Result<Socket, EndpointError> {
        let set = |cause| EndpointError::new(Step::Set("linger or timeouts"), self.peer, cause);
        let socket = match &self.course {
            Course::Brief => {
                let socket = socket::tcp(self.peer, &self.options)?;
                socket.set_linger(Some(Duration::ZERO)).map_err(set)?;
                socket
            }
            Course::Whole { tuning, .. } => {
                let socket = socket::tcp(self.peer, &self.options)?;
                tuning.apply(&socket, self.peer)?;
                socket.set_reuse_address(true).map_err(set)?;
                socket
            }
        };
        if self.spinning {
            socket.set_nonblocking(true).map_err(set)?;
        } else {
            socket::set_glance(&socket).map_err(set)?;
        }
        Ok(socket)
    }

    fn take(&mut self, socket: Socket) {
        self.address = socket::towards(&socket, self.peer);
        self.socket = Some(socket);
    }

    /// Opens and connects a socket whose whole life is timed; a local port that cannot be had is passed over.
    fn connect_whole(&mut self) -> Result<(), Fault> {
        self.socket = None;
        let mut tries = match &self.course {
            Course::Whole { ports, .. } => ports.len(),
            Course::Brief => 0,
        };
        while tries > 0 {
            let socket = self.open().map_err(|error| own_fault(&error))?;
            self.bind(&socket, &mut tries)?;
            match socket.connect(&self.address).map_err(|error| Errno::from_io_error(&error)) {
                Err(Some(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL)) => tries = tries.saturating_sub(1),
                result => {
                    self.socket = Some(socket);
                    return self.connecting(result);
                }
            }
        }
        Err(Fault::SendFailed(Errno::ADDRINUSE.raw_os_error()))
    }

    fn bind(&mut self, socket: &Socket, tries: &mut usize) -> Result<(), Fault> {
        let local = self.local;
        let Course::Whole { ports, .. } = &mut self.course else { return Ok(()) };
        loop {
            match socket.bind(&SockAddr::from(SocketAddr::new(local, ports.take()))) {
                Ok(()) => return Ok(()),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::ADDRINUSE) if *tries > 1 => *tries -= 1,
                    errno => return Err(Fault::SendFailed(errno.unwrap_or(Errno::ADDRINUSE).raw_os_error())),
                },
            }
        }
    }

    /// Goes on from what a connect call returned.
    fn connecting(&mut self, result: Result<(), Option<Errno>>) -> Result<(), Fault> {
        match result {
            Ok(()) => self.connected(),
            Err(Some(Errno::INPROGRESS | Errno::AGAIN | Errno::INTR)) => {
                self.stage = Stage::Connecting;
                Ok(())
            }
            Err(errno) => Err(broken(errno.unwrap_or(Errno::CONNREFUSED))),
        }
    }

    fn connected(&mut self) -> Result<(), Fault> {
        if self.content == Content::None {
            self.complete();
            return Ok(());
        }
        self.stage = Stage::Exchanging;
        let Some(socket) = &self.socket else { return Err(Fault::Closed) };
        match send(socket, &self.outgoing, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == self.outgoing.len() => Ok(()),
            // A new connection has an empty buffer: what does not fit it is beyond connect + exchange.
            Ok(_) => Err(Fault::TooLong),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// All that is to come has come, but for the end of the connection where that belongs to it.
    fn complete(&mut self) {
        self.stage = if self.course == Course::Brief { Stage::Answered } else { Stage::Ending };
    }

    /// Goes on as far as it can, waiting or not as `flags` say; `true` when the exchange is complete.
    fn advance(&mut self, flags: RecvFlags) -> Result<bool, Fault> {
        if self.stage == Stage::Connecting && self.writable() {
            let error = self.socket.as_ref().and_then(|socket| socket.take_error().ok().flatten());
            if let Some(error) = error {
                return Err(broken(Errno::from_io_error(&error).unwrap_or(Errno::CONNREFUSED)));
            }
            self.connected()?;
        }
        if self.stage == Stage::Exchanging {
            self.take_reply(flags)?;
        }
        if self.stage == Stage::Ending {
            self.take_end(flags)?;
        }
        Ok(self.stage == Stage::Answered)
    }

    fn writable(&self) -> bool {
        let Some(socket) = &self.socket else { return false };
        let mut set = [PollFd::new(socket, PollFlags::OUT)];
        poll(&mut set, Some(&rustix::fs::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    fn take_reply(&mut self, flags: RecvFlags) -> Result<(), Fault> {
        let Some(socket) = &self.socket else { return Err(Fault::Closed) };
        match recv(socket, &mut self.incoming[self.have..], flags) {
            Ok((0, _)) => Err(Fault::Refused(Errno::CONNRESET.raw_os_error())),
            Ok((count, _)) => {
                self.have += count;
                if self.have == self.incoming.len() {
                    self.complete();
                }
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// The peer's end of the connection, and ours. A reset there ends it as well: everything had come.
    fn take_end(&mut self, flags: RecvFlags) -> Result<(), Fault> {
        let Some(socket) = &self.socket else { return Err(Fault::Closed) };
        match recv(socket, &mut [0; 1], flags) {
            Ok((0, _)) | Err(Errno::CONNRESET) => {
                self.socket = None;
                self.stage = Stage::Answered;
                Ok(())
            }
            // More than was asked for: no peer of this measurement.
            Ok(_) => Err(Fault::Refused(Errno::BADMSG.raw_os_error())),
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// The answer's content for the engine; where an octet before it says whether the peer let us in, it is checked.
    fn deliver(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        self.stage = Stage::Idle;
        let Content::Exchange { accepted, .. } = self.content else { return Ok(0) };
        let reply = match accepted {
            Some(accepted) if self.incoming[0] != accepted => {
                return Err(Fault::Refused(Errno::PERM.raw_os_error()));
            }
            Some(_) => &self.incoming[1..],
            None => &self.incoming,
        };
        let length = reply.len().min(buffer.len());
        buffer[..length].copy_from_slice(&reply[..length]);
        Ok(length)
    }

    /// The socket to watch, and whether it is to become writable (connected) rather than readable.
    fn awaited(&self) -> Option<(BorrowedFd<'_>, bool)> {
        let under_way = matches!(self.stage, Stage::Connecting | Stage::Exchanging | Stage::Ending);
        let socket = self.socket.as_ref().filter(|_| under_way)?;
        Some((socket.as_fd(), self.stage == Stage::Connecting))
    }

    fn await_connection(&self, until: Instant) {
        let Some(socket) = &self.socket else { return };
        let left = until.since(Monotonic::now()).unwrap_or_default().min(GLANCE);
        let timeout = rustix::fs::Timespec { tv_sec: 0, tv_nsec: left.0 as i64 };
        let _woken = poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)], Some(&timeout));
    }
}

/// A reset or a refusal ends one handshake, not the measurement.
fn broken(errno: Errno) -> Fault {
    match fault_of(errno) {
        Fault::Closed | Fault::Reset => Fault::Refused(errno.raw_os_error()),
        Fault::System(_) if errno == Errno::TIMEDOUT => Fault::Refused(errno.raw_os_error()),
        // Out of local ports or descriptors: our own side.
        Fault::System(code) if matches!(errno, Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE) => {
            Fault::SendFailed(code)
        }
        fault => fault,
    }
}

/// Fault of the exchange for an error of our own side.
#[cold]
fn own_fault(error: &EndpointError) -> Fault {
    match &error.cause {
        Cause::System(cause) => broken(Errno::from_io_error(cause).unwrap_or(Errno::NOBUFS)),
        _ => Fault::SendFailed(0),
    }
}

impl Link for Handshake {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    fn ready(&mut self) -> Result<(), Fault> {
        if self.socket.is_some() && !self.used {
            return Ok(());
        }
        self.socket = None;
        self.stage = Stage::Idle;
        self.have = 0;
        self.used = false;
        if self.course == Course::Brief {
            let socket = self.open().map_err(|error| own_fault(&error))?;
            self.take(socket);
        }
        Ok(())
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        if let Content::Exchange { preamble, .. } = &self.content {
            self.outgoing.truncate(preamble.len());
            self.outgoing.extend_from_slice(message);
        }
        self.used = true;
        if self.course != Course::Brief {
            return self.connect_whole();
        }
        let Some(socket) = &self.socket else { return Err(Fault::SendFailed(0)) };
        let result = socket.connect(&self.address).map_err(|error| Errno::from_io_error(&error));
        self.connecting(result)
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        // Blocked in the call itself, a reply wakes us as it would an application.
        let flags = if self.spinning { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        loop {
            if self.advance(flags)? {
                return self.deliver(buffer).map(Some);
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
            if !self.spinning && self.stage == Stage::Connecting {
                self.await_connection(until);
            }
        }
    }

    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        if self.stage == Stage::Idle || !self.advance(RecvFlags::DONTWAIT)? {
            return Ok(None);
        }
        self.deliver(buffer).map(Some)
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            [first, ..] if first.spinning => {}
            _ => poll_until(links.iter().filter_map(Self::awaited), until),
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
