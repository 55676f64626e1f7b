//! Limited resources: clients at once, threads, bytes of memory. A place is taken for each client that is served, and
//! freed when it goes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use measure::unit::Instant;

use super::book::Gauge;
use crate::clock::Monotonic;

/// A limited number of places, some of which are taken.
#[derive(Clone, Debug)]
pub struct Places(Arc<Room>);

#[derive(Debug)]
struct Room {
    most: u64,
    taken: Mutex<u64>,
    /// Told when some are free again.
    freed: Condvar,
    /// Gauge of the number taken; absent: none.
    told_at: Option<Arc<Gauge>>,
}

/// Some of them, taken while this lives.
#[derive(Debug)]
pub struct Place {
    room: Arc<Room>,
    count: u64,
}

impl Places {
    /// `most` of them, all free.
    pub fn new(most: impl Into<u64>) -> Self {
        Self::told_at(most, None)
    }

    /// The same for bytes of memory; `gauge`, where there is one, shows the number taken.
    pub fn told_at(most: impl Into<u64>, gauge: Option<Arc<Gauge>>) -> Self {
        Self(Arc::new(Room { most: most.into(), taken: Mutex::new(0), freed: Condvar::new(), told_at: gauge }))
    }

    /// Takes one; `None`: all are taken.
    pub fn take(&self) -> Option<Place> {
        self.take_some(1)
    }

    /// Takes `count` at once; `None`: not as many are free.
    pub fn take_some(&self, count: u64) -> Option<Place> {
        self.take_of(&mut self.0.taken(), count)
    }

    /// Takes one as soon as one is free; `None`: none was by `until`.
    pub fn take_by(&self, until: Instant) -> Option<Place> {
        let free = |taken: u64| taken < self.0.most;
        self.take_of(&mut self.0.wait(free, until), 1)
    }

    fn take_of(&self, taken: &mut u64, count: u64) -> Option<Place> {
        *taken = taken.checked_add(count).filter(|taken| *taken <= self.0.most)?;
        self.0.tell(*taken);
        Some(Place { room: Arc::clone(&self.0), count })
    }

    /// Number of places taken.
    pub fn taken(&self) -> u64 {
        *self.0.taken()
    }

    /// Waits until all are free, or `until`; whether they are.
    pub fn await_empty(&self, until: Instant) -> bool {
        *self.0.wait(|taken| taken == 0, until) == 0
    }
}

impl Room {
    /// Waits until the number of places taken satisfies `fit`, or until `until`, and returns it.
    fn wait(&self, fit: impl Fn(u64) -> bool, until: Instant) -> MutexGuard<'_, u64> {
        let mut taken = self.taken();
        while !fit(*taken) {
            let Some(left) = until.since(Monotonic::now()).filter(|left| left.0 > 0) else { break };
            let woken = self.freed.wait_timeout(taken, left.into());
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        taken
    }

    /// Under the lock, so that the latest is the last to be told.
    fn tell(&self, taken: u64) {
        if let Some(gauge) = &self.told_at {
            gauge.set(taken);
        }
    }

    fn taken(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        *taken -= self.count;
        self.room.tell(*taken);
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use measure::served::Memory;
    use measure::unit::Bytes;

    use super::super::book::Book;
    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are_and_who_goes_makes_room() {
        let places = Places::new(2_u32);
        let [first, second] = [(); 2].map(|()| places.take().expect("free"));
        assert!(places.take().is_none());
        drop(first);
        assert_eq!(places.taken(), 1);
        let _third = places.take().expect("free again");
        drop(second);
        assert!(Places::new(0_u32).take().is_none());
    }

    #[test]
    fn several_are_taken_together_or_not_at_all() {
        let bytes = Places::new(10_u64);
        let most = bytes.take_some(7).expect("free");
        assert!(bytes.take_some(4).is_none() && bytes.take_some(u64::MAX).is_none());
        let _rest = bytes.take_some(3).expect("what was refused took nothing");
        drop(most);
        assert_eq!(bytes.taken(), 3);
    }

    #[test]
    fn memory_is_told_as_it_is_taken_and_given_back() {
        let book = Book::new("netperf", None);
        let bytes = Places::told_at(10_u64, book.memory());
        let told = || book.counts().and_then(|(_, counts)| counts.memory);
        let both = [4, 5].map(|count| bytes.take_some(count).expect("free"));
        drop(both);
        let _rest = bytes.take_some(2).expect("free");
        assert_eq!(told(), Some(Memory { now: Bytes(2), most: Bytes(9) }));
    }

    #[test]
    fn who_waits_for_a_place_has_the_next_that_is_free() {
        let places = Places::new(1_u32);
        let only = places.take_by(Instant(0)).expect("free");
        assert!(places.take_by(Instant(0)).is_none());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| places.take_by(Instant::NEVER).is_some());
            drop(only);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn the_last_to_go_wakes_who_waits_for_that() {
        let places = Places::new(8_u32);
        assert!(places.await_empty(Instant(0)), "nobody is there");
        let all: Vec<Place> = (0..8).map_while(|_| places.take()).collect();
        assert!(!places.await_empty(Instant(0)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| places.await_empty(Instant::NEVER));
            drop(all);
            assert!(waiting.join().unwrap());
        });
    }
}
