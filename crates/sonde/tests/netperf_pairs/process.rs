//! Runs a program to its end within a bounded time, and keeps all that it said.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use endpoint::clock::Monotonic;
use rustix::process::{Pid, Signal, kill_process};

/// How long a program may take that no test says otherwise of. Its end by this is a failure, never a result.
pub const LIMIT: Duration = Duration::from_secs(30);

/// What a program left behind.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status; `None` where a signal ended it.
    pub code: Option<i32>,
    /// Whether it had to be ended.
    pub overdue: bool,
    /// What it printed.
    pub stdout: String,
    /// What it said on standard error.
    pub stderr: String,
    /// From its start to its end.
    pub took: Duration,
}

impl Ended {
    /// Whether it said this, on either output: the original complains on standard output mostly.
    pub fn said(&self, words: &str) -> bool {
        self.stdout.contains(words) || self.stderr.contains(words)
    }

    /// All of it, for whoever reads why a test failed.
    pub fn told(&self) -> String {
        let Self { code, overdue, stdout, stderr, took } = self;
        let how = if *overdue { "had to be ended".to_owned() } else { format!("status {code:?}") };
        format!("{how} after {took:.2?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// Runs `command` to its end, which it must find within `limit`.
pub fn ended(command: &mut Command, limit: Duration) -> Ended {
    started(command).end(limit)
}

/// Starts `command` and reads what it says meanwhile.
pub fn started(command: &mut Command) -> Running {
    let began = Monotonic::now();
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = read(child.stdout.take().expect("piped"));
    let stderr = read(child.stderr.take().expect("piped"));
    Running { child, stdout, stderr, began }
}

type Reader = thread::JoinHandle<String>;

fn read(mut from: impl Read + Send + 'static) -> Reader {
    thread::spawn(move || {
        let mut octets = Vec::new();
        // What was read before an error is kept.
        let _ = from.read_to_end(&mut octets);
        String::from_utf8_lossy(&octets).into_owned()
    })
}

/// A program that runs.
pub struct Running {
    child: Child,
    stdout: Reader,
    stderr: Reader,
    began: measure::unit::Instant,
}

impl Running {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child that was not waited for");
    }

    /// Waits for its end, at most until `limit` has passed; then ends it.
    pub fn end(mut self, limit: Duration) -> Ended {
        let pid = Pid::from_child(&self.child);
        let (done, wait) = mpsc::channel::<()>();
        let watchdog = thread::spawn(move || {
            let overdue = wait.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if overdue {
                // It may have ended in this moment.
                let _ = kill_process(pid, Signal::KILL);
            }
            overdue
        });
        let status = self.child.wait().expect("a child of ours");
        let _ = done.send(());
        let overdue = watchdog.join().expect("the watchdog");
        let took = Monotonic::now().since(self.began).expect("a clock that goes on").into();
        let text = |reader: Reader| reader.join().expect("a reader");
        Ended { code: status.code(), overdue, stdout: text(self.stdout), stderr: text(self.stderr), took }
    }
}
