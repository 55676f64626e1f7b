//! sockperf: its command line and what it prints.
//!
//! Words become an [`options::Command`], what came back becomes [`statistics`], and [`output`] makes the text of both:
//! pure functions all, tested against output of the original. [`run`] measures.

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
use crate::persona::sockperf::options::Command;
use crate::persona::sockperf::options::usage;

/// sockperf.
pub static PERSONA: Persona = Persona {
    name: "sockperf",
    alias: None,
    about: "sockperf-compatible client and server: same command line and output; see `sonde sockperf --help`",
    help: || format!("{EXAMPLES}\n{}", usage::general()),
    colours: ColorChoice::Auto,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde sockperf server                                  the far side, on UDP port 11111
  sonde sockperf server --tcp -i 10.0.0.2 -g
  sonde install-names ~/bin                              from then on as sockperf

docs/sockperf.md says where it differs from the original.
";

/// Reads the words, runs what they ask for, prints.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let asked = options::parse(call.words)?;
    call.note(&asked.notes);
    match &asked.command {
        Command::Server(server) => run::server::run(server, call.output),
        Command::Client(client) => run::client::run(client, &asked.own, &call.command(), call.output),
    }
}
