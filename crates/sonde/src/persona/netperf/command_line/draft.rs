//! Options while they are read: what later words may still change, and the sentences that gather on the way.

use endpoint::name::Family;

use crate::persona::answer::Answer;
use crate::persona::netperf::command_line::global;
use crate::persona::netperf::command_line::number::{self, Read, Reason};
use crate::persona::netperf::options::{Confidence, Options};
use crate::persona::netperf::test_name::Test;
use crate::persona::netperf::unit::Unit;

/// Fewest and most iterations that `-i` may ask for.
const ITERATIONS: (u32, u32) = (3, 30);
/// Iterations at most where `-I` alone asks for confidence.
const MAX_UNASKED: u32 = 10;
/// Level and full width in percent where only the iterations are given.
const LEVEL: u8 = 99;
const WIDTH_PERCENT: f64 = 5.0;

/// Options while they are read.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The program's name as typed: complaints begin with it.
    pub program: String,
    /// All that is settled.
    pub options: Options,
    /// `-f`, before the direction is known.
    pub unit: Option<Unit>,
    /// `-i`: most and fewest.
    pub iterations: (Option<u32>, Option<u32>),
    /// `-I`: level in percent.
    pub level: Option<f64>,
    /// `-I`: full width in percent.
    pub width_percent: Option<f64>,
    /// `-r`.
    pub result_only: bool,
    /// `-t` named no test there is.
    pub unknown_test: Option<String>,
}

impl Draft {
    /// Nothing read yet.
    pub fn new(program: &str, words: &[String]) -> Self {
        let program = program.rsplit('/').next().unwrap_or(program).to_owned();
        let command_line = std::iter::once(&program).chain(words).map(String::as_str).collect::<Vec<_>>().join(" ");
        Self {
            program,
            options: global::defaults(command_line),
            unit: None,
            iterations: (None, None),
            level: None,
            width_percent: None,
            result_only: false,
            unknown_test: None,
        }
    }

    /// Keeps a sentence for standard error.
    pub fn note(&mut self, text: String) {
        self.options.notes.push(text);
    }

    /// Keeps what there is to say about how a value was read.
    pub fn note_of(&mut self, letter: char, text: &str, note: Option<String>) {
        if let Some(note) = note {
            self.note(format!("-{letter} {text}: {note}"));
        }
    }

    /// An option that is not taken.
    pub fn refuse(&self, option: &str, why: &str) -> Answer {
        Answer::refusal(&self.program, option.trim_end(), why)
    }

    /// A number that is not negative.
    pub fn number(&mut self, letter: char, text: &str) -> Result<u32, Reason> {
        let Read { value, note } = number::unsigned(text)?;
        self.note_of(letter, text, note);
        Ok(value)
    }

    /// The same of a part that may be absent.
    pub fn number_of(&mut self, letter: char, text: Option<&str>) -> Result<Option<u32>, Reason> {
        text.map(|text| self.number(letter, text)).transpose()
    }

    /// An address family by its word; any, with a note, where there is none of that name.
    pub fn family(&mut self, word: &str) -> Family {
        match word.to_ascii_lowercase().as_str() {
            "4" | "inet" | "af_inet" => Family::V4,
            "6" | "inet6" | "af_inet6" => Family::V6,
            "unspec" | "0" | "af_unspec" => Family::Any,
            _ => {
                self.note(format!("`{word}` is no address family (4, inet, 6, inet6, unspec): any will do"));
                Family::Any
            }
        }
    }

    /// Takes the name of a test. A name that is none is reported when everything is read, as the original does.
    pub fn test_named(&mut self, name: &str) -> Result<(), Reason> {
        let test = Test::named(name);
        self.unknown_test = test.is_none().then(|| name.to_owned());
        if name.to_ascii_uppercase().starts_with("SCTP_") {
            return Err("SCTP is measured by omni: `-t omni -- -T sctp -d send` (or `-d rr`)".to_owned());
        }
        self.options.test = test.unwrap_or_default();
        Ok(())
    }

    /// Sets the repeats of the test: none, or until its confidence is reached.
    ///
    /// # Errors
    /// A level that is neither 95 nor 99, in the words of the original.
    pub fn settle_confidence(&mut self) -> Result<(), String> {
        let (max, min) = self.iterations;
        if self.level.is_none() && max.is_none() && min.is_none() {
            return Ok(());
        }
        let level = match self.level {
            None => LEVEL,
            Some(95.0) => 95,
            Some(99.0) => 99,
            Some(_) => return Err("Only 95% and 99% confidence level is supported\n".to_owned()),
        };
        let clamped = |asked: Option<u32>, otherwise| asked.unwrap_or(otherwise).clamp(ITERATIONS.0, ITERATIONS.1);
        let (max, min) = (clamped(max, MAX_UNASKED), clamped(min, ITERATIONS.0));
        self.options.confidence = Some(Confidence {
            level,
            width_percent: self.width_percent.unwrap_or(WIDTH_PERCENT),
            min,
            max: max.max(min),
            result_only: self.result_only,
        });
        Ok(())
    }
}
