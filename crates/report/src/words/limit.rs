//! Evidence for what limits a stream, in words with figures.

use measure::throughput::limit::reason::{End, Reason, Untested, Untried};
use measure::unit::Bytes;

use crate::number::count;

/// The words of each piece of evidence.
pub fn reasons(evidence: &[Reason]) -> Vec<String> {
    evidence.iter().map(reason).collect()
}

fn reason(reason: &Reason) -> String {
    match reason {
        // TCP, and the stream's own losses and round trips.
        Reason::ShortStream { elapsed_ns } => format!("{elapsed_ns} of streaming are too short to tell"),
        Reason::SentOfRate { share } => format!("{} of the requested rate was sent", percent(*share)),
        Reason::WaitedForWindow { share } => {
            format!("TCP waited for the receiver's window {} of its busy time", percent(*share))
        }
        Reason::Unscaled => "no window scaling was agreed on, as where a box on the path removes the option, or \
                             net.ipv4.tcp_window_scaling is 0: a window ends at 65535 B"
            .to_owned(),
        Reason::CumulativeAcks => "no selective acknowledgements (SACK) were agreed on, as where a box on the path \
                                   removes the option, or net.ipv4.tcp_sack is 0: of several losses at once TCP \
                                   finds one a round trip"
            .to_owned(),
        Reason::SmallSegments { mss_bytes, path_mtu_bytes } => format!(
            "segments of {mss_bytes} where the sender's kernel takes the path's MTU for {path_mtu_bytes}: an end or a \
             box made them small, or the path refused larger ones, and what counts packets lets less through"
        ),
        Reason::KeptSmall { buffer_bytes } => format!(
            "a receive buffer of {} allows a larger window: a box on the path, or a setting there (TCP_WINDOW_CLAMP), \
             keeps it small",
            kilobytes(*buffer_bytes)
        ),
        Reason::Window { bytes, rtt_ns } => format!("a window of {} for a round trip of {rtt_ns}", kilobytes(*bytes)),
        Reason::ReceiveBuffer { bytes } => {
            format!("the receiver's socket buffer has only {}", kilobytes(*bytes))
        }
        Reason::WaitedForSendBuffer { share } => {
            format!("TCP waited for room in the send buffer {} of its busy time", percent(*share))
        }
        Reason::SendBuffer { bytes, rtt_ns } => {
            format!("a send buffer of {} for a round trip of {rtt_ns}", kilobytes(*bytes))
        }
        Reason::Retransmitted { share } => format!("{} of the bytes were retransmitted", percent(*share)),
        Reason::Needless { share } => format!(
            "{} of the retransmitted segments had arrived already (DSACK): packets overtake each other, or are later \
             than TCP waits",
            percent(*share)
        ),
        Reason::Marked { share } => {
            format!("{} of the segments arrived with a congestion mark (ECN), at which TCP slows down", percent(*share))
        }
        Reason::DatagramsLost { share } => format!("{} of the datagrams were lost", percent(*share)),
        Reason::RoundTrips { rtt_ns, shortest_ns, idle } => {
            let ends = if *idle { ", and both ends idle" } else { "" };
            format!("round trips of {rtt_ns} under load, where {shortest_ns} is the shortest{ends}")
        }
        Reason::HeldByWindow { share } => format!("held by the receiver's window {}", percent(*share)),
        Reason::HeldBySendBuffer { share } => format!("held by the send buffer {}", percent(*share)),
        Reason::FewRetransmitted { share } => format!("retransmitted {}", percent(*share)),
        // What the sending host lets out.
        Reason::NotSent { share } => {
            format!(
                "{} of the messages were not sent: its interface's queue was full, or its own rules forbid them",
                percent(*share)
            )
        }
        Reason::Shaper { interface, qdisc, bytes_per_s, share } => {
            format!(
                "the queue of its interface {} ({}) lets {} through, and the stream took {} of that",
                interface,
                qdisc,
                rate(*bytes_per_s),
                percent(*share)
            )
        }
        Reason::InterfaceDropped { interface, packets, lost } => format!(
            "its interface {interface} dropped {} itself, where {} lost",
            count(*packets, "packet", "packets"),
            count(*lost, "was", "were")
        ),
        // CPUs of an end.
        Reason::SlowReader => "why the window stays so small is not established".to_owned(),
        Reason::IdleReader { share } => {
            format!(
                "its thread waited for data {} of the time: a proxy may keep the window shut, or a box on the way make it small",
                percent(*share)
            )
        }
        Reason::BusyReader { share } => format!("its thread ran or waited for a CPU {} of the time", percent(*share)),
        Reason::Silent { total_ns, share } => {
            format!("the receiver got nothing, or next to nothing, for {total_ns}, {} of the time", percent(*share))
        }
        Reason::Throttled { share } => {
            format!("a CPU quota of its control group stopped it {} of the time", percent(*share))
        }
        Reason::ThreadRan { share, waited } => {
            let waited = waited.map_or_else(String::new, |share| format!(", and waited for a CPU {}", percent(share)));
            format!("its busiest thread ran {} of the time{waited}", percent(*share))
        }
        Reason::SoftInterrupts { share } => {
            format!("a CPU of its host handled soft interrupts {} of the time", percent(*share))
        }
        Reason::Dropped { share } => {
            format!(
                "the receiver's kernel dropped {} of the arrivals, because the program did not read them",
                percent(*share)
            )
        }
        Reason::BusiestThread { end, share } => format!("{}'s busiest thread ran {}", name(*end), percent(*share)),
        Reason::LongestWait { end, share } => format!("{} waited for a CPU {}", name(*end), percent(*share)),
        Reason::Spins { end } => {
            format!("the {} spins while it waits, so that its CPU time shows nothing", name(*end))
        }
        Reason::QuotaUnread { end } => format!("CPU quota of the {}: not readable", name(*end)),
        // Datagrams beside the stream.
        Reason::Datagrams { bytes_per_s, lost } => {
            format!("datagrams at {}: {} lost", rate(*bytes_per_s), percent(*lost))
        }
        Reason::OnlyStreamLoses => {
            "no datagram was lost, also faster than the stream: what loses takes TCP, its port or \
                                    bursts alone"
                .to_owned()
        }
        Reason::SlowDatagrams => "datagrams could not be sent as fast as the stream, and show nothing of it".to_owned(),
        Reason::NoFasterDatagrams => "datagrams faster than the stream could not be sent".to_owned(),
        Reason::StandingQueue { waited_ns, bytes_per_s } => {
            // It may have been filling still: how much it holds is not known.
            format!(
                "a queue in which datagrams waited {waited_ns} at least for half of the test, and which let {} through",
                rate(*bytes_per_s)
            )
        }
        Reason::EvenLoss => "the same share lost at each rate that was tried".to_owned(),
        Reason::WaitedAfterLoss { waited_ns } => {
            format!("at least three in four datagrams next after a lost one had waited {waited_ns}")
        }
        Reason::CappedRate { bytes_per_s } => format!("{} got through at either rate", rate(*bytes_per_s)),
        Reason::FarMoreThanStream => "far more than the stream had".to_owned(),
        Reason::LessThanStream => {
            "less than the stream had: a bucket had saved up for it, its rate changes, or this holds datagrams alone"
                .to_owned()
        }
        Reason::AsMuchAsEach => "as much as each connection had: a limit of each by itself".to_owned(),
        Reason::NotTested { what, why } => {
            let what = match what {
                Untested::Losses => "queue, policer or lossy path",
                Untested::RoundTrips => "round trips without the stream",
            };
            format!("{what}: not tested, because {}", untried(*why))
        }
    }
}

fn name(end: End) -> &'static str {
    match end {
        End::Sender => "sender",
        End::Receiver => "receiver",
    }
}

fn untried(why: Untried) -> &'static str {
    match why {
        Untried::NotAsked => "no datagrams were requested beside it",
        Untried::Stopped => "the run was ended",
        Untried::TooFast => "datagrams cannot be sent as fast as the stream went",
        Untried::Refused => "no datagrams of this size came through",
        Untried::Unrated => "no rate at which the stream arrived is known",
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals =
        if percent < 1.0 { 2 } else { usize::from(percent < 99.95 && percent.fract() >= 0.05 && percent < 10.0) };
    format!("{percent:.decimals$} %")
}

fn kilobytes(bytes: Bytes) -> String {
    if bytes.0 < 10_000 { format!("{} B", bytes.0) } else { format!("{} kB", bytes.0 / 1_000) }
}

fn rate(bytes_per_s: f64) -> String {
    let bits = bytes_per_s * 8.0;
    match bits {
        ..1e6 => format!("{:.0} kbit/s", bits / 1e3),
        ..1e9 => format!("{:.1} Mbit/s", bits / 1e6),
        _ => format!("{:.2} Gbit/s", bits / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;
    use test_case::test_case;

    use super::*;

    #[test_case(&Reason::WaitedForWindow { share: 0.9 }, "TCP waited for the receiver's window 90 % of its busy time"; "a window")]
    #[test_case(&Reason::Window { bytes: Bytes(11_000_000), rtt_ns: Nanos::millis(11) }, "a window of 11000 kB for a round trip of 11 ms"; "its size")]
    #[test_case(&Reason::Datagrams { bytes_per_s: 1e9, lost: 0.23 }, "datagrams at 8.00 Gbit/s: 23 % lost"; "datagrams")]
    #[test_case(&Reason::ThreadRan { share: 0.5, waited: Some(0.45) }, "its busiest thread ran 50 % of the time, and waited for a CPU 45 %"; "a thread that waits")]
    #[test_case(&Reason::LessThanStream, "less than the stream had: a bucket had saved up for it, its rate changes, or this holds datagrams alone"; "a rate that changes")]
    #[test_case(&Reason::Dropped { share: 0.03 }, "the receiver's kernel dropped 3 % of the arrivals, because the program did not read them"; "drops, whose limit may be nobody's")]
    #[test_case(&Reason::InterfaceDropped { interface: "tun0".to_owned(), packets: 30_020, lost: 30_020 }, "its interface tun0 dropped 30 020 packets itself, where 30 020 were lost"; "an interface that drops")]
    #[test_case(&Reason::Needless { share: 0.98 }, "98 % of the retransmitted segments had arrived already (DSACK): packets overtake each other, or are later than TCP waits"; "nothing lost")]
    #[test_case(&Reason::FewRetransmitted { share: 0.0009 }, "retransmitted 0.09 %"; "a small share")]
    #[test_case(&Reason::NotTested { what: Untested::Losses, why: Untried::Refused }, "queue, policer or lossy path: not tested, because no datagrams of this size came through"; "nothing tested")]
    fn evidence_has_its_figures(reason: &Reason, told: &str) {
        assert_eq!(reasons(std::slice::from_ref(reason)), [told]);
    }
}
