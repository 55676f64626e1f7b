//! sockperf's own figures from what became of each message that asked for an answer.
//!
//! [`Collector`] takes the slots as they end, in any order, and walks them in that of their numbers: it leaves out what
//! lies outside the valid window, counts the dropped, duplicated and overtaken, and keeps the rest.

/// A message that asked for an answer, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number on the wire, a multiple of reply-every.
    pub sequence: u64,
    /// When it left, in nanoseconds of a clock of the caller's.
    pub sent_ns: u64,
    /// When its first answer was there, by the same clock; `None`: never.
    pub received_ns: Option<u64>,
    /// Answers behind the first.
    pub duplicates: u64,
}

/// Which slots count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// By time: those from 400 ms behind the first slot to 50 ms before the last (`-t`).
    Trimmed,
    /// By number: `count` messages from `first` on (`-n`).
    Numbered {
        /// The first that counts.
        first: u64,
        /// How many.
        count: u64,
    },
    /// All of them (playback).
    All,
}

/// A slot that counts as an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its number among them, from 0.
    pub index: u64,
    /// When it left.
    pub sent_ns: u64,
    /// When its answer was there.
    pub received_ns: u64,
    /// Half the round trip, cut to whole nanoseconds, or all of it with `--full-rtt`.
    pub value_ns: u64,
}
