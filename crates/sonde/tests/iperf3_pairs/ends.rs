//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use endpoint::clock::Monotonic;
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

    /// Whether it can be run; where not, that is said aloud.
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

/// A port that is free for TCP and UDP, below those that the system hands out by itself.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Several test programs may run at once: each begins elsewhere.
    let begin = (std::process::id() % 200) as u16 * 100;
    for _ in 0..10_000 {
        let port = 12_000 + (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % 20_000;
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let tcp = TcpListener::bind(v4).is_ok() && TcpListener::bind(v6).is_ok();
        if tcp && UdpSocket::bind(v4).is_ok() && UdpSocket::bind(v6).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// A server that listens.
pub struct Server {
    running: Running,
    /// Where.
    pub port: u16,
}

impl Server {
    /// Starts one of `end` with these words, and returns when it listens.
    pub fn start(end: End, words: &str) -> Self {
        let port = free_port();
        let mut command = end.program();
        command.args(["-s", "-p", &port.to_string(), "--forceflush"]).args(words.split_whitespace());
        let running = process::started(&mut command);
        assert!(is_listened_at(port), "{end} server: nobody listens");
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

/// Whether somebody listens on a port within a bounded time, as the kernel tells it: a connection would be a test.
pub fn is_listened_at(port: u16) -> bool {
    let give_up = Monotonic::now().after(Nanos::secs(20));
    let wanted = format!(":{port:04X} ");
    let listens = |table: &str| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        text.lines().any(|line| {
            let mut words = line.split_whitespace().skip(1);
            let local = words.next().unwrap_or_default();
            format!("{local} ").ends_with(&wanted) && words.nth(1) == Some("0A")
        })
    };
    while Monotonic::now() < give_up {
        if listens("/proc/net/tcp") || listens("/proc/net/tcp6") {
            return true;
        }
        std::thread::yield_now();
    }
    false
}
