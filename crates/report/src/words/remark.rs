//! What to try against what a check of a host has found.

use measure::reach::remark::Remark;

/// What to try against what was found.
pub fn advice(remark: &Remark) -> &'static str {
    match remark {
        Remark::NobodyOnTheLink { .. } => "it is off, elsewhere, or has another address",
        Remark::Hole { .. } => {
            "a filter drops the ICMP errors that would tell: let them through, or set a smaller MTU (or clamp TCP's MSS) at the ends"
        }
        Remark::Dark => "a firewall, or no such host: ask one nearer to it",
        Remark::RefusedByAnother { .. } => "a filter on the way answers: what the host itself would say does not show",
    }
}
