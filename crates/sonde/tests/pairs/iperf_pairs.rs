//! Ours beside the original iperf 2: each end against each, every kind of test, its printed form and whether both ends count
//! the same; and what ours refuses.
//!
//! The original is used where it is installed (2.1.8, `make/needs`); else that is said aloud.

mod bad;
mod drivers;
mod ends;
mod frames;
mod more;
mod pairs;
mod record;
