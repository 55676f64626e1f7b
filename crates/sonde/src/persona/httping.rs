//! httping: requests to a web server over a connection each, a line for each.
//!
//! Words become an [`options::Asked`], replies become text in [`output`]: pure functions. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// httping.
pub static PERSONA: Persona = Persona {
    name: "httping",
    alias: None,
    about: "httping-compatible requests to a web server, a line for each; see `sonde httping --help`",
    help: || format!("{EXAMPLES}\n{}", options::HELP),
    colours: ColorChoice::Never,
    linked: false,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde httping http://api:8080/health          HEAD, one a second until Ctrl-C
  sonde httping -g https://api/ -c 5 -s -S      status, and each time in its parts
  sonde httping -h api -p 8080 -G -m -i 0.2     GET, the time alone

docs/httping.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, &call.command(), call.output)
}
