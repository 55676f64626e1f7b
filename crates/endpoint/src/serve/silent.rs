//! Connections that have not said their first message yet: all of them wait by events, at the thread that accepts,
//! until it is whole, for their client's end, or for the end of our patience. Such a connection costs a socket and an
//! entry here, but no thread and no timer.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use measure::unit::{Instant, Nanos};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::ioctl_fionread;
use rustix::net::{RecvFlags, recv};
use socket2::Socket;

use super::visits::Visit;
use crate::clock::Monotonic;
use crate::socket::option;

/// Events taken by one call.
const TURN: usize = 64;
/// Events of a connection whose client has ended it, or is gone.
const ENDS: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);

/// First message that a client must send before it is served.
#[derive(Clone, Copy, Debug)]
pub struct FirstMessage {
    /// Longest time for it from the accepted connection on.
    pub patience: Nanos,
    /// Longest time for the rest after its first part, where at first one octet is awaited.
    pub rest: Nanos,
    /// Returns the number of octets the message needs, from those that have arrived; at most the first 256 are passed.
    pub needs: fn(&[u8]) -> usize,
}

/// Octets of a first message that are looked at.
const LOOK: usize = 256;

/// The first message that is awaited, and the descriptor of events for all connections that have not sent it.
#[derive(Debug)]
pub struct Silence {
    first: FirstMessage,
    events: Arc<OwnedFd>,
}

impl Silence {
    /// Each has to say `first`.
    ///
    /// # Errors
    /// A system that has no descriptor left.
    pub fn new(first: FirstMessage) -> io::Result<Self> {
        Ok(Self { first, events: Arc::new(epoll::create(CreateFlags::CLOEXEC)?) })
    }
}

/// All connections that wait, each with its job.
#[derive(Debug)]
pub struct SilentConnections<J> {
    events: Arc<OwnedFd>,
    first: FirstMessage,
    next: u64,
    here: BTreeMap<u64, Silent<J>>,
    /// Deadline of each connection.
    due: BTreeSet<(Instant, u64)>,
}

#[derive(Debug)]
struct Silent<J> {
    connection: Arc<Socket>,
    visit: Visit,
    job: J,
    due: Instant,
}

/// One whose wait is over.
#[derive(Debug)]
pub struct Awaited<J> {
    /// Its place.
    pub visit: Visit,
    /// Job to be done with it.
    pub job: J,
    /// True where its client has sent something, perhaps only a part of the message. False where it has ended the
    /// connection, or its time is up: there is nothing to wait for.
    pub has_spoken: bool,
}

impl<J> SilentConnections<J> {
    /// Nobody waits yet.
    pub fn new(silence: &Silence) -> Self {
        let events = Arc::clone(&silence.events);
        Self { events, first: silence.first, next: 0, here: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// Descriptor that is readable when the wait of a connection is over, for threads that wait for other events too.
    pub fn events(&self) -> Arc<impl AsFd + use<J>> {
        Arc::clone(&self.events)
    }

    /// Returns the earliest deadline, or [`Instant::NEVER`] where none waits.
    pub fn due(&self) -> Instant {
        self.due.first().map_or(Instant::NEVER, |(due, _)| *due)
    }

    /// Keeps a connection until its wait is over.
    ///
    /// # Errors
    /// A system that cannot wait for one more, which is closed.
    pub fn keep(&mut self, connection: Arc<Socket>, visit: Visit, job: J) -> io::Result<()> {
        await_octets(&connection, (self.first.needs)(&[]))?;
        let (number, due) = (self.next, visit.since().after(self.first.patience));
        epoll::add(&*self.events, &*connection, EventData::new_u64(number), EventFlags::IN | EventFlags::RDHUP)?;
        self.here.insert(number, Silent { connection, visit, job, due });
        self.due.insert((due, number));
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
            let (number, happened) = (event.data.u64(), event.flags);
            if happened.intersects(ENDS) || self.is_whole(number) {
                all.extend(self.out(number));
            }
        }
        let now = Monotonic::now();
        while let Some((_, number)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            all.extend(self.out(number));
        }
        all
    }

    /// Returns true where the first message is complete; where a part of it is here, the next wait is for all of it.
    fn is_whole(&mut self, number: u64) -> bool {
        let Some(silent) = self.here.get_mut(&number) else { return false };
        let mut part = [0; LOOK];
        let seen = recv(&*silent.connection, &mut part[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        // A connection that cannot be read is at its end; the thread that serves it will find that.
        let Ok((seen, _)) = seen else { return true };
        let needs = (self.first.needs)(&part[..seen]);
        if waiting(&silent.connection) >= needs as u64 || await_octets(&silent.connection, needs).is_err() {
            return true;
        }
        if silent.visit.speaks() {
            let due = silent.due.min(Monotonic::now().after(self.first.rest));
            self.due.remove(&(silent.due, number));
            self.due.insert((due, number));
            silent.due = due;
        }
        false
    }

    fn out(&mut self, number: u64) -> Option<Awaited<J>> {
        let Silent { connection, visit, job, due } = self.here.remove(&number)?;
        self.due.remove(&(due, number));
        let _out = epoll::delete(&*self.events, &*connection);
        // It was set before, so that it can be set again.
        let _set = await_octets(&connection, 1);
        let has_spoken = waiting(&connection) > 0;
        Some(Awaited { visit, job, has_spoken })
    }
}

/// Makes the connection readable once `octets` are there.
fn await_octets(connection: &Socket, octets: usize) -> io::Result<()> {
    option::set_least_received(connection, u16::try_from(octets.max(1)).unwrap_or(u16::MAX))
}

/// Octets that have come and were not taken.
fn waiting(connection: &Socket) -> u64 {
    ioctl_fionread(connection).unwrap_or_default()
}
