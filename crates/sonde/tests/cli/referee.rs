//! Warnings on real sockets: each planted where it can be, and not told of what is next to it.

use std::net::TcpListener;

use serde_json::Value;
use test_case::test_case;

use crate::serve::Reflector;
use crate::{document, sonde};

/// The record of this command, however it ended.
fn record(words: &[&str]) -> Value {
    document(&sonde(&[words, &["--json", "-q"]].concat()).output().unwrap().stdout)
}

fn kinds(record: &Value) -> Vec<&str> {
    let warnings = record["warnings"].as_array().unwrap_or_else(|| panic!("{record}"));
    warnings.iter().map(|warning| warning["kind"].as_str().unwrap()).collect()
}

/// Returns true where a short measurement with these words has this warning; no machine is so busy that an answer takes a
/// minute.
fn told(kind: &str, words: &[&str]) -> bool {
    let record = record(&[&["rtt", "--warm-up", "0", "--timeout", "60s"], words].concat());
    kinds(&record).contains(&kind)
}

#[test]
fn loopback_is_no_network_whoever_answers() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let told = |words: &[&str]| {
        let record = record(&[&["rtt", "-c", "20", "--warm-up", "0"], words].concat());
        let kinds = kinds(&record);
        (kinds.contains(&"own-reflector"), kinds.contains(&"same-host"))
    };
    assert_eq!(told(&[]), (true, false), "a reflector of our own explains it");
    assert_eq!(told(&[&reflector.address()]), (false, true));
    let throughput = record(&["throughput", &reflector.address(), "-t", "0.3", "--interval", "100ms"]);
    assert!(kinds(&throughput).contains(&"same-host"), "{:?}", kinds(&throughput));
    assert!(kinds(&throughput).contains(&"too-short"), "{:?}", kinds(&throughput));
    let long = record(&["throughput", &reflector.address(), "-t", "1.5", "--interval", "100ms"]);
    assert!(!kinds(&long).contains(&"too-short"), "{:?}", kinds(&long));
}

/// A port where nobody listens: bound, so that nobody else gets it meanwhile.
fn closed() -> (socket2::Socket, u16) {
    let closed = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    closed.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let port = closed.local_addr().unwrap().as_socket().unwrap().port();
    (closed, port)
}

#[test_case(&[], 20; "one behind the other, which would be a flood")]
#[test_case(&["--connections", "3", "--threads", "1"], 20; "on three connections of a thread")]
#[test_case(&["-c", "30", "--every", "1ms"], 30; "on a schedule, which may wait for the port to open")]
fn a_port_that_stays_closed_ends_the_run_without_a_flood(words: &[&str], refused: u64) {
    let (_closed, port) = closed();
    let record = record(&[&["rtt", &format!("127.0.0.1:{port}"), "--connect"], words].concat());
    let counts = &record["outcome"]["counts"];
    assert_eq!((counts["refused"].as_u64(), counts["scheduled"].as_u64()), (Some(refused), Some(refused)), "{counts}");
}

#[test]
fn a_closed_port_is_refused_and_an_open_one_is_a_kernels() {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_closed, port) = closed();
    let told = |port: u16| {
        let target = format!("127.0.0.1:{port}");
        let record = record(&["rtt", &target, "--connect", "-c", "5", "--warm-up", "0"]);
        let kinds = kinds(&record);
        (kinds.contains(&"refused"), kinds.contains(&"handshake-is-not-the-application"))
    };
    assert_eq!(told(port), (true, false));
    assert_eq!(told(open.local_addr().unwrap().port()), (false, true));
}

#[test]
fn a_look_at_a_port_finds_the_program_of_ours_there() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start(folder.path(), &[]);
    let look = record(&["look", &reflector.address(), "-t", "1"]);
    let port: u64 = reflector.address().rsplit(':').next().unwrap().parse().unwrap();
    let of_ours = |leg: &Value| leg["carrier"] == "tcp" && leg["port"] == port;
    assert!(look["look"]["legs"].as_array().unwrap().iter().any(of_ours), "{look:#}");
}

#[test]
fn a_pause_between_requests_is_told_where_round_trips_are_short() {
    for words in [&["--every", "3ms"][..], &["--every", "500us"], &[]] {
        let record = record(&[&["rtt", "-c", "50", "--warm-up", "0", "--timeout", "60s"], words].concat());
        // Where this host sends late, the time that is printed is longer than that from the send.
        let of = |times: &str| record["outcome"][times]["quantiles"][0]["value_ns"].as_u64();
        let medians: Vec<u64> = ["response", "service"].into_iter().filter_map(of).collect();
        assert!(!medians.is_empty(), "{words:?}");
        let expected = words == ["--every", "3ms"] && medians.iter().all(|median| *median <= 1_000_000);
        assert_eq!(kinds(&record).contains(&"idle-between"), expected, "{words:?}: {medians:?} ns");
    }
}

#[test_case(&["-c", "4000", "--window", "8"], true; "a window of eight")]
#[test_case(&["-c", "4000", "--connections", "4", "--threads", "4"], true; "four connections")]
#[test_case(&["-c", "1000"], false; "one at a time")]
#[test_case(&["-c", "50", "--window", "8", "--every", "1ms"], false; "on a schedule")]
fn a_rate_of_several_at_a_time_is_no_round_trip(words: &[&str], expected: bool) {
    assert_eq!(told("rate-is-not-round-trip", words), expected);
}

#[test_case(&["-c", "200", "--nagle", "--window", "4"], true; "several small ones")]
#[test_case(&["-c", "200", "--nagle"], false; "one at a time")]
#[test_case(&["-c", "200", "--window", "4"], false; "not asked for")]
fn small_messages_that_wait_for_each_other(words: &[&str], expected: bool) {
    assert_eq!(told("nagle", words), expected);
}

#[test]
fn a_generator_that_is_too_slow_is_told_once() {
    let record = record(&["rtt", "--udp", "--rate", "50M/s", "-t", "0.2", "--warm-up", "0", "--timeout", "100ms"]);
    let kinds = kinds(&record);
    assert!(kinds.contains(&"rate-not-achieved") && !kinds.contains(&"behind-schedule"), "{kinds:?}");
}

#[test_case(&["-c", "99"], true; "one too few for p90")]
#[test_case(&["--until", "p50", "-c", "2"], false; "that it did not settle says it")]
fn what_is_too_few(words: &[&str], expected: bool) {
    assert_eq!(told("too-few-for-quantile", words), expected);
}

#[test]
fn one_cpu_for_both_ends_is_told() {
    let program = assert_cmd::cargo::cargo_bin!("sonde");
    let words = ["rtt", "-c", "100", "--warm-up", "0", "--json", "-q"];
    let on_one = |command: &mut std::process::Command| command.args(words).output();
    let mut pinned = std::process::Command::new("taskset");
    let Ok(output) = on_one(pinned.args(["-c", "0"]).arg(program)) else {
        return testbed::skip::aloud("one CPU for both ends: no taskset (util-linux)");
    };
    if !output.status.success() {
        return testbed::skip::aloud("one CPU for both ends: CPU 0 is not ours");
    }
    assert!(kinds(&document(&output.stdout)).contains(&"one-cpu"));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let free = record(&words[..5]);
    assert_eq!(kinds(&free).contains(&"one-cpu"), cpus == 1, "{:?}", kinds(&free));
}

#[test]
fn a_window_that_tcp_gives_up_in_a_pause_is_told() {
    const SWITCH: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    let on = std::fs::read_to_string(SWITCH).is_ok_and(|text| text.trim() == "1");
    let of = |size: &str, every: &str| told("idle-restart", &["-c", "3", "--every", every, "--response-size", size]);
    // Ten segments of loopback are less than a mebibyte; a median of a second would make the pause too short.
    assert_eq!(of("1MiB", "2s"), on);
    assert!(!of("1KiB", "300ms") && !of("1MiB", "50ms"));
}

/// A process that leaves CPU 0 to nobody; ended when it goes out of scope.
struct Hog(std::process::Child);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_waits_for_a_cpu_that_another_has_is_disturbed() {
    let spinning = ["-c", "0", "sh", "-c", "while :; do :; done"];
    let Ok(hog) = std::process::Command::new("taskset").args(spinning).spawn() else {
        return testbed::skip::aloud("a CPU that another has: no taskset (util-linux)");
    };
    let mut hog = Hog(hog);
    // Both want all of that CPU, so either waits about half of the time.
    let record = record(&["rtt", "-t", "1", "--warm-up", "0", "--cpu", "0", "--wait", "spin", "--timeout", "60s"]);
    if hog.0.try_wait().unwrap().is_some() || record["error"].is_object() {
        return testbed::skip::aloud("a CPU that another has: CPU 0 is not ours");
    }
    let warnings = record["warnings"].as_array().unwrap();
    let disturbed =
        warnings.iter().find(|warning| warning["kind"] == "disturbed").unwrap_or_else(|| panic!("{warnings:?}"));
    assert_eq!(disturbed["end"], "our");
    assert!(disturbed["by"].to_string().contains("run-queue delay"), "{disturbed}");
}
