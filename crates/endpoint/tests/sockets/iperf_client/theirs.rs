//! The real iperf's server, one process for each test: 2.1.8's by datagrams serves no client soon after another.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use measure::method::Carrier;
use rustix::process::Signal;
use testbed::port;
use testbed::process::{self, LIMIT, Running};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Its line comes with the end of a test; a minute is what a busy machine may keep it away.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Returns true where it is installed; where not, says so aloud.
fn is_here() -> bool {
    static HERE: OnceLock<bool> = OnceLock::new();
    let here = *HERE.get_or_init(|| {
        let output = Command::new("iperf").arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stderr).contains("version 2"))
    });
    if !here {
        testbed::skip::aloud("our iperf 2 client with the real iperf: it is not installed");
    }
    here
}

/// A server of theirs that ends with this.
pub struct Theirs {
    pub address: SocketAddr,
    running: Running,
}

impl Theirs {
    /// Started with these options besides; `None`: there is none to be started.
    pub fn start(host: IpAddr, datagrams: bool, options: &[&str]) -> Option<Self> {
        if !is_here() {
            return None;
        }
        let port = port::free();
        let mut command = Command::new("iperf");
        command.args(["-s", "-y", "C", "-p", &port.to_string()]).args(options);
        command.args(datagrams.then_some("-u")).args(host.is_ipv6().then_some("-V"));
        let running = process::started(&mut command);
        running.until_listening(if datagrams { Carrier::Udp } else { Carrier::Tcp }, port);
        Some(Self { address: SocketAddr::new(host, port), running })
    }

    /// Ends it once it has told of `lines` tests; the fields of each line. `None`: it never told, for a reason of its own, which was said aloud.
    pub fn end(self, lines: usize) -> Option<Vec<Vec<String>>> {
        let told = self.running.comes_to(PATIENCE, |said| said.matches('\n').count() >= lines);
        let stuck = !told && is_stuck(self.running.id());
        self.running.signal(Signal::KILL);
        let ended = self.running.end(LIMIT);
        if stuck {
            say_stuck();
            return None;
        }
        assert!(told, "not told within {PATIENCE:?}: {ended:?}");
        Some(ended.stdout.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect())
    }

    /// The octets of the only test that it is to tell of, at its end; `None` as [`Self::end`].
    pub fn octets(self) -> Option<u64> {
        self.end(1).map(|lines| number(&lines[0], 7))
    }
}

/// Returns true where the threads of an iperf wait for each other while it still has a connection: no octet of ours is waited for, and none
/// would free it. It was seen of 2.1.8, under load, in tests of both directions: a server after its client had ended, and a client.
pub fn is_stuck(process: u32) -> bool {
    let sockets = entries(process, "fd")
        .filter(|file| fs::read_link(file).is_ok_and(|what| what.to_string_lossy().starts_with("socket:")));
    let waits = |place: &String| place.contains("futex") || place.contains("accept");
    sockets.count() > 1 && places(process).iter().all(waits)
}

/// The places in the kernel at which its threads wait.
pub fn places(process: u32) -> Vec<String> {
    entries(process, "task").map(|thread| fs::read_to_string(thread.join("wchan")).unwrap_or_default()).collect()
}

fn entries(process: u32, folder: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let found = fs::read_dir(format!("/proc/{process}/{folder}"));
    found.into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Says aloud that a test could not be held to the end.
pub fn say_stuck() {
    testbed::skip::aloud("what a real iperf counted: its threads waited for each other for ever, as they do at times");
}

/// The number in a field of a line.
pub fn number(fields: &[String], at: usize) -> u64 {
    fields.get(at).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{fields:?}"))
}
