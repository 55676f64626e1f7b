//! Transcripts of the original as fixtures: the command line, what was printed, the exit status.

/// One run of the original.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The program's name, which tells its build.
    pub program: String,
    /// The words behind it.
    pub words: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status.
    pub status: u8,
}

impl Transcript {
    /// Reads a fixture by name.
    pub fn of(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/netperf");
        let text = std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap();
        let (command, rest) = text.split_once("--- stdout\n").unwrap();
        let (stdout, rest) = rest.split_once("--- stderr\n").unwrap();
        let (stderr, status) = rest.rsplit_once("--- exit status ").unwrap();
        let command = command.lines().find_map(|line| line.strip_prefix("$ ")).unwrap();
        let mut words = words(command);
        Self {
            program: words.remove(0),
            words,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            status: status.trim().parse().unwrap(),
        }
    }
}

/// Words of a shell's line with single quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words
}
