//! The first replies while the host is still being tried: one line on standard error that grows, or events.

use std::sync::{Mutex, PoisonError};

use endpoint::reach::Heard;
use logbook::event::Line;
use logbook::look::FirstAnswer;
use measure::reach::Seen;
use report::look::FirstLine;

use crate::command::result_options::ResultOptions;
use crate::command::rtt::stream::Stream;
use crate::output::Output;

/// Output of the first answers.
pub struct First<'a> {
    output: &'a Output,
    /// True where the result is text, so that the line is printed.
    text: bool,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    line: FirstLine,
    stream: Stream<'a>,
}

impl<'a> First<'a> {
    /// Begins with the line before anything has answered.
    pub fn open(line: FirstLine, options: &ResultOptions, stream: Stream<'a>, output: &'a Output) -> Self {
        let text = !options.json && !options.json_lines && options.export.is_none();
        Self { output, text, state: Mutex::new(State { line, stream }) }
    }

    /// Takes what was heard at an address; only replies are on the line.
    pub fn hear(&self, address: &str, heard: Heard<'_>) {
        let (over, port, seen) = match heard {
            Heard::Echo(seen) => ("icmp".to_owned(), None, seen),
            Heard::Port(port, seen) => (port.transport.to_string(), Some(port.number), seen),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = FirstAnswer { address: address.to_owned(), over, port, seen: seen.clone() };
        if let (Seen::Answer { after_ns }, true) = (seen, self.text) {
            let line = self.output.style().say(state.line.add(&answer.over, port, *after_ns));
            // A line that is longer than the terminal could not be overwritten.
            if self.output.shows_progress() && line.chars().count() + 2 < self.output.style().width {
                self.output.progress(&line);
            }
        }
        // Whoever reads events no more will not read the last of them either.
        let _ = state.stream.write(&Line::Answer(Box::new(answer)));
    }

    /// Prints the line as it is at the end, above which no answer stands yet.
    pub fn close(self) -> Stream<'a> {
        let State { line, stream } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.text {
            self.output.note(&self.output.style().say(&format!("{}\n", line.text())));
        }
        stream
    }
}
