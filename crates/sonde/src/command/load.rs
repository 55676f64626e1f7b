//! `sonde load`: what does an exchange cost at this rate, and is that rate reached at all?

pub mod options;
pub mod plan;
pub mod words;

use std::sync::Arc;

use crate::command::load::options::LoadOptions;
use crate::command::rtt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Measures, and delivers what was found.
///
/// # Errors
/// A plan that makes no sense, a file that cannot be made, a far side that cannot be measured.
pub fn run(options: LoadOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    rtt::carry_out(&plan::of(options)?, command, output)
}
