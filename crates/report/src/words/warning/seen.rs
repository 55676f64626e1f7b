//! What a warning says was seen, on one line.

use std::fmt;

use measure::method::{BatchBy, Carrier};
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};
use measure::verdict::Warning;
use measure::verdict::refused::RefusedBy;
use measure::verdict::threshold::MOSTLY_MISSED;

/// What `warning` says was seen.
pub fn seen(warning: &Warning) -> String {
    Line(warning).to_string()
}

struct Line<'a>(&'a Warning);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Warning::SameHost { .. }
            | Warning::ResetsTimed { .. }
            | Warning::HandshakeIsNotTheApplication
            | Warning::IdleBetween { .. }
            | Warning::RateIsNotRoundTrip { .. }
            | Warning::HalfRoundTrip
            | Warning::MeanMisleads { .. }
            | Warning::Rhythm { .. } => reading(self.0, f),
            Warning::OneStreamOneCpu { .. } | Warning::StartIncluded { .. } | Warning::TooShort { .. } => {
                of_stream(self.0, f)
            }
            Warning::CoarseClock { .. } | Warning::SlowClockSource { .. } | Warning::Throttled { .. } => {
                machine(self.0, f)
            }
            Warning::Nagle { .. } | Warning::Fragmented { .. } | Warning::IdleRestart { .. } => settings(self.0, f),
            Warning::OwnReflector => {
                f.write_str("no target was given: the peer is a reflector of our own, over loopback")
            }
            Warning::TooFewForQuantile { q, needed, seen, .. } => {
                write!(f, "{} needs {} exchanges, {} were seen", quantile_name(*q), grouped(*needed), grouped(*seen))
            }
            Warning::Correlated { count, effective } => {
                write!(
                    f,
                    "{} values tell as much as {} independent ones: each resembles the one before",
                    grouped(*count),
                    grouped(effective.round() as u64)
                )
            }
            Warning::RateNotAchieved { offered_per_s, sent_per_s, held_back_by_window, held_back_by_socket } => {
                let cause = match (held_back_by_window, held_back_by_socket) {
                    (true, _) => "the cap on outstanding requests held them back",
                    (_, true) => "the path or the peer took no more, so the socket held them back",
                    _ => "our side was too slow",
                };
                let (sent, due) = (PerSecond(*sent_per_s), PerSecond(*offered_per_s));
                write!(f, "{sent} requests a second were sent where {due} were due: {cause}")
            }
            Warning::BehindSchedule { share } => {
                write!(f, "{} of the requests were sent more than an interval late by our own side", Percent(*share))
            }
            Warning::TicksMissed { count, due } => ticks_missed(f, *count, *due),
            Warning::Lost { count, sent, dropped_by_us, .. } => {
                let share = Percent(*count as f64 / (*sent).max(1) as f64);
                write!(f, "{} of {} requests got no reply in time ({share})", grouped(*count), grouped(*sent))?;
                let dropped = dropped_by_us.map(grouped);
                dropped.map_or(Ok(()), |dropped| write!(f, ": our own receive buffer had no room for {dropped}"))
            }
            Warning::LostOnTheWay { count, sent, dropped_by_peer } => {
                let share = Percent(*count as f64 / (*sent).max(1) as f64);
                write!(f, "{} of {} messages did not reach the peer ({share})", grouped(*count), grouped(*sent))?;
                let dropped = dropped_by_peer.map(grouped);
                dropped.map_or(Ok(()), |dropped| write!(f, ": its host had no room for {dropped} in receive buffers"))
            }
            Warning::Refused { count, sent, carrier, by } => {
                let what = if *carrier == Carrier::TcpConnect { "handshakes" } else { "requests" };
                let how = match by {
                    RefusedBy::Reset => " by a TCP reset",
                    RefusedBy::IcmpError => " by an ICMP error: destination unreachable",
                    RefusedBy::OurKernel => " by our own kernel: destination unreachable",
                    RefusedBy::Unknown => "",
                };
                write!(f, "{} of {} {what} were refused{how}", grouped(*count), grouped(*sent))
            }
            Warning::SendFailed { count } => {
                write!(f, "{} messages could not be sent by our own system", grouped(*count))
            }
            Warning::Disturbed { end, by } => write!(f, "{end} machine was disturbed: {}", by.join(", ")),
            Warning::NotSteady { shift_ns: Some(shift) } => {
                let (size, side) = (Nanos(shift.unsigned_abs()), if *shift < 0 { "below" } else { "above" });
                write!(f, "the run drifted: the median of its last third lies {size} {side} that of its first")
            }
            Warning::NotSteady { shift_ns: None } => {
                f.write_str("no steady state was found: the run still changed in its second half")
            }
            Warning::ClockStepped { count } => {
                write!(
                    f,
                    "our monotonic clock went backwards in {} exchanges, which are in no distribution",
                    grouped(*count)
                )
            }
            Warning::SystemClockStepped => {
                f.write_str("the system clock stepped during the run: kernel stamps could not be placed")
            }
            Warning::IcmpIsNotTheApplication => {
                f.write_str("the peer's kernel answers ICMP, perhaps a box before it: no application's round trip")
            }
            Warning::PowerSavingGovernor { governor, end, lowest: true } => {
                write!(f, "{end} CPU frequency governor is {governor}: its CPUs run at their lowest frequency")
            }
            Warning::PowerSavingGovernor { governor, end, lowest: false } => {
                write!(
                    f,
                    "{end} CPU frequency governor is {governor}: an idle CPU slows down, and so do sparse exchanges"
                )
            }
            Warning::OneCpu => {
                f.write_str("both ends share one CPU, or there is but one: each waits while the other runs")
            }
            Warning::NotSettled { q, reached: Some(reached) } => {
                write!(f, "{} did not settle: it is known to ±{}", quantile_name(*q), Percent(*reached))
            }
            Warning::NotSettled { q, reached: None } => {
                write!(f, "{} did not settle: there were too few exchanges for its interval", quantile_name(*q))
            }
            Warning::Interrupted => f.write_str("the run was ended early: these are the numbers up to then"),
            Warning::NoReport { reason } => {
                write!(
                    f,
                    "the peer did not report at the end, so its counts and its machine's facts are missing: {reason}"
                )
            }
            Warning::PeerLost { reason } => write!(f, "the peer stopped in the middle: {reason}"),
            Warning::GotLess { option, asked, got } => {
                write!(f, "{option}: {asked} was asked for, the socket got {got}")
            }
            Warning::NotBatched { asked: BatchBy::Segments, reason } => {
                write!(
                    f,
                    "the kernel refused segments ({reason}): from there on each message left in a call of its own"
                )
            }
            Warning::NotBatched { asked: BatchBy::Calls, reason } => {
                write!(f, "the kernel refused calls of many messages ({reason}): each left in a call of its own")
            }
            Warning::SamplesIncomplete { missing, reason } => {
                write!(f, "{} samples are missing from the file", grouped(*missing))?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Warning::WireContradicts { subject, counted, seen, interface, reason } => {
                let (counted, seen) = (grouped(*counted), grouped(*seen));
                write!(f, "{}: {counted} were counted, {seen} passed {interface}", subject.name())?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Warning::NoStamps { reason } => write!(f, "no kernel timestamps: {reason}"),
        }
    }
}

fn ticks_missed(f: &mut fmt::Formatter<'_>, count: u64, due: u64) -> fmt::Result {
    let missed = grouped(count);
    write!(f, "{missed} of {} scheduled instants passed while a reply was outstanding: ", grouped(due))?;
    if count as f64 / due as f64 >= MOSTLY_MISSED {
        f.write_str("the replies made the interval, not the schedule")
    } else {
        f.write_str("nothing was sent at them")
    }
}

/// Those of who answered, and of what a number does not stand for.
fn reading(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::SameHost { address } => {
            write!(f, "{address} is an address of this very host: what was sent crossed no network")
        }
        Warning::ResetsTimed { resets, answers, another_hop, .. } => {
            let who = if *another_hop { "another hop than the host sent them" } else { "who sent them is not shown" };
            write!(f, "{} of {} answers are resets of a closed port: {who}", grouped(*resets), grouped(*answers))
        }
        Warning::HandshakeIsNotTheApplication => {
            f.write_str("the peer's kernel answers the handshake, perhaps a box before it: no application's round trip")
        }
        Warning::IdleBetween { interval_ns, median_ns, waking_ns } => {
            write!(f, "one request every {interval_ns}, of {median_ns}: the ends rest in between, and waking up ")?;
            match waking_ns {
                Some(waking) => write!(f, "({waking} here) is part of it"),
                None => f.write_str("is part of it"),
            }
        }
        Warning::RateIsNotRoundTrip { outstanding, reciprocal_ns, mean_ns } => {
            let mean = Nanos(mean_ns.round() as u64);
            write!(
                f,
                "{outstanding:.1} requests were outstanding at a time: one over the rate ({reciprocal_ns}) is not how long one takes ({mean} on average)"
            )
        }
        Warning::HalfRoundTrip => {
            f.write_str("what was printed as latency is half of each round trip, as if both ways were alike")
        }
        Warning::MeanMisleads { mean_ns, median_ns } => {
            let (mean, times) = (Nanos(mean_ns.round() as u64), mean_ns / median_ns.0.max(1) as f64);
            write!(f, "the mean of {mean} is {times:.1} times the median of {median_ns}: a few long ones make it")
        }
        Warning::Rhythm { lag, period_ns, correlation } => {
            write!(
                f,
                "times {lag} requests apart ({period_ns}) resemble each other (rank correlation {correlation:.2}): what delays them keeps step with the schedule"
            )
        }
        _ => Ok(()),
    }
}

fn of_stream(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::OneStreamOneCpu { end, cpus } => {
            write!(
                f,
                "one stream keeps one CPU of {end} end busy, of {cpus}: that is what one flow gets, not what the path carries"
            )
        }
        Warning::StartIncluded { steady_after_ns, share } => {
            let (steady, share) = (steady_after_ns, Percent(*share));
            write!(
                f,
                "the rate counts the first {steady}, before it was steady: it lies {share} below that of the rest"
            )
        }
        Warning::TooShort { intervals, needed } => {
            write!(f, "too short to tell whether the stream was steady: {intervals} of {needed} whole intervals")
        }
        _ => Ok(()),
    }
}

fn machine(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::CoarseClock { step_ns, read_ns, median_ns } => {
            let told =
                [step_ns.map(|step| format!("steps of {step}")), read_ns.map(|cost| format!("readings of {cost}"))];
            let told: Vec<String> = told.into_iter().flatten().collect();
            write!(f, "our clock is coarse ({}) for times of {median_ns}", told.join(", "))
        }
        Warning::SlowClockSource { source, end } => {
            write!(
                f,
                "{end} kernel keeps time by {source}, which is slow or coarse to read: all its times are longer for it"
            )
        }
        Warning::Throttled { end, throttled_ns, watched_ns } => {
            write!(
                f,
                "{end} control group was kept from running for {throttled_ns} in {watched_ns} (all its CPUs together)"
            )
        }
        _ => Ok(()),
    }
}

fn settings(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match warning {
        Warning::Nagle { request_bytes, segment_bytes } => {
            write!(
                f,
                "Nagle's algorithm holds requests of {request_bytes} back while others are not acknowledged: less than a segment of {segment_bytes}"
            )
        }
        Warning::Fragmented { message_bytes, mtu_bytes, fragments, whole_bytes } => {
            write!(
                f,
                "a message of {message_bytes} is {} of {mtu_bytes} ({whole_bytes} are one): if one is lost, all are",
                several(*fragments, "packet")
            )
        }
        Warning::IdleRestart { end, message_bytes, window_bytes, interval_ns } => {
            write!(
                f,
                "in a pause of {interval_ns} TCP of {end} end gives up its window, down to {} bytes: {message_bytes} may take further round trips",
                grouped(window_bytes.0)
            )
        }
        _ => Ok(()),
    }
}

/// `1 packet`, `3 packets`.
fn several(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
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
    fn missed_instants_are_told_by_what_made_the_interval() {
        let missed = |count, due| seen(&Warning::TicksMissed { count, due });
        assert!(missed(7, 1_000).ends_with("nothing was sent at them"));
        assert!(missed(500, 1_000).ends_with("the replies made the interval, not the schedule"));
    }
}
