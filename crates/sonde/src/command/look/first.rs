//! The first answers, told while the host is still being tried: as text on a line that grows, or as events.

use std::sync::{Mutex, PoisonError};

use endpoint::reach::Heard;
use logbook::event::Line;
use logbook::look::FirstAnswer;
use measure::reach::Seen;
use report::look::{FirstLine, Opening};

use crate::command::result_options::ResultOptions;
use crate::command::rtt::stream::Stream;
use crate::output::Output;

/// Where the first answers go.
pub struct First<'a> {
    output: &'a Output,
    /// Whether text goes to standard output.
    text: bool,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    line: FirstLine,
    stream: Stream<'a>,
}

impl<'a> First<'a> {
    /// Tells what is asked; the answers follow.
    pub fn open(opening: &Opening<'_>, options: &ResultOptions, stream: Stream<'a>, output: &'a Output) -> Self {
        let text = !options.json && !options.json_lines;
        if text {
            output.result(&opening.render(output.style()));
        }
        let line = FirstLine::new(*output.style());
        Self { output, text, state: Mutex::new(State { line, stream }) }
    }

    /// Tells of what was heard at an address; only answers stand on the line.
    pub fn hear(&self, address: &str, heard: Heard<'_>) {
        let (over, port, seen) = match heard {
            Heard::Echo(seen) => ("icmp".to_owned(), None, seen),
            Heard::Port(port, seen) => (port.transport.to_string(), Some(port.number), seen),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = FirstAnswer { address: address.to_owned(), over, port, seen: seen.clone() };
        if let (Seen::Answer { after_ns }, true) = (seen, self.text) {
            let piece = state.line.add(&answer.over, port, *after_ns);
            self.output.result(&piece);
        }
        // Whoever reads events no more will not read the last of them either.
        let _ = state.stream.write(&Line::Answer(Box::new(answer)));
    }

    /// Ends the line.
    pub fn close(self) -> Stream<'a> {
        let State { line, stream } = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.text {
            self.output.result(line.end());
        }
        stream
    }
}
