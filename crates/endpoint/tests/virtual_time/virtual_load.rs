//! A load on a virtual path: the recorder has each departure and each message's result, to the nanosecond.

mod batches;
mod departures;
mod fates;
mod harness;
