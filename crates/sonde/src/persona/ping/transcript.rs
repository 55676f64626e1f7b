//! Transcripts of the original as fixtures (iputils-ping 20221126, Debian 12).

use testbed::console::Console;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ping");

/// A run by name.
pub fn of(name: &str) -> Console {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}.txt")).unwrap();
    Console::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// The names of all runs.
pub fn names() -> Vec<String> {
    let files = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|name| name.strip_suffix(".txt").map(str::to_owned)).collect();
    names.sort_unstable();
    names
}
