//! Measurements made again from their records, over this machine's loopback; and what cannot be made again.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use test_case::test_case;

use crate::{document, printed, sonde_in};

fn stored(folder: &Path, words: &[&str]) -> Value {
    printed(&mut sonde_in(folder, &[words, &["-q", "-o", "old.json"]].concat()));
    document(&std::fs::read(folder.join("old.json")).unwrap())
}

fn short(folder: &Path) -> Value {
    stored(folder, &["rtt", "-t", "200ms", "--warm-up", "0", "--no-stamps", "--size", "200"])
}

#[test]
fn a_measurement_is_made_again_and_what_differs_of_the_hosts_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = short(folder.path());
    record["ours"]["kernel"] = json!("4.19.0-old");
    std::fs::write(folder.path().join("old.json"), record.to_string()).unwrap();
    let words = ["rerun", "old.json", "--json", "-o", "new.txt"];
    let found = document(&sonde_in(folder.path(), &words).assert().code(0).get_output().stdout.clone());
    jsonschema::validate(&logbook::schema::study_schema(), &found).unwrap();
    assert_eq!(found["rerun"]["of"], json!([record["id"]]));
    let trials = found["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2);
    // A seed that was drawn is drawn anew.
    let method = |trial: &Value| {
        let mut method = trial["record"]["method"].clone();
        method["seed"] = json!(0);
        method
    };
    assert_eq!(method(&trials[0]), method(&trials[1]), "the record's own method");
    assert_ne!(trials[0]["record"]["id"], trials[1]["record"]["id"]);
    let text = std::fs::read_to_string(folder.path().join("new.txt")).unwrap();
    let (kernel, verdict) = (text.find("this host: kernel: 4.19.0-old"), text.find("Too few runs"));
    assert!(kernel.zip(verdict).is_some_and(|(kernel, verdict)| kernel < verdict), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["measured at different times", "1+1 runs do not show how much", "it takes 5 records and 5 runs"] {
        assert!(text.contains(said), "{said} in {text}");
    }
}

#[test]
fn several_runs_are_made_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    short(folder.path());
    let output = printed(&mut sonde_in(folder.path(), &["rerun", "old.json", "--runs", "3", "-q", "--json"]));
    let found = document(output.as_bytes());
    let again = found["trials"].as_array().unwrap().iter().filter(|trial| trial["setting"] == 1).count();
    assert_eq!((again, &found["blocks"]), (3, &json!(3)));
}

#[test]
fn a_peer_that_is_gone_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = short(folder.path());
    let peer = format!("127.0.0.1:{}", testbed::port::free());
    record["command"].as_array_mut().unwrap().insert(2, json!(peer));
    std::fs::write(folder.path().join("old.json"), record.to_string()).unwrap();
    let failed = sonde_in(folder.path(), &["rerun", "old.json"]).assert().code(1).stdout("");
    failed.stderr(contains("measured again: ").and(contains(peer)));
}

#[test]
fn a_key_that_no_record_holds_is_said_to_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = short(folder.path());
    record["peer"]["authentication"] = json!("pre-shared");
    std::fs::write(folder.path().join("old.json"), record.to_string()).unwrap();
    let failed = sonde_in(folder.path(), &["rerun", "old.json"]).assert().code(2);
    failed.stderr(contains("with a key, which no record holds").and(contains("SONDE_KEY_FILE")));
}

#[test_case(json!(["sonde", "ping", "-c", "1", "127.0.0.1"]), "in another program's form"; "another program's")]
#[test_case(json!(["ping", "-c", "1", "127.0.0.1"]), "in another program's form"; "by another program's name")]
#[test_case(json!(["sonde", "replay", "x.csv", "db1"]), "`sonde replay`"; "a recording")]
#[test_case(json!(["sonde", "rtt", "--until", "p99"]), "cannot be made again"; "no stated length")]
#[test_case(json!(["sonde", "rtt", "--nonsense"]), "unknown option"; "an option of another version")]
#[test_case(json!([]), "does not say by which command"; "no command")]
fn what_cannot_be_made_again_is_refused(command: Value, said: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut record = short(folder.path());
    record["command"] = command;
    std::fs::write(folder.path().join("old.json"), record.to_string()).unwrap();
    let failed = sonde_in(folder.path(), &["rerun", "old.json"]).assert().code(2).stdout("");
    failed.stderr(contains(said).and(contains("old.json")).and(contains("try:")));
}

/// Else whoever hands on a record could have any file of its reader sent to him.
#[test]
fn files_that_a_record_names_are_sent_where_that_is_asked_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "told to nobody").unwrap();
    let mut record = short(folder.path());
    let peer = format!("http://127.0.0.1:{}/", testbed::port::free());
    record["command"] = json!(["sonde", "rtt", peer, "--body", "secret", "-c", "1"]);
    std::fs::write(folder.path().join("old.json"), record.to_string()).unwrap();
    let refused = sonde_in(folder.path(), &["rerun", "old.json"]).assert().code(2).stdout("");
    let said = format!("old.json: its command would send the file secret of this host to {peer} (--body)");
    refused.stderr(contains(said).and(contains("--send-files")));
    // Then it is tried, and nobody is there.
    let tried = sonde_in(folder.path(), &["rerun", "old.json", "--send-files"]).assert().code(1);
    tried.stderr(contains("measured again: "));
}

#[test]
fn documents_of_several_measurements_are_refused_by_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["compare", "--size 64", "--size 1kB", "--with", "-t 200ms --warm-up 0 --no-stamps", "--runs", "1"];
    stored(folder.path(), &words);
    let failed = sonde_in(folder.path(), &["rerun", "old.json"]).assert().code(2);
    failed.stderr(contains("holds many trials"));
    sonde_in(folder.path(), &["rerun", "missing.json"]).assert().code(2).stderr(contains("missing.json"));
}
