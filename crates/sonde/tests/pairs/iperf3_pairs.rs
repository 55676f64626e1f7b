//! Ours beside the original iperf3: each end against each, every direction, its printed form, its JSON and whether its
//! values agree; and what ours does by itself.
//!
//! The original is used where it is installed (3.12); else that is said aloud. The output of 3.21 stands in the fixtures.

mod alone;
mod ends;
mod errors;
mod forms;
mod json;
mod pairs;
