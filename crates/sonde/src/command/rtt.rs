//! `sonde rtt`: what does one exchange cost, by this method?

pub mod options;
pub mod plan;

use crate::command::rtt::options::RttOptions;
use crate::command::rtt::plan::Plan;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Measures.
pub fn run(options: RttOptions, output: &Output, verbose: bool) -> Result<Exit, Failure> {
    let plan = Plan::of(options)?;
    let method = plan.asked.resolve().map_err(|r| Failure::usage(r.to_string()))?;
    output.note(&format!("{method} {verbose}\n"));
    Err(Failure::usage("not yet"))
}
