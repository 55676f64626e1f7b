//! The real iperf's server, one process for each test: 2.1.8's by datagrams serves no client soon after another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;
use std::sync::OnceLock;

use measure::method::Carrier;
use rustix::process::Signal;
use testbed::port;
use testbed::process::{self, LIMIT, Running};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

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

    /// Ends it once it has told of `lines` tests; the fields of each line.
    pub fn end(self, lines: usize) -> Vec<Vec<String>> {
        self.running.until("a line for each test", |said| said.matches('\n').count() >= lines);
        self.running.signal(Signal::KILL);
        let ended = self.running.end(LIMIT);
        ended.stdout.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }
}

/// The number in a field of a line.
pub fn number(fields: &[String], at: usize) -> u64 {
    fields.get(at).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{fields:?}"))
}
