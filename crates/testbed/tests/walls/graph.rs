//! Crates that may depend on each other: ours as drawn in the architecture page, others as listed here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::tree;

/// Our crates and what each imports. docs/architecture.md draws the same.
const DRAWN: [(&str, &[&str]); 12] = [
    ("measure", &[]),
    ("protocol", &["measure"]),
    ("endpoint", &["measure", "protocol"]),
    ("logbook", &["measure"]),
    ("report", &["logbook", "measure"]),
    ("lab", &["endpoint", "logbook", "measure"]),
    ("cloud", &["endpoint", "logbook", "measure"]),
    ("sonde", &["cloud", "endpoint", "lab", "logbook", "measure", "protocol", "report"]),
    ("sonde-monitor", &["logbook", "measure", "report"]),
    ("testbed", &["measure", "protocol"]),
    ("bench", &["lab", "measure", "testbed"]),
    ("record-loop", &["measure"]),
];

/// For tests, and for the bench, which is not shipped either.
const FOR_TESTS: &str = "testbed";

/// Crates of others that each of ours may use, beside its tests. A crate that is in no line is in no crate.
const OTHERS: [(&str, &[&str]); 11] = [
    ("measure", &["base64", "fastrand", "hdrhistogram", "jiff", "schemars", "serde", "statrs", "thiserror"]),
    (
        "protocol",
        &[
            "aws-lc-rs",
            "base64",
            "etherparse",
            "httparse",
            "quinn-proto",
            "rustls",
            "serde",
            "serde_json",
            "siphasher",
            "snow",
            "thiserror",
            "winnow",
        ],
    ),
    (
        "endpoint",
        &["io-uring", "ipnet", "landlock", "libc", "rtrb", "rustix", "serde", "serde_json", "socket2", "thiserror"],
    ),
    (
        "logbook",
        &[
            "base64",
            "csv",
            "flate2",
            "jiff",
            "rusqlite",
            "schemars",
            "serde",
            "serde_json",
            "thiserror",
            "toml",
            "uuid",
        ],
    ),
    (
        "report",
        &[
            "anstream",
            "anstyle",
            "base64",
            "comfy-table",
            "csv",
            "noto-sans-mono-bitmap",
            "parquet",
            "serde",
            "serde_json",
            "thiserror",
            "tiny-skia",
            "unicode-width",
            "uuid",
        ],
    ),
    (
        "lab",
        &[
            "csv",
            "flate2",
            "hyper",
            "hyper-util",
            "lzma-rust2",
            "rustix",
            "saphyr-parser",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "uuid",
        ],
    ),
    ("cloud", &["rustix", "serde", "serde_json"]),
    (
        "sonde",
        &[
            "anstream",
            "anstyle",
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "etcetera",
            "flate2",
            "indicatif",
            "ipnet",
            "jiff",
            "rustix",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "shlex",
            "tokio",
            "tokio-util",
            "toml",
            "tracing",
            "tracing-subscriber",
            "uuid",
        ],
    ),
    (
        "sonde-monitor",
        &[
            "anyhow",
            "aws-lc-rs",
            "axum",
            "base64",
            "clap",
            "etcetera",
            "fastrand",
            "flate2",
            "futures-util",
            "hyper-util",
            "jiff",
            "postgres",
            "prost",
            "ratatui",
            "rusqlite",
            "rustix",
            "rustls",
            "rustls-native-certs",
            "serde",
            "serde_json",
            "signal-hook",
            "thiserror",
            "tokio",
            "ureq",
            "uuid",
        ],
    ),
    ("testbed", &["fastrand", "rcgen", "rustix", "serde", "serde_json", "socket2", "tempfile"]),
    ("bench", &["anyhow", "clap", "fastrand", "jiff", "serde", "serde_json"]),
];

/// Crates of others that the tests of any crate may use, beside those that the crate itself may.
const OTHERS_IN_TESTS: &[&str] = &[
    "arbitrary",
    "assert_cmd",
    "criterion",
    "expectrl",
    "fastrand",
    "gungraun",
    "insta",
    "jsonschema",
    "predicates",
    "proptest",
    "rcgen",
    "rustls",
    "serde",
    "serde_json",
    "snow",
    "socket2",
    "tempfile",
    "test-case",
    "toml",
    "trycmd",
    "turmoil",
    "uuid",
];

/// Dependencies that one crate of the workspace declares: those shipped with it, and those that only its tests use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Declared {
    shipped: BTreeSet<String>,
    tests: BTreeSet<String>,
}

type Graph = BTreeMap<String, Declared>;

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(ToString::to_string).collect()
}

fn line(table: &[(&str, &[&str])], name: &str) -> Option<BTreeSet<String>> {
    table.iter().find(|(crate_, _)| *crate_ == name).map(|(_, list)| names(list))
}

/// Reads the JSON of `cargo metadata`.
fn read(metadata: &Value) -> Graph {
    let mut graph = Graph::new();
    for package in metadata["packages"].as_array().expect("cargo metadata lists packages") {
        let declared: &mut Declared = graph.entry(text(&package["name"])).or_default();
        for dependency in package["dependencies"].as_array().expect("a package lists its dependencies") {
            // No kind is the normal one; what a build script uses is shipped in what it writes.
            let list = if dependency["kind"] == "dev" { &mut declared.tests } else { &mut declared.shipped };
            list.insert(text(&dependency["name"]));
        }
    }
    graph
}

fn text(value: &Value) -> String {
    value.as_str().expect("a name").to_owned()
}

/// Differences between the workspace's graph and the drawing, in either direction.
fn complaints(graph: &Graph) -> Vec<String> {
    let mut complaints = Vec::new();
    let ours: BTreeSet<String> = graph.keys().cloned().collect();
    for (name, declared) in graph {
        let Some(drawn) = line(&DRAWN, name) else {
            complaints.push(format!("{name} is not drawn"));
            continue;
        };
        let imported: BTreeSet<String> = declared.shipped.intersection(&ours).cloned().collect();
        complaints
            .extend(imported.difference(&drawn).map(|other| format!("{name} imports {other}, which is not drawn")));
        complaints
            .extend(drawn.difference(&imported).map(|other| format!("{name} does not import {other}, which is drawn")));
        let in_tests: BTreeSet<String> = declared.tests.intersection(&ours).cloned().collect();
        // Itself too: so tests turn on what the program is built without.
        let may = drawn.union(&names(&[FOR_TESTS, name])).cloned().collect();
        complaints.extend(in_tests.difference(&may).map(|other| format!("the tests of {name} import {other}")));
        let allowed = line(&OTHERS, name).unwrap_or_default();
        let others = declared.shipped.difference(&ours);
        complaints.extend(
            others.filter(|other| !allowed.contains(*other)).map(|other| format!("{name} may not use {other}")),
        );
        let others = declared.tests.difference(&ours);
        let barred = |other: &&String| !allowed.contains(*other) && !OTHERS_IN_TESTS.contains(&other.as_str());
        complaints.extend(others.filter(barred).map(|other| format!("the tests of {name} may not use {other}")));
    }
    complaints.extend(
        DRAWN
            .iter()
            .filter(|(name, _)| !ours.contains(*name))
            .map(|(name, _)| format!("{name} is drawn and not there")),
    );
    complaints
}

/// The arrows of the drawing in a page: every line `a --> b` of its first block in the language `mermaid`.
fn arrows(page: &str) -> BTreeSet<(String, String)> {
    let block = page.lines().skip_while(|line| line.trim() != "```mermaid").skip(1);
    let block = block.take_while(|line| line.trim() != "```");
    block
        .filter_map(|line| line.split_once("-->"))
        .map(|(from, to)| (from.trim().to_owned(), to.trim().to_owned()))
        .collect()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(tree::root())
        .output()
        .expect("cargo runs: it has built this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

#[test]
fn the_crates_import_as_drawn() {
    assert_eq!(complaints(&read(&metadata())), [""; 0]);
}

/// The programs that `cargo run` chooses from where none is named.
fn programs(metadata: &Value) -> Vec<String> {
    let default = |package: &&Value| {
        let members = metadata["workspace_default_members"].as_array().expect("members");
        members.contains(&package["id"])
    };
    let packages = metadata["packages"].as_array().expect("packages").iter().filter(default);
    let targets = packages.flat_map(|package| package["targets"].as_array().expect("targets"));
    let is_program = |target: &&Value| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bin".into()));
    targets.filter(is_program).map(|target| text(&target["name"])).collect()
}

#[test]
fn cargo_run_needs_no_name() {
    assert_eq!(programs(&metadata()), ["sonde"], "the README says `cargo run --release -- rtt`");
}

#[test]
fn the_page_draws_the_same() {
    let page = std::fs::read_to_string(tree::root().join("docs/architecture.md")).unwrap();
    let pairs = |(from, list): &(&str, &[&str])| {
        let from = (*from).to_owned();
        names(list).into_iter().map(move |to| (from.clone(), to)).collect::<Vec<_>>()
    };
    assert_eq!(arrows(&page), DRAWN.iter().flat_map(pairs).collect());
}

/// The graph that is drawn, with `change` made to one crate of it.
fn drawn_but<R>(name: &str, change: impl FnOnce(&mut Declared) -> R) -> Graph {
    let whole = |(name, list): &(&str, &[&str])| {
        (name.to_string(), Declared { shipped: names(list), tests: names(&["proptest"]) })
    };
    let mut graph: Graph = DRAWN.iter().map(whole).collect();
    change(graph.get_mut(name).unwrap());
    graph
}

#[test]
fn an_arrow_up_is_a_complaint() {
    let complaint = |name, other: &str| complaints(&drawn_but(name, |declared| declared.shipped.insert(other.into())));
    assert_eq!(complaint("measure", "protocol"), ["measure imports protocol, which is not drawn"]);
    assert_eq!(complaint("report", "lab"), ["report imports lab, which is not drawn"]);
    assert_eq!(complaint("sonde", "testbed"), ["sonde imports testbed, which is not drawn"]);
    assert_eq!(complaint("protocol", "tokio"), ["protocol may not use tokio"]);
    assert_eq!(complaint("endpoint", "clap"), ["endpoint may not use clap"]);
}

#[test]
fn a_missing_arrow_and_a_missing_crate_are_complaints() {
    let graph = drawn_but("lab", |declared| declared.shipped.remove("logbook"));
    assert_eq!(complaints(&graph), ["lab does not import logbook, which is drawn"]);
    let mut graph = drawn_but("lab", |_| {});
    graph.insert("helpers".into(), Declared::default());
    assert_eq!(complaints(&graph), ["helpers is not drawn"]);
    graph.remove("helpers");
    graph.remove("bench");
    assert_eq!(complaints(&graph), ["bench is drawn and not there"]);
}

#[test]
fn tests_may_use_the_testbed_and_no_other_room() {
    let complaint = |other: &str| complaints(&drawn_but("logbook", |declared| declared.tests.insert(other.into())));
    assert_eq!(complaint("testbed"), [""; 0]);
    assert_eq!(complaint("logbook"), [""; 0]);
    assert_eq!(complaint("protocol"), ["the tests of logbook import protocol"]);
    assert_eq!(complaint("nix"), ["the tests of logbook may not use nix"]);
}

#[test]
fn metadata_tells_shipped_from_tests() {
    let metadata = serde_json::json!({"packages": [{"name": "lab", "dependencies": [
        {"name": "measure", "kind": null}, {"name": "testbed", "kind": "dev"}, {"name": "cc", "kind": "build"},
    ]}]});
    let lab = Declared { shipped: names(&["cc", "measure"]), tests: names(&["testbed"]) };
    assert_eq!(read(&metadata), Graph::from([("lab".to_owned(), lab)]));
}

#[test]
fn a_drawing_is_read() {
    let page = "a --> b\n```mermaid\ngraph TD\n  a --> c\n d --> e\n```\nf --> g\n";
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(arrows(page), BTreeSet::from([pair("a", "c"), pair("d", "e")]));
}
