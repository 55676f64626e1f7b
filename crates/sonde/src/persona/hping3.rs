//! hping3: its command line and what it prints, for its modes of TCP, UDP and ICMP echo.
//!
//! Words become an [`options::Asked`], answers become lines in [`output`]: pure functions, tested against output of the
//! original. What runs is [`run`].

pub mod options;
pub mod output;
pub mod run;
#[cfg(test)]
mod transcript;

use std::sync::Arc;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::netperf::say;

/// Is hping3: reads the words behind its name, runs what they ask for, prints.
pub fn play(words: &[String], output: &Arc<Output>) -> Exit {
    let run = || {
        let asked = options::parse(words)?;
        for note in &asked.notes {
            output.note(&format!("hping3: {note}\n"));
        }
        let command: Vec<String> = std::iter::once("hping3".to_owned()).chain(words.iter().cloned()).collect();
        run::run(&asked, &command, output)
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}
