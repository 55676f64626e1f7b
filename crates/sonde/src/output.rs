//! The only room that prints: the result on standard output, everything else on standard error.
//!
//! Colour and its absence (`NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`, no terminal) are anstream's affair. A reader that
//! has gone (`| head`) is a quiet end, not an error; any other fault of standard output is told once, at the end.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use anstream::ColorChoice;

/// Where a command's words go.
#[derive(Debug)]
pub struct Output {
    quiet: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a progress line stands on the terminal and has to be wiped before anything else is said.
    progress: bool,
    result: ResultStream,
}

/// What became of standard output so far.
#[derive(Debug, Default)]
enum ResultStream {
    #[default]
    Open,
    ReaderGone,
    Broken(io::Error),
}

impl Output {
    /// An output with the colours asked for; `quiet` leaves notes and progress out.
    pub fn new(color: ColorChoice, quiet: bool) -> Self {
        color.write_global();
        Self { quiet, state: Mutex::default() }
    }

    /// Prints a part of the result, as it is. `false`: nobody reads any more.
    pub fn result(&self, text: &str) -> bool {
        let mut state = self.lock();
        state.wipe();
        if matches!(state.result, ResultStream::Open) {
            let mut stdout = anstream::stdout().lock();
            state.result = match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                Ok(()) => ResultStream::Open,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ResultStream::ReaderGone,
                Err(error) => ResultStream::Broken(error),
            };
        }
        matches!(state.result, ResultStream::Open)
    }

    /// What kept the result from being written, where it is more than a reader that went away.
    pub fn fault(&self) -> Option<String> {
        match &self.lock().result {
            ResultStream::Broken(error) => Some(error.to_string()),
            ResultStream::Open | ResultStream::ReaderGone => None,
        }
    }

    /// Says something that is no result, on standard error, unless quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.aside(text);
        }
    }

    /// Says something that is no result even when quiet: errors, and what was asked for by a signal.
    pub fn aside(&self, text: &str) {
        let mut state = self.lock();
        state.wipe();
        // Where not even standard error can be written to there is nobody left to tell.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }

    /// Whether a progress line has a terminal to stand on, and was not declined.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Replaces the progress line. Call it only where [`Output::shows_progress`].
    pub fn progress(&self, line: &str) {
        let mut state = self.lock();
        state.wipe();
        state.progress = anstream::stderr().lock().write_all(line.as_bytes()).is_ok();
    }

    /// Wipes the progress line.
    pub fn progress_done(&self) {
        self.lock().wipe();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A thread that panicked while printing leaves at worst half a line behind.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn wipe(&mut self) {
        if std::mem::take(&mut self.progress) {
            // Straight to the terminal: anstream would strip the erasure where colours are off.
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

/// The text without colours: for files.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_no_colours() {
        assert_eq!(plain("\u{1b}[1mbold\u{1b}[0m µs"), "bold µs");
    }
}
