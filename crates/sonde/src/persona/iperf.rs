//! iperf 2: its command line and what it prints. iperf 3 is another program and another folder.
//!
//! Words become [`options::Asked`], what came back becomes lines of [`output`]: pure functions all, tested against output of
//! the original.

pub mod options;
pub mod output;
#[cfg(test)]
mod transcript;
