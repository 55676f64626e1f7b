//! Answers so long that they hold much of a run's time, however few they are.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// The longest answers of a closed loop back to back, in which much of its time passed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stalls {
    /// Answers that are stalls, a count.
    pub count: u64,
    /// The shortest of them, nanoseconds.
    pub least_ns: Nanos,
    /// Their share of the time spent waiting for answers, 0 to 1: the chance that a request at a random moment meets one.
    pub share: f64,
}
