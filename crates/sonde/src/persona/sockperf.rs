//! sockperf: its command line and what it prints.
//!
//! Words become an [`options::Command`], what came back becomes [`statistics`], and [`output`] makes the text of both:
//! pure functions all, tested against output of the original.

pub mod options;
pub mod output;
pub mod statistics;
#[cfg(test)]
mod transcript;
