//! Requests and responses over one connection, or with one client by datagrams.

use std::net::SocketAddr;

use measure::method::{Pacing, Waiting};
use measure::unit::{Instant, Nanos};
use protocol::link::{Fault, Link};
use protocol::netperf::answer::Traffic;
use protocol::netperf::ask::{Length, Pacing as Paced};
use protocol::netperf::data::PATTERN;
use rustix::io::Errno as System;
use rustix::net::{RecvFlags, SocketAddrAny, SocketFlags, accept_with, recvfrom};
use socket2::{SockAddr, Socket};

use super::course::Course;
use super::data::{Errno, Prepared};
use super::test::{Done, Setting};
use crate::clock::Monotonic;
use crate::engine::pacing::Pacer;
use crate::link::datagram::Datagram;
use crate::link::ring::{Ring, Shape};
use crate::link::stream::{PIECE, Stream};
use crate::pace;
use crate::stop::GLANCE;

/// A client that has all its responses closes the connection; it is waited for this long, so that what it sent too much
/// does not reset the connection under the last of them.
const LINGER: Nanos = Nanos::secs(2);

/// Answers one TCP connection until the client closes it, or has all it asked for.
pub fn connection(
    prepared: Prepared,
    setting: &Setting<'_>,
    course: &Course<'_>,
    begin: &mut dyn FnMut(),
) -> Result<Done, Errno> {
    let Some(socket) = accept(&prepared.socket, course)? else { return Ok(Done::default()) };
    // No further connection is expected: the kernel refuses others.
    let Prepared { socket: listener, sends, receives, memory: _memory, ready } = prepared;
    drop(listener);
    begin();
    course.begin();
    let lengths = (sends.size, receives.size);
    let mut link = Stream::new(socket, Waiting::Block, lengths, false, setting.stop.clone());
    let mut answering = Answering::new(setting, course, ready.pacing, lengths);
    let last = answering.asked_for();
    answering.run(&mut link, last);
    let mut done = answering.done();
    let kept = link.socket().try_clone()?;
    if let Length::Count(_) = setting.ask.length {
        drain(link.socket(), setting);
    }
    done.socket = Some(kept);
    Ok(done)
}

/// Answers one client's datagrams until an empty one comes, or none any more.
pub fn datagrams(
    prepared: Prepared,
    setting: &Setting<'_>,
    course: &Course<'_>,
    begin: &mut dyn FnMut(),
) -> Result<Done, Errno> {
    let lengthens = prepared.sends.size > prepared.receives.size;
    // A client that forges a source has no more sent to its owner than came.
    let may_ask = |from: SocketAddr| !lengthens || from.ip().to_canonical() == setting.from.ip().to_canonical();
    let Some(client) = first_sender(&prepared.socket, setting, course, &may_ask)? else { return Ok(Done::default()) };
    begin();
    course.begin();
    // Datagrams of others are not answered from here on, and each answer is spared a look for its way.
    prepared.socket.connect(&SockAddr::from(client))?;
    let Prepared { socket, sends, receives, memory: _memory, ready } = prepared;
    let mut link = Datagram::new(socket, Waiting::Block, setting.stop.clone());
    let mut answering = Answering::new(setting, course, ready.pacing, (sends.size, receives.size));
    // By count too it is the client that ends it: where a response gets lost, it asks once more.
    answering.run(&mut link, u64::MAX);
    Ok(answering.done())
}

/// The first connection; `None` where none comes.
pub fn accept(listener: &Socket, course: &Course<'_>) -> Result<Option<Socket>, Errno> {
    loop {
        match accept_with(listener, SocketFlags::CLOEXEC) {
            Ok(connection) => return Ok(Some(connection.into())),
            Err(System::AGAIN) => {
                if course.over(0).is_some() {
                    return Ok(None);
                }
            }
            Err(System::INTR | System::CONNABORTED | System::PROTO) => {}
            Err(errno) => return Err(Errno(errno.raw_os_error())),
        }
    }
}

/// The sender of the first datagram of those that `may` send, which stays to be read; `None` where none comes, or only the end.
///
/// An empty datagram from another port than the client's is the end of an earlier test, which came late to a port that was
/// asked for twice.
pub fn first_sender(
    socket: &Socket,
    setting: &Setting<'_>,
    course: &Course<'_>,
    may: &dyn Fn(SocketAddr) -> bool,
) -> Result<Option<SocketAddr>, Errno> {
    loop {
        let mut octet = [0_u8; 1];
        match recvfrom(socket, &mut octet[..], RecvFlags::PEEK) {
            Ok((count, _, from)) => {
                let from = from.and_then(|from: SocketAddrAny| SocketAddr::try_from(from).ok());
                if let Some(from) = from.filter(|from| count > 0 && may(*from)) {
                    return Ok(Some(from));
                }
                let _taken = recvfrom(socket, &mut octet[..], RecvFlags::DONTWAIT);
                let asked = setting.ask.client_port;
                if count == 0 && from.is_some_and(|from| asked == 0 || from.port() == asked) {
                    return Ok(None);
                }
            }
            Err(System::AGAIN) => {
                if course.over(0).is_some() {
                    return Ok(None);
                }
            }
            Err(System::INTR) => {}
            Err(errno) => return Err(Errno(errno.raw_os_error())),
        }
    }
}

/// The loop: a request whole, a response in one call, nothing else.
struct Answering<'a> {
    setting: &'a Setting<'a>,
    course: &'a Course<'a>,
    request: Vec<u8>,
    response: Ring,
    lengths: (usize, usize),
    pace: Option<Pace>,
    count: u64,
    ended: Option<Instant>,
}

impl<'a> Answering<'a> {
    fn new(setting: &'a Setting<'a>, course: &'a Course<'a>, pacing: Option<Paced>, lengths: (usize, usize)) -> Self {
        let (response, request) = lengths;
        let pace = pacing.map(|pacing| Pace::new(pacing, Monotonic::now()));
        let (request, response) = (vec![0; request.min(PIECE)], Ring::filled(Shape::of(response.min(PIECE)), PATTERN));
        Self { setting, course, request, response, lengths, pace, count: 0, ended: None }
    }

    /// `last`: the response with which the test is over; else it is the client that ends it.
    fn run<L: Link>(&mut self, link: &mut L, last: u64) {
        while self.count < last && !self.setting.stop.requested() {
            match link.receive(&mut self.request, Instant(0)) {
                Ok(Some(0)) => return,
                Ok(Some(_)) => {}
                Ok(None) => {
                    if self.course.over(self.count).is_some() || self.count >= self.asked_for() {
                        self.ended = Some(self.course.active());
                        return;
                    }
                    continue;
                }
                Err(fault) if fault.ends_the_run() => return,
                // The client's socket is closed; its end will come, or silence.
                Err(_) => continue,
            }
            if let Some(pace) = &mut self.pace {
                pace.keep(self.setting);
            }
            match link.send(self.response.turn()) {
                Ok(()) => self.count += 1,
                Err(fault) if fault.ends_the_run() && fault != Fault::TooLong => return,
                Err(_) => {}
            }
        }
        let _stopped = self.setting.stop.requested() && self.course.over(self.count).is_some();
    }

    /// Transactions after which the client has what it wants.
    fn asked_for(&self) -> u64 {
        if let Length::Count(count) = self.setting.ask.length { count } else { u64::MAX }
    }

    fn done(self) -> Done {
        let traffic = |bytes: usize| Traffic { bytes: self.count * bytes as u64, calls: self.count };
        Done {
            sent: traffic(self.lengths.0),
            received: traffic(self.lengths.1),
            transactions: self.count,
            ended: self.ended,
            socket: None,
        }
    }
}

/// A number of responses, then a wait until the interval is over; intervals count from the start, so that no lag adds
/// up.
struct Pace {
    burst: u32,
    left: u32,
    interval: Nanos,
    due: Instant,
    pacer: Pacer,
}

impl Pace {
    fn new(pacing: Paced, start: Instant) -> Self {
        let interval = Nanos::micros(u64::from(pacing.interval_us));
        Self { burst: pacing.burst, left: pacing.burst, interval, due: start, pacer: Pacer::new(Pacing::Hybrid) }
    }

    /// Waits, where the burst is over.
    fn keep(&mut self, setting: &Setting<'_>) {
        if self.left > 0 {
            self.left -= 1;
            return;
        }
        self.left = self.burst - 1;
        self.due = crate::engine::edge::following(self.due, self.interval, Monotonic::now());
        let wake = self.pacer.wake(self.due);
        while Monotonic::now() < wake && !setting.stop.requested() {
            let step = wake.min(Monotonic::now().after(GLANCE));
            pace::sleep_until(step);
            if step == wake {
                self.pacer.woke(wake, Monotonic::now());
            }
        }
        while Monotonic::now() < self.due && !setting.stop.requested() {
            std::hint::spin_loop();
        }
    }
}

/// Ends our half and reads on until the client ends its own.
fn drain(socket: &Socket, setting: &Setting<'_>) {
    // A client that is gone has closed it already.
    let _gone = socket.shutdown(std::net::Shutdown::Write);
    let give_up = Monotonic::now().after(LINGER);
    let mut rest = [0_u8; 4_096];
    while Monotonic::now() < give_up && !setting.stop.requested() {
        match rustix::net::recv(socket, &mut rest[..], RecvFlags::empty()) {
            Ok((1.., _)) | Err(System::AGAIN | System::INTR) => {}
            Ok((0, _)) | Err(_) => return,
        }
    }
}
