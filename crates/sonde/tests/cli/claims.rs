//! Claims judged over this machine's loopback: verdicts, exit status, every form of the result, and what is refused.

use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use test_case::test_case;

use crate::{document, printed, sonde, sonde_in};

/// Two sizes, of which one takes many times as long.
const PLAN: &str = r#"
name = "two <sizes>"
title = "A megabyte takes longer than 64 octets"

[[measurements]]
name = "small"
command = "rtt --size 64 -t 200ms --warm-up 0 --no-stamps"

[[measurements]]
name = "a megabyte"
command = "rtt --size 1MB -t 200ms --warm-up 0 --no-stamps"
"#;

const TRUE: &str = "p50(a megabyte) > 2 × p50(small)";
const FALSE: &str = "p50(small) > 10s";

fn plan(folder: &Path, claims: &[&str]) {
    let claims: Vec<String> =
        claims.iter().map(|claim| format!("\n[[claims]]\nclaim = \"{claim}\"\nsaid = \"a | b & c\"\n")).collect();
    std::fs::write(folder.join("two.toml"), format!("{PLAN}{}", claims.concat())).unwrap();
}

#[test]
fn each_claim_has_its_verdict_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), &[TRUE, FALSE]);
    let words = ["study", "two.toml", "--runs", "9", "--seed", "3", "-q", "--json"];
    let files =
        ["-o", "a.json", "-o", "b.jsonl", "-o", "c.txt", "-o", "d.html", "--junit", "e.xml", "--summary", "f.md"];
    let output = sonde_in(folder.path(), &[&words[..], &files].concat()).assert().code(99).get_output().clone();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let found = document(&output.stdout);
    jsonschema::validate(&logbook::schema::study_schema(), &found).unwrap();
    assert_eq!((&found["question"]["kind"], &found["blocks"]), (&json!("claims"), &json!(9)));
    let verdicts: Vec<&Value> =
        found["claims"].as_array().unwrap().iter().map(|claim| &claim["finding"]["verdict"]).collect();
    assert_eq!(verdicts, [&json!("holds"), &json!("does-not-hold")]);
    assert!(found["claims"][0]["finding"]["ratio"]["low"].as_f64().unwrap() > 1.0);
    assert_eq!(found["trials"].as_array().unwrap().len(), 18, "a run of each in each block");
    assert_eq!(read("a.json").as_bytes(), output.stdout);
    let lines: Vec<Value> = read("b.jsonl").lines().map(|line| document(line.as_bytes())).collect();
    assert_eq!((lines.len(), &lines[18]["event"], &lines[18]["data"]), (19, &json!("studied"), &found));
    let text = read("c.txt");
    assert!(text.starts_with("1 of 2 claims hold, 1 does not\n"), "{text}");
    assert_eq!(printed(&mut sonde_in(folder.path(), &["show", "a.json"])), text);
    assert!(read("d.html").contains("does not hold"), "the page has the verdicts");
    let junit = read("e.xml");
    let said =
        ["tests=\"2\" failures=\"1\"", "name=\"two &lt;sizes&gt;\"", "name=\"p50(a megabyte) &gt; 2 × p50(small)\""];
    for said in said {
        assert!(junit.contains(said), "{said} in {junit}");
    }
    let summary = read("f.md");
    assert!(summary.contains("| does not hold | p50(small) \\> 10s |") && summary.contains("a \\| b"), "{summary}");
}

#[test]
fn what_holds_is_status_0_and_what_is_not_shown_is_98() {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), &[TRUE]);
    sonde_in(folder.path(), &["study", "two.toml", "--runs", "6"])
        .assert()
        .code(0)
        .stdout(contains("The claim holds\n").and(contains("ratio ")));
    let few = sonde_in(folder.path(), &["study", "two.toml", "--runs", "2"]).assert().code(98);
    few.stdout(contains("The claim is not shown\n").and(contains("too few runs for an interval")));
}

#[test]
fn a_claim_that_takes_another_host_is_not_measured_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), &[TRUE, "p50(far) > p50(small)"]);
    let path = folder.path().join("two.toml");
    let far = "[[measurements]]\nname = \"far\"\ncommand = \"rtt\"\npeer = \"far\"\n";
    let text = std::fs::read_to_string(&path).unwrap().replace("title =", "peers = [\"near\", \"far\"]\ntitle =");
    std::fs::write(&path, text.replacen("[[claims]]", &format!("{far}\n[[claims]]"), 1)).unwrap();
    let words = ["study", "two.toml", "--runs", "6", "--junit", "e.xml"];
    sonde_in(folder.path(), &words)
        .assert()
        .code(98)
        .stdout(contains("not measured").and(contains("it takes a host for `far` (--hosts FROM,NEAR,FAR)")));
    assert!(std::fs::read_to_string(folder.path().join("e.xml")).unwrap().contains("<skipped message=\"not measured"));
}

#[test]
fn studies_that_come_with_it_are_listed() {
    let list = printed(&mut sonde(&["study"]));
    let names =
        ["ping-or-netperf", "netperf-round-trips", "icmp-and-the-card", "sockperf-under-load", "cores-and-addresses"];
    for name in names {
        assert!(list.contains(name), "{name} in {list}");
    }
    sonde(&["study", "ping-or-netpref"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `sonde study ping-or-netperf`?"));
}

#[test_case("p50(smal) > 1ms", "did you mean `small`?"; "a name")]
#[test_case("p5O(small) > 1ms", "did you mean p50?"; "a figure")]
#[test_case("p50(small) >= 1ms", "`>=` is not a relation"; "a relation")]
#[test_case("throughput(small) > 1 Gbit/s", "`small` has no throughput"; "a figure that it has not")]
fn a_fault_of_a_plan_is_said_at_its_line(claim: &str, said: &str) {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), &[claim]);
    let failed = sonde_in(folder.path(), &["study", "two.toml"]).assert().code(2).stdout("");
    failed.stderr(contains("two.toml, line ").and(contains("^^")).and(contains(said)));
}

#[test_case(&["--hosts", "a,b,c"], "2 peers"; "too many hosts")]
#[test_case(&["--hosts", "web1,db1", "--runner", "x"], "both say who measures"; "two who measure")]
#[test_case(&["--junit", "/nowhere/x.xml"], "its folder is not there"; "no folder")]
#[test_case(&["--budget", "1s"], "need at least"; "an impossible budget")]
fn what_cannot_be_done_is_refused_before_anything_is_measured(words: &[&str], said: &str) {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), &[TRUE]);
    let words = [&["study", "two.toml"], words].concat();
    sonde_in(folder.path(), &words).assert().code(2).stdout("").stderr(contains(said));
}
