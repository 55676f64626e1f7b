//! Values of options as they are read: what fits, what is complained of, what is noted.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use crate::persona::answer::Answer;
use crate::persona::sockperf::options::number;
use crate::persona::sockperf::options::table::{Given, Key, Subcommand};

/// The options of one command line while they are read.
pub(super) struct Reading {
    pub(super) subcommand: Subcommand,
    pub(super) given: Given,
    pub(super) notes: Vec<String>,
}

impl Reading {
    pub(super) fn has(&self, key: Key) -> bool {
        self.given.has(key)
    }

    pub(super) fn text(&self, key: Key) -> Option<&str> {
        self.given.text(key)
    }

    pub(super) fn path(&self, key: Key) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    /// A number within `range`. `name` is for the note where it is read in a way that surprises; `fault` makes the
    /// complaint of the word.
    pub(super) fn number<N: TryFrom<i64>>(
        &mut self,
        key: Key,
        name: &str,
        range: RangeInclusive<i64>,
        fault: impl Fn(&str) -> String,
    ) -> Result<Option<N>, Answer> {
        let Some(text) = self.text(key).map(str::to_owned) else { return Ok(None) };
        let read = number::read(&text).filter(|read| range.contains(&read.value));
        let value = read.and_then(|read| N::try_from(read.value).ok().map(|value| (read, value)));
        let Some((read, value)) = value else { return Err(self.complaint(&fault(&text))) };
        if !read.rest.trim().is_empty() {
            let behind =
                format!("{name} {text}: is read as {}: what stands behind the number does not count", read.value);
            self.notes.push(behind);
        } else if read.octal {
            self.notes.push(format!("{name} {text}: is read as {}: a leading 0 makes it octal", read.value));
        }
        Ok(Some(value))
    }

    /// A number of digits alone.
    pub(super) fn digits<N: TryFrom<i64>>(
        &mut self,
        key: Key,
        name: &str,
        range: RangeInclusive<i64>,
        fault: impl Fn(&str) -> String,
    ) -> Result<Option<N>, Answer> {
        match self.text(key) {
            Some(text) if !number::is_digits(text) => Err(self.complaint(&fault(text))),
            _ => self.number(key, name, range, fault),
        }
    }

    /// A port, which is decimal however it begins.
    pub(super) fn port(&self, key: Key, fault: &str) -> Result<Option<u16>, Answer> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let port = text.parse().ok().filter(|_| number::is_digits(text));
        port.map(Some).ok_or_else(|| self.complaint(&format!("{fault}: {text} (a port is a number up to 65535)")))
    }

    /// A value with a reading of its own; `name` and the reading's own words are the complaint.
    pub(super) fn parsed<T: FromStr<Err = String>>(&self, key: Key, name: &str) -> Result<Option<T>, Answer> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let read: Result<T, String> = text.parse();
        read.map(Some).map_err(|why| Self::refusal(&format!("{name} {text}"), &why))
    }

    /// A line that begins as the original's do, and where to read more; status 1, where the original ends with 0.
    pub(super) fn complaint(&self, line: &str) -> Answer {
        complaint(self.subcommand, &format!("sockperf: {line}"))
    }

    /// An option that is not taken, and why: in our words alone.
    pub(super) fn refusal(option: &str, why: &str) -> Answer {
        Answer::refusal("sockperf", option, why)
    }
}

/// A complaint, and where to read more.
pub(super) fn complaint(subcommand: Subcommand, line: &str) -> Answer {
    Answer::complaint(format!("{line}\nType: 'sockperf {} --help' for help.\n", subcommand.name()))
}
