//! The words behind irtt's commands, by the rules of the library that reads them: a value stands behind `=` of a long name, and
//! behind a letter in the same word or the next; a switch may have one too.

use crate::persona::answer::Answer;
use crate::persona::getopt::{Entry, Fault, GNU, Given, Rules, Scan, Why};
use crate::persona::irtt::duration;

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// A duration.
    Time,
    /// True or false; true where none is given.
    Switch,
}

/// Long names are whole.
const RULES: Rules = Rules { abbreviations: false, ..GNU };

/// The help in place of a run, behind a complaint where there is one: on standard error, as the original has it.
pub fn usage(complaint: &str, help: &str) -> Answer {
    let line = if complaint.is_empty() { String::new() } else { format!("{complaint}\n") };
    Answer { stderr: line + help, status: 2, ..Answer::default() }
}

/// A complaint of a value.
pub fn complaint(text: &str) -> Answer {
    Answer { stderr: format!("{text}\n"), status: 2, ..Answer::default() }
}

/// The lines of a help: those options that have a text for it.
pub fn lines<K>(entries: &[Entry<K, Kind>]) -> String {
    let line = |entry: &Entry<K, Kind>| {
        let (value, text) = entry.help.split_once("  ").unwrap_or(("", entry.help));
        let left = match (entry.letters, entry.names.first()) {
            ("", Some(name)) if value.is_empty() => format!("--{name}"),
            ("", Some(name)) => format!("--{name}={value}"),
            (letters, _) => format!("-{letters} {value}"),
        };
        format!("  {left:<21} {text}\n")
    };
    entries.iter().filter(|entry| !entry.help.is_empty()).map(line).collect()
}

/// The words of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words<K: 'static>(Given<K, Kind>);

impl<K: Copy + PartialEq> Words<K> {
    /// Reads them.
    ///
    /// # Errors
    /// The complaint of the first one that does not fit.
    pub fn parse(words: &[String], entries: &'static [Entry<K, Kind>]) -> Result<Self, String> {
        let given = Given::all(Scan::new(words, entries, RULES)).map_err(|fault| wrong_word(&fault))?;
        given.options.iter().try_for_each(|(entry, value)| check(entry, value.as_deref()))?;
        Ok(Self(given))
    }

    /// True where an option was given.
    pub fn has(&self, word: K) -> bool {
        self.0.has(word)
    }

    /// The value of an option.
    pub fn text<'a>(&'a self, word: K, usual: &'a str) -> &'a str {
        self.0.text(word).unwrap_or(usual)
    }

    /// The number of an option.
    pub fn whole(&self, word: K, usual: i64) -> i64 {
        self.0.text(word).and_then(|text| number(text, 64).ok()).unwrap_or(usual)
    }

    /// The duration of an option, nanoseconds.
    pub fn time(&self, word: K, usual: i64) -> i64 {
        self.0.text(word).and_then(|text| duration::parse(text).ok()).unwrap_or(usual)
    }

    /// True where a switch is on.
    pub fn is_on(&self, word: K) -> bool {
        self.0.has(word) && self.0.text(word).and_then(truth).unwrap_or(true)
    }

    /// The words that are no options.
    pub fn operands(&self) -> &[String] {
        &self.0.operands
    }
}

/// The complaint of a word.
fn wrong_word(fault: &Fault) -> String {
    let word = &fault.word;
    match (fault.why, fault.letter) {
        (Why::NoValue, Some(letter)) => format!("flag needs an argument: '{letter}' in {word}"),
        (_, Some(letter)) => format!("unknown shorthand flag: '{letter}' in {word}"),
        (_, None) if word.starts_with("--=") || word.starts_with("---") => format!("bad flag syntax: {word}"),
        (_, None) => format!("unknown flag: {}", fault.typed()),
    }
}

/// Checks the value of an option; the complaint of it.
fn check<K>(entry: &Entry<K, Kind>, value: Option<&str>) -> Result<(), String> {
    let Some(value) = value else {
        let is_switch = entry.place == Kind::Switch;
        return if is_switch { Ok(()) } else { Err(format!("flag needs an argument: {}", entry.name())) };
    };
    let why = match entry.place {
        Kind::Text => None,
        Kind::Number => number(value, 64).err(),
        Kind::Time => duration::parse(value).err(),
        Kind::Switch if truth(value).is_some() => None,
        Kind::Switch => Some(format!("strconv.ParseBool: parsing {value:?}: invalid syntax")),
    };
    let typed = || entry.names.first().map_or_else(|| entry.name(), |name| format!("--{name}={value}"));
    why.map_or(Ok(()), |why| Err(format!("invalid argument {value:?} for {}: {why}", typed())))
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A number of so many bits with a sign: decimal, or hexadecimal, octal or binary behind `0x`, `0o` (or `0`) or `0b`.
///
/// # Errors
/// The words of Go's library.
pub fn number(text: &str, bits: u32) -> Result<i64, String> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text.strip_prefix('+').unwrap_or(text)), |size| (-1, size));
    let lower = size.to_ascii_lowercase();
    let bases = [("0x", 16), ("0b", 2), ("0o", 8), ("0", 8)];
    let based = bases.iter().find_map(|(head, base)| Some((lower.strip_prefix(head)?, *base)));
    let (digits, base) = based.filter(|(digits, _)| !digits.is_empty()).unwrap_or((&lower, 10));
    let are_digits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
    let fail = |why: &str| format!("strconv.ParseInt: parsing {text:?}: {why}");
    if !are_digits {
        return Err(fail("invalid syntax"));
    }
    let value = i128::from_str_radix(digits, base).ok().map(|value| value * sign);
    let most = 1_i128 << (bits - 1);
    value
        .filter(|value| (-most..most).contains(value))
        .and_then(|value| i64::try_from(value).ok())
        .ok_or_else(|| fail("value out of range"))
}
