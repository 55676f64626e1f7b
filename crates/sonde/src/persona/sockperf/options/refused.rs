//! Options that a run is refused for, though they were read, and those that have no effect: a sentence each.
//!
//! A measurement without the option's effect would be another one under its name.

use crate::persona::sockperf::options::table::{Given, Key, Subcommand};

/// The first option that is refused, and why.
pub fn refusal(given: &Given) -> Option<(&'static str, &'static str)> {
    let several = given.text(Key::Servers).is_some_and(|count| count != "1");
    let socketxtreme = given.text(Key::Multiplex).is_some_and(|how| ["x", "socketxtreme"].contains(&how));
    let bypass =
        "kernel sockets are measured here, and no library that goes around the kernel is loaded: leave it away";
    let refusals = [
        (given.has(Key::ZeroCopy), "--zcopyread", bypass),
        (given.has(Key::LoadVma), "--load-vma", bypass),
        (given.has(Key::LoadXlio), "--load-xlio", bypass),
        (given.has(Key::SocketAcceleration), "--set-sock-accl", bypass),
        (given.has(Key::ReceiveFilter), "--rxfiltercb", bypass),
        (socketxtreme, "-F socketxtreme", bypass),
        (given.has(Key::Tls), "--tls", "TLS is not spoken here: leave it away, or use sockperf itself at both ends"),
        (
            given.has(Key::DummySend),
            "--dummy-send",
            "over kernel sockets its packets are sent in earnest, and the server takes them for damaged messages: leave it away",
        ),
        (several, "--srv-num", "the answers of several servers cannot be told apart: ask one after the other"),
    ];
    refusals.into_iter().find(|(given, ..)| *given).map(|(_, option, why)| (option, why))
}

/// Reason for which a host is refused; `None` for one that is not.
pub fn host(text: &str) -> Option<&'static str> {
    text.starts_with('/').then_some("a unix socket is no network: use sockperf itself for it")
}

/// Notes on options that have no effect, a sentence each.
pub fn notes(given: &Given, subcommand: Subcommand) -> Vec<String> {
    let note = |key| {
        let of_server = if subcommand == Subcommand::Server { of_server(key) } else { None };
        effectless(key).or(of_server).or_else(|| pointless(key, given, subcommand))
    };
    given.keys().filter_map(note).map(|(option, says)| format!("{option}: {says}")).collect()
}

/// Note on an option that never has an effect.
fn effectless(key: Key) -> Option<(&'static str, &'static str)> {
    match key {
        Key::Multiplex => Some(("-F", "has no effect but on the output: there is one way of waiting here")),
        Key::Timeout => Some(("--timeout", "has no effect: nobody waits by ticks here")),
        Key::ReceiveLoops => Some(("--recv_looping_num", "has no effect: every wake-up takes all that has come")),
        Key::Debug => Some(("-d", "there is no debugging output")),
        _ => None,
    }
}

/// Note on an option that has none at a server.
fn of_server(key: Key) -> Option<(&'static str, &'static str)> {
    match key {
        Key::SkipBlockingSend => {
            Some(("--tcp-skip-blocking-send", "has no effect: a client that does not read holds up nobody else"))
        }
        Key::PreWarmUpWait => Some(("--pre-warmup-wait", "has no effect: a server waits for nothing")),
        _ => None,
    }
}

/// Note on an option that has none beside the others.
fn pointless(key: Key, given: &Given, subcommand: Subcommand) -> Option<(&'static str, &'static str)> {
    let one_way = subcommand == Subcommand::Throughput;
    let unanswered = "has no effect: nothing is answered";
    let no_bandwidth = "has no effect: it is of throughput";
    match key {
        Key::Dots if given.has(Key::Activity) => Some(("-a", "has no effect beside -A")),
        Key::FullLog if one_way => Some(("--full-log", unanswered)),
        Key::FullRtt if one_way => Some(("--full-rtt", unanswered)),
        Key::ReceiverAffinity if one_way => Some(("--receiver-affinity", unanswered)),
        Key::ReceiverAffinity if given.has(Key::SenderAffinity) => {
            Some(("--receiver-affinity", "has no effect beside --sender-affinity: one thread sends and receives"))
        }
        Key::GigaSize if !one_way => Some(("--giga-size", no_bandwidth)),
        Key::Precision if !one_way => Some(("--increase_output_precision", no_bandwidth)),
        Key::Precision if given.has(Key::GigaSize) => {
            Some(("--increase_output_precision", "has no effect beside --giga-size"))
        }
        Key::AvoidNodelay if !given.has(Key::Tcp) && !given.has(Key::File) => {
            Some(("--tcp-avoid-nodelay", "has no effect without --tcp"))
        }
        _ => None,
    }
}
