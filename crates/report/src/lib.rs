//! Telling: a record as a screen of text or a page, as charts and rows, a running measurement as a line, every exchange as a
//! table.
//!
//! Everything here is a function of its arguments: what is printed where, and whether a terminal is there, is said by
//! the caller. Not here: measuring, reaching hosts, and deciding what a number means (`measure`).

pub mod answer;
pub mod curve;
#[cfg(any(test, feature = "fuzz"))]
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "tests use all of them, the fuzz target some"))]
mod fixture;
pub mod flat;
pub mod histogram;
pub mod layout;
pub mod look;
pub mod machine;
pub mod markup;
pub mod matrix;
mod moment;
pub mod number;
pub mod page;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod reach;
pub mod run;
pub mod samples;
pub mod scaling;
pub mod search;
pub mod served;
pub mod shell;
mod source;
#[cfg(any(test, feature = "fuzz"))]
pub mod strangers;
pub mod study;
pub mod text;
pub mod verdicts;
pub mod words;
