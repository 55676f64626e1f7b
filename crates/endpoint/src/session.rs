//! What a client of any protocol does with its connections once they are open: threads on them, engines in the threads, and the
//! control connection watched meanwhile.

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
        /// What happened.
        reason: String,
    },
}
