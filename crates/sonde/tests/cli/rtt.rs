//! Measurements on this machine's loopback: that what is printed is whole, valid and says by which method it was found.

use std::path::Path;

use measure::event::Counts;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// The record of a short measurement with these further words. No machine is so busy that an answer takes as long.
fn record(words: &[&str]) -> Value {
    let words = [&["rtt", "--json", "-q", "--warm-up", "0", "--timeout", "60s"], words].concat();
    document(printed(&mut sonde(&words)).as_bytes())
}

fn counts(record: &Value) -> Counts {
    serde_json::from_value(record["outcome"]["counts"].clone()).unwrap()
}

#[test_case(&["-c", "100"]; "tcp")]
#[test_case(&["-c", "100", "--udp"]; "udp")]
#[test_case(&["-c", "20", "--connect"]; "tcp connect")]
#[test_case(&["-c", "20", "--crr"]; "connect and exchange")]
#[test_case(&["-c", "100", "--window", "4"]; "window of four")]
#[test_case(&["-c", "50", "--every", "1ms"]; "open loop")]
#[test_case(&["-c", "50", "--every", "1ms", "--window", "1"]; "closed loop with a schedule")]
#[test_case(&["-c", "50", "--rate", "1k/s"]; "rate")]
#[test_case(&["-c", "50", "--poisson", "1k/s"]; "poisson")]
#[test_case(&["-c", "50", "--every", "5ms", "--burst", "10"]; "bursts")]
#[test_case(&["-c", "100", "--connections", "4", "--threads", "2"]; "four connections")]
#[test_case(&["-c", "100", "--request-size", "1KiB", "--response-size", "10"]; "sizes")]
#[test_case(&["-c", "100", "--no-stamps"]; "without stamps")]
#[test_case(&["-c", "100", "--dscp", "ef", "--send-buffer", "64KiB", "--nagle"]; "socket options")]
fn a_measurement_is_one_valid_record(words: &[&str]) {
    let record = record(words);
    jsonschema::validate(&logbook::schema::json_schema(), &record).unwrap();
    let counts = counts(&record);
    assert!(counts.balance(), "{counts:?}");
    assert_eq!(counts.answered, words[1].parse::<u64>().unwrap(), "{counts:?}");
    assert_eq!(record["ended"]["how"], "complete");
    assert_eq!(record["target"]["own_reflector"], true);
    assert!(record["instrument"]["clock_read_ns"].as_u64() > Some(0), "{}", record["instrument"]);
    assert_eq!(record["method"], serde_json::to_value(resolved(&record)).unwrap());
}

/// Request of the record, resolved once more: the record's method is nothing else, its seed drawn or given, and a reflector
/// whose wait mode was not asked for has the one it was started with, which here is blocking.
fn resolved(record: &Value) -> measure::method::Method {
    let mut asked: measure::method::Asked = serde_json::from_value(record["asked"].clone()).unwrap();
    asked.seed = record["method"]["seed"].as_u64();
    let mut method = asked.resolve().unwrap();
    if method.needs_reflector() {
        method.peer_waiting = method.peer_waiting.or(Some(measure::method::Waiting::Block));
    }
    method
}

#[test]
fn a_seed_is_drawn_where_none_is_given() {
    let of = |words: &[&str]| record(words)["method"]["seed"].as_u64().unwrap();
    assert_eq!(of(&["-c", "1", "--seed", "7"]), 7);
    assert_ne!(of(&["-c", "1"]), of(&["-c", "1"]));
}

#[test]
fn text_says_the_method_and_that_the_reflector_is_our_own() {
    let assert = sonde(&["rtt", "-c", "1000", "--warm-up", "0", "--timeout", "60s"]).assert().success().stderr("");
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    for word in
        ["TCP over loopback", "1 request in flight", "no pause", "64 B", "own reflector", "1 000 round trips", "0 lost"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn every_file_holds_the_same_record() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["rtt", "-c", "500", "--json", "--warm-up", "0", "--samples", "s.csv"];
    let files = ["-o", "a.json", "-o", "b.jsonl", "-o", "c.txt"];
    let stdout = printed(&mut sonde_in(folder.path(), &[&words[..], &files].concat()));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("a.json"), stdout);
    let lines: Vec<Value> = read("b.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.first().unwrap()["event"], "start");
    assert_eq!(lines.last().unwrap()["event"], "end");
    assert_eq!(lines.last().unwrap()["data"], document(stdout.as_bytes()));
    assert!(read("c.txt").starts_with("p50 "));
    assert_eq!(read("s.csv").lines().count(), 501);
    assert_eq!(shown(folder.path(), "a.json"), shown(folder.path(), "b.jsonl"));
    assert_eq!(shown(folder.path(), "a.json"), read("c.txt"));
}

fn shown(folder: &Path, file: &str) -> String {
    printed(&mut sonde_in(folder, &["show", file]))
}

#[test]
fn events_are_valid_and_add_up() {
    let text = printed(&mut sonde(&["rtt", "--json-lines", "-t", "1.5", "--warm-up", "0", "--connections", "2"]));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = logbook::schema::event_schema();
    for line in &lines {
        jsonschema::validate(&schema, line).unwrap();
    }
    let of_seconds = |line: &Value| line["data"]["counts"]["answered"].as_u64();
    let seconds: u64 = lines.iter().filter(|line| line["event"] == "second").filter_map(of_seconds).sum();
    let end = lines.last().unwrap();
    assert_eq!((&end["event"], end["data"]["outcome"]["counts"]["answered"].as_u64()), (&"end".into(), Some(seconds)));
    assert_eq!(lines[0]["data"]["id"], end["data"]["id"]);
}

#[test_case(&["rtt", "127.0.0.1:1"], 1, "theirs"; "a closed port")]
#[test_case(&["rtt", "no-such-host.invalid"], 2, "ours"; "an unknown host")]
#[test_case(&["rtt", "127.0.0.1:1", "--connect", "--bind", "192.0.2.1"], 2, "ours"; "an address that is not here")]
fn who_cannot_be_measured_is_told_with_the_side(words: &[&str], code: i32, side: &str) {
    let assert = sonde(&[words, &["--json"]].concat()).assert().code(code).stderr(contains("try:   "));
    let document = document(&assert.get_output().stdout);
    assert_eq!(document["error"]["side"], side, "{document}");
    jsonschema::validate(&logbook::schema::error_schema(), &document).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for words in [["-o", "no/a.json"], ["-o", "no/a.jsonl"], ["--samples", "no/s.csv"]] {
        let words = [&["rtt", "-t", "1h"], &words[..]].concat();
        sonde_in(folder.path(), &words).assert().code(2).stdout("").stderr(contains(words[4]));
    }
}

#[test]
fn a_disk_that_fills_up_ends_no_measurement() {
    let folder = tempfile::tempdir().unwrap();
    // A file may grow to 64 KiB and no more, which the kernel says by a signal unless that is ignored.
    let limit = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
    let words = ["rtt", "--json", "-q", "-c", "20000", "--warm-up", "0", "--samples", "s.csv"];
    let prepared = sonde(&words);
    let mut shell = assert_cmd::Command::new("bash");
    shell.args(["-c", limit]).arg(prepared.get_program()).args(words).current_dir(folder.path());
    // The measurement is whole, and so is its record; what was asked for is not.
    let assert = shell.assert().code(2).stderr(contains("exchanges are missing there"));
    let record = document(&assert.get_output().stdout);
    let warnings = record["warnings"].as_array().unwrap();
    let warning = warnings.iter().find(|warning| warning["kind"] == "samples-incomplete").unwrap();
    assert!(warning["missing"].as_u64() > Some(0), "{warning}");
    assert!(warning["reason"].as_str().unwrap().contains("File too large"), "{warning}");
    assert_eq!(counts(&record).answered, 20_000);
}

#[test]
fn strict_is_99_when_the_rate_was_not_reached() {
    let words = ["rtt", "-q", "-t", "0.3", "--rate", "1G/s", "--warm-up", "0"];
    sonde(&words).assert().code(0);
    sonde(&[&words[..], &["--strict"]].concat()).assert().code(99).stdout(contains("Rate not reached: "));
    sonde(&["rtt", "-q", "-c", "100", "--strict"]).assert().code(0);
}

#[test]
fn what_is_shown_must_be_a_record() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), "{}").unwrap();
    let hint = contains("error: a.json: ").and(contains("try:   "));
    sonde_in(folder.path(), &["show", "a.json"]).assert().code(2).stdout("").stderr(hint);
    sonde_in(folder.path(), &["show", "b.json"]).assert().code(2).stderr(contains("b.json: cannot read"));
    sonde_in(folder.path(), &["show", "--json", "a.json", "a.json"]).assert().code(2).stderr(contains("one at a time"));
}

#[test]
fn a_record_comes_through_a_pipe_as_well() {
    let json = printed(&mut sonde(&["rtt", "--json", "-q", "-c", "100", "--warm-up", "0"]));
    let text = printed(sonde(&["show", "-"]).write_stdin(json.clone()));
    assert!(text.contains("100 round trips"), "{text}");
    assert_eq!(printed(sonde(&["show", "--json", "-"]).write_stdin(json.clone())), json);
}

#[test]
fn a_result_is_printed_as_a_table_for_an_issue() {
    let told = printed(&mut sonde(&["rtt", "-c", "20", "--warm-up", "0", "-q", "--export", "markdown"]));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(lines[0].starts_with("| host | method | p50 |") && lines[2].contains("20 requests"), "{told}");
    let survey = printed(&mut sonde(&["look", "127.0.0.1", "-t", "1", "-q", "--export", "markdown"]));
    assert!(
        survey.starts_with("**") && survey.contains("| protocol | answered by | p50 | lost | shift | reason |"),
        "{survey}"
    );
}
