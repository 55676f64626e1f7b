//! traceroute as Debian has it (2.1): the hops of a way, by probes of UDP, ICMP or TCP.
//!
//! Words become [`options::Asked`], hops become text in [`output`]: pure functions. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// traceroute.
pub static PERSONA: Persona = Persona {
    name: "traceroute",
    alias: None,
    about: "traceroute-compatible hops of a path: same command line and output; see `sonde traceroute --help`",
    help: || format!("{EXAMPLES}\n{}", options::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde traceroute -n db1                three datagrams to each hop
  sonde traceroute -T -p 443 api         by TCP, where other probes are dropped
  sonde traceroute -I -q 1 -w 1 db1      by ICMP echo, one probe to each hop

docs/traceroute.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, call.output)
}
