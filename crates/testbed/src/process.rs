//! Runs a program to its end within a bounded time, or beside a test, and keeps all that it said.
//!
//! Each wait is for an event of that program: a line it prints, a socket it binds, its end. It has a bound so generous that
//! only a program that hangs meets it, and fails with everything that was said until then.

use std::io::Read;
use std::mem;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use measure::method::Carrier;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::port;

/// Longest run of a program where the test sets no other. Its end by this is a failure, never a result: only a program that hangs
/// takes as long, also on a machine that others keep busy.
pub const LIMIT: Duration = Duration::from_mins(10);

/// Time between two looks at a condition that nothing announces: that a socket is bound.
const LOOK: Duration = Duration::from_millis(5);

/// End of a program and all that it printed.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status; `None` where a signal ended it.
    pub code: Option<i32>,
    /// True where it had to be ended, or left a process behind that kept its outputs open.
    pub overdue: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// From its start to its end.
    pub took: Duration,
}

impl Ended {
    /// Returns true where it printed this, on either output.
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
///
/// # Panics
/// Where it cannot be started.
pub fn ended(command: &mut Command, limit: Duration) -> Ended {
    started(command).end(limit)
}

/// Copies `program` to `path`, where anybody may run it. Another process writes the copy: a file that this one has open for writing
/// is busy, and cannot be run, for as long as a child has it that another thread is just starting.
///
/// # Panics
/// Where it cannot be copied.
pub fn copy_program(program: &Path, path: &Path) {
    let copied = Command::new("install").args(["-m", "755"]).args([program, path]).status();
    assert!(copied.as_ref().is_ok_and(ExitStatus::success), "{}: {copied:?}", path.display());
}

/// Starts `command`, in a process group of its own, and reads what it says meanwhile.
///
/// # Panics
/// Where it cannot be started.
pub fn started(command: &mut Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let began = now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let watched = Arc::new(Watched::default());
    watched.lock().open = 2;
    read(child.stdout.take().expect("piped"), &watched, |seen| &mut seen.stdout);
    read(child.stderr.take().expect("piped"), &watched, |seen| &mut seen.stderr);
    await_end(Pid::from_child(&child), &watched);
    Running { child, what: format!("{command:?}"), watched, began, reaped: false }
}

/// State of a program while it runs.
#[derive(Debug, Default)]
struct Seen {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Outputs that somebody may still write to.
    open: u8,
    /// Instant of its end; `None`: it runs.
    gone: Option<Instant>,
}

#[derive(Debug, Default)]
struct Watched {
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `holds`, at most until `limit` has passed; whether it did.
    fn until(&self, limit: Duration, mut holds: impl FnMut(&Seen) -> bool) -> bool {
        let began = now();
        let mut seen = self.lock();
        while !holds(&seen) {
            let Some(left) = limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else { return false };
            seen = self.changed.wait_timeout(seen, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

fn read(mut from: impl Read + Send + 'static, watched: &Arc<Watched>, into: fn(&mut Seen) -> &mut Vec<u8>) {
    let watched = Arc::clone(watched);
    thread::spawn(move || {
        let mut piece = [0; 16 << 10];
        // Octets read before an error are kept.
        while let Ok(length @ 1..) = from.read(&mut piece) {
            watched.change(|seen| into(seen).extend_from_slice(&piece[..length]));
        }
        watched.change(|seen| seen.open -= 1);
    });
}

/// Notes when the program ends, and leaves its status to who started it: its number is nobody else's until then.
fn await_end(pid: Pid, watched: &Arc<Watched>) {
    let watched = Arc::clone(watched);
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), options), Err(Errno::INTR)) {}
        watched.change(|seen| seen.gone = Some(now()));
    });
}

/// The clock by which a wait is given up.
#[expect(clippy::disallowed_methods, reason = "bounds a wait for another program; nothing is measured by it")]
fn now() -> Instant {
    Instant::now()
}

/// A program that runs; ended, with whatever it started, when it goes out of scope.
#[derive(Debug)]
pub struct Running {
    child: Child,
    what: String,
    watched: Arc<Watched>,
    began: Instant,
    reaped: bool,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        text(&self.watched.lock().stdout)
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        text(&self.watched.lock().stderr)
    }

    /// Returns true where it has ended.
    pub fn has_ended(&self) -> bool {
        self.watched.lock().gone.is_some()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// Where that is not permitted.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child that was not waited for");
    }

    /// Sends it and whatever it started a signal.
    ///
    /// # Panics
    /// Where that is not permitted.
    pub fn signal_all(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.child), signal).expect("a group of its own");
    }

    /// Waits until `holds` of its standard output so far.
    ///
    /// # Panics
    /// Where it ends before, or does not come to that within [`LIMIT`]; with all that it said.
    pub fn until(&self, what: &str, holds: impl FnMut(&str) -> bool) {
        assert!(self.comes_to(LIMIT, holds), "{}: not come to: {what}\n{}", self.what, self.told());
    }

    /// Waits until `holds` of its standard output so far; false where it ends before, or does not come to that within `limit`.
    pub fn comes_to(&self, limit: Duration, mut holds: impl FnMut(&str) -> bool) -> bool {
        let mut held = false;
        self.watched.until(limit, |seen| {
            // Its end is looked at before its output: the last that it printed is not missed.
            let gone = seen.gone.is_some() && seen.open == 0;
            held = holds(&text(&seen.stdout));
            held || gone
        });
        held
    }

    /// Waits until it listens for connections at `port`, or takes datagrams there, by the kernel's table.
    ///
    /// # Panics
    /// As [`Self::until`].
    pub fn until_listening(&self, carrier: Carrier, port: u16) {
        self.until(&format!("listening at port {port}, {carrier}"), |_| port::listens(carrier, port));
    }

    /// The same by the table of the network that it is in, which may be another than ours.
    ///
    /// # Panics
    /// As [`Self::until`].
    pub fn until_it_listens(&self, carrier: Carrier, port: u16) {
        let what = format!("listening at port {port}, {carrier}");
        self.until(&what, |_| port::listens_near(self.id(), carrier, port));
    }

    /// Its state and its output so far, for whoever reads why a test failed.
    pub fn told(&self) -> String {
        let seen = self.watched.lock();
        let how = if seen.gone.is_some() { "it has ended" } else { "it runs" };
        format!("{how}\n--- stdout\n{}\n--- stderr\n{}", text(&seen.stdout), text(&seen.stderr))
    }

    /// Waits for its end, at most until `limit` has passed; then ends it.
    ///
    /// # Panics
    /// Where its status cannot be had.
    pub fn end(mut self, limit: Duration) -> Ended {
        let mut overdue = !self.watched.until(limit, |seen| seen.gone.is_some());
        if overdue {
            self.kill();
        }
        let status = self.child.wait().expect("a child of ours");
        self.reaped = true;
        let took = self.watched.lock().gone.map_or_else(|| self.began.elapsed(), |gone| gone - self.began);
        // Its last output is on its way; a process that it left behind may hold the pipe for ever.
        overdue |= !self.watched.until(limit, |seen| seen.open == 0);
        let mut seen = self.watched.lock();
        let [stdout, stderr] = [mem::take(&mut seen.stdout), mem::take(&mut seen.stderr)].map(|said| text(&said));
        Ended { code: status.code(), overdue, stdout, stderr, took }
    }

    /// Ends it, and whatever it started.
    fn kill(&self) {
        // It may have ended in this moment.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::wait;

    fn shell(words: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", words]);
        command
    }

    #[test]
    fn what_it_said_and_how_it_ended_is_kept() {
        let ended = ended(&mut shell("echo out; echo err >&2; exit 3"), LIMIT);
        assert_eq!((ended.code, ended.overdue), (Some(3), false));
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert!(ended.said("out") && ended.said("err") && ended.told().contains("status Some(3)"));
    }

    #[test]
    fn one_that_hangs_is_ended_with_whatever_it_started() {
        let ended = ended(&mut shell("echo first; sleep 1000 & wait"), Duration::from_millis(50));
        assert_eq!((ended.code, ended.overdue), (None, true));
    }

    #[test]
    fn one_that_leaves_its_outputs_to_another_is_overdue() {
        let running = started(&mut shell("sleep 1000 & exit 0"));
        let group = Pid::from_child(&running.child);
        wait::until("its end", || running.watched.lock().gone.is_some());
        let ended = running.end(Duration::from_millis(50));
        assert_eq!((ended.code, ended.overdue), (Some(0), true));
        kill_process_group(group, Signal::KILL).expect("the one it left");
    }

    #[test]
    fn a_line_is_waited_for_and_a_signal_is_sent() {
        let running = started(&mut shell("trap 'echo asked; exit 0' INT; echo ready; while :; do sleep 0.01; done"));
        running.until("ready", |said| said.contains("ready"));
        running.signal(Signal::INT);
        let ended = running.end(LIMIT);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "ready\nasked\n"));
    }

    #[test]
    fn one_that_ends_before_fails_with_all_that_it_said() {
        let running = started(&mut shell("echo nothing; echo a reason >&2"));
        let waited = catch_unwind(AssertUnwindSafe(|| running.until_listening(Carrier::Tcp, port::free())));
        let why = waited.expect_err("it never listens");
        let why = why.downcast_ref::<String>().expect("a sentence");
        assert!(why.contains("nothing") && why.contains("a reason") && why.contains("listening at port"), "{why}");
    }

    #[test]
    fn one_that_goes_out_of_scope_is_ended() {
        let running = started(&mut shell("sleep 1000"));
        let pid = Pid::from_child(&running.child);
        drop(running);
        assert_eq!(rustix::process::test_kill_process(pid), Err(Errno::SRCH));
    }
}
