//! The science of a measurement, and the vocabulary every other crate speaks.
//!
//! A request is a [`method::Method`]. [`schedule`] computes the send times, and [`recorder`] counts each request by its status.
//! [`statistics`] summarises the numbers with their uncertainty, and [`verdict`] derives the warnings.
//!
//! Nothing here opens a socket or a file, starts a thread or reads the OS clock: time and chance come in as arguments,
//! so every number can be checked in virtual time.

pub mod answer;
pub mod authentication;
pub mod claim;
pub mod clock;
pub mod clock_offset;
pub mod comparison;
pub mod details;
pub mod environment;
pub mod event;
pub mod frames;
pub mod hops;
pub mod interval;
pub mod look;
pub mod lookout;
pub mod method;
pub mod origin;
pub mod outcome;
pub mod prober;
pub mod probes;
pub mod reach;
pub mod recorder;
pub mod resolution;
pub mod schedule;
pub mod search;
pub mod served;
pub mod span;
pub mod statistics;
pub mod study;
pub mod throughput;
pub mod topology;
pub mod trace;
pub mod unit;
pub mod varying;
pub mod verdict;
pub mod why;
pub mod wire;
