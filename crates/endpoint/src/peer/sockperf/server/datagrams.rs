//! Datagrams: received, handled, answered, by one thread for one socket or several.
//!
//! Between a message and its answer nothing is done but that: no clock is read, no lock taken, nothing allocated.

use std::net::SocketAddr;

use measure::unit::Nanos;
use protocol::sockperf::message::{Flags, Header, LARGEST_DATAGRAM};
use protocol::sockperf::server::{Decision, Malformed};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use rustix::net::{SendFlags, sendto};

use super::Shared;
use super::bound::{Bound, Kind};
use super::event::Event;
use super::tally::Count;
use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::socket::GLANCE;
use crate::socket::envelope::Envelope;

/// Any datagram fits.
const BUFFER: usize = 1 << 16;
/// Of one socket so many datagrams are handled before the next has its turn.
const TURN: u32 = 64;
/// Once it is to stop, so many datagrams that have come already are still handled of each socket.
const LAST: u32 = 1 << 16;
/// Sockets that a wait tells of at once.
const READY: usize = 64;

/// Serves until it is to stop, then what has come by then.
pub(super) fn serve(sockets: &[&Bound], shared: &Shared) {
    let mut server = Server::new(shared);
    match sockets {
        _ if shared.settings.spin => server.spin(sockets),
        [one] => server.block(one),
        several => server.wait(several),
    }
    for socket in sockets {
        server.rest(socket);
    }
    shared.tally.add(server.count);
}

/// Two warm-ups to each group of `socket`, as sockperf sends them when it starts: what the path has to learn is learnt.
pub(super) fn warm_up(socket: &Bound, shared: &Shared) {
    let mut message = vec![0; LARGEST_DATAGRAM as usize];
    Header { sequence: 0, flags: Flags::WARMUP, length: LARGEST_DATAGRAM }.write(&mut message);
    for group in socket.listens.iter().filter(|address| address.ip().is_multicast()) {
        for _ in 0..2 {
            if let Err(cause) = sendto(socket.fd(), &message, SendFlags::NOSIGNAL, group) {
                shared.tally.complain(|| Event::Unsent { to: Some(*group), cause: cause.into() });
            }
        }
    }
}

struct Server<'a> {
    shared: &'a Shared,
    buffer: Vec<u8>,
    envelope: Envelope,
    count: Count,
}

/// What became of one look at a socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Datagram,
    Nothing,
}

impl<'a> Server<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, buffer: vec![0; BUFFER], envelope: Envelope::default(), count: Count::default() }
    }

    fn block(&mut self, socket: &Bound) {
        while !self.shared.stop.requested() {
            self.next(socket, 0);
        }
    }

    fn spin(&mut self, sockets: &[&Bound]) {
        while !self.shared.stop.requested() {
            for socket in sockets {
                if self.next(socket, libc::MSG_DONTWAIT) == Look::Nothing {
                    std::hint::spin_loop();
                }
            }
        }
    }

    fn wait(&mut self, sockets: &[&Bound]) {
        let Ok(set) = interest(sockets) else {
            // Then they are looked at in turn, with a rest in between.
            return self.take_turns(sockets);
        };
        let glance = Timespec { tv_sec: 0, tv_nsec: GLANCE.0 as i64 };
        let mut ready = Vec::with_capacity(READY);
        while !self.shared.stop.requested() {
            ready.clear();
            // An interruption ends the wait early, which is allowed for.
            let _woken = epoll::wait(&set, spare_capacity(&mut ready), Some(&glance));
            for event in &ready {
                if let Some(socket) = sockets.get(event.data.u64() as usize) {
                    self.turn(socket, TURN);
                }
            }
        }
    }

    fn take_turns(&mut self, sockets: &[&Bound]) {
        while !self.shared.stop.requested() {
            for socket in sockets {
                self.turn(socket, TURN);
            }
            pace::sleep_until(Monotonic::now().after(Nanos::millis(1)));
        }
    }

    fn rest(&mut self, socket: &Bound) {
        self.turn(socket, LAST);
    }

    /// What is there already, but no more than `most`.
    #[inline]
    fn turn(&mut self, socket: &Bound, most: u32) {
        for _ in 0..most {
            if self.next(socket, libc::MSG_DONTWAIT) == Look::Nothing {
                break;
            }
        }
    }

    /// Takes one datagram and answers what is in it.
    #[inline]
    fn next(&mut self, socket: &Bound, flags: libc::c_int) -> Look {
        match self.envelope.receive(socket.fd(), &mut self.buffer, flags) {
            Ok(length) => {
                self.handle(socket, length);
                Look::Datagram
            }
            Err(Errno::AGAIN | Errno::INTR) => Look::Nothing,
            Err(_) => {
                shortage();
                Look::Nothing
            }
        }
    }

    #[inline]
    fn handle(&mut self, socket: &Bound, length: usize) {
        let Self { shared, buffer, envelope, count } = self;
        let mut messages = 0;
        for item in shared.settings.rules.datagram(&mut buffer[..length]) {
            let handled = match item {
                Ok(handled) => handled,
                Err(what) => {
                    count.malformed += 1;
                    malformed(shared, socket, envelope, what);
                    break;
                }
            };
            match handled.decision {
                Decision::Ignore => {}
                Decision::Count => messages += 1,
                Decision::Answer => {
                    messages += 1;
                    if let Err(errno) = answer(socket, envelope, handled.bytes) {
                        count.unsent += 1;
                        unsent(shared, envelope, errno);
                    }
                }
            }
            if let Some(watch) = &shared.tally.watch {
                shared.tally.see(watch, envelope.from(), &handled.header);
            }
        }
        count.messages += messages;
        if let Some(watch) = &shared.tally.watch {
            shared.tally.more(watch, messages);
        }
    }
}

#[inline]
fn answer(socket: &Bound, envelope: &mut Envelope, bytes: &[u8]) -> Result<(), Errno> {
    if socket.kind == Kind::Group {
        return answer_group(socket, envelope, bytes);
    }
    envelope.answer(socket.fd(), bytes)
}

/// To the group, where all its members hear it, at the port that the request came from.
fn answer_group(socket: &Bound, envelope: &Envelope, bytes: &[u8]) -> Result<(), Errno> {
    let mut to: SocketAddr = socket.address();
    to.set_port(envelope.from().map_or(0, |from| from.port()));
    sendto(socket.fd(), bytes, SendFlags::NOSIGNAL, &to).map(drop)
}

#[cold]
fn malformed(shared: &Shared, socket: &Bound, envelope: &Envelope, what: Malformed) {
    shared.tally.complain(|| Event::Malformed { at: socket.address(), tcp: false, from: envelope.from(), what });
}

#[cold]
fn unsent(shared: &Shared, envelope: &Envelope, errno: Errno) {
    shared.tally.complain(|| Event::Unsent { to: envelope.from(), cause: errno.into() });
}

/// No memory, mostly: waited out, instead of asking again and again.
#[cold]
fn shortage() {
    pace::sleep_until(Monotonic::now().after(super::SHORTAGE));
}

fn interest(sockets: &[&Bound]) -> Result<rustix::fd::OwnedFd, EndpointError> {
    let fail = |cause: Errno| EndpointError::new(Step::OpenSocket("epoll"), "this host", cause);
    let set = epoll::create(CreateFlags::CLOEXEC).map_err(fail)?;
    for (index, socket) in sockets.iter().enumerate() {
        epoll::add(&set, socket.fd(), EventData::new_u64(index as u64), EventFlags::IN).map_err(fail)?;
    }
    Ok(set)
}
