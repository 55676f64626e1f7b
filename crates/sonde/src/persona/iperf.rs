//! iperf 2: its command line and what it prints. iperf 3 is another program and another folder.
//!
//! Words become [`options::Asked`], what came back becomes lines of [`output`]: pure functions all, tested against output of
//! the original. What runs is [`run`].

pub mod options;
pub mod output;
pub mod run;
#[cfg(test)]
mod transcript;

use std::sync::Arc;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::Role;
use crate::persona::netperf::say;

/// Is iperf: reads the words behind its name, runs what they ask for, prints.
pub fn play(words: &[String], output: &Arc<Output>) -> Exit {
    let run = || {
        let asked = options::parse(words, variable)?;
        for note in &asked.notes {
            output.note(&format!("iperf: {note}\n"));
        }
        match &asked.role {
            Role::Server(server) => run::server::run(server, output),
            Role::Client(client) => {
                let command: Vec<String> = std::iter::once("iperf".to_owned()).chain(words.iter().cloned()).collect();
                run::client::run(client, &asked.own, &command, output)
            }
        }
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}

#[expect(clippy::disallowed_methods, reason = "options may come from the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
