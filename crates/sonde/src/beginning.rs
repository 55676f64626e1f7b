//! The beginning of a server: signals wait, it binds, it gives up what it does not need from there on, and only then a thread is started and
//! somebody told that it listens. Each step takes what the one before has left, so that none can be left out or come too early.

use std::io;

use endpoint::sandbox::{self, Needs, Sandbox};
use endpoint::signal::Signals;

/// A server that is about to bind: signals that come from here on wait until somebody watches for them.
#[must_use]
pub struct Beginning(Signals);

/// A server that has what it needs, and nothing else: it may start threads.
#[must_use]
pub struct Confined(Signals);

impl Beginning {
    /// Before anything is bound: whoever sees that it listens may send a signal.
    ///
    /// # Errors
    /// The system's own error; nothing is known that it could be.
    pub fn new() -> io::Result<Self> {
        Signals::block().map(Self)
    }

    /// Gives up all but `needs`, as far as the system allows.
    pub fn confine(self, needs: &Needs) -> (Confined, Sandbox) {
        let sandbox = sandbox::enter(needs);
        (Confined(self.0), sandbox)
    }

    /// Keeps everything, because that is wanted.
    pub fn keep_all(self) -> Confined {
        Confined(self.0)
    }
}

impl Confined {
    /// The signals that wait.
    pub fn signals(&self) -> Signals {
        self.0
    }
}
