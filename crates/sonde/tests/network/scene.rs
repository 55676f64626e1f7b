//! Two hosts and the program on them.
//!
//! Tests of time run at real-time priority, so that other work does not decide what they see: where the user may not have it
//! they say so, and test nothing. Those of single requests have the machine to themselves as well ([`crate::alone`]). All others run beside
//! each other, and beside other programs of tests.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};

use lab::namespace::{Namespace, NamespaceError, Pair};
use measure::event::Counts;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
pub use testbed::skip::installed;

/// Those that run, which are of one kind.
static MACHINE: Mutex<Vec<Kind>> = Mutex::new(Vec::new());
/// One of them has ended.
static LEFT: Condvar = Condvar::new();
thread_local! {
    /// True where this test starts its programs at real-time priority.
    static URGENT: Cell<bool> = const { Cell::new(false) };
}

/// Tests that may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None.
    Alone,
    /// Those whose programs mostly sleep.
    Quiet,
    /// Those of many who come at once, where counts are judged and no times.
    Crowd,
    /// All that ask for nothing.
    Beside,
}

/// A test's right to run, until it is dropped.
pub struct Turn(Kind);

impl Turn {
    /// Returns when nobody runs beside whom this kind may not.
    pub fn of(kind: Kind) -> Self {
        let running = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_in_the_way = |running: &mut Vec<Kind>| running.iter().any(|other| kind == Kind::Alone || *other != kind);
        LEFT.wait_while(running, is_in_the_way).unwrap_or_else(PoisonError::into_inner).push(kind);
        Self(kind)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let one = running.iter().position(|kind| *kind == self.0).expect("this one runs");
        running.swap_remove(one);
        LEFT.notify_all();
    }
}

/// Two hosts joined by a cable, for one test.
pub struct Scene {
    pair: Pair,
    _turn: Turn,
}

impl Scene {
    /// For a test whose programs mostly sleep, and which knows of itself when they woke late. `None`: there are no namespaces here or no
    /// real-time priority, which was said aloud.
    pub fn ahead(what: &str) -> Option<Self> {
        Self::urgent(what, Turn::of(Kind::Beside))
    }

    /// For a test of anything else.
    pub fn beside(what: &str) -> Option<Self> {
        Self::new(what, Turn::of(Kind::Beside))
    }

    /// With programs at real-time priority. `None` as of [`Self::ahead`].
    pub fn urgent(what: &str, turn: Turn) -> Option<Self> {
        let scene = Self::new(what, turn)?;
        if !urgently(scene.near(), "true").output().is_ok_and(|output| output.status.success()) {
            testbed::skip::aloud(&format!(
                "{what}: time is judged at real-time priority alone, which is not permitted here"
            ));
            return None;
        }
        URGENT.set(true);
        Some(scene)
    }

    /// With programs at no priority. `None`: there are no namespaces here, which was said aloud.
    pub fn new(what: &str, turn: Turn) -> Option<Self> {
        match Pair::new() {
            Ok(pair) => Some(Self { pair, _turn: turn }),
            // Namespaces are to be had, but not as they should be: a defect, not a skip.
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                testbed::skip::aloud(&format!("{what} between namespaces: {error}"));
                None
            }
        }
    }

    /// Host that measures.
    pub fn near(&self) -> &Namespace {
        self.pair.near()
    }

    /// Host of the reflector.
    pub fn far(&self) -> &Namespace {
        self.pair.far()
    }

    /// The far side's address: of IPv6 where `six`.
    pub fn target(&self, six: bool) -> String {
        if six { self.far().v6().to_string() } else { self.far().v4().to_string() }
    }

    /// A reflector in the far namespace that answers anybody, started with these further words.
    pub fn reflector(&self, words: &[&str]) -> Reflector {
        Reflector::start(self.far(), &[&["--open"], words].concat())
    }

    /// The record of `sonde rtt` in the near namespace with these words.
    pub fn record(&self, words: &[&str]) -> Value {
        let output = self.rtt(words);
        let document = document(&output);
        let how = (&document["ended"], &document["error"], &document["outcome"]["counts"]);
        assert!(output.status.success(), "{words:?}: {} {how:?}", String::from_utf8_lossy(&output.stderr));
        document
    }

    /// `sonde rtt --json -q` in the near namespace with these words, ended.
    pub fn rtt(&self, words: &[&str]) -> Output {
        rtt_in(self.near(), words).output().expect("started")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A thread of the harness goes on to another test.
        URGENT.set(false);
    }
}

/// A command that will run `program` in `namespace` at the lowest of the real-time priorities.
fn urgently(namespace: &Namespace, program: impl AsRef<OsStr>) -> Command {
    let mut command = namespace.command("chrt");
    command.args(["--fifo", "1"]).arg(program);
    command
}

/// `sonde rtt --json -q` in `namespace` with these words, not started yet.
pub fn rtt_in(namespace: &Namespace, words: &[&str]) -> Command {
    let mut command = sonde_in(namespace);
    command.args(["rtt", "--json", "-q"]).args(words);
    command
}

/// The program in `namespace`, without the environment of whoever runs the tests.
pub fn sonde_in(namespace: &Namespace) -> Command {
    let program = assert_cmd::cargo::cargo_bin!("sonde");
    let mut command = if URGENT.get() { urgently(namespace, program) } else { namespace.command(program) };
    as_a_stranger(&mut command);
    command
}

/// Without the environment of whoever runs the tests, and without input.
pub fn as_a_stranger(command: &mut Command) {
    for name in ["SONDE_KEY_FILE", "SONDE_COLOR", "NOTIFY_SOCKET", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
}

/// The one JSON document on standard output.
pub fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let [said, printed] = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
        panic!("{error}: {printed}\n{said}")
    })
}

/// The fates of a record's requests, which always add up.
pub fn counts(record: &Value) -> Counts {
    let counts: Counts = serde_json::from_value(record["outcome"]["counts"].clone()).expect("counts");
    assert!(counts.balance(), "{counts:?}");
    counts
}

/// Lets this thread, and what it starts, run before other work of this machine. A round trip passes several programs, each of which waits
/// for its turn on a busy machine: longer in all than the delays that are planted. Three shares of a processor where others have one (EEVDF
/// of Linux: 3121 to 1024): with many more, the tests beside it stand still for seconds.
pub fn before_others() {
    // Where root may not do that either, they wait with the others.
    let _ = rustix::process::setpriority_process(None, -5);
}

/// A number of a record, by its path.
pub fn number(record: &Value, path: &str) -> u64 {
    record.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} is {:?}", record.pointer(path)))
}

/// A quantile of a record's distribution at `path`, nanoseconds.
pub fn quantile(record: &Value, path: &str, q: f64) -> u64 {
    let quantiles = record.pointer(&format!("{path}/quantiles")).and_then(Value::as_array).expect("quantiles");
    let found = quantiles.iter().find(|quantile| quantile["q"] == q).expect("that quantile");
    found["value_ns"].as_u64().expect("a value")
}

/// One line of a file of samples.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its number within the measurement.
    pub seq: u64,
    /// From the intended instant, where there was one.
    pub response_ns: u64,
    /// From the send.
    pub service_ns: u64,
}

/// The answered exchanges of a file of samples.
pub fn samples(file: &Path) -> Vec<Sample> {
    let text = std::fs::read_to_string(file).expect("samples");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let column = |name: &str| head.iter().position(|title| *title == name).expect("that column");
    let [seq, response, service, fate] = ["seq", "response_ns", "service_ns", "fate"].map(column);
    let answered = lines.filter(|line| line[fate] == "answered");
    let number = |text: &str| text.parse().expect("a number");
    answered
        .map(|line| Sample {
            seq: number(line[seq]),
            response_ns: number(line[response]),
            service_ns: number(line[service]),
        })
        .collect()
}

/// Tells a figure that is reported and not judged, to whoever reads the output of the tests.
pub fn tell(text: &str) {
    // Written past the harness, which keeps what a passed test prints to itself.
    writeln!(std::io::stderr(), "{text}").expect("standard error");
}

/// Runs a tool in `namespace`, which must go well; what it printed.
pub fn run(namespace: &Namespace, words: &[&str]) -> String {
    let output = namespace.command(words[0]).args(&words[1..]).output().expect("started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Lets the groups of `range` have ping sockets in `namespace`. A new namespace begins with `1 0`, which is nobody.
pub fn let_ping(namespace: &Namespace, range: &str) {
    run(namespace, &["sh", "-c", &format!("echo '{range}' > /proc/sys/net/ipv4/ping_group_range")]);
}

/// `sonde serve` in a namespace, or what else serves; ended when it goes out of scope.
pub struct Reflector {
    child: Child,
    _stderr: BufReader<ChildStderr>,
}

impl Reflector {
    /// Starts it with these words, and returns when it listens.
    pub fn start(namespace: &Namespace, words: &[&str]) -> Self {
        let mut command = sonde_in(namespace);
        command.arg("serve").args(words);
        Self::started(command, "listening on")
    }

    /// Starts a command that serves until it is ended, and returns when it says `ready` on standard error.
    pub fn started(mut command: Command, ready: &str) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut status = String::new();
        stderr.read_line(&mut status).expect("a line");
        assert!(status.contains(ready), "{status}");
        Self { child, _stderr: stderr }
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        // In order, so that its namespace is empty when that is removed.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// A new key in `folder`, by the program itself.
pub fn key_in(folder: &Path) -> String {
    let file = folder.join("test.key").to_str().expect("a path in UTF-8").to_owned();
    let status = Command::new(assert_cmd::cargo::cargo_bin!("sonde")).args(["key", &file]).output().expect("started");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    file
}
