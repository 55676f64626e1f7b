//! A persona, and the arguments that it is called with.

use std::sync::Arc;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;

/// A program whose place this binary takes.
#[derive(Debug)]
pub struct Persona {
    /// Its name.
    pub name: &'static str,
    /// Another name of it.
    pub alias: Option<&'static str>,
    /// Its line in the list of commands.
    pub about: &'static str,
    /// Examples and its own usage, for the help of `sonde NAME`.
    pub help: fn() -> String,
    /// Colours of its output.
    pub colours: ColorChoice,
    /// True where a link may stand in its place: not where most uses of the original are refused.
    pub linked: bool,
    /// Plays the part. Text that is printed in place of a run is an error.
    pub play: fn(&Call<'_>) -> Result<Exit, Answer>,
}

/// A call of a persona.
pub struct Call<'a> {
    /// The name it is called by.
    pub program: &'static str,
    /// The words behind it.
    pub words: &'a [String],
    /// Output of everything.
    pub output: &'a Arc<Output>,
}

impl Call<'_> {
    /// The whole command line.
    pub fn command(&self) -> Vec<String> {
        std::iter::once(self.program.to_owned()).chain(self.words.iter().cloned()).collect()
    }

    /// Says notes on standard error, a line each.
    pub fn note(&self, notes: &[String]) {
        for note in notes {
            self.output.note(&format!("{}: {note}\n", self.program));
        }
    }
}

impl Persona {
    /// Plays the part. Standard output that cannot be written to is a failure here too.
    pub fn play(&self, words: &[String]) -> Exit {
        let output = Arc::new(Output::new(self.colours, false, false));
        let call = Call { program: self.name, words, output: &output };
        let exit = (self.play)(&call).unwrap_or_else(|answer| answer.say(&output));
        match output.fault() {
            Some(fault) if exit == Exit::Done => {
                output.aside(&format!("{}: standard output: cannot write the result: {fault}\n", self.name));
                Exit::Persona(1)
            }
            _ => exit,
        }
    }
}
