//! Sweeps over this machine's loopback: what is told, refused, kept, interrupted and gone on with.

use std::path::Path;
use std::process::{Command, Stdio};

use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_case::test_case;
use testbed::wait;

use crate::{document, printed, sonde, sonde_in};

/// Two sizes by two methods, in two blocks of short trials, against reflectors of their own.
const SHORT: [&str; 13] = [
    "sweep",
    "--over",
    "size=64,1kB",
    "--method",
    "--tcp",
    "--method",
    "--udp",
    "--blocks",
    "2",
    "--seed",
    "5",
    "-c",
    "40",
];
/// Without what takes time and is not looked at.
const BARE: [&str; 3] = ["--warm-up", "0", "--no-stamps"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SHORT[..], &BARE, more].concat()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Block and setting of each trial, in the order they were made.
fn order(study: &Value) -> Vec<(u64, u64)> {
    let number = |trial: &Value, name: &str| trial[name].as_u64().unwrap();
    let trials = study["trials"].as_array().unwrap().iter();
    trials.map(|trial| (number(trial, "block"), number(trial, "setting"))).collect()
}

fn planned_order() -> Vec<(u64, u64)> {
    measure::study::order(4, 2, 5).into_iter().map(|turn| (turn.block.into(), turn.setting.into())).collect()
}

#[test]
fn a_sweep_is_one_valid_document_and_its_lines_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["-q", "--json", "-o", "a.json", "-o", "b.jsonl", "-o", "c.txt"];
    let stdout = printed(&mut sonde_in(folder.path(), &words(&files)));
    let found = document(stdout.as_bytes());
    jsonschema::validate(&logbook::schema::study_schema(), &found).unwrap();
    let question = &found["question"];
    assert_eq!(
        (&question["kind"], &question["axis"], &question["values"]),
        (&json!("sweep"), &json!("size"), &json!("sizes"))
    );
    assert_eq!(question["figures"], json!(["p50", "p99"]));
    assert_eq!(order(&found), planned_order(), "the seed decides");
    let at: Vec<&Value> = found["settings"].as_array().unwrap().iter().map(|setting| &setting["at"]).collect();
    assert_eq!(*at[0], json!({"as": "point", "series": 0, "of": "tcp", "value": "64", "number": 64.0}));
    assert_eq!(*at[3], json!({"as": "point", "series": 1, "of": "udp", "value": "1kB", "number": 1000.0}));
    for trial in found["trials"].as_array().unwrap() {
        let record = &trial["record"];
        jsonschema::validate(&logbook::schema::json_schema(), record).unwrap();
        let setting = &at[trial["setting"].as_u64().unwrap() as usize];
        assert_eq!(record["method"]["request_bytes"].as_f64(), setting["number"].as_f64());
        assert_eq!(record["method"]["carrier"], setting["of"]);
    }
    assert_eq!(read(folder.path(), "a.json"), stdout);
    let lines: Vec<Value> = read(folder.path(), "b.jsonl").lines().map(|line| document(line.as_bytes())).collect();
    assert_eq!((lines.len(), &lines[8]["event"], &lines[8]["data"]), (9, &json!("studied"), &found));
    for line in &lines {
        jsonschema::validate(&logbook::schema::event_schema(), line).unwrap();
    }
    let text = read(folder.path(), "c.txt");
    for file in ["a.json", "b.jsonl"] {
        assert_eq!(printed(&mut sonde_in(folder.path(), &["show", file])), text, "{file}");
    }
    for said in ["p50, size ", "tcp   rtt --tcp", "● tcp   × udp   p50 by size", "1000 B", "loopback only"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn it_says_before_it_starts_how_long_it_takes_and_keeps_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["sweep", "--over", "window=1,2", "--blocks", "2", "--budget", "3s", "-o", "a.json"];
    let told = contains("4 trials in random order, about 3 s of the 3 s allowed");
    // A machine that is busy enough has no time for all of them; what is planned does not depend on it.
    sonde_in(folder.path(), &[&asked[..], &BARE].concat()).assert().stderr(told);
    let found = document(read(folder.path(), "a.json").as_bytes());
    assert!(found["takes_ns"].as_u64() <= found["budget_ns"].as_u64(), "{}", found["takes_ns"]);
    assert_eq!(found["budget_ns"], 3_000_000_000_u64);
}

#[test]
fn an_interval_of_0_is_back_to_back_and_what_was_asked_too_often_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let asked =
        ["sweep", "-q", "--over", "interval=0,1us,50ms", "--window", "1", "--tcp", "-t", "200ms", "--blocks", "1"];
    let text = printed(&mut sonde_in(folder.path(), &[&asked[..], &BARE, &["-o", "a.json"]].concat()));
    let found = document(read(folder.path(), "a.json").as_bytes());
    let schedules: Vec<&Value> =
        found["settings"].as_array().unwrap().iter().map(|setting| &setting["method"]["schedule"]).collect();
    assert!(schedules[0] != schedules[1] && schedules[1] != schedules[2], "{schedules:?}");
    let row = |start: &str| {
        let starts = |line: &&str| line.trim_start().starts_with(start) && line.contains("one run");
        text.lines().find(starts).unwrap_or_else(|| panic!("{text}"))
    };
    assert!(!row("no pause").contains('*'), "{text}");
    assert!(row("1 µs").contains('*'), "no machine exchanges a million times a second: {text}");
    assert!(text.contains("at 1us"), "{text}");
}

#[test_case(&words(&["--resume", "cut.json"]); "by the same words")]
#[test_case(&["sweep", "--resume", "cut.json"]; "by those that the file holds")]
fn what_was_kept_is_gone_on_with_where_it_stopped(asked: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    printed(&mut sonde_in(folder.path(), &words(&["-q", "-o", "whole.json"])));
    let whole = document(read(folder.path(), "whole.json").as_bytes());
    let mut cut = whole.clone();
    cut["trials"].as_array_mut().unwrap().truncate(5);
    // Nothing was measured by the fourth: that is tried again.
    cut["trials"][3]["record"] = Value::Null;
    cut["ended"] = Value::Null;
    std::fs::write(folder.path().join("cut.json"), cut.to_string()).unwrap();
    let told = contains("4 trials in random order");
    sonde_in(folder.path(), asked).assert().success().stderr(told);
    let resumed = document(read(folder.path(), "cut.json").as_bytes());
    let mut made = order(&resumed);
    made.sort_unstable();
    let mut all = planned_order();
    all.sort_unstable();
    assert_eq!(made, all, "each once");
    for kept in [0, 1, 2] {
        assert_eq!(resumed["trials"][kept]["record"]["id"], whole["trials"][kept]["record"]["id"]);
    }
    assert_eq!((&resumed["id"], &resumed["ended"]["how"]), (&whole["id"], &json!("complete")));
}

#[test]
fn only_the_same_question_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    printed(&mut sonde_in(folder.path(), &words(&["-q", "-o", "a.json"])));
    let before = read(folder.path(), "a.json");
    let refused = |asked: &[&str], said: &str| {
        sonde_in(folder.path(), asked).assert().code(2).stdout("").stderr(contains(said));
        assert_eq!(read(folder.path(), "a.json"), before, "it stays as it was");
    };
    let mut other = words(&["--resume", "a.json"]);
    other[2] = "size=64,2kB";
    refused(&other, "asks another question");
    let mut fewer = words(&["--resume", "a.json"]);
    fewer[8] = "3";
    refused(&fewer, "2 blocks there, 3 here");
    refused(&["sweep", "--resume", "a.json", "--blocks", "3"], "says how its trials are made");
    refused(&["sweep", "--resume", "a.json", "--method", "--udp"], "--over");
    refused(&words(&["--resume", "nowhere.json"]), "no such file");
    printed(&mut sonde_in(folder.path(), &["rtt", "-q", "-c", "9", "--warm-up", "0", "-o", "record.json"]));
    refused(&words(&["--resume", "record.json"]), "holds one record");
    std::fs::write(folder.path().join("broken.json"), &before[..before.len() / 2]).unwrap();
    refused(&words(&["--resume", "broken.json"]), "EOF");
    let mut made_up = document(before.as_bytes());
    let command = ["sonde", "sweep", "--over", "connections=1,2", "http://127.0.0.1:9/", "--body", "a.json"];
    made_up["command"] = json!(command);
    std::fs::write(folder.path().join("made-up.json"), made_up.to_string()).unwrap();
    refused(&["sweep", "--resume", "made-up.json"], "would send the file a.json of this host to http://127.0.0.1:9/");
}

/// A sweep that would take an hour, once it has kept something.
fn begun(folder: &Path) -> std::process::Child {
    let program = assert_cmd::cargo::cargo_bin!("sonde");
    let asked = ["sweep", "-q", "--over", "size=64..1MiB", "--blocks", "1000", "-c", "20", "-o", "a.json"];
    let mut command = Command::new(program);
    command.env_remove("SONDE_KEY_FILE").args(asked).args(BARE).current_dir(folder);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait::until("something is kept", || folder.join("a.json").exists());
    child
}

fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_sweep_that_is_interrupted_keeps_its_points() {
    let folder = tempfile::tempdir().unwrap();
    let child = begun(folder.path());
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let found = document(read(folder.path(), "a.json").as_bytes());
    assert_eq!(found["ended"], json!({"how": "interrupted", "signal": "SIGINT"}));
    assert!(!found["trials"].as_array().unwrap().is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("missing; interrupted by SIGINT"), "{text}");
}

#[test]
fn a_sweep_that_is_killed_has_kept_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = begun(folder.path());
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    let found = document(read(folder.path(), "a.json").as_bytes());
    jsonschema::validate(&logbook::schema::study_schema(), &found).unwrap();
    assert_eq!(found["ended"], Value::Null);
    assert!(!found["trials"].as_array().unwrap().is_empty());
    let text = printed(&mut sonde_in(folder.path(), &["show", "a.json"]));
    assert!(text.contains("still running"), "{text}");
}

#[test_case(&["--over", "interval=0..1s"], "starts at 0"; "from nothing")]
#[test_case(&["--over", "interval=1s..1ms"], "runs backwards"; "backwards")]
#[test_case(&["--over", "interval=1..10"], "has no unit"; "no unit")]
#[test_case(&["--over", "interval=1us..1s/5000"], "5000 points are too many"; "too many points")]
#[test_case(&["--over", "interval"], "has no range"; "no range")]
#[test_case(&["--over", "colour=red"], "unknown setting `colour`"; "no axis")]
#[test_case(&["--over", "streams=1..4"], "has no axis streams"; "an axis of another command")]
#[test_case(&["--over", "size=8,64", "--udp"], "rtt at size=8: 8 B does not fit udp"; "a point that the command refuses")]
#[test_case(&["--over", "peer-wait=spin", "--method", "--tcp", "--method", "--icmp"], "icmp at peer-wait=spin"; "an axis that a carrier has not")]
#[test_case(&["--over", "rate=1M..1G", "--method", "throughput", "--method", "load"], "a rate of its own kind"; "two kinds of rates")]
#[test_case(&["--over", "dscp=ef..cs1"], "this setting takes words"; "a range of words")]
#[test_case(&["--over", "size=64", "--until", "p99"], "--until does not work in a study"; "no stated length")]
#[test_case(&["--over", "size=64", "--budget", "1ms"], "3 trials need at least"; "no time at all")]
#[test_case(&["db1", "--over", "size=64", "--", "db2"], "second host"; "two far sides")]
#[test_case(&["--over", "size=64", "-o", "/nowhere/a.json"], "its folder is not there"; "no folder")]
#[test_case(&["--over", "size=64", "--blocks", "0"], "0 is not in 1..=1000"; "no blocks")]
#[test_case(&["--over", "size=64", "--nonsense"], "unexpected argument"; "no option")]
fn what_makes_no_sweep_is_refused_before_anything_is_measured(asked: &[&str], said: &str) {
    let error = contains("error: ").and(contains(said));
    sonde(&[&["sweep"], asked].concat()).assert().code(2).stdout("").stderr(error);
}

#[test]
fn nobody_there_is_an_error_and_no_sweep() {
    // Nothing listens on port 1 of this host.
    let asked = ["sweep", "127.0.0.1:1", "--over", "size=64,128", "--json"];
    let output = sonde(&[&asked[..], &BARE].concat()).assert().code(1).get_output().stdout.clone();
    let error = document(&output);
    assert_eq!(error["format"], "sonde-error");
    assert!(error["error"]["what"].as_str().unwrap().contains("127.0.0.1"), "{error}");
}
