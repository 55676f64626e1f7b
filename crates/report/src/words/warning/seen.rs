//! The fact of a warning and its consequence, on one line without the last full stop.

use std::fmt;

use measure::method::{BatchBy, Carrier};
use measure::throughput::change::RateChange;
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};
use measure::verdict::Warning;
use measure::verdict::refused::RefusedBy;
use measure::verdict::threshold::MOSTLY_MISSED;

use crate::number::bit_rate;
use crate::words::capitalised;

/// The fact that `warning` is about, and its consequence.
pub fn seen(warning: &Warning) -> String {
    Line(warning).to_string()
}

struct Line<'a>(&'a Warning);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Warning::SameHost { .. }
            | Warning::CarriedOn { .. }
            | Warning::ResetsTimed { .. }
            | Warning::HandshakeIsNotTheApplication
            | Warning::IdleBetween { .. }
            | Warning::RateIsNotRoundTrip { .. }
            | Warning::HalfRoundTrip
            | Warning::MeanMisleads { .. }
            | Warning::Stalled { .. }
            | Warning::Rhythm { .. }
            | Warning::Periodic { .. }
            | Warning::Changed { .. } => reading(self.0, f),
            Warning::OneStreamOneCpu { .. }
            | Warning::RateChanged { .. }
            | Warning::StartIncluded { .. }
            | Warning::TooShort { .. } => of_stream(self.0, f),
            Warning::CoarseClock { .. }
            | Warning::SlowClockSource { .. }
            | Warning::Throttled { .. }
            | Warning::Disturbed { .. }
            | Warning::PowerSavingGovernor { .. }
            | Warning::OneCpu => machine(self.0, f),
            Warning::HeldReplies { .. }
            | Warning::Nagle { .. }
            | Warning::Fragmented { .. }
            | Warning::IdleRestart { .. }
            | Warning::GotLess { .. }
            | Warning::NotBatched { .. }
            | Warning::NoStamps { .. } => settings(self.0, f),
            Warning::Dark { .. }
            | Warning::Silent { .. }
            | Warning::SizeUnanswered { .. }
            | Warning::Lost { .. }
            | Warning::Altered { .. }
            | Warning::Corrupt { .. }
            | Warning::Unasked { .. }
            | Warning::LostOnTheWay { .. }
            | Warning::Damaged { .. }
            | Warning::Rebound { .. }
            | Warning::Retransmitted { .. }
            | Warning::Refused { .. }
            | Warning::SendFailed { .. } => status(self.0, f),
            Warning::RateNotAchieved { .. }
            | Warning::BehindSchedule { .. }
            | Warning::Overtaken { .. }
            | Warning::TicksMissed { .. } => schedule(self.0, f),
            Warning::TooFewForQuantile { .. }
            | Warning::Correlated { .. }
            | Warning::NotSteady { .. }
            | Warning::NotSettled { .. } => statistics(self.0, f),
            Warning::OwnReflector => f.write_str("No host was given. sonde measured loopback only"),
            Warning::ClockStepped { count } => {
                let exchanges = several(*count, "exchange");
                write!(f, "This host's monotonic clock went backwards in {exchanges}, which are in no distribution")
            }
            Warning::SystemClockStepped => {
                f.write_str("The system clock stepped during the run. Kernel timestamps could not be used")
            }
            Warning::IcmpIsNotTheApplication => {
                f.write_str("A kernel or middlebox answered ICMP, not a program. Applications may see other times")
            }
            Warning::Interrupted => f.write_str("The run was interrupted. The numbers cover the time before"),
            Warning::NoReport { reason } => {
                write!(f, "The peer sent no report at the end ({reason}). Its counts and host facts are missing")
            }
            Warning::ServerLimited { waited_ns } => {
                write!(
                    f,
                    "Limits of the server held this measurement back for {waited_ns} in all. The numbers show the limit, not the network"
                )
            }
            Warning::PeerLost { reason } => {
                write!(f, "The run broke off ({reason}). The numbers cover the time before")
            }
            Warning::SamplesIncomplete { missing, reason } => {
                write!(f, "{} missing from the file{}", several_are(*missing, "sample"), Reason(reason.as_deref()))
            }
            Warning::WireContradicts { subject, counted, seen, interface, reason } => {
                let (counted, seen) = (grouped(*counted), grouped(*seen));
                let reason = Reason(reason.as_deref());
                write!(f, "{}: {counted} counted, but {seen} passed {interface}{reason}", capitalised(subject.name()))
            }
        }
    }
}

/// ` (no space left on device)`, or nothing.
struct Reason<'a>(Option<&'a str>);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

/// `This host` or `The peer`, by the name of an end.
fn host(end: &str) -> &'static str {
    if end == "our" { "This host" } else { "The peer" }
}

fn status(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let share = |count: u64, sent: u64| Percent(count as f64 / sent.max(1) as f64);
    match warning {
        Warning::Dark { dark } => {
            write!(f, "{}", crate::words::dark::seen(dark))?;
            let due = dark.due.map(grouped);
            due.map_or(Ok(()), |due| write!(f, ". An open loop would have lost about {due} requests"))
        }
        Warning::Silent { silence } => f.write_str(&crate::words::silence::seen(silence)),
        Warning::SizeUnanswered { message_bytes, sent } => {
            let requests = several(*sent, "request");
            write!(
                f,
                "{requests} of {message_bytes} got no reply, but smaller packets to the same host did. The path may drop large packets; this is not established"
            )
        }
        Warning::Lost { count, sent, dropped_by_us, dropped_by_peer, waited_share, unacknowledged, .. } => {
            let (lost, of) = (grouped(*count), grouped(*sent));
            write!(f, "{lost} of {of} requests got no reply in time ({})", share(*count, *sent))?;
            if let Some(waited) = waited_share {
                write!(f, ". Waiting for them took {} of the time, in which nothing was sent", Percent(*waited))?;
            }
            if *unacknowledged > 0 {
                write!(f, ". The peer's kernel had acknowledged none of what was sent last")?;
            }
            let dropped = dropped_by_us.map(grouped);
            dropped.map_or(Ok(()), |dropped| write!(f, ". This host's receive buffer had no room for {dropped}"))?;
            let there = dropped_by_peer.map(grouped);
            there.map_or(Ok(()), |dropped| write!(f, ". The peer's receive buffers had no room for {dropped}"))
        }
        Warning::Altered { strays, lost } => {
            let messages = crate::number::count(*strays, "message answers no request", "messages answer no request");
            write!(f, "{messages}, {} lost: replies may be altered on the way, not lost", several(*lost, "request"))
        }
        Warning::Corrupt { count, sent, seen } => {
            let (corrupt, of) = (grouped(*count), grouped(*sent));
            write!(f, "{corrupt} of {of} requests got an answer that is no reply to them")?;
            seen.as_ref().map_or(Ok(()), |seen| write!(f, ". The first: {seen}"))
        }
        Warning::Unasked { count, over_udp: true } => {
            let messages = crate::number::count(*count, "datagram", "datagrams");
            write!(
                f,
                "{messages} came that answer no request, with another ID or another question. Anybody can send datagrams: the times are those of replies that fit"
            )
        }
        Warning::Unasked { count, over_udp: false } => {
            let replies = crate::number::count(*count, "reply", "replies");
            write!(
                f,
                "The server sent {replies} that no request asked for. Where the protocol has no IDs, some times may belong to another request"
            )
        }
        Warning::Damaged { here, peer } => {
            let peer = peer.map_or(String::new(), |peer| format!(", {} at the peer", grouped(peer)));
            write!(f, "Packets came with a wrong checksum, and were dropped: {} here{peer}", grouped(*here))
        }
        Warning::Rebound { count, sent } => {
            let datagrams = crate::number::count(*count, "datagram", "datagrams");
            let from = "reached the peer from another port than the flow began with";
            match sent {
                Some(sent) => {
                    write!(f, "{datagrams} of {} {from}. They are not lost: it does not answer them", grouped(*sent))
                }
                None => write!(f, "{datagrams} {from}. They count as lost, for none of its counts has them"),
            }
        }
        Warning::LostOnTheWay { count, sent, dropped_by_peer } => {
            let (lost, of) = (grouped(*count), grouped(*sent));
            write!(f, "{lost} of {of} messages did not reach the peer ({})", share(*count, *sent))?;
            let dropped = dropped_by_peer.map(grouped);
            dropped.map_or(Ok(()), |dropped| write!(f, ". Its receive buffers had no room for {dropped}"))
        }
        Warning::Retransmitted { segments, had_already, requests } => {
            let (again, of) = (several(*segments, "segment"), several(*requests, "request"));
            write!(f, "TCP retransmitted {again} in {of}")?;
            if let Some(had) = had_already {
                // A probe of the tail (RFC 8985) goes out where an answer is only late, and a segment that was overtaken is held for lost: no
                // loss on the way there.
                let had = if had == segments { "all".to_owned() } else { grouped(*had) };
                write!(
                    f,
                    "; the peer had {had} already: it answered late, replies were lost, or packets were reordered"
                )?;
            }
            f.write_str(". A reply that waited for one counts as answered")
        }
        // A reset may come for a connection that was already established.
        Warning::Refused { count, sent, carrier: Carrier::TcpConnect, by: RefusedBy::Reset } => {
            write!(f, "{} of {} handshakes met a TCP reset", grouped(*count), grouped(*sent))
        }
        Warning::Refused { count, sent, by: RefusedBy::PortUnreachable, .. } => {
            let (refused, of) = (grouped(*count), grouped(*sent));
            write!(
                f,
                "{refused} of {of} requests were refused: the peer's host reports that nothing listens on this port (ICMP port unreachable)"
            )?;
            f.write_str(if count < sent { ". Hosts limit such errors: others may have met the same" } else { "" })
        }
        Warning::Refused { count, sent, carrier, by } => {
            let what = if *carrier == Carrier::TcpConnect { "handshakes" } else { "requests" };
            let how = match by {
                RefusedBy::Reset => " by a TCP reset",
                RefusedBy::PortUnreachable | RefusedBy::Unknown => "",
                RefusedBy::IcmpError => " by an ICMP error (destination unreachable)",
                RefusedBy::HopLimit => " by an ICMP error (hop limit exceeded)",
                RefusedBy::OurKernel => " by this host's kernel (destination unreachable)",
                RefusedBy::Program
                | RefusedBy::Upstream
                | RefusedBy::Unavailable
                | RefusedBy::Limited
                | RefusedBy::NotReady
                | RefusedBy::Denied => " by the program",
                RefusedBy::Connections => ": all of some connections, and none of the others",
                RefusedBy::Ended => ": their connection ended, or no new one was opened",
                RefusedBy::Closed => ": the server, or a proxy, closed their connection without a reply",
                RefusedBy::Cut => ": their connection ended in the middle of the reply",
                RefusedBy::ConnectionReset => ": their connection was reset before a reply",
            };
            write!(f, "{} of {} {what} were refused{how}", grouped(*count), grouped(*sent))
        }
        Warning::SendFailed { count } => write!(f, "This host could not send {}", several(*count, "message")),
        _ => Ok(()),
    }
}

/// The reason why a rate was not reached: `This host was too slow`.
pub fn held_back(warning: &Warning) -> &'static str {
    match warning {
        Warning::RateNotAchieved { in_turn: true, .. } => "Each connection makes one after the other",
        Warning::RateNotAchieved { held_back_by_window: true, .. } => "The limit of requests in flight held them back",
        Warning::RateNotAchieved { held_back_by_socket: true, .. } => "The path or the peer accepted no more",
        _ => "This host was too slow",
    }
}

fn schedule(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::Overtaken { offered_per_s, answered_per_s } => {
            let (offered, answered) = (PerSecond(*offered_per_s), PerSecond(*answered_per_s));
            write!(
                f,
                "Delays grow while {offered} requests/s are offered and {answered}/s answered in time: requests wait in a queue, at the program or on the way"
            )
        }
        Warning::RateNotAchieved { offered_per_s, sent_per_s, .. } => {
            let (sent, offered) = (PerSecond(*sent_per_s), PerSecond(*offered_per_s));
            write!(f, "{sent} of {offered} messages/s were sent. {}", held_back(warning))
        }
        Warning::BehindSchedule { share } => {
            write!(f, "{} of the requests were sent more than an interval late by this host", Percent(*share))
        }
        Warning::TicksMissed { count, due } => {
            let (skipped, due_sends) = (grouped(*count), grouped(*due));
            write!(f, "{skipped} of {due_sends} sends were skipped while waiting for replies. ")?;
            if *count as f64 / *due as f64 >= MOSTLY_MISSED {
                f.write_str("The interval was not kept")
            } else {
                f.write_str("Delays at those times are not in the result")
            }
        }
        _ => Ok(()),
    }
}

fn statistics(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::TooFewForQuantile { q, needed, seen, .. } => {
            let (needed, seen) = (grouped(*needed), grouped(*seen));
            write!(f, "{} is not printed: it needs {needed} exchanges, this run had {seen}", quantile_name(*q))
        }
        Warning::Correlated { effective, .. } => {
            let effective = grouped(effective.round() as u64);
            write!(
                f,
                "Successive values are correlated (effective n {effective}). The printed intervals already include this"
            )
        }
        Warning::NotSteady { shift_ns: Some(shift) } => {
            let (size, change) = (Nanos(shift.unsigned_abs()), if *shift < 0 { "fell" } else { "rose" });
            write!(f, "Not steady: p50 {change} by {size} from first to last third")
        }
        Warning::NotSteady { shift_ns: None } => f.write_str("Not steady: the run still changed after its first third"),
        Warning::NotSettled { q, reached: Some(reached) } => {
            let name = quantile_name(*q);
            write!(f, "{name} did not reach the requested precision: it is known to ±{}", Percent(*reached))
        }
        Warning::NotSettled { q, reached: None } => {
            let name = quantile_name(*q);
            write!(f, "{name} did not reach the requested precision: too few exchanges for an interval")
        }
        _ => Ok(()),
    }
}

/// Warnings about who answered, and about numbers that are easily misread.
fn reading(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::SameHost { address, shown: true } => write!(f, "{address} is this host. No packet crossed a network"),
        Warning::SameHost { address, shown: false } => write!(
            f,
            "{address} is an address of this host. No packet crossed a network, unless a tunnel or proxy listens there (`ssh -L`, `kubectl port-forward`)"
        ),
        Warning::CarriedOn { address, ours, theirs } => write!(
            f,
            "{address} is an address of this host ({ours}), but the peer says that it is {theirs}: a tunnel or proxy stands between, or a container. The times include it"
        ),
        Warning::ResetsTimed { resets, answers, another_hop, .. } => {
            let who =
                if *another_hop { "Another box than the host sent them" } else { "Their sender is not established" };
            write!(f, "{} of {} replies are resets of a closed port. {who}", grouped(*resets), grouped(*answers))
        }
        Warning::HandshakeIsNotTheApplication => {
            f.write_str("A kernel or middlebox answers SYNs, not a program. Applications may see other times")
        }
        Warning::IdleBetween { interval_ns, median_ns, waking_ns } => {
            let waking = waking_ns.map_or_else(String::new, |waking| format!(" ({waking} of both)"));
            let times = median_ns.map_or_else(|| "times".to_owned(), |median| format!("{median:#} (p50)"));
            write!(f, "Hosts sleep between requests (one per {interval_ns}). The {times} include wake-up delay{waking}")
        }
        Warning::RateIsNotRoundTrip { outstanding, reciprocal_ns, mean_ns } => {
            let mean = Nanos(mean_ns.round() as u64);
            write!(
                f,
                "{outstanding:.1} requests were in flight on average. 1/rate ({reciprocal_ns}) is not the round trip (mean {mean})"
            )
        }
        Warning::HalfRoundTrip => {
            f.write_str("The printed latency is half of each round trip, as if both directions took the same time")
        }
        Warning::MeanMisleads { mean_ns, median_ns } => {
            let (mean, times) = (Nanos(mean_ns.round() as u64), mean_ns / median_ns.0.max(1) as f64);
            write!(f, "The mean ({mean}) is {times:.1} times the median ({median_ns}): long values dominate it")
        }
        Warning::Stalled { stalls, answered } => {
            let (count, answered, share) = (grouped(stalls.count), grouped(*answered), Percent(stalls.share));
            let least = stalls.least_ns;
            write!(
                f,
                "{count} of {answered} round trips took {least} or longer, together {share} of the time. Percentiles count each once; "
            )?;
            f.write_str("a request at a random moment meets one with that probability")
        }
        Warning::Rhythm { lag, period_ns, correlation } => {
            write!(
                f,
                "Times {lag} requests apart ({period_ns}) are similar (rank correlation {correlation:.2}). A delay is in step with the schedule, or with their number (servers that take turns)"
            )
        }
        Warning::Changed { change } => {
            let from = crate::number::time(change.from_ns.0 as f64).unwrap_or_default();
            write!(f, "Round trips changed at {from}: {}", crate::words::change::seen(change))
        }
        Warning::Periodic { periodic, closed } => {
            write!(f, "{}", crate::words::periodic::seen(periodic))?;
            let hides = *closed && !periodic.by_requests_alone;
            if hides { f.write_str(". A closed loop meets each only once: percentiles hide it") } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn of_stream(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::OneStreamOneCpu { end, cpus } => {
            let host = if end == "our" { "this host's" } else { "the peer's" };
            write!(f, "One stream keeps one of {host} {cpus} CPUs busy. The path may carry more")
        }
        Warning::RateChanged { change: RateChange { at_ns, before_bytes_per_s, after_bytes_per_s } } => {
            let [before, after] = [before_bytes_per_s, after_bytes_per_s]
                .map(|rate| bit_rate(*rate).unwrap_or_else(|| "another rate".to_owned()));
            write!(f, "The rate was {before} until {at_ns}, then {after}. The rate above is the mean of both")
        }
        Warning::StartIncluded { steady_after_ns, share } => {
            let (steady, share) = (steady_after_ns, Percent(*share));
            write!(f, "The rate includes the first {steady}, before the steady state. It is {share} too low")
        }
        Warning::TooShort { intervals, needed } => {
            write!(f, "Too short to detect a steady state: {intervals} of {needed} whole intervals")
        }
        _ => Ok(()),
    }
}

fn machine(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::CoarseClock { step_ns, read_ns, median_ns } => {
            let reasons =
                [step_ns.map(|step| format!("steps of {step}")), read_ns.map(|cost| format!("readings of {cost}"))];
            let reasons: Vec<String> = reasons.into_iter().flatten().collect();
            write!(f, "This host's clock is coarse ({}) for times of {median_ns}", reasons.join(", "))
        }
        Warning::SlowClockSource { source, end } => {
            let host = host(end);
            write!(
                f,
                "{host} uses the clock source {source}, which is slow or coarse to read. All its times are longer"
            )
        }
        Warning::Throttled { end, throttled_ns, watched_ns } => {
            let host = host(end);
            write!(f, "{host} was CPU-throttled: its cgroup was stopped for {throttled_ns} in {watched_ns} (all CPUs)")
        }
        Warning::Disturbed { end, by, spoils, .. } => {
            write!(f, "{} was busy ({})", host(end), by.join(", "))?;
            if spoils.is_empty() { Ok(()) } else { write!(f, ". {}", super::spoiled(spoils)) }
        }
        Warning::PowerSavingGovernor { governor, end, lowest } => {
            let effect = if *lowest { "CPUs run at their lowest frequency" } else { "Idle CPUs slow down" };
            write!(f, "{} uses the CPU governor {governor}. {effect}", host(end))
        }
        Warning::OneCpu => f.write_str("Both ends share one CPU. Each waits while the other runs"),
        _ => Ok(()),
    }
}

fn settings(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::HeldReplies { count, replies, pause_ns } => {
            let (held, of) = (grouped(*count), grouped(*replies));
            write!(
                f,
                "{held} of {of} replies came in parts, or behind a session ticket of TLS, the rest {pause_ns} later (mean), as long as this host delays an acknowledgement. \
                 The server probably waits for that between its writes (Nagle's algorithm); the time is then no work of the program"
            )
        }
        Warning::Nagle { request_bytes, segment_bytes } => {
            write!(
                f,
                "Nagle's algorithm delays requests of {request_bytes} (segment: {segment_bytes}) until earlier data is acknowledged"
            )
        }
        Warning::Fragmented { message_bytes, mtu_bytes, fragments, whole_bytes } => {
            let packets = several(*fragments, "packet");
            write!(
                f,
                "A message of {message_bytes} needs {packets} of {mtu_bytes} (one holds {whole_bytes}). One lost packet loses it"
            )
        }
        Warning::IdleRestart { end, message_bytes, window_bytes, interval_ns } => {
            let (host, window) = (host(end), grouped(window_bytes.0));
            write!(
                f,
                "{host} reduces its congestion window (to {window} bytes at least) in pauses of {interval_ns}. {message_bytes} may need more round trips"
            )
        }
        Warning::GotLess { option, asked, got } => {
            write!(f, "{}: the kernel used {got}, not {asked}. The result is for {got}", capitalised(option))
        }
        Warning::NotBatched { asked: BatchBy::Segments, reason } => {
            write!(f, "The kernel refused segments ({reason}). From then on each message had its own call")
        }
        Warning::NotBatched { asked: BatchBy::Calls, reason } => {
            write!(f, "The kernel refused calls of several messages ({reason}). Each had its own call")
        }
        Warning::NoStamps { reason } => {
            write!(f, "No kernel timestamps ({reason}). The parts of a round trip are not known")
        }
        _ => Ok(()),
    }
}

/// `1 packet`, `3 packets`.
fn several(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `1 sample is`, `3 samples are`.
fn several_are(count: u64, one: &str) -> String {
    format!("{} {}", several(count, one), if count == 1 { "is" } else { "are" })
}

/// A share as percent: `1.3 %`, small ones with two significant digits.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        let decimals = if percent >= 0.95 || percent <= 0.0 { 1 } else { (-percent.log10().floor()) as usize + 1 };
        write!(f, "{percent:.decimals$} %")
    }
}

/// Requests a second: whole and grouped from a thousand, as the figures above the warnings are.
struct PerSecond(f64);

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 999.5 { f.write_str(&grouped(self.0.round() as u64)) } else { write!(f, "{:.1}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(0.013, "1.3 %")]
    #[test_case(1.0, "100.0 %")]
    #[test_case(0.000_5, "0.050 %")]
    #[test_case(0.000_001_23, "0.00012 %")]
    #[test_case(0.0, "0.0 %")]
    fn a_share_is_a_percentage(share: f64, text: &str) {
        assert_eq!(Percent(share).to_string(), text);
    }

    #[test]
    fn skipped_sends_have_the_consequence_that_their_share_has() {
        let missed = |count, due| seen(&Warning::TicksMissed { count, due });
        assert!(missed(7, 1_000).ends_with("not in the result"));
        assert!(missed(500, 1_000).ends_with("The interval was not kept"));
    }
}
