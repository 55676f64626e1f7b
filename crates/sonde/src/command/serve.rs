//! `sonde serve`: the far side, which answers what `sonde rtt` asks.

pub mod options;
pub mod plan;
pub mod ready;

use crate::command::serve::options::ServeOptions;
use crate::command::serve::plan::Plan;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Answers until a signal ends it.
///
/// # Errors
/// An address that cannot be listened at, a key that cannot be read, a network without protection.
pub fn run(options: ServeOptions, output: &Output) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    output.note(&format!("{plan:?}"));
    Ok(Exit::Done)
}
