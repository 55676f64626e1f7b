//! iperf3: its command line and what it prints.
//!
//! Words become an [`options::Asked`], a run becomes [`facts`], and [`output`] makes the text and the JSON of both: pure
//! functions all, tested against output of the original. What runs is [`run`].

pub mod facts;
pub mod options;
pub mod output;
pub mod run;
#[cfg(test)]
mod transcript;

use std::sync::Arc;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf3::options::Role;
use crate::persona::netperf::say;

/// Is iperf3: reads the words behind its name, runs what they ask for, prints.
pub fn play(words: &[String], output: &Arc<Output>) -> Exit {
    let run = || {
        let asked = options::parse(words)?;
        for note in &asked.notes {
            output.note(&format!("iperf3: {note}\n"));
        }
        match &asked.role {
            Role::Server(server) => run::server::run(&asked, server, output),
            Role::Client(client) => {
                let command: Vec<String> = std::iter::once("iperf3".to_owned()).chain(words.iter().cloned()).collect();
                run::client::run(&asked, client, &command, output)
            }
        }
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}
