//! Every crate is held to the same lints, and only endpoint may use `unsafe`.

use std::fs;

use toml::{Table, Value};

use crate::tree;

/// The one crate with a table of its own, and the one lint that differs in it.
const EXCEPT: (&str, &str) = ("endpoint", "unsafe_code");

/// Changes of the workspace's lints in the manifest of the crate `name`.
fn complaints(name: &str, workspace: &Table, manifest: &Table) -> Vec<String> {
    let Some(own) = manifest.get("lints").and_then(Value::as_table) else {
        return vec![format!("{name} has no lints")];
    };
    if own.get("workspace").and_then(Value::as_bool) == Some(true) {
        return Vec::new();
    }
    if name != EXCEPT.0 {
        return vec![format!("{name} has lints of its own")];
    }
    let lints = |table: &Table| -> Vec<(String, String, Value)> {
        let of = |(tool, list): (&String, &Value)| {
            let list = list.as_table().cloned().unwrap_or_default();
            list.into_iter().map(|(lint, level)| (tool.clone(), lint, level)).collect::<Vec<_>>()
        };
        table.iter().flat_map(of).collect()
    };
    let own = lints(own);
    let kept = |(tool, lint, level): &(String, String, Value)| {
        lint == EXCEPT.1 || own.iter().any(|mine| (&mine.0, &mine.1, &mine.2) == (tool, lint, level))
    };
    lints(workspace).iter().filter(|lint| !kept(lint)).map(|lint| format!("{name} lacks the lint {}", lint.1)).collect()
}

fn workspace(manifest: &str) -> Table {
    let manifest: Table = manifest.parse().expect("the workspace's manifest");
    manifest["workspace"]["lints"].as_table().expect("the workspace's lints").clone()
}

fn manifest(path: &str) -> String {
    fs::read_to_string(tree::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    let workspace = workspace(&manifest("Cargo.toml"));
    let crates = fs::read_dir(tree::root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut folders: Vec<String> = crates.map(|name| format!("crates/{}", name.to_str().unwrap())).collect();
    assert!(folders.iter().any(|folder| folder == "crates/measure"));
    folders.push("bench".into());
    let of = |folder: &String| {
        let name = folder.rsplit('/').next().unwrap_or_default();
        complaints(name, &workspace, &manifest(&format!("{folder}/Cargo.toml")).parse().unwrap())
    };
    assert_eq!(folders.iter().flat_map(of).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_workspace_forbids_unsafe_and_bans_clocks_and_prints() {
    let lints = workspace(&manifest("Cargo.toml"));
    assert_eq!(lints["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let banned: Table = manifest("clippy.toml").parse().unwrap();
    let paths = |list: &str| -> Vec<String> {
        let entries = banned[list].as_array().expect("a list");
        entries.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
    };
    for method in ["std::time::Instant::now", "std::time::SystemTime::now", "std::thread::sleep", "std::process::exit"]
    {
        assert!(paths("disallowed-methods").iter().any(|path| path == method), "{method} is not banned");
    }
    for name in ["std::println", "std::print", "std::eprintln", "std::eprint", "std::dbg", "std::todo"] {
        assert!(paths("disallowed-macros").iter().any(|path| path == name), "{name} is not banned");
    }
}

#[test]
fn a_crate_with_other_lints_is_a_complaint() {
    let rules: Table =
        "[rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n[clippy]\nall = \"warn\"\n".parse().unwrap();
    let said = |name, manifest: &str| complaints(name, &rules, &manifest.parse().unwrap());
    assert_eq!(said("lab", "[lints]\nworkspace = true"), [""; 0]);
    assert_eq!(said("lab", "[package]\nname = \"lab\""), ["lab has no lints"]);
    assert_eq!(said("lab", "[lints.rust]\nmissing_docs = \"warn\""), ["lab has lints of its own"]);
    let own = "[lints.rust]\nmissing_docs = \"warn\"\n[lints.clippy]\nall = \"warn\"\n";
    assert_eq!(said("endpoint", own), [""; 0]);
    assert_eq!(said("endpoint", &own.replace("missing_docs = \"warn\"", "")), ["endpoint lacks the lint missing_docs"]);
    assert_eq!(said("endpoint", &own.replace("all = \"warn\"", "all = \"allow\"")), ["endpoint lacks the lint all"]);
}
