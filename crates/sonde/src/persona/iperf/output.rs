//! Lines of a run, byte for byte in the form of iperf 2.2.1, or of an older one.
//!
//! Pure functions of plain facts. First [`banner`], then [`connection`], then lines of [`tcp`], [`udp`] or [`bounce`],
//! each behind its heading where [`heading`] says so; [`csv`] stands in place of all of them. Where the original's figures
//! are wrong the form stays and the figure is right: docs/iperf.md lists each.

pub mod banner;
pub mod bounce;
pub mod connection;
pub mod csv;
pub mod failure;
pub mod heading;
pub mod histogram;
pub mod line;
pub mod moment;
pub mod number;
pub mod tcp;
#[cfg(test)]
mod tests;
pub mod udp;
