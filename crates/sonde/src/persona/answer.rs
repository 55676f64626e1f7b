//! Text that is printed in place of a run.

use std::fmt::Display;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Words for both streams and the exit status that goes with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// Exit status: 0, 1, or 255 where the real program returns −1.
    pub status: u8,
}

impl Answer {
    /// Words for standard output.
    pub fn said(stdout: impl Into<String>, status: u8) -> Self {
        Self { stdout: stdout.into(), stderr: String::new(), status }
    }

    /// Words for standard error, status 1.
    pub fn complaint(stderr: impl Into<String>) -> Self {
        Self { stdout: String::new(), stderr: stderr.into(), status: 1 }
    }

    /// An option that is not taken, and why.
    pub fn refusal(program: &str, option: &str, why: impl Display) -> Self {
        Self::complaint(format!("{program}: {option}: {why}\n"))
    }

    /// Prints it; its status is that of the program.
    pub fn say(&self, output: &Output) -> Exit {
        if !self.stdout.is_empty() {
            output.result(&self.stdout);
        }
        if !self.stderr.is_empty() {
            output.aside(&self.stderr);
        }
        match self.status {
            0 => Exit::Done,
            status => Exit::Persona(status),
        }
    }
}

/// Words of a command of our own.
impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::complaint(failure.text())
    }
}
