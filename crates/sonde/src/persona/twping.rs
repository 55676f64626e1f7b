//! twping of perfSONAR: a session of TWAMP, and what its packets took there, back, and at the far side.
//!
//! Words become [`options::Asked`], answers become [`statistics::Figures`], and [`output`] makes the text of both: pure functions.
//! [`run`] measures.

pub mod options;
pub mod output;
pub mod run;
pub mod statistics;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// twping.
pub static PERSONA: Persona = Persona {
    name: "twping",
    alias: None,
    about: "twping-compatible sessions of TWAMP: same command line and output; see `sonde twping --help`",
    help: || format!("{EXAMPLES}\n{}", options::HELP),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde twping db1                       100 packets, ten a second, of a session that a TWAMP server grants
  sonde twping -c 600 -i 0.1f -a 99 db1  even gaps, and the 99th percentile
  sonde twping --stamp db1:8620          a reflector of STAMP or TWAMP Light, without a control connection

docs/twping.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let asked = options::parse(call.words)?;
    call.note(&asked.notes);
    run::run(&asked, &call.command(), call.output)
}
