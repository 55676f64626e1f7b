//! iperf3: its command line and what it prints.
//!
//! Words become an [`options::Asked`], a run becomes [`facts`], and [`output`] makes the text and the JSON of both: pure
//! functions all, tested against output of the original. [`run`] measures.

pub mod facts;
pub mod options;
pub mod output;
pub mod run;
pub mod strftime;
#[cfg(test)]
mod transcript;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::iperf3::options::Role;
use crate::persona::iperf3::options::usage;

/// iperf3.
pub static PERSONA: Persona = Persona {
    name: "iperf3",
    alias: None,
    about: "iperf3-compatible client and server: same command line and output; see `sonde iperf3 --help`",
    help: || format!("{EXAMPLES}\n{}", usage::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde iperf3 -s                                        the far side, on port 5201
  sonde iperf3 -c db1 -t 5 -P 4                          here
  sonde iperf3 -c db1 -u -b 100M -R -J --record run.json
  sonde install-names ~/bin                              from then on as iperf3

docs/iperf3.md says where it differs from the original.
";

/// Reads the words, runs what they ask for, prints.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let asked = options::parse(call.words)?;
    call.note(&asked.notes);
    match &asked.role {
        Role::Server(server) => run::server::run(&asked, server, call.output),
        Role::Client(client) => run::client::run(&asked, client, &call.command(), call.output),
    }
}
