//! `sonde replay`: what does a recorded schedule cost on this path?

pub mod options;
pub mod plan;
pub mod recording;

use std::sync::Arc;

use crate::command::replay::options::ReplayOptions;
use crate::command::replay::recording::Reading;
use crate::command::rtt;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Measures, and delivers what was found.
///
/// # Errors
/// A file that holds no schedule, a plan that makes no sense, a far side that cannot be measured.
pub fn run(options: ReplayOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let reading = &options.reading;
    let reading = Reading { flow: reading.flow, from_first: reading.from_first, pad: reading.pad };
    let recording = recording::read(&options.trace, &reading)?;
    for note in &recording.notes {
        output.note(&format!("note:  {note}\n"));
    }
    rtt::carry_out(&plan::of(options, recording.trace)?, command, output)
}
