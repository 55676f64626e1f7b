//! `sonde`: measures what two endpoints can do with the network between them.
//!
//! The one binary: it alone reads argv and the environment, prints and exits. A command is a file in [`command`]; the
//! words go out through [`output`] alone.

mod command;
mod exit;
mod failure;
mod output;
mod persona;
mod signal;
mod words;

use std::process::ExitCode;

/// How this program names itself to peers and in records.
const PROGRAM: &str = concat!("sonde ", env!("CARGO_PKG_VERSION"));

fn main() -> ExitCode {
    command::agent::end_with_it();
    command::run(std::env::args_os().collect()).into()
}
