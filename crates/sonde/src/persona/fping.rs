//! fping: echo requests to many hosts, in turn, and which of them are alive. SmokePing measures by it.
//!
//! Words become [`options::Asked`], happenings become text in [`output`] by way of [`statistics`]: pure functions. [`run`]
//! measures.

pub mod options;
pub mod output;
pub mod run;
pub mod statistics;
pub mod targets;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// fping.
pub static PERSONA: Persona = Persona {
    name: "fping",
    alias: None,
    about: "fping-compatible echo requests to many hosts: same command line and output; see `sonde fping --help`",
    help: || format!("{EXAMPLES}\n{}", options::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde fping db1 db2 db3                which of them are alive
  sonde fping -C 20 -q db1 db2           twenty round trips of each, a line a host, as SmokePing asks
  sonde fping -g 192.0.2.0/24            all addresses of a network

docs/fping.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, call.output)
}
