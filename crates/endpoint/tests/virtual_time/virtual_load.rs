//! A load on a virtual path: what left, when, and what became of it is what the recorder says, to the nanosecond.

mod batches;
mod departures;
mod fates;
mod harness;
