//! Running a program to its end, but not for ever: what it printed, what it said, and how it ended.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::stop::Stop;
use measure::unit::Nanos;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often a program is looked after.
const LOOK: Nanos = Nanos::millis(5);
/// How long a program that was told to end may take, before it is killed.
const GRACE: Nanos = Nanos::millis(500);
/// How long a pipe may stay open behind the program: who inherited it, as the background half of a shared `ssh`, keeps it open.
const TAIL: Nanos = Nanos::millis(250);
/// Bytes that are kept of each pipe; what comes beyond is read and dropped, for the other end may never be quiet.
const KEPT: usize = 1 << 20;

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How.
    pub(crate) status: ExitStatus,
    /// What it printed on standard output.
    pub(crate) printed: String,
    /// What it said on standard error.
    pub(crate) said: String,
}

/// Why there is no end to tell of.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// It could not be started.
    NotStarted(io::Error),
    /// It took too long and was killed; what it had said.
    TooLong(String),
    /// It was asked to stop and was killed.
    Stopped,
}

impl Finished {
    /// The last line it said that is not empty.
    pub(crate) fn last_words(&self) -> Option<&str> {
        last_line(&self.said)
    }
}

/// The last line of `text` that is not empty.
pub(crate) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

/// Runs `command` with this standard input, for `patience` at most and until `stop` asks.
///
/// # Errors
/// Where it did not come to an end of its own.
pub(crate) fn run(
    command: &mut Command,
    input: impl Into<Stdio>,
    patience: Nanos,
    stop: &Stop,
) -> Result<Finished, Unfinished> {
    if stop.requested() {
        return Err(Unfinished::Stopped);
    }
    // A group of its own: Ctrl-C at a terminal is ours to act on, and what it started ends with it.
    let spawned = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    let mut child = spawned.map_err(Unfinished::NotStarted)?;
    let printed = child.stdout.take().map(Pipe::read);
    let said = child.stderr.take().map(Pipe::read);
    let ended = wait(&mut child, patience, stop);
    let text = |pipe: Option<Pipe>| pipe.map(Pipe::text).unwrap_or_default();
    let (printed, said) = (text(printed), text(said));
    match ended {
        Ok(status) => Ok(Finished { status, printed, said }),
        Err(Waited::TooLong) => Err(Unfinished::TooLong(said)),
        Err(Waited::Stopped) => Err(Unfinished::Stopped),
        Err(Waited::Unknown(error)) => Err(Unfinished::NotStarted(error)),
    }
}

/// Why the waiting ended before the program.
enum Waited {
    TooLong,
    Stopped,
    Unknown(io::Error),
}

fn wait(child: &mut Child, patience: Nanos, stop: &Stop) -> Result<ExitStatus, Waited> {
    let started = Monotonic::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(Waited::Unknown(error)),
        }
        let now = Monotonic::now();
        let why = if stop.requested() {
            Waited::Stopped
        } else if now.since(started) > Some(patience) {
            Waited::TooLong
        } else {
            pace::sleep_until(now.after(LOOK));
            continue;
        };
        end(child);
        return Err(why);
    }
}

/// Ends it and all of its group, first by asking.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // A child that was not waited for keeps its number, so nobody else can be meant.
    let _ = kill_process_group(group, Signal::TERM);
    let asked = Monotonic::now();
    let gone = || waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG);
    while matches!(gone(), Ok(None)) && Monotonic::now().since(asked) < Some(GRACE) {
        pace::sleep_until(Monotonic::now().after(LOOK));
    }
    // What it started may stay where it went.
    let _ = kill_process_group(group, Signal::KILL);
    let killed = Monotonic::now();
    while matches!(child.try_wait(), Ok(None)) && Monotonic::now().since(killed) < Some(GRACE) {
        pace::sleep_until(Monotonic::now().after(LOOK));
    }
}

/// A pipe that is read by a thread of its own, so that neither of two can fill while the other is read.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    closed: Arc<AtomicBool>,
}

impl Pipe {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let pipe = Self { bytes: Arc::default(), closed: Arc::default() };
        let (bytes, closed) = (Arc::clone(&pipe.bytes), Arc::clone(&pipe.closed));
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut part) {
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT.saturating_sub(bytes.len());
                bytes.extend_from_slice(&part[..length.min(room)]);
            }
            closed.store(true, Ordering::Release);
        });
        pipe
    }

    /// What came of it.
    fn text(self) -> String {
        let since = Monotonic::now();
        while !self.closed.load(Ordering::Acquire) && Monotonic::now().since(since) < Some(TAIL) {
            pace::sleep_until(Monotonic::now().after(Nanos::millis(1)));
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_pipes_and_the_status_come_back() {
        let finished =
            run(&mut shell("echo out; echo err >&2; exit 3"), Stdio::null(), Nanos::secs(60), &Stop::default());
        let finished = finished.unwrap();
        assert_eq!((finished.printed.as_str(), finished.said.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn one_that_hangs_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("trap '' TERM; sleep 600 & echo $! > {}; wait", file.display());
        let ended = run(&mut shell(&script), Stdio::null(), Nanos::millis(300), &Stop::default());
        assert!(matches!(ended, Err(Unfinished::TooLong(_))), "{ended:?}");
        let pid: u32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z") || !stat.contains("(sleep)"), "{stat}");
    }

    #[test]
    fn a_stop_is_heeded() {
        let stop = Stop::default();
        let asked = stop.clone();
        let asker = thread::spawn(move || {
            pace::sleep_until(Monotonic::now().after(Nanos::millis(50)));
            asked.request();
        });
        let ended = run(&mut shell("exec sleep 600"), Stdio::null(), Nanos::secs(600), &stop);
        assert!(matches!(ended, Err(Unfinished::Stopped)), "{ended:?}");
        asker.join().unwrap();
    }

    #[test]
    fn who_keeps_the_pipe_open_behind_it_does_not_hold_us_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; echo done", file.display());
        let finished = run(&mut shell(&script), Stdio::null(), Nanos::secs(300), &Stop::default()).unwrap();
        assert_eq!(finished.printed, "done\n");
        let pid: i32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn what_never_ends_to_print_is_kept_in_part() {
        let finished =
            run(&mut shell("head -c 3000000 /dev/zero"), Stdio::null(), Nanos::secs(300), &Stop::default()).unwrap();
        assert_eq!(finished.printed.len(), KEPT);
    }

    #[test]
    fn a_program_that_is_not_there_is_not_started() {
        let ended = run(&mut Command::new("/nowhere/sonde"), Stdio::null(), Nanos::secs(1), &Stop::default());
        assert!(matches!(ended, Err(Unfinished::NotStarted(_))));
    }
}
