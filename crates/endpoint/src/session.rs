//! The clients' side of a measurement, whatever its protocol: threads on the open connections, engines in the threads, and the control
//! connection watched meanwhile. Not here: how connections are opened, which each protocol does its own way (`rtt`, `peer`).

pub mod connections;
pub mod scene;
pub mod threads;
pub mod workers;

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As the method says.
    Complete,
    /// We were asked to stop.
    Stopped,
    /// The peer or the path to it failed; what was measured before stands.
    PeerLost {
        /// Why, for people.
        reason: String,
    },
}
