//! Places of which there is a bound: each is taken by somebody who is served, and free again when he goes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use measure::unit::Instant;

use crate::clock::Monotonic;

/// So many places, some of which are taken.
#[derive(Clone, Debug)]
pub struct Places(Arc<Room>);

#[derive(Debug)]
struct Room {
    most: u32,
    taken: Mutex<u32>,
    /// Told when the last has gone.
    empty: Condvar,
}

/// One of them, taken while this lives.
#[derive(Debug)]
pub struct Place(Arc<Room>);

impl Places {
    /// `most` of them, all free.
    pub fn new(most: u32) -> Self {
        Self(Arc::new(Room { most, taken: Mutex::new(0), empty: Condvar::new() }))
    }

    /// Takes one; `None`: all are taken.
    pub fn take(&self) -> Option<Place> {
        let mut taken = self.0.taken();
        if *taken >= self.0.most {
            return None;
        }
        *taken += 1;
        Some(Place(Arc::clone(&self.0)))
    }

    /// How many are taken.
    pub fn taken(&self) -> u32 {
        *self.0.taken()
    }

    /// Waits until all are free, or `until`; whether they are.
    pub fn await_empty(&self, until: Instant) -> bool {
        let mut taken = self.0.taken();
        while *taken > 0 {
            let Some(left) = until.since(Monotonic::now()).filter(|left| left.0 > 0) else { return false };
            let woken = self.0.empty.wait_timeout(taken, left.into());
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Room {
    fn taken(&self) -> MutexGuard<'_, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.0.taken();
        *taken -= 1;
        if *taken == 0 {
            self.0.empty.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn no_more_are_taken_than_there_are_and_who_goes_makes_room() {
        let places = Places::new(2);
        let [first, second] = [(); 2].map(|()| places.take().expect("free"));
        assert!(places.take().is_none());
        drop(first);
        assert_eq!(places.taken(), 1);
        let _third = places.take().expect("free again");
        drop(second);
        assert!(Places::new(0).take().is_none());
    }

    #[test]
    fn the_last_to_go_wakes_who_waits_for_that() {
        let places = Places::new(8);
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
