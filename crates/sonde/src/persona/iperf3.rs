//! iperf3: its command line and what it prints.
//!
//! Words become an [`options::Asked`], a run becomes [`facts`], and [`output`] makes the text and the JSON of both: pure
//! functions all, tested against output of the original.

pub mod facts;
pub mod options;
pub mod output;
#[cfg(test)]
mod transcript;
