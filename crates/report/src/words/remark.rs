//! Conclusions of a check of a host: the fact, and what to try.

use measure::reach::remark::Remark;

/// The fact.
pub fn fact(remark: &Remark) -> String {
    match remark {
        Remark::NobodyOnTheLink { address, interface } => format!("no host on {interface} has {address}"),
        Remark::Hole { vanishing_bytes } => {
            format!("packets of {vanishing_bytes} B and more vanish without an ICMP error")
        }
        Remark::Dark => "the host does not answer".to_owned(),
        Remark::GoesRound { at } => {
            format!(
                "the host does not answer: the hop limit of packets to it ran out at {at}, most likely in a routing loop"
            )
        }
        Remark::RefusedByAnother { by } => format!("{by} refuses in place of the host"),
        Remark::SilentBesideClosed { transport, silent, closed } => {
            let over = transport.to_string().to_uppercase();
            format!(
                "{silent} {over} ports are silent beside {closed} closed ones: a filter drops what is for them, or the host \
                 or the path limits its answers, which this check asked for all at once"
            )
        }
    }
}

/// The advice.
pub fn advice(remark: &Remark) -> &'static str {
    match remark {
        Remark::NobodyOnTheLink { .. } => "check that it is on, on this link, and has this address",
        Remark::Hole { .. } => {
            "let ICMP errors pass the filter that drops them, or set a smaller MTU (or clamp TCP's MSS) at the ends"
        }
        Remark::Dark => "check the address, look for a firewall, and test from a host nearer to it",
        Remark::GoesRound { .. } => "look at the hops: `sonde paths HOST --trace`",
        Remark::SilentBesideClosed { .. } => "check one of them alone: `sonde check HOST:PORT`",
        Remark::RefusedByAnother { .. } => "change the filter that answers in its place, or test from a host behind it",
    }
}
