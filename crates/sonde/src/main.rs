//! `sonde`: measures what two endpoints can do with the network between them.
//!
//! The one binary: it alone reads argv and the environment, prints and exits. A command is a file in [`command`]; the
//! words go out through [`output`] alone.

mod beginning;
mod cli;
mod command;
mod exit;
mod failure;
mod masking;
mod output;
mod persona;
mod program;
mod signal;
mod system;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::agent::end_with_it();
    cli::run(std::env::args_os().collect()).into()
}
