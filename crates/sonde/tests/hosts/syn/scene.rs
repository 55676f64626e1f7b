//! Three hosts in a row, and the program on the first.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use lab::chain::Chain;
use lab::namespace::{Namespace, NamespaceError};
use measure::event::Counts;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The port where the far host accepts connections: that of a reflector.
pub const OPEN: u16 = 7_663;
/// A port of it where nobody listens.
pub const CLOSED: u16 = 9;

/// Three hosts, a listener on the farthest.
pub struct Scene {
    // Ended before its host is gone.
    _listener: Listener,
    chain: Chain,
}

impl Scene {
    /// `None`: there are no namespaces here, which was said aloud.
    pub fn new(what: &str) -> Option<Self> {
        match Chain::new() {
            Ok(chain) => Some(Self { _listener: Listener::start(chain.far()), chain }),
            // Namespaces are to be had, but not as they should be: a defect, not a skip.
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                testbed::skip::aloud(&format!("{what} between namespaces: {error}"));
                None
            }
        }
    }

    /// The same with these rules in the firewall of one of the hosts; `None` also where there is no firewall.
    pub fn with_rules(what: &str, host: impl Fn(&Self) -> &Namespace, rules: &str) -> Option<Self> {
        let scene = installed("nft", "nftables", what).then(|| Self::new(what))??;
        run(host(&scene), &["nft", rules]);
        Some(scene)
    }

    /// Host that probes come from.
    pub fn near(&self) -> &Namespace {
        self.chain.near()
    }

    /// The hop between.
    pub fn middle(&self) -> &Namespace {
        self.chain.middle()
    }

    /// Host that they go to.
    pub fn far(&self) -> &Namespace {
        self.chain.far()
    }

    /// The far host's address and a port of it, as one is typed.
    pub fn target(&self, six: bool, port: u16) -> String {
        if six { format!("[{}]:{port}", self.far().v6()) } else { format!("{}:{port}", self.far().v4()) }
    }

    /// `sonde syn --json -q` with these words, ended.
    pub fn syn(&self, words: &[&str]) -> Output {
        let mut command = sonde_in(self.near());
        command.args(["syn", "--json", "-q"]).args(words).output().expect("started")
    }

    /// The record of probes that came to an end.
    pub fn record(&self, words: &[&str]) -> Value {
        let output = self.syn(words);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        document(&output)
    }
}

/// The program in `namespace`, without the environment of whoever runs the tests.
pub fn sonde_in(namespace: &Namespace) -> Command {
    let mut command = namespace.command(assert_cmd::cargo::cargo_bin!("sonde"));
    for name in ["SONDE_KEY_FILE", "SONDE_COLOR", "NOTIFY_SOCKET", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
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

/// Runs a tool in `namespace`, which must go well.
pub fn run(namespace: &Namespace, words: &[&str]) {
    let output = namespace.command(words[0]).args(&words[1..]).output().expect("started");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns true where a program is installed; where not, that is said aloud.
pub fn installed(program: &str, package: &str, what: &str) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        testbed::skip::aloud(&format!("{what}: {program} is not installed ({package})"));
    }
    there
}

/// `sonde serve` on the far host; ended when it goes out of scope.
struct Listener {
    child: Child,
    _stderr: BufReader<ChildStderr>,
}

impl Listener {
    fn start(namespace: &Namespace) -> Self {
        let mut command = sonde_in(namespace);
        let child = command.args(["serve", "--open"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("started");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut status = String::new();
        stderr.read_line(&mut status).expect("a line");
        assert!(status.contains("listening on"), "{status}");
        Self { child, _stderr: stderr }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // In order, so that its namespace is empty when that is removed.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
