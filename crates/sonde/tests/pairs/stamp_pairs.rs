//! STAMP against an implementation that shares nothing with ours: each end of ours with the other end in another
//! language, from the RFC's tables.

pub mod python;

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
    // Padding, a type that nobody has, and a class of service that is longer than the packet.
    let Some(told) = sender("127.0.0.1", server.port, &["--tlv", "800100020505800900010980040009aa"]) else { return };
    assert_eq!(told["complaints"], serde_json::json!([]));
    assert_eq!(told["answers"][7]["own_number"], 7, "a stateless reflector repeats the number");
    assert_eq!(told["answers"][0]["rest"], "000100020505800900010940040009aa");
}

/// Zeros of so many octets, in hexadecimal digits.
fn zeros(octets: usize) -> String {
    "00".repeat(octets)
}

#[test]
fn another_sender_is_told_what_it_asks_by_parts() {
    let server = python::Serve::start("127.0.0.1", &[]);
    let location = format!("8002002c{}80070010{}80040010{}", zeros(4), zeros(16), zeros(16));
    let rest = format!("80040004b80000008005000c00000007{}80070010{}", zeros(8), zeros(16));
    let Some(told) = sender("127.0.0.1", server.port, &["--tlv", &format!("{location}{rest}")]) else { return };
    assert_eq!(told["complaints"], serde_json::json!([]));
    let answers = told["answers"].as_array().unwrap();
    let address = format!("7f000001{}", zeros(12));
    for (place, answer) in answers.iter().enumerate() {
        let back = answer["rest"].as_str().unwrap();
        assert_eq!(back[..12], format!("0002002c{:04x}", server.port), "{back}");
        assert_eq!(back[16..96], format!("00080010{address}00050010{address}"), "{back}");
        let count = format!("{:08x}", place + 1);
        assert_eq!(back[96..144], format!("00040004b80000000005000c00000007{count}{count}"), "{back}");
        let before = place.checked_sub(1);
        assert_eq!(back[144..160], format!("00070010{:08x}", before.unwrap_or(0)), "{back}");
        let (at, mode) = (&back[160..176], &back[176..]);
        assert_eq!((at == zeros(8), mode == "02000000"), (before.is_none(), before.is_some()), "{back}");
        assert_eq!(answer["tos"], 46 << 2, "marked as it was asked for");
    }
    assert_eq!(answers.len(), 20);
}

#[test_case("127.0.0.1", 184; "over IPv4")]
#[test_case("::1", 0; "over IPv6")]
fn our_sender_reads_parts_of_another_reflector(host: &'static str, tos: u8) {
    let Some(reflector) = Reflector::start(host, &["--parts", "--stateful"]) else { return };
    let marked = tos.to_string();
    let document = record(&reflector, &["--stamp-ask", "follow-up,class,location,counts", "--tos", &marked]);
    let both = &document["outcome"]["one_way"]["extensions"];
    assert_eq!((&both["unknown"], &both["malformed"]), (&Value::Null, &Value::Null), "{both}");
    let class = serde_json::json!({ "code_point": tos >> 2, "marks": 0, "refused": false });
    assert_eq!(both["class"], class, "{both}");
    let location = &both["location"];
    let port = serde_json::json!(reflector.port);
    assert_eq!((&location["from_address"], &location["to_address"]), (&host.into(), &host.into()), "{both}");
    assert_eq!(location["to_port"], port);
    let told = reflector.end();
    assert_eq!(told["complaints"], serde_json::json!([]));
    assert_eq!(both["counters"]["answered"], told["packets"], "{both}");
    let (count, later) = (both["follow_up"]["count"].as_u64(), both["follow_up"]["max_later_ns"].as_i64());
    assert!(count >= Some(99) && later.is_some_and(|later| (999..=1_001).contains(&later)), "{both}");
}

#[test]
fn who_knows_no_parts_is_told_of() {
    let Some(reflector) = Reflector::start("127.0.0.1", &[]) else { return };
    let document = record(&reflector, &["--stamp-ask", "class"]);
    drop(reflector);
    let both = &document["outcome"]["one_way"]["extensions"];
    assert_eq!(both, &serde_json::json!({ "asked": ["class_of_service"], "unknown": ["class_of_service"] }));
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
    let asks = ["rtt", "127.0.0.1", "--peer", "stamp", "--stamp-key", path, "--stamp-ask", "class"];
    sonde(&asks).assert().code(2).stderr(contains("does not protect"));
    let over_tcp = ["rtt", "127.0.0.1", "--peer", "stamp", "--tcp"];
    sonde(&over_tcp).assert().failure().stderr(contains("UDP"));
}
