//! Requests that got no reply, and the mechanism that decides when they leave.

use serde::{Deserialize, Serialize};

use crate::method::{Carrier, Method, Schedule, Traffic, Window};
use crate::unit::Nanos;

/// Requests that leave so far apart, or further, fill no queue.
const SELDOM: Nanos = Nanos::millis(1);

/// Mechanism that decides how many messages are on the way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LeavesBy {
    /// The reply to the one before, or a slow schedule: there is one on the way.
    Reply,
    /// The connection before, which a server may not have accepted yet: its queue of them fills up.
    Connection,
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
            (schedule, _) if schedule.mean_gap().is_some_and(|gap| gap >= SELDOM) => Self::Reply,
            (_, traffic) if traffic.carrier() == Carrier::TcpConnect => Self::Connection,
            (_, Traffic::ConnectExchange { .. }) => Self::Connection,
            (_, traffic)
                if traffic.window() == Window::Closed(1)
                    && (method.spread.in_turn || method.spread.connections <= 1) =>
            {
                Self::Reply
            }
            _ => Self::Window,
        }
    }
}
