//! Results of each of several connections: a number from one connection is that of one path, queue and processor.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// The connections of a run apart, and whether they differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flows {
    /// Each connection, in the order of `sockets`.
    pub each: Vec<OfFlow>,
    /// Connections whose times are alike, from the quickest to the slowest: one group where no difference was shown. Absent where there
    /// were too few values to tell, of connections on several threads, and where many moved.
    pub groups: Option<Vec<FlowGroup>>,
    /// No smaller difference between groups is told, nanoseconds.
    pub least_ns: f64,
    /// Connections that took another time among the others from some time on than before it, by their number from 0: they are in no
    /// group. Where they are an eighth of all or more, there are no groups. Looked for where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<u32>,
    /// Connections that lose more than the others, by their number from 0; empty where no difference was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losing: Vec<u32>,
}

/// One connection of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfFlow {
    /// Requests that were due.
    pub scheduled: u64,
    /// Requests that were answered in time.
    pub answered: u64,
    /// Median time from the send to the reply, nanoseconds, of the values that were kept; absent where there are none.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile of them, nanoseconds; absent where fewer than 10 lie beyond.
    pub p99_ns: Option<Nanos>,
    /// The kept values: all of the run, or of more than a million an even thinning. `HdrHistogram` V2 encoding, base64, nanoseconds.
    pub histogram: String,
}

/// Connections whose times are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowGroup {
    /// Their numbers from 0, ascending.
    pub flows: Vec<u32>,
    /// Median over the rounds of the median time in each; absent where nothing was answered.
    pub time: Option<Between>,
    /// Distance above the first group; absent for the first.
    pub shift: Option<Between>,
    /// Requests that were due on all of them.
    pub scheduled: u64,
    /// Requests that were answered in time.
    pub answered: u64,
}

/// A time and its 95 % interval, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Between {
    /// The estimate, nanoseconds.
    pub value_ns: f64,
    /// Lower end, nanoseconds; absent where there are too few values for one.
    pub low_ns: Option<f64>,
    /// Upper end, nanoseconds; likewise.
    pub high_ns: Option<f64>,
}
