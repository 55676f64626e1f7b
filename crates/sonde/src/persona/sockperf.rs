//! sockperf: its command line and what it prints.
//!
//! Words become an [`options::Command`], what came back becomes [`statistics`], and [`output`] makes the text of both:
//! pure functions all, tested against output of the original. What runs is [`run`].

pub mod options;
pub mod output;
pub mod run;
pub mod statistics;
#[cfg(test)]
mod transcript;

use std::sync::Arc;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::netperf::say;
use crate::persona::sockperf::options::Command;

/// Is sockperf: reads the words behind its name, runs what they ask for, prints.
pub fn play(words: &[String], output: &Arc<Output>) -> Exit {
    let run = || {
        let asked = options::parse(words)?;
        for note in &asked.notes {
            output.note(&format!("sockperf: {note}\n"));
        }
        match &asked.command {
            Command::Server(server) => run::server::run(server, output),
            Command::Client(client) => {
                let command: Vec<String> =
                    std::iter::once("sockperf".to_owned()).chain(words.iter().cloned()).collect();
                run::client::run(client, &asked.own, &command, output)
            }
        }
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}
