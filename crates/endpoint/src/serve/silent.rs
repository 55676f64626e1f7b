//! Connections that have not said their first message yet: all of them wait by events, at the thread that accepts, until so much of
//! it is there as their server wants to see, for their client's end, or for the end of our patience. Such a connection costs a socket and an entry here, but no thread and no
//! timer of its own.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use measure::unit::{Instant, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::ioctl_fionread;
use socket2::Socket;

use super::visits::Visit;
use crate::clock::Monotonic;
use crate::socket::option;

/// Events taken by one call.
const TURN: usize = 64;
/// What happens to a connection whose client has ended it, or is gone.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// How long a client may say nothing, and what all that do are waited for with.
#[derive(Debug)]
pub struct Silence {
    patience: Nanos,
    octets: u16,
    events: Arc<OwnedFd>,
}

impl Silence {
    /// Each may take `patience` to say its first `octets`.
    ///
    /// # Errors
    /// A system that has no descriptor left.
    pub fn new(patience: Nanos, octets: u16) -> io::Result<Self> {
        Ok(Self { patience, octets, events: Arc::new(epoll::create(CreateFlags::CLOEXEC)?) })
    }
}

/// All that wait, each with what is to be done with it.
#[derive(Debug)]
pub struct SilentConnections<J> {
    events: Arc<OwnedFd>,
    patience: Nanos,
    octets: u16,
    next: u64,
    /// By numbers that were given in order: the first is the oldest.
    here: BTreeMap<u64, Silent<J>>,
}

#[derive(Debug)]
struct Silent<J> {
    connection: Arc<Socket>,
    visit: Visit,
    job: J,
}

/// One whose wait is over.
#[derive(Debug)]
pub struct Awaited<J> {
    /// Its place.
    pub visit: Visit,
    /// What is to be done with it.
    pub job: J,
    /// Whether its client has said something, be it a part of it; else it has ended it, or has taken too long: nothing is to be waited for.
    pub has_spoken: bool,
}

impl<J> SilentConnections<J> {
    /// Nobody waits yet.
    pub fn new(silence: &Silence) -> Self {
        let Silence { patience, octets, events } = silence;
        Self { events: Arc::clone(events), patience: *patience, octets: *octets, next: 0, here: BTreeMap::new() }
    }

    /// What is readable when the wait of one of them is over, for those who wait for other things too.
    pub fn events(&self) -> Arc<impl AsFd + use<J>> {
        Arc::clone(&self.events)
    }

    /// When the oldest has taken too long.
    pub fn due(&self) -> Instant {
        self.here.first_key_value().map_or(Instant::NEVER, |(_, oldest)| self.end_of(oldest))
    }

    fn end_of(&self, silent: &Silent<J>) -> Instant {
        silent.visit.since().after(self.patience)
    }

    /// Keeps a connection until its wait is over.
    ///
    /// # Errors
    /// A system that cannot wait for one more, which is closed.
    pub fn keep(&mut self, connection: Arc<Socket>, visit: Visit, job: J) -> io::Result<()> {
        if self.octets > 1 {
            option::set_least_received(&connection, self.octets)?;
        }
        let data = EventData::new_u64(self.next);
        epoll::add(&*self.events, &*connection, data, EventFlags::IN | EventFlags::RDHUP)?;
        self.here.insert(self.next, Silent { connection, visit, job });
        self.next += 1;
        Ok(())
    }

    /// Some of those whose wait is over.
    pub fn take(&mut self) -> Vec<Awaited<J>> {
        let mut events: Vec<Event> = Vec::with_capacity(TURN);
        // An interruption is as nothing: it is looked again.
        let _found = epoll::wait(&*self.events, spare_capacity(&mut events), Some(&Timespec::default()));
        let mut all: Vec<Awaited<J>> = Vec::new();
        for event in &events {
            all.extend(self.out(event.data.u64(), event.flags));
        }
        let now = Monotonic::now();
        while self.due() <= now
            && let Some(number) = self.here.keys().next().copied()
        {
            all.extend(self.out(number, ENDS));
        }
        all
    }

    fn out(&mut self, number: u64, happened: EventFlags) -> Option<Awaited<J>> {
        let Silent { connection, visit, job } = self.here.remove(&number)?;
        let _out = epoll::delete(&*self.events, &*connection);
        if self.octets > 1 {
            // It was set before, so that it can be set again.
            let _set = option::set_least_received(&connection, 1);
        }
        let waiting = || ioctl_fionread(&*connection).is_ok_and(|octets| octets > 0);
        let has_spoken = !happened.intersects(ENDS) || waiting();
        Some(Awaited { visit, job, has_spoken })
    }
}
