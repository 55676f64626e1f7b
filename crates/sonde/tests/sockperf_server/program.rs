//! A server of ours as a process, and the original's client.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{self, Ended, LIMIT};

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
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it has printed so far.
    pub said: String,
}

impl Server {
    /// Started with these words, on a port of its own.
    pub fn start(words: &[&str]) -> Self {
        Self::of(ours(), &[&["server", "-p", "0"], words].concat(), 1)
    }

    /// Started by `command` with these words; it serves once so many threads say so.
    pub fn of(mut command: Command, words: &[&str], threads: usize) -> Self {
        let spawned = command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut server = Self { child, stdout, said: String::new() };
        for _ in 0..threads {
            server.until("[tid ");
        }
        server
    }

    /// Reads on until a line holds this.
    pub fn until(&mut self, holds: &str) {
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).expect("text");
            self.said += &line;
            if line.contains(holds) {
                return;
            }
            assert!(length > 0, "it never said {holds}: {}", self.said);
        }
    }

    /// The ports it listens at, in their order.
    pub fn ports(&self) -> Vec<u16> {
        let ports = self.said.split("PORT = ").skip(1);
        ports.map(|rest| rest.split_whitespace().next().unwrap_or_default().parse().expect("a port")).collect()
    }

    /// Ends it by `signal`: its status, and all that it has said on either output.
    pub fn end(mut self, signal: Signal) -> (Option<i32>, String, String) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child that was not waited for");
        let mut stderr = String::new();
        self.stdout.read_to_string(&mut self.said).expect("text");
        self.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
        let status = self.child.wait().expect("a child of ours");
        (status.code(), std::mem::take(&mut self.said), stderr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether one of the original's clients is on the path; where not, that is said aloud.
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
