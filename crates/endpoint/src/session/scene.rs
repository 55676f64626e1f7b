//! Surroundings of a measurement: its peer, its listener and its ends.

use std::net::SocketAddr;

use measure::event::Event;
use measure::method::Method;
use measure::trace::Trace;
use measure::unit::Nanos;

use crate::clock::Monotonic;
use crate::control::Control;
use crate::environment::watch::Watch;
use crate::error::EndpointError;
use crate::stop::Stop;

/// All that the threads on the connections need to know, whichever protocol opened these.
pub struct Scene<'a> {
    /// Method of the measurement.
    pub method: &'a Method,
    /// Trace to replay; present where the schedule is a trace.
    pub trace: Option<&'a Trace>,
    /// Address of the peer.
    pub peer: SocketAddr,
    /// The control connection.
    pub far: &'a mut dyn FarEnd,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Set once the user requests the end.
    pub stop: &'a Stop,
    /// End of the threads and of every wait of theirs: the user's request, or a lost peer. The links check this one,
    /// for the timeout of a reply may be longer than either may wait.
    pub halt: &'a Stop,
    /// This host under observation.
    pub watch: &'a mut Watch,
    /// Listener to the events; called on the thread that started the measurement.
    pub on_event: &'a mut dyn FnMut(Event),
}

/// The peer's control connection while the threads measure, in whichever protocol it speaks.
pub trait FarEnd {
    /// Waits up to `patience` for a word of the peer, or until `done` asks; an error says that it is gone or gives up.
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError>;

    /// A data connection ended: what the peer says of it, where it says anything in good time.
    fn reason(&mut self) -> Option<EndpointError> {
        None
    }
}

/// A peer without a control connection: its kernel answers, or any server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl FarEnd for Nobody {
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        done.wait(Monotonic::now().after(patience));
        Ok(())
    }
}

impl FarEnd for Control {
    fn watch(&mut self, patience: Nanos, done: &Stop) -> Result<(), EndpointError> {
        Self::watch(self, patience, done)
    }

    fn reason(&mut self) -> Option<EndpointError> {
        Self::reason(self)
    }
}
