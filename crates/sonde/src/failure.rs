//! The failure of a command: what happened, to whom, on whose side, what to try.
//!
//! Every error of a library ends as a [`Failure`], which is printed as text or as the error document of `logbook`.

use endpoint::error::{Cause, EndpointError, Side};
use logbook::document::Unwritable;
use logbook::event::Line;
use logbook::failure::ErrorDocument;
use logbook::store::StoreError;
use report::layout::{Page, Piece, Style};

use crate::exit::Exit;
use crate::{masking, words};

/// The end of a command that could not do its work.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The exit status that goes with it.
    pub exit: Exit,
    /// The usage of the command, where that is the question.
    pub usage: Option<String>,
    /// The text and its facts.
    pub told: logbook::failure::Failure,
}

impl Failure {
    /// A fault of the command line, a file or a permission: exit status 2, our own side.
    pub fn usage(what: impl Into<String>) -> Self {
        let side = Some(logbook::failure::Side::Ours);
        let told = logbook::failure::Failure { what: what.into(), to_whom: None, side, hint: None, partial: None };
        Self { exit: Exit::Usage, usage: None, told }
    }

    /// The result cannot be written to standard output: `fault` is what the system says.
    pub fn unwritten(fault: &str) -> Self {
        Self::usage(format!("standard output: cannot write the result: {fault}"))
            .about("standard output")
            .hint("make room where it goes, or send it elsewhere")
    }

    /// The same with what to try.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.told.hint = Some(hint.into());
        self
    }

    /// The same with whom, which file or which option it happened to.
    pub fn about(mut self, whom: impl Into<String>) -> Self {
        self.told.to_whom = Some(whom.into());
        self
    }

    /// The same without passwords.
    fn masked(&self) -> Self {
        let mask = |text: &String| masking::text(text).into_owned();
        let logbook::failure::Failure { what, to_whom, hint, .. } = &self.told;
        let told = logbook::failure::Failure {
            what: mask(what),
            to_whom: to_whom.as_ref().map(mask),
            hint: hint.as_ref().map(mask),
            ..self.told.clone()
        };
        Self { exit: self.exit, usage: self.usage.clone(), told }
    }

    /// The lines for a person, words wrapped at the style's width.
    pub fn lines(&self, style: &Style) -> String {
        let (mut page, told) = (Page::new(*style), self.masked().told);
        say(&mut page, "error:", &told.what);
        if let Some(hint) = &told.hint {
            say(&mut page, "try:", hint);
        }
        if let Some(usage) = &self.usage {
            page.gap();
            usage.lines().for_each(|line| page.line(0, &[Piece::from(line)]));
        }
        page.finish()
    }

    /// The lines that a command of another program's form prints.
    pub fn text(&self) -> String {
        let told = self.masked().told;
        let mut text = format!("error: {}\n", told.what);
        for (before, more) in [("hint:  ", &told.hint), ("\n", &self.usage)] {
            if let Some(more) = more {
                text.extend([before, more, "\n"]);
            }
        }
        text
    }

    /// The document for a program.
    pub fn document(&self) -> String {
        ErrorDocument::new(self.masked().told).to_text()
    }

    /// The same as the last of the events.
    pub fn line(&self) -> String {
        Line::Error(Box::new(self.masked().told)).to_json()
    }
}

/// Column at which the text behind `error:` and `try:` starts.
const INDENT: usize = 7;

/// The first line of `text` wrapped behind its label; further ones, as an excerpt or commands, as they are.
fn say(page: &mut Page, label: &str, text: &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    page.paragraph(0, &Piece::from(label), INDENT, first);
    rest.lines().for_each(|line| page.line(0, &[Piece::from(line)]));
}

/// Status 2 for an error of our own system, as for lack of a permission, a device or a right name; 1 for a refusal of the
/// far side or the path.
impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        let exit = match (error.side, &error.cause) {
            (Side::Ours, Cause::System(_)) => Exit::Usage,
            _ => Exit::NothingAnswered,
        };
        let side = match error.side {
            Side::Ours => Some(logbook::failure::Side::Ours),
            Side::Theirs => Some(logbook::failure::Side::Theirs),
            Side::Path => Some(logbook::failure::Side::Path),
            Side::Unknown => None,
        };
        let hint = words::hint(&error);
        let told =
            logbook::failure::Failure { what: error.to_string(), to_whom: Some(error.peer), side, hint, partial: None };
        Self { exit, usage: None, told }
    }
}

impl From<Unwritable> for Failure {
    fn from(error: Unwritable) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::usage(error.to_string()).hint(error.hint())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use endpoint::error::Step;
    use test_case::test_case;

    use super::*;

    #[test_case("redis"; "a protocol with a password of its own")]
    #[test_case("postgres"; "one with a login")]
    #[test_case("amqp"; "one that is not spoken")]
    fn a_password_is_said_nowhere(scheme: &str) {
        let url = format!("{scheme}://me:secret@db1");
        let failure = Failure::usage(format!("invalid value '{url}'")).hint(format!("not {url}")).about(&url);
        for told in [failure.lines(&Style::default()), failure.text(), failure.document(), failure.line()] {
            assert!(told.contains("me:***@db1") && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn text_and_document_say_the_same() {
        let failure = Failure::usage("no such thing").hint("take another").about("that one");
        assert_eq!(failure.lines(&Style::default()), "error: no such thing\ntry:   take another\n");
        assert_eq!(failure.text(), "error: no such thing\nhint:  take another\n");
        let document: serde_json::Value = serde_json::from_str(&failure.document()).unwrap();
        assert_eq!(document["format"], "sonde-error");
        assert_eq!(document["error"]["what"], "no such thing");
        assert_eq!(document["error"]["hint"], "take another");
        assert_eq!(document["error"]["to_whom"], "that one");
        let line: serde_json::Value = serde_json::from_str(&failure.line()).unwrap();
        assert_eq!((&line["event"], &line["data"]["what"]), (&"error".into(), &document["error"]["what"]));
    }

    #[test]
    fn words_wrap_and_excerpts_stand_as_they_are() {
        let failure =
            Failure::usage("plan.toml, line 1, column 11: 5000 repeats\n  1 | repeats = 5000\n    |           ^^^^");
        let lines = failure.hint("a count from 1 to 1000").lines(&Style { width: 40, ..Style::default() });
        let expected = "error: plan.toml, line 1, column 11:\n       5000 repeats\n  1 | repeats = 5000\n    |           ^^^^\n\
                        try:   a count from 1 to 1000\n";
        assert_eq!(lines, expected);
    }

    #[test_case(Step::Connect, io::ErrorKind::ConnectionRefused, 1; "a closed port")]
    #[test_case(Step::OpenSocket("raw"), io::ErrorKind::PermissionDenied, 2; "no permission")]
    #[test_case(Step::LookUp, io::ErrorKind::NotFound, 2; "an unknown name")]
    fn the_side_decides_the_status(step: Step, kind: io::ErrorKind, code: u8) {
        let failure = Failure::from(EndpointError::new(step, "db1", io::Error::from(kind)));
        assert_eq!(failure.exit.code(), code);
        assert_eq!(failure.told.to_whom.as_deref(), Some("db1"));
    }
}
