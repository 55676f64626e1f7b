//! The transcripts as they stand in the fixtures.

use std::path::{Path, PathBuf};

/// One run of the original.
pub struct Transcript {
    /// Its file, without the ending.
    pub name: String,
    /// True for 3.7.
    pub is_three_seven: bool,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Exit status.
    pub status: i32,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sockperf")
}

/// The text of a file.
pub fn file(name: &str) -> String {
    let text = std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.replace("<ESC>", "\x1b")
}

/// The names of all runs, sorted.
pub fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the fixtures");
    let names = entries.filter_map(|entry| entry.expect("a file").file_name().into_string().ok());
    let runs = names.filter_map(|name| name.strip_suffix(".txt").map(str::to_owned)).filter(|name| name != "about");
    let mut names: Vec<String> = runs.collect();
    names.sort_unstable();
    names
}

impl Transcript {
    /// The run of this name.
    pub fn of(name: &str) -> Self {
        let text = file(&format!("{name}.txt"));
        let (head, rest) = text.split_once("--- stdout\n").expect("a run");
        let (stdout, status) = rest.rsplit_once("--- exit status ").expect("a run");
        let line = |begin| head.lines().find_map(|line| line.strip_prefix(begin)).expect("a head");
        Self {
            name: name.to_owned(),
            is_three_seven: line("# sockperf ").starts_with("3.7"),
            words: line("$ sockperf").split_whitespace().map(str::to_owned).collect(),
            stdout: stdout.to_owned(),
            status: status.trim().parse().expect("a status"),
        }
    }

    /// Returns true where a word is among its own.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|of| of == word)
    }

    /// Value behind an option, joined to it or not.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
            "" => self.words.get(at + 1).map(String::as_str),
            joined => joined.strip_prefix('='),
        })
    }

    /// The same as a number, of C's kind.
    pub fn number(&self, option: &str) -> Option<u64> {
        let value = self.value(option)?;
        value.strip_prefix("0x").map_or_else(|| value.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok())
    }
}
