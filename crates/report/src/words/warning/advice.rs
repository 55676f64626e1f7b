//! What to try against what a warning says, with the options of the command that measured.

use std::fmt;

use super::{lost, refused};
use crate::words::command::Command;
use measure::method::BatchBy;
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};
use measure::verdict::Warning;

/// What to try against `warning` with `command`; `None` where there is nothing to be done. Names no option that the command does not have,
/// but for other programs' between backticks.
pub fn advice(warning: &Warning, command: Command) -> Option<String> {
    let text = match warning {
        Warning::OwnReflector => "start `sonde serve` on the far side and name its host",
        Warning::SameHost { .. } => {
            "name another host to measure a network; between two ends of one host this is the cost of their software"
        }
        Warning::ResetsTimed { compared: true, .. } => "name a port where something listens",
        Warning::ResetsTimed { .. } => {
            "name a port where something listens; --compare-port tells more of whether the host sent them"
        }
        Warning::IcmpIsNotTheApplication => {
            "measure with --tcp or --udp against `sonde serve`, or --connect to an open port"
        }
        Warning::HandshakeIsNotTheApplication if command == Command::Rtt => {
            "measure with --tcp against `sonde serve`, whose program has to answer"
        }
        Warning::HandshakeIsNotTheApplication => {
            "measure with `sonde rtt` against `sonde serve`, whose program has to answer"
        }
        Warning::Interrupted => return None,
        Warning::NoReport { .. } => "see whether the far side hangs; which way requests were lost cannot be told",
        Warning::PeerLost { .. } => "see what the program on the far side says, and measure again",
        Warning::SamplesIncomplete { .. } if has_rate(command) => {
            "write --samples to a faster disk with room, or lower --rate"
        }
        Warning::SamplesIncomplete { .. } => "write --samples to a faster disk with room",
        Warning::WireContradicts { .. } => {
            "look at the packets (--verify-pcap FILE, then `tcpdump -n -r FILE`), at the host's rules (`nft list ruleset`), and at its routes"
        }
        Warning::ClockStepped { .. } => {
            "pin the threads with --cpu, and see whether the machine's clock source is sound (`sonde self`)"
        }
        Warning::SystemClockStepped => "run again while the time service is not correcting the clock",
        Warning::NoStamps { .. } => "leave it (--no-stamps), or see `sonde self` for what this machine can stamp",
        Warning::Lost { count, sent, dropped_by_us, leaves_by } => {
            lost::advice(*count, *sent, *dropped_by_us, *leaves_by, command)
        }
        Warning::LostOnTheWay { count, dropped_by_peer: Some(dropped), .. } if dropped.saturating_mul(2) >= *count => {
            read_faster(command)
        }
        Warning::LostOnTheWay { .. } if command == Command::Replay => {
            "a queue on the way was full, or the path loses: it does not carry what the schedule asks for"
        }
        Warning::LostOnTheWay { .. } => "lower --rate or --size: a queue on the way was full, or the path loses",
        Warning::Refused { count, sent, carrier, by } => refused::advice(*by, *carrier, count >= sent),
        Warning::SendFailed { .. } => send_failed(command),
        Warning::RateNotAchieved { .. } | Warning::BehindSchedule { .. } | Warning::TicksMissed { .. } => {
            return Some(keep_up(warning, command).to_owned());
        }
        Warning::TooFewForQuantile { q, run_for_ns, .. } => return Some(longer(*q, *run_for_ns, command)),
        Warning::Disturbed { .. }
        | Warning::Throttled { .. }
        | Warning::OneCpu
        | Warning::PowerSavingGovernor { .. } => calm(warning, command),
        Warning::SlowClockSource { .. } => {
            "see in the kernel's log why it gave the CPU's counter up; where that is sound, make it the source again (/sys/devices/system/clocksource/clocksource0/current_clocksource)"
        }
        Warning::CoarseClock { .. } => {
            "read nothing into differences of a few such steps; `sonde self` tells what this machine can resolve"
        }
        Warning::NotSteady { .. }
        | Warning::NotSettled { .. }
        | Warning::Correlated { .. }
        | Warning::TooShort { .. }
        | Warning::StartIncluded { .. } => return Some(longer_run(warning, command)),
        Warning::GotLess { option, .. } => return Some(ask_for_less(option).to_owned()),
        Warning::NotBatched { asked, .. } => one_by_one(*asked, command),
        Warning::IdleBetween { .. }
        | Warning::RateIsNotRoundTrip { .. }
        | Warning::HalfRoundTrip
        | Warning::MeanMisleads { .. }
        | Warning::Rhythm { .. }
        | Warning::OneStreamOneCpu { .. } => read_otherwise(warning, command),
        Warning::Nagle { .. } => {
            "leave out --nagle, as most programs that exchange small messages do (`netperf` wants -D for it)"
        }
        Warning::Fragmented { whole_bytes, .. } => return Some(one_packet(whole_bytes.0, command)),
        Warning::IdleRestart { .. } => {
            "send more often (--every), or set net.ipv4.tcp_slow_start_after_idle to 0 at that end; a program that sends so seldom meets it too"
        }
    };
    Some(text.to_owned())
}

fn keep_up(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        (Warning::TicksMissed { .. }, _) => {
            "use --window 0 (open loop) to send whatever the replies do, or a longer interval (--every)"
        }
        (
            Warning::RateNotAchieved { held_back_by_window: true, .. }
            | Warning::RateNotAchieved { held_back_by_socket: true, .. },
            command,
        ) => match command {
            Command::Replay => {
                "the path or the peer does not keep up with the schedule: spread it over more --connections"
            }
            Command::Syn => "the path or the peer does not keep up: lower --rate",
            _ => "the path or the peer does not keep up: lower --rate, or spread it over more --connections",
        },
        (Warning::RateNotAchieved { .. }, Command::Replay) => {
            "use --pace spin with a --cpu of its own, or more --threads: this end cannot send as the schedule asks"
        }
        (Warning::RateNotAchieved { .. }, Command::Syn) => "lower --rate, or use --pace spin with a --cpu of its own",
        (Warning::RateNotAchieved { .. }, _) => {
            "lower --rate, use --pace spin with a --cpu of its own, or more --threads"
        }
        (_, Command::Replay) => "use --pace spin with a --cpu of its own",
        _ => "use --pace spin with a --cpu of its own, or a longer interval (--every)",
    }
}

/// The machines.
fn calm(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        (Warning::Throttled { .. }, _) => {
            "raise the group's limit (`cpu.max`, a container's CPU quota), or measure outside of it"
        }
        (Warning::OneCpu, Command::Syn) => "give it more than one CPU, or measure another host",
        (Warning::OneCpu, _) => "give each end a CPU of its own: --cpu, --peer-cpu",
        (Warning::PowerSavingGovernor { .. }, _) => {
            "set the governor to performance while measuring, or take the slow-down for a part of the answer"
        }
        (_, Command::Throughput) => {
            "quiet the machine, pin with --cpu and --peer-cpu, and measure again: a rate suffers in full"
        }
        (_, Command::Syn) => "compare medians and minima, not means or tails; pin with --cpu, and quiet the machine",
        _ => {
            "compare medians and minima, not means, rates or tails; pin with --cpu and --peer-cpu, and quiet the machine"
        }
    }
}

fn longer_run(warning: &Warning, command: Command) -> String {
    let text = match (warning, command) {
        (Warning::TooShort { .. }, _) => "run longer (-t), or tell more often (--interval)",
        (Warning::StartIncluded { steady_after_ns, .. }, _) => {
            return format!("leave the start out with --warm-up {}s, or run longer (-t)", seconds(*steady_after_ns));
        }
        (Warning::NotSettled { .. }, Command::Replay) => {
            "replay a longer trace, or ask for a wider interval, as in --until p99±10%"
        }
        (Warning::NotSettled { .. }, _) => "allow a longer run with -t, or a wider interval, as in --until p99±10%",
        (Warning::NotSteady { .. }, Command::Replay) => {
            "warm up longer (--warm-up), and look at the seconds one by one"
        }
        (Warning::NotSteady { .. }, _) => {
            "run longer (-t), warm up longer (--warm-up), and look at the seconds one by one"
        }
        (_, Command::Replay) => "the intervals allow for it; only several runs show how far runs differ",
        _ => {
            "the intervals allow for it; a longer run (-t) narrows them, and only several runs show how far runs differ"
        }
    };
    text.to_owned()
}

fn read_otherwise(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        (Warning::IdleBetween { .. }, Command::Rtt) => {
            "compare with shorter intervals (--every 100us, or none), or keep both ends awake: --pace spin, --wait spin, --peer-wait spin"
        }
        (Warning::IdleBetween { .. }, Command::Load) => {
            "compare with a higher --rate, or keep both ends awake: --pace spin, --wait spin, --peer-wait spin"
        }
        (Warning::IdleBetween { .. }, _) => {
            "compare with shorter intervals (--every 100us), or keep this end awake: --pace spin, --wait spin"
        }
        (Warning::RateIsNotRoundTrip { .. }, Command::Syn) => "read the round trips, or set --window 1",
        (Warning::RateIsNotRoundTrip { .. }, _) => "read the round trips, or set --window 1 and --connections 1",
        (Warning::HalfRoundTrip, _) => {
            "double it before it is compared with other tools, or have it print whole ones (`--full-rtt`)"
        }
        (Warning::Rhythm { .. }, _) => {
            "use --poisson with the same rate: a random arrival sees the times as they are on the whole"
        }
        (Warning::OneStreamOneCpu { .. }, _) => "try --streams 1,2,4, and --cores where the machine has more",
        _ => "compare the median and the tail, each by itself: the mean mixes them",
    }
}

fn has_rate(command: Command) -> bool {
    command != Command::Replay
}

fn read_faster(command: Command) -> &'static str {
    match command {
        Command::Replay => {
            "they came there and the far side did not read them in time: give it a --peer-cpu of its own, or spread them over more --connections"
        }
        _ => {
            "they came there and the far side did not read them in time: lower --rate, give it a --peer-cpu of its own, or spread them over more --connections"
        }
    }
}

fn send_failed(command: Command) -> &'static str {
    match command {
        Command::Replay => "raise --send-buffer: the interface's queue was full, or a local rule forbade it",
        Command::Syn => "lower --rate: the interface's queue was full, or a local rule forbade it",
        _ => "lower --rate or raise --send-buffer: the interface's queue was full, or a local rule forbade it",
    }
}

fn ask_for_less(option: &str) -> &'static str {
    match option {
        "congestion control" => {
            "ask for one that is loaded and allowed (net.ipv4.tcp_allowed_congestion_control), or allow it"
        }
        "type of service" => "ask for one whose two lowest bits are 0: those are ECN's, which the kernel sets itself",
        _ => "raise the system's limit (net.core.wmem_max, net.core.rmem_max), or ask for less",
    }
}

fn one_by_one(asked: BatchBy, command: Command) -> &'static str {
    match (asked, command) {
        (BatchBy::Segments, Command::Load) => {
            "keep --size within a packet of the path, or use --batch in place of --segments; some devices and old kernels segment nothing"
        }
        (BatchBy::Segments, _) => {
            "keep --size within a packet of the path, or leave out --segments; some devices and old kernels segment nothing"
        }
        (BatchBy::Calls, _) => "leave out --batch: this kernel, or what confines the program, does not have the call",
    }
}

fn one_packet(whole: u64, command: Command) -> String {
    match command {
        Command::Replay => {
            "replay it over --tcp, or over a path of larger packets: the trace asks for such messages".to_owned()
        }
        _ => format!("keep --size within {whole}, or take it for what messages of that size meet"),
    }
}

fn longer(q: f64, run_for: Option<Nanos>, command: Command) -> String {
    let until = format!("--until {}", quantile_name(q));
    match (run_for, command) {
        (_, Command::Replay) => "replay a longer trace, or ask for a reply more often (--reply-every)".to_owned(),
        (Some(run_for), _) => format!("run {} (-t), or {until}", Length(run_for)),
        (None, _) => until,
    }
}

/// Whole seconds, rounded up.
fn seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
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
    use crate::words::warning::example::examples;
    use crate::words::warning::seen;
    use measure::unit::Bytes;
    use measure::verdict::lost::LeavesBy;
    use test_case::test_case;

    #[test_case(25_700_000_000, "26 s")]
    #[test_case(181_000_000_000, "4 min")]
    #[test_case(11_000_000_000_000, "4 h")]
    #[test_case(1_000_000_000_000_000, "12 days")]
    fn a_run_length_is_rounded_up(ns: u64, text: &str) {
        assert_eq!(Length(Nanos(ns)).to_string(), text);
    }

    #[test]
    fn each_is_one_line_and_says_what_to_try() {
        for (warning, commands) in examples().into_iter().map(|example| (example.warning, example.commands)) {
            let seen = seen(&warning);
            assert!(!seen.is_empty() && !seen.contains('\n') && !seen.ends_with('.'), "{seen}");
            for command in commands {
                let Some(advice) = advice(&warning, *command) else {
                    assert_eq!(warning, Warning::Interrupted);
                    continue;
                };
                assert!(!advice.is_empty() && !advice.contains('\n') && advice != seen, "{advice}");
            }
        }
    }

    #[test]
    fn advice_has_the_figures_of_what_was_seen() {
        let few = |run_for_ns| Warning::TooFewForQuantile { q: 0.999_99, needed: 1_000_000, seen: 388_124, run_for_ns };
        assert_eq!(
            advice(&few(Some(Nanos::millis(25_765))), Command::Rtt).unwrap(),
            "run 26 s (-t), or --until p99.999"
        );
        assert_eq!(advice(&few(None), Command::Rtt).unwrap(), "--until p99.999");
        let start = Warning::StartIncluded { steady_after_ns: Nanos::millis(2_100), share: 0.1 };
        assert!(advice(&start, Command::Throughput).unwrap().contains("--warm-up 3s"));
        let long = Warning::Fragmented {
            message_bytes: Bytes(4_000),
            mtu_bytes: Bytes(1_500),
            fragments: 3,
            whole_bytes: Bytes(1_472),
        };
        assert!(advice(&long, Command::Rtt).unwrap().contains("--size within 1472"));
        let lost = |dropped_by_us| Warning::Lost { count: 30, sent: 0, dropped_by_us, leaves_by: LeavesBy::Window };
        assert!(advice(&lost(Some(15)), Command::Rtt).unwrap().contains("raise --receive-buffer"));
        assert_eq!(
            advice(&lost(Some(14)), Command::Rtt),
            advice(&lost(None), Command::Rtt),
            "the others are no business of the buffer"
        );
        let gone = |dropped_by_peer| Warning::LostOnTheWay { count: 30, sent: 1_000, dropped_by_peer };
        assert!(advice(&gone(Some(15)), Command::Rtt) != advice(&gone(Some(14)), Command::Rtt));
    }
}
