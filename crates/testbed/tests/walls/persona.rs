//! Files that may name a persona: its own folder and the table of all. Personas share a kit, and none knows another.

use crate::lexis::code_of;
use crate::tree::{File, files};

const ROOM: &str = "crates/sonde/src/persona/";
/// The list of all, which alone names each.
const TABLE: &str = "crates/sonde/src/persona.rs";
/// Its functions and modules of all personas.
const OF_ALL: &[&str] = &["asked", "install_names", "named", "part"];
/// Modules that personas share, and that are of none of them.
const KIT: &[&str] = &["answer", "call", "getopt", "number", "own", "process", "record"];

/// The persona, or the part of the kit, that a file belongs to.
fn room(path: &str) -> Option<&str> {
    let behind = path.strip_prefix(ROOM)?;
    behind.split('/').next().map(|first| first.strip_suffix(".rs").unwrap_or(first))
}

/// The modules below `persona` that a line of code names; of a group in braces, the first word of each member.
fn named(code: &str) -> Vec<&str> {
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let paths = code.match_indices("persona::").map(|(at, prefix)| &code[at + prefix.len()..]);
    let members = paths.flat_map(|path| match path.strip_prefix('{') {
        Some(group) => group.split(',').map(str::trim_start).collect(),
        None => vec![path],
    });
    members.map(|member| &member[..word(member)]).filter(|name| name.starts_with(char::is_lowercase)).collect()
}

/// Complaints about one file.
fn complaints(file: &File) -> Vec<String> {
    if file.path == TABLE || !file.path.starts_with("crates/sonde/src/") || !file.is_rust() {
        return Vec::new();
    }
    let own = room(&file.path);
    let code = code_of(&file.text);
    let lines = code.lines().enumerate();
    let foreign = lines.flat_map(|(index, line)| named(line).into_iter().map(move |name| (index + 1, name)));
    let foreign = foreign
        .filter(|(_, name)| *name != "self" && Some(*name) != own && !KIT.contains(name) && !OF_ALL.contains(name));
    foreign.map(|(line, name)| format!("{}:{line}: {name} is a persona of its own", file.path)).collect()
}

#[test]
fn no_persona_knows_another() {
    let complaints: Vec<String> = files().iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Number of complaints about a file of this name with this line in it.
fn count(path: &str, code: &str) -> usize {
    complaints(&File::of(&format!("crates/sonde/src/{path}"), &format!("//! A room.\n{code}"))).len()
}

#[test]
fn a_persona_that_another_names_is_a_complaint() {
    assert_eq!(count("persona/iperf3.rs", "use crate::persona::netperf::say;"), 1);
    assert_eq!(count("persona/iperf3/run.rs", "use crate::persona::{answer, iperf, netperf::say};"), 2);
    assert_eq!(count("persona/getopt.rs", "let a = crate::persona::ping::options::LETTERS;"), 1);
    assert_eq!(count("command/part.rs", "use crate::persona::sockperf::options::usage;"), 1);
}

#[test]
fn the_kit_and_its_own_files_are_none() {
    assert_eq!(count("persona/iperf3/run.rs", "use crate::persona::iperf3::options;"), 0);
    assert_eq!(count("persona/iperf3/run.rs", "use crate::persona::answer::Answer; // persona::iperf"), 0);
    assert_eq!(count("persona/iperf3.rs", "use crate::persona::{Call, Persona};"), 0);
    assert_eq!(count("command/part.rs", "use crate::persona::{self, Persona};"), 0);
    assert_eq!(count("persona.rs", "use crate::persona::netperf::CLIENT;"), 0);
}
