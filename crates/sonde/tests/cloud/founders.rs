//! The founders' commands of `sonde pkb`, whole: machines made, measured, told in PKB's samples, and removed.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use test_case::test_case;
use testbed::process::{Ended, LIMIT};
use testbed::wait;

use crate::world::{Sample, World};

/// The metrics of netperf's exchanges behind the test's name, with their units, but for the quantiles.
const EXCHANGE: [(&str, &str); 5] = [
    ("_Transaction_Rate", "transactions_per_second"),
    ("_Latency_Histogram", "us"),
    ("_Latency_min", "us"),
    ("_Latency_max", "us"),
    ("_Latency_stddev", "us"),
];
/// The quantiles that PKB asks for, and of how many exchanges each is one.
const QUANTILES: [(&str, u64); 7] = [
    ("_Latency_p10", 10),
    ("_Latency_p50", 2),
    ("_Latency_p90", 10),
    ("_Latency_p99", 100),
    ("_Latency_p99.9", 1_000),
    ("_Latency_p99.99", 10_000),
    ("_Latency_p99.999", 100_000),
];
/// Metadata of each sample of a pair of machines.
const PAIR: [&str; 6] =
    ["ip_type", "sending_zone", "receiving_zone", "sending_machine_type", "receiving_machine_type", "vm_1_cloud"];
const NETPERF: [&str; 4] = ["netperf_test_length", "netperf_warmup_test_length", "sending_thread_count", "max_iter"];
const SHORT: [&str; 2] = ["--netperf_test_length=1", "--netperf_warmup_test_length=0"];

/// Every metric of one of netperf's tests of exchanges, with the quantiles that as many exchanges as its histogram holds resolve.
/// An exchange that the end cut off is not in the histogram and counts none the less, so one more may resolve one more.
fn assert_exchange(samples: &[Sample], test: &str, ended: &Ended) {
    let own = of(samples, test);
    let histogram = own.iter().find(|sample| sample.metric == format!("{test}_Latency_Histogram"));
    let histogram = histogram.unwrap_or_else(|| panic!("no histogram: {}", ended.told())).label("histogram");
    let counts: BTreeMap<String, u64> = serde_json::from_str(histogram).unwrap_or_else(|_| panic!("{histogram}"));
    let answered: u64 = counts.values().sum();
    let told = |least: fn(u64) -> u64| -> Vec<String> {
        let resolved = QUANTILES.iter().filter(|(_, of)| answered >= least(*of));
        resolved.map(|(end, _)| format!("{test}{end}")).collect()
    };
    let fixed = EXCHANGE.map(|(end, unit)| (format!("{test}{end}"), unit));
    let wanted: Vec<(String, &str)> =
        fixed.into_iter().chain(told(|of| of).into_iter().map(|name| (name, "us"))).collect();
    let edge: Vec<String> = told(|of| of - 1).split_off(told(|of| of).len());
    assert_metrics(&own, &wanted, &edge, ended);
}

/// Every wanted metric with its unit, and none of PKB's beside them but those that may be there.
fn assert_metrics(samples: &[&Sample], wanted: &[(String, &str)], may: &[String], ended: &Ended) {
    let told: BTreeSet<(&str, &str)> = samples
        .iter()
        .map(|sample| (sample.metric.as_str(), sample.unit.as_str()))
        .filter(|(metric, _)| !metric.starts_with("sonde_") && !may.iter().any(|may| may == metric))
        .collect();
    let wanted: BTreeSet<(&str, &str)> = wanted.iter().map(|(metric, unit)| (metric.as_str(), *unit)).collect();
    assert_eq!(told, wanted, "{}", ended.told());
    for sample in samples {
        let is_known = sample.metric.ends_with("Histogram") || sample.metric == "sonde_Loss" || sample.value > 0.0;
        assert!(is_known, "{sample:?}");
    }
}

fn assert_labels<'a>(samples: &[&Sample], keys: impl IntoIterator<Item = &'a str>) {
    for key in keys {
        for sample in samples {
            assert!(!sample.label(key).is_empty(), "no {key}: {sample:?}");
        }
    }
}

fn assert_done(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", ended.told());
    assert!(ended.said("Success rate: 100.00%"), "{}", ended.told());
}

fn of<'a>(samples: &'a [Sample], test: &str) -> Vec<&'a Sample> {
    let told = samples.iter().filter(|sample| sample.test == "netperf");
    told.filter(|sample| sample.metric.starts_with(test) || sample.label("sonde_method") == test).collect()
}

#[test_case(0, &["--cloud=GCP", "--zone=us-east1-c", "--machine_type=c2-standard-16", "--placement_group_style=cluster"], "COLLOCATED"; "gcp")]
#[test_case(1, &["--cloud=AWS", "--zone=us-east-1a", "--machine_type=m7i.large", "--placement_group_style=cluster"], "--strategy cluster"; "aws")]
#[test_case(2, &["--cloud=Azure", "--zone=eastus-1", "--machine_type=Standard_F4s_v2", "--azure_accelerated_networking"], "--accelerated-networking true"; "azure")]
fn netperf_within_a_zone(cloud: usize, flags: &[&str], called: &str) {
    let Some(world) = World::of("netperf within a zone", cloud) else { return };
    let tests = ["--benchmarks=netperf", "--netperf_benchmarks=TCP_RR,UDP_RR"];
    let ended = world.whole(&[&tests[..], flags, &SHORT].concat());
    assert_done(&ended);
    assert!(world.scene.calls().contains(called), "{}", world.scene.calls());
    let samples = world.samples();
    for test in ["TCP_RR", "UDP_RR"] {
        let own = of(&samples, test);
        assert_exchange(&samples, test, &ended);
        assert_labels(&own, PAIR.into_iter().chain(NETPERF));
    }
    assert_labels(&of(&samples, "TCP_RR"), ["netperf_mss"]);
    let metric = |name: &str| samples.iter().filter(|sample| sample.metric == name && sample.unit == "sec").count();
    assert_eq!((metric("start_time"), metric("end_time")), (2, 2));
    let zone = flags[1].trim_start_matches("--zone=");
    assert!(samples.iter().all(|sample| sample.label("sending_zone") == zone && sample.label("ip_type") == "internal"));
    assert!(samples.iter().all(|sample| flags[0].ends_with(sample.label("vm_1_cloud"))), "{samples:#?}");
    world.assert_nothing_left(&ended);
}

#[test]
fn streams_and_a_mesh_between_zones_one_benchmark_after_the_other() {
    let Some(world) = World::of("streams and a mesh", 1) else { return };
    let zones = ["--cloud=AWS", "--zone=us-east-1a", "--zone=us-east-1b", "--placement_group_style=none"];
    let tests = ["--benchmarks=iperf,mesh_network,netperf", "--iperf_benchmarks=TCP,UDP", "--num_vms=2"];
    let short = ["--iperf_runtime_in_seconds=1", "--duration_in_seconds=1", "--netperf_benchmarks=TCP_STREAM,TCP_CRR"];
    let ended = world.whole(&[&tests[..], &zones, &short, &SHORT].concat());
    assert_done(&ended);
    let samples = world.samples();
    let iperf: Vec<&Sample> = samples.iter().filter(|sample| sample.test == "iperf").collect();
    let metrics = [("Throughput".to_owned(), "Mbits/sec"), ("UDP Throughput".to_owned(), "Mbits/sec")];
    assert_metrics(&iperf, &metrics, &[], &ended);
    assert_labels(&iperf, PAIR.into_iter().chain(["sending_thread_count", "runtime_in_seconds"]));
    for (metric, keys) in [
        ("Throughput", &["buffer_size", "retry_packet_count"][..]),
        (
            "UDP Throughput",
            &["jitter", "lost_datagrams", "total_datagrams", "out_of_order_datagrams", "datagram_size_bytes"],
        ),
    ] {
        let own: Vec<&Sample> = iperf.iter().filter(|sample| sample.metric == metric).copied().collect();
        let ways: BTreeSet<&str> = own.iter().map(|sample| sample.label("sending_zone")).collect();
        assert_eq!((own.len(), ways), (2, BTreeSet::from(["us-east-1a", "us-east-1b"])), "both ways: {own:?}");
        assert_labels(&own, keys.iter().copied());
    }
    let mesh: Vec<&Sample> = samples.iter().filter(|sample| sample.test == "mesh_network").collect();
    assert_metrics(&mesh, &[("TCP_RR_Average_Latency".to_owned(), "ms")], &[], &ended);
    assert_labels(&mesh, ["number_machines", "number_connections"]);
    assert_exchange(&samples, "TCP_CRR", &ended);
    let stream: Vec<&Sample> = of(&samples, "TCP_STREAM");
    let streams = ["TCP_STREAM_Throughput", "TCP_STREAM_Throughput_1stream"].map(|name| (name.to_owned(), "Mbits/sec"));
    assert_metrics(&stream, &streams, &[], &ended);
    assert_labels(&stream, ["netperf_mss", "netperf_retransmissions", "netperf_send_size_in_bytes"]);
    world.assert_nothing_left(&ended);
}

#[test_case("BOTH", &["internal", "external"]; "both")]
#[test_case("REACHABLE", &["internal", "external"]; "internal ones where they answer")]
fn addresses_between_regions(which: &str, wanted: &[&str]) {
    let Some(world) = World::of("addresses between regions", 0) else { return };
    let which = format!("--ip_addresses={which}");
    let flags = ["--benchmarks=netperf", "--cloud=GCP", "--zone=us-east1-c", "--zone=europe-west1-b", &which];
    let ended = world.whole(&[&flags[..], &["--netperf_benchmarks=UDP_RR"], &SHORT].concat());
    assert_done(&ended);
    let samples = world.samples();
    let kinds: BTreeSet<&str> = samples.iter().map(|sample| sample.label("ip_type")).collect();
    assert_eq!(kinds, wanted.iter().copied().collect(), "{}", ended.told());
    let zones: BTreeSet<&str> = samples.iter().map(|sample| sample.label("receiving_zone")).collect();
    assert_eq!(zones, BTreeSet::from(["europe-west1-b"]));
    world.assert_nothing_left(&ended);
}

#[test]
fn stages_apart() {
    let Some(world) = World::of("stages apart", 0) else { return };
    let flags = ["--benchmarks=netperf", "--cloud=GCP", "--zone=us-east1-c", "--netperf_benchmarks=UDP_RR"];
    let stage = |stage: &str| {
        let stage = format!("--run_stage={stage}");
        let ended = world.whole(&[&flags[..], &SHORT, &[&stage]].concat());
        assert_done(&ended);
        ended
    };
    stage("provision");
    assert_eq!((world.on(0).is_some(), world.on(1).is_some()), (true, true));
    // They are up, and nobody's clean-up is owed.
    let clean = world.cloud(&["clean"]);
    assert_eq!((clean.code, world.on(0).is_some()), (Some(0), true), "{}", clean.told());
    stage("prepare");
    assert!(world.samples().is_empty());
    let ended = stage("run");
    assert_exchange(&world.samples(), "UDP_RR", &ended);
    stage("cleanup");
    let left = walkdir(&world.scene.path("cloud/machines/0/home/.cache"));
    assert!(left.is_empty(), "the program is taken away again: {left:?}");
    let ended = stage("teardown");
    world.assert_nothing_left(&ended);
}

/// The files below a folder; none where it is not there.
fn walkdir(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walkdir(&path) } else { vec![path] }).collect()
}

#[test]
fn a_machine_that_dies_costs_its_cells_alone() {
    let Some(world) = World::of("a machine dies", 0) else { return };
    let flags = ["--benchmarks=netperf", "--cloud=GCP", "--zone=us-east1-c", "--netperf_benchmarks=UDP_RR,TCP_RR"];
    let running = world.begin(&[&flags[..], &["--netperf_test_length=2", "--netperf_warmup_test_length=0"]].concat());
    wait::until("the first test", || world.measures(0, "--udp"));
    world.power_off(1);
    let ended = running.end(LIMIT);
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    assert!(ended.said("us-east1-c-1: ") && ended.said("TCP_RR from us-east1-c-0 to us-east1-c-1"), "{}", ended.told());
    assert!(of(&world.samples(), "TCP_RR").is_empty());
    world.assert_nothing_left(&ended);
}

#[test]
fn ping_is_told_as_far_as_it_came_when_it_is_interrupted() {
    let Some(world) = World::of("ping, interrupted", 0) else { return };
    let running = world.begin(&["--benchmarks=ping", "--cloud=GCP", "--zone=us-east1-c"]);
    wait::until("an echo", || world.measures(0, "--icmp"));
    let replies = |number| world.counter(number, "Icmp", "InEchoReps");
    let before = replies(0);
    wait::until("replies", || replies(0) >= before + 2);
    running.signal(Signal::INT);
    let ended = running.end(LIMIT);
    assert_eq!(ended.code, Some(1), "{}", ended.told());
    let samples = world.samples();
    let all: Vec<&Sample> = samples.iter().filter(|sample| sample.test == "ping").collect();
    let metrics =
        ["Min Latency", "Average Latency", "Max Latency", "Latency Std Dev"].map(|name| (name.to_owned(), "ms"));
    assert_metrics(&all, &metrics, &[], &ended);
    assert_labels(&all, ["ip_type", "sending_zone", "receiving_zone"]);
    world.assert_nothing_left(&ended);
}

#[test]
fn one_that_was_killed_is_owed_and_cleaned() {
    let Some(world) = World::of("killed in the run stage", 1) else { return };
    let flags = ["--benchmarks=netperf", "--cloud=AWS", "--zone=us-east-1a", "--netperf_benchmarks=UDP_RR"];
    let running = world.begin(&[&flags[..], &["--netperf_warmup_test_length=0"]].concat());
    wait::until("the test", || world.measures(0, "--udp"));
    let busy = world.cloud(&["clean"]);
    assert!(busy.code == Some(0) && world.on(0).is_some(), "what is worked on is let be: {}", busy.told());
    running.signal(Signal::KILL);
    let _ = running.end(LIMIT);
    wait::until("agents end with who started them", || !world.measures(0, "--udp"));
    let listed = world.cloud(&["list"]);
    assert!(listed.said("clean-up owed: whoever was to remove it has ended before"), "{}", listed.told());
    let refused = world.whole(&[&flags[..], &["--run_uri=f2"]].concat());
    assert!(refused.code == Some(1) && refused.said("a clean-up is owed"), "{}", refused.told());
    let clean = world.cloud(&["clean"]);
    assert_eq!(clean.code, Some(0), "{}", clean.told());
    world.assert_nothing_left(&clean);
}
