//! `--verify`: what the wire says of a measurement, where somebody beside it knows what happened.

use std::fs;
use std::process::Stdio;

use lab::namespace::Namespace;
use rustix::process::geteuid;
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Reflector, Scene, counts, document, installed, let_ping, number, run, sonde_in};

/// The comparison of this subject.
pub fn check<'a>(record: &'a Value, subject: &str) -> &'a Value {
    let checks = record["wire"]["checks"].as_array().unwrap_or_else(|| panic!("{}", record["wire"]));
    checks.iter().find(|check| check["subject"] == subject).unwrap_or_else(|| panic!("{checks:?}"))
}

/// That all of these were verified, and no other comparison was made.
pub fn verified(record: &Value, subjects: &[&str]) {
    let wire = &record["wire"];
    assert_eq!(wire["checks"].as_array().map(Vec::len), Some(subjects.len()), "{wire}");
    for subject in subjects {
        let check = check(record, subject);
        assert_eq!(check["verdict"], "verified", "{subject}: {wire} {}", record["outcome"]["counts"]);
        assert_eq!(check["counted"], check["seen"]);
    }
    assert_eq!(wire["capture"]["dropped"], 0);
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().all(|warning| warning["kind"] != "wire-contradicts"), "{warnings:?}");
}

const CONNECTION: [&str; 3] = ["handshakes", "octets-sent", "octets-received"];
const DATAGRAMS: [&str; 2] = ["requests", "replies"];

#[test_case(&["--udp"], &DATAGRAMS, false; "udp v4")]
#[test_case(&["--udp", "--window", "8", "--connections", "3"], &DATAGRAMS, true; "udp v6 windows")]
#[test_case(&["--udp", "--size", "4000"], &DATAGRAMS, false; "udp in fragments")]
#[test_case(&["--tcp"], &CONNECTION, false; "tcp v4")]
#[test_case(&["--tcp", "--size", "1", "--connections", "2"], &CONNECTION, true; "tcp v6 without a header")]
#[test_case(&["--tcp", "--size", "20000"], &CONNECTION, false; "tcp in several segments")]
#[test_case(&["--icmp"], &DATAGRAMS, false; "icmp v4")]
#[test_case(&["--icmp"], &DATAGRAMS, true; "icmp v6")]
#[test_case(&["--connect"], &["connections-asked", "handshakes"], false; "handshakes v4")]
#[test_case(&["--connect"], &["connections-asked", "handshakes"], true; "handshakes v6")]
#[test_case(&["--crr"], &["connections-asked", "handshakes", "octets-sent", "octets-received"], false; "a connection each")]
fn what_was_counted_crossed_the_cable(carrier: &[&str], subjects: &[&str], six: bool) {
    let Some(scene) = Scene::beside("a verified measurement") else { return };
    let _reflector = scene.reflector(&[]);
    let_ping(scene.near(), "0 2147483647");
    let target = scene.target(six);
    let words = [&[&target, "-c", "300", "--warm-up", "20ms", "--verify"], carrier].concat();
    let record = scene.record(&words);
    verified(&record, subjects);
    assert_eq!(record["wire"]["interface"], scene.near().interface());
    assert_eq!(number(&record, "/wire/sent/elsewhere") + number(&record, "/wire/received/elsewhere"), 0);
    assert!(number(&record, "/wire/times/count") >= 250, "{}", record["wire"]);
    // A measured time contains the one that the capture saw; where each exchange has a connection only the handshake is
    // timed.
    let less = record["wire"]["times"]["application_less_p50_ns"].as_i64();
    assert!(if carrier == ["--crr"] { less.is_none() } else { less > Some(0) }, "{}", record["wire"]);
}

#[test_case(&["--udp"], &DATAGRAMS; "udp")]
#[test_case(&["--tcp"], &CONNECTION; "tcp")]
#[test_case(&["--connect"], &["connections-asked", "handshakes"]; "handshakes")]
fn over_loopback_each_packet_counts_once(carrier: &[&str], subjects: &[&str]) {
    let Some(scene) = Scene::beside("a verified measurement over loopback") else { return };
    let own: &[&str] = if carrier == ["--connect"] { &["127.0.0.1"] } else { &[] };
    let _reflector = (!own.is_empty()).then(|| Reflector::start(scene.near(), &[]));
    let record = scene.record(&[own, &["-c", "300", "--warm-up", "20ms", "--verify"], carrier].concat());
    verified(&record, subjects);
    assert_eq!(record["wire"]["interface"], "lo");
}

#[test]
fn echoes_over_loopback_count_once() {
    let Some(scene) = Scene::beside("verified echoes over loopback") else { return };
    for address in ["127.0.0.1", "::1"] {
        let record = scene.record(&[address, "--icmp", "-c", "200", "--warm-up", "20ms", "--verify"]);
        verified(&record, &DATAGRAMS);
    }
}

#[test_case(&["load", "--udp", "--rate", "2k", "--reply-every", "10", "-c", "600"], &DATAGRAMS; "a load")]
#[test_case(&["load", "--udp", "--rate", "20k", "--segments", "16", "--reply-every", "100", "-c", "3000"], &DATAGRAMS; "in segments")]
#[test_case(&["load", "--tcp", "--rate", "2k", "--reply-every", "10", "-c", "600"], &CONNECTION; "a load over tcp")]
#[test_case(&["throughput", "--bytes", "20MB"], &CONNECTION; "a stream")]
#[test_case(&["throughput", "--reverse", "-P", "2", "-t", "300ms", "--rate", "400M"], &CONNECTION; "streams from there")]
#[test_case(&["throughput", "--udp", "--rate", "50M", "-t", "500ms", "--no-test"], &["requests"]; "a stream of datagrams")]
#[test_case(&["throughput", "--udp", "--reverse", "--rate", "50M", "-t", "500ms", "--no-test"], &["replies"]; "datagrams from there")]
fn every_command_that_measures_is_verified(words: &[&str], subjects: &[&str]) {
    let Some(scene) = Scene::beside("a verified command") else { return };
    let _reflector = scene.reflector(&[]);
    let mut command = sonde_in(scene.near());
    command.arg(words[0]).arg(scene.target(false)).args(&words[1..]).args(["--verify", "--json", "-q"]);
    let output = command.output().expect("started");
    let record = document(&output);
    assert!(output.status.success(), "{} {record}", String::from_utf8_lossy(&output.stderr));
    verified(&record, subjects);
}

#[test]
fn a_replay_is_verified() {
    let Some(scene) = Scene::beside("a verified replay") else { return };
    let _reflector = scene.reflector(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.csv");
    let lines: Vec<String> = (0..80).map(|n| format!("{}us,{}", 1_000 + n * 500, 40 + n * 11)).collect();
    fs::write(&file, lines.join("\n")).expect("written");
    let mut command = sonde_in(scene.near());
    command.args(["replay", &scene.target(false)]).arg(&file).args(["--udp", "--verify", "--json", "-q"]);
    let record = document(&command.output().expect("started"));
    verified(&record, &DATAGRAMS);
    assert_eq!(check(&record, "requests")["seen"], 80);
}

/// Has `namespace` drop each tenth packet that matches, at this hook, and count it.
fn drop_each_tenth(namespace: &Namespace, hook: &str, matching: &str) {
    let rules = format!(
        "table inet truth {{ counter dropped {{ }}
         chain c {{ type filter hook {hook} priority 0; {matching} numgen inc mod 10 == 0 counter name dropped drop; }}; }}"
    );
    run(namespace, &["nft", &rules]);
}

pub fn dropped(namespace: &Namespace) -> u64 {
    let text = run(namespace, &["nft", "list", "counter", "inet", "truth", "dropped"]);
    let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// Recorded datagrams of the native protocol alone: a flag of octet 25, behind the 8 of UDP, marks the others.
const RECORDED: &str = "@th,264,8 & 4 == 0";

fn scene(what: &str) -> Option<Scene> {
    installed("nft", "nftables", what).then(|| Scene::beside(what))?
}

#[test]
fn what_a_rule_of_this_host_takes_did_not_cross_the_interface() {
    let Some(scene) = scene("datagrams that do not leave") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.near(), "output", &format!("udp dport 7663 {RECORDED}"));
    // A socket is told of a datagram that a rule of its own host drops: it was not sent, and is not counted as sent.
    let target = scene.target(false);
    let words = [&target, "--udp", "-c", "200", "--every", "1ms", "--timeout", "2s", "--verify"];
    let record = scene.record(&words);
    let fates = counts(&record);
    let taken = dropped(scene.near());
    assert_eq!((taken, fates.scheduled), (20, 200));
    assert_eq!(check(&record, "requests")["seen"], 180, "{}", record["wire"]);
    assert_eq!(fates.answered, 180);
    let verdict = if fates.send_failed == 20 { "verified" } else { "contradicted" };
    assert_eq!(check(&record, "requests")["verdict"], verdict, "{fates:?} {}", record["wire"]);
}

#[test]
fn replies_that_came_and_did_not_reach_the_program_are_told_and_strict_minds() {
    let Some(scene) = scene("replies that this host drops") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.near(), "input", &format!("udp sport 7663 {RECORDED}"));
    let target = scene.target(false);
    let words = [&target, "--udp", "-c", "200", "--every", "1ms", "--timeout", "2s", "--verify", "--strict"];
    let output = scene.rtt(&words);
    assert_eq!(output.status.code(), Some(99));
    let record = document(&output);
    let replies = check(&record, "replies");
    assert_eq!((dropped(scene.near()), counts(&record).lost), (20, 20));
    assert_eq!(
        (&replies["verdict"], &replies["counted"], &replies["seen"]),
        (&"contradicted".into(), &180.into(), &200.into())
    );
    assert_eq!(check(&record, "requests")["verdict"], "verified");
    let warnings = record["warnings"].as_array().expect("warnings");
    let told = warnings.iter().find(|warning| warning["kind"] == "wire-contradicts").expect("told");
    assert_eq!((&told["counted"], &told["seen"]), (&180.into(), &200.into()));
}

#[test]
fn losses_of_the_path_contradict_nothing() {
    let Some(scene) = scene("losses beyond the interface") else { return };
    let _reflector = scene.reflector(&[]);
    drop_each_tenth(scene.far(), "input", &format!("udp dport 7663 {RECORDED}"));
    let target = scene.target(false);
    let record = scene.record(&[&target, "--udp", "-c", "200", "--every", "1ms", "--timeout", "2s", "--verify"]);
    verified(&record, &DATAGRAMS);
    assert_eq!(
        (check(&record, "requests")["seen"].as_u64(), check(&record, "replies")["seen"].as_u64()),
        (Some(200), Some(180))
    );
}

/// Segments that the far side drops behind our interface are sent again: each of them is seen twice. A segment that comes
/// again though it was not lost is reported by the kernel as well.
#[test]
fn segments_sent_again_are_counted() {
    let Some(scene) = scene("segments sent again") else { return };
    let _reflector = scene.reflector(&[]);
    // The greeting of a connection passes: only what has 200 bytes is dropped, of which each exchange has one.
    drop_each_tenth(scene.far(), "input", "tcp dport 7663 meta length 252");
    let target = scene.target(false);
    let words = [&target, "--tcp", "--size", "200", "-c", "50", "--warm-up", "0", "--timeout", "30s", "--verify"];
    let record = scene.record(&words);
    verified(&record, &CONNECTION);
    let (taken, again) = (dropped(scene.far()), number(&record, "/wire/sent/repeated_segments"));
    assert!(taken >= 5, "{taken}");
    assert_eq!(again, number(&record, "/outcome/sockets/0/retransmitted"), "{}", record["wire"]);
    assert!(again >= taken, "{again} {taken}");
    assert_eq!(number(&record, "/wire/sent/repeated_bytes"), 200 * again);
    // The same on the way in: our host takes them after they were seen.
    run(scene.far(), &["nft", "delete table inet truth"]);
    drop_each_tenth(scene.near(), "input", "tcp sport 7663 meta length 252");
    let record = scene.record(&words);
    verified(&record, &CONNECTION);
    let (taken, again) = (dropped(scene.near()), number(&record, "/wire/received/repeated_segments"));
    assert!(taken >= 5 && again >= taken, "{taken} {again}");
}

#[test]
fn answers_by_another_interface_are_named() {
    let Some(scene) = scene("answers by another interface") else { return };
    let _reflector = scene.reflector(&[]);
    let (near, far) = (scene.near(), scene.far());
    // A second cable: what the far side sends to our first address takes it.
    run(near, &["ip", "link", "add", "second", "type", "veth", "peer", "name", "second", "netns", far.name()]);
    for (end, address) in [(near, "10.182.0.1/24"), (far, "10.182.0.2/24")] {
        run(end, &["ip", "address", "add", address, "dev", "second"]);
        run(end, &["ip", "link", "set", "second", "up"]);
        run(end, &["sh", "-c", "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done"]);
    }
    run(far, &["ip", "route", "add", &format!("{}/32", near.v4()), "via", "10.182.0.1", "dev", "second"]);
    let record = scene.record(&[&scene.target(false), "--udp", "-c", "50", "--warm-up", "0", "--verify"]);
    assert_eq!(counts(&record).answered, 50);
    assert_eq!(check(&record, "requests")["verdict"], "verified");
    let replies = check(&record, "replies");
    assert_eq!((&replies["verdict"], &replies["seen"]), (&"contradicted".into(), &0.into()));
    assert!(replies["reason"].as_str().is_some_and(|reason| reason.contains("passed second")), "{replies}");
}

#[test]
fn kept_packets_are_read_by_tcpdump_and_bounds_hold() {
    let what = "packets read by tcpdump";
    if !installed("tcpdump", "tcpdump", what) {
        return;
    }
    let Some(scene) = Scene::beside(what) else { return };
    let _reflector = scene.reflector(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kept.pcap").to_str().expect("a path in UTF-8").to_owned();
    let target = scene.target(false);
    let measure = |more: &[&str]| {
        let words = [&target, "--udp", "-c", "100", "--warm-up", "0", "--no-stamps", "--verify-pcap", &file];
        scene.record(&[&words[..], more].concat())
    };
    let read = || {
        let output =
            scene.near().command("tcpdump").args(["-nn", "-tt", "--nano", "-r", &file]).output().expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let record = measure(&[]);
    verified(&record, &DATAGRAMS);
    let lines = read();
    // The first datagrams of a flow, which are no requests, are packets too.
    assert_eq!(lines.len() as u64, number(&record, "/wire/capture/kept"));
    assert_eq!(lines.len() as u64, number(&record, "/wire/capture/packets"));
    assert!(lines.iter().filter(|line| line.contains(&format!("> {target}.7663: UDP"))).count() >= 100, "{lines:?}");
    let record = measure(&["--verify-packets", "7"]);
    assert_eq!((read().len(), number(&record, "/wire/capture/kept")), (7, 7));
    assert_eq!(number(&record, "/wire/capture/left_out") + 7, number(&record, "/wire/capture/packets"));
    measure(&["--verify-size", "1000", "--verify-snap", "64"]);
    assert!(fs::metadata(&file).expect("there").len() <= 1_000);
    assert_eq!(read().len(), (1_000 - 24) / (32 + 64));
}

#[test]
fn without_the_capability_it_is_refused_with_its_name_and_what_still_works() {
    let what = "watching the wire without privileges";
    if !installed("setpriv", "util-linux", what) || !geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: only root can be without one"));
        return;
    }
    let Some(scene) = Scene::beside(what) else { return };
    let _reflector = scene.reflector(&[]);
    let measure = |words: &[&str]| {
        let mut command = scene.near().command("setpriv");
        command.args(["--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]);
        command.arg(assert_cmd::cargo::cargo_bin!("sonde")).args(["rtt", &scene.target(false), "--json", "-q"]);
        command
            .args(["--udp", "-c", "20", "--warm-up", "0"])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .expect("started")
    };
    let output = measure(&["--verify"]);
    assert_eq!(output.status.code(), Some(2), "a permission is missing: {}", String::from_utf8_lossy(&output.stdout));
    let error = &document(&output)["error"];
    assert_eq!(error["side"], "ours", "{error}");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("CAP_NET_RAW") && hint.contains("remove --verify"), "{hint}");
    assert!(measure(&[]).status.success());
}

#[test]
fn a_person_reads_it_in_a_few_lines() {
    let Some(scene) = Scene::beside("the report of a verified measurement") else { return };
    let _reflector = scene.reflector(&[]);
    let mut command = sonde_in(scene.near());
    command.args(["rtt", &scene.target(false), "-c", "100", "--warm-up", "0", "--verify", "-q"]);
    let output = command.output().expect("started");
    let text = String::from_utf8(output.stdout).expect("text");
    let start = text.lines().position(|line| line.starts_with("  on the wire")).unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<&str> = text.lines().skip(start).take_while(|line| !line.is_empty()).collect();
    assert!((2..=6).contains(&lines.len()) && lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
    assert!(lines[0].contains("verified on") && lines[0].contains("1 handshake,"), "{lines:#?}");
}
