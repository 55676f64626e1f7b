//! Long times of a run that come back at even distances in time.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// Long times that come back at even distances, whatever the schedule of the requests is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Periodic {
    /// From one to the next, nanoseconds, mean.
    pub period_ns: Nanos,
    /// Excess of the longest exchange of each over the median, nanoseconds, median.
    pub longer_ns: Nanos,
    /// Long times that keep the period, a count.
    pub count: u64,
}
