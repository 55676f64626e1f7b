//! Packages of others in the graph: their licences, the banned ones, and their sources. The rules are those of `deny.toml`,
//! so that this test and cargo-deny, where it is installed, ask the same question.

mod expression;
mod graph;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use expression::Expression;
use graph::{Graph, Package};
use toml::Table;

/// Source that crates may come from, besides this workspace.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The rules of `deny.toml` that are checked here.
#[derive(Debug)]
struct Rules {
    allowed: Vec<String>,
    banned: Vec<Ban>,
}

/// A crate that may not come in, but for the crates that are named with it.
#[derive(Debug)]
struct Ban {
    name: String,
    wrappers: Vec<String>,
}

impl Rules {
    fn read(text: &str) -> Self {
        let rules: Table = text.parse().expect("deny.toml is TOML");
        let strings = |value: Option<&toml::Value>| -> Vec<String> {
            let list = value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
            list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
        };
        let banned = rules["bans"]["deny"].as_array().expect("a list of bans").iter().map(|ban| Ban {
            name: ban["crate"].as_str().expect("the name of a banned crate").to_owned(),
            wrappers: strings(ban.get("wrappers")),
        });
        Self { allowed: strings(rules["licenses"].get("allow")), banned: banned.collect() }
    }

    /// Complaints about the whole graph. `built` says of a package whether it is built into `sonde`: the graph has those too
    /// that a feature names which nobody has.
    fn complaints(&self, graph: &Graph, built: impl Fn(&str) -> bool) -> Vec<String> {
        let mut complaints: Vec<String> = graph.others().filter_map(|package| self.complaint(package)).collect();
        for Ban { name, wrappers } in &self.banned {
            let users = graph.users_of(name).into_iter().filter(|user| !wrappers.contains(user));
            complaints.extend(users.map(|user| format!("{user} brings {name}, which is banned")));
            if graph.ships("sonde", name) && built(name) {
                complaints.push(format!("sonde ships {name}, which is banned"));
            }
        }
        complaints
    }

    fn complaint(&self, package: &Package) -> Option<String> {
        let Package { name, source, licence } = package;
        if source.as_deref() != Some(REGISTRY) {
            return Some(format!("{name} comes from {source:?}"));
        }
        let Some(licence) = licence else { return Some(format!("{name} names no licence")) };
        match Expression::parse(licence) {
            None => Some(format!("{name}: `{licence}` is no licence expression")),
            Some(expression) if !expression.holds(&self.allowed) => Some(format!("{name}: `{licence}` is not allowed")),
            Some(_) => None,
        }
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The whole graph, tests included, as it is built on this kind of machine.
fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .args(["--filter-platform", &format!("{}-unknown-linux-gnu", std::env::consts::ARCH)])
        .current_dir(root())
        .output()
        .expect("cargo runs: it has built this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo prints JSON")
}

/// Names of the packages that are built into `sonde`.
fn built() -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "sonde", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs: it has built this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn what_others_wrote_may_be_used_and_is_wanted() {
    let rules = Rules::read(&std::fs::read_to_string(root().join("deny.toml")).unwrap());
    let graph = Graph::read(&metadata());
    assert!(graph.others().count() > 50, "the graph is not read");
    assert!(graph.ships("sonde", "libc"), "the way through the graph is not found");
    let built = built();
    assert!(built.contains("libc"), "what is built is not found");
    assert_eq!(rules.complaints(&graph, |name| built.contains(name)), [""; 0]);
}

#[test]
fn our_own_licence_lies_beside() {
    let licence = std::fs::read_to_string(root().join("LICENSE")).unwrap();
    assert!(licence.contains("Apache License") && licence.contains("Version 2.0, January 2004"));
    assert!(licence.contains("END OF TERMS AND CONDITIONS"), "the whole text");
}

const RULES: &str = r#"
[licenses]
allow = ["MIT", "Apache-2.0"]
[bans]
deny = [{ crate = "ring" }, { crate = "nix", wrappers = ["pty"] }]
"#;

/// A workspace of `sonde`, which uses `libc` and, in its tests, `pty`, which uses `nix`; with `change` made to its JSON.
fn complaints(change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
    let package = |name: &str, source: Option<&str>, license: &str| serde_json::json!({"id": name, "name": name, "source": source, "license": license});
    let on = |name: &str, kind: Option<&str>| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
    let mut metadata = serde_json::json!({
        "packages": [
            package("sonde", None, "Apache-2.0"),
            package("libc", Some(REGISTRY), "MIT OR Apache-2.0"),
            package("pty", Some(REGISTRY), "MIT"),
            package("nix", Some(REGISTRY), "MIT"),
        ],
        "resolve": {"nodes": [
            {"id": "sonde", "deps": [on("libc", None), on("pty", Some("dev"))]},
            {"id": "pty", "deps": [on("nix", None)]},
            {"id": "libc", "deps": []},
            {"id": "nix", "deps": []},
        ]},
    });
    change(&mut metadata);
    Rules::read(RULES).complaints(&Graph::read(&metadata), |_| true)
}

#[test]
fn a_graph_within_the_rules_gives_no_complaint() {
    assert_eq!(complaints(|_| {}), [""; 0]);
}

#[test]
fn a_licence_that_is_not_allowed_is_a_complaint() {
    let said = |licence: serde_json::Value| complaints(|metadata| metadata["packages"][1]["license"] = licence);
    assert_eq!(said("GPL-3.0".into()), ["libc: `GPL-3.0` is not allowed"]);
    assert_eq!(said("MIT AND GPL-3.0".into()), ["libc: `MIT AND GPL-3.0` is not allowed"]);
    assert_eq!(said("MIT OR".into()), ["libc: `MIT OR` is no licence expression"]);
    assert_eq!(said(serde_json::Value::Null), ["libc names no licence"]);
}

#[test]
fn another_source_is_a_complaint() {
    let said = complaints(|metadata| metadata["packages"][1]["source"] = "git+https://example.org/libc".into());
    assert_eq!(said, ["libc comes from Some(\"git+https://example.org/libc\")"]);
}

#[test]
fn a_banned_crate_is_a_complaint_unless_only_tests_have_it_by_a_named_way() {
    let shipped = complaints(|metadata| {
        metadata["resolve"]["nodes"][0]["deps"][1]["dep_kinds"][0]["kind"] = serde_json::Value::Null;
    });
    assert_eq!(shipped, ["sonde ships nix, which is banned"]);
    let by_another = complaints(|metadata| {
        metadata["resolve"]["nodes"][2]["deps"] = serde_json::json!([{"pkg": "nix", "dep_kinds": [{"kind": null}]}]);
    });
    assert_eq!(by_another, ["libc brings nix, which is banned", "sonde ships nix, which is banned"]);
}
