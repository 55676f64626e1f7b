//! Rules on the content of a source file, by the crate it stands in.

use crate::lexis::code_of;
use crate::tree::{File, files};

/// Names that measure and protocol may not use: sockets, files, threads, processes, the OS clock. Addresses are mere names
/// of places and belong to the vocabulary.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::thread",
    "std::process",
    "std::env",
    "std::os",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::time::Instant",
    "SystemTime",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "UnixStream",
    "UnixListener",
    "UnixDatagram",
];

/// A file that may name one of these after all: a machine of others counts in instants of the standard library, which are handed in. Nobody reads
/// the clock there, as clippy sees to.
const EXCEPT: (&str, &str) = ("crates/protocol/src/application/h3/session.rs", "std::time::Instant");

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "shared", "types", "util", "utils"];

/// Complaints about one file.
fn complaints(file: &File) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut complain = |line: usize, what: &str| complaints.push(format!("{}:{line}: {what}", file.path));
    if let Some(name) = empty_name(&file.path) {
        complain(1, &format!("`{name}` says nothing of what is inside"));
    }
    for (line, path) in machine_paths(&file.text) {
        complain(line, &format!("a path of somebody's machine: {path}"));
    }
    if !file.is_rust() {
        return complaints;
    }
    if !file.text.starts_with("//! ") {
        complain(1, "a file opens with its purpose, `//! …`");
    }
    let code = code_of(&file.text);
    // Their tests may read a file of recorded input; what is shipped may not.
    let apart = ["crates/measure/src/", "crates/protocol/src/"].iter().any(|room| file.path.starts_with(room));
    let mut reasoned = false;
    for (index, (line, code)) in file.text.lines().zip(code.lines()).enumerate() {
        let number = index + 1;
        let barred = |name: &&&str| holds_word(code, name) && (file.path.as_str(), **name) != EXCEPT;
        if apart && let Some(name) = OUTSIDE.iter().find(barred) {
            complain(number, &format!("{name} has no place in this crate"));
        }
        reasoned |= line.contains("SAFETY:");
        if holds_word(code, "unsafe") {
            if file.in_crate() != Some("endpoint") {
                complain(number, "`unsafe` is for endpoint alone");
            } else if opens_unsafe(code) && !reasoned {
                complain(number, "`unsafe` without its SAFETY");
            }
        }
        // A reason holds for the one statement that follows it.
        reasoned &= !code.trim_end().ends_with([';', '{', '}']);
    }
    complaints
}

/// Returns true where a line of code opens something that must have a reason: a block or an implementation. An unsafe
/// function only passes the duty on.
fn opens_unsafe(code: &str) -> bool {
    let squeezed: Vec<&str> = code.split_whitespace().collect();
    let text = squeezed.join(" ");
    ["unsafe {", "unsafe impl"].iter().any(|form| text.contains(form))
}

fn empty_name(path: &str) -> Option<&str> {
    let rust = path.strip_suffix(".rs")?;
    rust.split('/').find(|part| EMPTY_NAMES.contains(part))
}

/// Places of a particular machine, with their line. The patterns are put together here so that this file has none.
fn machine_paths(text: &str) -> Vec<(usize, String)> {
    let patterns = ["work", "root", "home", "Users", "tmp/wt"].map(|folder| format!("/{folder}/"));
    let within = |line: &str, pattern: &str| {
        // Part of a longer path, or of a URL, is no such place.
        line.match_indices(pattern)
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/}".contains(c)))
    };
    let found = |(index, line): (usize, &str)| {
        patterns.iter().find(|pattern| within(line, pattern)).map(|pattern| (index + 1, pattern.clone()))
    };
    text.lines().enumerate().filter_map(found).collect()
}

/// Returns true where `code` names `word` and not merely something that contains it.
fn holds_word(code: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(part_of_name) && !code[at + word.len()..].starts_with(part_of_name))
}

#[test]
fn every_file_keeps_to_its_room() {
    let complaints: Vec<String> = files().iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Complaints about a file of this crate with this text behind a proper opening.
fn said(crate_: &str, code: &str) -> Vec<String> {
    let said = complaints(&File::of(&format!("crates/{crate_}/src/room.rs"), &format!("//! A room.\n{code}")));
    said.into_iter()
        .filter_map(|line| line.strip_prefix(&format!("crates/{crate_}/src/room.rs:")).map(str::to_owned))
        .collect()
}

#[test]
fn unsafe_outside_endpoint_is_a_complaint() {
    assert_eq!(said("measure", "fn f() {\n unsafe { g() }\n}"), ["3: `unsafe` is for endpoint alone"]);
    assert_eq!(said("sonde", "unsafe fn f() {}"), ["2: `unsafe` is for endpoint alone"]);
    assert_eq!(said("measure", "// unsafe\nlet unsafe_ = \"unsafe {\"; /* unsafe */"), [""; 0]);
}

#[test]
fn unsafe_without_its_reason_is_a_complaint() {
    let reason = "// SAFETY: the pointer is ours,\n// and lives long enough.\n";
    assert_eq!(said("endpoint", "unsafe { g() }"), ["2: `unsafe` without its SAFETY"]);
    assert_eq!(said("endpoint", &format!("{reason}unsafe {{ g() }}")), [""; 0]);
    assert_eq!(said("endpoint", &format!("{reason}let a =\n    unsafe {{ g() }};")), [""; 0]);
    assert_eq!(said("endpoint", &format!("{reason}g();\nunsafe {{ g() }}")), ["5: `unsafe` without its SAFETY"]);
    assert_eq!(said("endpoint", "unsafe impl Send for A {}"), ["2: `unsafe` without its SAFETY"]);
    assert_eq!(said("endpoint", "pub unsafe fn f() {}"), [""; 0], "its callers give the reason");
}

#[test]
fn the_system_has_no_place_in_measure_and_protocol() {
    assert_eq!(said("measure", "use std::fs::File;"), ["2: std::fs has no place in this crate"]);
    assert_eq!(said("protocol", "use std::net::{IpAddr, UdpSocket};"), ["2: UdpSocket has no place in this crate"]);
    assert_eq!(said("protocol", "std::thread::yield_now();"), ["2: std::thread has no place in this crate"]);
    assert_eq!(said("measure", "use std::net::IpAddr; // no UdpSocket"), [""; 0]);
    assert_eq!(said("endpoint", "use std::net::UdpSocket;"), [""; 0]);
    let test = File::of("crates/protocol/tests/capture.rs", "//! Captures.\nuse std::fs::read;");
    assert_eq!(complaints(&test), [""; 0], "tests may read what was recorded");
}

#[test]
fn a_file_without_purpose_or_with_an_empty_name_is_a_complaint() {
    let lines = |path, text| complaints(&File::of(path, text)).len();
    assert_eq!(lines("crates/lab/src/room.rs", "fn f() {}"), 1);
    assert_eq!(lines("crates/lab/src/room.rs", "//! .\nfn f() {}"), 0);
    assert_eq!(lines("crates/lab/src/util.rs", "//! All sorts."), 1);
    assert_eq!(lines("crates/lab/src/types/rate.rs", "//! All sorts."), 1);
    assert_eq!(lines("docs/types.md", "words"), 0);
}

#[test]
fn a_path_of_a_machine_is_a_complaint() {
    let path = |folder: &str| format!("see /{folder}/x");
    assert_eq!(machine_paths(&path("home")).len(), 1);
    assert_eq!(machine_paths(&format!("\n{}", path("root"))), [(2, format!("/{}/", "root"))]);
    let within = format!("https://example.org/{}/x image/{}/x $HOME/x", "home", "root");
    assert_eq!(machine_paths(&within), []);
}
