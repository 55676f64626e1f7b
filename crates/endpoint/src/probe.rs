//! The kinds of probes that leave through a raw socket.

/// A kind of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP segments.
    Segments,
    /// Datagrams of UDP.
    Datagrams,
    /// ICMP echo requests, which have no ports.
    Echoes,
}
