//! Two cables to one host, each with a capture on it: every connection goes the way that the record says, from its first packet to its last.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::geteuid;
use serde_json::Value;
use test_case::test_case;

use crate::capture::Capture;
use crate::pcap::{Packet, segment};
use crate::scene::{Scene, counts, document, installed, run, sonde_in};

/// The far host and this one, whichever cable leads there; of IPv4 and IPv6.
const HOST: [&str; 2] = ["10.9.9.9", "fd99::9"];
const NEAR: [&str; 2] = ["10.9.8.8", "fd99::8"];
/// The ends of the second cable.
const SECOND: [&str; 2] = ["10.60.1.1", "10.60.1.2"];
const SECOND_SIX: [&str; 2] = ["fd60::1", "fd60::2"];
const CABLE: &str = "second0";

/// Lays the second cable, and routes over both. Ports decide of IPv4; of IPv6 it is the flow label, as systems have it from the start.
fn lay(scene: &Scene) {
    let (near, far) = (scene.near(), scene.far());
    run(near, &["ip", "link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", far.name()]);
    for space in [near, far] {
        run(space, &["ip", "link", "set", CABLE, "addrgenmode", "none", "up"]);
        run(space, &["sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]);
    }
    for (place, space) in [near, far].into_iter().enumerate() {
        let own = [NEAR, HOST][place];
        let addresses = [
            (own[0], "32", "lo"),
            (own[1], "128", "lo"),
            (SECOND[place], "24", CABLE),
            (SECOND_SIX[place], "64", CABLE),
        ];
        // Neighbours are asked for by an address of the link.
        let link = ["fe80::1", "fe80::2"][place];
        let links = [(link, "64", space.interface()), (link, "64", CABLE)];
        for (address, bits, device) in addresses.into_iter().chain(links) {
            let nodad: &[&str] = if address.contains(':') { &["nodad"] } else { &[] };
            run(space, &[&["ip", "address", "add", &format!("{address}/{bits}"), "dev", device][..], nodad].concat());
        }
    }
    run(near, &["sysctl", "-qw", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv6.fib_multipath_hash_policy=0"]);
    // Else another one at each boot: flows of one way alone are drawn now and then. Kernels before 6.11 have none to set.
    let seed = "/proc/sys/net/ipv4/fib_multipath_hash_seed";
    run(near, &["sh", "-c", &format!("test ! -e {seed} || echo 7 > {seed}")]);
    let (v4, v6) = (far.v4().to_string(), far.v6().to_string());
    for (six, first, second) in [(0, v4.as_str(), SECOND[1]), (1, v6.as_str(), SECOND_SIX[1])] {
        let hops = ["nexthop", "via", first, "nexthop", "via", second];
        run(near, &[&["ip", "route", "add", HOST[six], "src", NEAR[six]][..], &hops].concat());
    }
    run(far, &["ip", "route", "add", NEAR[0], "via", &near.v4().to_string()]);
    run(far, &["ip", "route", "add", NEAR[1], "via", &near.v6().to_string()]);
}

/// The source ports of what left towards the port of the measurement; the system's own choice, as for the control connection, lies below.
fn ports(packets: &[Packet]) -> BTreeSet<u16> {
    let segments = packets.iter().filter(|packet| matches!(packet.protocol, 6 | 17)).filter_map(segment);
    segments.filter_map(|(from, to, _)| (to == 7_663 && from >= 61_000).then_some(from)).collect()
}

/// The interface by which the record says that each source port goes.
fn told(record: &Value) -> BTreeMap<u16, String> {
    let sockets = record["outcome"]["sockets"].as_array().expect("sockets").iter();
    sockets
        .map(|socket| {
            let port = socket["local"].as_str().and_then(|local| local.rsplit(':').next()).expect("a port");
            let hop = socket["next_hop"].as_str().expect("a next hop");
            let device = hop.split_once('(').map_or(hop, |(_, device)| device.trim_end_matches(')'));
            (port.parse().expect("a number"), device.to_owned())
        })
        .collect()
}

#[test_case(0, "--connect"; "handshakes over v4")]
#[test_case(0, "--tcp"; "tcp over v4")]
#[test_case(0, "--udp"; "udp over v4")]
#[test_case(1, "--connect"; "handshakes over v6")]
#[test_case(1, "--tcp"; "tcp over v6")]
#[test_case(1, "--udp"; "udp over v6")]
fn every_packet_of_a_connection_takes_the_way_that_is_told(six: usize, carrier: &str) {
    let what = "which connection takes which cable";
    if !installed("tcpdump", "tcpdump", what) {
        return;
    }
    if !geteuid().is_root() {
        // It gives up the groups it has, which nobody may inside a user namespace.
        testbed::skip::aloud(&format!("{what}: only root can run tcpdump"));
        return;
    }
    let Some(scene) = Scene::beside(what) else { return };
    lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST[six]]);
    let cables = [scene.near().interface(), CABLE];
    let captures = cables.map(|cable| Capture::start_on(scene.near(), cable));
    // Twelve handshakes from each port, each a connection of its own.
    let often = "--flows 16 -c 192 --source-port 61000..61999 --timeout 20s --json -q";
    let words = ["paths", HOST[six], carrier].into_iter().chain(often.split(' '));
    let record = document(&sonde_in(scene.near()).args(words).output().expect("started"));
    assert_eq!(counts(&record).answered, 192, "{record:#}");
    for address in [scene.target(false).as_str(), SECOND[1]] {
        let mark = scene.rtt(&[address, "--port", "9", "--connect", "-c", "1", "--warm-up", "0"]);
        assert_eq!(counts(&document(&mark)).refused, 1);
    }
    let seen = captures.map(|capture| ports(&capture.end()));
    let told = told(&record);
    assert_eq!(told.len(), 16);
    for (cable, seen) in cables.into_iter().zip(&seen) {
        let by_record: BTreeSet<u16> =
            told.iter().filter(|(_, device)| *device == cable).map(|(port, _)| *port).collect();
        assert_eq!(*seen, by_record, "{cable}: {told:?}");
        assert!(!seen.is_empty(), "{cable} has its share: {told:?}");
    }
    let labels =
        record["outcome"]["sockets"].as_array().expect("sockets").iter().filter(|socket| socket["flow_label"].is_u64());
    assert_eq!(labels.count(), if six == 1 { 16 } else { 0 });
}
