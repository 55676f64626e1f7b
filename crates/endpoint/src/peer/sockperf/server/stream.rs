//! Connections: accepted by one thread, and each that has said something served by a thread.
//!
//! Answers to messages that one read delivered together leave together, in one call; a client that sends one message at
//! a time has each answer as soon as it can be.

use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use measure::served::{RefusalReason, SessionEnd};
use measure::unit::{Instant, Nanos};
use protocol::sockperf::message::Header;
use protocol::sockperf::server::Malformed;
use protocol::sockperf::stream::Framer;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Socket, TcpKeepalive};

use super::Shared;
use super::bound::{self, Bound};
use super::event::Event;
use super::tally::Count;
use crate::clock::Monotonic;
use crate::pace::Courtesy;
use crate::serve::TurnedAway;
use crate::serve::book::Session;
use crate::serve::visits::Visit;
use crate::thread::{cpu_for, settle};

/// Silence of a client after which a spinning thread waits in the kernel until it speaks again: a client that does
/// nothing costs no CPU.
const SILENT: Nanos = Nanos::secs(1);
/// A silent connection is probed after this, so often, this far apart: who has vanished holds no place for long.
const PROBED: (Duration, u32, Duration) = (Duration::from_mins(1), 6, Duration::from_secs(10));

/// Has connections to all `listeners` served until it is to stop, and those that came before.
pub(super) fn accept(listeners: &[&Bound], shared: &Arc<Shared>) {
    let sockets = || listeners.iter().map(|listener| &listener.socket);
    let mut job = |number: usize, socket, from| job(socket, from, listeners[number].address(), shared);
    let mut turned_away = |from, why: TurnedAway| shared.tally.turn_away(from, || why.to_string());
    let hall = &shared.hall;
    let accepted = hall.serve(sockets(), &hall.stop, &mut job, &mut turned_away);
    debug_assert!(accepted.is_ok(), "the event was there when the server was bound");
    hall.serve_rest(sockets(), job, turned_away);
}

/// Returns the work for a client that came to `at`; `None` where it has gone again.
fn job(
    socket: Arc<Socket>,
    from: SocketAddr,
    at: SocketAddr,
    shared: &Arc<Shared>,
) -> Option<impl FnOnce(&Visit) + Send + 'static> {
    prepare(&socket, shared).ok()?;
    let entered = Entered { index: shared.open.enter(&socket), shared: Arc::clone(shared) };
    Some(move |visit: &Visit| {
        let shared = &*entered.shared;
        // The CPU was checked when the server began.
        let _pinned = settle(cpu_for(&shared.settings.cpus, entered.index as u32), "server");
        let stranger = Some(visit);
        let mut connection = Connection {
            socket: &socket,
            from,
            at,
            shared,
            stranger,
            session: None,
            moved: Moved::default(),
            count: Count::default(),
        };
        connection.serve();
        shared.tally.add(connection.count);
        shared.tally.connection_served();
    })
}

/// A connection among those that are open, until it goes.
struct Entered {
    index: u64,
    shared: Arc<Shared>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.shared.open.leave(self.index);
    }
}

fn prepare(socket: &Socket, shared: &Shared) -> std::io::Result<()> {
    socket.set_tcp_nodelay(shared.settings.options.nodelay)?;
    let (idle, probes, between) = PROBED;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle).with_retries(probes).with_interval(between))?;
    if shared.settings.options.buffer_bytes.is_some()
        && let Some(buffers) = bound::buffers(socket)
    {
        shared.tally.tell(&Event::Buffers(buffers));
    }
    Ok(())
}

struct Connection<'a> {
    socket: &'a Socket,
    from: SocketAddr,
    at: SocketAddr,
    shared: &'a Shared,
    /// Its place, until it has sent a message.
    stranger: Option<&'a Visit>,
    /// In the book, from then on.
    session: Option<Session>,
    moved: Moved,
    count: Count,
}

/// Counts of one connection, messages and octets.
#[derive(Default)]
struct Moved {
    answered: u64,
    received: u64,
    sent: u64,
}

/// Cause of a connection's end.
enum Over {
    /// The client ended it, or is gone, or the server stops.
    Ended,
    /// The client sent octets that are no message.
    Malformed(Malformed),
}

impl Connection<'_> {
    fn serve(&mut self) {
        let mut framer = Framer::new(self.shared.settings.rules.largest);
        let mut courtesy = Courtesy::default();
        let over = loop {
            courtesy.turn();
            if let Err(over) = self.take(&mut framer).and_then(|()| self.answer(&mut framer)) {
                break over;
            }
            if self.shared.given_up() {
                break Over::Ended;
            }
        };
        if let Over::Malformed(what) = over {
            self.count.malformed += 1;
            let (at, from) = (self.at, Some(self.from));
            self.shared.tally.complain(|| Event::Malformed { at, tcp: true, from, what });
            if self.session.is_none() {
                self.shared.settings.door.book.refuse(from, RefusalReason::Protocol, &what);
            }
            self.close_book(SessionEnd::Fault);
        } else {
            self.close_book(if self.shared.hall.stop.requested() { SessionEnd::Stopping } else { SessionEnd::Closed });
        }
        // Octets that it has sent and that were not read make the kernel reset the connection once it is closed: this
        // way its client first receives the answers and the end.
        let _closed = self.socket.shutdown(Shutdown::Write);
    }

    fn close_book(&mut self, how: SessionEnd) {
        if let Some(session) = self.session.take() {
            session.moved(self.moved.received, self.moved.sent);
            session.answered(self.moved.answered);
            session.ends(how);
        }
    }

    /// Reads what is there, or waits for it.
    #[inline]
    fn take(&mut self, framer: &mut Framer) -> Result<(), Over> {
        let first = if self.shared.settings.spin { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        let room = framer.room();
        let taken = match recv(self.socket.as_fd(), &mut *room, first) {
            Ok((_, length)) => length,
            Err(errno) => self.take_on(room, errno)?,
        };
        if taken == 0 {
            return Err(Over::Ended);
        }
        self.moved.received += taken as u64;
        framer.filled(taken);
        Ok(())
    }

    /// The wait beyond a first try that failed by `errno`.
    #[inline(never)]
    fn take_on(&self, room: &mut [u8], mut errno: Errno) -> Result<usize, Over> {
        let mut patience = Patience::default();
        loop {
            let flags = match errno {
                Errno::AGAIN if patience.lasts() => RecvFlags::DONTWAIT,
                Errno::AGAIN | Errno::INTR => RecvFlags::empty(),
                _ => return Err(Over::Ended),
            };
            match recv(self.socket.as_fd(), &mut *room, flags) {
                Ok((_, length)) => return Ok(length),
                Err(again) => errno = again,
            }
        }
    }

    /// Handles every message that is whole.
    #[inline]
    fn answer(&mut self, framer: &mut Framer) -> Result<(), Over> {
        let Self { socket, from, shared, stranger, session, moved, count, .. } = self;
        let watch = shared.tally.watch.as_ref();
        loop {
            let served = match watch {
                None => framer.serve(&shared.settings.rules, |_| {}),
                Some(watch) => {
                    framer.serve(&shared.settings.rules, |header: &Header| shared.tally.see(watch, Some(*from), header))
                }
            };
            let Some(batch) = served.map_err(|error| Over::Malformed(error.into()))? else { return Ok(()) };
            count.messages += batch.counted;
            if batch.counted > 0
                && let Some(visit) = stranger.take()
            {
                visit.known();
                *session = Some(shared.settings.door.book.begin(*from, false, || "messages".to_owned()));
            }
            (moved.answered, moved.sent) = (moved.answered + batch.answered, moved.sent + batch.answers.len() as u64);
            if let Some(watch) = watch {
                shared.tally.more(watch, batch.counted);
            }
            if !batch.answers.is_empty() {
                send_all(socket, batch.answers)?;
            }
        }
    }
}

/// Sends all of it; a client that does not read is waited for, by its own thread.
#[inline]
fn send_all(socket: &Socket, mut rest: &[u8]) -> Result<(), Over> {
    while !rest.is_empty() {
        match send(socket.as_fd(), rest, SendFlags::NOSIGNAL) {
            Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return Err(Over::Ended),
        }
    }
    Ok(())
}

/// Longest time for which a thread spins without a message. The clock is read now and then: it costs a fifth of an
/// empty look.
#[derive(Default)]
struct Patience {
    turns: u32,
    courtesy: Courtesy,
    until: Option<Instant>,
}

impl Patience {
    #[inline]
    fn lasts(&mut self) -> bool {
        self.turns = self.turns.wrapping_add(1);
        self.courtesy.turn();
        std::hint::spin_loop();
        if !self.turns.is_multiple_of(64) {
            return true;
        }
        let now = Monotonic::now();
        now < *self.until.get_or_insert_with(|| now.after(SILENT))
    }
}
