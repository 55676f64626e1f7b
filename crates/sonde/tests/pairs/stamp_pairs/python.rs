//! The other implementation, and ours, as processes.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stamp").join(name)
}

/// Python with a script; `None`, said aloud, where there is none on this machine.
fn python(name: &str, words: &[&str]) -> Option<Child> {
    let mut command = Command::new("python3");
    command.arg(script(name)).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            testbed::skip::aloud(&format!("STAMP against another implementation: python3: {error}"));
            None
        }
    }
}

/// A session-reflector in Python; ended when it goes out of scope.
pub struct Reflector {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub host: &'static str,
    pub port: u16,
}

impl Reflector {
    pub fn start(host: &'static str, words: &[&str]) -> Option<Self> {
        let mut child = python("reflector.py", &[&["--bind", host], words].concat())?;
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        stdout.read_line(&mut port).unwrap();
        let port = port.trim().parse().unwrap_or_else(|_| panic!("no port: {port:?}"));
        Some(Self { child, stdout, host, port })
    }

    /// Ends it; what it has to say.
    pub fn end(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        // Ended already where the test went well.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// Results of a session-sender in Python.
pub fn sender(host: &str, port: u16, words: &[&str]) -> Option<Value> {
    let child = python("sender.py", &[&[host, &port.to_string()], words].concat())?;
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// `sonde serve --stamp` at one address, on a port that the system chose.
pub struct Serve {
    child: Child,
    pub port: u16,
}

impl Serve {
    pub fn start(host: &str, words: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
        command.args(["serve", "--listen", host, "--port", "0", "--stamp", "--stamp-port", "0"]).args(words);
        for name in ["SONDE_KEY_FILE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.map_while(Result::ok).find(|line| line.contains("session-reflector of STAMP on "));
        let line = line.expect("it says where it listens");
        let port = line.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Self { child, port }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}
