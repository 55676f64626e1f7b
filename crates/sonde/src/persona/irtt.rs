//! irtt: round trips of datagrams that leave on schedule, and the server that answers them. flent measures by it.
//!
//! Words become options, a session becomes [`client::trips::Trips`] and those figures, text and JSON: pure functions. Not here: the
//! original's tests of itself (`bench`, `clock`, `sleep`).

pub mod client;
pub mod duration;
pub mod flags;
pub mod server;
pub mod versions;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::call::{Call, Persona};

pub use versions::{VERSION, version};

/// irtt.
pub static PERSONA: Persona = Persona {
    name: "irtt",
    alias: None,
    about: "irtt-compatible client and server: same command line, output and JSON; see `sonde irtt --help`",
    help: || format!("{EXAMPLES}\n{USAGE}\n{}\n{}", client::help(), server::help()),
    colours: ColorChoice::Never,
    linked: true,
    play,
};

const EXAMPLES: &str = "\
Examples:
  sonde irtt server                                       on port 2112
  sonde irtt client -d 10s -i 20ms db1                    500 round trips and their summary
  sonde irtt client -o - -Q -d 14s -i 0.2s db1            JSON alone, as flent asks

docs/irtt.md says where it differs from the original.
";

const USAGE: &str = "\
Usage: irtt client|server|version [options]
       irtt help client|server
";

fn play(call: &Call<'_>) -> Result<Exit, Answer> {
    let Some((command, words)) = call.words.split_first() else { return Err(usage()) };
    match command.as_str() {
        "client" => client::run(words, call.output),
        "server" => server::run(words, call.output),
        "version" => Err(version()),
        "help" => Err(words.first().map_or_else(usage, |command| help(command))),
        "-h" | "--help" => Err(Answer::said((PERSONA.help)(), 0)),
        "bench" | "clock" | "sleep" => Err(absent(command)),
        other => Err(unknown(other)),
    }
}

/// The list of commands, in place of one.
fn usage() -> Answer {
    Answer { stderr: USAGE.to_owned(), status: 2, ..Answer::default() }
}

fn help(command: &str) -> Answer {
    match command {
        "client" => Answer::said(client::help(), 0),
        "server" => Answer::said(server::help(), 0),
        "version" => Answer::said("version: shows the version\n", 0),
        "bench" | "clock" | "sleep" => absent(command),
        other => unknown(other),
    }
}

/// A test that the original makes of itself.
fn absent(command: &str) -> Answer {
    let why = "is a test of the original's own timers, clocks and code: run the original irtt for it";
    Answer::refusal("irtt", command, why)
}

fn unknown(command: &str) -> Answer {
    Answer { stdout: format!("Error: unknown command {command}\n\n"), ..usage() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_an_answer_or_a_reason() {
        let text = version().stdout;
        assert!(
            text.starts_with(
                "irtt version: 0.9.0\nprotocol version: 1\njson format version: 1\ngo version: none (sonde "
            ),
            "{text}"
        );
        assert!(help("client").stdout.contains("--fill=FILL") && help("server").status == 0);
        assert!(help("sleep").stderr.starts_with("irtt: sleep: is a test of the original's own"));
        let other = help("other");
        assert_eq!((other.stdout.as_str(), other.status), ("Error: unknown command other\n\n", 2));
        assert!(other.stderr.starts_with("Usage: irtt "));
    }
}
