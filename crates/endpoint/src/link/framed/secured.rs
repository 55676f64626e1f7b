//! TLS between a socket and a protocol: what comes is opened in its place, what goes is sealed in memory that stays.

use std::net::SocketAddr;
use std::ops::Range;

use measure::unit::Instant;
use protocol::tls::handshake::Handshake;
use protocol::tls::record::{Came, HEADER, LONGEST, Session};
use protocol::tls::{Alerted, Facts, Terms, TlsError};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::{PATIENCE, Trouble};
use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::stop::Stop;

/// Room for what has come and is not opened: two of the longest records.
const ROOM: usize = 2 * (HEADER + LONGEST);
/// Room for what is sealed and not sent; more is made where a request is longer.
const SEALED: usize = 4 << 10;

/// The outcome of a look at the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Number of octets of the protocol.
    Octets(usize),
    /// Nothing of the protocol, but words of the session itself, as a ticket for the next one.
    Aside,
    /// Nothing as yet.
    Nothing,
    /// The end.
    End,
}

/// A session over a socket.
#[derive(Debug)]
pub struct Secured {
    session: Session,
    incoming: Box<[u8]>,
    /// The part of it that has come and is not opened, from here to `end`.
    begin: usize,
    end: usize,
    /// Place of opened data that are not taken yet.
    data: Range<usize>,
    sealed: Vec<u8>,
}

/// The first words of a handshake. They stand ready before a connection is made: the first key that a thread draws takes it some 40 ms,
/// which is no time of the network's or the server's.
#[derive(Debug)]
pub struct Hello {
    handshake: Handshake,
    words: Vec<u8>,
    peer: SocketAddr,
}

impl Hello {
    /// Those to `peer`.
    ///
    /// # Errors
    /// A system without random numbers.
    pub fn new(terms: &Terms, peer: SocketAddr) -> Result<Self, EndpointError> {
        let mut words = Vec::new();
        let begun = Handshake::begin(terms).and_then(|mut handshake| {
            handshake.go_on(&[], &mut words)?;
            Ok(handshake)
        });
        Ok(Self { handshake: begun.map_err(|error| told(&error, peer))?, words, peer })
    }

    /// Secures a connection that was just made.
    ///
    /// # Errors
    /// A server that speaks something else, is not who it should be, or does not answer.
    pub fn secure(self, socket: &Socket, stop: &Stop) -> Result<Secured, EndpointError> {
        let Self { mut handshake, mut words, peer } = self;
        let fail = |cause| EndpointError::new(Step::Secure, peer, cause);
        let give_up = Monotonic::now().after(PATIENCE);
        let (mut buffer, mut began) = (vec![0; ROOM], false);
        loop {
            hand_over(socket, &mut words, stop, give_up).map_err(fail)?;
            let came = wait_for(socket, &mut buffer, stop, give_up).map_err(|cause| fail(begun(cause, began)))?;
            began = true;
            if came == 0 {
                return Err(told(&TlsError::Closed, peer));
            }
            let step = handshake.go_on(&buffer[..came], &mut words);
            let sent = hand_over(socket, &mut words, stop, give_up);
            // The reason to distrust the server is reported before a failure to tell it so.
            let done = step.map_err(|error| told(&error, peer))?;
            sent.map_err(fail)?;
            if done {
                break;
            }
        }
        let (session, early, behind) = handshake.finish().map_err(|error| told(&error, peer))?;
        let mut incoming = vec![0; ROOM.max(early.len() + behind.len())].into_boxed_slice();
        let begin = early.len();
        let end = begin + behind.len();
        incoming[..begin].copy_from_slice(&early);
        incoming[begin..end].copy_from_slice(&behind);
        Ok(Secured { session, incoming, begin, end, data: 0..begin, sealed: Vec::with_capacity(SEALED) })
    }
}

impl Secured {
    /// The outcome of the handshake.
    pub fn facts(&self) -> &Facts {
        self.session.facts()
    }

    /// `message` as it goes over the connection.
    #[inline]
    pub fn seal(&mut self, message: &[u8]) -> &[u8] {
        self.sealed.clear();
        self.session.seal(message, &mut self.sealed);
        &self.sealed
    }

    /// Between requests: what has to be said for the session itself is added to `out`.
    pub fn refresh(&mut self, out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.session.refresh(out).map_err(Trouble::Tls)
    }

    /// Tells the server that nothing more is said, where that goes without waiting.
    pub fn close(&mut self, socket: &Socket) {
        self.sealed.clear();
        self.session.close(&mut self.sealed);
        let _heard = send(socket, &self.sealed, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// True where something can be had without a look at the socket.
    pub fn has_more(&self) -> bool {
        !self.data.is_empty() || Session::is_whole(&self.incoming[self.begin..self.end])
    }

    /// Puts what is there into `room`, of what `take` takes off the socket; what has to be said for the session itself is added to `out`.
    #[inline]
    pub fn fetch(
        &mut self,
        room: &mut [u8],
        out: &mut Vec<u8>,
        mut take: impl FnMut(&mut [u8]) -> Result<usize, Errno>,
    ) -> Result<Fetched, Trouble> {
        loop {
            if !self.data.is_empty() {
                let count = self.data.len().min(room.len());
                let (from, to) = (self.data.start, self.data.start + count);
                room[..count].copy_from_slice(&self.incoming[from..to]);
                self.data.start = to;
                return Ok(Fetched::Octets(count));
            }
            match self.session.open(&mut self.incoming[self.begin..self.end], out).map_err(Trouble::Tls)? {
                // After a record without data the caller looks at the time: a server may send such records without end.
                Came::Data { octets, data } if data.is_empty() => {
                    self.begin += octets;
                    return Ok(Fetched::Nothing);
                }
                Came::Data { octets, data } => {
                    self.data = self.begin + data.start..self.begin + data.end;
                    self.begin += octets;
                }
                Came::Aside(octets) => {
                    self.begin += octets;
                    return Ok(Fetched::Aside);
                }
                Came::End => return Ok(Fetched::End),
                Came::Part => {
                    self.incoming.copy_within(self.begin..self.end, 0);
                    (self.begin, self.end) = (0, self.end - self.begin);
                    // It has room for more than a record.
                    match take(&mut self.incoming[self.end..]) {
                        Ok(0) => return Ok(Fetched::End),
                        Ok(count) => self.end += count,
                        Err(Errno::AGAIN | Errno::INTR) => return Ok(Fetched::Nothing),
                        Err(errno) => return Err(Trouble::System(errno)),
                    }
                }
            }
        }
    }
}

/// Error of a handshake that failed, with its hint.
pub fn told(error: &TlsError, peer: SocketAddr) -> EndpointError {
    let hint = match error {
        TlsError::Untrusted | TlsError::NoRoots => Some(Hint::Untrusted),
        TlsError::Misnamed { .. } => Some(Hint::Misnamed),
        TlsError::Unbelievable(_) => Some(Hint::Unbelievable),
        TlsError::Untimely { early, .. } => Some(Hint::Untimely { early: *early }),
        TlsError::Alert(name) => Some(Hint::Alert(Alerted::of(name))),
        TlsError::Foreign => Some(Hint::NoTls),
        _ => None,
    };
    let told = EndpointError::new(Step::Secure, peer, Cause::Peer(error.to_string()));
    match hint {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// The cause of a wait that ended, behind some octets or none.
fn begun(cause: Cause, began: bool) -> Cause {
    match cause {
        Cause::Silence(patience) if began => Cause::Unfinished(patience),
        cause => cause,
    }
}

/// Sends all of `out`.
fn hand_over(socket: &Socket, out: &mut Vec<u8>, stop: &Stop, give_up: Instant) -> Result<(), Cause> {
    while !out.is_empty() {
        match send(socket, out, SendFlags::NOSIGNAL) {
            Ok(count) => drop(out.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        go_on(stop, give_up)?;
    }
    Ok(())
}

/// Waits for octets; how many have come. None: the end.
fn wait_for(socket: &Socket, buffer: &mut [u8], stop: &Stop, give_up: Instant) -> Result<usize, Cause> {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((_, count)) => return Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        go_on(stop, give_up)?;
    }
}

fn go_on(stop: &Stop, give_up: Instant) -> Result<(), Cause> {
    if stop.requested() {
        return Err(Cause::Stopped);
    }
    if Monotonic::now() >= give_up { Err(Cause::Silence(PATIENCE)) } else { Ok(()) }
}
