//! Ours beside the original netperf: each end against each, every test, every printed form.
//!
//! The original is used where it is installed (netperf 2.7.0, `make/needs`), the builds that its package lacks where
//! `make/netperf-variants` made them; else that is said aloud. The original's output elsewhere stands in the fixtures, taken
//! from 2.7.1.

mod agreement;
mod bad;
mod better;
mod drivers;
mod ends;
mod fields;
mod forms;
mod frameworks;
mod odd;
mod pace;
mod pairs;
mod servers;
mod transcripts;
