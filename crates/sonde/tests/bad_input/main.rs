//! Faults that a user meets: each is a clear error or a counted event, within bounded time, and the results until then are
//! kept and printed.
//!
//! The binary is driven as users drive it; the far side is `sonde serve`, a stranger, or a reflector that misbehaves.

mod agreement;
mod crowd;
mod files;
mod gone;
mod interrupted;
mod names;
mod nonsense;
mod rogue;
mod search;
mod sizes;
mod strangers;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use endpoint::clock::Monotonic;
use measure::unit::Instant;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// `sonde`, where nothing of the caller's environment decides about colours, widths or keys.
fn sonde(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
    let unwanted =
        ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "SONDE_KEY_FILE", "NOTIFY_SOCKET", "LC_ALL", "LANG"];
    for name in unwanted {
        command.env_remove(name);
    }
    command.env("COLUMNS", "100").args(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// No end by itself takes as long, nor does a patience of the program: what ends within it was ended by what the test did,
/// however busy the machine is.
const SOON: Duration = Duration::from_mins(1);

/// The time from `began` to now.
fn since(began: Instant) -> Duration {
    Monotonic::now().since(began).unwrap().into()
}

/// Output and status of a command that ended by itself.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
}

impl Ended {
    fn of(command: &mut Command) -> Self {
        let began = Monotonic::now();
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |octets| String::from_utf8(octets).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr), took: since(began) }
    }

    /// The one document on standard output.
    fn document(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// The record: it must be one, and its counts must add up.
    fn record(&self) -> Value {
        let record = self.document();
        assert_eq!(record["format"], "sonde-record", "{record:#}");
        balanced(&record);
        record
    }
}

/// Runs `sonde rtt` against `address`, as JSON.
fn rtt(address: &str, words: &[&str]) -> Ended {
    Ended::of(&mut sonde(&[&["rtt", address, "--json"], words].concat()))
}

/// Every scheduled request has exactly one end.
fn balanced(record: &Value) {
    let sum: u64 =
        ["answered", "late", "lost", "refused", "corrupt", "send_failed"].map(|fate| count(record, fate)).iter().sum();
    assert_eq!(count(record, "scheduled"), sum, "{:#}", record["outcome"]["counts"]);
}

fn count(record: &Value, name: &str) -> u64 {
    record["outcome"]["counts"][name].as_u64().unwrap_or_else(|| panic!("{name}: {:#}", record["outcome"]["counts"]))
}

/// Runs `sonde rtt` against `address` and gives back its error: on standard error for people, and the same as a document.
fn error(address: &str, words: &[&str]) -> (Ended, Value) {
    let ended = rtt(address, words);
    let document = ended.document();
    assert_eq!(document["format"], "sonde-error", "{document:#}");
    let error = document["error"].clone();
    let what = error["what"].as_str().unwrap();
    assert!(ended.stderr.starts_with(&format!("error: {what}\n")), "{}", ended.stderr);
    (ended, error)
}

/// Asserts an error: exit status, peer, side, and words that must be in it.
fn assert_error(address: &str, words: &[&str], code: i32, side: &str, said: &[&str]) -> Ended {
    let (ended, error) = error(address, words);
    assert_eq!(ended.code, Some(code), "{error:#}");
    assert_eq!((error["to_whom"].as_str(), error["side"].as_str()), (Some(address), Some(side)), "{error:#}");
    for words in said {
        assert!(ended.stderr.contains(words), "{words:?} is not in {}", ended.stderr);
    }
    assert!(ended.stderr.contains("\ntry:   "), "{}", ended.stderr);
    ended
}

/// A `sonde serve` of its own port; killed when it goes out of scope.
struct Serve {
    child: Child,
    address: String,
}

impl Serve {
    fn start(words: &[&str]) -> Self {
        let port: &[&str] = if words.contains(&"--port") { &[] } else { &["--port", "0"] };
        let mut child = sonde(&[&["serve"], port, words].concat()).stdout(Stdio::null()).spawn().unwrap();
        let mut status = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut status).unwrap();
        let rest = status.split("listening on ").nth(1).unwrap_or_else(|| panic!("{status}"));
        let address =
            rest.split([' ', ',']).next().unwrap().replace("[::]", "127.0.0.1").replace("0.0.0.0", "127.0.0.1");
        Self { child, address }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Its open descriptors.
    fn descriptors(&self) -> usize {
        entries(self.child.id(), "fd").len()
    }

    /// Its threads that attend to a connection or a flow, or wait a while for the next one.
    fn session_threads(&self) -> usize {
        threads(self.child.id()).filter(|name| name == "sonde-session").count()
    }

    /// A line of `/proc/<pid>/status` in KiB.
    fn memory_kib(&self, name: &str) -> u64 {
        memory_kib(self.child.id(), name)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // A stopped process dies of this too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Entries of a folder of a process's.
fn entries(pid: u32, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new("/proc").join(pid.to_string()).join(folder);
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The names of a process's threads.
fn threads(pid: u32) -> impl Iterator<Item = String> {
    let names = entries(pid, "task").into_iter().filter_map(|task| std::fs::read_to_string(task.join("comm")).ok());
    names.map(|name| name.trim().to_owned())
}

fn memory_kib(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{status}"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A measurement that tells its events as lines, so that a test can act at the right moment.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    fn start(words: &[&str]) -> Self {
        Self::of(&mut sonde(&[&["rtt", "--json-lines"], words].concat()))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Returns true where it has a thread of this name now.
    fn has_thread(&self, name: &str) -> bool {
        threads(self.child.id()).any(|thread| thread == name)
    }

    /// The next event of this name; others before it are passed over.
    fn event(&mut self, name: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the stream ended before `{name}`");
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["event"] == name {
                return event["data"].clone();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end: status, last event (name and data), what it said on standard error.
    fn end(mut self) -> (Option<i32>, Value, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let last = rest.lines().last().unwrap_or_else(|| panic!("no event came any more: {said}"));
        (self.child.wait().unwrap().code(), serde_json::from_str(last).unwrap(), said)
    }
}
