//! `sonde load`: what does an exchange cost at this rate, and is that rate reached at all?

pub mod find;
pub mod options;
pub mod plan;
pub mod words;

use std::sync::Arc;

use crate::command::load::find::hunt::Hunt;
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
    options.application.note_on_password().iter().for_each(|note| output.note(note));
    let reply_every = options.shape.reply_every.unwrap_or(1);
    let hunt = Hunt::of(&options.find, &options.schedule, reply_every)?;
    let plan = plan::of(options)?;
    if hunt.is_some() && plan.verify.as_ref().is_some_and(|verify| verify.wish().keep.is_some()) {
        return Err(Failure::usage("--verify-pcap keeps the packets of one measurement, and --find makes many")
            .hint("--verify alone, or search first and keep those of a load at the rate that was found"));
    }
    match hunt {
        Some(hunt) => find::run(&plan, &hunt, command, output),
        None => rtt::carry_out(&plan, command, output),
    }
}
