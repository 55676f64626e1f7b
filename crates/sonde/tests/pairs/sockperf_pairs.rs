//! Ours beside the original sockperf: each end against each, every subcommand, its printed form and whether its values
//! agree; and what ours does better.
//!
//! The original is used where it is installed (3.7, `make/needs`); else that is said aloud. The output of 3.10 stands in the
//! fixtures.

mod agreement;
mod bad;
mod better;
mod ends;
mod files;
mod forms;
mod pairs;
mod rogue;
mod transcripts;
