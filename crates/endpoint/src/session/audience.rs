//! Sightings handed to a listener while the threads measure, on the thread that started them.

use measure::unit::Nanos;

use super::scene::FarEnd;
use crate::clock::Monotonic;
use crate::error::EndpointError;
use crate::link::teller::Told;
use crate::stop::Stop;

/// From one look for sightings to the next, while there are some.
const BUSY: Nanos = Nanos::millis(1);
/// The same while there are none.
const IDLE: Nanos = Nanos::millis(5);

/// Listener to sightings.
pub trait Audience<S> {
    /// Takes one sighting.
    fn hear(&mut self, sighting: S);

    /// Returns true where it has heard enough; asked after every few sightings, and now and then.
    fn enough(&mut self) -> bool;
}

/// Hands sightings over, and ends the run once its audience has heard enough.
pub struct Listener<'a, S> {
    sightings: Told<S>,
    audience: &'a mut dyn Audience<S>,
    halt: &'a Stop,
    enough: bool,
}

impl<'a, S> Listener<'a, S> {
    /// A listener that asks `halt` for the end.
    pub fn new(sightings: Told<S>, audience: &'a mut dyn Audience<S>, halt: &'a Stop) -> Self {
        Self { sightings, audience, halt, enough: false }
    }

    /// Hands over what there is. Returns whether there was anything.
    pub fn empty(&mut self) -> bool {
        let mut any = false;
        while let Some(sighting) = self.sightings.take() {
            self.audience.hear(sighting);
            any = true;
        }
        if !self.enough && self.audience.enough() {
            self.enough = true;
            self.halt.request();
        }
        any
    }

    /// Returns true where the audience has heard enough.
    pub fn has_enough(&self) -> bool {
        self.enough
    }

    /// Sightings that were dropped: the audience fell behind.
    pub fn unheard(&self) -> u64 {
        self.sightings.lost()
    }
}

impl<S> FarEnd for Listener<'_, S> {
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        let pause = if self.empty() { BUSY } else { IDLE };
        done.wait(Monotonic::now().after(pause.min(patience)));
        Ok(())
    }
}
