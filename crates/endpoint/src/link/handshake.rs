//! A new TCP connection for each exchange: the handshake alone, or the handshake with a request and its reply.
//!
//! What is timed is the connect call and, where there is one, the exchange after it. Opening the socket before and
//! closing it afterwards are not: they happen in [`Link::ready`]. A connection is ended by a reset (`SO_LINGER` 0), so
//! that thousands of them leave no ports in `TIME_WAIT`; the peer sees the reset.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measure::method::{SocketOptions, Waiting};
use measure::unit::Instant;
use protocol::link::{Fault, Link};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{SockAddr, Socket};

use super::clockwork::{fault_of, poll_until};
use crate::clock::Monotonic;
use crate::error::EndpointError;
use crate::pace;
use crate::socket::{self, GLANCE};
use crate::stop::Stop;

/// What is exchanged over each connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing: the handshake is all.
    None,
    /// A request and its reply.
    Exchange {
        /// What stands before the request, such as a session's token.
        preamble: Vec<u8>,
        /// The one octet before the reply that says the peer let us in.
        accepted: u8,
        /// Length of the reply.
        reply_length: usize,
    },
}

/// A link that connects anew for each exchange.
#[derive(Debug)]
pub struct Handshake {
    peer: SocketAddr,
    address: SockAddr,
    options: SocketOptions,
    spinning: bool,
    content: Content,
    socket: Option<Socket>,
    stage: Stage,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    have: usize,
    /// Whether the socket has been connected before: then it is of no more use.
    used: bool,
    stop: Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Connecting,
    Exchanging,
    Answered,
}

impl Handshake {
    /// A link to `peer`. One socket is opened now, so that options that cannot be had are told before measuring.
    pub fn new(
        peer: SocketAddr,
        options: &SocketOptions,
        waiting: Waiting,
        content: Content,
        stop: Stop,
    ) -> Result<Self, EndpointError> {
        let spinning = waiting == Waiting::Spin;
        let expected = match &content {
            Content::None => 0,
            Content::Exchange { reply_length, .. } => 1 + reply_length,
        };
        let outgoing = match &content {
            Content::None => Vec::new(),
            Content::Exchange { preamble, .. } => preamble.clone(),
        };
        let mut link = Self {
            peer,
            address: SockAddr::from(peer),
            options: options.clone(),
            spinning,
            content,
            socket: None,
            stage: Stage::Idle,
            outgoing,
            incoming: vec![0; expected],
            have: 0,
            used: false,
            stop,
        };
        link.socket = Some(link.open()?);
        Ok(link)
    }

    /// The socket that stands ready or is in use, to read back what it got.
    pub fn socket(&self) -> Option<&Socket> {
        self.socket.as_ref()
    }

    fn open(&self) -> Result<Socket, EndpointError> {
        let socket = socket::tcp(self.peer, &self.options)?;
        let set = |cause| EndpointError::new(crate::error::Step::Set("linger"), self.peer, cause);
        socket.set_linger(Some(Duration::ZERO)).map_err(set)?;
        if self.spinning {
            socket.set_nonblocking(true).map_err(set)?;
        } else {
            socket::set_glance(&socket).map_err(set)?;
        }
        Ok(socket)
    }

    fn connected(&mut self) -> Result<(), Fault> {
        if self.content == Content::None {
            self.stage = Stage::Answered;
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

    /// Goes on as far as it can without waiting; `true` when the exchange is complete.
    fn advance(&mut self) -> Result<bool, Fault> {
        if self.stage == Stage::Connecting && self.writable() {
            let error = self.socket.as_ref().and_then(|socket| socket.take_error().ok().flatten());
            if let Some(error) = error {
                return Err(broken(Errno::from_io_error(&error).unwrap_or(Errno::CONNREFUSED)));
            }
            self.connected()?;
        }
        if self.stage == Stage::Exchanging {
            self.take_reply(RecvFlags::DONTWAIT)?;
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
                    self.stage = Stage::Answered;
                }
                Ok(())
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(errno) => Err(broken(errno)),
        }
    }

    /// The answer's content for the engine; the octet before it says whether the peer let us in.
    fn deliver(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        self.stage = Stage::Idle;
        let Content::Exchange { accepted, .. } = self.content else { return Ok(0) };
        if self.incoming[0] != accepted {
            return Err(Fault::Refused(Errno::PERM.raw_os_error()));
        }
        let reply = &self.incoming[1..];
        let length = reply.len().min(buffer.len());
        buffer[..length].copy_from_slice(&reply[..length]);
        Ok(length)
    }

    /// The socket to watch, and whether it is to become writable (connected) rather than readable.
    fn awaited(&self) -> Option<(BorrowedFd<'_>, bool)> {
        let socket = self.socket.as_ref().filter(|_| matches!(self.stage, Stage::Connecting | Stage::Exchanging))?;
        Some((socket.as_fd(), self.stage == Stage::Connecting))
    }

    fn await_progress(&self, until: Instant) {
        let Some(socket) = &self.socket else { return };
        let flags = if self.stage == Stage::Connecting { PollFlags::OUT } else { PollFlags::IN };
        let left = until.since(Monotonic::now()).unwrap_or_default().min(GLANCE);
        let timeout = rustix::fs::Timespec { tv_sec: 0, tv_nsec: left.0 as i64 };
        let _woken = poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), flags)], Some(&timeout));
    }
}

/// A reset or a refusal ends one handshake, not the measurement.
fn broken(errno: Errno) -> Fault {
    match fault_of(errno) {
        Fault::Closed => Fault::Refused(errno.raw_os_error()),
        Fault::System(_) if errno == Errno::TIMEDOUT => Fault::Refused(errno.raw_os_error()),
        // Out of local ports or descriptors: our own side.
        Fault::System(code) if matches!(errno, Errno::ADDRNOTAVAIL | Errno::MFILE | Errno::NFILE) => {
            Fault::SendFailed(code)
        }
        fault => fault,
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
        match self.open() {
            Ok(socket) => {
                self.socket = Some(socket);
                Ok(())
            }
            Err(error) => match error.cause {
                crate::error::Cause::System(cause) => {
                    Err(broken(Errno::from_io_error(&cause).unwrap_or(Errno::NOBUFS)))
                }
                _ => Err(Fault::SendFailed(0)),
            },
        }
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        if let Content::Exchange { preamble, .. } = &self.content {
            self.outgoing.truncate(preamble.len());
            self.outgoing.extend_from_slice(message);
        }
        self.used = true;
        let Some(socket) = &self.socket else { return Err(Fault::SendFailed(0)) };
        match socket.connect(&self.address) {
            Ok(()) => self.connected(),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INPROGRESS | Errno::AGAIN | Errno::INTR) => {
                    self.stage = Stage::Connecting;
                    Ok(())
                }
                errno => Err(broken(errno.unwrap_or(Errno::CONNREFUSED))),
            },
        }
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        loop {
            // Blocked in the call itself, a reply wakes us as it would an application.
            if self.stage == Stage::Exchanging && !self.spinning {
                self.take_reply(RecvFlags::empty())?;
            }
            if self.stage == Stage::Answered || self.advance()? {
                return self.deliver(buffer).map(Some);
            }
            if Monotonic::now() >= until || self.stop.requested() {
                return Ok(None);
            }
            if !self.spinning && self.stage == Stage::Connecting {
                self.await_progress(until);
            }
        }
    }

    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        if self.stage == Stage::Idle || !self.advance()? {
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
