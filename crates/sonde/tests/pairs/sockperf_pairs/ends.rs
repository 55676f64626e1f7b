//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::Signal;
use testbed::process::{self, Ended, LIMIT, Running};

/// Program at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// This project's binary, called by the original's name.
    Ours,
    /// The original, as the distribution builds it.
    Real,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Real => "real",
        })
    }
}

/// The four pairings, client first.
pub const PAIRINGS: [(End, End); 4] =
    [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Real, End::Ours), (End::Real, End::Real)];

impl End {
    /// Its program.
    pub fn program(self) -> Command {
        let mut command = match self {
            Self::Ours => Command::new(assert_cmd::cargo::cargo_bin!("sonde")),
            Self::Real => Command::new("sockperf"),
        };
        command.arg0("sockperf");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "SEED", "LC_ALL", "LANG"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns true where it can be run; where not, that is said aloud.
    pub fn is_here(self, what: &str) -> bool {
        let here = self == Self::Ours || installed();
        if !here {
            testbed::skip::aloud(&format!("{what} with the original: sockperf is not installed"));
        }
        here
    }

    /// Runs this end's client to its end, bounded.
    pub fn client(self, words: &[impl AsRef<str>]) -> Ended {
        self.running(words).end(LIMIT)
    }

    /// Starts this end's client.
    pub fn running(self, words: &[impl AsRef<str>]) -> Running {
        let mut command = self.program();
        command.args(words.iter().map(AsRef::as_ref));
        process::started(&mut command)
    }
}

/// A run of our client to its end.
pub fn ours(words: &str) -> Ended {
    End::Ours.client(&words.split_whitespace().collect::<Vec<_>>())
}

fn installed() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let runs = || Command::new("sockperf").arg("--version").stdin(Stdio::null()).output().is_ok();
    *HERE.get_or_init(runs)
}

/// A server in the foreground; ended when it goes out of scope.
pub struct Server(Running);

impl Server {
    /// Starts one of `end` with these words, and returns when it serves.
    pub fn start(end: End, words: &[&str]) -> Self {
        Self::of(end, &[&["server"], words].concat())
    }

    /// The same with all words of the command, its name among them.
    pub fn of(end: End, words: &[impl AsRef<str>]) -> Self {
        let running = end.running(words);
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let threads = words.iter().position(|word| *word == "--threads-num").and_then(|at| words[at + 1].parse().ok());
        let threads: usize = threads.unwrap_or(1);
        // Each of its threads says that it waits, in a line of its own.
        running.until("serving", |said| said.split_inclusive('\n').filter(|line| serves(line)).count() >= threads);
        Self(running)
    }

    /// Ends it. Returns the messages that it says it took; `None` where it says nothing of them.
    pub fn end(self) -> Option<u64> {
        self.end_told().0
    }

    /// The same, with all of its standard output.
    pub fn end_told(self) -> (Option<u64>, String) {
        self.0.signal(Signal::INT);
        let ended = self.0.end(LIMIT);
        assert!(ended.code == Some(0) && !ended.overdue, "{}", ended.told());
        let total = |line: &str| {
            let (_, rest) = line.split_once("Total ")?;
            rest.split_once(" messages received and handled")?.0.parse().ok()
        };
        (ended.stdout.lines().find_map(total), ended.stdout)
    }

    /// Ends it without a word.
    pub fn kill(&self) {
        self.0.signal(Signal::KILL);
    }
}

/// Returns true for a whole line that says that a thread waits for messages.
fn serves(line: &str) -> bool {
    line.contains("[tid ") && line.ends_with('\n')
}
