//! Comparisons over this machine's loopback and of stored records: what is told, refused, kept and returned.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// Two short runs of each side, against reflectors of their own.
const SHORT: [&str; 7] = ["compare", "--with", "-t 200ms --warm-up 0 --no-stamps", "--runs", "2", "--seed", "5"];

fn stored(folder: &Path, name: &str, words: &[&str]) {
    printed(&mut sonde_in(folder, &[words, &["-q", "-o", name]].concat()));
}

#[test]
fn a_comparison_is_one_valid_document_and_its_lines_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let sides = ["--size 64", "--size 8kB --every 1ms", "-q", "--json", "-o", "a.json", "-o", "b.jsonl", "-o", "c.txt"];
    let stdout = printed(&mut sonde_in(folder.path(), &[&SHORT[..], &sides].concat()));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let found = document(stdout.as_bytes());
    jsonschema::validate(&logbook::schema::study_schema(), &found).unwrap();
    assert_eq!((&found["format"], &found["question"]["kind"]), (&json!("sonde-study"), &json!("compare")));
    // Two sides and the two corners between them, twice.
    let trials = found["trials"].as_array().unwrap();
    assert_eq!((found["settings"].as_array().unwrap().len(), trials.len()), (4, 8));
    let mut ids: Vec<&str> = trials.iter().map(|trial| trial["record"]["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 8, "each run is a measurement of its own");
    for trial in trials {
        jsonschema::validate(&logbook::schema::json_schema(), &trial["record"]).unwrap();
    }
    let axes: Vec<&Value> =
        found["comparisons"][0]["axes"].as_array().unwrap().iter().map(|axis| &axis["axis"]).collect();
    assert_eq!(axes, [&json!("interval"), &json!("size")]);
    let word = &found["comparisons"][0]["figures"][0]["compared"]["word"];
    assert_eq!(word, "too-few-runs", "two runs show nothing");
    assert_eq!(read("a.json"), stdout);
    let lines: Vec<Value> = read("b.jsonl").lines().map(|line| document(line.as_bytes())).collect();
    assert_eq!((lines.len(), &lines[8]["event"], &lines[8]["data"]), (9, &json!("studied"), &found));
    for line in &lines {
        jsonschema::validate(&logbook::schema::event_schema(), line).unwrap();
    }
    for file in ["a.json", "b.jsonl"] {
        assert_eq!(printed(&mut sonde_in(folder.path(), &["show", file])), read("c.txt"), "{file}");
    }
    let text = read("c.txt");
    let said =
        ["A  rtt --size 64", "B  rtt --size 8kB --every 1ms", "too few runs (2+2)", "interval: ", "64 B each way"];
    for word in said {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn it_says_before_it_starts_how_long_it_takes_and_keeps_its_budget() {
    let sides = ["--size 64", "--size 1kB"];
    sonde(&[&SHORT[..], &sides, &["--no-moves"]].concat())
        .assert()
        .success()
        .stderr(contains("4 trials in random order, about 2 s"));
    // A machine that is busy enough has no time for all of them, or for one of each side: what is planned does not depend on it.
    let words = ["compare", "--size 64", "--size 1kB", "--runs", "2", "--budget", "4s", "--json"];
    let output = sonde(&words).assert().stderr(contains("4 trials in random order, about 4 s of the 4 s allowed"));
    let found = document(&output.get_output().stdout);
    assert!(found["takes_ns"].as_u64().unwrap() <= 4_000_000_000, "{}", found["takes_ns"]);
    assert_eq!(found["budget_ns"], 4_000_000_000_u64);
    // Warm-up and start take most of it; what is measured is cut to what is left.
    for setting in found["settings"].as_array().unwrap() {
        let length = &setting["method"]["stop"]["after_ns"];
        assert!(length.as_u64().is_some_and(|length| (200_000_000..1_000_000_000).contains(&length)), "{length}");
    }
}

#[test]
fn stored_records_are_compared_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for side in ["before", "after"] {
        std::fs::create_dir(folder.path().join(side)).unwrap();
        for run in 0..2 {
            stored(
                folder.path(),
                &format!("{side}/{run}.json"),
                &["rtt", "-c", "200", "--warm-up", "0", "--no-stamps"],
            );
        }
    }
    let text = printed(&mut sonde_in(folder.path(), &["compare", "before", "after/0.json,after/1.json"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said =
        ["A before", "B after/0.json,after/1.json", "2 records", "too few runs (2+2)", "at least 5 records a side"];
    for word in said {
        assert!(text.contains(word), "{word} in {text}");
    }
    let limits = ["compare", "before", "after", "--fail-if", "p50>+900%"];
    sonde_in(folder.path(), &limits).assert().success().stdout(contains("not shown: too few runs"));
    sonde_in(folder.path(), &[&limits[..], &["--strict"]].concat()).assert().code(99);
}

/// A file of so many copies of a record whose times are all `ns`.
fn as_if(folder: &Path, name: &str, template: &Path, each: impl Iterator<Item = u64>) {
    let mut record = document(&std::fs::read(template).unwrap());
    std::fs::create_dir(folder.join(name)).unwrap();
    for (run, mean) in each.enumerate() {
        record["outcome"]["response"]["mean_ns"] = json!(mean as f64);
        std::fs::write(folder.join(name).join(format!("{run}.json")), record.to_string()).unwrap();
    }
}

#[test]
fn limits_decide_about_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), "one.json", &["rtt", "-c", "50", "--warm-up", "0", "--no-stamps"]);
    let template = folder.path().join("one.json");
    as_if(folder.path(), "before", &template, (0..7).map(|run| 100_000 + run * 500));
    as_if(folder.path(), "after", &template, (0..7).map(|run| 110_000 + run * 500));
    let compare = |limit: &str, strict: &[&str]| {
        let words = ["compare", "before", "after", "--figures", "mean", "--fail-if", limit];
        sonde_in(folder.path(), &[&words[..], strict].concat()).assert()
    };
    compare("mean>+5%", &[]).code(99).stdout(contains("exceeded").and(contains("B's mean is 9.")));
    compare("mean>+20%", &[]).code(0).stdout(contains("kept"));
    compare("mean>+20%", &["--strict"]).code(0);
    compare("mean>+10%", &[]).code(0).stdout(contains("not shown either way"));
    compare("mean>+10%", &["--strict"]).code(99);
    compare("mean>+8us", &[]).code(99);
    compare("mean<-1%", &[]).code(0).stdout(contains("kept"));
}

#[test]
fn what_has_nothing_in_common_is_said() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), "rtt.json", &["rtt", "-c", "50", "--warm-up", "0"]);
    stored(folder.path(), "stream.json", &["throughput", "-t", "100ms", "--no-test"]);
    sonde_in(folder.path(), &["compare", "rtt.json", "stream.json"])
        .assert()
        .code(2)
        .stderr(contains("B stream.json measured a stream and A rtt.json exchanges"));
}

#[test]
fn broken_foreign_and_later_records_are_named() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), "good.json", &["rtt", "-c", "50", "--warm-up", "0"]);
    let whole = std::fs::read_to_string(folder.path().join("good.json")).unwrap();
    let mut later = document(whole.as_bytes());
    later["version"] = json!(99);
    let files = [
        ("cut.json", whole[..whole.len() / 2].to_owned(), "not JSON at line"),
        ("foreign.json", r#"{"format": "fio"}"#.to_owned(), "its format is `fio`"),
        ("later.json", later.to_string(), "newer than this program"),
        ("empty.json", String::new(), "not JSON"),
    ];
    for (name, content, said) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
        let failed = sonde_in(folder.path(), &["compare", "good.json", name]).assert().code(2);
        failed.stderr(contains(name).and(contains(said)));
    }
    sonde_in(folder.path(), &["compare", "good.json", "missing.json"])
        .assert()
        .code(2)
        .stderr(contains("no such file"));
    let mixed = sonde_in(folder.path(), &["compare", "good.json", "db1 --udp"]).assert().code(2);
    mixed.stderr(contains("one side is live and another is stored"));
}

#[test_case(&["db1"], "2 values required"; "one side")]
#[test_case(&["--every never", "rtt --udp"], "never"; "no time")]
#[test_case(&["--udp --size 1", "rtt --udp"], "from 32 to"; "too small")]
#[test_case(&["--udp --json", "rtt --udp"], "--json does not work in a study"; "how it is told")]
#[test_case(&["--udp", "--tcp"], "unexpected argument"; "an option where a side should be")]
#[test_case(&["rtt --icmp", "rtt --tcp", "--fail-if", "p99"], "is not a limit"; "a limit without a sign")]
#[test_case(&["rtt --icmp", "rtt --tcp", "--figures", "jitter"], "unknown figure `jitter`"; "an unknown figure")]
#[test_case(&["rtt --udp", "rtt --tcp", "--budget", "1s"], "14 trials need at least"; "an impossible budget")]
#[test_case(&["rtt --udp", "rtt --tcp", "-o", "/nowhere/x.json"], "its folder is not there"; "no folder")]
fn what_makes_no_sense_is_refused_before_anything_is_measured(words: &[&str], said: &str) {
    sonde(&[&["compare"], words].concat()).assert().code(2).stderr(contains(said)).stdout("");
}

#[test]
fn a_far_side_that_answers_nothing_ends_it_soon() {
    // Port 9 of this host: nothing listens there, and nothing is tried more often than it takes to know.
    let words = ["compare", "127.0.0.1:9", "127.0.0.1:9 --udp", "--json"];
    let output = sonde(&words).assert().code(1).get_output().clone();
    let error = document(&output.stdout);
    assert_eq!(error["format"], "sonde-error");
    assert!(error["error"]["what"].as_str().is_some_and(|what| what.contains("127.0.0.1:9")), "{error}");
}

#[test]
fn it_ends_early_where_the_answer_is_settled_and_the_document_says_by_which_rule() {
    // A megabyte each way against 64 octets: there is no doubt.
    let words = ["compare", "--size 64", "--size 1MB", "--seed", "3", "--with", "--warm-up 0 --no-stamps", "--json"];
    let output = sonde(&words).assert().success().get_output().clone();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("24 trials in random order") && said.contains("it ends earlier if"), "{said}");
    let logbook::read::Document::Study(found) =
        logbook::read::Document::read(&String::from_utf8(output.stdout.clone()).unwrap()).unwrap()
    else {
        panic!("no study")
    };
    jsonschema::validate(&logbook::schema::study_schema(), &document(&output.stdout)).unwrap();
    assert_eq!((found.blocks, found.trials.len()), (6, 12));
    assert!(found.trials[..6].iter().all(|trial| trial.block < 3), "three runs of each side are a block");
    // Judged again from the document alone it is the same.
    let rule = found.rule().unwrap();
    let figures = &found.comparisons[0].figures;
    let runs: Vec<measure::comparison::Runs> = figures
        .iter()
        .map(|figure| measure::comparison::Runs {
            first: found.figures_of(0, figure.figure),
            second: found.figures_of(1, figure.figure),
        })
        .collect();
    let again = measure::comparison::compare_by(&runs, rule);
    assert_eq!(again, figures.iter().map(|figure| figure.compared.clone()).collect::<Vec<_>>());
    assert_eq!(again[0].word, measure::comparison::Word::More);
}

#[test]
fn two_builds_are_compared_by_words_that_lead_to_each() {
    let folder = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin!("sonde").display().to_string();
    let by_env = format!("env SIDE=b {program}");
    let words = ["compare", "--size 64", "--size 64", "--with", "-t 200ms --warm-up 0 --no-stamps", "--runs", "2"];
    let runners = ["--runner-a", &program, "--runner-b", &by_env, "--fail-if", "p99>+5%", "--json"];
    let found = document(printed(&mut sonde_in(folder.path(), &[&words[..], &runners].concat())).as_bytes());
    let names: Vec<&str> =
        found["settings"].as_array().unwrap().iter().map(|side| side["name"].as_str().unwrap()).collect();
    assert_eq!(names, [format!("A by {program}"), format!("B by {by_env}")]);
    assert_eq!(found["trials"].as_array().unwrap().len(), 4, "no corner between two builds");
    let refused = |more: &[&str], said: &str| {
        let words = [&["compare", "--size 64", "--size 64"], more].concat();
        sonde(&words).assert().code(2).stderr(contains(said));
    };
    refused(&["--runner-a", "x"], "--runner-b");
    refused(&["--runner-a", "'x", "--runner-b", "y"], "a quote is not closed");
    refused(&["--size 1", "--runner-a", "x", "--runner-b", "y"], "there are 3");
    // A program that is not there is what the trials say.
    let gone = ["compare", "--size 64", "--size 64", "--runner-a", "/nowhere/sonde", "--runner-b", "/nowhere/sonde"];
    sonde(&gone).assert().code(1).stderr(contains("cannot start a run"));
}
