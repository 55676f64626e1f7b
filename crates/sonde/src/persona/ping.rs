//! ping of iputils: its command line and what it prints.
//!
//! Words become [`options::Options`], what was seen becomes [`statistics::Statistics`], and [`output`] makes the text of
//! both: pure functions all, tested against output of the original. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;
pub mod statistics;
#[cfg(test)]
mod transcript;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::ping::options::usage;

/// ping.
pub static PERSONA: Persona = Persona {
    name: "ping",
    alias: None,
    about: "ping-compatible (iputils): same command line and output; see `sonde ping --help`",
    help: || format!("{EXAMPLES}{}", usage::text()),
    // It knows no colours, but bells and backspaces, which are not to be taken for colours and left out.
    colours: ColorChoice::AlwaysAnsi,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde ping -c 100 db1
  sonde ping -c 1000 -i 0.0005 -q db1                    every 500 us, which no other ping does
  sonde ping -c 1000 -i 0.01 --record run.json db1       and what ping does not tell: sonde show run.json
  sonde install-names ~/bin                              from then on as ping

docs/ping.md says where it differs from the original.
";

/// Reads the words, asks, prints.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let options = options::parse(call.words)?;
    run::run(&options, &call.command(), call.output)
}
