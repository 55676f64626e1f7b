//! The clients' side of a measurement, whatever its protocol: threads on the open connections, engines in the threads,
//! and the control connection watched during the run. Not here: the opening of connections, which each protocol does
//! its own way (`rtt`, `peer`).

pub mod audience;
pub mod connections;
pub mod scene;
pub mod threads;
pub mod workers;

/// End of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As the method says.
    Complete,
    /// We were asked to stop.
    Stopped,
    /// The peer or the path to it failed; what was measured before stands.
    PeerLost {
        /// Reason, in words.
        reason: String,
    },
}
