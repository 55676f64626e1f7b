//! Values of options as they are read: what fits, and what is complained of.

use std::ops::RangeInclusive;

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::table::{self, Entry, Given, Key};
use crate::persona::iperf::options::{Form, number};
use crate::persona::number::whole;

/// The options of one command line while they are read.
pub(super) struct Reading {
    pub(super) given: Given,
    pub(super) notes: Vec<String>,
    /// The form that the environment wants.
    pub(super) form: Form,
}

impl Reading {
    pub(super) fn has(&self, key: Key) -> bool {
        self.given.has(key)
    }

    pub(super) fn text(&self, key: Key) -> Option<&str> {
        self.given.text(key)
    }

    /// A value read by `read`; `takes` says what it may be.
    pub(super) fn value<T>(
        &self,
        key: Key,
        read: impl FnOnce(&str) -> Option<T>,
        takes: &str,
    ) -> Result<Option<T>, Answer> {
        let Some(text) = self.text(key) else { return Ok(None) };
        read(text).map(Some).ok_or_else(|| self.misfit(key, takes))
    }

    /// A whole number within `range`.
    pub(super) fn whole(&self, key: Key, range: RangeInclusive<u32>) -> Result<Option<u32>, Answer> {
        let read = |text: &str| {
            whole::<u64>(text).and_then(|value| u32::try_from(value).ok()).filter(|value| range.contains(value))
        };
        self.value(key, read, &format!("takes a number from {} to {}", range.start(), range.end()))
    }

    /// A number of bytes within `range`, with a suffix where wanted.
    pub(super) fn bytes(&self, key: Key, range: RangeInclusive<u32>) -> Result<Option<u32>, Answer> {
        let read = |text: &str| {
            number::amount(text).and_then(|value| u32::try_from(value).ok()).filter(|value| range.contains(value))
        };
        self.value(key, read, &format!("takes {} to {} bytes, as 1000, 8k or 128K", range.start(), range.end()))
    }

    /// A time in seconds.
    pub(super) fn seconds(&self, key: Key) -> Result<Option<Nanos>, Answer> {
        self.value(key, number::seconds, "takes seconds, as 10 or 0.5")
    }

    /// A port.
    pub(super) fn port(&self, key: Key) -> Result<Option<u16>, Answer> {
        self.value(key, port, "takes a port, from 1 to 65535")
    }

    /// The complaint of a value that does not fit.
    pub(super) fn misfit(&self, key: Key, takes: &str) -> Answer {
        let name = table::entry(key).map(Entry::name).unwrap_or_default();
        let option = self.text(key).map_or(name.clone(), |text| format!("{name} {text}"));
        Answer::refusal("iperf", &option, takes)
    }
}

/// A port of a command line.
pub(super) fn port(text: &str) -> Option<u16> {
    whole::<u64>(text).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// A line that begins as the original's do, and where to read more.
pub(super) fn complaint(line: &str) -> Answer {
    Answer::complaint(format!("{line}\nTry `iperf --help' for more information.\n"))
}

/// Options that do not go together, in the original's form.
pub(super) fn conflict(line: &str) -> Answer {
    Answer::complaint(format!("ERROR: {line}\n"))
}
