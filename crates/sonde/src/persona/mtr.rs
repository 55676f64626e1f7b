//! mtr: the hops of a way with loss and times of each, as a report or live.
//!
//! Words become [`options::Asked`], answers become figures in [`hop`] and text in [`output`]: pure functions. [`run`]
//! measures, and [`live`] shows meanwhile what is known.

pub mod hop;
pub mod live;
pub mod options;
pub mod output;
pub mod run;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

/// mtr.
pub static PERSONA: Persona = Persona {
    name: "mtr",
    alias: None,
    about: "mtr-compatible hops of a path: live, or a report as text, JSON, XML, CSV; see `sonde mtr --help`",
    help: || format!("{EXAMPLES}\n{}", options::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde mtr db1                          live, until q; ? shows the keys
  sonde mtr -r -n db1                    ten rounds, a line a hop
  sonde mtr -j -c 100 -i 0.2 db1         a hundred as JSON
  sonde mtr -r -T -P 443 api             by TCP, where other probes are dropped

docs/mtr.md says where it differs from the original.
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    run::run(&options::parse(call.words)?, call.output)
}
