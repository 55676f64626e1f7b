//! Time in which a run got no reply at all.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// Times without a reply of any kind while requests left. Instants count from the start of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dark {
    /// Their number.
    pub spells: u64,
    /// All of them together, nanoseconds.
    pub total_ns: Nanos,
    /// The same as a share of the run's time, 0 to 1.
    pub share: f64,
    /// Begin of the longest, nanoseconds from the start of the run.
    pub longest_from_ns: Nanos,
    /// End of the longest, nanoseconds from the start of the run.
    pub longest_to_ns: Nanos,
    /// True where nothing came any more until the run ended.
    pub to_the_end: bool,
    /// Requests that left in them and got no reply in time.
    pub unanswered: u64,
    /// Requests of them that were refused or could not be sent. Absent: none.
    #[serde(default, skip_serializing_if = "crate::event::is_zero")]
    pub refused_or_not_sent: u64,
    /// Requests that would have left in them at the rate of the other time; closed loops only, which wait instead.
    pub due: Option<u64>,
}
