//! The two ends of a run: ours and the real one, as client and as server.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

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
        for name in [
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "SONDE_COLOR",
            "SONDE_KEY_FILE",
            "SONDE_NETPERF_BUCKETS",
            "LC_ALL",
            "LANG",
        ] {
            command.env_remove(name);
        }
        Some(command)
    }

    /// Returns true where it can be run; where not, that is said aloud.
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

/// A netserver in the foreground, with all it starts; ended when it goes out of scope.
pub struct Server {
    running: Running,
    /// Its control port.
    pub port: u16,
}

impl Server {
    /// Starts one of `end` on a port of its own with these further words, and returns when it listens.
    pub fn start(end: End, words: &[&str]) -> Self {
        Self::of(|| end.program("netserver").expect("asked for what is here"), words)
    }

    /// Starts what `program` gives, as a netserver; in another network namespace too, whose sockets only it can tell of.
    pub fn of(program: impl FnOnce() -> Command, words: &[&str]) -> Self {
        let port = port::free();
        let mut command = program();
        let running = process::started(command.args(["-D", "-p", &port.to_string()]).args(words));
        running.until("listening", |said| said.contains("Starting netserver with host") && said.contains('\n'));
        Self { running, port }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Stops it, and the processes that the original starts for its clients.
    pub fn stop(&self) {
        self.running.signal_all(Signal::STOP);
    }
}
