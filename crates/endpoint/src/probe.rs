//! What probes through a raw socket are.

/// What leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP segments.
    Segments,
    /// Datagrams of UDP.
    Datagrams,
    /// ICMP echo requests, which have no ports.
    Echoes,
}
