//! Connections that are served, and the choice of the one that gives way where there is no room for another.
//!
//! A visit is a stranger's until its client has asked for something in its own protocol ([`Visit::known`]). Strangers
//! give way first, the oldest of the source with most: a client that connects and says nothing keeps no other out.
//! Those that are known stay, but for a source that has more than half of all places: the newest of its visits goes
//! where another source comes.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use measure::unit::{Instant, Nanos};
use socket2::Socket;

use super::places::{Place, Places};
use super::sources::{Sources, source};
use crate::clock::Monotonic;

/// Longest time for a visit to end once it gives way, far shorter as a rule: until then a new client may have to wait
/// for it.
const LEAVE: Nanos = Nanos::secs(1);

/// A limited number of visits at once.
#[derive(Clone, Debug)]
pub struct Visits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    /// Time for which a stranger does not give way.
    peace: Nanos,
    /// Those that were told to go have theirs until they have gone.
    places: Places,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    next: u64,
    here: HashMap<u64, Entry>,
    strangers: Sources,
    known: Sources,
}

#[derive(Debug)]
struct Entry {
    /// Not held on to: it is closed when its visit is over, and may be handed on.
    connection: Weak<Socket>,
    from: SocketAddr,
    since: Instant,
}

/// One of them, until this goes.
#[derive(Debug)]
pub struct Visit {
    visits: Arc<Inner>,
    number: u64,
    from: SocketAddr,
    since: Instant,
    /// Since when a part of its first message is here, where that was not whole at once.
    spoke: Option<Instant>,
    _place: Place,
}

/// A visit that gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Address of its client.
    pub from: SocketAddr,
    /// True where its source had more than its share; false: it was a stranger.
    pub known: bool,
}

impl Visits {
    /// `most` at once; a stranger does not give way before it has been here for `peace`.
    pub fn new(most: u32, peace: Nanos) -> Self {
        // A visit that gives way takes a moment to end; these are never more than the limit itself.
        let places = Places::new(2 * u64::from(most));
        Self(Arc::new(Inner { most: most as usize, peace, places, book: Mutex::default() }))
    }

    /// Lets a connection in, and returns the visit that gave way for it; `None`: there is no room, and none gives way.
    pub fn enter(&self, connection: &Arc<Socket>, from: SocketAddr) -> Option<(Visit, Option<Gone>)> {
        let (visits, source, since) = (&self.0, source(from.ip()), Monotonic::now());
        let place = visits.places.take_by(since.after(LEAVE))?;
        let mut book = visits.book();
        let gone = if book.here.len() < visits.most { None } else { Some(visits.make_room(&mut book, source, since)?) };
        let number = book.next;
        book.next += 1;
        book.strangers.add(source, number);
        book.here.insert(number, Entry { connection: Arc::downgrade(connection), from, since });
        Some((Visit { visits: Arc::clone(visits), number, from, since, spoke: None, _place: place }, gone))
    }

    /// Number of visits, those included that are about to end.
    pub fn count(&self) -> u64 {
        self.0.places.taken()
    }

    /// Waits until all have gone, or `until`.
    pub fn await_empty(&self, until: Instant) {
        self.0.places.await_empty(until);
    }
}

impl Inner {
    /// Has one give way for another of `source`.
    fn make_room(&self, book: &mut Book, source: IpAddr, now: Instant) -> Option<Gone> {
        let stranger = book.strangers.first_to_go().filter(|number| now >= book.here[number].since.after(self.peace));
        let number = stranger.or_else(|| book.known.beyond((self.most / 2).max(1), source))?;
        let Entry { connection, from, .. } = book.remove(number)?;
        if let Some(connection) = connection.upgrade() {
            // One that the client has ended is shut already. Whatever waits for it comes back.
            let _shut = connection.shutdown(Shutdown::Both);
        }
        Some(Gone { from, known: stranger.is_none() })
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.here.remove(&number)?;
        let source = source(entry.from.ip());
        let _one_of_both = self.strangers.remove(source, number) || self.known.remove(source, number);
        Some(entry)
    }
}

impl Visit {
    /// Address of its client.
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// Time at which the connection was accepted.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Since when a part of its first message is here; absent where it came as a whole.
    pub fn spoke(&self) -> Option<Instant> {
        self.spoke
    }

    /// A part of its first message is here; whether it is the first part.
    pub(super) fn speaks(&mut self) -> bool {
        let first = self.spoke.is_none();
        self.spoke.get_or_insert_with(Monotonic::now);
        first
    }

    /// Its client has asked for something in its own protocol.
    pub fn known(&self) {
        let (mut book, source) = (self.visits.book(), source(self.from.ip()));
        if book.strangers.remove(source, self.number) {
            book.known.add(source, self.number);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.visits.book().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Type};

    use super::*;

    fn socket() -> Arc<Socket> {
        Arc::new(Socket::new(Domain::IPV4, Type::STREAM, None).unwrap())
    }

    fn from(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 1_000))
    }

    #[test]
    fn strangers_give_way_and_those_who_are_known_do_not() {
        let (visits, socket) = (Visits::new(3, Nanos::ZERO), socket());
        let enter = |last| visits.enter(&socket, from(last));
        let (known, _) = enter(1).expect("free");
        known.known();
        let strangers = [2, 2].map(|last| enter(last).expect("free"));
        assert!(strangers.iter().all(|(_, gone)| gone.is_none()));
        let (late, gone) = enter(3).expect("one gives way");
        assert_eq!(gone, Some(Gone { from: from(2), known: false }));
        late.known();
        let (last, gone) = enter(3).expect("the other gives way");
        assert_eq!(gone, Some(Gone { from: from(2), known: false }));
        assert_eq!(visits.count(), 5, "they have not gone yet");
        drop(strangers);
        last.known();
        assert_eq!(visits.count(), 3);
        assert!(enter(3).is_none(), "its own source has most");
        let (_other, gone) = enter(4).expect("room for another source");
        assert_eq!(gone, Some(Gone { from: from(3), known: true }));
    }

    #[test]
    fn a_stranger_has_its_peace_and_the_only_one_that_is_known_stays() {
        let (visits, socket) = (Visits::new(1, Nanos::secs(3_600)), socket());
        let (visit, _) = visits.enter(&socket, from(1)).expect("free");
        assert!(visits.enter(&socket, from(2)).is_none(), "it has only just come");
        visit.known();
        assert!(visits.enter(&socket, from(2)).is_none());
        drop(visit);
        assert!(visits.enter(&socket, from(2)).is_some());
    }

    #[test]
    fn those_who_do_not_go_are_not_joined_by_more_and_more() {
        let (visits, socket) = (Visits::new(2, Nanos::ZERO), socket());
        let all: Vec<_> = (0..9).map_while(|_| visits.enter(&socket, from(1))).collect();
        assert_eq!(all.len(), 4, "two of them were told to go");
    }
}
