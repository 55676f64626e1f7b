//! Conditions of the warnings: the words of `docs/warnings.md`, with the numbers of [`measure::verdict::threshold`].

use measure::statistics::steady::{RELEVANT, SHORTEST};
use measure::statistics::summary::ACHIEVED;
use measure::statistics::{quantile, rhythm};
use measure::throughput::detail::TELLING;
use measure::verdict::Warning;
use measure::verdict::threshold::{
    AT_CAP, BEHIND, COARSE, CORRELATED, CPU_PRESSURE, FEWEST_DAMAGED, FEWEST_FOR_MEAN, FEWEST_HELD,
    FEWEST_RETRANSMITTED, HELD, HELD_REPLIES, IDLE_GAP, INITIAL_SEGMENTS, LARGE, LEAST_RTO, LOWEST, MISLEADING,
    OUTSTANDING, OVERTAKEN, POWER_SAVING, RESETS, RETRANSMITTED, RUN_QUEUE, SATURATED, SHORT_TRIP, SILENT, SLOW_CLOCKS,
    START, STEAL, THROTTLED,
};

/// Condition of the warning, in one sentence or two, with the threshold.
pub fn raised_when(warning: &Warning) -> String {
    match warning {
        Warning::OwnReflector => "No host was named.".to_owned(),
        Warning::SameHost { .. } => {
            "The route to the address leads over the loopback interface. This includes external addresses of this host. That the peer is this host is shown where a kernel answers, or where two or more of name, kernel, machine and CPU are told by both ends and none of them differs; otherwise a tunnel or proxy may listen there. sonde cannot distinguish two namespaces or two guests of one machine from two machines.".to_owned()
        }
        Warning::CarriedOn { .. } => {
            "The route to the address leads over the loopback interface, and the peer's name, kernel, machine or CPU is another than this host's. A tunnel (`ssh -L`, `kubectl port-forward`) does that, and so does a container.".to_owned()
        }
        Warning::IcmpIsNotTheApplication => "ICMP echo requests were answered.".to_owned(),
        Warning::HandshakeIsNotTheApplication => "TCP handshakes, or SYN probes, were answered.".to_owned(),
        Warning::ResetsTimed { .. } => format!("At least {} of the answers to probes are resets.", percent(RESETS)),
        Warning::PeerLost { .. } => "The control connection or the data connection broke.".to_owned(),
        Warning::NoReport { .. } => "The peer keeps counts and did not report them in time.".to_owned(),
        Warning::ServerLimited { .. } => {
            "`sonde serve` reports that its threads waited because of a rate or bandwidth limit of the server or of the key.".to_owned()
        }
        Warning::Interrupted => "A signal ended the run, or the reader of the output closed it.".to_owned(),
        Warning::SamplesIncomplete { .. } => "A row of `--samples` could not be written.".to_owned(),
        Warning::WireContradicts { .. } => "With `--verify`: a count differs from the captured packets by more than the capture itself lost ([capture](howto/capture.md)).".to_owned(),
        Warning::ClockStepped { .. } => "A reply has an earlier timestamp than its request, on the same clock. One such reply raises the warning.".to_owned(),
        Warning::SystemClockStepped => "The system clock and the monotonic clock diverged by more than 1 ms and 0.05 % of the run. The kernel never slews faster.".to_owned(),
        Warning::Dark { .. } | Warning::SendFailed { .. } | Warning::SizeUnanswered { .. } | Warning::Lost { .. } | Warning::Altered { .. } | Warning::Corrupt { .. } | Warning::Unasked { .. } | Warning::LostOnTheWay { .. } | Warning::Rebound { .. } | Warning::Damaged { .. } | Warning::Retransmitted { .. } | Warning::Refused { .. } => of_fates(warning),
        Warning::TicksMissed { .. }
        | Warning::RateNotAchieved { .. }
        | Warning::Overtaken { .. }
        | Warning::BehindSchedule { .. } => of_schedule(warning),
        Warning::Throttled { .. }
        | Warning::Disturbed { .. }
        | Warning::OneCpu
        | Warning::PowerSavingGovernor { .. }
        | Warning::SlowClockSource { .. } => of_machines(warning),
        Warning::IdleBetween { .. }
        | Warning::RateIsNotRoundTrip { .. }
        | Warning::HalfRoundTrip
        | Warning::MeanMisleads { .. }
        | Warning::Stalled { .. }
        | Warning::Rhythm { .. }
        | Warning::Periodic { .. }
        | Warning::Changed { .. }
        | Warning::OneStreamOneCpu { .. }
        | Warning::Silent { .. }
        | Warning::RateChanged { .. }
        | Warning::StartIncluded { .. } => of_reading(warning),
        Warning::NotSteady { .. }
        | Warning::NotSettled { .. }
        | Warning::Correlated { .. }
        | Warning::TooFewForQuantile { .. }
        | Warning::TooShort { .. }
        | Warning::CoarseClock { .. } => of_statistics(warning),
        Warning::HeldReplies { .. }
        | Warning::Nagle { .. }
        | Warning::Fragmented { .. }
        | Warning::IdleRestart { .. }
        | Warning::GotLess { .. }
        | Warning::NotBatched { .. }
        | Warning::NoStamps { .. } => of_settings(warning),
    }
}

fn of_fates(warning: &Warning) -> String {
    match warning {
        Warning::Dark { .. } => "Times without any reply make up at least 1 % of the run. In each of them two or more requests were lost, refused or not sent, over at least a quarter of that time, with the time for which a full socket held back requests that were due. By chance such a series occurs in less than one of two thousand runs. The warning is also raised where the last half of the run, or more, was refused or not sent. A single lost request does not count. In an open loop it is also raised for one or two times of 5 % of the run or more in which 30 or more requests left when they were due, and all replies to them came later.",
        Warning::SendFailed { .. } => "The kernel of this host refused at least one message.",
        Warning::SizeUnanswered { .. } => {
            return format!(
                "All requests were lost, the messages are longer than {} B (which every host of IPv4 accepts), and a connection to the peer was made and lasted: the data connection, or the one that agreed on the measurement.",
                LARGE.0
            );
        }
        Warning::Lost { .. } => "At least one request got no reply before its timeout. Late replies are included. Read the interval of the loss rate beside it: one loss says little. Where most were lost in a row over TCP, and the peer's kernel had acknowledged nothing of what was retransmitted for them at the end, that is added: it acknowledges also for a program that is stopped.",
        Warning::Retransmitted { .. } => {
            return format!(
                "TCP of this host retransmitted at least {FEWEST_RETRANSMITTED} segments, and at least {} of the number of requests. Each is a loss in either direction, a reply later than TCP's timeout, or a segment that others overtook. The counter does not distinguish them. It excludes segments that the peer retransmitted. Those few that TCP sends again while nothing comes back are told as that time alone, and those of requests that the peer's kernel never acknowledged as losses alone.",
                percent(RETRANSMITTED)
            );
        }
        Warning::Altered { .. } => "Replies are missing, none came late, and the messages that answer no request are between half and twice as many. A message with another ID than any request's is no reply, whoever changed it.",
        Warning::Corrupt { .. } => "At least one request got an answer that is no reply to it: bytes that the protocol does not have, a wrong length or changed content. Of a program that is asked over TCP, the first such bytes are shown, and its connection is made anew.",
        Warning::Unasked { .. } => "A program that is asked over TCP sent at least one reply while no request was out, or the beginning of one before the next request. Such a reply is discarded. Of DNS and NTP over UDP: at least 10 datagrams, and 1 for 100 requests, came that answer no request.",
        Warning::Damaged { .. } => return format!("The kernels of the two hosts together counted {FEWEST_DAMAGED} packets or more with a wrong checksum (`InCsumErrors` of UDP, TCP and ICMP) during the run. The counters are of the host: they include what others received. Packets that a card or switch drops for their frame's checksum do not reach these counters."),
        Warning::Rebound { .. } => "At least one datagram of a flow or stream reached sonde's peer from another address or port than the first ones did. A NAT or a firewall does this when it forgets the flow, or is restarted. The peer does not answer such datagrams, so that none is sent to an address that somebody else claims.",
        Warning::LostOnTheWay { .. } => "The peer counted fewer messages of a load than were sent.",
        _ => "At least one request was answered by a reset, an ICMP error or the refusal of a program. sonde uses the replies and the kernel's counters to identify who refused it.",
    }
    .to_owned()
}

fn of_schedule(warning: &Warning) -> String {
    match warning {
        Warning::TicksMissed { .. } => {
            "In a closed loop with a schedule, a scheduled send time passed while all requests in flight were pending. One skipped send raises the warning: its delay is missing from every distribution.".to_owned()
        }
        Warning::Overtaken { .. } => format!("In an open loop the median of the last third is surely above that of the first, fewer than {} of the offered requests are answered in time, and some replies come late.", percent(OVERTAKEN)),
        Warning::RateNotAchieved { .. } => format!(
            "In an open loop, less than {} of the scheduled messages were sent (with Poisson gaps: fewer than chance explains). The limit on requests in flight was the reason where requests waited for it {} of the time, or where by Little's law at least {} of it was used. A socket was the reason where messages waited for its buffer as long. Otherwise this host was too slow.",
            percent(ACHIEVED),
            percent(HELD),
            percent(AT_CAP),
        ),
        _ => format!(
            "In an open loop, more than {} of the requests left more than one interval (and 1 µs) after their scheduled send time. Neither the limit on requests in flight nor a socket delayed them.",
            percent(BEHIND)
        ),
    }
}

fn of_machines(warning: &Warning) -> String {
    match warning {
        Warning::Throttled { .. } => format!(
            "A CPU quota (`cpu.max`) stopped the control group of an end for more than {} of the time. Waits for a CPU at that end are then not reported as a busy host. For throughput runs the warning is omitted where the quota is reported as the limit.",
            percent(THROTTLED)
        ),
        Warning::Disturbed { .. } => format!(
            "During the measurement, at one end: a measuring thread waited for a CPU more than {} of the time, or any task of the machine did more than {} of the time, or the hypervisor gave more than {} of the CPU time to other guests. The warning names what else of the result such a host can cause by itself: differences of up to 1 ms, and larger ones where the measurement waited for a CPU long enough for them.",
            percent(RUN_QUEUE),
            percent(CPU_PRESSURE),
            percent(STEAL)
        ),
        Warning::OneCpu => {
            "Both ends run on this host, and it has one CPU for them, or both are pinned to the same.".to_owned()
        }
        Warning::PowerSavingGovernor { .. } => format!(
            "A CPU of an end has one of the governors {}, and the measurement lets CPUs idle. For throughput runs and for ends that spin, sonde warns only about {LOWEST}, where the driver does not choose frequencies itself.",
            POWER_SAVING.join(", ")
        ),
        _ => format!("The kernel of an end has one of the clock sources {}.", SLOW_CLOCKS.join(", ")),
    }
}

fn of_reading(warning: &Warning) -> String {
    match warning {
        Warning::IdleBetween { .. } => format!(
            "Requests leave one by one, more than {IDLE_GAP} apart. Their median round trip is at most {SHORT_TRIP}, and at least one end sleeps between requests. From that interval on the round trip depends on the interval. Longer round trips hide it.",
        ),
        Warning::RateIsNotRoundTrip { .. } => format!(
            "A closed loop without pause and with several requests in flight: by Little's law at least {OUTSTANDING} on average."
        ),
        Warning::HalfRoundTrip => "A record of `sonde sockperf` without `--full-rtt`. The record holds round trips; the printed values are half of them.".to_owned(),
        Warning::MeanMisleads { .. } => format!(
            "The run has at least {FEWEST_FOR_MEAN} values, and their mean is at least {MISLEADING} times the median. For comparison: log-normal values with a standard deviation of half their mean have 1.12."
        ),
        Warning::Stalled { .. } => "A closed loop without pause, in which answers that took 20 times the median and at least 1 ms hold at least 10 % of the time. Their share of the time is the chance that a request at a random moment meets one; percentiles count each of them once.".to_owned(),
        Warning::Rhythm { .. } => format!(
            "Requests leave at equal intervals from one thread, and there are at least {} values. The rank correlation at some distance of 2 to {} requests is at least {}. It is {} above a lower one at a shorter distance, and it returns at twice the distance.",
            rhythm::FEWEST,
            rhythm::FARTHEST,
            rhythm::STRONG,
            rhythm::CLEAR
        ),
        Warning::Periodic { .. } => "Round trips of at least twice the median, and outside the spread, end at equal distances in time (within 5 %), or begin after equal numbers of requests (four of five exactly), in most of the expected places. By chance this occurs in less than one of two thousand runs, all tested distances included. At a constant rate both hold, and both are printed. With several threads sonde tests the first one, and time only. It does not test runs of more than a million replies, because it does not keep all of them.".to_owned(),
        Warning::Changed { .. } => "sonde cuts the run into 40 equal parts (16 or more, where there are fewer than 80 replies). The medians of consecutive parts differ from the others by at least half of the lower level and 10 µs. On either side at most one part in ten is nearer to the other level, and neither level moves by a third of the difference. Or the parts go back and forth between two such levels, in so few stretches that at most one in ten lies about the middle of both. By chance either occurs in less than one of two thousand runs. With several threads sonde tests the first one.".to_owned(),
        Warning::Silent { .. } => format!("Whole intervals of the receiver in which it got less than a tenth of what the others bring (their median) make up at least {} of the stream's time. The shortest that shows is one interval (`--interval`). It is not tested where the other intervals have fewer than ten calls on average. The first intervals are none so long as each brings something and the next one more, as in TCP's slow start. Where the peer told nothing, whole intervals in which our connections took as little count.", percent(SILENT)),
        Warning::RateChanged { .. } => "Each whole interval of the receiver before some time brings at least a third more than each behind it, two intervals or more on either side; or at least a third less, where three or more before it are level. Not told beside a silence.".to_owned(),
        Warning::OneStreamOneCpu { .. } => format!(
            "The CPU of an end limits one stream, and that end may use two or more CPUs. Its thread, waits for a CPU included, or a CPU of its host was busy at least {} of the time.",
            percent(SATURATED)
        ),
        _ => format!("The mean rate of a stream is more than {} below the rate of its steady state.", percent(START)),
    }
}

fn of_statistics(warning: &Warning) -> String {
    match warning {
        Warning::NotSteady { .. } => format!(
            "For {SHORTEST} or more values: the medians of the first and the last third differ by at least {}, significantly (99.9 %), of what is behind the start by MSER-5, or of all where that start is longer than a sixth of the run; or by MSER-5 the run becomes steady only in its second half, and the median or the spread before differs as significantly. For streams: no two consecutive intervals, of which the first begins in the first third of the run, carried nine tenths of the rate of the second half, or that is 0, or more than a quarter of the intervals behind them carried a quarter less than that, or a third more.",
            percent(RELEVANT)
        ),
        Warning::NotSettled { .. } => "The percentile of `--until` did not reach the requested precision.".to_owned(),
        Warning::Correlated { .. } => {
            format!("The effective sample size is less than {} of the sample.", percent(CORRELATED))
        }
        Warning::TooFewForQuantile { .. } => format!(
            "Fewer than {} values lie beyond one of the listed percentiles. The warning names the first one. With fewer than {SHORTEST} values sonde cannot test for steady state either.",
            quantile::ROUGH_FROM
        ),
        Warning::TooShort { .. } => format!("A stream has fewer than {TELLING} whole intervals besides its last."),
        _ => format!(
            "The smallest step of this host's clock, or two readings of it, exceed {} of the median. The warning is omitted where a slow clock source is reported as the reason.",
            percent(COARSE)
        ),
    }
}

fn of_settings(warning: &Warning) -> String {
    match warning {
        Warning::HeldReplies { .. } => format!(
            "Over TCP, at least {FEWEST_HELD} replies of a program, and at least {} of them, came in parts, the first of less than a segment, with a pause of 38 to 60 ms and a round trip between them. On a new connection with TLS 1.3 the first part may be the server's session ticket. Linux delays an acknowledgement for 40 ms where it has nothing to send (`TCP_DELACK_MIN`); where the kernel shows that it acknowledged a first part at once, that reply does not count. A program that computes for just as long while an acknowledgement is delayed looks the same. Requests less than 40 ms apart take the acknowledgement along: the reply then waits for the next request, and nothing is told.",
            percent(HELD_REPLIES)
        ),
        Warning::Nagle { .. } => "TCP without `TCP_NODELAY`, with more than one request in flight, and the smallest request is shorter than a segment. With one request in flight Nagle's algorithm delays nothing.".to_owned(),
        Warning::Fragmented { .. } => "A datagram or echo, or its reply, with its headers is longer than the path MTU that the kernel knows (or the interface's MTU, where it knows none).".to_owned(),
        Warning::IdleRestart { .. } => format!(
            "A kept-open connection carries messages of more than {INITIAL_SEGMENTS} segments after pauses of more than {LEAST_RTO} and a round trip, and the sender has `net.ipv4.tcp_slow_start_after_idle` on. Linux halves the congestion window for each such pause, down to that number of segments (RFC 5681 section 4.1)."
        ),
        Warning::GotLess { .. } => "A buffer size, the congestion control or the type of service differs from the requested one when read back.".to_owned(),
        Warning::NotBatched { .. } => "The kernel refused several messages in one call.".to_owned(),
        _ => "The time breakdown needs kernel timestamps, and none arrived, or the socket refused them.".to_owned(),
    }
}

/// A threshold as people write it: `1 %`, `0.1 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::warning::example::examples;
    use test_case::test_case;

    #[test_case(0.01, "1 %")]
    #[test_case(0.001, "0.1 %")]
    #[test_case(0.5, "50 %")]
    fn a_threshold_is_a_percentage(share: f64, text: &str) {
        assert_eq!(percent(share), text);
    }

    #[test]
    fn when_is_a_sentence() {
        for example in examples() {
            let when = raised_when(&example.warning);
            assert!(when.ends_with('.') && !when.contains('\n'), "{when}");
        }
    }
}
