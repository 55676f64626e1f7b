//! Parts of the run in which exchanges took another time than in the rest.

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// One level for a part of the time, another one for the rest. Instants count from the start of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Beginning of the other level, nanoseconds.
    pub from_ns: Nanos,
    /// First return of the first level, nanoseconds; absent where the run ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<Nanos>,
    /// Number of stretches at the other level, at least 1; more where the run went back and forth between both.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub stretches: u32,
    /// Median time of the exchanges at the first level, nanoseconds.
    pub before_ns: Nanos,
    /// Median time of those at the other one, nanoseconds.
    pub within_ns: Nanos,
    /// True where nearly all exchanges before it were the first ones of their connections, and none of those in it was: the change may be of each
    /// connection's first exchange, and not of a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_firsts: bool,
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_once(stretches: &u32) -> bool {
    *stretches == once()
}
