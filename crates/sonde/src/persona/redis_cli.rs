//! redis-cli's latency modes: its command line and what it prints for `--latency`, `--latency-history` and `--latency-dist`.
//!
//! It is no client of Redis: all other uses are refused. Words become an [`options::Asked`], samples become text in
//! [`output`]: pure functions. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// redis-cli, as far as it measures latency.
pub static PERSONA: Persona = Persona {
    name: "redis-cli",
    alias: None,
    about: "redis-cli-compatible --latency, --latency-history and --latency-dist; see `sonde redis-cli --help`",
    help: || format!("{EXAMPLES}\n{}", options::HELP),
    colours: ColorChoice::Never,
    linked: false,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde redis-cli -h db1 --latency                       live on a terminal; else one line after 1 s
  sonde redis-cli -h db1 --latency-history -i 5          a line every 5 s
  sonde redis-cli -h db1 --latency --csv --record r.json the record beside it

docs/redis-cli.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, &call.command(), call.output)
}
