//! `sonde agent`: this program on a host of a plan, told what to run by JSON lines. People need not call it.

use std::io;
use std::path::Path;

use clap::Args;
use lab::agent::far;
use lab::own;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// What `sonde agent` takes: nothing.
#[derive(Debug, Args)]
pub struct AgentOptions {}

/// Does what the lines on standard input say until they end.
///
/// # Errors
/// Nobody takes its lines any more.
pub fn run() -> Result<Exit, Failure> {
    let named = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    far::attend(io::stdin().lock(), io::stdout(), Path::new(own::PROGRAM), named)
        .map_err(|error| Failure::usage(format!("standard output: nobody listens to this agent: {error}")))?;
    Ok(Exit::Done)
}

/// Has this process end with the agent that started it, also where that is killed. Without an agent nothing happens.
pub fn end_with_it() {
    let Some(agent) = std::env::var_os(far::CHILD).and_then(|text| text.to_str()?.parse().ok()).and_then(Pid::from_raw)
    else {
        return;
    };
    // Where the kernel refuses, the agent's end is still told by its standard input's end, unless it is killed.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    if getppid() != Some(agent) {
        std::process::abort();
    }
}
