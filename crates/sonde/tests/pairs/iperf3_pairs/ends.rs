//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use measure::method::Carrier;
use rustix::process::Signal;
use testbed::port;
use testbed::process::{self, Ended, LIMIT, Running};

/// Program at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// This project's binary, called by the original's name.
    Ours,
    /// The original, as the distribution builds it.
    Real,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Ours { "ours" } else { "real" })
    }
}

/// The four pairings, client first.
pub const PAIRINGS: [(End, End); 4] =
    [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Real, End::Ours), (End::Real, End::Real)];

impl End {
    /// Its program.
    pub fn program(self) -> Command {
        let mut command = match self {
            Self::Ours => Command::new(assert_cmd::cargo::cargo_bin!("sonde")),
            Self::Real => Command::new("iperf3"),
        };
        command.arg0("iperf3");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "LC_ALL", "LANG", "IPERF3_PASSWORD"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns true where it can be run; where not, that is said aloud.
    pub fn is_here(self, what: &str) -> bool {
        let here = self == Self::Ours || installed();
        if !here {
            testbed::skip::aloud(&format!("{what} with the original: iperf3 is not installed"));
        }
        here
    }

    /// Runs this end's client to its end, bounded.
    pub fn client(self, port: u16, words: &str) -> Ended {
        self.running(port, words).end(LIMIT)
    }

    /// Starts this end's client.
    pub fn running(self, port: u16, words: &str) -> Running {
        let mut command = self.program();
        command.args(["-c", "127.0.0.1", "-p", &port.to_string()]).args(words.split_whitespace());
        process::started(&mut command)
    }
}

fn installed() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let runs = || Command::new("iperf3").arg("--version").stdin(Stdio::null()).output().is_ok();
    *HERE.get_or_init(runs)
}

/// A server that listens.
pub struct Server {
    running: Running,
    /// Its port.
    pub port: u16,
}

impl Server {
    /// Starts one of `end` with these words, and returns when it listens.
    pub fn start(end: End, words: &str) -> Self {
        let port = port::free();
        let mut command = end.program();
        command.args(["-s", "-p", &port.to_string(), "--forceflush"]).args(words.split_whitespace());
        let running = process::started(&mut command);
        running.until_listening(Carrier::Tcp, port);
        Self { running, port }
    }

    /// Ends it by SIGINT, and returns what it said.
    pub fn end(self) -> Ended {
        self.running.signal(Signal::INT);
        self.running.end(LIMIT)
    }

    /// Waits for its own end.
    pub fn ended(self) -> Ended {
        self.running.end(LIMIT)
    }
}
