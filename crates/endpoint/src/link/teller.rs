//! Sightings of a measuring thread on their way to whoever listens: a ring without a wait or an allocation, and a count of those
//! that found no room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

/// Sightings that the measuring thread may be ahead of its listener.
const RING: usize = 1 << 16;

/// Sink of sightings.
#[derive(Debug)]
pub struct Teller<S> {
    ring: Producer<S>,
    lost: Arc<AtomicU64>,
}

/// Source of the sightings that its teller told.
#[derive(Debug)]
pub struct Told<S> {
    ring: Consumer<S>,
    lost: Arc<AtomicU64>,
}

/// A sink of sightings and their source.
pub fn ring<S>() -> (Teller<S>, Told<S>) {
    let (producer, consumer) = RingBuffer::new(RING);
    let lost = Arc::new(AtomicU64::new(0));
    (Teller { ring: producer, lost: Arc::clone(&lost) }, Told { ring: consumer, lost })
}

impl<S> Teller<S> {
    /// Tells a sighting, or counts it where there is no room.
    #[inline]
    pub fn tell(&mut self, sighting: S) {
        if self.ring.push(sighting).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<S> Told<S> {
    /// The oldest sighting that was not taken yet.
    pub fn take(&mut self) -> Option<S> {
        self.ring.pop().ok()
    }

    /// Sightings that found no room.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted() {
        let (mut teller, mut told) = ring();
        (0..RING + 2).for_each(|sighting| teller.tell(sighting));
        assert_eq!((told.take(), told.take(), told.lost()), (Some(0), Some(1), 2));
        assert_eq!(std::iter::from_fn(|| told.take()).last(), Some(RING - 1));
    }
}
