//! Our sockperf server as a program: what it prints, how it ends, and groups between two hosts.
//!
//! The original's client is used where it is installed: 3.7 as `sockperf`, 3.10 as `sockperf-3.10` where somebody has put
//! one on the path; else that is said aloud.

mod groups;
mod priority;
mod program;
mod words;
