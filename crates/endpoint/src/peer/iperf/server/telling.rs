//! Passes on what engines tell: they fill rings, which the server's own thread empties.

use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::event::Event as Measured;
use rtrb::{Consumer, RingBuffer};

use super::event::{Ended, Event, Tell};
use crate::engine::Outlet;

/// Events that a stream may be ahead.
const RING: usize = 256;

/// Who is told, and what is still to be.
#[derive(Debug)]
pub(super) struct Telling {
    tell: Option<Tell>,
    rings: Mutex<Vec<Ring>>,
}

#[derive(Debug)]
struct Ring {
    test: u64,
    sends: bool,
    events: Consumer<Measured>,
}

impl Telling {
    pub fn new(tell: Option<Tell>) -> Self {
        Self { tell, rings: Mutex::default() }
    }

    pub fn tell(&self, event: &Event) {
        if let Some(Tell(tell)) = &self.tell {
            tell(event);
        }
    }

    /// Where the engine of a stream tells its intervals.
    pub fn outlet(&self, test: u64, sends: bool) -> Option<Outlet> {
        self.tell.as_ref()?;
        let (producer, events) = RingBuffer::new(RING);
        self.rings().push(Ring { test, sends, events });
        Some(Outlet::new(producer))
    }

    /// A stream has ended: what its engine told last goes first.
    pub fn ended(&self, ended: Ended) {
        let mut rings = self.rings();
        if let Some(place) = rings.iter().position(|ring| ring.test == ended.test && ring.sends == ended.sends) {
            let ring = rings.swap_remove(place);
            // Nothing of this stream is told by another thread from here on.
            drop(rings);
            self.empty(ring);
        }
        self.tell(&Event::Ended(Box::new(ended)));
    }

    /// Tells what has come since.
    pub fn pass_on(&self) {
        for ring in self.rings().iter_mut() {
            self.some(ring);
        }
    }

    fn empty(&self, mut ring: Ring) {
        self.some(&mut ring);
    }

    fn some(&self, ring: &mut Ring) {
        while let Ok(event) = ring.events.pop() {
            if let Measured::Carried { interval, .. } = event {
                self.tell(&Event::Interval { test: ring.test, sends: ring.sends, interval });
            }
        }
    }

    fn rings(&self) -> MutexGuard<'_, Vec<Ring>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
