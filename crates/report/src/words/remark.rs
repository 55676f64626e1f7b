//! What to try against what a check of a host has found.

use measure::reach::remark::Remark;

/// What to try against what was found.
pub fn advice(remark: &Remark) -> &'static str {
    match remark {
        Remark::NobodyOnTheLink { .. } => "check that it is on, on this link, and has this address",
        Remark::Hole { .. } => {
            "let ICMP errors pass the filter that drops them, or set a smaller MTU (or clamp TCP's MSS) at the ends"
        }
        Remark::Dark => "check the address, look for a firewall, and test from a host nearer to it",
        Remark::RefusedByAnother { .. } => "change the filter that answers in its place, or test from a host behind it",
    }
}
