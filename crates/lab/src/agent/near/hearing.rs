//! What comes from a host: what its agent tells, and what the way to it says.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::sync::mpsc::Receiver;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use endpoint::clock::{self, Monotonic};
use measure::unit::{Instant, Nanos};

use crate::agent::{Ended, Hello, Told};

/// Lines that a host may print before its agent says hello: a shell that greets.
const MOST_GREETINGS: usize = 100;
/// The longest line of what the way to it says, bytes.
const LONGEST_SAID: u64 = 4 << 10;
/// The longest line that is read, bytes: a record's, and far more than that.
const LONGEST: u64 = 512 << 20;
/// How long the last words of the way to a host are waited for once its agent is gone; what it started may hold the pipe open.
const LAST_WORDS: Nanos = Nanos::secs(2);
/// What is said of an agent whose way has ended.
pub(super) const GONE: &str = "is gone";
/// The end of a transport's standard error that is kept, lines.
const KEPT: usize = 5;

/// What is known of an agent, and a bell for who waits for more.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) seen: Mutex<Seen>,
    pub(super) changed: Condvar,
}

/// What an agent has told so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) hello: Option<(Hello, u64)>,
    pub(super) ended: HashMap<u64, Ended>,
    pub(super) said: HashMap<u64, Vec<String>>,
    /// It tells nothing any more, and why.
    pub(super) gone: Option<String>,
    /// What the way to it said last.
    pub(super) leader_said: Vec<String>,
    /// When anything at all came from it last.
    pub(super) heard: Option<Instant>,
}

/// A pipe that tells when something came: half of a long line is a sign of life too.
struct Signs<'a> {
    pipe: ChildStdout,
    state: &'a State,
}

impl Read for Signs<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.pipe.read(into)?;
        lock(&self.state.seen).heard = Some(Monotonic::now());
        Ok(length)
    }
}

/// Takes what the agent tells until that ends. `said_all` hangs up when [`keep_last`] has all that the way to it said: why an agent
/// is gone stands there, and may be read after its end is.
pub(super) fn listen(pipe: ChildStdout, state: &State, said_all: &Receiver<Infallible>) {
    let mut greetings = 0;
    let mut nonsense = None;
    let (mut stdout, mut line) = (BufReader::new(Signs { pipe, state }), Vec::new());
    while let Ok(1..) = stdout.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
        let told = serde_json::from_slice::<Told>(&line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        line.clear();
        let mut seen = lock(&state.seen);
        match told {
            Ok(Told::Hello(hello)) => seen.hello = Some((hello, clock::wall())),
            Ok(Told::Said { job, line }) => seen.said.entry(job).or_default().push(line),
            Ok(Told::Here) => {}
            Ok(Told::Ended(ended)) => drop(seen.ended.insert(ended.job, ended)),
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
