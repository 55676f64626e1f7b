//! The way to a host: a command that runs words there, and how the program comes to be there.
//!
//! The program there is this very program as an agent, which is spoken to over its standard input and output; so a host
//! needs no port of ours for control, and whatever leads a command there will do: nothing, `ip netns exec`, `ssh`,
//! `kubectl exec`.

pub mod local;
pub mod namespace;
mod packed;
pub mod pod;
pub mod program;
pub mod remote;
pub mod ssh;
pub mod ways;

use std::fmt;
use std::process::Command;

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use logbook::failure::Failure;
use measure::unit::{Instant, Nanos};

pub use program::Program;

/// A way to one host.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Puts `program` there, unless it is there already, and tells by which name it is called there.
    ///
    /// # Errors
    /// The action that failed, the side, and the next step: after `patience` without a sign of life from there, at the
    /// latest after a few times as long, or when `stop` asks.
    fn put(&self, program: &Program, patience: Nanos, stop: &Stop) -> Result<String, Failure>;

    /// A command that runs `words` there, the first of which [`Transport::put`] told, with its standard streams and its end
    /// passed on. Where its standard input ends, what it runs has nobody to serve any more.
    fn command(&self, words: &[String]) -> Command;

    /// Takes away what was put there under this program's name, and ends what the way itself keeps open.
    ///
    /// # Errors
    /// As of [`Transport::put`].
    fn clean(&self, patience: Nanos, stop: &Stop) -> Result<(), Failure>;
}

/// A command of `words` behind those of `prefix`. Without any words it is one that cannot be started.
fn command_of(prefix: &[String], words: &[String]) -> Command {
    let mut all = prefix.iter().chain(words);
    let mut command = Command::new(all.next().map_or("", String::as_str));
    command.args(all);
    command
}

/// Time between tries: longer each time, so that an overloaded host is not asked more often than it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause(Nanos);

impl Default for Pause {
    fn default() -> Self {
        Self(Nanos::millis(250))
    }
}

impl Pause {
    /// The longest.
    const MOST: Nanos = Nanos::secs(4);

    /// Waits; `false`, at once: there is no time for another try before `due`, or it is to stop.
    pub(crate) fn rest(&mut self, due: Instant, stop: &Stop) -> bool {
        let until = Monotonic::now().after(self.0);
        self.0 = Nanos(self.0.0 * 2).min(Self::MOST);
        until < due && !stop.wait(until)
    }
}
