//! A box on the way that answers echo requests by what nobody should send: errors of every kind, strangers' replies, cut and
//! broken ones. The host behind it never sees the requests, so what comes is known to the packet.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};

use serde_json::Value;
use test_case::test_case;

use crate::syn::scene::{Scene, counts, document, installed, run, sonde_in};

const FORGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/forger/icmp.py");

/// The box; it ends when it goes out of scope.
struct Forger(Child);

impl Forger {
    fn start(scene: &Scene, mode: &str) -> Self {
        // Its answers go no farther.
        let rules =
            "table inet box { chain forward { type filter hook forward priority 0; icmp type echo-request drop; }; }";
        run(scene.middle(), &["nft", rules]);
        let mut command = scene.middle().command("python3");
        command.args([FORGER, scene.middle().interface(), mode]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Self(child)
    }
}

impl Drop for Forger {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _waited = self.0.wait();
    }
}

fn scene(what: &str, mode: &str) -> Option<(Forger, Scene)> {
    if !installed("nft", "nftables", what) || !installed("python3", "python3", what) {
        return None;
    }
    let scene = Scene::new(what)?;
    Some((Forger::start(&scene, mode), scene))
}

/// Ours, and what its record says.
fn ping(scene: &Scene, words: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let mut command = sonde_in(scene.near());
    command.args(["ping", "-n", "-i", "0.02", "--record"]).arg(&file).args(words).arg(scene.far().v4().to_string());
    let output = command.output().expect("started");
    let text = std::fs::read_to_string(&file).expect("a record");
    (output, serde_json::from_str(&text).expect("JSON"))
}

/// The line of counts without its time.
fn summary(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("packets transmitted"));
    line.and_then(|line| line.split(", time").next()).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// The original's line of counts for the same words, where it is installed.
fn original(scene: &Scene, words: &[&str]) -> Option<String> {
    if !installed("ping", "iputils-ping", "the original against forged packets") {
        return None;
    }
    let host = scene.far().v4().to_string();
    let output = scene.near().command("ping").args(["-n", "-i", "0.02"]).args(words).arg(host).output();
    Some(summary(&output.expect("started")))
}

#[test]
fn errors_of_every_kind_are_counted_by_kind_and_each_ends_its_request() {
    let Some((_forger, scene)) = scene("ICMP errors of every kind", "errors") else { return };
    let (output, record) = ping(&scene, &["-c", "18", "-W", "5"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(summary(&output), "18 packets transmitted, 0 received, +18 errors, 100% packet loss", "{text}");
    let fates = counts(&record);
    assert_eq!((fates.refused, fates.lost, fates.scheduled), (18, 0, 18), "{fates:?}");
    let told = &record["outcome"]["sockets"][0]["icmp_errors"];
    let total: u64 = told.as_object().expect("kinds").values().filter_map(Value::as_u64).sum();
    assert_eq!(total, 18, "{told}");
    for (kind, count) in [
        ("network unreachable", 2),
        ("host unreachable", 3),
        ("protocol unreachable", 1),
        ("port unreachable", 1),
        ("packet too big for a link of 1400 B on the way", 1),
        ("source route failed", 1),
        ("forbidden by a filter", 3),
        ("unreachable for this type of service", 2),
        ("precedence too low", 2),
        ("hop limit (TTL) exceeded on the way", 1),
        ("header field at octet 20 not accepted", 1),
    ] {
        assert_eq!(told[kind], count, "{kind}: {told}");
    }
}

/// Each request has its reply twice, and then comes what is none: another program's reply, cut ones, errors that quote
/// another request, too little of one or nothing, and types that do not exist.
#[test]
fn second_replies_are_told_and_what_is_none_of_ours_changes_nothing() {
    let Some((_forger, scene)) = scene("forged replies", "noise") else { return };
    let words = ["-c", "8", "-W", "5"];
    let (output, record) = ping(&scene, &words);
    let expected = "8 packets transmitted, 8 received, +";
    assert!(summary(&output).starts_with(expected) && summary(&output).contains(" duplicates, 0% packet loss"));
    let fates = counts(&record);
    assert_eq!((fates.answered, fates.refused, fates.corrupt), (8, 0, 0), "{fates:?}");
    // A run ends with its last reply: the second one to that may come too late.
    assert!((7..=8).contains(&fates.duplicated), "{fates:?}");
    assert!(record["outcome"]["sockets"][0]["icmp_errors"].is_null(), "{}", record["outcome"]["sockets"]);
    assert!(original(&scene, &words).is_none_or(|theirs| theirs.starts_with(expected)));
    let target = scene.far().v4().to_string();
    let words =
        ["rtt", &target, "--icmp", "-c", "8", "--every", "20ms", "--warm-up", "0", "--timeout", "5s", "--json", "-q"];
    let native = document(&sonde_in(scene.near()).args(words).output().expect("started"));
    let fates = counts(&native);
    assert_eq!((fates.answered, fates.refused, fates.corrupt), (8, 0, 0), "{fates:?}");
    assert!((7..=8).contains(&fates.duplicated), "{fates:?}");
}

#[test_case("corrupt"; "a wrong checksum")]
#[test_case("elsewhere"; "another address")]
fn replies_that_are_wrong_are_no_answers_to_a_measurement(mode: &str) {
    let Some((_forger, scene)) = scene("replies that are wrong", mode) else { return };
    let target = scene.far().v4().to_string();
    let words =
        ["rtt", &target, "--icmp", "-c", "5", "--every", "20ms", "--warm-up", "0", "--timeout", "1s", "--json", "-q"];
    let record = document(&sonde_in(scene.near()).args(words).output().expect("started"));
    let fates = counts(&record);
    assert_eq!(fates.answered, 0, "{fates:?}");
    let wrong = if mode == "corrupt" { fates.corrupt } else { fates.lost };
    assert_eq!(wrong, 5, "{fates:?}");
}

#[test]
fn errors_end_probes_of_hping3_and_echoes_of_rtt_alike() {
    let Some((_forger, scene)) = scene("ICMP errors for others", "errors") else { return };
    let target = scene.far().v4().to_string();
    let words =
        ["rtt", &target, "--icmp", "-c", "4", "--every", "20ms", "--warm-up", "0", "--timeout", "5s", "--json", "-q"];
    let record = document(&sonde_in(scene.near()).args(words).output().expect("started"));
    let fates = counts(&record);
    assert_eq!((fates.refused, fates.scheduled), (4, 4), "{fates:?}");
    let output = sonde_in(scene.near()).args(["hping3", "-1", "-n", "-c", "3", "-i", "u20000", &target]).output();
    let output = output.expect("started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().filter(|line| line.starts_with("ICMP ")).count(), 3, "{text}");
}

/// Many hosts, none, and ports that do not exist: refused before anything leaves, with a reason.
#[test_case(&["rtt", "--icmp", "-c", "1", "224.0.0.1"]; "echoes to a group")]
#[test_case(&["rtt", "--icmp", "-c", "1", "255.255.255.255"]; "echoes to everybody")]
#[test_case(&["rtt", "--icmp", "-c", "1", "10.181.8.255"]; "echoes to everybody on a network")]
#[test_case(&["rtt", "--icmp", "-c", "1", "ff02::1"]; "echoes to a group of IPv6")]
#[test_case(&["rtt", "--peer", "stamp", "-c", "1", "224.0.0.1"]; "STAMP to a group")]
#[test_case(&["rtt", "--peer", "stamp", "-c", "1", "255.255.255.255"]; "STAMP to everybody")]
#[test_case(&["rtt", "--peer", "stamp", "-c", "1", "10.181.8.255"]; "STAMP to everybody on a network")]
#[test_case(&["rtt", "--peer", "stamp", "-c", "1", "10.181.9.2:0"]; "STAMP to port 0")]
#[test_case(&["rtt", "--peer", "stamp", "-c", "1", "10.181.9.2:65536"]; "STAMP to a port too large")]
#[test_case(&["check", "224.0.0.1"]; "a check of a group")]
#[test_case(&["check", "255.255.255.255"]; "a check of everybody")]
#[test_case(&["check", "10.181.8.255"]; "a check of everybody on a network")]
#[test_case(&["check", "ff02::1"]; "a check of a group of IPv6")]
#[test_case(&["check", "10.181.9.2:0"]; "a check of port 0")]
#[test_case(&["check", "10.181.9.2:65536"]; "a check of a port too large")]
#[test_case(&["ping", "-c", "1", "10.181.8.255"]; "ping of everybody on a network, not asked for")]
fn many_hosts_and_no_ports_are_refused(words: &[&str]) {
    let Some(scene) = Scene::new("targets that are none") else { return };
    let output = sonde_in(scene.near()).args(words).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && !said.is_empty(), "{:?}: {said}", output.status);
}

/// Many may be pinged where that is asked for; nobody needs to answer.
#[test_case(&["-b", "10.181.8.255"]; "everybody on a network")]
#[test_case(&["224.0.0.1"]; "a group")]
fn ping_reaches_many_where_that_is_meant(words: &[&str]) {
    let Some(scene) = Scene::new("ping of many") else { return };
    let interface = scene.near().interface().to_owned();
    let fixed = ["ping", "-c", "2", "-i", "0.1", "-W", "1", "-I", &interface];
    let output = sonde_in(scene.near()).args(fixed).args(words).output().expect("started");
    assert!(summary(&output).starts_with("2 packets transmitted"), "{output:?}");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
}
