//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::process::Command;
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
        f.write_str(match self {
            Self::Ours => "ours",
            Self::Real => "real",
        })
    }
}

/// The pairings in which ours is at one end at least, client first.
pub const PAIRINGS: [(End, End); 3] = [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Real, End::Ours)];

impl End {
    fn program(self) -> Command {
        let mut command = match self {
            Self::Ours => Command::new(assert_cmd::cargo::cargo_bin!("sonde")),
            Self::Real => Command::new("iperf"),
        };
        command.arg0("iperf");
        command
    }

    /// Returns true where it can be run; where not, that is said aloud.
    pub fn is_here(self) -> bool {
        let here = self == Self::Ours || installed().is_some();
        if !here {
            testbed::skip::aloud("iperf 2 with the original: it is not installed");
        }
        here
    }

    /// Runs this end's client to its end, bounded.
    pub fn client(self, words: &str) -> Ended {
        process::ended(self.program().args(words.split_whitespace()), LIMIT)
    }

    /// The same with lines in the form of the original that is installed; of ours alone that makes a difference.
    pub fn client_in_form(self, words: &str) -> Ended {
        let form = installed().unwrap_or_default();
        process::ended(self.program().env("SONDE_IPERF_FORM", form).args(words.split_whitespace()), LIMIT)
    }

    /// Starts this end.
    pub fn started(self, words: &str) -> Running {
        process::started(self.program().args(words.split_whitespace()))
    }
}

/// The version of the original, where it is one whose form is known.
pub fn installed() -> Option<&'static str> {
    static HERE: OnceLock<Option<&'static str>> = OnceLock::new();
    *HERE.get_or_init(|| {
        let output = Command::new("iperf").arg("--version").output().ok()?;
        // 2.1.8 says it on standard error, 2.2.1 on standard output.
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        ["2.1.8", "2.2.1"].into_iter().find(|version| text.contains(&format!("version {version} ")))
    })
}

/// A server that listens; a real one of UDP serves one client, for the next may wait in vain.
pub struct Server {
    running: Running,
    pub port: u16,
}

impl Server {
    /// Starts `end`'s server with these words beside `-s -p PORT`.
    pub fn start(end: End, words: &str) -> Self {
        let port = port::free();
        let running = end.started(&format!("-s -p {port} {words}"));
        let udp = words.split_whitespace().any(|word| word == "-u");
        running.until_listening(if udp { Carrier::Udp } else { Carrier::Tcp }, port);
        Self { running, port }
    }

    /// Waits until it ends by itself; what it said.
    pub fn wait(self) -> Ended {
        self.running.end(LIMIT)
    }

    /// Ends it; what it said.
    pub fn end(self) -> Ended {
        self.running.signal(Signal::INT);
        self.running.end(LIMIT)
    }
}
