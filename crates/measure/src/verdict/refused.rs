//! What refused requests, as far as it can be told from here, and what to try against it.

use serde::{Deserialize, Serialize};

use crate::method::Carrier;

/// Where refusals came from, by the ICMP errors that our kernel counted meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RefusedBy {
    /// TCP resets: no ICMP error came. From the peer's host, or from a box that resets in its place.
    Reset,
    /// ICMP errors (destination unreachable), from the peer's host or from a hop before it.
    IcmpError,
    /// Our own kernel: it sent those errors to itself.
    OurKernel,
    /// Not to be told: the kernel's counters were not read, or do not fit.
    Unknown,
}

impl RefusedBy {
    /// What it means, on whose side, and what to try. `all`: nothing was let through.
    pub(super) fn advice(self, carrier: Carrier, all: bool) -> &'static str {
        match (self, carrier) {
            (Self::OurKernel, _) => {
                "this host's own kernel said so: the next hop does not answer (`ip neigh`), or a local firewall rejects it"
            }
            (Self::IcmpError, _) => {
                "the peer's firewall or a hop on the way says that it cannot be reached: look at their reject rules and routes; a capture of ICMP names who says so"
            }
            (Self::Reset, Carrier::TcpConnect) if all => {
                "the port is closed at the peer, or a box before it answers in its place: name a port where something listens (HOST:PORT), and see by --icmp whether the host itself is there"
            }
            (Self::Reset, _) => {
                "the peer's side has no room for some, or a box before it limits them: lower --rate or --connections, and look at its queue of connections (net.core.somaxconn)"
            }
            (Self::Unknown, _) => {
                "the peer's side or a hop on the way refuses: see whether something still listens there, and look at the firewalls between"
            }
        }
    }
}
