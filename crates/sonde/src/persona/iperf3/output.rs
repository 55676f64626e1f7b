//! Output of a run, byte for byte in the form of iperf3 3.21.
//!
//! Pure functions of plain facts. As text, in the order of a run: [`start`], [`interval`] as often as asked for,
//! [`summary`]; [`lines`] puts title and time in front of each. As JSON: [`document`] by [`json`]. [`failure`] is either.
//! Where the original's figures are wrong the form stays and the figure is right: docs/iperf3.md lists each.

pub mod document;
pub mod failure;
pub mod interval;
pub mod json;
pub mod lines;
pub mod number;
pub mod row;
pub mod start;
pub mod summary;
#[cfg(test)]
mod tests;
