//! What a stream carried: bytes and calls at one end, by interval and in all.
//!
//! Invariant: the intervals of a stream add up to its total.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

/// What the calls of one end carried, one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// Bytes of payload that the kernel took or gave.
    pub bytes: Bytes,
    /// Calls that carried something.
    pub calls: u64,
    /// Calls that our own side could not make, for want of a buffer: what they were to send was sent by nobody, so no
    /// network lost it. A count of calls.
    pub failed_calls: u64,
}

impl Carried {
    /// Adds what another part of the same stream carried.
    pub fn add(&mut self, other: &Self) {
        self.bytes.0 += other.bytes.0;
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
    }

    /// What was carried since `earlier`, an older state of the same counts.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.0.saturating_sub(earlier.bytes.0)),
            calls: self.calls.saturating_sub(earlier.calls),
            failed_calls: self.failed_calls.saturating_sub(earlier.failed_calls),
        }
    }
}

/// An interval of a stream as it went by; the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its start, nanoseconds after the start of the measurement.
    pub at_ns: Nanos,
    /// How long it was, in nanoseconds.
    pub length_ns: Nanos,
    /// What was carried in it.
    #[serde(flatten)]
    pub carried: Carried,
}
