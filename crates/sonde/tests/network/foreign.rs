//! `--verify` of measurements with peers of other protocols, and of a search: the data flow is told from what else passes
//! between the two hosts.

use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, counts, document, number, sonde_in};
use crate::verify::{check, verified};

const DATAGRAMS: [&str; 2] = ["requests", "replies"];
const CONNECTION: [&str; 3] = ["handshakes", "octets-sent", "octets-received"];

#[test_case(&["--peer", "netperf", "--tcp"], &CONNECTION, false; "netperf over tcp")]
#[test_case(&["--peer", "netperf", "--tcp", "--connections", "2"], &CONNECTION, true; "netperf over tcp twice")]
#[test_case(&["--peer", "netperf", "--udp"], &DATAGRAMS, false; "netperf over udp")]
#[test_case(&["--peer", "stamp", "--port", "8620"], &DATAGRAMS, false; "stamp")]
#[test_case(&["--peer", "stamp", "--port", "8620", "--window", "4", "--connections", "2"], &DATAGRAMS, true; "stamp in windows")]
fn what_a_foreign_peer_was_sent_crossed_the_cable(words: &[&str], subjects: &[&str], six: bool) {
    let Some(scene) = Scene::beside("a verified measurement with a foreign peer") else { return };
    let _reflector = scene.reflector(&["--netperf", "--stamp", "--stamp-port", "8620"]);
    let target = scene.target(six);
    let fixed = [target.as_str(), "-c", "200", "--warm-up", "20ms", "--timeout", "20s", "--verify"];
    let record = scene.record(&[&fixed[..], words].concat());
    assert_eq!(counts(&record).answered, 200);
    verified(&record, subjects);
    let echoed = &record["wire"]["data_echoed"];
    // Messages of netperf say nothing of themselves.
    let told = if words.contains(&"stamp") { Value::Bool(true) } else { Value::Null };
    assert_eq!(echoed, &told);
}

/// The end of such a test may be a further connection, so these are not compared; what they carried is.
#[test]
fn octets_of_a_connection_each_are_compared() {
    let Some(scene) = Scene::beside("a verified connection for each exchange") else { return };
    let _reflector = scene.reflector(&["--netperf"]);
    let target = scene.target(false);
    let words = ["--peer", "netperf", "--crr", "-c", "100", "--warm-up", "20ms", "--timeout", "20s", "--verify"];
    let record = scene.record(&[&[target.as_str()], &words[..]].concat());
    for (subject, verdict) in [
        ("connections-asked", "not-established"),
        ("handshakes", "not-established"),
        ("octets-sent", "verified"),
        ("octets-received", "verified"),
    ] {
        assert_eq!(check(&record, subject)["verdict"], verdict, "{}", record["wire"]);
    }
}

/// Each probe of a search has its own verdict, and a person is told what they come to.
#[test]
fn every_probe_of_a_search_is_verified() {
    let Some(scene) = Scene::beside("a verified search") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    let words = [
        "load", &target, "--udp", "--find", "loss<1%", "--rate", "500", "--up-to", "1000", "--probe", "300ms",
        "--verify",
    ];
    let output = sonde_in(scene.near()).args(words).args(["--json", "-q"]).output().expect("started");
    let found = document(&output);
    let probes = found["probes"].as_array().unwrap_or_else(|| panic!("{found}"));
    assert!(!probes.is_empty());
    for probe in probes {
        verified(&probe["record"], &DATAGRAMS);
        assert!(number(&probe["record"], "/wire/sent/packets") > 0);
    }
    let output = sonde_in(scene.near()).args(words).arg("-q").output().expect("started");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find(|line| line.trim_start().starts_with("wire ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("verified"), "{line}");
}

#[test]
fn packets_of_a_search_are_not_kept() {
    let words = ["load", "127.0.0.1:1", "--udp", "--find", "loss<1%", "--verify-pcap", "/nowhere/p.pcap"];
    let Some(scene) = Scene::beside("a search whose packets are to be kept") else { return };
    let output = sonde_in(scene.near()).args(words).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("--find makes many"), "{said}");
}
