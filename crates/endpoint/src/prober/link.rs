//! The sockets by which a prober asks. None of their calls waits.
//!
//! ICMP errors quote the packet they are about: the quote selects the request that they end.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measure::event::Fate;
use measure::method::SocketOptions;
use measure::prober::End;
use measure::unit::Instant;
use protocol::application::packet::Packet;
use protocol::icmp::echo::{Echo, Family};
use protocol::icmp::error::IcmpError;
use protocol::native::header::{Authenticated, Flags, Header, Native};
use protocol::wire::{Reading, Wire};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{SockAddr, Socket};

use crate::clock::Monotonic;
use crate::error::EndpointError;
use crate::socket::queue::{Notice, next_notice_into};
use crate::socket::{self, option};

/// As often a request is sent again that errors of earlier ones kept from leaving.
const TRIES: u32 = 8;
/// Octets that are looked at of what comes: more than any reply has, so that one that is too long is seen as such.
const ROOM: usize = 1_500;

/// Form of the requests and replies.
#[derive(Clone, Debug)]
pub enum Form {
    /// Native messages, known by their session's name.
    Native(Native),
    /// Ours, each with a code.
    Authenticated(Authenticated),
    /// ICMP echo.
    Echo(Echo),
    /// A program's at work.
    Packet(Packet),
}

/// Callback for a refused request, with its number where that is known.
pub type Refused<'a> = &'a mut dyn FnMut(Option<u64>);

/// A connected socket of datagrams, or a stream.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    form: Form,
    request: Vec<u8>,
    /// Part of a reply that has arrived; used for streams alone.
    stream: Option<Partial>,
    /// True where the far end has ended the stream.
    is_over: bool,
    /// Length of a reply, octets; absent where the reply carries it.
    expected: Option<usize>,
    /// Datagrams that the kernel had dropped when it was last asked.
    dropped: u32,
    /// The number behind that of the latest request.
    behind: u64,
}

/// A reply that has come in part.
#[derive(Debug)]
struct Partial {
    octets: Vec<u8>,
    have: usize,
}

/// Message read from a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A sound reply.
    Reply {
        /// Number of the request.
        seq: u64,
        /// Time of the receive.
        at: Instant,
        /// Requests that had arrived at the far end; absent where it does not say.
        count: Option<u32>,
    },
    /// A reply by which this request was refused.
    Refused(u64),
    /// A corrupt reply, and the number of its request where that is readable.
    Corrupt(Option<u64>),
    /// Nothing that concerns a request.
    Nothing,
    /// The end of the stream.
    End,
}

impl Link {
    /// One over `socket` with requests of this length, and replies too unless they come with a header of unknown length
    /// in front.
    pub fn new(socket: Socket, mut form: Form, length: usize, is_bare: bool) -> Self {
        let mut request = vec![0; length];
        match &mut form {
            Form::Native(wire) => wire.open(&mut request),
            Form::Authenticated(wire) => wire.open(&mut request),
            Form::Echo(wire) => wire.open(&mut request),
            Form::Packet(wire) => wire.open(&mut request),
        }
        let dropped = option::dropped(socket.as_fd()).unwrap_or(0);
        let expected = is_bare.then_some(length);
        Self { socket, form, request, stream: None, is_over: false, expected, dropped, behind: 0 }
    }

    /// The same over a stream that was let in, whose requests and replies are of one length.
    pub fn over_stream(socket: Socket, form: Form, length: usize) -> Self {
        let stream = Some(Partial { octets: vec![0; length], have: 0 });
        Self { stream, ..Self::new(socket, form, length, true) }
    }

    /// Its socket.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends request `seq`; when, and for what it counts where it did not leave.
    pub fn send(&mut self, seq: u64, refused: Refused<'_>) -> (Instant, Result<(), Fate>) {
        self.send_with(seq, Flags::NONE, refused)
    }

    /// The same with flags.
    pub fn send_with(&mut self, seq: u64, flags: Flags, refused: Refused<'_>) -> (Instant, Result<(), Fate>) {
        self.behind = seq.wrapping_add(1);
        match &mut self.form {
            Form::Native(wire) => wire.prepare(&mut self.request, seq, flags),
            Form::Authenticated(wire) => wire.prepare(&mut self.request, seq, flags),
            Form::Echo(wire) => wire.prepare(&mut self.request, seq, flags),
            Form::Packet(wire) => wire.prepare(&mut self.request, seq, flags),
        }
        let at = Monotonic::now();
        let mut tries = 1;
        loop {
            match send(&self.socket, &self.request, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) if sent == self.request.len() => return (at, Ok(())),
                // Half a request in a stream: what follows could not be told apart any more.
                Ok(_) => self.is_over = true,
                Err(_) if self.is_over => return (at, Err(Fate::Refused)),
                // An error of an earlier request fails the next call.
                Err(errno) if tries == TRIES || !self.complaints(refused) && !is_of_others(errno) => {
                    return (at, Err(Fate::SendFailed));
                }
                Err(_) => tries += 1,
            }
            if self.is_over {
                // The next read reports its end.
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
                return (at, Err(Fate::SendFailed));
            }
        }
    }

    /// Reads the errors that others sent off the queue and reports each. Returns true where there were any. Errors of
    /// our own host are reported by the call that they fail.
    #[cold]
    pub fn complaints(&mut self, refused: Refused<'_>) -> bool {
        let (mut quote, mut any) = ([0; ROOM], false);
        while let Some((notice, length)) = next_notice_into(self.socket.as_fd(), &mut quote) {
            let Notice::Error(report) = notice else { continue };
            if report.from.is_none() {
                continue;
            }
            any = true;
            let quote = &quote[..length.min(ROOM)];
            match &self.form {
                Form::Native(_) | Form::Authenticated(_) if report.errno == libc::EMSGSIZE => {}
                // The request is not known: numbers are the protocol's own.
                Form::Packet(_) => refused(None),
                Form::Native(_) | Form::Authenticated(_) => refused(Header::read(quote).map(|header| header.seq)),
                Form::Echo(echo) => {
                    let (Some(number), Some(latest)) = (echo.quoted(quote), self.behind.checked_sub(1)) else {
                        continue;
                    };
                    let error = IcmpError::of(echo.family(), report.kind, report.code, report.info);
                    if error.is_some_and(IcmpError::is_final) {
                        let back = u64::from(echo.header_number(latest).wrapping_sub(number));
                        latest.checked_sub(back).into_iter().for_each(|seq| refused(Some(seq)));
                    }
                }
            }
        }
        any
    }

    /// Takes one message that has come. `behind` is the number behind that of the latest request.
    pub fn take(&mut self, behind: u64, refused: Refused<'_>) -> Taken {
        let mut buffer = [0; ROOM];
        let is_stream = self.stream.is_some();
        let into = match &mut self.stream {
            Some(partial) => &mut partial.octets[partial.have..],
            None => &mut buffer[..],
        };
        let mut length = match recv(&self.socket, into, RecvFlags::DONTWAIT) {
            Ok((length, _)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Taken::Nothing,
            Err(_) if is_stream => 0,
            Err(_) => {
                self.complaints(refused);
                return Taken::Nothing;
            }
        };
        let at = Monotonic::now();
        let mut message = &buffer[..length];
        if let Some(partial) = &mut self.stream {
            if length == 0 {
                self.is_over = true;
                return Taken::End;
            }
            partial.have += length;
            if partial.have < partial.octets.len() {
                return Taken::Nothing;
            }
            (length, message) = (std::mem::take(&mut partial.have), &partial.octets);
        }
        let reading = match &mut self.form {
            Form::Native(wire) => wire.identify(message, behind),
            Form::Authenticated(wire) => wire.identify(message, behind),
            Form::Echo(wire) => wire.identify(message, behind),
            Form::Packet(wire) => wire.identify(message, behind),
        };
        match reading {
            Reading::Reply(seq) if self.expected.is_some_and(|expected| expected != length) => {
                Taken::Corrupt(Some(seq))
            }
            Reading::Reply(seq) => {
                // TCP retransmits what is lost: counts say nothing there.
                let counts = matches!(self.form, Form::Native(_) | Form::Authenticated(_)) && !is_stream;
                let count = Header::read(message).filter(|_| counts).map(|header| header.word);
                Taken::Reply { seq, at, count }
            }
            Reading::Corrupt(seq) => Taken::Corrupt(seq),
            Reading::Refused(seq) => Taken::Refused(seq),
            Reading::Stray => Taken::Nothing,
        }
    }

    /// Messages that the kernel has dropped since the last call; absent where it does not say.
    pub fn dropped(&mut self) -> Option<u64> {
        let all = option::dropped(self.socket.as_fd()).ok()?;
        let before = std::mem::replace(&mut self.dropped, all);
        Some(u64::from(all.wrapping_sub(before)))
    }
}

/// Errors that a datagram's send has of nothing but what an earlier one met.
fn is_of_others(errno: Errno) -> bool {
    matches!(errno, Errno::CONNREFUSED | Errno::PROTO | Errno::NOPROTOOPT)
}

/// TCP handshakes, with a connection of its own each.
#[derive(Debug)]
pub struct Connecting {
    peer: SocketAddr,
    /// The socket of the next one: opening it is not timed.
    spare: Option<Socket>,
    under_way: Vec<(u64, Socket)>,
}

impl Connecting {
    /// Handshakes with `peer`.
    ///
    /// # Errors
    /// A socket that cannot be had, or no route: our own kernel would refuse each of them, as if a host had answered.
    pub fn new(peer: SocketAddr) -> Result<Self, EndpointError> {
        socket::udp(peer, &SocketOptions::default())?;
        let spare = Some(fresh(peer)?);
        Ok(Self { peer, spare, under_way: Vec::new() })
    }

    /// Begins handshake `seq`; `watched` reports its end. Returns its start, and its end where it came at once.
    /// Handshakes past their timeout are dropped.
    pub fn begin(
        &mut self,
        seq: u64,
        (events, data): (BorrowedFd<'_>, EventData),
        waits: &mut dyn FnMut(u64) -> bool,
    ) -> (Instant, Result<Option<Instant>, End>) {
        let unsent = End::Unsent(Fate::SendFailed);
        let Some(socket) = self.spare.take().or_else(|| fresh(self.peer).ok()) else {
            return (Monotonic::now(), Err(unsent));
        };
        let at = Monotonic::now();
        let begun = match socket.connect(&SockAddr::from(self.peer)).map_err(|error| Errno::from_io_error(&error)) {
            Ok(()) => Ok(Some(Monotonic::now())),
            Err(Some(Errno::INPROGRESS)) => match epoll::add(events, &socket, data, EventFlags::OUT | EventFlags::ET) {
                Ok(()) => {
                    self.under_way.push((seq, socket));
                    Ok(None)
                }
                Err(_) => Err(unsent),
            },
            Err(Some(Errno::CONNREFUSED | Errno::CONNRESET)) => Err(End::Refused),
            Err(_) => Err(unsent),
        };
        self.under_way.retain(|(seq, _)| waits(*seq));
        self.spare = fresh(self.peer).ok();
        (at, begun)
    }

    /// Something became of the handshake with this number, of which the lower 32 bits are said: which one, when, and what. No end at all: its kernel has
    /// given up.
    pub fn take(&mut self, name: u32) -> Option<(u64, Instant, Result<(), Option<End>>)> {
        let at = Monotonic::now();
        let place = self.under_way.iter().position(|(seq, _)| *seq as u32 == name)?;
        let (seq, socket) = self.under_way.swap_remove(place);
        let error = socket.take_error().ok().flatten().map(|error| Errno::from_io_error(&error));
        let ended = match error {
            None => Ok(()),
            Some(Some(Errno::TIMEDOUT)) => Err(None),
            Some(_) => Err(Some(End::Refused)),
        };
        Some((seq, at, ended))
    }
}

/// A socket that connects without waiting and is closed by a reset, so that no port stays in `TIME_WAIT`.
fn fresh(peer: SocketAddr) -> Result<Socket, EndpointError> {
    let socket = socket::tcp(peer, &SocketOptions::default())?;
    let set = socket.set_linger(Some(Duration::ZERO)).and_then(|()| socket.set_nonblocking(true));
    set.map_err(|cause| EndpointError::new(crate::error::Step::Set("linger"), peer, cause))?;
    Ok(socket)
}

/// Returns true for an ICMP echo over a bare socket: its replies have no header of IP in front.
pub fn is_bare(echo: &Echo, is_raw: bool) -> bool {
    !is_raw || echo.family() == Family::V6
}
