//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::{self, Ended, LIMIT, Running};

/// Whose program stands at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// This project's binary, called by the original's name.
    Ours,
    /// The original, as the distribution builds it.
    Real,
    /// The original, built otherwise; see `make/netperf-variants`.
    Built(&'static str),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours => f.write_str("ours"),
            Self::Real => f.write_str("real"),
            Self::Built(name) => write!(f, "real ({name})"),
        }
    }
}

/// The four pairings, client first.
pub const PAIRINGS: [(End, End); 4] =
    [(End::Ours, End::Ours), (End::Ours, End::Real), (End::Real, End::Ours), (End::Real, End::Real)];

impl End {
    /// `netperf` or `netserver` of this end; `None` where it is not installed.
    pub fn program(self, name: &str) -> Option<Command> {
        let mut command = match self {
            Self::Ours => {
                let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
                command.arg0(name);
                command
            }
            Self::Real => Command::new(installed().then_some(name)?),
            Self::Built(build) => {
                let path = built(build)?.join(name);
                let mut command = Command::new(path);
                command.arg0(name);
                command
            }
        };
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR", "SONDE_KEY_FILE", "LC_ALL", "LANG"] {
            command.env_remove(name);
        }
        Some(command)
    }

    /// Whether it can be run; where not, that is said aloud.
    pub fn is_here(self, what: &str) -> bool {
        let here = match self {
            Self::Ours => true,
            Self::Real => installed(),
            Self::Built(name) => built(name).is_some(),
        };
        if !here {
            let how = match self {
                Self::Built(_) => "make/netperf-variants builds it",
                _ => "netperf, in Debian's non-free component",
            };
            testbed::skip::aloud(&format!("{what} with the original, {self}: it is not here ({how})"));
        }
        here
    }

    /// Runs this end's client against a server at `port`, bounded.
    pub fn client(self, port: u16, words: &[impl AsRef<str>]) -> Ended {
        self.running(port, words).end(LIMIT)
    }

    /// Starts this end's client against a server at `port`.
    pub fn running(self, port: u16, words: &[impl AsRef<str>]) -> Running {
        let mut command = self.program("netperf").expect("asked for what is here");
        command.args(["-p", &port.to_string()]).args(words.iter().map(AsRef::as_ref));
        process::started(&mut command)
    }
}

fn installed() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let runs = |name| Command::new(name).arg("-V").stdin(Stdio::null()).output().is_ok_and(|out| out.status.success());
    *HERE.get_or_init(|| runs("netperf") && runs("netserver"))
}

/// The folder of a build of the original: in the target folder, which holds our binary in a folder of its profile.
fn built(name: &str) -> Option<PathBuf> {
    let target = Path::new(assert_cmd::cargo::cargo_bin!("sonde")).ancestors().nth(2)?;
    let folder = target.join("netperf-variants").join(name);
    folder.join("netserver").exists().then_some(folder)
}

/// A port that is free for TCP and UDP, below those that the system hands out by itself: no data connection of a test
/// that runs at the same time comes by it.
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

/// A netserver in the foreground, with all it starts; ended when it goes out of scope.
pub struct Server {
    child: Child,
    /// Its control port.
    pub port: u16,
    lines: Receiver<String>,
}

impl Server {
    /// Starts one of `end` on a port of its own with these further words, and returns when it listens.
    pub fn start(end: End, words: &[&str]) -> Self {
        Self::of(|| end.program("netserver").expect("asked for what is here"), words)
    }

    /// Starts what `program` gives, as a netserver.
    pub fn of(program: impl Fn() -> Command, words: &[&str]) -> Self {
        let mut said = String::new();
        // A port may be taken between the choice and the start.
        for _ in 0..5 {
            let port = free_port();
            let mut command = program();
            command.args(["-D", "-p", &port.to_string()]).args(words);
            match Self::spawn(command, port) {
                Ok(server) => return server,
                Err(line) => said = line,
            }
        }
        panic!("no netserver listens: {said}");
    }

    fn spawn(mut command: Command, port: u16) -> Result<Self, String> {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command.stdin(Stdio::null()).stdout(writer.try_clone().expect("a pipe's end")).stderr(writer);
        // A group of its own: the original starts a process for each client.
        let child = command.process_group(0).spawn().expect("started");
        drop(command);
        let (told, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                // The test may have gone; what is printed is read all the same.
                let _ = told.send(line);
            }
        });
        let server = Self { child, port, lines };
        let first = server.lines.recv_timeout(Duration::from_secs(10));
        match first {
            Ok(line) if line.starts_with("Starting netserver with host") => Ok(server),
            Ok(line) => Err(line),
            Err(error) => Err(format!("it said nothing: {error}")),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
