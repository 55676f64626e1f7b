//! This machine: the program is here already, and runs as it is.

use std::process::Command;

use endpoint::stop::Stop;
use logbook::failure::Failure;
use measure::unit::Nanos;

use crate::transport::{Program, Transport, command_of};

/// The way to this machine.
#[derive(Clone, Copy, Debug)]
pub struct Local;

impl Transport for Local {
    fn put(&self, program: &Program, _patience: Nanos, _stop: &Stop) -> Result<String, Failure> {
        Ok(program.path.to_string_lossy().into_owned())
    }

    fn command(&self, words: &[String]) -> Command {
        command_of(&[], words)
    }

    fn clean(&self, _patience: Nanos, _stop: &Stop) -> Result<(), Failure> {
        Ok(())
    }
}
