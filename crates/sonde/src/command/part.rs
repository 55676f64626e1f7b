//! `sonde netperf` and `sonde netserver` as commands among others: for help, man pages and completions. Their words are
//! read in [`crate::persona`], before anything here sees them.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::persona::Persona;

const EXAMPLES: &str = "\
Examples:
  sonde netserver                                        the far side, as a daemon on port 12865
  sonde netperf -H db1 -t TCP_RR -l 5                    transactions a second
  sonde netperf -H db1 -t TCP_RR -- -k MIN_LATENCY,P99_LATENCY,P999_LATENCY
  sonde netperf -H db1 -t UDP_RR -w 10ms -b 1 --pacing spin -- -o THROUGHPUT,LOST
  sonde install-names ~/bin                              from then on as netperf and netserver

The options are the original's: docs/netperf.md says where ours differ.
";

/// What `sonde netperf` and `sonde netserver` take.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PartOptions {
    /// The words, as the original takes them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Options of ours before the name would be lost on it.
pub fn misplaced(persona: Persona) -> Failure {
    let name = persona.name();
    Failure::usage(format!("{name} has to be the first word: it takes its own options alone"))
        .hint(format!("write `sonde {name} …`"))
}
