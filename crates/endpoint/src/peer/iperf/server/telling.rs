//! Passes on the events of engines: they fill rings, which one thread empties while there are any.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use measure::event::Event as Measured;
use measure::unit::Nanos;
use rtrb::{Consumer, RingBuffer};

use super::event::{Ended, Event, Tell};
use crate::clock::Monotonic;
use crate::engine::Outlet;
use crate::pace;

/// Events that a stream may be ahead.
const RING: usize = 256;
/// Interval at which rings are emptied.
const TURN: Nanos = Nanos::millis(25);

/// Listener to the events, and the rings still to be emptied.
#[derive(Debug)]
pub(super) struct Telling {
    tell: Option<Tell>,
    rings: Mutex<Rings>,
}

#[derive(Debug, Default)]
struct Rings {
    all: Vec<Ring>,
    /// True while a thread empties them.
    emptied: bool,
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

    /// Returns the outlet for the intervals of a stream's engine; `None`: there is no listener.
    pub fn outlet(self: &Arc<Self>, test: u64, sends: bool) -> Option<Outlet> {
        self.tell.as_ref()?;
        let (producer, events) = RingBuffer::new(RING);
        let mut rings = self.rings();
        rings.all.push(Ring { test, sends, events });
        if !rings.emptied {
            let telling = Arc::clone(self);
            let thread = thread::Builder::new().name("sonde-telling".into());
            // Without a thread a stream reports its intervals at its end, as many as its ring holds.
            rings.emptied = thread
                .spawn(move || {
                    while telling.pass_on() {
                        pace::sleep_until(Monotonic::now().after(TURN));
                    }
                })
                .is_ok();
        }
        Some(Outlet::new(producer))
    }

    /// A stream has ended: what its engine told last goes first.
    pub fn ended(&self, ended: Ended) {
        let mut rings = self.rings();
        let is_its = |ring: &Ring| ring.test == ended.test && ring.sends == ended.sends;
        if let Some(place) = rings.all.iter().position(is_its) {
            let ring = rings.all.swap_remove(place);
            // From here on no other thread reports for this stream.
            drop(rings);
            self.empty(ring);
        }
        self.tell(&Event::Ended(Box::new(ended)));
    }

    /// Tells what has come since; `false`: there is no ring that more could come by.
    fn pass_on(&self) -> bool {
        let mut rings = self.rings();
        for ring in &mut rings.all {
            self.some(ring);
        }
        rings.emptied = !rings.all.is_empty();
        rings.emptied
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

    fn rings(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
