//! Values of options as they are read, and complained of by iperf3's number for the fault.

use std::ops::RangeInclusive;

use protocol::iperf3::code::Code;

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::number::{self, Factor};
use crate::persona::iperf3::options::table::{Given, Key};
use crate::persona::iperf3::options::usage;
use crate::persona::number::whole;

/// The options of one command line while they are read.
pub(super) type Reading = Given;

impl Reading {
    pub(super) fn owned(&self, key: Key) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// Digits alone, within `range`.
    pub(super) fn whole(&self, key: Key, range: RangeInclusive<u32>, fault: Code) -> Result<Option<u32>, Answer> {
        let read = |text: &str| whole(text).filter(|value| range.contains(value)).ok_or_else(|| error(fault));
        self.text(key).map(read).transpose()
    }

    /// Bytes or blocks.
    pub(super) fn size(&self, key: Key) -> Result<Option<u64>, Answer> {
        self.text(key).map(|text| scaled(text, Factor::Kibi)).transpose()
    }

    /// Bits a second; 0 is no limit.
    pub(super) fn rate(&self, key: Key) -> Result<Option<u64>, Answer> {
        let rate = self.text(key).map(|text| scaled(text, Factor::Thousand)).transpose()?;
        Ok(rate.filter(|rate| *rate > 0))
    }
}

/// A number with a unit, or the complaint that shows the word.
pub(super) fn scaled(text: &str, factor: Factor) -> Result<u64, Answer> {
    number::scaled(text, factor).ok_or_else(|| usage::parameter_error(format!("{}: '{text}'", Code(38))))
}

pub(super) fn error(fault: Code) -> Answer {
    usage::parameter_error(fault)
}

/// A fault that has no number of its own: the option and what it takes.
pub(super) fn takes(option: &str, text: &str, what: &str) -> Answer {
    usage::parameter_error(format!("{option} {text}: takes {what}"))
}
