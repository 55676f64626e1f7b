//! The grain of time that everything is judged in.

/// Length of the time that is judged at once, seconds.
pub const SLOT: u64 = 5;
