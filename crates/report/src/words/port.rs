//! Words for the state of a port, and for an ICMP error in place of an answer.

use measure::reach::{Says, Verdict};

/// The state of a port.
pub(crate) fn state(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Open => "open",
        Verdict::Refused => "closed",
        Verdict::Reset => "open, then reset",
        Verdict::Filtered => "filtered",
        Verdict::Unreachable => "unreachable",
        Verdict::OpenOrFiltered => "open or filtered",
        Verdict::NotAsked => "not asked",
    }
}

/// The meaning of an ICMP error.
pub(crate) fn error(says: Says) -> &'static str {
    match says {
        Says::PortUnreachable => "port unreachable",
        Says::ProtocolUnreachable => "protocol unreachable",
        Says::HostUnreachable => "host unreachable",
        Says::NetworkUnreachable => "network unreachable",
        Says::Prohibited => "forbidden by a filter",
        Says::TooBig => "packet too big",
        Says::HopLimit => "hop limit exceeded",
        Says::Other => "an error of another kind",
    }
}
