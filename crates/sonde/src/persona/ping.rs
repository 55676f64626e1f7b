//! ping of iputils: its command line and what it prints.
//!
//! Words become [`options::Options`], what was seen becomes [`statistics::Statistics`], and [`output`] makes the text of
//! both: pure functions all, tested against output of the original. What runs is [`run`].

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

/// Is ping: reads the words behind its name, asks, prints.
pub fn play(words: &[String], output: &Arc<Output>) -> Exit {
    let run = || {
        let options = options::parse(words)?;
        let command: Vec<String> = std::iter::once("ping".to_owned()).chain(words.iter().cloned()).collect();
        run::run(&options, &command, output)
    };
    run().unwrap_or_else(|answer: Answer| say(&answer, output))
}
