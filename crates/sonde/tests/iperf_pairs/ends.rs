//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use endpoint::clock::Monotonic;
use endpoint::pace;
use measure::unit::Nanos;
use rustix::process::Signal;

use crate::process::{self, Ended, LIMIT, Running};

/// Whose program stands at an end.
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

    /// Whether it can be run; where not, that is said aloud.
    pub fn is_here(self) -> bool {
        let here = self == Self::Ours || installed();
        if !here {
            testbed::skip::aloud("iperf 2 with the original: it is not installed");
        }
        here
    }

    /// Runs this end's client to its end, bounded.
    pub fn client(self, words: &str) -> Ended {
        process::ended(self.program().args(words.split_whitespace()), LIMIT)
    }

    /// Starts this end.
    pub fn started(self, words: &str) -> Running {
        process::started(self.program().args(words.split_whitespace()))
    }
}

fn installed() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    *HERE.get_or_init(|| {
        let output = Command::new("iperf").arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("version 2.1"))
    })
}

/// A port that is free for TCP and UDP, below those that the system hands out by itself.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Several test programs may run at once: each begins elsewhere.
    let base = 20_000 + (std::process::id() % 100) as u16 * 100;
    loop {
        let port = base + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        if TcpListener::bind(("0.0.0.0", port)).is_ok() && UdpSocket::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

/// Whether somebody listens for connections at `port`, by the kernel's table: a connection to find out would be a client.
fn listens_at(port: u16) -> bool {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let place = format!(":{port:04X} ");
    tables.iter().flat_map(|table| table.lines()).any(|line| line.contains(&place) && line.contains(" 0A "))
}

/// A server that listens; a real one of UDP serves one client, for the next may wait in vain.
pub struct Server {
    running: Running,
    pub port: u16,
}

impl Server {
    /// Starts `end`'s server with these words beside `-s -p PORT`.
    pub fn start(end: End, words: &str) -> Self {
        let port = free_port();
        let running = end.started(&format!("-s -p {port} {words}"));
        let server = Self { running, port };
        server.await_listening(words.contains("-u"));
        server
    }

    fn await_listening(&self, udp: bool) {
        let give_up = Monotonic::now().after(Nanos::secs(20));
        let listens = || if udp { UdpSocket::bind(("0.0.0.0", self.port)).is_err() } else { listens_at(self.port) };
        while !listens() {
            assert!(Monotonic::now() < give_up, "it does not listen");
            pace::sleep_until(Monotonic::now().after(Nanos::millis(20)));
        }
    }

    /// Waits until it ends by itself; what it said.
    pub fn wait(self) -> Ended {
        self.running.end(LIMIT)
    }

    /// Ends it; what it said.
    pub fn end(self) -> Ended {
        self.running.signal(Signal::INT);
        self.running.end(Duration::from_secs(10))
    }
}
