//! tcping: TCP handshakes with a port, a line for each. Several programs have that name; the form is that of the one for Python.
//!
//! Words become an [`options::Asked`], handshakes become text in [`output`]: pure functions. [`run`] measures.

pub mod options;
pub mod output;
pub mod run;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// tcping.
pub static PERSONA: Persona = Persona {
    name: "tcping",
    alias: None,
    about: "tcping-compatible TCP handshakes with a port, a line for each; see `sonde tcping --help`",
    help: || format!("{EXAMPLES}\n{}", options::HELP),
    colours: ColorChoice::Never,
    linked: false,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde tcping db1 5432                  ten handshakes, one a second
  sonde tcping db1 5432 -c 0 -i 0.2      five a second until Ctrl-C
  sonde tcping -p 443 -t 3 api           up to 3 s for each

docs/tcping.md says whose form it is, and where it differs.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, &call.command(), call.output)
}
