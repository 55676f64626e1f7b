//! iperf 2: its command line and what it prints. iperf 3 is another program and another folder.
//!
//! Words become [`options::Asked`], what came back becomes lines of [`output`]: pure functions all, tested against output of
//! the original. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;
#[cfg(test)]
mod transcript;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::iperf::options::Role;
use crate::persona::iperf::options::usage;

/// iperf.
pub static PERSONA: Persona = Persona {
    name: "iperf",
    alias: None,
    about: "iperf 2-compatible client and server: same command line and output; see `sonde iperf --help`",
    help: || format!("{EXAMPLES}\n{}", usage::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde iperf -s                                         the far side, on TCP port 5001
  sonde iperf -c db1 -t 5 -i 1 -P 4
  sonde iperf -u -c db1 -b 100m --record run.json
  sonde install-names ~/bin                              from then on as iperf

docs/iperf.md says where it differs from the original.
";

/// Reads the words, runs what they ask for, prints.
fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let asked = options::parse(call.words, variable)?;
    call.note(&asked.notes);
    match &asked.role {
        Role::Server(server) => run::server::run(server, call.output),
        Role::Client(client) => run::client::run(client, &asked.own, &call.command(), call.output),
    }
}

#[expect(clippy::disallowed_methods, reason = "options may come from the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
