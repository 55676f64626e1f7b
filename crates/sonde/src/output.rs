//! The only room that prints: the result on standard output, everything else on standard error. Nothing that a terminal would obey
//! passes but colours of our own, wherever a text comes from: names, peers and files may hold anything.
//!
//! Colour and its absence (`NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`, no terminal) are anstream's affair. A reader that
//! has gone (`| head`) is a quiet end, not an error; any other fault of standard output is told once, at the end.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use anstream::ColorChoice;
use report::layout::{Page, Piece, Style, is_ascii_locale};
use report::markup::{cut, for_terminal};

use crate::failure::Failure;

/// Output of a command's words.
#[derive(Debug)]
pub struct Output {
    quiet: bool,
    /// A terminal on standard error that can wipe a line.
    wipes: bool,
    style: Style,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Lines of progress that stand on the terminal and have to be wiped before anything else is said.
    progress: usize,
    result: ResultStream,
    /// True where any of the result was printed.
    begun: bool,
    /// True where its last part was printed: nothing may come behind it.
    whole: bool,
}

/// The state of standard output so far.
#[derive(Debug, Default)]
enum ResultStream {
    #[default]
    Open,
    ReaderGone,
    Broken(io::Error),
}

impl Output {
    /// An output with the colours asked for; `quiet` leaves notes and progress out, `verbose` nothing.
    pub fn new(color: ColorChoice, quiet: bool, verbose: bool) -> Self {
        let is_dumb = variable("TERM").is_some_and(|kind| kind == "dumb");
        // Where `CI` is set, anstream takes any terminal for one that obeys, even one that is said to obey nothing.
        let is_forced = variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty());
        let color = if color == ColorChoice::Auto && is_dumb && !is_forced { ColorChoice::Never } else { color };
        color.write_global();
        // Colours are stripped where they are not wanted when the text is written.
        let style = Style { width: width(), colour: true, verbose, ascii: is_ascii_locale(variable) };
        let wipes = io::stderr().is_terminal() && !is_dumb;
        Self { quiet, wipes, style, state: Mutex::default() }
    }

    /// The style of text for people.
    pub fn style(&self) -> &Style {
        &self.style
    }

    /// Prints a part of the result, without its colours where these are not wanted. `false`: nobody reads any more.
    pub fn result(&self, text: &str) -> bool {
        self.print(for_terminal(text).as_bytes(), &mut anstream::stdout().lock())
    }

    /// Prints a part of the result to the octet, bells and backspaces too, as another program would.
    pub fn exactly(&self, text: &str) -> bool {
        self.print(text.as_bytes(), &mut io::stdout().lock())
    }

    fn print(&self, text: &[u8], stdout: &mut dyn Write) -> bool {
        let mut state = self.lock();
        state.wipe();
        state.begun = true;
        if matches!(state.result, ResultStream::Open) {
            state.result = match stdout.write_all(text).and_then(|()| stdout.flush()) {
                Ok(()) => ResultStream::Open,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ResultStream::ReaderGone,
                Err(error) => ResultStream::Broken(error),
            };
        }
        matches!(state.result, ResultStream::Open)
    }

    /// True where any of the result was printed before.
    pub fn has_result(&self) -> bool {
        self.lock().begun
    }

    /// The last part of the result has been printed.
    pub fn end_result(&self) {
        self.lock().whole = true;
    }

    /// True where the result is whole, so that nothing may be added to it.
    pub fn has_whole_result(&self) -> bool {
        self.lock().whole
    }

    /// True where what is printed is still read.
    pub fn is_open(&self) -> bool {
        matches!(self.lock().result, ResultStream::Open)
    }

    /// The reason why the result could not be written, where it is more than a reader that went away.
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
        let text = for_terminal(text);
        let text = if self.style.ascii { Cow::Owned(self.style.say(&text)) } else { text };
        let text = match rustix::termios::tcgetwinsize(io::stderr()) {
            Ok(size) if size.ws_col > 0 => Cow::Owned(self.folded(&text, usize::from(size.ws_col).max(40))),
            _ => text,
        };
        // Where not even standard error can be written to there is nobody left to tell.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }

    /// Lines that are too long for `width`, wrapped at words below their own indent; all others as they are.
    fn folded(&self, text: &str, width: usize) -> String {
        let fold = |line: &str| {
            let bare = line.trim_end_matches('\n');
            // Colours take no room, and are in no line that could be too long.
            if bare.chars().count() <= width || bare.contains('\u{1b}') {
                return line.to_owned();
            }
            let indent = bare.len() - bare.trim_start_matches(' ').len();
            let mut page = Page::new(Style { width, ..self.style });
            page.paragraph(indent, &Piece::default(), indent, bare);
            let folded = page.finish();
            if line.ends_with('\n') { folded } else { folded.trim_end_matches('\n').to_owned() }
        };
        text.split_inclusive('\n').map(fold).collect()
    }

    /// Says why something failed, even when quiet: wrapped where standard error is a terminal, else a line each for error and advice.
    pub fn complain(&self, failure: &Failure) {
        let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { usize::MAX } else { width.max(40) };
        self.aside(&failure.lines(&Style { width, ..self.style }));
    }

    /// True where a progress line has a terminal to stand on, and was not declined.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && self.wipes
    }

    /// True where a screen that is drawn again and again has a terminal to stand on, which nothing else is printed to meanwhile.
    pub fn shows_screen(&self) -> bool {
        self.shows_progress() && io::stdout().is_terminal()
    }

    /// Replaces the progress line: as much of it as the terminal has room for, since a line that wraps cannot be wiped. Call it only where
    /// [`Output::shows_progress`].
    pub fn progress(&self, line: &str) {
        let line = format!("  {}", self.style.say(line));
        self.draw(cut(&line, terminal_size().1 - 1));
    }

    /// Replaces the progress by `text`: as much of it as the terminal has room for. Call it only where [`Output::shows_screen`].
    pub fn screen(&self, text: &str) {
        let (rows, cells) = terminal_size();
        // A line that filled its row would leave the cursor on one or on the next, as the terminal likes.
        let cut = |line| cut(line, cells - 1);
        self.draw(&text.lines().take(rows).map(cut).collect::<Vec<_>>().join("\n"));
    }

    fn draw(&self, text: &str) {
        let mut state = self.lock();
        state.wipe();
        let drawn = anstream::stderr().lock().write_all(for_terminal(text).as_bytes()).is_ok();
        state.progress = if drawn { text.lines().count() } else { 0 };
    }

    /// Wipes the progress.
    pub fn progress_done(&self) {
        self.lock().wipe();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A thread that panicked while printing leaves at worst half a line behind.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The result as a stream of octets, each as it is. Where nobody reads any more it says so; [`Output`] knows why.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.print(bytes, &mut io::stdout().lock()) {
            Ok(bytes.len())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    fn wipe(&mut self) {
        // Straight to the terminal: anstream would strip the erasure where colours are off.
        let _ = match std::mem::take(&mut self.progress) {
            0 => Ok(()),
            1 => io::stderr().write_all(b"\r\x1b[2K"),
            lines => io::stderr().write_all(format!("\r\x1b[{}A\x1b[J", lines - 1).as_bytes()),
        };
    }
}

/// Rows and cells of the terminal on standard error, at least one each.
fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).map_or((0, 0), |size| (size.ws_row, size.ws_col));
    match size {
        (0, _) | (_, 0) => (24, 80),
        (rows, cells) => (usize::from(rows), usize::from(cells)),
    }
}

/// Cells of a line: the terminal's that the result goes to, 80 where it goes elsewhere.
fn width() -> usize {
    let cells = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if cells == 0 { Style::default().width } else { cells.clamp(40, 200) }
}

#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The text without colours, and without what a terminal would obey: for files.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&for_terminal(text)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_no_colours() {
        assert_eq!(plain(&report::markup::sealed("\u{1b}[1mbold\u{1b}[0m µs")), "bold µs");
    }
}
