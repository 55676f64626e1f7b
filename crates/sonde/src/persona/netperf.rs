//! netperf and netserver: their command lines and what they print.
//!
//! Words become [`options`], a run fills [`facts`], and [`output`] makes the text of both: pure functions all, tested
//! against output of the original. What runs a test is [`run`].

pub mod confidence;
pub mod facts;
pub mod figures;
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

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;

/// Is netperf: reads the words behind its name, runs the test, prints.
pub fn client(program: &str, words: &[String], output: &Output) -> Exit {
    let run = || {
        let mut options = options::parse(program, words)?;
        selection::resolve(&mut options, |path| std::fs::read_to_string(path))?;
        tell("netperf", &options.notes, output);
        let command: Vec<String> = [program].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect();
        run::client(&options, &command, output)
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}

/// Is netserver.
pub fn server(program: &str, words: &[String], output: &Output) -> Exit {
    let run = || {
        let options = options::server::parse(program, words)?;
        tell("netserver", &options.notes, output);
        run::server::run(&options, output)
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}

/// Notes stand on standard error, a line each.
fn tell(program: &str, notes: &[String], output: &Output) {
    for note in notes {
        output.note(&format!("{program}: {note}\n"));
    }
}

/// Prints an answer; its status is that of the program.
pub fn say(answer: &Answer, output: &Output) -> Exit {
    if !answer.stdout.is_empty() {
        output.result(&answer.stdout);
    }
    if !answer.stderr.is_empty() {
        output.aside(&answer.stderr);
    }
    match answer.status {
        0 => Exit::Done,
        status => Exit::Persona(status),
    }
}
