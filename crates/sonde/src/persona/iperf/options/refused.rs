//! Options that a run is refused for, though they were read, and those that have no effect: a sentence each.
//!
//! A measurement without the option's effect would be another one under its name.

use std::net::IpAddr;

use crate::persona::iperf::options::table::{Entry, Given, Key, Side};

const NEXT: &str = "streams of one run go to one place from one address: start one client for each";
const INPUT: &str = "what comes by a pipe has no length that could be told: put it into a file, and name that by -F";

/// The first option that is refused, and why.
pub fn refusal(given: &Given, is_server: bool) -> Option<(String, &'static str)> {
    let why = |key| why(key).or_else(|| if is_server { why_of_server(key, given) } else { None });
    given.entries().find_map(|entry| Some((entry.name(), why(entry.key)?)))
}

/// The same at a server alone.
fn why_of_server(key: Key, given: &Given) -> Option<&'static str> {
    let why = match key {
        Key::Bandwidth => "a server reads as fast as it can here: give -b to the client, which then sends so fast",
        Key::Mss | Key::Nodelay | Key::Tos | Key::Dscp | Key::Congestion => {
            "a server's sockets are as the system has them here: give it to the client"
        }
        Key::Bind if given.text(Key::Bind).is_some_and(is_device_alone) => {
            "a server listens at an address here, and joins groups at a device: leave away what is behind the %"
        }
        _ => return None,
    };
    Some(why)
}

/// A device of an address that is no group's.
fn is_device_alone(bind: &str) -> bool {
    let Some((address, _)) = bind.split_once('%') else { return false };
    !address.parse().is_ok_and(|address: IpAddr| address.is_multicast())
}

/// Reason for which an option is refused; `None` for one that is not.
pub fn why(key: Key) -> Option<&'static str> {
    let why = match key {
        Key::SingleClient => "clients are served side by side here, and do not hold each other up: leave it away",
        Key::TapDevice => "sockets are measured here, and no device below them: leave it away",
        Key::Realtime => {
            "a thread with real-time priority can stop the host: give this process one with chrt, if you must"
        }
        Key::RxWindowClamp => "the window is not clamped here: -w bounds the buffer, and so the window",
        Key::SumDestination => "sums are made by client here: leave it away",
        Key::TxDelay => "packets are not held back here: `sonde forward` delays what passes it",
        Key::RetryTime => "a second lies between two tries here: leave it away",
        Key::FqStep => "the kernel's rate stays as --fq-rate says: leave it away",
        Key::ExchangeTimeout => "a header is waited for four seconds here: leave it away",
        Key::IncrDestination | Key::IncrDestinationPort | Key::IncrSource | Key::IncrSourcePort => NEXT,
        Key::Stdin => INPUT,
        Key::LocalOnly => "routes are not gone around here: leave it away",
        Key::UdpL4s => {
            "datagrams are not paced by congestion marks here, nor by a 2.2.1 built without that, which sends a plain flow: over TCP -Z prague answers marks, where the kernel has it"
        }
        Key::SuggestWindow => "suggests nothing in the original either: leave it away",
        _ => return None,
    };
    Some(why)
}

/// Notes on options that have no effect, a sentence each.
pub fn notes(given: &Given, is_server: bool) -> Vec<String> {
    let mut told: Vec<Key> = Vec::new();
    let mut notes = Vec::new();
    for entry in given.entries() {
        if told.contains(&entry.key) {
            continue;
        }
        told.push(entry.key);
        if let Some(says) = effectless(entry, given, is_server) {
            notes.push(format!("{}: {says}", entry.name()));
        }
    }
    notes
}

fn effectless(entry: &Entry, given: &Given, is_server: bool) -> Option<&'static str> {
    match (entry.place, is_server) {
        (Side::Client, true) => return Some("has no effect at a server"),
        (Side::Server, false) => return Some("has no effect at a client"),
        _ => {}
    }
    let bounces = given.has(Key::Bounceback);
    let of_bounce = [
        Key::BouncebackPeriod,
        Key::BouncebackHold,
        Key::BouncebackNoQuickack,
        Key::BouncebackRequest,
        Key::BouncebackReply,
        Key::WorkingLoad,
        Key::Congest,
    ];
    let of_load = [Key::WorkingLoadCongestion, Key::BouncebackDelay];
    let loads = bounces && (given.has(Key::WorkingLoad) || given.has(Key::Congest));
    let of_tcp = [
        Key::Mss,
        Key::Nodelay,
        Key::Congestion,
        Key::PrintMss,
        Key::ConnectRetries,
        Key::WritePrefetch,
        Key::Quickack,
        Key::WriteTimes,
        Key::NearCongestion,
    ];
    match entry.key {
        Key::SingleUdp => Some("has no effect: flows do not hold each other up here"),
        Key::NoConnectSync => Some("has no effect: streams begin together here"),
        Key::IgnoreShutdown => {
            Some("has no effect: a test ends with its last write here, whatever the server does then")
        }
        Key::SkipRxCopy => Some("has no effect: what comes is read, and counted alike"),
        Key::SyncTransferId => Some("has no effect: ids are each end's own"),
        Key::Number | Key::Time if !is_server && given.has(Key::FileInput) => {
            Some("has no effect beside -F: a test ends with its file")
        }
        Key::Bandwidth
            if given.has(Key::Reverse) && given.text(Key::Bandwidth).is_some_and(|rate| rate.contains(',')) =>
        {
            Some("the server is told the mean, and its rate does not vary")
        }
        Key::PermitTimeout if !given.has(Key::Permit) => Some("has no effect without --permit-key"),
        Key::WriteTimes | Key::NearCongestion if given.has(Key::Reverse) => {
            Some("has no effect with -R: the server writes")
        }
        Key::Number if given.place(Key::Time) > given.place(Key::Number) => Some("has no effect before -t"),
        Key::Time if !is_server && given.place(Key::Number) > given.place(Key::Time) => Some("has no effect before -n"),
        Key::NearCongestion if bounces => Some("has no effect on --bounceback"),
        key if of_load.contains(&key) && !loads => Some("has no effect without --working-load"),
        key if of_bounce.contains(&key) && !bounces => Some("has no effect without --bounceback"),
        key if of_tcp.contains(&key) && given.has(Key::Udp) => Some("has no effect on UDP"),
        Key::Ipg if !given.has(Key::Udp) => Some("has no effect on TCP"),
        Key::BurstSize if !given.has(Key::Udp) && !given.has(Key::BurstPeriod) => {
            Some("has no effect on TCP without --burst-period")
        }
        Key::NoUdpFin if !given.has(Key::Udp) => Some("has no effect without -u"),
        Key::PrintMss if is_server => Some("has no effect at a server"),
        Key::Compatibility if is_server => {
            Some("has no effect at a server: it takes clients with and without a header")
        }
        _ => None,
    }
}
