//! When a warning is raised: the words of `docs/warnings.md`, with the numbers of [`measure::verdict::threshold`].

use measure::statistics::steady::{RELEVANT, SHORTEST};
use measure::statistics::summary::ACHIEVED;
use measure::statistics::{quantile, rhythm};
use measure::throughput::detail::TELLING;
use measure::verdict::Warning;
use measure::verdict::threshold::{
    AT_CAP, BEHIND, COARSE, CORRELATED, CPU_PRESSURE, FEWEST_FOR_MEAN, FEWEST_RETRANSMITTED, HELD, IDLE_GAP,
    INITIAL_SEGMENTS, LEAST_RTO, LOWEST, MISLEADING, OUTSTANDING, POWER_SAVING, RESETS, RETRANSMITTED, RUN_QUEUE,
    SATURATED, SHORT_TRIP, SLOW_CLOCKS, START, STEAL, THROTTLED,
};

/// When it is raised, in one sentence or two, with the threshold.
pub fn raised_when(warning: &Warning) -> String {
    match warning {
        Warning::OwnReflector => "No host was named.".to_owned(),
        Warning::SameHost { .. } => {
            "The route to the address leads over the loopback interface: it is this host's own, external ones included. Two namespaces or two guests of one machine are not recognised: nothing tells them from two machines.".to_owned()
        }
        Warning::IcmpIsNotTheApplication => "Echoes were answered.".to_owned(),
        Warning::HandshakeIsNotTheApplication => "Handshakes, or bare SYNs, were answered.".to_owned(),
        Warning::ResetsTimed { .. } => format!("At least {} of the answers to probes are resets.", percent(RESETS)),
        Warning::PeerLost { .. } => "The control connection, or that of the data, broke.".to_owned(),
        Warning::NoReport { .. } => "A far side that counts did not tell its counts in time.".to_owned(),
        Warning::ServerLimited { .. } => {
            "`sonde serve` reports that its threads waited because of a rate or bandwidth limit of the server or of the key.".to_owned()
        }
        Warning::Interrupted => "A signal, or a reader that went away, ended the run.".to_owned(),
        Warning::SamplesIncomplete { .. } => "A row of `--samples` could not be written.".to_owned(),
        Warning::WireContradicts { .. } => "With `--verify`: a count differs from what the capture saw by more than what the capture itself lost ([verify.md](verify.md)).".to_owned(),
        Warning::ClockStepped { .. } => "A reply is stamped before its request, on one clock. One is enough: it cannot be.".to_owned(),
        Warning::SystemClockStepped => "The system clock and the monotonic one moved against each other by more than 1 ms and 0.05 % of the run: the kernel does not slew faster.".to_owned(),
        Warning::Dark { .. } | Warning::SendFailed { .. } | Warning::Lost { .. } | Warning::LostOnTheWay { .. } | Warning::Retransmitted { .. } | Warning::Refused { .. } => of_fates(warning),
        Warning::TicksMissed { .. } | Warning::RateNotAchieved { .. } | Warning::BehindSchedule { .. } => of_schedule(warning),
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
        | Warning::StartIncluded { .. } => of_reading(warning),
        Warning::NotSteady { .. }
        | Warning::NotSettled { .. }
        | Warning::Correlated { .. }
        | Warning::TooFewForQuantile { .. }
        | Warning::TooShort { .. }
        | Warning::CoarseClock { .. } => of_statistics(warning),
        Warning::Nagle { .. }
        | Warning::Fragmented { .. }
        | Warning::IdleRestart { .. }
        | Warning::GotLess { .. }
        | Warning::NotBatched { .. }
        | Warning::NoStamps { .. } => of_settings(warning),
    }
}

fn of_fates(warning: &Warning) -> String {
    match warning {
        Warning::Dark { .. } => "Times in which nothing came back make up at least 1 % of the run. In each of them two requests or more got no reply in time, whether lost, refused or not sent, over a quarter of it or longer, and those of the run would stand so in a row by chance in less than one of two thousand runs; or half of the run or more, at its end, was refused or could not be sent. A single lost request and the wait for it is no such time.",
        Warning::SendFailed { .. } => "Our own kernel refused at least one message.",
        Warning::Lost { .. } => "At least one request got no reply before its timeout, late ones included. That is not yet much: the interval of the ratio stands beside it.",
        Warning::Retransmitted { .. } => {
            return format!(
                "TCP of this host sent at least {FEWEST_RETRANSMITTED} segments again, and at least {} as many as requests. Each is a loss in one of the directions, or a reply later than TCP waits for: its counter does not tell which. Segments that the peer sent again are not in it.",
                percent(RETRANSMITTED)
            );
        }
        Warning::LostOnTheWay { .. } => "The peer counted fewer messages of a load than were sent.",
        _ => "At least one request was answered by a reset, an ICMP error or the refusal of a program. By whom is told from the replies and from what our kernel counted meanwhile.",
    }
    .to_owned()
}

fn of_schedule(warning: &Warning) -> String {
    match warning {
        Warning::TicksMissed { .. } => {
            "In a closed loop with a schedule an instant went by while the window was full. One is enough: what a request at that instant would have met is in no distribution.".to_owned()
        }
        Warning::RateNotAchieved { .. } => format!(
            "Of an open loop: less than {} of what was due was sent (for Poisson gaps, less by more than chance makes it). The cap held it back where requests waited for it {} of the time, or by Little's law at least {} of it were outstanding; a socket where messages waited for its room as long; else our side was too slow.",
            percent(ACHIEVED),
            percent(HELD),
            percent(AT_CAP),
        ),
        _ => format!(
            "Of an open loop: more than {} of the requests left more than an interval (and 1 µs) after their instant, and neither the cap nor a socket held them back.",
            percent(BEHIND)
        ),
    }
}

fn of_machines(warning: &Warning) -> String {
    match warning {
        Warning::Throttled { .. } => format!(
            "The control group of an end was kept from running (`cpu.max`) for more than {} of the time. Then the waits for a CPU at that end are not told as a disturbance: they are this. Of a stream not where that is told as what limits it.",
            percent(THROTTLED)
        ),
        Warning::Disturbed { .. } => format!(
            "At one end, while it measured: a measuring thread waited for a CPU more than {} of the time, some task of the machine more than {} of it, or the hypervisor gave more than {} of its CPU time to others.",
            percent(RUN_QUEUE),
            percent(CPU_PRESSURE),
            percent(STEAL)
        ),
        Warning::OneCpu => {
            "Both ends run on this host, and it has one CPU for them, or both are pinned to the same.".to_owned()
        }
        Warning::PowerSavingGovernor { .. } => format!(
            "A CPU of an end has one of the governors {}, and the measurement lets CPUs idle. Of streams, which do not, and of ends that spin: only {LOWEST}, where the driver does not choose frequencies itself.",
            POWER_SAVING.join(", ")
        ),
        _ => format!("The kernel of an end has one of the clock sources {}.", SLOW_CLOCKS.join(", ")),
    }
}

fn of_reading(warning: &Warning) -> String {
    match warning {
        Warning::IdleBetween { .. } => format!(
            "Requests leave one by one, more than {IDLE_GAP} apart, their median round trip is at most {SHORT_TRIP}, and not all that could sleep spins instead. Up to there the round trip hardly depends on the interval, from there it does; longer ones hide it.",
        ),
        Warning::RateIsNotRoundTrip { .. } => format!(
            "A closed loop back to back over several requests at a time, of which by Little's law at least {OUTSTANDING} were outstanding on average."
        ),
        Warning::HalfRoundTrip => "A record of `sonde sockperf` without `--full-rtt`: the record has whole round trips, what it printed is halves.".to_owned(),
        Warning::MeanMisleads { .. } => format!(
            "Of at least {FEWEST_FOR_MEAN} times the mean is at least {MISLEADING} times the median. Log-normal times with a standard deviation of half their mean have 1.12."
        ),
        Warning::Stalled { .. } => "A closed loop back to back, in which answers that took 20 times the median and at least 1 ms, and were at most 1 % of all, hold at least 20 % of the time. Their share of the time is the chance that a request at a random moment meets one; percentiles count each of them once.".to_owned(),
        Warning::Rhythm { .. } => format!(
            "Requests leave at even distances from one thread, and of at least {} times the correlation of ranks comes back, at some distance of 2 to {}, to at least {}, by {} above a lower one nearer by, and again at twice that distance.",
            rhythm::FEWEST,
            rhythm::FARTHEST,
            rhythm::STRONG,
            rhythm::CLEAR
        ),
        Warning::Periodic { .. } => "Times that are at least twice the median, and clear of the spread, end at even distances in time, at most 5 % of the distance off, in most of the places where the next would. Were they dealt out by chance, so many in place would come up in less than one of two thousand runs, all distances tried counted. Of several threads the first one is looked at; a run of more than a million answers, of which not all are kept, is not.".to_owned(),
        Warning::Changed { .. } => "The run is cut into 40 parts of one length (fewer, at least 16, where there are fewer than 80 answers). The medians of a part of them, up to the end or not, differ from the others by half of the lower level and 10 µs or more; on either side at most one part in ten is nearer to the other level; neither level moves by a third of the distance; and so many in one place would come up by chance in less than one of two thousand runs. Of several threads the first one is looked at.".to_owned(),
        Warning::OneStreamOneCpu { .. } => format!(
            "One stream is limited by the CPU of an end that may run on two or more: its thread, with its waits for a CPU, or a CPU of its host, was busy at least {} of the time.",
            percent(SATURATED)
        ),
        _ => format!("The mean rate of a stream lies more than {} below that from its steady point on.", percent(START)),
    }
}

fn of_statistics(warning: &Warning) -> String {
    match warning {
        Warning::NotSteady { .. } => format!(
            "Of at least {SHORTEST} times: the medians of the first and the last third differ by {} or more, and surely so (99 %), or MSER-5 finds no steady part in the second half. Of a stream: no two intervals in a row carried nine tenths of what those of its second half did.",
            percent(RELEVANT)
        ),
        Warning::NotSettled { .. } => "The quantile of `--until` is not known as well as was asked.".to_owned(),
        Warning::Correlated { .. } => {
            format!("The effective sample size is less than {} of the sample.", percent(CORRELATED))
        }
        Warning::TooFewForQuantile { .. } => format!(
            "Fewer than {} values lie beyond one of the quantiles that are always listed; the first such is named. With fewer than {SHORTEST} it cannot be told either whether the run was steady.",
            quantile::ROUGH_FROM
        ),
        Warning::TooShort { .. } => format!("A stream has fewer than {TELLING} whole intervals besides its last."),
        _ => format!(
            "The smallest step of our clock, or two of its readings, take more than {} of the median; not where a slow clock source is told, which is why.",
            percent(COARSE)
        ),
    }
}

fn of_settings(warning: &Warning) -> String {
    match warning {
        Warning::Nagle { .. } => "TCP without `TCP_NODELAY`, more than one request may be outstanding, and the smallest is less than a segment. With one at a time nothing is held back, and nothing is told.".to_owned(),
        Warning::Fragmented { .. } => "A datagram or echo, or its reply, with its heads is longer than the largest packet of the path as our kernel knows it (of the interface where it does not).".to_owned(),
        Warning::IdleRestart { .. } => format!(
            "Over a connection that stays open a message of more than {INITIAL_SEGMENTS} segments is sent after pauses of more than {LEAST_RTO} and a round trip, and the end that sends it has `net.ipv4.tcp_slow_start_after_idle` on: Linux halves the window for each such time that nothing was sent, down to so many segments (RFC 5681 section 4.1)."
        ),
        Warning::GotLess { .. } => "A buffer, the congestion control or the type of service, read back, is not what was asked for.".to_owned(),
        Warning::NotBatched { .. } => "The kernel refused to take several messages in one call.".to_owned(),
        _ => "Kernel timestamps were to split round trips, and none came, or the socket refused them.".to_owned(),
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
