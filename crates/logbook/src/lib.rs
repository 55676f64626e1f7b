//! The record of a measurement (request, method, results), its JSON Schema, its events and the store of records.
//!
//! A record carries its method with its numbers. Each document names its form and its version ([`document`]): a program
//! refuses by name what is newer than it instead of misreading it.
//!
//! Not here: anything that speaks to a peer, prints, or reads a clock: the moment a record starts is passed in.

pub mod claims;
pub mod document;
pub mod event;
pub mod failure;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod look;
pub mod machines;
pub mod moment;
pub mod monitor;
pub mod plan;
pub mod reach;
pub mod read;
pub mod record;
pub mod rerun;
pub mod resolution;
pub mod run;
pub mod run_comparison;
pub mod run_list;
#[cfg(feature = "schema")]
pub mod schema;
pub mod search;
pub mod shelf;
pub mod store;
pub mod study;
pub mod whole;
