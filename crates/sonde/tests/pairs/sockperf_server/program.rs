//! A server of ours as a process, and the original's client.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use testbed::process::{self, Ended, LIMIT, Running};

/// `sonde sockperf` without the environment of whoever runs the tests.
pub fn ours() -> Command {
    bare(Command::new(assert_cmd::cargo::cargo_bin!("sonde")))
}

/// The same by any command that runs it.
pub fn bare(mut command: Command) -> Command {
    command.arg("sockperf");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "SEED"] {
        command.env_remove(name);
    }
    command
}

/// A run of ours to its end.
pub fn ended(words: &[&str]) -> Ended {
    process::ended(ours().args(words), LIMIT)
}

/// A server of ours that serves; killed when it goes out of scope.
pub struct Server {
    running: Running,
    /// Its output so far.
    pub said: String,
}

impl Server {
    /// Started with these words, on a port of its own.
    pub fn start(words: &[&str]) -> Self {
        Self::of(ours(), &[&["server", "-p", "0"], words].concat(), 1)
    }

    /// Started by `command` with these words; it serves once so many threads say so.
    pub fn of(mut command: Command, words: &[&str], threads: usize) -> Self {
        let mut server = Self { running: process::started(command.args(words)), said: String::new() };
        for _ in 0..threads {
            server.until("[tid ");
        }
        server
    }

    /// Reads on until a line holds this.
    pub fn until(&mut self, holds: &str) {
        let read = self.said.len();
        let mut end = None;
        self.running.until(holds, |said| {
            let line = said[read..].find(holds).and_then(|at| said[read + at..].find('\n').map(|rest| at + rest));
            end = line.map(|length| read + length + 1);
            end.is_some()
        });
        self.running.stdout()[..end.expect("it came to it")].clone_into(&mut self.said);
    }

    /// The ports it listens at, in their order.
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.said.split("PORT = ").skip(1);
        ports.map(|rest| rest.split_whitespace().next().unwrap_or_default().parse().expect("a port")).collect()
    }

    /// Ends it by `signal`: its status, absent where it had to be killed, and all that it has said on either output.
    pub fn end(self, signal: Signal) -> (Option<i32>, String, String) {
        self.running.signal(signal);
        let ended = self.running.end(LIMIT);
        (ended.code, ended.stdout, ended.stderr)
    }
}

/// Returns true where one of the original's clients is on the path; where not, that is said aloud.
pub fn is_here(name: &str, what: &str) -> bool {
    let here = Command::new(name).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !here {
        testbed::skip::aloud(&format!("{what}: there is no {name} on the path"));
    }
    here
}

/// A folder with one file.
pub fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    let path: &Path = &path;
    (folder, path.display().to_string())
}
