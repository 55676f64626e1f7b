//! Requests that got no reply: what decides when they leave.

use serde::{Deserialize, Serialize};

use crate::method::{Method, Schedule, Traffic};

/// What decides how many messages are on the way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeavesBy {
    /// A window of requests, or a rate with a cap on them.
    Window,
    /// The rate of a load, whatever the replies do.
    Rate,
    /// A recorded schedule.
    Trace,
}

impl LeavesBy {
    pub(super) fn of(method: &Method) -> Self {
        match (method.schedule, &method.traffic) {
            (Schedule::Trace { .. }, _) => Self::Trace,
            (_, Traffic::Load(_)) => Self::Rate,
            _ => Self::Window,
        }
    }
}
