//! netperf and netserver: their command lines and what they print.
//!
//! Words become [`options`], a run fills [`facts`], and [`output`] makes the text of both: pure functions all, tested
//! against output of the original. [`run`] measures.

pub mod command_line;
pub mod confidence;
pub mod facts;
pub mod figures;
pub mod granted;
pub mod options;
pub mod output;
pub mod passphrase;
pub mod run;
pub mod selection;
pub mod selector;
pub mod test_name;
#[cfg(test)]
mod transcript;
pub mod unit;
pub mod view;

use anstream::ColorChoice;
use logbook::whole;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};
use crate::persona::netperf::command_line::usage;

/// netperf.
pub static CLIENT: Persona = Persona {
    name: "netperf",
    alias: None,
    about: "netperf-compatible client: same command line and output; see `sonde netperf --help`",
    help: || format!("{CLIENT_EXAMPLES}{}", usage::GLOBAL),
    colours: ColorChoice::Never,
    linked: true,
    play: client,
};

/// netserver.
pub static SERVER: Persona = Persona {
    name: "netserver",
    alias: None,
    about: "netserver-compatible server, for netperf and `sonde netperf`; see `sonde netserver --help`",
    help: || format!("{SERVER_EXAMPLES}{}", usage::SERVER),
    colours: ColorChoice::Never,
    linked: true,
    play: server,
};

const CLIENT_EXAMPLES: &str = "\
Examples:
  sonde netperf -H db1 -t TCP_RR -l 5                    transactions a second
  sonde netperf -H db1 -t TCP_RR -- -k MIN_LATENCY,P99_LATENCY,P999_LATENCY
  sonde netperf -H db1 -t UDP_RR -w 10ms -b 1 --pacing spin -- -o THROUGHPUT,LOST
  sonde install-names ~/bin                              from then on as netperf

docs/netperf.md says where it differs from the original.
";

const SERVER_EXAMPLES: &str = "\
Examples:
  sonde netserver                                        a daemon on port 12865
  sonde netserver -D -L 10.0.0.2 --passphrase-file pass  in the foreground, for those who know
";

/// Reads the words, runs the test, prints.
fn client(call: &Call<'_>) -> Result<Exit, Answer> {
    let mut options = command_line::parse(call.program, call.words)?;
    selection::resolve(&mut options, |path| whole::text(path, whole::BY_HAND))?;
    granted::settle(&mut options);
    call.note(&options.notes);
    run::client(&options, &call.command(), call.output)
}

/// Reads the words, serves.
fn server(call: &Call<'_>) -> Result<Exit, Answer> {
    let options = command_line::server::parse(call.program, call.words)?;
    call.note(&options.notes);
    run::server::run(&options, call.output)
}
