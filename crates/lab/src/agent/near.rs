//! The end that gives the orders.
//!
//! Every wait for a host is bounded: one that says nothing is asked whether it is there, and given up when no answer comes.

mod hearing;

use std::convert::Infallible;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use endpoint::clock::{self, Monotonic};
use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use measure::unit::{Instant, Nanos};
use rustix::process::Signal;

use super::{Ended, Hello, Order, VERSION};
use crate::child::Ending;
use crate::transport::Transport;
use crate::trial::{self, Run};
use hearing::{GONE, Seen, State, keep_last, listen, lock};

/// Longest time of an answer to an order on its way, beyond the time that carrying it out may take.
const ON_THE_WAY: Nanos = Nanos::secs(15);
/// Longest wait for the end of an agent, with all it runs, once its orders have ended: those that it asks to end have five
/// seconds.
const FAREWELL: Nanos = Nanos::secs(12);
/// Part of the patience after which an agent that is silent is asked for a sign of life: one in so many.
const SIGNS: u64 = 3;
/// Time between two looks of a thread that waits for an answer: at its limit, at `stop` and at the silence of the agent.
const GLANCE: Nanos = Nanos::millis(100);

/// An agent on a host, and what leads there. Dropped, it ends with all it runs.
#[derive(Debug)]
pub struct Agent {
    host: String,
    hello: Hello,
    clock_ahead_ns: Option<i64>,
    orders: Mutex<Option<ChildStdin>>,
    state: Arc<State>,
    next: AtomicU64,
    leader: Mutex<Child>,
    /// Longest silence while it is waited for.
    patience: Nanos,
}

/// Reason for which there is no agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Unstarted {
    /// The failure.
    pub failure: Failure,
    /// True where its way had ended before it said anything: the connection may have been cut, or the program taken away by
    /// another run since it was put.
    pub is_cut: bool,
}

impl From<Failure> for Unstarted {
    fn from(failure: Failure) -> Self {
        Self { failure, is_cut: false }
    }
}

/// Something that runs on the host.
#[derive(Debug)]
pub struct Job<'a> {
    agent: &'a Agent,
    number: u64,
}

impl Agent {
    /// Starts an agent at the end of `transport`, where the program is called `program`, and waits until it is there. From then on
    /// it may say nothing for `patience` while it is waited for.
    ///
    /// # Errors
    /// Nobody is there at `due`, or somebody who is no agent of this version.
    pub fn start(
        host: &str,
        transport: &dyn Transport,
        program: &str,
        (due, patience): (Instant, Nanos),
        stop: &Stop,
    ) -> Result<Self, Unstarted> {
        let words = [program.to_owned(), "agent".to_owned()];
        let mut command = transport.command(&words);
        // Ctrl-C at a terminal goes to the whole group: what is to end by it is said in the orders.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let started = clock::wall();
        let mut leader = command.spawn().map_err(|error| Failure {
            side: Some(Side::Ours),
            ..failure(host, format!("{host}: cannot start `{}`: {error}", command.get_program().to_string_lossy()))
        })?;
        let state = Arc::new(State::default());
        let orders = leader.stdin.take();
        let (stdout, stderr) = (leader.stdout.take(), leader.stderr.take());
        let (saying, said_all) = mpsc::channel::<Infallible>();
        if let Some(stderr) = stderr {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                keep_last(stderr, &state);
                drop(saying);
            });
        }
        if let Some(stdout) = stdout {
            let state = Arc::clone(&state);
            thread::spawn(move || listen(stdout, &state, &said_all));
        }
        let mut agent = Self {
            host: host.to_owned(),
            hello: Hello {
                version: 0,
                program: String::new(),
                program_version: String::new(),
                kernel: None,
                cpus: None,
                boot_id: None,
                wall_ns: 0,
            },
            clock_ahead_ns: None,
            orders: Mutex::new(orders),
            state,
            next: AtomicU64::new(1),
            leader: Mutex::new(leader),
            patience,
        };
        let hello = agent.wait_until(Some(due), stop, "say hello", |seen| seen.hello.clone());
        let (hello, heard) = hello.map_err(|failure| {
            let is_cut = lock(&agent.state.seen).gone.as_deref() == Some(GONE);
            Unstarted { failure, is_cut }
        })?;
        if hello.version != VERSION {
            let what =
                format!("{host}: its agent speaks version {}, and this program version {VERSION}", hello.version);
            let hint = Some("the same sonde is wanted on every host".into());
            return Err(Failure { hint, ..failure(host, what) }.into());
        }
        // Its clock was read somewhere between our start and our hearing of it.
        let middle = i128::from(started) + (i128::from(heard) - i128::from(started)) / 2;
        agent.clock_ahead_ns = i64::try_from(i128::from(hello.wall_ns) - middle).ok();
        agent.hello = hello;
        Ok(agent)
    }

    /// Its identity.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Distance of its wall clock ahead of ours when it started, nanoseconds, to within half the time that took; `None` where
    /// it is further away than 292 years.
    pub fn clock_ahead_ns(&self) -> Option<i64> {
        self.clock_ahead_ns
    }

    /// Reason for which it is not there any more; `None` while it is.
    pub fn gone(&self) -> Option<Failure> {
        let seen = lock(&self.state.seen);
        seen.gone.as_ref().map(|why| self.lost(why, &seen.leader_said))
    }

    /// Asks it whether it is there, and waits for its word as long as it may say nothing.
    ///
    /// # Errors
    /// It is gone, or says nothing: from then on it is.
    pub fn ask(&self, stop: &Stop) -> Result<(), Failure> {
        let asked = Monotonic::now();
        self.order(&Order::Answer)?;
        let until = asked.after(self.patience);
        self.wait_until(Some(until), stop, "answer", |seen| seen.heard.filter(|heard| *heard >= asked).map(drop))
    }

    /// Starts the program there with `words`, `input` on its standard input.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn begin(&self, words: &[String], input: Option<&str>, watch: bool) -> Result<Job<'_>, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.state.seen).running.insert(number);
        let order = Order::Start { job: number, words: words.to_vec(), input: input.map(str::to_owned), watch };
        self.order(&order)?;
        Ok(Job { agent: self, number })
    }

    /// Runs a measuring command there and waits for its record, at most for `most` and what the way takes.
    pub fn measure(&self, words: &[String], input: Option<&str>, most: Nanos, stop: &Stop) -> Run {
        let words: Vec<String> = words.iter().cloned().chain(["--json".into(), "--quiet".into()]).collect();
        let ended = self.begin(&words, input, false).and_then(|job| job.wait(most, stop));
        match ended {
            Ok(ended) if ended.status.is_none() && ended.printed.is_empty() => Run::Failed(self.killed()),
            Ok(ended) => trial::outcome(&ended.printed, &ended.said, None),
            Err(failure) => Run::Failed(failure),
        }
    }

    /// The failure of a measurement that a signal ended.
    fn killed(&self) -> Failure {
        let what = format!("{}: what measured there was killed before it told anything", self.host);
        let hint = format!(
            "its agent kills one that has not ended {} after it was asked to; else see the kernel's log there: memory may have run out",
            trial::GRACE
        );
        Failure { hint: Some(hint), ..failure(&self.host, what) }
    }

    fn order(&self, order: &Order) -> Result<(), Failure> {
        let mut line =
            serde_json::to_vec(order).map_err(|fault| self.lost(&format!("cannot be told: {fault}"), &[]))?;
        line.push(b'\n');
        let mut orders = lock(&self.orders);
        let written = orders.as_mut().map(|orders| orders.write_all(&line).and_then(|()| orders.flush()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.gone().unwrap_or_else(|| self.lost("takes no orders any more", &[]))),
        }
    }

    /// Waits until `wanted` is there, at most until `until`; past that, or when the host is gone, it says so.
    fn wait_until<T>(
        &self,
        until: Option<Instant>,
        stop: &Stop,
        what: &str,
        wanted: impl Fn(&mut Seen) -> Option<T>,
    ) -> Result<T, Failure> {
        let mut silence = Silence { since: Monotonic::now(), asked: None };
        let mut seen = lock(&self.state.seen);
        loop {
            if let Some(found) = wanted(&mut seen) {
                return Ok(found);
            }
            if let Some(why) = &seen.gone {
                return Err(self.lost(why, &seen.leader_said));
            }
            if stop.requested() {
                return Err(failure(&self.host, format!("{}: stopped before it came to {what}", self.host)));
            }
            if until.is_some_and(|until| Monotonic::now() >= until) {
                let why = format!("did not {what} in time");
                let failure = self.lost(&why, &seen.leader_said);
                seen.gone = Some(why);
                return Err(failure);
            }
            match silence.judge(&seen, self.patience) {
                Sign::Enough => {}
                Sign::Wanted => {
                    drop(seen);
                    // That it takes no orders is found out by what listens to it.
                    let _ = self.order(&Order::Answer);
                    seen = lock(&self.state.seen);
                    continue;
                }
                Sign::None => {
                    seen.gone = Some(format!("has said nothing for {}, though it was asked", self.patience));
                    continue;
                }
            }
            let waited = self.state.changed.wait_timeout(seen, GLANCE.into());
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lost(&self, why: &str, said: &[String]) -> Failure {
        let said = said.last().map_or_else(String::new, |line| format!(": {line}"));
        let hint = "see whether it can be reached by hand, and go on with --resume";
        let what = format!("{}: its agent {why}{said}", self.host);
        Failure { hint: Some(hint.into()), ..failure(&self.host, what) }
    }
}

/// Silence of an agent while it is waited for.
struct Silence {
    since: Instant,
    asked: Option<Instant>,
}

/// Meaning of an agent's silence.
enum Sign {
    /// It spoke lately, or was asked lately.
    Enough,
    /// It should be asked.
    Wanted,
    /// It was asked, and does not answer.
    None,
}

impl Silence {
    fn judge(&mut self, seen: &Seen, patience: Nanos) -> Sign {
        // Before its hello there is nobody to ask, and the wait for that has an end of its own.
        if seen.hello.is_none() {
            return Sign::Enough;
        }
        let last = seen.heard.map_or(self.since, |heard| heard.max(self.since));
        let (now, first) = (Monotonic::now(), patience.0 / SIGNS);
        match self.asked.filter(|asked| *asked >= last) {
            // From the asking on, not from the last word: we may have slept ourselves.
            Some(asked) if now >= asked.after(Nanos(patience.0 - first)) => Sign::None,
            None if now >= last.after(Nanos(first)) => {
                self.asked = Some(now);
                Sign::Wanted
            }
            _ => Sign::Enough,
        }
    }
}

impl Job<'_> {
    /// Waits for its end, at most for `most`: then it is asked to end, and given up with its host where nothing comes back at all.
    ///
    /// # Errors
    /// The host is gone, or what was to be started was not.
    pub fn wait(self, most: Nanos, stop: &Stop) -> Result<Ended, Failure> {
        let number = self.number;
        let ended = |seen: &mut Seen| seen.ended.remove(&number);
        let due = Monotonic::now().after(most);
        let first = self.agent.wait_for_end(due, stop, ended)?;
        let ended = if let Some(ended) = first {
            ended
        } else {
            // It was too long, or is not wanted any more: what it has by now is asked for.
            self.agent.order(&Order::End { job: number })?;
            let until = Monotonic::now().after(trial::GRACE).after(ON_THE_WAY);
            self.agent.wait_until(Some(until), &Stop::default(), "end a measurement", ended)?
        };
        match &ended.not_started {
            Some(why) => Err(failure(&self.agent.host, format!("{}: {why}", self.agent.host))),
            None => Ok(ended),
        }
    }

    /// Waits for a line on its standard error that begins so: it is ready then.
    ///
    /// # Errors
    /// It ended before; the host is gone; nothing came in time.
    pub fn wait_for_word(&self, start: &str, most: Nanos, stop: &Stop) -> Result<String, Failure> {
        let until = Some(Monotonic::now().after(most));
        let number = self.number;
        let heard = self.agent.wait_until(until, stop, &format!("say `{start}`"), |seen| {
            let line = seen.said.get(&number).and_then(|lines| lines.iter().find(|line| line.starts_with(start)));
            line.cloned().map(Ok).or_else(|| seen.ended.get(&number).cloned().map(Err))
        })?;
        heard.map_err(|ended| {
            let last = ended.said.lines().find(|line| line.starts_with("error")).or(ended.said.lines().last());
            let last = last.map(|line| line.strip_prefix("error: ").unwrap_or(line));
            let why = ended.not_started.as_deref().or(last).unwrap_or("it ended without an error").to_owned();
            failure(&self.agent.host, format!("{}: {why}", self.agent.host))
        })
    }

    /// Asks it to end, and waits for that.
    ///
    /// # Errors
    /// As of [`Job::wait`].
    pub fn end(self) -> Result<Ended, Failure> {
        let stop = Stop::default();
        stop.request();
        self.wait(Nanos(0), &stop)
    }
}

impl Agent {
    /// Waits until `due` or a stop; what was waited for where it came. Not in time is no fault of the host's yet.
    fn wait_for_end(
        &self,
        due: Instant,
        stop: &Stop,
        wanted: impl Fn(&mut Seen) -> Option<Ended>,
    ) -> Result<Option<Ended>, Failure> {
        self.wait_until(None, &Stop::default(), "end", |seen| match wanted(seen) {
            Some(ended) => Some(Some(ended)),
            None if stop.requested() || Monotonic::now() >= due => Some(None),
            None => None,
        })
    }
}

impl Drop for Agent {
    /// Its orders end, and so does it; what leads there is killed where it does not, with what that started here.
    fn drop(&mut self) {
        drop(lock(&self.orders).take());
        let mut leader = lock(&self.leader);
        // A process that never said hello is no agent, and has nothing to end in order.
        let patience = if self.hello.version == 0 { Nanos::ZERO } else { FAREWELL.min(self.patience) };
        let ending = Ending::of(&leader);
        if !ending.by(Monotonic::now().after(patience)) {
            ending.signal_group(Signal::KILL);
        }
        let _ = leader.wait();
    }
}

fn failure(host: &str, what: String) -> Failure {
    Failure { what, to_whom: Some(host.to_owned()), side: Some(Side::Theirs), hint: None, partial: None }
}

#[cfg(test)]
mod tests;
