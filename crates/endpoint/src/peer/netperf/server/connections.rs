//! A connection for each transaction: accepted, answered where there is a response, and closed by us first, so that
//! TCP's state of it (`TIME_WAIT`) is kept here and not at the client, whose ports it would use up.

use std::os::fd::{AsFd, OwnedFd};

use measure::unit::{Instant, Nanos};
use protocol::netperf::ask::Length;
use protocol::netperf::data::PATTERN;
use rustix::io::Errno as System;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send};

use super::course::Course;
use super::data::{Errno, Prepared};
use super::test::{Done, Setting};
use crate::clock::Monotonic;
use crate::link::ring::{Ring, Shape};
use crate::link::stream::PIECE;
use crate::pace;
use crate::stop::GLANCE;

/// Time for a client that connects and then neither asks nor takes its answer: the next one waits behind it.
const STALLED: Nanos = Nanos::secs(4);

/// Serves connections until the test is over.
pub fn serve(
    prepared: &Prepared,
    setting: &Setting<'_>,
    course: &Course<'_>,
    begin: &mut dyn FnMut(),
) -> Result<Done, Errno> {
    let ask = setting.ask;
    let sizes = if ask.server_receives { (prepared.receives.size, prepared.sends.size) } else { (0, 0) };
    let mut piece = Ring::filled(Shape::of(PIECE.min(sizes.0.max(sizes.1))), PATTERN);
    let mut server = Server { sizes, piece: piece.turn(), done: Done::default() };
    let most = if let Length::Count(count) = ask.length { count } else { u64::MAX };
    while server.done.transactions < most && !setting.stop.requested() {
        match accept_with(&prepared.socket, SocketFlags::CLOEXEC) {
            Ok(connection) => {
                if course.began().is_none() {
                    begin();
                    course.begin();
                }
                server.serve(&connection, setting);
            }
            Err(System::AGAIN) => {
                if course.over(server.done.transactions).is_some() {
                    break;
                }
            }
            // The client has gone again; or a shortage, which is gone when others' connections are.
            Err(System::INTR | System::CONNABORTED | System::PROTO) => {}
            Err(System::NFILE | System::MFILE | System::NOBUFS | System::NOMEM) => {
                pace::sleep_until(Monotonic::now().after(GLANCE));
            }
            Err(errno) => return Err(Errno(errno.raw_os_error())),
        }
    }
    if setting.stop.requested() {
        course.over(server.done.transactions);
    }
    server.done.ended = course.why().map(|_| course.active());
    Ok(server.done)
}

struct Server<'a> {
    /// Bytes of a request and of a response; both 0 where nothing is sent.
    sizes: (usize, usize),
    /// Buffer for longer messages, which are received and sent piece by piece.
    piece: &'a mut [u8],
    done: Done,
}

impl Server<'_> {
    /// One connection. One that breaks off is no transaction.
    #[inline]
    fn serve(&mut self, connection: &OwnedFd, setting: &Setting<'_>) {
        if self.sizes.0 > 0 && !(self.take_request(connection, setting) && self.give_response(connection, setting)) {
            return;
        }
        self.done.transactions += 1;
    }

    #[inline]
    fn take_request(&mut self, connection: &OwnedFd, setting: &Setting<'_>) -> bool {
        let mut missing = self.sizes.0;
        let mut patience = Patience::default();
        while missing > 0 {
            let room = missing.min(self.piece.len());
            match recv(connection.as_fd(), &mut self.piece[..room], RecvFlags::empty()) {
                Ok((count @ 1.., _)) => {
                    missing -= count;
                    self.done.received.bytes += count as u64;
                    self.done.received.calls += 1;
                }
                Err(System::AGAIN | System::INTR) if patience.goes_on(setting) => {}
                Ok((0, _)) | Err(_) => return false,
            }
        }
        true
    }

    #[inline]
    fn give_response(&mut self, connection: &OwnedFd, setting: &Setting<'_>) -> bool {
        let mut missing = self.sizes.1;
        let mut patience = Patience::default();
        while missing > 0 {
            let length = missing.min(self.piece.len());
            match send(connection.as_fd(), &self.piece[..length], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    missing -= count;
                    self.done.sent.bytes += count as u64;
                    self.done.sent.calls += 1;
                }
                Err(System::AGAIN | System::INTR) if patience.goes_on(setting) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// End of the wait for one connection; the clock is read only where there is a wait.
#[derive(Default)]
struct Patience(Option<Instant>);

impl Patience {
    #[cold]
    fn goes_on(&mut self, setting: &Setting<'_>) -> bool {
        let now = Monotonic::now();
        now < *self.0.get_or_insert_with(|| now.after(STALLED)) && !setting.stop.requested()
    }
}
