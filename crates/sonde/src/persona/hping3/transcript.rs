//! Runs of the original as fixtures: command line, both streams, exit status.

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hping3");

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The file that it stands in.
    pub file: String,
    /// The words behind the program's name.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status, as written.
    pub status: String,
}

/// All of them, in the order of their names.
pub fn all() -> Vec<Run> {
    let entries = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name != "about.txt").collect();
    names.sort_unstable();
    names.iter().map(|name| one(name)).collect()
}

/// The run of a name.
pub fn one(name: &str) -> Run {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}")).unwrap();
    let (command, rest) = text.split_once("\n----- stdout\n").unwrap();
    let (stdout, rest) = rest.split_once("----- stderr\n").unwrap();
    let (stderr, status) = rest.split_once("----- exit status ").unwrap();
    let words = command.strip_prefix("$ hping3").unwrap().split_whitespace().map(str::to_owned).collect();
    Run {
        file: name.to_owned(),
        words,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        status: status.trim_end().to_owned(),
    }
}
