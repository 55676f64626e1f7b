//! Running a program to its end, but not for ever: what it printed, what it said, and how it ended.
//!
//! Where it leads to another host it is waited for by silence: one that goes on telling, or reading, is only slow.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use measure::unit::{Instant, Nanos};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open, waitid,
};

/// Time between two looks at a program whose end is no event, where the system has no descriptor left.
const LOOK: Nanos = Nanos::millis(5);
/// Longest wait for a program that was killed: one that waits for a disk may stay.
const DEATH: Nanos = Nanos::millis(500);
/// Longest time that a pipe may stay open behind the program: a process that inherited it, as the background half of a
/// shared `ssh`, keeps it open.
const TAIL: Nanos = Nanos::millis(250);
/// Parts of a pipe that are read before anything else is looked at.
const AT_A_TIME: usize = 64;

/// Longest wait for a program.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Since anything came of it last, or since it read anything.
    silence: Nanos,
    /// In all.
    whole: Nanos,
    /// Its input: the place in it, which the program moves, is a sign of life.
    input: Option<File>,
}

/// Factor by which a program that is slow, and not silent, is waited for longer.
const SLOW: u64 = 4;

impl Patience {
    /// For so long without a sign of life, and in all for four times as long. `input` is what it reads, if that is a file.
    pub(crate) fn of_silence(silence: Nanos, input: Option<File>) -> Self {
        Self { silence, whole: Nanos(silence.0.saturating_mul(SLOW)), input }
    }

    /// Octets of its input that it has read; `None` where that cannot be read.
    fn place(&self) -> Option<u64> {
        self.input.as_ref().and_then(|input| rustix::fs::tell(input).ok())
    }
}

impl From<Nanos> for Patience {
    /// For so long in all, whatever it tells meanwhile.
    fn from(whole: Nanos) -> Self {
        Self { silence: whole, whole, input: None }
    }
}

/// Way in which a program is brought to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Asks it to end.
    pub(crate) ask: fn(&Ending),
    /// Longest wait for one that was asked, before it is killed with its group.
    pub(crate) grace: Nanos,
    /// Octets that are kept of each pipe; what comes beyond is read and dropped, for the other end may never be quiet.
    pub(crate) kept: usize,
}

impl Manner {
    /// The manner for a program that nobody needs any longer: it and all of its group are asked.
    const AT_ONCE: Self =
        Self { ask: |ending| ending.signal_group(Signal::TERM), grace: Nanos::millis(500), kept: 1 << 20 };
}

/// Output and end of a program.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Its exit status; `None` where it was killed and is there all the same.
    status: Option<ExitStatus>,
    /// Its standard output.
    pub(crate) printed: String,
    /// Its standard error.
    pub(crate) said: String,
    /// Reason for which it was asked to end.
    cut: Option<Cut>,
    /// True where it did not end when it was asked, and was killed.
    pub(crate) killed: bool,
}

impl Ran {
    /// Limit that it exceeded, where it was asked to end for that.
    pub(crate) fn took(&self) -> Option<Took> {
        match self.cut {
            Some(Cut::TooLong(took)) => Some(took),
            Some(Cut::Stopped) | None => None,
        }
    }
}

/// Reason for which a program is asked to end.
#[derive(Clone, Copy, Debug)]
enum Cut {
    TooLong(Took),
    Stopped,
}

/// A program that has ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its exit status.
    pub(crate) status: ExitStatus,
    /// Its standard output.
    pub(crate) printed: String,
    /// Its standard error.
    pub(crate) said: String,
}

/// Reason for which there is no end to report.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// It could not be started.
    NotStarted(io::Error),
    /// It took too long and was ended; what it had said, and how long it took.
    TooLong(String, Took),
    /// It was asked to stop and was ended.
    Stopped,
}

/// Limit that a program exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// No sign of life for so long.
    Silent(Nanos),
    /// No end for so long.
    Whole(Nanos),
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(time) => write!(f, "nothing came of it for {time}"),
            Self::Whole(time) => write!(f, "no end of it within {time}"),
        }
    }
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
/// An end that is not the program's own.
pub(crate) fn run(
    command: &mut Command,
    input: impl Into<Stdio>,
    patience: impl Into<Patience>,
    stop: &Stop,
) -> Result<Finished, Unfinished> {
    if stop.requested() {
        return Err(Unfinished::Stopped);
    }
    let ran = see_through(command, input, &patience.into(), Manner::AT_ONCE, stop).map_err(Unfinished::NotStarted)?;
    match (ran.cut, ran.status) {
        (None, Some(status)) => Ok(Finished { status, printed: ran.printed, said: ran.said }),
        (Some(Cut::TooLong(took)), _) => Err(Unfinished::TooLong(ran.said, took)),
        (Some(Cut::Stopped) | None, _) => Err(Unfinished::Stopped),
    }
}

/// Runs `command` to its end, which it is brought to by `manner` after `patience`, or when `stop` asks.
///
/// # Errors
/// It could not be started, or the system does not tell of it.
pub(crate) fn see_through(
    command: &mut Command,
    input: impl Into<Stdio>,
    patience: &Patience,
    manner: Manner,
    stop: &Stop,
) -> io::Result<Ran> {
    // A group of its own: Ctrl-C at a terminal is ours to act on, and what it started ends with it.
    let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut pipes = [Pipe::of(child.stdout.take(), manner.kept), Pipe::of(child.stderr.take(), manner.kept)];
    let (status, cut, killed) = wait(&mut child, &mut pipes, patience, manner, stop)?;
    let [printed, said] = pipes.map(Pipe::text);
    Ok(Ran { status, printed, said, cut, killed })
}

/// State of a program on its way to its end.
#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// Asked to end, and killed at this time.
    Asked(Instant),
    /// Killed, and given up at this time.
    Killed(Instant),
}

/// Waits for its end and reads what it tells, both by events: on a busy machine no other thread has to come first.
fn wait(
    child: &mut Child,
    pipes: &mut [Pipe; 2],
    patience: &Patience,
    manner: Manner,
    stop: &Stop,
) -> io::Result<(Option<ExitStatus>, Option<Cut>, bool)> {
    let (ending, never) = (Ending::of(child), Stop::default());
    let end_of_all = Monotonic::now().after(patience.whole);
    let (mut due, mut place) = (Monotonic::now().after(patience.silence), patience.place());
    let (mut phase, mut cut, mut killed) = (Phase::Running, None, false);
    loop {
        if drain(pipes) {
            due = Monotonic::now().after(patience.silence);
        }
        if ending.came() {
            if cut.is_some() {
                // Processes that it started may stay where they went.
                ending.signal_group(Signal::KILL);
            }
            let status = child.wait()?;
            last_words(pipes);
            return Ok((Some(status), cut, killed));
        }
        let now = Monotonic::now();
        let until = match phase {
            Phase::Running => {
                let why = if stop.requested() {
                    Some(Cut::Stopped)
                } else if now >= end_of_all {
                    Some(Cut::TooLong(Took::Whole(patience.whole)))
                } else if now >= due && patience.place() == place {
                    Some(Cut::TooLong(Took::Silent(patience.silence)))
                } else {
                    None
                };
                if why.is_some() {
                    (manner.ask)(&ending);
                    (cut, phase) = (why, Phase::Asked(now.after(manner.grace)));
                    continue;
                }
                if now >= due {
                    (due, place) = (now.after(patience.silence), patience.place());
                }
                due.min(end_of_all)
            }
            Phase::Asked(until) if now >= until => {
                ending.signal_group(Signal::KILL);
                (killed, phase) = (true, Phase::Killed(now.after(DEATH)));
                continue;
            }
            Phase::Killed(until) if now >= until => return Ok((None, cut, killed)),
            Phase::Asked(until) | Phase::Killed(until) => until,
        };
        let open: Vec<BorrowedFd<'_>> = pipes.iter().filter_map(Pipe::open).collect();
        ending.wait_or_inputs(&open, until, if cut.is_some() { &never } else { stop });
    }
}

/// The end of a child, which is an event. It is not waited for by this, and keeps its number until it is, so that nobody else can be
/// meant by that.
#[derive(Debug)]
pub(crate) struct Ending {
    number: Option<Pid>,
    event: Option<OwnedFd>,
}

impl Ending {
    /// The end of `child`, which was not waited for yet.
    pub(crate) fn of(child: &Child) -> Self {
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Self { number, event: number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok()) }
    }

    /// Returns true where it has ended, or is no child of this process.
    fn came(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.number.is_none_or(|number| !matches!(waitid(WaitId::Pid(number), options), Ok(None) | Err(Errno::INTR)))
    }

    /// Waits for it until `until`; returns true where it came.
    pub(crate) fn by(&self, until: Instant) -> bool {
        let never = Stop::default();
        loop {
            if self.came() {
                return true;
            }
            if Monotonic::now() >= until {
                return false;
            }
            self.wait_or_inputs(&[], until, &never);
        }
    }

    /// Waits for it, for input in one of `pipes`, for `stop` and until `until`.
    fn wait_or_inputs(&self, pipes: &[BorrowedFd<'_>], until: Instant, stop: &Stop) {
        let until = if self.event.is_some() { until } else { until.min(Monotonic::now().after(LOOK)) };
        let all: Vec<BorrowedFd<'_>> = pipes.iter().copied().chain(self.event.as_ref().map(AsFd::as_fd)).collect();
        stop.wait_or_inputs(&all, until);
    }

    /// Sends `signal` to the child alone. It may have ended in this very moment; then there is nobody to hear it.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = self.number.map(|number| kill_process(number, signal));
    }

    /// Sends `signal` to the group that the child leads.
    pub(crate) fn signal_group(&self, signal: Signal) {
        let _ = self.number.map(|number| kill_process_group(number, signal));
    }
}

/// Takes what is there in both. Returns true where there was anything to keep.
fn drain(pipes: &mut [Pipe; 2]) -> bool {
    pipes.iter_mut().fold(false, |heard, pipe| pipe.drain() | heard)
}

/// Reads what a program that has ended left in its pipes, and for [`TAIL`] what comes of those who hold them open.
fn last_words(pipes: &mut [Pipe; 2]) {
    let (until, never) = (Monotonic::now().after(TAIL), Stop::default());
    loop {
        drain(pipes);
        let open: Vec<BorrowedFd<'_>> = pipes.iter().filter_map(Pipe::open).collect();
        if open.is_empty() || Monotonic::now() >= until {
            return;
        }
        never.wait_or_inputs(&open, until);
    }
}

/// A pipe that is read as far as there is something, and what came of it.
struct Pipe {
    /// Absent once its other end is closed.
    from: Option<OwnedFd>,
    bytes: Vec<u8>,
    /// As many are kept.
    kept: usize,
}

impl Pipe {
    fn of(pipe: Option<impl Into<OwnedFd>>, kept: usize) -> Self {
        let from = pipe.map(Into::into).filter(|from| ioctl_fionbio(from, true).is_ok());
        Self { from, bytes: Vec::new(), kept }
    }

    fn open(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Takes what is there, but not for ever. Returns true where there was anything to keep: a program that babbles without
    /// end is not alive for it.
    fn drain(&mut self) -> bool {
        let (mut part, mut heard) = ([0; 4096], false);
        for _ in 0..AT_A_TIME {
            let Some(from) = &self.from else { break };
            match rustix::io::read(from, &mut part) {
                Ok(length @ 1..) => {
                    let room = self.kept.saturating_sub(self.bytes.len());
                    heard |= room > 0;
                    self.bytes.extend_from_slice(&part[..length.min(room)]);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Ok(0) | Err(_) => self.from = None,
            }
        }
        heard
    }

    /// Text that came of it.
    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::thread;

    use endpoint::pace;
    use test_case::test_case;

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
        assert!(matches!(ended, Err(Unfinished::TooLong(..))), "{ended:?}");
        let pid: u32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
        // It was killed, and is gone as soon as it has a processor to go on.
        testbed::wait::until("its child is gone", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z") || !stat.contains("(sleep)")
        });
    }

    /// It takes longer than it may be silent, and is never silent for nearly as long.
    #[test_case("for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.4; done"; "it tells")]
    #[test_case("for n in 1 2 3 4 5 6 7 8; do head -c 9 >/dev/null; sleep 0.4; done"; "it reads")]
    fn one_that_is_slow_and_not_silent_is_waited_for(script: &str) {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(&[b'-'; 4096]).unwrap();
        input.rewind().unwrap();
        let patience = Patience::of_silence(Nanos::secs(2), Some(input.try_clone().unwrap()));
        let ended = run(&mut shell(script), input, patience, &Stop::default());
        assert!(ended.is_ok_and(|finished| finished.status.success()));
    }

    #[test_case("echo once; exec sleep 600", Took::Silent(Nanos::millis(300)); "it falls silent")]
    #[test_case("exec yes", Took::Silent(Nanos::millis(300)); "it babbles without a pause")]
    #[test_case("while :; do echo; sleep 0.02; done", Took::Whole(Nanos::millis(1_200)); "it tells for ever")]
    fn one_that_is_silent_or_never_ends_is_given_up(script: &str, took: Took) {
        let patience = Patience::of_silence(Nanos::millis(300), None);
        let ended = run(&mut shell(script), Stdio::null(), patience, &Stop::default());
        assert!(matches!(&ended, Err(Unfinished::TooLong(_, how)) if *how == took), "{ended:?}");
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

    /// Asked once it is ready for that.
    #[test_case("trap 'head -c 300000 /dev/zero; echo end; exit 0' TERM", (300_004, false); "it tells what it has")]
    #[test_case("trap '' TERM", (0, true); "it goes on")]
    fn one_that_is_asked_to_end_has_its_time(trap: &str, (printed, killed): (usize, bool)) {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let script = format!("{trap}; touch {}; while :; do sleep 0.01; done", ready.display());
        let grace = if killed { Nanos::millis(100) } else { Nanos::secs(300) };
        let manner = Manner { ask: |ending| ending.signal(Signal::TERM), grace, kept: 1 << 20 };
        let stop = Stop::default();
        let asked = stop.clone();
        let asker = thread::spawn(move || {
            testbed::wait::until("it is ready", || ready.exists());
            asked.request();
        });
        let ran = see_through(&mut shell(&script), Stdio::null(), &Nanos::secs(600).into(), manner, &stop).unwrap();
        assert_eq!((ran.printed.len(), ran.killed, ran.took()), (printed, killed, None));
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
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn what_never_ends_to_print_is_kept_in_part() {
        let finished =
            run(&mut shell("head -c 3000000 /dev/zero"), Stdio::null(), Nanos::secs(300), &Stop::default()).unwrap();
        assert_eq!(finished.printed.len(), Manner::AT_ONCE.kept);
    }

    /// Far more than a pipe holds, from many at once, so that on a busy machine some of them are read late.
    #[test]
    fn all_that_was_printed_is_there_when_it_has_ended() {
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    let mut command = shell("head -c 300000 /dev/zero; echo end");
                    let finished = run(&mut command, Stdio::null(), Nanos::secs(300), &Stop::default()).unwrap();
                    assert_eq!((finished.printed.len(), finished.printed.ends_with("end\n")), (300_004, true));
                });
            }
        });
    }

    #[test]
    fn a_program_that_is_not_there_is_not_started() {
        let ended = run(&mut Command::new("/nowhere/sonde"), Stdio::null(), Nanos::secs(1), &Stop::default());
        assert!(matches!(ended, Err(Unfinished::NotStarted(_))));
    }
}
