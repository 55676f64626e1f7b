//! Long times of a run that come back at even distances in time.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// Long times that come back at even distances, in time or in requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Periodic {
    /// From one to the next, nanoseconds, mean.
    pub period_ns: Nanos,
    /// Excess of the longest exchange of each over the median, nanoseconds, median.
    pub longer_ns: Nanos,
    /// Long times that keep the period, a count.
    pub count: u64,
    /// Requests from one to the next, where their count explains the long times at least as well as time does. Absent: it does not, or it was
    /// not looked at, as with several threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// True where the count of requests alone explains them: then `period_ns` is only the middle distance. Absent: time does, too or alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_requests_alone: bool,
}
