//! hping3: its command line and what it prints, for its modes of TCP, UDP and ICMP echo.
//!
//! Words become an [`options::Asked`], answers become lines in [`output`]: pure functions, tested against output of the
//! original. [`run`] measures.

pub mod options;
pub mod output;
pub mod ports;
pub mod run;
#[cfg(test)]
mod transcript;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::hping3::options::usage;

/// hping3.
pub static PERSONA: Persona = Persona {
    name: "hping3",
    alias: None,
    about: "hping3-compatible TCP probes: same command line and output; see `sonde hping3 --help`",
    help: || format!("{EXAMPLES}\n{}", usage::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde hping3 -S -p 5432 -c 4 db1                       needs CAP_NET_RAW, as the original does
  sonde hping3 -S -p 5432 -i u10000 -q -c 1000 db1
  sonde install-names ~/bin                              from then on as hping3

docs/hping3.md says where it differs from the original.
";

/// Reads the words, runs what they ask for, prints.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let asked = options::parse(call.words)?;
    call.note(&asked.notes);
    run::run(&asked, &call.command(), call.output)
}
