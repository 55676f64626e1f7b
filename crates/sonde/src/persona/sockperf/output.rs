//! Output of a run, byte for byte in the form of sockperf 3.10.
//!
//! Pure functions of plain facts. In the order of a client's run: [`start`], [`activity`] as often as asked for,
//! [`end`], then [`latency`] with [`histogram`], or [`throughput`]; [`full_log`] is the file. In that of a server:
//! [`start`], [`gaps`], [`end`]. Colours only where a person looks ([`paint`]). Where the original's figures are wrong the
//! form stays and the figure is right: docs/sockperf.md lists each.

pub mod activity;
pub mod end;
pub mod failure;
pub mod full_log;
pub mod gaps;
pub mod histogram;
pub mod latency;
pub mod paint;
pub mod start;
#[cfg(test)]
mod tests;
pub mod throughput;

/// A line behind the program's name.
fn say(line: impl std::fmt::Display) -> String {
    format!("sockperf: {line}\n")
}
