//! Lines from a host: the messages of its agent, and the words of the way to it.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use endpoint::clock::{self, Monotonic};
use logbook::whole;
use measure::unit::{Instant, Nanos};

use crate::agent::{Ended, Hello, Told};

/// Lines that a host may print before its agent says hello: a shell that greets.
const MOST_GREETINGS: usize = 100;
/// The longest line of what the way to it says, bytes.
const LONGEST_SAID: u64 = 4 << 10;
/// The longest line that is read, bytes: that of the largest record, each second letter of which is escaped.
const LONGEST: u64 = 3 * whole::RECORD / 2;
/// The most of the lines of all agents together that are being read at a moment, bytes.
const TOGETHER: u64 = 4 * whole::RECORD;
/// As much of a line is read however much others hold, bytes: an ordinary record, so that hosts that babble cost no others.
const ORDINARY: u64 = 256 << 10;
/// Lines of one that is watched that are kept: the first ones, for one of them says that it is ready.
const MOST_SAID: usize = 1_000;
/// Bytes of lines that are being read.
static HELD: AtomicU64 = AtomicU64::new(0);
/// Longest wait for the last words of the way to a host once its agent is gone; a process that it started may hold the pipe
/// open.
const LAST_WORDS: Nanos = Nanos::secs(2);
/// Words for an agent whose way has ended.
pub(super) const GONE: &str = "is gone";
/// The end of a transport's standard error that is kept, lines.
const KEPT: usize = 5;

/// State of an agent, and a bell for those who wait for more.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) seen: Mutex<Seen>,
    pub(super) changed: Condvar,
}

/// Messages of an agent so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) hello: Option<(Hello, u64)>,
    /// Those that were begun and have not ended: of others nothing is heard.
    pub(super) running: HashSet<u64>,
    pub(super) ended: HashMap<u64, Ended>,
    pub(super) said: HashMap<u64, Vec<String>>,
    /// It tells nothing any more, and why.
    pub(super) gone: Option<String>,
    /// Last words of the way to it.
    pub(super) leader_said: Vec<String>,
    /// Time of its last sign of life; absent: there was none.
    pub(super) heard: Option<Instant>,
}

/// A pipe that tells when something came: half of a long line is a sign of life too.
struct Signs<'a> {
    pipe: ChildStdout,
    state: &'a State,
    /// Octets of the line that is being read.
    held: u64,
}

impl Signs<'_> {
    /// The line was read and is not kept.
    fn release(&mut self) {
        HELD.fetch_sub(std::mem::take(&mut self.held), Ordering::Relaxed);
    }
}

impl Drop for Signs<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

impl Read for Signs<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.pipe.read(into)?;
        lock(&self.state.seen).heard = Some(Monotonic::now());
        let more = length as u64;
        if self.held + more > ORDINARY && HELD.load(Ordering::Relaxed) + more > TOGETHER {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        HELD.fetch_add(more, Ordering::Relaxed);
        self.held += more;
        Ok(length)
    }
}

/// Takes what the agent tells until that ends. `said_all` hangs up when [`keep_last`] has all that the way to it said: why an agent
/// is gone stands there, and may be read after its end is.
pub(super) fn listen(pipe: ChildStdout, state: &State, said_all: &Receiver<Infallible>) {
    let mut greetings = 0;
    let mut nonsense = None;
    let (mut stdout, mut line) = (BufReader::new(Signs { pipe, state, held: 0 }), Vec::new());
    loop {
        match stdout.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(1..) if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') => {
                nonsense = Some(format!("tells a line of more than {} MiB", LONGEST >> 20));
                break;
            }
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                let most = TOGETHER >> 20;
                nonsense = Some(format!("tells more than there is room for: {most} MiB, of all hosts at a time"));
                break;
            }
            Ok(0) | Err(_) => break,
        }
        let told = serde_json::from_slice::<Told>(&line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        line = Vec::new();
        stdout.get_mut().release();
        let mut seen = lock(&state.seen);
        match told {
            Ok(Told::Hello(hello)) => seen.hello = Some((hello, clock::wall())),
            Ok(Told::Said { job, line }) if seen.running.contains(&job) => {
                let said = seen.said.entry(job).or_default();
                if said.len() < MOST_SAID {
                    said.push(line);
                }
            }
            Ok(Told::Ended(ended)) if seen.running.remove(&ended.job) => drop(seen.ended.insert(ended.job, ended)),
            Ok(Told::Here | Told::Said { .. } | Told::Ended(_)) => {}
            Err(_) if seen.hello.is_none() && greetings < MOST_GREETINGS => greetings += 1,
            Err(_) => {
                let shown: String = shown.chars().filter(|letter| !letter.is_control()).collect();
                nonsense = Some(format!("tells what makes no sense: `{shown}`"));
                break;
            }
        }
        drop(seen);
        state.changed.notify_all();
    }
    let gone = nonsense.unwrap_or_else(|| {
        let _ = said_all.recv_timeout(LAST_WORDS.into());
        GONE.to_owned()
    });
    let mut seen = lock(&state.seen);
    seen.gone.get_or_insert(gone);
    drop(seen);
    state.changed.notify_all();
}

/// Keeps the last lines of what the way to the host says.
pub(super) fn keep_last(stderr: impl Read, state: &State) {
    let (mut stderr, mut line) = (BufReader::new(stderr), Vec::new());
    while let Ok(1..) = stderr.by_ref().take(LONGEST_SAID).read_until(b'\n', &mut line) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if text.is_empty() {
            continue;
        }
        let mut seen = lock(&state.seen);
        if seen.leader_said.len() == KEPT {
            seen.leader_said.remove(0);
        }
        seen.leader_said.push(text);
    }
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked held a whole value at every moment.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
