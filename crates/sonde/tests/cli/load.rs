//! Loads over this machine's loopback: all that left and came is counted, and what is printed says by which method.

use measure::event::Counts;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// The record of a short load with these further words. No machine is so busy that an answer takes as long, and all of a
/// load has room while nobody reads it.
fn record(words: &[&str]) -> Value {
    let words =
        [&["load", "--json", "-q", "--warm-up", "0", "--timeout", "60s", "--receive-buffer", "4MiB"], words].concat();
    document(printed(&mut sonde(&words)).as_bytes())
}

fn counts(record: &Value) -> Counts {
    serde_json::from_value(record["outcome"]["counts"].clone()).unwrap()
}

const MIX: &str = "64:7,576:4,1400:1";

#[test_case(&["-c", "300", "--rate", "3k"], 300; "a rate")]
#[test_case(&["-c", "300", "--rate", "3k", "--reply-every", "10"], 30; "one in ten")]
#[test_case(&["-c", "300", "--poisson", "3k", "--reply-every", "7"], 42; "poisson")]
#[test_case(&["-c", "300", "--every", "10ms", "--burst", "50", "--reply-every", "10"], 30; "bursts")]
#[test_case(&["-c", "300", "--rate", "3k", "--size", MIX, "--reply-every", "10"], 30; "a mix of sizes")]
#[test_case(&["-c", "300", "--rate", "3k", "--size", "32..1400", "--reply-every", "10"], 30; "a range of sizes")]
#[test_case(&["-c", "300", "--rate", "3k", "--connections", "2", "--threads", "2", "--reply-every", "10"], 30; "connections")]
#[test_case(&["-c", "300", "--every", "10ms", "--burst", "50", "--batch", "16", "--reply-every", "50"], 6; "batches")]
#[test_case(&["-c", "300", "--every", "10ms", "--burst", "50", "--segments", "16", "--reply-every", "50"], 6; "segments")]
#[test_case(&["-c", "300", "--rate", "3k", "--tcp", "--reply-every", "10"], 30; "tcp")]
#[test_case(&["-c", "3000", "--rate", "max", "--tcp", "--reply-every", "100"], 30; "as fast as it can")]
fn a_load_is_one_valid_record_in_which_all_is_counted(words: &[&str], asked: u64) {
    let record = record(words);
    jsonschema::validate(&logbook::schema::json_schema(), &record).unwrap();
    let counts = counts(&record);
    let loss = &record["outcome"]["loss"];
    assert!(counts.balance(), "{counts:?}");
    assert_eq!((counts.messages_sent(), counts.scheduled), (words[1].parse().unwrap(), asked));
    let number = |key: &str| loss[key].as_i64().unwrap_or_else(|| panic!("{key} in {loss}"));
    assert_eq!(number("forward"), counts.messages_sent() as i64 - number("peer_received"));
    assert_eq!(number("reverse"), number("peer_replied") - counts.answered as i64 - counts.late as i64);
    assert_eq!(number("reverse") + number("forward"), 0, "loopback at this rate loses nothing: {loss}");
    assert_eq!((&record["question"], &record["ended"]["how"]), (&"load".into(), &"complete".into()));
    assert_eq!(record["method"]["pattern"], "load");
}

#[test]
fn text_says_the_method_and_what_became_of_all() {
    let words = ["load", "-c", "1000", "--rate", "10k", "--reply-every", "10", "--warm-up", "0", "--timeout", "60s"];
    let text = printed(&mut sonde(&words));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said =
        ["UDP over loopback", "1 reply per 10 messages", "open loop", "10 000", "own reflector", "1 000 messages sent"];
    for word in said.iter().chain(&["100 replies", "offered 10 000 /s", "schedule lag", "service time"]) {
        assert!(flat.contains(word), "{word} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn every_file_holds_the_same_record_and_samples_are_of_requests() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["load", "-c", "500", "--rate", "5k", "--reply-every", "10", "--json", "--warm-up", "0"];
    let files = ["--samples", "s.csv", "-o", "a.json", "-o", "b.jsonl", "-o", "c.txt"];
    let stdout = printed(&mut sonde_in(folder.path(), &[&words[..], &files].concat()));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("a.json"), stdout);
    let last = read("b.jsonl").lines().last().map(|line| document(line.as_bytes())).unwrap();
    assert_eq!((&last["event"], &last["data"]), (&"end".into(), &document(stdout.as_bytes())));
    let samples = read("s.csv");
    let seqs: Vec<&str> = samples.lines().skip(1).filter_map(|line| line.split(',').nth(1)).collect();
    assert_eq!(seqs.len(), 50);
    assert!(seqs.iter().all(|seq| seq.ends_with('9')), "the tenth of each ten: {seqs:?}");
    assert_eq!(printed(&mut sonde_in(folder.path(), &["show", "a.json"])), read("c.txt"));
}

#[test]
fn events_are_valid_and_add_up() {
    let words = ["load", "--json-lines", "-t", "1.5", "--rate", "2k", "--reply-every", "4", "--warm-up", "0"];
    let text = printed(&mut sonde(&words));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = logbook::schema::event_schema();
    for line in &lines {
        jsonschema::validate(&schema, line).unwrap();
    }
    let of_seconds = |line: &Value| line["data"]["counts"]["one_way"].as_u64();
    let seconds: u64 = lines.iter().filter(|line| line["event"] == "second").filter_map(of_seconds).sum();
    let end = lines.last().unwrap();
    assert_eq!(end["data"]["outcome"]["counts"]["one_way"].as_u64(), Some(seconds));
    assert!(seconds > 1_500, "three in four of 3000: {seconds}");
}

#[test]
fn a_rate_that_nobody_reaches_is_told_and_strict_is_99() {
    let words = ["load", "-q", "-t", "0.3", "--rate", "1G/s", "--reply-every", "100", "--warm-up", "0"];
    let text = printed(&mut sonde(&words)).split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["offered 1 000 000 000 /s", "Rate not reached: ", "This host was too slow."] {
        assert!(text.contains(word), "{word} in {text}");
    }
    sonde(&[&words[..], &["--strict"]].concat()).assert().code(99);
}

#[test]
fn a_load_too_short_for_a_request_is_sent_all_the_same() {
    let record = record(&["-c", "50", "--rate", "5k", "--reply-every", "100"]);
    assert_eq!((counts(&record).one_way, counts(&record).scheduled), (50, 0));
    assert_eq!(record["outcome"]["loss"]["peer_received"], 50);
}

#[test_case(&["--reply-every", "0"], "--reply-every 0"; "no replies")]
#[test_case(&["--size", "8"], "from 32 to 65507 bytes"; "below the header")]
#[test_case(&["--size", "65508"], "from 32 to 65507 bytes"; "beyond a datagram")]
#[test_case(&["--size", "0"], "from 32 to 65507 bytes"; "nothing")]
#[test_case(&["--size", "1400..64"], "put the smaller first"; "a range backwards")]
#[test_case(&["--tcp", "--size", "64..1400"], "need UDP"; "sizes over tcp")]
#[test_case(&["--batch", "8"], "raise --reply-every"; "a batch of requests")]
#[test_case(&["--segments", "200", "--reply-every", "300"], "from 2 to 128"; "too many segments")]
#[test_case(&["--rate", "max", "--pace", "spin"], "needs a schedule"; "pacing of nothing")]
#[test_case(&["--response-size", "65"], "amplifies"; "a reply longer than its message")]
fn what_makes_no_load_is_refused_with_its_reason(words: &[&str], said: &str) {
    let error = contains("error: ").and(contains(said));
    sonde(&[&["load"], words].concat()).assert().code(2).stdout("").stderr(error);
}
