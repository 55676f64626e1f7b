//! A program that is slowed by a known time: each of the system calls by which it answers is held for that long before it is made.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::process::{self, Running};
use crate::servers::Server;
use crate::wait;

/// The time that an answer is held.
pub const HELD_NS: u64 = 20_000_000;

/// A server whose answers are held, until this goes out of scope.
#[derive(Debug)]
pub struct Slow {
    tracer: Option<Running>,
}

impl Slow {
    /// Holds these system calls of a server. It takes strace.
    ///
    /// # Panics
    /// Where the server cannot be traced, with what strace said.
    #[must_use]
    pub fn hold(server: &Server, calls: &str) -> Self {
        let inject = format!("inject={calls}:delay_enter={}", HELD_NS / 1_000);
        let processes = processes(server.running.id());
        let mut command = Command::new("strace");
        command.args(["-f", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &inject]);
        command.args(processes.iter().flat_map(|process| ["-p", process]));
        let tracer = process::started(&mut command);
        let held = || tracer.stderr().matches(" attached").count() >= processes.len();
        wait::until("the answers are held", || held() || tracer.has_ended());
        assert!(!tracer.has_ended(), "{}", tracer.told());
        Self { tracer: Some(tracer) }
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let Some(tracer) = self.tracer.take().filter(|tracer| !tracer.has_ended()) else { return };
        // It lets go of the server in order.
        tracer.signal(Signal::INT);
        tracer.end(process::LIMIT);
    }
}

/// A process and its children.
fn processes(first: u32) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
    std::iter::once(first.to_string()).chain(children.split_whitespace().map(str::to_owned)).collect()
}
