//! The agent's own end, on the host.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use endpoint::clock;
use endpoint::environment::Reader;
use logbook::whole;
use measure::unit::Nanos;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::{Ended, Hello, Order, Told, VERSION};
use crate::{own, trial};

/// The environment's word by which what an agent starts knows that it is to end with the agent.
pub const CHILD: &str = "SONDE_AGENT";

/// Longest wait for jobs whose results nobody awaits any more, before they are killed.
const FAREWELL: Nanos = Nanos::secs(5);
/// The most that is kept of what is printed: one octet more than a record may have, so that the near end sees that it was too much.
const MOST_PRINTED: u64 = whole::RECORD + 1;
/// Bytes that are kept of the end of a standard error.
const MOST_SAID: usize = 4 << 10;

/// Jobs that run.
#[derive(Debug, Default)]
struct Running {
    /// Their processes, by their number.
    by_number: Mutex<BTreeMap<u64, Pid>>,
    /// Tells that one has ended.
    ended: Condvar,
}

type Jobs = Arc<Running>;
/// Output for lines, each written whole.
type Out<W> = Arc<Mutex<W>>;

/// Carries out the lines of `orders` until they end, and reports on `out`. `program` is the program that is run, `named` its
/// name and version.
///
/// # Errors
/// Errors of the system where it takes no lines any more: all that runs has been ended.
pub fn attend(
    orders: impl BufRead,
    out: impl Write + Send + 'static,
    program: &Path,
    named: (&str, &str),
) -> io::Result<()> {
    let out = Arc::new(Mutex::new(out));
    let jobs = Jobs::default();
    let mut told = tell(&out, &Told::Hello(hello(named)));
    for line in orders.lines() {
        let Ok(line) = line else { break };
        if told.is_err() {
            break;
        }
        match serde_json::from_str(&line) {
            Ok(Order::Start { job, words, input, watch }) => {
                let start = Start { job, words, input, watch, program: program.to_owned() };
                start.go(&jobs, &out);
            }
            Ok(Order::End { job }) => end(&jobs, job),
            Ok(Order::Answer) => told = tell(&out, &Told::Here),
            Err(error) => {
                let not_started = Some(format!("not an order of this version: {error}"));
                told = tell(&out, &Told::Ended(Ended { not_started, ..Ended::default() }));
            }
        }
    }
    end_all(&jobs);
    told
}

/// One thing to be run.
struct Start {
    job: u64,
    words: Vec<String>,
    input: Option<String>,
    watch: bool,
    program: PathBuf,
}

impl Start {
    /// Starts it from this thread, since it ends with the thread that started it, and looks after it from another.
    fn go<W: Write + Send + 'static>(self, jobs: &Jobs, out: &Out<W>) {
        let job = self.job;
        let child = match self.spawn() {
            Ok(child) => child,
            Err(error) => {
                let not_started = Some(format!("cannot start {}: {error}", self.program.display()));
                // Nobody hears it where this fails: the loop over orders finds out.
                let _ = tell(out, &Told::Ended(Ended { job, not_started, ..Ended::default() }));
                return;
            }
        };
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            lock(&jobs.by_number).insert(job, pid);
        }
        let (jobs, out) = (Arc::clone(jobs), Arc::clone(out));
        thread::spawn(move || self.see_through(child, &jobs, &out));
    }

    fn spawn(&self) -> io::Result<Child> {
        Command::new(&self.program)
            .arg0(own::NAME)
            .args(&self.words)
            .env(CHILD, std::process::id().to_string())
            .stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    }

    fn see_through<W: Write + Send + 'static>(self, mut child: Child, jobs: &Jobs, out: &Out<W>) {
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), &self.input) {
            // One that ended before it read this tells so by how it ended.
            let _ = stdin.write_all(input.as_bytes());
        }
        let printed = child.stdout.take().map(|pipe| thread::spawn(move || read_all(pipe)));
        let said = child.stderr.take().map(|pipe| self.listen(pipe, out)).unwrap_or_default();
        let printed = printed.and_then(|reader| reader.join().ok()).unwrap_or_default();
        let status = self.reap(&mut child, jobs);
        let ended = Ended { job: self.job, printed, said, status, not_started: None };
        let _ = tell(out, &Told::Ended(ended));
    }

    /// Waits for its end, and takes it from the list in the same moment: its number may be another's from then on.
    fn reap(&self, child: &mut Child, jobs: &Jobs) -> Option<i32> {
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // Its end is waited for without the list, and leaves it its number.
        let ended = |number| waitid(WaitId::Pid(number), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while number.map(ended).is_some_and(|ended| matches!(ended, Err(Errno::INTR))) {}
        let mut running = lock(&jobs.by_number);
        let status = child.wait();
        running.remove(&self.job);
        jobs.ended.notify_all();
        status.ok().as_ref().and_then(ExitStatus::code)
    }

    /// Reads a standard error to its end; what stands there at last.
    fn listen<W: Write>(&self, pipe: impl Read, out: &Out<W>) -> String {
        let (mut kept, mut pipe, mut line) = (String::new(), BufReader::new(pipe), Vec::new());
        while let Ok(1..) = pipe.by_ref().take(MOST_SAID as u64).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line).into_owned();
            if self.watch {
                let _ = tell(out, &Told::Said { job: self.job, line: text.trim_end().to_owned() });
            }
            kept.push_str(&text);
            let beyond = kept.len().saturating_sub(MOST_SAID);
            kept.drain(..kept.ceil_char_boundary(beyond));
            line.clear();
        }
        kept
    }
}

fn read_all(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // Octets read before an error, or before they were too many, are all there are.
    let _ = pipe.take(MOST_PRINTED).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Asks one to end, and sees to it that it does.
fn end(jobs: &Jobs, job: u64) {
    signal(jobs, job, Signal::INT);
    let jobs = Arc::clone(jobs);
    thread::spawn(move || {
        if !gone_within(&jobs, trial::GRACE, |jobs| !jobs.contains_key(&job)) {
            signal(&jobs, job, Signal::KILL);
        }
    });
}

fn end_all(jobs: &Jobs) {
    let all: Vec<u64> = lock(&jobs.by_number).keys().copied().collect();
    let signal_all = |which: Signal| {
        for job in &all {
            signal(jobs, *job, which);
        }
    };
    signal_all(Signal::INT);
    if !gone_within(jobs, FAREWELL, BTreeMap::is_empty) {
        signal_all(Signal::KILL);
        gone_within(jobs, FAREWELL, BTreeMap::is_empty);
    }
}

fn gone_within(jobs: &Jobs, time: Nanos, gone: impl Fn(&BTreeMap<u64, Pid>) -> bool) -> bool {
    let waited = jobs.ended.wait_timeout_while(lock(&jobs.by_number), time.into(), |running| !gone(running));
    gone(&waited.unwrap_or_else(PoisonError::into_inner).0)
}

/// While it stands in the list it has not been waited for, so its number is its own.
fn signal(jobs: &Jobs, job: u64, signal: Signal) {
    if let Some(pid) = lock(&jobs.by_number).get(&job) {
        let _ = kill_process(*pid, signal);
    }
}

fn tell<W: Write>(out: &Out<W>, told: &Told) -> io::Result<()> {
    let mut line = serde_json::to_vec(told)?;
    line.push(b'\n');
    let mut out = lock(out);
    out.write_all(&line)?;
    out.flush()
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked held a whole value at every moment.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hello((program, program_version): (&str, &str)) -> Hello {
    let environment = Reader::host(program).read();
    Hello {
        version: VERSION,
        program: program.to_owned(),
        program_version: program_version.to_owned(),
        kernel: environment.kernel.clone(),
        cpus: thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok()),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned()),
        wall_ns: clock::wall(),
    }
}
