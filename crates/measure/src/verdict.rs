//! What a reader of a result must be told: typed warnings, each with what was seen and what to try.
//!
//! When one is due decides [`judge`]. Not here: errors, which leave no result to qualify.

pub mod judge;
pub mod lost;
pub mod refused;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{BatchBy, Carrier};
use crate::statistics::quantile;
use crate::unit::{Nanos, grouped};
use crate::wire::finding::Subject;
use lost::LeavesBy;
use refused::RefusedBy;

/// Something that qualifies a result. Its text says what was seen; [`Warning::advice`] what to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Warning {
    /// No target was given: the peer is a reflector in this very process, over loopback.
    OwnReflector,
    /// A quantile asked for needs more answers than there are.
    TooFewForQuantile {
        /// Which, 0 to 1.
        q: f64,
        /// Answers it takes to print it.
        needed: u64,
        /// Answers seen.
        seen: u64,
        /// Run length at the present rate that would give them, nanoseconds.
        run_for_ns: Option<Nanos>,
    },
    /// Consecutive values resemble each other so much that the sample tells less than its size.
    Correlated {
        /// Values.
        count: u64,
        /// Independent values worth as much.
        effective: f64,
    },
    /// The stated rate was not offered.
    RateNotAchieved {
        /// Requests a second due.
        offered_per_s: f64,
        /// Requests a second sent.
        sent_per_s: f64,
        /// Whether the window's cap held requests back (the peer's side), rather than our own pacing.
        held_back_by_window: bool,
        /// Whether a socket that took no more held them back (the path's side, or the peer's).
        #[serde(default)]
        held_back_by_socket: bool,
    },
    /// Requests were sent behind schedule by our own side.
    BehindSchedule {
        /// Share of requests, 0 to 1.
        share: f64,
    },
    /// Ticks of a closed loop passed while replies were outstanding.
    TicksMissed {
        /// How many.
        count: u64,
    },
    /// Requests were lost.
    Lost {
        /// How many, late ones included.
        count: u64,
        /// Of how many sent.
        sent: u64,
        /// Messages that our own sockets had no room for, warm-up included; absent where there were none, or it is not
        /// known.
        dropped_by_us: Option<u64>,
        /// What decides how many are on the way at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leaves_by: Option<LeavesBy>,
    },
    /// Messages of a load were lost on the way there.
    LostOnTheWay {
        /// How many.
        count: u64,
        /// Of how many sent, messages that asked for no reply included.
        sent: u64,
        /// Messages that the peer's host had no room for in its receive buffers; absent where there were none, or it is
        /// not known.
        dropped_by_peer: Option<u64>,
    },
    /// Requests were refused: answered by a reset or an ICMP error instead of a reply.
    Refused {
        /// How many.
        count: u64,
        /// Of how many sent.
        sent: u64,
        /// What carried them.
        carrier: Carrier,
        /// Where the refusals came from, as far as that can be told from here.
        by: RefusedBy,
    },
    /// Our side failed to send.
    SendFailed {
        /// How many.
        count: u64,
    },
    /// The machine at one end was disturbed while it measured.
    Disturbed {
        /// Which end: `our` or `the peer's`.
        end: String,
        /// By what, as `run-queue delay 4.2 %`.
        by: Vec<String>,
    },
    /// The run did not settle.
    NotSteady {
        /// Median of the last third minus that of the first, nanoseconds, where it drifted.
        shift_ns: Option<i64>,
    },
    /// The monotonic clock stepped back.
    ClockStepped {
        /// How often.
        count: u64,
    },
    /// The system clock stepped, so kernel stamps could not be placed.
    SystemClockStepped,
    /// ICMP is answered by the peer's kernel and may take another path.
    IcmpIsNotTheApplication,
    /// A frequency governor saves power.
    PowerSavingGovernor {
        /// Its name.
        governor: String,
        /// Which end.
        end: String,
    },
    /// Both ends share one CPU, or there is but one.
    OneCpu,
    /// The quantile that was to settle did not.
    NotSettled {
        /// Which, 0 to 1.
        q: f64,
        /// Half-width of its interval at the end, as a share of its value, where it has one.
        reached: Option<f64>,
    },
    /// The run was ended early.
    Interrupted,
    /// A peer stopped in the middle; what was measured before stands.
    PeerLost {
        /// What happened.
        reason: String,
    },
    /// The peer did not report at the end: its counts and its machine's facts are missing.
    NoReport {
        /// Why.
        reason: String,
    },
    /// A socket got less than was asked.
    GotLess {
        /// Which option.
        option: String,
        /// What was asked.
        asked: String,
        /// What it got.
        got: String,
    },
    /// Messages were to leave many at once, and the kernel refused.
    NotBatched {
        /// How they were to leave.
        asked: BatchBy,
        /// In which words it refused.
        reason: String,
    },
    /// Samples are missing from the file because it could not be written fast enough, or at all.
    SamplesIncomplete {
        /// How many are missing.
        missing: u64,
        /// Why, where it is known.
        reason: Option<String>,
    },
    /// What was counted is not what passed the interface.
    WireContradicts {
        /// What was compared, which is also the unit of both numbers.
        subject: Subject,
        /// How many were counted, in the subject's unit.
        counted: u64,
        /// How many passed, in the subject's unit.
        seen: u64,
        /// Which interface.
        interface: String,
        /// What may explain it.
        reason: Option<String>,
    },
    /// Kernel timestamps could not be had.
    NoStamps {
        /// Why.
        reason: String,
    },
}

/// What was seen, on one line.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnReflector => f.write_str("no target was given: the peer is a reflector of our own, over loopback"),
            Self::TooFewForQuantile { q, needed, seen, .. } => {
                write!(f, "{} needs {} exchanges, {} were seen", quantile::name(*q), grouped(*needed), grouped(*seen))
            }
            Self::Correlated { count, effective } => {
                write!(
                    f,
                    "{} values tell as much as {} independent ones: each resembles the one before",
                    grouped(*count),
                    grouped(effective.round() as u64)
                )
            }
            Self::RateNotAchieved { offered_per_s, sent_per_s, held_back_by_window, held_back_by_socket } => {
                let cause = match (held_back_by_window, held_back_by_socket) {
                    (true, _) => "the cap on outstanding requests held them back",
                    (_, true) => "the path or the peer took no more, so the socket held them back",
                    _ => "our side was too slow",
                };
                let (sent, due) = (PerSecond(*sent_per_s), PerSecond(*offered_per_s));
                write!(f, "{sent} requests a second were sent where {due} were due: {cause}")
            }
            Self::BehindSchedule { share } => {
                write!(f, "{} of the requests were sent more than an interval late by our own side", Percent(*share))
            }
            Self::TicksMissed { count } => {
                write!(
                    f,
                    "{} scheduled instants passed while a reply was outstanding: nothing was sent at them",
                    grouped(*count)
                )
            }
            Self::Lost { count, sent, dropped_by_us, .. } => {
                let share = Percent(*count as f64 / (*sent).max(1) as f64);
                write!(f, "{} of {} requests got no reply in time ({share})", grouped(*count), grouped(*sent))?;
                let dropped = dropped_by_us.map(grouped);
                dropped.map_or(Ok(()), |dropped| write!(f, ": our own receive buffer had no room for {dropped}"))
            }
            Self::LostOnTheWay { count, sent, dropped_by_peer } => {
                let share = Percent(*count as f64 / (*sent).max(1) as f64);
                write!(f, "{} of {} messages did not reach the peer ({share})", grouped(*count), grouped(*sent))?;
                let dropped = dropped_by_peer.map(grouped);
                dropped.map_or(Ok(()), |dropped| write!(f, ": its host had no room for {dropped} in receive buffers"))
            }
            Self::Refused { count, sent, carrier, by } => {
                let what = if *carrier == Carrier::TcpConnect { "handshakes" } else { "requests" };
                let how = match by {
                    RefusedBy::Reset => " by a TCP reset",
                    RefusedBy::IcmpError => " by an ICMP error: destination unreachable",
                    RefusedBy::OurKernel => " by our own kernel: destination unreachable",
                    RefusedBy::Unknown => "",
                };
                write!(f, "{} of {} {what} were refused{how}", grouped(*count), grouped(*sent))
            }
            Self::SendFailed { count } => write!(f, "{} requests could not be sent by our own system", grouped(*count)),
            Self::Disturbed { end, by } => write!(f, "{end} machine was disturbed: {}", by.join(", ")),
            Self::NotSteady { shift_ns: Some(shift) } => {
                let (size, side) = (Nanos(shift.unsigned_abs()), if *shift < 0 { "below" } else { "above" });
                write!(f, "the run drifted: the median of its last third lies {size} {side} that of its first")
            }
            Self::NotSteady { shift_ns: None } => {
                f.write_str("no steady state was found: the run still changed in its second half")
            }
            Self::ClockStepped { count } => {
                write!(
                    f,
                    "our monotonic clock went backwards in {} exchanges, which are in no distribution",
                    grouped(*count)
                )
            }
            Self::SystemClockStepped => {
                f.write_str("the system clock stepped during the run: kernel stamps could not be placed")
            }
            Self::IcmpIsNotTheApplication => {
                f.write_str("the peer's kernel answers ICMP, perhaps a box before it: no application's round trip")
            }
            Self::PowerSavingGovernor { governor, end } => {
                write!(
                    f,
                    "{end} CPU frequency governor is {governor}: an idle CPU slows down, and so do sparse exchanges"
                )
            }
            Self::OneCpu => {
                f.write_str("both ends share one CPU, or there is but one: each waits while the other runs")
            }
            Self::NotSettled { q, reached: Some(reached) } => {
                write!(f, "{} did not settle: it is known to ±{}", quantile::name(*q), Percent(*reached))
            }
            Self::NotSettled { q, reached: None } => {
                write!(f, "{} did not settle: there were too few exchanges for its interval", quantile::name(*q))
            }
            Self::Interrupted => f.write_str("the run was ended early: these are the numbers up to then"),
            Self::NoReport { reason } => {
                write!(
                    f,
                    "the peer did not report at the end, so its counts and its machine's facts are missing: {reason}"
                )
            }
            Self::PeerLost { reason } => write!(f, "the peer stopped in the middle: {reason}"),
            Self::GotLess { option, asked, got } => write!(f, "{option}: {asked} was asked for, the socket got {got}"),
            Self::NotBatched { asked: BatchBy::Segments, reason } => {
                write!(
                    f,
                    "the kernel refused segments ({reason}): from there on each message left in a call of its own"
                )
            }
            Self::NotBatched { asked: BatchBy::Calls, reason } => {
                write!(f, "the kernel refused calls of many messages ({reason}): each left in a call of its own")
            }
            Self::SamplesIncomplete { missing, reason } => {
                write!(f, "{} samples are missing from the file", grouped(*missing))?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::WireContradicts { subject, counted, seen, interface, reason } => {
                let (counted, seen) = (grouped(*counted), grouped(*seen));
                write!(f, "{}: {counted} were counted, {seen} passed {interface}", subject.name())?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::NoStamps { reason } => write!(f, "no kernel timestamps: {reason}"),
        }
    }
}

impl Warning {
    /// What to try; `None` where there is nothing to be done.
    pub fn advice(&self) -> Option<String> {
        let text = match self {
            Self::OwnReflector => "start `sonde serve` on the far side and name its host",
            Self::TooFewForQuantile { q, run_for_ns, .. } => return Some(longer(*q, *run_for_ns)),
            Self::Correlated { .. } => {
                "the intervals allow for it; a longer run (-t) narrows them, and only several runs show how far runs differ"
            }
            Self::RateNotAchieved { held_back_by_window: true, .. }
            | Self::RateNotAchieved { held_back_by_socket: true, .. } => {
                "the path or the peer does not keep up: lower --rate, or spread it over more --connections"
            }
            Self::RateNotAchieved { .. } => "lower --rate, use --pace spin with a --cpu of its own, or more --threads",
            Self::BehindSchedule { .. } => "use --pace spin with a --cpu of its own, or a longer interval (--every)",
            Self::TicksMissed { .. } => {
                "use --window 0 (open loop) to send whatever the replies do, or a longer interval (--every)"
            }
            Self::Lost { count, sent, dropped_by_us, leaves_by } => {
                lost::advice(*count, *sent, *dropped_by_us, *leaves_by)
            }
            Self::LostOnTheWay { count, dropped_by_peer: Some(dropped), .. } if dropped.saturating_mul(2) >= *count => {
                "they came there and the far side did not read them in time: lower --rate, give it a --peer-cpu of its own, or spread them over more --connections"
            }
            Self::LostOnTheWay { .. } => "lower --rate or --size: a queue on the way was full, or the path loses",
            Self::Refused { count, sent, carrier, by } => by.advice(*carrier, count >= sent),
            Self::SendFailed { .. } => {
                "lower --rate or raise --send-buffer: the interface's queue was full, or a local rule forbade it"
            }
            Self::Disturbed { .. } => {
                "compare medians and minima, not means, rates or tails; pin with --cpu and --peer-cpu, and quiet the machine"
            }
            Self::NotSteady { .. } => "run longer (-t), warm up longer (--warm-up), and look at the seconds one by one",
            Self::ClockStepped { .. } => {
                "pin the threads with --cpu, and see whether the machine's clock source is sound (`sonde self`)"
            }
            Self::SystemClockStepped => "run again while the time service is not correcting the clock",
            Self::IcmpIsNotTheApplication => {
                "measure with --tcp or --udp against `sonde serve`, or --connect to an open port"
            }
            Self::PowerSavingGovernor { .. } => {
                "set the governor to performance while measuring, or take the slow-down for a part of the answer"
            }
            Self::OneCpu => "give each end a CPU of its own: --cpu, --peer-cpu",
            Self::NotSettled { .. } => "allow a longer run with -t, or a wider interval, as in --until p99±10%",
            Self::Interrupted => return None,
            Self::NoReport { .. } => "see whether the far side hangs; which way requests were lost cannot be told",
            Self::PeerLost { .. } => "see what the far side's `sonde serve` says, and measure again",
            Self::GotLess { .. } => "raise the system's limit (net.core.wmem_max, net.core.rmem_max), or ask for less",
            Self::NotBatched { .. } => {
                "keep --size within a packet of the path, or batch by calls; some devices and old kernels segment nothing"
            }
            Self::SamplesIncomplete { .. } => "write --samples to a faster disk with room, or lower --rate",
            Self::WireContradicts { .. } => {
                "look at the packets (--verify-pcap FILE, then `tcpdump -n -r FILE`), at the host's rules (`nft list ruleset`), and at its routes"
            }
            Self::NoStamps { .. } => "leave it (--no-stamps), or see `sonde self` for what this machine can stamp",
        };
        Some(text.to_owned())
    }
}

fn longer(q: f64, run_for: Option<Nanos>) -> String {
    let until = format!("--until {}", quantile::name(q));
    match run_for {
        Some(run_for) => format!("run {} (-t), or {until}", Length(run_for)),
        None => until,
    }
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

/// How long to run, rounded up to what a person would type.
struct Length(Nanos);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.0.div_ceil(1_000_000_000);
        match seconds {
            0..=180 => write!(f, "{seconds} s"),
            181..=10_800 => write!(f, "{} min", seconds.div_ceil(60)),
            10_801..=259_200 => write!(f, "{} h", seconds.div_ceil(3_600)),
            _ => write!(f, "{} days", grouped(seconds.div_ceil(86_400))),
        }
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

    #[test_case(25_700_000_000, "26 s")]
    #[test_case(181_000_000_000, "4 min")]
    #[test_case(11_000_000_000_000, "4 h")]
    #[test_case(1_000_000_000_000_000, "12 days")]
    fn a_run_length_is_rounded_up(ns: u64, text: &str) {
        assert_eq!(Length(Nanos(ns)).to_string(), text);
    }

    #[test]
    fn what_was_seen_and_what_to_try() {
        let few = Warning::TooFewForQuantile {
            q: 0.999_99,
            needed: 1_000_000,
            seen: 388_124,
            run_for_ns: Some(Nanos::millis(25_765)),
        };
        assert_eq!(few.to_string(), "p99.999 needs 1 000 000 exchanges, 388 124 were seen");
        assert_eq!(few.advice().unwrap(), "run 26 s (-t), or --until p99.999");
        let drift = Warning::NotSteady { shift_ns: Some(-2_100) };
        assert_eq!(
            drift.to_string(),
            "the run drifted: the median of its last third lies 2.10 µs below that of its first"
        );
        let slow = |held_back_by_window, held_back_by_socket| {
            let (offered_per_s, sent_per_s) = (1e6, 80.25);
            Warning::RateNotAchieved { offered_per_s, sent_per_s, held_back_by_window, held_back_by_socket }.to_string()
        };
        let start = "80.2 requests a second were sent where 1 000 000 were due: ";
        assert_eq!(slow(false, false), format!("{start}our side was too slow"));
        assert_eq!(slow(true, false), format!("{start}the cap on outstanding requests held them back"));
        assert_eq!(
            slow(false, true),
            format!("{start}the path or the peer took no more, so the socket held them back")
        );
        let gone = |dropped_by_peer| Warning::LostOnTheWay { count: 30, sent: 1_000, dropped_by_peer };
        assert_eq!(gone(None).to_string(), "30 of 1 000 messages did not reach the peer (3.0 %)");
        assert!(gone(Some(15)).to_string().ends_with(": its host had no room for 15 in receive buffers"));
        assert!(gone(Some(15)).advice() != gone(Some(14)).advice());
        let lost = |dropped_by_us| Warning::Lost { count: 30, sent: 0, dropped_by_us, leaves_by: None };
        assert!(lost(None).to_string().starts_with("30 of 0"), "nothing is divided by zero");
        assert!(lost(Some(15)).to_string().ends_with(": our own receive buffer had no room for 15"));
        assert!(lost(Some(15)).advice().unwrap().contains("raise --receive-buffer"));
        assert_eq!(lost(Some(14)).advice(), lost(None).advice(), "the others are no business of the buffer");
    }

    #[test]
    fn each_is_one_line_and_says_what_to_try() {
        let text = |s: &str| s.to_owned();
        let too_slow = |held_back_by_window, held_back_by_socket| Warning::RateNotAchieved {
            offered_per_s: 1e3,
            sent_per_s: 5e2,
            held_back_by_window,
            held_back_by_socket,
        };
        let refused = |by, count| Warning::Refused { count, sent: 2, carrier: Carrier::TcpConnect, by };
        let all = [
            Warning::OwnReflector,
            Warning::Correlated { count: 100, effective: 7.4 },
            too_slow(true, false),
            too_slow(false, true),
            too_slow(false, false),
            Warning::LostOnTheWay { count: 1, sent: 100, dropped_by_peer: None },
            Warning::LostOnTheWay { count: 1, sent: 100, dropped_by_peer: Some(1) },
            Warning::BehindSchedule { share: 0.2 },
            Warning::TicksMissed { count: 7 },
            Warning::Lost { count: 1, sent: 100, dropped_by_us: None, leaves_by: None },
            Warning::Lost { count: 1, sent: 100, dropped_by_us: None, leaves_by: Some(LeavesBy::Trace) },
            Warning::Lost { count: 1, sent: 100, dropped_by_us: Some(1), leaves_by: Some(LeavesBy::Rate) },
            refused(RefusedBy::Reset, 2),
            refused(RefusedBy::Reset, 1),
            refused(RefusedBy::IcmpError, 2),
            refused(RefusedBy::OurKernel, 2),
            refused(RefusedBy::Unknown, 2),
            Warning::SendFailed { count: 2 },
            Warning::Disturbed { end: text("our"), by: vec![text("steal 2 %")] },
            Warning::NotSteady { shift_ns: None },
            Warning::ClockStepped { count: 1 },
            Warning::SystemClockStepped,
            Warning::IcmpIsNotTheApplication,
            Warning::PowerSavingGovernor { governor: text("powersave"), end: text("our") },
            Warning::OneCpu,
            Warning::NotSettled { q: 0.99, reached: Some(0.07) },
            Warning::NotSettled { q: 0.99, reached: None },
            Warning::PeerLost { reason: text("connection reset") },
            Warning::NoReport { reason: text("no answer within 5 s") },
            Warning::GotLess { option: text("send buffer"), asked: text("1 MiB"), got: text("208 KiB") },
            Warning::NotBatched { asked: BatchBy::Segments, reason: text("Message too long") },
            Warning::NotBatched { asked: BatchBy::Calls, reason: text("Function not implemented") },
            Warning::SamplesIncomplete { missing: 4, reason: Some(text("no space left")) },
            Warning::NoStamps { reason: text("refused") },
        ];
        for warning in all {
            let (seen, advice) = (warning.to_string(), warning.advice().unwrap());
            assert!(!seen.is_empty() && !seen.contains('\n') && !seen.ends_with('.'), "{seen}");
            assert!(!advice.is_empty() && !advice.contains('\n') && advice != seen, "{advice}");
        }
        assert_eq!(Warning::Interrupted.advice(), None);
    }
}
