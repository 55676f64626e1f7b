//! What a run is not started with, though it was read, and what has no effect: a sentence each.
//!
//! A measurement without the option's effect would be another one under its name.

use crate::persona::iperf::options::table::{Entry, Given, Key, Side};

const FRAMES: &str = "frames are not sent here, and 2.1 and 2.2 do not understand each other's: leave it away";
const LOAD: &str = "no load runs beside the requests: start it as a client of its own, or see `sonde load`";
const GROUP: &str = "is of groups of receivers, which are not spoken to here: leave it away";
const NEXT: &str = "streams of one run go to one place from one address: start one client for each";
const INPUT: &str =
    "what is sent is made up, as without it: leave it away, for what the bytes say changes no rate here";

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
        Key::Bind if given.text(Key::Bind).is_some_and(|text| text.contains('%')) => {
            "a server listens at an address here, not at a device: leave away what is behind the %"
        }
        _ => return None,
    };
    Some(why)
}

/// Why an option is refused; `None` for one that is not.
pub fn why(key: Key) -> Option<&'static str> {
    let why = match key {
        Key::Permit | Key::PermitTimeout => {
            "a key of this kind travels in the clear and guards nothing: keep strangers away by -B or a firewall, or use `sonde serve --key`"
        }
        Key::SingleClient => "clients are served side by side here, and do not hold each other up: leave it away",
        Key::Histograms => "histograms of what arrives are not made here: --bounceback has one, at the client",
        Key::TapDevice => "sockets are measured here, and no device below them: leave it away",
        Key::Realtime => {
            "a thread with real-time priority can stop the host: give this process one with chrt, if you must"
        }
        Key::RxWindowClamp => "the window is not clamped here: -w bounds the buffer, and so the window",
        Key::SumDestination => "sums are made by client here: leave it away",
        Key::Isochronous | Key::Ipg | Key::BurstPeriod | Key::BurstSize => FRAMES,
        Key::Congest | Key::WorkingLoad => LOAD,
        Key::SsmHost | Key::Ttl => GROUP,
        Key::IncrDestination | Key::IncrDestinationPort | Key::IncrSource | Key::IncrSourcePort => NEXT,
        Key::FileInput | Key::Stdin => INPUT,
        Key::WritePrefetch => "how much the kernel holds unsent is not bounded here: -w bounds the buffer",
        Key::WriteTimes => "times of single writes are not told here, and 2.1.8 tells none either: leave it away",
        Key::Quickack => "acknowledgements of an upload are the server's: leave it away",
        Key::NearCongestion => "is an experiment of the original whose effect nobody has written down: leave it away",
        Key::LocalOnly => "routes are not gone around here: leave it away",
        Key::UdpL4s => "congestion marks are not answered here: leave it away",
        Key::SuggestWindow => "suggests nothing in the original either: leave it away",
        _ => return None,
    };
    Some(why)
}

/// What has no effect, a sentence each.
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
    ];
    let of_tcp = [Key::Mss, Key::Nodelay, Key::Congestion, Key::PrintMss, Key::ConnectRetries];
    match entry.key {
        Key::SingleUdp => Some("has no effect: flows do not hold each other up here"),
        Key::NoConnectSync => Some("has no effect: streams begin together here"),
        Key::IgnoreShutdown => {
            Some("has no effect: a test ends with its last write here, whatever the server does then")
        }
        Key::SkipRxCopy => Some("has no effect: what comes is read, and counted alike"),
        Key::SyncTransferId => Some("has no effect: ids are each end's own"),
        Key::Number if given.place(Key::Time) > given.place(Key::Number) => Some("has no effect before -t"),
        Key::Time if !is_server && given.place(Key::Number) > given.place(Key::Time) => Some("has no effect before -n"),
        key if of_bounce.contains(&key) && !bounces => Some("has no effect without --bounceback"),
        key if of_tcp.contains(&key) && given.has(Key::Udp) => Some("has no effect on UDP"),
        Key::NoUdpFin if !given.has(Key::Udp) => Some("has no effect without -u"),
        Key::PrintMss if is_server => Some("has no effect at a server"),
        Key::Compatibility if is_server => {
            Some("has no effect at a server: it takes clients with and without a header")
        }
        _ => None,
    }
}
