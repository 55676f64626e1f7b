//! Dialogue of two programs, octet by octet: the fixture that a session is tested against.
//!
//! Text, so that a reader sees what it holds and a change shows as a difference of lines:
//! ```text
//! program: netserver 2.7.1
//! # asks for the session's parameters
//! > 0000 0102 ff
//! < 0a
//! ```
//! `>` is what the side under test says, `<` what it hears; lines of one direction that follow each other are messages
//! of their own. The first line names the program, with its version, that the rest was taken from.

use std::fmt::{self, Write as _};

/// A conversation, and the program it was taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The program and its version.
    pub program: String,
    /// Messages, in order.
    pub messages: Vec<Message>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Side that sent it.
    pub side: Side,
    /// Its octets.
    pub bytes: Vec<u8>,
}

/// The two sides of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side under test.
    Ours,
    /// The other one.
    Theirs,
}

/// Text that is no transcript: the line, from 1, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptError {
    /// The line, from 1.
    pub line: usize,
    /// The fault.
    pub fault: &'static str,
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the transcript: {}", self.line, self.fault)
    }
}

impl std::error::Error for TranscriptError {}

impl Transcript {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, TranscriptError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let program = lines.next().and_then(|(_, line)| line.strip_prefix("program:")).map(str::trim);
        let Some(program) = program.filter(|program| !program.is_empty()) else {
            return Err(TranscriptError {
                line: 1,
                fault: "the first line names the program: `program: NAME VERSION`",
            });
        };
        let spoken = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let messages = spoken.map(|(number, line)| message(number, line)).collect::<Result<_, _>>()?;
        Ok(Self { program: program.to_owned(), messages })
    }

    /// All that one side said, joined.
    pub fn said_by(&self, side: Side) -> Vec<u8> {
        self.messages.iter().filter(|message| message.side == side).flat_map(|message| message.bytes.clone()).collect()
    }
}

fn message(line: usize, text: &str) -> Result<Message, TranscriptError> {
    let fault = |fault| TranscriptError { line, fault };
    let (side, digits) = match (text.strip_prefix('>'), text.strip_prefix('<')) {
        (Some(digits), _) => (Side::Ours, digits),
        (_, Some(digits)) => (Side::Theirs, digits),
        _ => return Err(fault("a message begins with `>` or `<`, a remark with `#`")),
    };
    let bytes = octets(digits).ok_or_else(|| fault("a message is pairs of hexadecimal digits"))?;
    Ok(Message { side, bytes })
}

fn octets(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks(2);
    pairs.map(|pair| Some(pair[0] << 4 | pair.get(1)?)).collect()
}

/// The text form, 16 octets to a group of two.
impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "program: {}", self.program)?;
        for Message { side, bytes } in &self.messages {
            f.write_char(if *side == Side::Ours { '>' } else { '<' })?;
            for pair in bytes.chunks(2) {
                f.write_char(' ')?;
                pair.iter().try_for_each(|octet| write!(f, "{octet:02x}"))?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "program: netserver 2.7.1\n# hello\n> 0001 02\n\n< ff\n< 0a0b\n";

    #[test]
    fn a_transcript_is_read_and_written() {
        let transcript = Transcript::parse(TEXT).unwrap();
        assert_eq!(transcript.program, "netserver 2.7.1");
        assert_eq!(transcript.said_by(Side::Ours), [0, 1, 2]);
        assert_eq!(transcript.said_by(Side::Theirs), [0xff, 0x0a, 0x0b]);
        assert_eq!(transcript.messages.len(), 3);
        assert_eq!(transcript.to_string(), "program: netserver 2.7.1\n> 0001 02\n< ff\n< 0a0b\n");
        assert_eq!(Transcript::parse(&transcript.to_string()), Ok(transcript));
    }

    #[test]
    fn what_is_no_transcript_is_refused_with_its_line() {
        let line = |text: &str| Transcript::parse(text).unwrap_err().line;
        assert_eq!(line("> 00"), 1);
        assert_eq!(line("program:\n"), 1);
        assert_eq!(line("program: x 1\n> 00\n00"), 3);
        assert_eq!(line("program: x 1\n> 0"), 2);
        assert_eq!(line("program: x 1\n> 0g"), 2);
    }
}
