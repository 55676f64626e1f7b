//! STAMP between two hosts, with a packet capture that reads the same packets by the RFC's tables, and with losses planted
//! on either way.

use std::collections::HashMap;

use rustix::process::geteuid;
use serde_json::Value;
use test_case::test_case;

use crate::capture::Capture;
use crate::pcap::{Packet, segment};
use crate::scene::{Scene, counts, document, installed, number, run};

/// Port of the session-reflector.
const PORT: u16 = 8_620;
/// Seconds between 1900 and 1970.
const ERA: u64 = 2_208_988_800;

/// A packet of STAMP, unauthenticated: RFC 8762, figures 2 and 5.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    passed: u64,
    number: u32,
    left: u64,
    /// Arrival of the answer's packet, and that packet's number, time and TTL.
    answered: Option<(u64, u32, u64, u8)>,
}

fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().expect("four octets"))
}

/// A time of NTP's format as nanoseconds since 1970, cut to whole ones.
fn time(octets: &[u8], at: usize) -> u64 {
    let (seconds, fraction) = (u64::from(word(octets, at)), u64::from(word(octets, at + 4)));
    (seconds - ERA) * 1_000_000_000 + ((fraction * 1_000_000_000) >> 32)
}

fn stamped(packet: &Packet) -> Option<Stamped> {
    let (from, to, octets) = segment(packet).filter(|_| packet.protocol == 17)?;
    if from != PORT && to != PORT {
        return None;
    }
    assert!(octets.len() >= 44, "{} octets", octets.len());
    let of_answer = || (time(octets, 16), word(octets, 24), time(octets, 28), octets[40]);
    let answered = (from == PORT).then(of_answer);
    if answered.is_none() {
        assert!(octets[16..44].iter().all(|octet| *octet == 0), "must be zero: {octets:?}");
    }
    Some(Stamped { passed: packet.at, number: word(octets, 0), left: time(octets, 4), answered })
}

fn scene(what: &str) -> Option<Scene> {
    if !installed("tcpdump", "tcpdump", what) || !installed("nft", "nftables", what) {
        return None;
    }
    if !geteuid().is_root() {
        // It gives up the groups it has, which nobody may inside a user namespace.
        testbed::skip::aloud(&format!("{what}: only root can run tcpdump"));
        return None;
    }
    Scene::beside(what)
}

fn measure(scene: &Scene, six: bool, count: &str) -> Value {
    let (target, port) = (scene.target(six), PORT.to_string());
    let words = ["--peer", "stamp", "--port", &port, "--every", "2ms", "--warm-up", "0", "--timeout", "2s"];
    scene.record(&[&[target.as_str(), "-c", count], &words[..]].concat())
}

/// All clocks are one here, so the four times of each exchange and the two of the capture stand in one order.
#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn tcpdump_reads_what_was_measured(six: bool) {
    let Some(scene) = scene("STAMP beside a packet capture") else { return };
    let _reflector = scene.reflector(&["--stamp", "--stamp-port", "8620"]);
    let capture = Capture::start(scene.near());
    let record = measure(&scene, six, "200");
    let target = scene.target(six);
    let mark = scene.rtt(&[&target, "--port", "9", "--connect", "-c", "1", "--warm-up", "0"]);
    assert_eq!(counts(&document(&mark)).refused, 1);
    let packets: Vec<Stamped> = capture.end().iter().filter_map(stamped).collect();
    let (answers, requests): (Vec<&Stamped>, Vec<&Stamped>) =
        packets.iter().partition(|packet| packet.answered.is_some());
    // Two packets go before.
    assert_eq!((requests.len(), answers.len(), counts(&record).answered), (202, 202, 200));
    let by_number: HashMap<u32, &&Stamped> = requests.iter().map(|request| (request.number, request)).collect();
    let mut shortest = u64::MAX;
    for (place, answer) in answers.iter().enumerate() {
        let (came, number, left, hops) = answer.answered.expect("an answer");
        let request = by_number[&number];
        // The reflector counts its answers by itself, and gives back what the packet said.
        assert_eq!((answer.number, left, hops), (place as u32, request.left, 64), "{answer:?} {request:?}");
        // A time of NTP's format is cut to a quarter of a nanosecond.
        let order = [request.left, request.passed + 1, came + 2, answer.left + 3, answer.passed + 4];
        assert!(order.is_sorted(), "{request:?} {answer:?}");
        let there = came.saturating_sub(request.left);
        shortest = shortest.min(there);
    }
    // The shortest time of the way there is a true one, but for the bound.
    let one_way = &record["outcome"]["one_way"];
    let told = one_way["forward"]["min_ns"].as_i64().unwrap_or_else(|| panic!("{one_way}"));
    let bound = number(&record, "/outcome/one_way/clock/bound_ns");
    let (told, shortest) = (told.unsigned_abs() * u64::from(told > 0), shortest);
    // The way there begins at the driver's stamp, which comes after the time in the packet.
    assert!(told <= shortest + bound + 1, "{told} ± {bound}, and {shortest} by the packets");
}

/// Has a host drop each `n`th of these packets, the first of them the `n`th, and count.
fn drop_each(namespace: &lab::namespace::Namespace, matching: &str, n: u32) {
    let last = n - 1;
    let rules = format!(
        "table inet truth {{ counter dropped {{ }}
         chain c {{ type filter hook input priority 0; {matching} numgen inc mod {n} == {last} counter name dropped drop; }}; }}"
    );
    run(namespace, &["nft", &rules]);
}

#[test_case(Some(10), None; "on the way there")]
#[test_case(None, Some(8); "on the way back")]
#[test_case(Some(10), Some(8); "on both")]
fn losses_have_the_direction_that_was_planted(there: Option<u32>, back: Option<u32>) {
    let Some(scene) = scene("STAMP with losses") else { return };
    let _reflector = scene.reflector(&["--stamp", "--stamp-port", "8620"]);
    if let Some(n) = there {
        drop_each(scene.far(), "udp dport 8620", n);
    }
    if let Some(n) = back {
        drop_each(scene.near(), "udp sport 8620", n);
    }
    // With the two packets that go before, the last ones come through.
    let record = measure(&scene, false, "200");
    let planted = |host, dropped: Option<u32>| dropped.map_or(0, |_| crate::verify::dropped(host));
    let (lost_there, lost_back) = (planted(scene.far(), there), planted(scene.near(), back));
    assert!(lost_there + lost_back > 15);
    let fates = counts(&record);
    assert_eq!((fates.lost, fates.answered), (lost_there + lost_back, 200 - lost_there - lost_back), "{fates:?}");
    let arrived = 200 - lost_there;
    let told = (number(&record, "/outcome/loss/peer_received"), number(&record, "/outcome/loss/peer_replied"));
    assert_eq!(told, (arrived, arrived), "{}", record["outcome"]["loss"]);
    assert_eq!(arrived - fates.answered, lost_back);
}
