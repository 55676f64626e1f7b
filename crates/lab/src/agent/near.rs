//! The end that gives the orders.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use endpoint::clock::{self, Monotonic};
use endpoint::pace;
use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use measure::unit::{Instant, Nanos};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{Ended, Hello, Order, Told, VERSION};
use crate::transport::Transport;
use crate::trial::{self, Run};

/// Lines that a host may print before its agent says hello: a shell that greets.
const MOST_GREETINGS: usize = 100;
/// How long an answer to an order may take on its way, beyond what it was given.
const ON_THE_WAY: Nanos = Nanos::secs(15);
/// The longest line of what the way to it says, bytes.
const LONGEST_SAID: u64 = 4 << 10;
/// How long an agent may take to end, with all it runs, once its orders have ended: what it asks to end has five seconds.
const FAREWELL: Nanos = Nanos::secs(12);
/// How often what is to end is looked after.
const LOOK: Nanos = Nanos::millis(10);
/// How often somebody who waits looks up.
const GLANCE: Nanos = Nanos::millis(100);
/// The longest line that is read, bytes: a record's, and far more than that.
const LONGEST: u64 = 512 << 20;
/// The end of a transport's standard error that is kept, lines.
const KEPT: usize = 5;

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
}

#[derive(Debug, Default)]
struct State {
    seen: Mutex<Seen>,
    changed: Condvar,
}

/// What an agent has told so far.
#[derive(Debug, Default)]
struct Seen {
    hello: Option<(Hello, u64)>,
    ended: HashMap<u64, Ended>,
    said: HashMap<u64, Vec<String>>,
    /// It tells nothing any more, and why.
    gone: Option<String>,
    /// What the way to it said last.
    leader_said: Vec<String>,
}

/// Something that runs on the host.
#[derive(Debug)]
pub struct Job<'a> {
    agent: &'a Agent,
    number: u64,
}

impl Agent {
    /// Starts an agent at the end of `transport`, where the program is called `program`, and waits until it is there.
    ///
    /// # Errors
    /// Nobody is there within `patience`, or somebody who is no agent of this version.
    pub fn start(
        host: &str,
        transport: &dyn Transport,
        program: &str,
        patience: Nanos,
        stop: &Stop,
    ) -> Result<Self, Failure> {
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
        if let Some(stderr) = stderr {
            let state = Arc::clone(&state);
            thread::spawn(move || keep_last(stderr, &state));
        }
        if let Some(stdout) = stdout {
            let state = Arc::clone(&state);
            thread::spawn(move || listen(stdout, &state));
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
        };
        let (hello, heard) =
            agent.wait_until(Some(Monotonic::now().after(patience)), stop, "say hello", |seen| seen.hello.clone())?;
        if hello.version != VERSION {
            let what =
                format!("{host}: its agent speaks version {}, and this program version {VERSION}", hello.version);
            return Err(Failure { hint: Some("the same sonde is wanted on every host".into()), ..failure(host, what) });
        }
        // Its clock was read somewhere between our start and our hearing of it.
        let middle = i128::from(started) + (i128::from(heard) - i128::from(started)) / 2;
        agent.clock_ahead_ns = i64::try_from(i128::from(hello.wall_ns) - middle).ok();
        agent.hello = hello;
        Ok(agent)
    }

    /// Who it is.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// By how much its wall clock was ahead of ours when it started, nanoseconds, to within half the time that took; absent where it is
    /// further away than 292 years.
    pub fn clock_ahead_ns(&self) -> Option<i64> {
        self.clock_ahead_ns
    }

    /// Why it is not there any more, where it is not.
    pub fn gone(&self) -> Option<Failure> {
        let seen = lock(&self.state.seen);
        seen.gone.as_ref().map(|why| self.lost(why, &seen.leader_said))
    }

    /// Starts the program there with `words`, `input` on its standard input.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn begin(&self, words: &[String], input: Option<&str>, watch: bool) -> Result<Job<'_>, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let order = Order::Start { job: number, words: words.to_vec(), input: input.map(str::to_owned), watch };
        self.order(&order)?;
        Ok(Job { agent: self, number })
    }

    /// Runs a measuring command there and waits for its record, at most for `most` and what the way takes.
    pub fn measure(&self, words: &[String], input: Option<&str>, most: Nanos, stop: &Stop) -> Run {
        let words: Vec<String> = words.iter().cloned().chain(["--json".into(), "--quiet".into()]).collect();
        let ended = self.begin(&words, input, false).and_then(|job| job.wait(most, stop));
        match ended {
            Ok(ended) => trial::outcome(&ended.printed, &ended.said, None),
            Err(failure) => Run::Failed(failure),
        }
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
            let until = Monotonic::now().after(ON_THE_WAY);
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
            let why = ended.not_started.as_deref().or(last).unwrap_or("it ended and said nothing").to_owned();
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
        // Who never said hello is no agent, and has nothing to end in order.
        let patience = if self.hello.version == 0 { Nanos::ZERO } else { FAREWELL };
        let until = Monotonic::now().after(patience);
        while matches!(leader.try_wait(), Ok(None)) {
            if Monotonic::now() >= until {
                if let Some(group) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = leader.wait();
                return;
            }
            pace::sleep_until(Monotonic::now().after(LOOK));
        }
    }
}

/// Takes what the agent tells until that ends.
fn listen(stdout: ChildStdout, state: &State) {
    let mut greetings = 0;
    let mut gone = "is gone".to_owned();
    let (mut stdout, mut line) = (BufReader::new(stdout), Vec::new());
    while let Ok(1..) = stdout.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
        let told = serde_json::from_slice::<Told>(&line);
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        line.clear();
        let mut seen = lock(&state.seen);
        match told {
            Ok(Told::Hello(hello)) => seen.hello = Some((hello, clock::wall())),
            Ok(Told::Said { job, line }) => seen.said.entry(job).or_default().push(line),
            Ok(Told::Ended(ended)) => drop(seen.ended.insert(ended.job, ended)),
            Err(_) if seen.hello.is_none() && greetings < MOST_GREETINGS => greetings += 1,
            Err(_) => {
                let shown: String = shown.chars().filter(|letter| !letter.is_control()).collect();
                gone = format!("tells what makes no sense: `{shown}`");
                break;
            }
        }
        drop(seen);
        state.changed.notify_all();
    }
    let mut seen = lock(&state.seen);
    seen.gone.get_or_insert(gone);
    drop(seen);
    state.changed.notify_all();
}

/// Keeps the last lines of what the way to the host says.
fn keep_last(stderr: impl Read, state: &State) {
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

fn failure(host: &str, what: String) -> Failure {
    Failure { what, to_whom: Some(host.to_owned()), side: Some(Side::Theirs), hint: None, partial: None }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked held a whole value at every moment.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::transport::Program;

    /// A host whose agent is a script of the shell.
    #[derive(Debug)]
    struct Script(&'static str);

    impl Transport for Script {
        fn put(&self, _: &Program, _: Nanos, _: &Stop) -> Result<String, Failure> {
            Ok("sonde".to_owned())
        }

        fn command(&self, words: &[String]) -> Command {
            assert_eq!(words, ["sonde", "agent"]);
            let mut command = Command::new("sh");
            command.args(["-c", self.0]);
            command
        }

        fn clean(&self, _: Nanos, _: &Stop) -> Result<(), Failure> {
            Ok(())
        }
    }

    const HELLO: &str = r#"{"told":"hello","version":1,"program":"sonde","program_version":"0.1.0","kernel":null,"cpus":2,"boot_id":null,"wall_ns":0}"#;

    fn start(script: &'static str, patience: Nanos) -> Result<Agent, String> {
        Agent::start("b", &Script(script), "sonde", patience, &Stop::default()).map_err(|failure| failure.what)
    }

    fn agent(script: &str) -> Agent {
        let script = format!("echo '{HELLO}'; {script}").leak();
        start(script, Nanos::secs(60)).unwrap()
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_host_may_greet_before_its_agent_does() {
        let script = format!("echo Welcome to b; echo; echo '{HELLO}'; cat >/dev/null").leak();
        let agent = start(script, Nanos::secs(60)).unwrap();
        assert_eq!((agent.hello().cpus, agent.hello().kernel.clone()), (Some(2), None));
        assert!(agent.clock_ahead_ns().unwrap() < -1_000_000_000, "a clock of 1970 is behind ours");
    }

    #[test]
    fn who_does_not_say_hello_is_given_up_with_what_was_said() {
        let told = start("echo 'Permission denied (publickey).' >&2; exit 255", Nanos::secs(60)).unwrap_err();
        assert_eq!(told, "b: its agent is gone: Permission denied (publickey).");
        let told = start("exec sleep 600", Nanos::millis(50)).unwrap_err();
        assert_eq!(told, "b: its agent did not say hello in time");
        let told = start("yes rubbish", Nanos::secs(60)).unwrap_err();
        assert_eq!(told, "b: its agent tells what makes no sense: `rubbish`");
    }

    #[test]
    fn another_version_is_refused() {
        let script = format!("echo '{}'; cat >/dev/null", HELLO.replace("\"version\":1", "\"version\":9")).leak();
        let told = start(script, Nanos::secs(60)).unwrap_err();
        assert_eq!(told, "b: its agent speaks version 9, and this program version 1");
    }

    #[test]
    fn what_an_agent_tells_reaches_whom_it_is_for() {
        let agent = agent(
            r#"read a; read b; printf '%s\n' '{"told":"ended","job":2,"printed":"two","said":"","status":0,"not_started":null}'
            echo '{"told":"said","job":1,"line":"ready now"}'
            echo '{"told":"ended","job":1,"printed":"one","said":"","status":3,"not_started":null}'; cat >/dev/null"#,
        );
        let stop = Stop::default();
        let one = agent.begin(&words("rtt x"), Some("secret"), true).unwrap();
        let two = agent.begin(&words("rtt y"), None, false).unwrap();
        assert_eq!(one.wait_for_word("ready", Nanos::secs(60), &stop).unwrap(), "ready now");
        let (one, two) = (one.wait(Nanos::secs(60), &stop).unwrap(), two.wait(Nanos::secs(60), &stop).unwrap());
        assert_eq!((one.printed.as_str(), one.status), ("one", Some(3)));
        assert_eq!((two.printed.as_str(), two.status), ("two", Some(0)));
    }

    #[test]
    fn what_was_not_started_and_what_ended_too_early_say_why() {
        let agent = agent(
            r#"read a; echo '{"told":"ended","job":1,"printed":"","said":"","status":null,"not_started":"no such file"}'
            read b; printf '%s\n' '{"told":"ended","job":2,"printed":"","said":"error: port 7663: taken\nhint: x","status":2,"not_started":null}'; cat >/dev/null"#,
        );
        let stop = Stop::default();
        let one = agent.begin(&words("rtt x"), None, false).unwrap();
        assert_eq!(one.wait(Nanos::secs(60), &stop).unwrap_err().what, "b: no such file");
        let two = agent.begin(&words("serve"), None, true).unwrap();
        let told = two.wait_for_word("listening", Nanos::secs(60), &stop).unwrap_err().what;
        assert_eq!(told, "b: error: port 7663: taken");
    }

    #[test]
    fn a_host_that_is_lost_in_the_middle_ends_the_wait() {
        let agent = agent("read a; echo 'Connection to b closed.' >&2; exit 1");
        let run = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default());
        let Run::Failed(failure) = run else { panic!("there was nothing to measure with") };
        assert!(failure.what.starts_with("b: its agent is gone"), "{}", failure.what);
        assert!(agent.gone().is_some());
        assert!(
            agent.begin(&words("rtt x"), None, false).is_err() || agent.gone().is_some(),
            "nothing more is asked of it"
        );
    }

    #[test]
    fn rubbish_in_the_middle_gives_the_host_up() {
        let agent = agent("read a; echo 'Broadcast message: going down'; cat >/dev/null");
        let run = agent.measure(&words("rtt x"), None, Nanos::secs(600), &Stop::default());
        let Run::Failed(failure) = run else { panic!("there was nothing to measure with") };
        assert_eq!(failure.what, "b: its agent tells what makes no sense: `Broadcast message: going down`");
    }

    #[test]
    fn a_stop_asks_for_what_there_is() {
        // The first order starts, the second ends.
        let agent = agent(
            r#"read a; read b; case $b in *end*) echo '{"told":"ended","job":1,"printed":"partial","said":"","status":130,"not_started":null}';; esac
            cat >/dev/null"#,
        );
        let stop = Stop::default();
        stop.request();
        let job = agent.begin(&words("rtt x"), None, false).unwrap();
        assert_eq!(job.wait(Nanos::secs(600), &stop).unwrap().printed, "partial");
    }
}
