//! A search over this machine's loopback: one document that holds its probes, told again as it was told.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// A short search whose condition any machine meets that lets a program run at all within a second, up to the highest rate
/// allowed.
const EASY: [&str; 12] =
    ["load", "-q", "--warm-up", "0", "--find", "p50<1s,achieved>=1%", "--probe", "1s", "--agree", "1", "--up-to", "2k"];

#[test]
fn a_search_is_one_valid_document_and_its_lines_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&EASY[..], &["--json", "-o", "a.json", "-o", "b.jsonl", "-o", "c.txt"]].concat();
    let stdout = printed(&mut sonde_in(folder.path(), &words));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let found = document(stdout.as_bytes());
    jsonschema::validate(&logbook::schema::search_schema(), &found).unwrap();
    assert_eq!((&found["bracket"]["reached"], &found["ended"]["how"]), (&"highest".into(), &"complete".into()));
    assert_eq!(found["bracket"]["met"]["rate_per_1000s"], 2_000_000);
    assert_eq!((&found["bracket"]["missed"], &found["condition"]), (&Value::Null, &"p50<1s,achieved>=1%".into()));
    let probes = found["probes"].as_array().unwrap();
    assert_eq!(
        probes.iter().map(|probe| probe["rate_per_1000s"].as_u64()).collect::<Vec<_>>(),
        [Some(1_000_000), Some(2_000_000)]
    );
    for probe in probes {
        jsonschema::validate(&logbook::schema::json_schema(), &probe["record"]).unwrap();
    }
    assert_eq!(read("a.json"), stdout);
    let lines: Vec<Value> = read("b.jsonl").lines().map(|line| document(line.as_bytes())).collect();
    let names: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["start", "probe", "probe", "found"]);
    assert_eq!((&lines[1]["data"], &lines[3]["data"]), (&probes[0], &found));
    for line in &lines {
        jsonschema::validate(&logbook::schema::event_schema(), line).unwrap();
    }
    for file in ["a.json", "b.jsonl"] {
        assert_eq!(printed(&mut sonde_in(folder.path(), &["show", file])), read("c.txt"), "{file}");
    }
    assert_eq!(printed(&mut sonde_in(folder.path(), &["show", "--json", "b.jsonl"])), stdout);
}

#[test]
fn text_says_what_was_asked_and_found() {
    let text = printed(&mut sonde(&EASY));
    let said = [
        "UDP to 127.0.0.1",
        "own reflector",
        "open loop with a reply per",
        "At least 2 000 /s met p50<1s, achieved>=1%",
        "1 of 1 agree",
    ];
    for word in said.iter().chain(&["no higher rate was", "2 probes of 1 s", "● p50"]) {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_condition_that_no_rate_meets_is_told_and_strict_is_99() {
    // Nothing answers within a nanosecond.
    let words = ["load", "-q", "--warm-up", "0", "--find", "p50<1ns", "--rate", "20k", "--probe", "60ms"];
    let short = [&words[..], &["--agree", "1", "--probes", "10"]].concat();
    let text = printed(&mut sonde(&short));
    let answer = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(answer.starts_with("No rate met "), "{text}");
    assert!(answer.contains("/s, the lowest that can be judged here, failed:"), "{text}");
    sonde(&[&short[..], &["--strict"]].concat()).assert().code(99);
}

#[test_case(&["--find", "p99"], "`p99` is not a condition"; "no bound")]
#[test_case(&["--find", "p99<1"], "has no unit"; "no unit")]
#[test_case(&["--find", "loss<0.1"], "write the share with its sign"; "no percent sign")]
#[test_case(&["--find", "jitter<1ms"], "unknown quantity `jitter`"; "unknown")]
#[test_case(&["--find", "p99<1ms", "-t", "5"], "cannot be used with"; "a length of the whole")]
#[test_case(&["--find", "p99<1ms", "--every", "1ms"], "cannot be used with"; "an interval")]
#[test_case(&["--find", "p99<1ms", "--samples", "a.csv"], "cannot be used with"; "samples")]
#[test_case(&["--find", "p99<1ms", "--rate", "max"], "max is none"; "no rate to start from")]
#[test_case(&["--find", "p99<1ms", "--rate", "1k", "--up-to", "100"], "starts outside its bounds"; "above the highest")]
#[test_case(&["--find", "p99.999<1ms", "--rate", "100"], "start from "; "too slow for its condition")]
#[test_case(&["--find", "p99<1ms", "--width", "2"], "is not a width"; "a width without its sign")]
#[test_case(&["--find", "p99<1ms", "--probes", "2"], "too few probes"; "too few probes")]
#[test_case(&["--find", "p99<1ms", "--size", "8"], "from 32 to 65507 bytes"; "no method")]
#[test_case(&["--find", "p99<1ms", "--verify-pcap", "a.pcap"], "--verify-pcap keeps the packets of one measurement"; "kept packets")]
#[test_case(&["--verify-snap", "100"], "--verify-pcap <FILE>"; "a bound of no file")]
#[test_case(&["--verify-pcap", "/nowhere/a.pcap"], "cannot write packets"; "a file that cannot be made")]
#[test_case(&["--probe", "1s"], "--find <CONDITION>"; "a probe of nothing")]
fn what_makes_no_search_is_refused_with_its_reason(words: &[&str], said: &str) {
    let error = contains("error: ").and(contains(said));
    sonde(&[&["load"], words].concat()).assert().code(2).stdout("").stderr(error);
}
