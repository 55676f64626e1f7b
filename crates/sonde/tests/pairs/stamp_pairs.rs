//! STAMP against an implementation that shares nothing with ours: each end of ours with the other end in another
//! language, from the RFC's tables.

mod python;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use test_case::test_case;

use python::{Reflector, sender};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// `sonde` without the environment of whoever runs the tests.
fn sonde(words: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("sonde");
    for name in ["SONDE_KEY_FILE", "NOTIFY_SOCKET", "NO_COLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "LC_ALL", "LANG"] {
        command.env_remove(name);
    }
    command.args(words);
    command
}

/// A file that nobody else can read.
fn secret(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

fn key_file(folder: &Path) -> String {
    let path = folder.join("stamp.key");
    secret(&path, &format!("# for tests\n{KEY}\n"));
    path.to_str().unwrap().to_owned()
}

/// The record of a measurement of so many packets with `reflector`.
fn record(reflector: &Reflector, words: &[&str]) -> Value {
    let port = reflector.port.to_string();
    let fixed =
        ["rtt", reflector.host, "--port", &port, "--peer", "stamp", "-c", "100", "--timeout", "20s", "--json", "-q"];
    let output = sonde(&[&fixed, words].concat()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::validate(&logbook::schema::json_schema(), &document).unwrap();
    assert_eq!(document["outcome"]["counts"]["answered"], 100, "{words:?}");
    assert_eq!((&document["peer"]["kind"], &document["peer"]["protocol"]), (&"foreign".into(), &"stamp".into()));
    document
}

/// The offset of a record, and by how much it may be wrong.
fn offset(document: &Value) -> (i64, i64) {
    let clock = &document["outcome"]["one_way"]["clock"];
    let last = clock["windows"].as_array().and_then(|windows| windows.last()).unwrap_or_else(|| panic!("{document}"));
    (last["offset_ns"].as_i64().unwrap(), clock["bound_ns"].as_i64().unwrap())
}

#[test_case("127.0.0.1", &[], &[]; "plain")]
#[test_case("::1", &["--stateful"], &[]; "numbering, over v6")]
#[test_case("127.0.0.1", &["--ptp"], &["--every", "1ms"]; "by ptp, open loop")]
#[test_case("127.0.0.1", &["--twamp"], &[]; "twamp light")]
#[test_case("127.0.0.1", &[], &["--size", "1kB", "--window", "3"]; "padded, three at once")]
#[test_case("127.0.0.1", &["--key", KEY], &["--stamp-key", "KEY"]; "authenticated")]
#[test_case("127.0.0.1", &["--key", KEY, "--stateful", "--ptp"], &["--stamp-key", "KEY", "--size", "300"]; "authenticated, all at once")]
fn our_sender_measures_with_another_reflector(host: &'static str, theirs: &[&str], ours: &[&str]) {
    let planted: i64 = -123_456_789;
    let Some(reflector) = Reflector::start(host, &[theirs, &["--offset", &planted.to_string()]].concat()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path());
    let ours: Vec<&str> = ours.iter().map(|word| if *word == "KEY" { key.as_str() } else { word }).collect();
    let document = record(&reflector, &ours);
    let (seen, bound) = offset(&document);
    assert!(seen.abs_diff(planted) <= bound.unsigned_abs() + 1, "{seen} ± {bound}, not {planted}");
    let both = &document["outcome"]["one_way"];
    assert_eq!(both["counts_answers"], theirs.contains(&"--stateful"), "{both}");
    // 100 at 2^(12 - 32) s.
    assert_eq!(both["theirs"], serde_json::json!({ "synchronised": true, "error_ns": 95_368 }));
    assert_eq!(both["time_to_live"], 64);
    let told = reflector.end();
    assert_eq!(told["complaints"], serde_json::json!([]));
    assert!(told["packets"].as_u64().unwrap() >= 102, "{told}");
}

#[test_case("127.0.0.1", &[], 44; "plain")]
#[test_case("::1", &["--ptp"], 44; "by ptp, over v6")]
#[test_case("127.0.0.1", &["--length", "14"], 14; "the shortest of twamp light")]
#[test_case("127.0.0.1", &["--length", "41"], 41; "of twamp light, as long as its answers")]
#[test_case("127.0.0.1", &["--length", "1400", "--session", "0"], 1_400; "padded by zeros, without identifier")]
#[test_case("127.0.0.1", &["--key", KEY], 112; "authenticated")]
#[test_case("127.0.0.1", &["--key", KEY, "--ptp", "--length", "200"], 200; "authenticated, by ptp, padded")]
fn another_sender_measures_with_our_reflector(host: &str, theirs: &[&str], length: usize) {
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path());
    let ours: &[&str] = if theirs.contains(&"--key") { &["--stamp-key", &key] } else { &[] };
    let server = python::Serve::start(host, &[ours, &["--test-clock-offset", "1h"]].concat());
    let Some(told) = sender(host, server.port, theirs) else { return };
    assert_eq!(told["complaints"], serde_json::json!([]));
    let answers = told["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 20);
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer["own_number"], number, "it numbers its answers");
        let came = answer["came_after_ns"].as_i64().unwrap();
        let planted = 3_600_000_000_000;
        let left = answer["left_after_ns"].as_i64().unwrap() - planted;
        assert!((-1..=came).contains(&left), "{answer}");
        if length >= 24 {
            let received = answer["received_after_ns"].as_i64().unwrap() - planted;
            assert!((-1..=left).contains(&received), "{answer}");
        }
        if length > 40 {
            assert_eq!(answer["ttl"], 64);
        }
    }
}

#[test]
fn what_follows_a_packet_comes_back_with_what_was_made_of_it() {
    let server = python::Serve::start("127.0.0.1", &["--stamp-stateless"]);
    // Padding, a location, and a class of service that is longer than the packet.
    let Some(told) = sender("127.0.0.1", server.port, &["--tlv", "800100020505800200010980040009aa"]) else { return };
    assert_eq!(told["complaints"], serde_json::json!([]));
    assert_eq!(told["answers"][7]["own_number"], 7, "a stateless reflector repeats the number");
    assert_eq!(told["answers"][0]["rest"], "0001000205058002000109c0040009aa");
}

#[test]
fn who_has_not_the_key_is_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path());
    let server = python::Serve::start("127.0.0.1", &["--stamp-key", &key]);
    let quick = ["--count", "1", "--patience", "0.5"];
    let other = KEY.replace('0', "1");
    for words in [&quick[..], &[&quick[..], &["--key", &other]].concat()] {
        let Some(told) = sender("127.0.0.1", server.port, words) else { return };
        assert_eq!(told["answers"], serde_json::json!([]), "{words:?}");
    }
}

#[test]
fn both_ends_of_ours_agree_on_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path());
    let server = python::Serve::start("127.0.0.1", &["--stamp-key", &key, "--test-clock-offset", "-5ms"]);
    let port = server.port.to_string();
    let words = ["rtt", "127.0.0.1", "--port", &port, "--peer", "stamp", "--stamp-key", &key, "-c", "300", "-q"];
    let output = sonde(&words).assert().success();
    output.stdout(
        contains("UDP to 127.0.0.1")
            .and(contains("112 B"))
            .and(contains("One way: "))
            .and(contains("losses have a direction")),
    );
}

#[test]
fn a_key_that_is_none_and_words_that_do_not_go_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.key");
    secret(&path, "0011");
    let path = path.to_str().unwrap();
    sonde(&["rtt", "127.0.0.1", "--peer", "stamp", "--stamp-key", path]).assert().code(2).stderr(contains("2 octets"));
    sonde(&["serve", "--stamp", "--stamp-key", path, "--port", "0"]).assert().code(2).stderr(contains("2 octets"));
    let without = ["rtt", "127.0.0.1", "--peer", "sonde", "--stamp-key", path];
    sonde(&without).assert().code(2).stderr(contains("--peer stamp"));
    let over_tcp = ["rtt", "127.0.0.1", "--peer", "stamp", "--tcp"];
    sonde(&over_tcp).assert().failure().stderr(contains("UDP"));
}
