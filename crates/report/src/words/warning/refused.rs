//! What to try against refusals: it depends on who refused.

use measure::method::Carrier;
use measure::verdict::refused::RefusedBy;

/// What it means, on whose side, and what to try. `all`: nothing was let through.
pub fn advice(by: RefusedBy, carrier: Carrier, all: bool) -> &'static str {
    match (by, carrier) {
        (RefusedBy::OurKernel, _) => {
            "this host's own kernel said so: the next hop does not answer (`ip neigh`), or a local firewall rejects it"
        }
        (RefusedBy::IcmpError, _) => {
            "the peer's firewall or a hop on the way says that it cannot be reached: look at their reject rules and routes; a capture of ICMP names who says so"
        }
        (RefusedBy::Reset, Carrier::TcpConnect) if all => {
            "the port is closed at the peer, or a box before it answers in its place: name a port where something listens (HOST:PORT), and see by --icmp whether the host itself is there"
        }
        (RefusedBy::Reset, _) => {
            "the peer's side has no room for some, or a box before it limits them: lower --rate or --connections, and look at its queue of connections (net.core.somaxconn)"
        }
        (RefusedBy::Unknown, _) => {
            "the peer's side or a hop on the way refuses: see whether something still listens there, and look at the firewalls between"
        }
    }
}
