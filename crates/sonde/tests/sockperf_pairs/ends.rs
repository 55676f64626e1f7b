//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

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

/// The four pairings, client first.
pub const PAIRINGS: [(End, End); 4] =
    [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Real, End::Ours), (End::Real, End::Real)];

impl End {
    /// Its program.
    pub fn program(self) -> Command {
        let mut command = match self {
            Self::Ours => Command::new(assert_cmd::cargo::cargo_bin!("sonde")),
            Self::Real => Command::new("sockperf"),
        };
        command.arg0("sockperf");
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "SEED", "LC_ALL", "LANG"] {
            command.env_remove(name);
        }
        command
    }

    /// Whether it can be run; where not, that is said aloud.
    pub fn is_here(self, what: &str) -> bool {
        let here = self == Self::Ours || installed();
        if !here {
            testbed::skip::aloud(&format!("{what} with the original: sockperf is not installed"));
        }
        here
    }

    /// Runs this end's client to its end, bounded.
    pub fn client(self, words: &[impl AsRef<str>]) -> Ended {
        self.running(words).end(LIMIT)
    }

    /// Starts this end's client.
    pub fn running(self, words: &[impl AsRef<str>]) -> Running {
        let mut command = self.program();
        command.args(words.iter().map(AsRef::as_ref));
        process::started(&mut command)
    }
}

/// A run of our client to its end.
pub fn ours(words: &str) -> Ended {
    End::Ours.client(&words.split_whitespace().collect::<Vec<_>>())
}

fn installed() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let runs = || Command::new("sockperf").arg("--version").stdin(Stdio::null()).output().is_ok();
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

/// A server in the foreground; ended when it goes out of scope.
pub struct Server {
    child: Child,
    lines: Receiver<Line>,
    /// Its standard output so far.
    said: String,
}

enum Line {
    Out(String),
    Err(String),
}

impl Server {
    /// Starts one of `end` with these words, and returns when it serves.
    pub fn start(end: End, words: &[&str]) -> Self {
        Self::of(end, &[&["server"], words].concat())
    }

    /// The same with all words of the command, its name among them.
    pub fn of(end: End, words: &[impl AsRef<str>]) -> Self {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let mut command = end.program();
        command.args(&words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let (told, lines) = mpsc::channel();
        read(child.stdout.take().expect("piped"), told.clone(), Line::Out);
        read(child.stderr.take().expect("piped"), told, Line::Err);
        let mut server = Self { child, lines, said: String::new() };
        let threads = words.iter().position(|word| *word == "--threads-num").and_then(|at| words[at + 1].parse().ok());
        server.until_serving(threads.unwrap_or(1), end);
        server
    }

    fn until_serving(&mut self, threads: usize, end: End) {
        let mut complaints = String::new();
        while self.said.matches("[tid ").count() < threads {
            match self.lines.recv_timeout(Duration::from_secs(20)) {
                Ok(Line::Out(line)) => self.said += &line,
                Ok(Line::Err(line)) => complaints += &line,
                Err(error) => panic!("{end} server: {error}: {} {complaints}", self.said),
            }
        }
    }

    /// Ends it. How many messages it says that it took; absent where it says nothing of them.
    pub fn end(self) -> Option<u64> {
        self.end_told().0
    }

    /// The same, with all of its standard output.
    pub fn end_told(mut self) -> (Option<u64>, String) {
        self.signal(Signal::INT);
        let status = self.child.wait().expect("a child of ours");
        assert!(status.success(), "{status}");
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.lines.iter().filter_map(|line| if let Line::Out(line) = line { Some(line) } else { None }));
        let total = |line: &str| {
            let (_, rest) = line.split_once("Total ")?;
            rest.split_once(" messages received and handled")?.0.parse().ok()
        };
        (said.lines().find_map(total), said)
    }

    /// Ends it without a word.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a child that was not waited for");
    }
}

/// Hands each line on, with its end, as what it is.
fn read(from: impl Read + Send + 'static, told: Sender<Line>, as_what: fn(String) -> Line) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // The test may have gone; what is printed is read all the same.
            let _ = told.send(as_what(line + "\n"));
        }
    });
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended already where the test asked for its count.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
