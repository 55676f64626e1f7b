//! Actions against a warning, with the options of the command that measured.

use std::fmt;

use super::{lost, refused};
use crate::words::command::Command;
use measure::method::BatchBy;
use measure::unit::quantile_name;
use measure::unit::{Nanos, grouped};
use measure::verdict::Warning;

/// Actions against `warning` with the options of `command`; `None` where there is none. Names no option that the command does not have,
/// but for other programs' between backticks.
pub fn advice(warning: &Warning, command: Command) -> Option<String> {
    let text = match warning {
        Warning::OwnReflector => "run `sonde serve` on a host and name that host",
        Warning::CarriedOn { .. } => "measure at the peer's own address, to leave the tunnel or proxy out",
        Warning::SameHost { .. } => "name another host; within one host the result is the cost of its software",
        Warning::ResetsTimed { compared: true, .. } => "name an open port",
        Warning::ResetsTimed { .. } => "name an open port; --compare-port shows more about the sender",
        Warning::IcmpIsNotTheApplication => "use --tcp or --udp with `sonde serve`, or --connect to an open port",
        Warning::HandshakeIsNotTheApplication if matches!(command, Command::Rtt | Command::Paths) => {
            "use --tcp with `sonde serve`"
        }
        Warning::HandshakeIsNotTheApplication => "use `sonde rtt HOST` with `sonde serve`",
        Warning::Interrupted => return None,
        Warning::ServerLimited { .. } => "measure below the server's limits, or ask its owner for higher ones",
        Warning::NoReport { .. } => {
            "check whether the peer hangs, or a middlebox cuts idle connections; the direction of losses is not known"
        }
        Warning::PeerLost { .. } => {
            "read the output of the program on the peer; if it runs on, a middlebox may cut connections"
        }
        Warning::SamplesIncomplete { .. } if has_rate(command) => {
            "write --samples to a faster disk with room, or lower --rate"
        }
        Warning::SamplesIncomplete { .. } => "write --samples to a faster disk with room",
        Warning::WireContradicts { .. } => {
            "look at the packets (--verify-pcap FILE, `tcpdump -n -r FILE`), firewall rules and routes"
        }
        Warning::ClockStepped { .. } => "pin with --cpu N, and check the clock source (`sonde self`)",
        Warning::SystemClockStepped => "run again while the time service does not correct the clock",
        Warning::NoStamps { .. } => "turn them off (--no-stamps), or see `sonde self` for what this host can stamp",
        // Nothing was lost: this host waits a little after a connection that ended before it makes another.
        Warning::Dark { dark } if dark.unanswered == 0 && dark.refused_or_not_sent > 0 => {
            "its requests were refused, or could not be sent (status): read the program's log, and look for a box that ends connections"
        }
        Warning::Dark { .. } | Warning::Silent { .. } => {
            "look for a link that was down, a route change, a firewall or a stopped program at that time, or, over TCP, for heavy loss, after which it waits longer each time"
        }
        Warning::SizeUnanswered { .. } => size_unanswered(command),
        Warning::Lost { count, dropped_by_peer: Some(dropped), .. } if dropped.saturating_mul(2) >= *count => {
            "raise net.core.rmem_max on the peer, or lower --window, --rate or --burst"
        }
        Warning::Lost { count, sent, dropped_by_us: None, late: 1.., .. } if count >= sent => {
            "raise --timeout: replies came, but later than it allows"
        }
        Warning::Lost { unacknowledged: 1.., .. } => {
            "look for a firewall that forgot the connection while it was idle, a link or a host that went down, or a path that drops this size. A program's log has none of it"
        }
        Warning::Lost { count, sent, dropped_by_us, leaves_by, .. } => {
            lost::advice(*count, *sent, *dropped_by_us, *leaves_by, command)
        }
        Warning::Altered { .. } => "compare captures of both hosts; look for a box that rewrites payloads",
        Warning::Corrupt { .. } => {
            "check that port and protocol fit the peer; captures of both hosts show where the bytes change"
        }
        Warning::Unasked { over_udp: true, .. } => {
            "capture them (`tcpdump`): a box or a server that answers twice, or a host that forges replies, shows by its address and TTL"
        }
        Warning::Unasked { .. } => {
            "look for a server or a proxy that answers twice: read its log, or capture its packets"
        }
        Warning::Damaged { .. } => {
            "a cable, a card, its driver or a box on the way damages packets: read their error counters (`ethtool -S`)"
        }
        Warning::Rebound { .. } => {
            "a NAT or a firewall on the way forgot the flow and gave it a new port: look for its timeout for UDP, or its restart at that time"
        }
        Warning::LostOnTheWay { count, dropped_by_peer: Some(dropped), .. } if dropped.saturating_mul(2) >= *count => {
            read_faster(command)
        }
        Warning::LostOnTheWay { .. } if command == Command::Replay => {
            "a queue was full, or the path loses packets: it does not carry this trace"
        }
        Warning::LostOnTheWay { .. } => {
            "a queue was full, the path loses packets, or a box on it forgot the flow while it was idle: try another --rate, or a smaller --size"
        }
        Warning::Retransmitted { .. } => retransmitted(command),
        Warning::Refused { count, sent, carrier, by } => refused::advice(*by, *carrier, count >= sent),
        Warning::SendFailed { .. } => send_failed(command),
        Warning::Overtaken { .. } => {
            "offer less, or look for what else fills that queue; `sonde load HOST --find 'p99<TIME'` finds the rate that is answered in time"
        }
        Warning::RateNotAchieved { .. } | Warning::BehindSchedule { .. } | Warning::TicksMissed { .. } => {
            return Some(keep_up(warning, command).to_owned());
        }
        Warning::TooFewForQuantile { q, run_for_ns, .. } => return Some(longer(*q, *run_for_ns, command)),
        Warning::Disturbed { .. }
        | Warning::Throttled { .. }
        | Warning::OneCpu
        | Warning::PowerSavingGovernor { .. } => calm(warning, command),
        Warning::SlowClockSource { .. } => "find the reason in the kernel's log; restore the TSC only if it is sound",
        Warning::CoarseClock { .. } => {
            "ignore differences of a few such steps; `sonde self` shows this host's resolution"
        }
        Warning::NotSteady { .. }
        | Warning::NotSettled { .. }
        | Warning::Correlated { .. }
        | Warning::TooShort { .. }
        | Warning::RateChanged { .. }
        | Warning::StartIncluded { .. } => return Some(longer_run(warning, command)),
        Warning::GotLess { option, .. } => return Some(ask_for_less(option).to_owned()),
        Warning::NotBatched { asked, .. } => one_by_one(*asked, command),
        Warning::IdleBetween { .. }
        | Warning::RateIsNotRoundTrip { .. }
        | Warning::HalfRoundTrip
        | Warning::MeanMisleads { .. }
        | Warning::Stalled { .. }
        | Warning::Rhythm { .. }
        | Warning::Periodic { .. }
        | Warning::Changed { .. }
        | Warning::OneStreamOneCpu { .. } => read_otherwise(warning, command),
        Warning::HeldReplies { .. } => "set TCP_NODELAY in the server, or let it write a reply at once",
        Warning::Nagle { .. } => "remove --nagle, as most programs with small messages do (`netperf` needs -D)",
        Warning::Fragmented { whole_bytes, .. } => return Some(one_packet(whole_bytes.0, command)),
        Warning::IdleRestart { .. } => {
            "send more often (--every), or set net.ipv4.tcp_slow_start_after_idle to 0 there"
        }
    };
    Some(text.to_owned())
}

fn size_unanswered(command: Command) -> &'static str {
    match command {
        Command::Replay | Command::Ask => "`sonde check HOST` tests the path MTU",
        _ => {
            "repeat with a small --size; if that is answered, large packets vanish: `sonde check HOST` tests the path MTU"
        }
    }
}

/// Over UDP a loss is a loss.
fn retransmitted(command: Command) -> &'static str {
    match command {
        Command::Rtt => "--udp counts losses one by one; `sonde paths HOST` shows whether one path loses",
        Command::Ask => "`sonde paths HOST` shows whether one path loses",
        Command::Paths => "--udp counts losses one by one, of each connection",
        _ => "`sonde rtt HOST --udp` counts losses one by one",
    }
}

fn keep_up(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        // With a connection for each request, and with some programs, one waits for the other whatever the window.
        (Warning::TicksMissed { .. }, Command::Ask) => "use a longer --every",
        (Warning::TicksMissed { .. }, _) => "use --window 0 or a longer --every",
        (
            Warning::RateNotAchieved { held_back_by_window: true, .. }
            | Warning::RateNotAchieved { held_back_by_socket: true, .. },
            command,
        ) => match command {
            Command::Replay => "use more --connections",
            Command::Syn => "lower --rate",
            _ => "lower --rate, or use more --connections",
        },
        (Warning::RateNotAchieved { .. }, Command::Replay) => "use --pace spin with --cpu N, or more --threads",
        (Warning::RateNotAchieved { .. }, Command::Syn) => "lower --rate, or add --pace spin with --cpu N",
        (Warning::RateNotAchieved { .. }, _) => "lower --rate, or add --pace spin with --cpu N, or --threads",
        (_, Command::Replay) => "use --pace spin with --cpu N",
        _ => "use --pace spin with --cpu N, or a longer --every",
    }
}

/// The machines.
fn calm(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        (Warning::Throttled { .. }, _) => {
            "raise the limit (`cpu.max`, a container's CPU quota), or measure outside of it"
        }
        (Warning::OneCpu, Command::Syn) => "give this host a second CPU, or measure another host",
        (Warning::OneCpu, Command::Ask) => "give the program another CPU than this end: --cpu",
        (Warning::OneCpu, _) => "give each end its own CPU: --cpu, --peer-cpu",
        (Warning::PowerSavingGovernor { .. }, _) => {
            "set it to performance, or accept the slow-down as part of the result"
        }
        (_, Command::Throughput) => "the rate is affected: quiet the host, pin with --cpu N, --peer-cpu N",
        (_, Command::Syn | Command::Ask) => "compare min, and p50 where a quiet run repeats it; pin with --cpu N",
        _ => "compare min, and p50 where a quiet run repeats it; pin with --cpu N, --peer-cpu N",
    }
}

fn longer_run(warning: &Warning, command: Command) -> String {
    let text = match (warning, command) {
        (Warning::RateChanged { .. }, _) => {
            "run longer (-t): the later rate lasts where a token bucket or credits were used up; -v shows each interval"
        }
        (Warning::TooShort { .. }, _) => "run longer (-t), or use a shorter --interval",
        (Warning::StartIncluded { steady_after_ns, .. }, _) => {
            return format!("exclude the start with --warm-up {}s, or run longer (-t)", seconds(*steady_after_ns));
        }
        (Warning::NotSettled { .. }, Command::Replay) => {
            "replay a longer trace, or request less precision (--until p99±10%)"
        }
        (Warning::NotSettled { .. }, _) => "allow a longer run (-t), or request less precision (--until p99±10%)",
        (Warning::NotSteady { .. }, Command::Replay) => "use a longer --warm-up",
        (Warning::NotSteady { .. }, _) => "use a longer -t or --warm-up",
        (_, Command::Replay) => "repeat the run: only several runs show how much runs differ",
        _ => "run longer (-t), and repeat: only several runs show how much runs differ",
    };
    text.to_owned()
}

fn read_otherwise(warning: &Warning, command: Command) -> &'static str {
    match (warning, command) {
        (Warning::IdleBetween { .. }, Command::Rtt | Command::Paths) => {
            "compare with --every 100us, or where each end has a free CPU with --pace spin --wait spin --peer-wait spin"
        }
        (Warning::IdleBetween { .. }, Command::Ask) => "compare with --every 100us --force, or --pace spin --wait spin",
        (Warning::IdleBetween { .. }, Command::Load) => {
            "compare with a higher --rate, or --pace spin --wait spin --peer-wait spin"
        }
        (Warning::IdleBetween { .. }, _) => "compare with --every 100us, or --pace spin --wait spin",
        (Warning::RateIsNotRoundTrip { .. }, Command::Syn) => "use the round trips, or set --window 1",
        (Warning::RateIsNotRoundTrip { .. }, _) => "use the round trips, or set --window 1 --connections 1",
        (Warning::HalfRoundTrip, _) => {
            "double it to compare with other tools, or print whole round trips (`--full-rtt`)"
        }
        (Warning::Stalled { .. }, Command::Rtt | Command::Paths) => {
            "measure on a schedule (--every 1ms), or with `sonde load`"
        }
        (Warning::Stalled { .. }, Command::Ask) => "measure on a schedule: --every 10ms",
        (Warning::Stalled { .. }, _) => "measure on a schedule",
        (Warning::Rhythm { .. }, _) => "use --poisson at the same rate",
        (Warning::Periodic { periodic, .. }, _) => crate::words::periodic::advice(periodic),
        (Warning::Changed { change }, _) if change.of_firsts => {
            "look for a box that sets up each flow by its first packet (a firewall, a flow table), or for load that ended at that time; repeat"
        }
        (Warning::Changed { change }, _) if change.stretches > 1 => {
            "look for a route that moves back and forth, or for load that comes and goes"
        }
        (Warning::Changed { .. }, _) => "look for a route change, or for load that began at that time; repeat",
        (Warning::OneStreamOneCpu { .. }, _) => "try --streams 1,2,4, and --cores",
        _ => "compare median and tail separately",
    }
}

fn has_rate(command: Command) -> bool {
    command != Command::Replay
}

fn read_faster(command: Command) -> &'static str {
    match command {
        Command::Replay => "the peer read too slowly: use --peer-cpu or more --connections",
        _ => "the peer read too slowly: lower --rate, or use --peer-cpu or more --connections",
    }
}

fn send_failed(command: Command) -> &'static str {
    match command {
        Command::Replay => "the interface's queue was full or a local rule forbids it: raise --send-buffer",
        Command::Syn => "the interface's queue was full or a local rule forbids it: lower --rate",
        Command::Ask => {
            "no local port, file or buffer was free (a connection holds its port for a minute after its end: net.ipv4.ip_local_port_range), the interface's queue was full, or a local rule forbids it: ask more rarely (--every, --rate)"
        }
        _ => "the interface's queue was full or a local rule forbids it: lower --rate, raise --send-buffer",
    }
}

fn ask_for_less(option: &str) -> &'static str {
    match option {
        "congestion control" => "load it, or allow it (net.ipv4.tcp_allowed_congestion_control)",
        "type of service" => "choose a value whose two lowest bits (ECN) are 0: the kernel sets them",
        _ => "raise net.core.wmem_max and net.core.rmem_max, or request less",
    }
}

fn one_by_one(asked: BatchBy, command: Command) -> &'static str {
    match (asked, command) {
        (BatchBy::Segments, Command::Load) => "keep --size within one packet, or use --batch instead of --segments",
        (BatchBy::Segments, _) => "keep --size within one packet, or remove --segments",
        (BatchBy::Calls, _) => "remove --batch: the kernel or a sandbox does not allow the call",
    }
}

fn one_packet(whole: u64, command: Command) -> String {
    match command {
        Command::Replay => "replay it over --tcp, or over a path with a larger MTU".to_owned(),
        _ => format!("keep --size within {whole}, unless you want to measure such messages"),
    }
}

fn longer(q: f64, run_for: Option<Nanos>, command: Command) -> String {
    let until = format!("--until {}", quantile_name(q));
    match (run_for, command) {
        (_, Command::Replay) => "replay a longer trace, or use a smaller --reply-every".to_owned(),
        (Some(run_for), _) => format!("run {} (-t), or {until}", Length(run_for)),
        (None, _) => until,
    }
}

/// Whole seconds, rounded up.
fn seconds(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

/// The length of a run, rounded up to what a person would type.
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
        let lost = |dropped_by_us| Warning::Lost {
            count: 30,
            sent: 0,
            dropped_by_us,
            dropped_by_peer: None,
            late: 0,
            leaves_by: LeavesBy::Window,
            waited_share: None,
            unacknowledged: 0,
        };
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
