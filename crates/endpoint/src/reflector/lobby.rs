//! The lobby: connections that wait for their client's next message, all of them by one thread and one set of events.
//!
//! A connection that says nothing costs no thread and no timer: it stands here until something arrives or its time is
//! up. Each is one [`Guest`]; work longer than a few octets (a session opened or reported on, data) is done by a thread
//! of the pool, which brings the guest back.
//!
//! Connections without a session yet are strangers. Their number is limited; beyond it the oldest of the source that
//! holds most gives way, by address, and by prefix where addresses cost nothing (IPv6). So a client that only connects
//! keeps no other out, however many connections it makes, and from however many addresses.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::unit::{Instant, Nanos};
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use super::Shared;
use super::control::{Guest, Turn};
use crate::clock::Monotonic;
use crate::serve::sources::Sources;
use crate::thread::CpuTime;

/// Strangers at once. A client proves itself within two round trips, so that it passes even where a thousand come a second.
pub const STRANGERS: usize = 4_096;
/// Grain of deadlines: those within one of these are handled together.
const GRAIN: Nanos = Nanos::millis(100);
/// Events taken by one call.
const TURN: usize = 64;
/// Tokens of events: that of the end, and the bell of an earlier time.
const STOP: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// All that wait.
#[derive(Debug)]
pub struct Lobby {
    events: OwnedFd,
    bell: OwnedFd,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    guests: HashMap<u64, Waiting>,
    due: BTreeSet<(Instant, u64)>,
    /// By when the thread looks again; never, where it waits for events alone.
    look: Option<Instant>,
    /// Those that have shown nothing yet.
    strangers: Sources,
    /// Nobody is kept any more.
    closed: bool,
}

#[derive(Debug)]
struct Waiting {
    guest: Box<Guest>,
    due: Instant,
}

impl Lobby {
    /// An empty one.
    ///
    /// # Errors
    /// A system that has no descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&events, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self { events, bell, book: Mutex::default() })
    }

    /// Keeps a connection until it has something to say. Where there is no room for another stranger one gives way.
    pub fn keep(&self, guest: Box<Guest>) {
        let gone = {
            let mut book = self.book();
            if book.closed {
                drop(book);
                return guest.dismiss();
            }
            let gone =
                (guest.is_stranger() && book.strangers.count() >= STRANGERS).then(|| book.strangers.first_to_go());
            let gone = gone.flatten().and_then(|number| book.take(number));
            self.insert(&mut book, guest);
            gone
        };
        if let Some(gone) = gone {
            gone.turn_away();
        }
    }

    /// Under the lock: an event of a connection that is not in the book yet would be lost.
    fn insert(&self, book: &mut Book, guest: Box<Guest>) {
        let number = book.next;
        let mut flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT;
        if guest.has_unwritten() {
            flags |= EventFlags::OUT;
        }
        let socket = Arc::clone(&guest.connection);
        // It was taken out of the set when it was taken out of the book.
        let added = epoll::add(&self.events, &*socket, EventData::new_u64(number), flags);
        if added.is_err() {
            // Out of memory for one more: it is closed, which is all that can be signalled to its client.
            return;
        }
        book.next += 1;
        let due = guest.due(Monotonic::now());
        if guest.is_stranger() {
            book.strangers.add(guest.source(), number);
        }
        book.due.insert((due, number));
        book.guests.insert(number, Waiting { guest, due });
        if book.look.is_none_or(|look| rounded(due) < look) {
            book.look = Some(rounded(due));
            // Its count is taken as a whole, and cannot come near its bound.
            let _rung = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attends to those that wait until the end; then informs them.
    pub fn run(&self, shared: &Arc<Shared>) -> std::io::Result<()> {
        let stop = shared.hall.stop.event()?;
        epoll::add(&self.events, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        while !shared.hall.stop.requested() {
            let look = self.next_look();
            let mut space: Vec<Event> = Vec::with_capacity(TURN);
            match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut space), timeout(look).as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &space {
                match event.data.u64() {
                    STOP => {}
                    BELL => drop(rustix::io::read(&self.bell, &mut [0_u8; 8])),
                    number => self.attend(number, shared),
                }
            }
            let now = Monotonic::now();
            while let Some(number) = self.overdue(now) {
                self.attend(number, shared);
            }
        }
        let waiting = {
            let mut book = self.book();
            book.closed = true;
            std::mem::take(&mut book.guests)
        };
        for waiting in waiting.into_values() {
            waiting.guest.dismiss();
        }
        Ok(())
    }

    fn next_look(&self) -> Option<Instant> {
        let mut book = self.book();
        book.look = book.due.first().map(|(due, _)| rounded(*due));
        book.look
    }

    fn overdue(&self, now: Instant) -> Option<u64> {
        self.book().due.first().filter(|(due, _)| *due <= now).map(|(_, number)| *number)
    }

    /// One guest's turn: here where it is short, by a thread of the pool where it is not.
    fn attend(&self, number: u64, shared: &Arc<Shared>) {
        // The lock is not held while it has its turn.
        let Some(mut guest) = self.out(number) else { return };
        match guest.turn() {
            Turn::Wait => self.keep(guest),
            Turn::Over => {}
            Turn::Work(work) => {
                // Without a thread the connection is closed, which is all that can be signalled to the client.
                let _served = shared.hall.pool.serve(move || guest.work(work, CpuTime::own()));
            }
        }
    }

    fn out(&self, number: u64) -> Option<Box<Guest>> {
        let guest = self.book().take(number)?;
        let _out = epoll::delete(&self.events, &*guest.connection);
        Some(guest)
    }
}

impl Book {
    fn take(&mut self, number: u64) -> Option<Box<Guest>> {
        let Waiting { guest, due } = self.guests.remove(&number)?;
        self.due.remove(&(due, number));
        self.strangers.remove(guest.source(), number);
        Some(guest)
    }
}

/// The end of the grain that `due` lies in.
fn rounded(due: Instant) -> Instant {
    Instant(due.0.div_ceil(GRAIN.0).saturating_mul(GRAIN.0))
}

fn timeout(until: Option<Instant>) -> Option<Timespec> {
    let until = until.filter(|until| *until != Instant::NEVER)?;
    let left = until.since(Monotonic::now()).unwrap_or(Nanos::ZERO).0;
    Some(Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 })
}
