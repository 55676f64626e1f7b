//! The control connections while data flow: an error of the server, or a silence too long, ends the measurement.

use std::cell::Cell;
use std::os::fd::AsFd;

use measure::unit::{Instant, Nanos};

use super::Session;
use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::link::clockwork::poll_until;
use crate::session::scene::FarEnd;
use crate::stop::Stop;

/// Longest wait for the reason of a server whose data connection ended.
const REASON: Nanos = Nanos::millis(300);

/// All control connections of a measurement.
#[derive(Debug)]
pub struct Keeper<'a> {
    /// One for each data connection.
    pub sessions: &'a mut [Session],
    /// Time by which a timed test must be over.
    pub end: Instant,
    /// Time of the latest answer, as the listener to the events has seen.
    pub alive: &'a Cell<Instant>,
    /// Longest time without an answer; then the peer is given up.
    pub quiet: Nanos,
}

impl Keeper<'_> {
    fn look(&mut self) -> Result<(), EndpointError> {
        self.sessions.iter_mut().try_for_each(|session| session.control.look())
    }

    fn lost(&self, after: Nanos) -> EndpointError {
        let peer = self.sessions.first().map_or_else(|| "netserver".to_owned(), |session| session.peer().to_string());
        EndpointError::new(Step::Measure, peer, Cause::Silence(after)).with_hint(Hint::NetserverSilent)
    }
}

impl FarEnd for Keeper<'_> {
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        let controls: Vec<_> = self.sessions.iter().map(|session| session.control.as_fd()).collect();
        done.wait_or_inputs(&controls, Monotonic::now().after(patience));
        self.look()?;
        let now = Monotonic::now();
        match now.since(self.alive.get()) {
            Some(silence) if silence > self.quiet => Err(self.lost(silence)),
            Some(silence) if now > self.end => Err(self.lost(silence)),
            _ => Ok(()),
        }
    }

    fn reason(&mut self) -> Option<EndpointError> {
        let give_up = Monotonic::now().after(REASON);
        while Monotonic::now() < give_up && !self.sessions.iter().any(|session| session.control.answered()) {
            let controls = self.sessions.iter().map(|session| (session.control.as_fd(), false));
            poll_until(controls, give_up);
            if let Err(said) = self.look() {
                return Some(said);
            }
        }
        None
    }
}
