//! The real iperf's server, one process for each test: 2.1.8's by datagrams serves no client soon after another.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use endpoint::clock::Monotonic;
use endpoint::pace;
use measure::unit::Nanos;

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Whether it is installed; where not, that is said aloud.
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

/// A port that is free for both transports.
pub fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if UdpSocket::bind(("::", port)).is_ok() {
            return port;
        }
    }
}

/// A server of theirs that ends with this.
pub struct Theirs {
    pub address: SocketAddr,
    child: Option<Child>,
}

impl Theirs {
    /// Started with these options besides; `None`: there is none to be started.
    pub fn start(host: IpAddr, datagrams: bool, options: &[&str]) -> Option<Self> {
        if !is_here() {
            return None;
        }
        let port = free_port();
        let mut command = Command::new("iperf");
        command.args(["-s", "-y", "C", "-p", &port.to_string()]).args(options);
        command.args(datagrams.then_some("-u")).args(host.is_ipv6().then_some("-V"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let address = SocketAddr::new(host, port);
        let theirs = Self { address, child: Some(child) };
        let give_up = Monotonic::now().after(Nanos::secs(20));
        while !is_taken(address, datagrams) {
            assert!(Monotonic::now() < give_up, "it does not listen");
            pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
        }
        Some(theirs)
    }

    /// Ends it once it has told of `lines` tests; the fields of each line.
    pub fn end(mut self, lines: usize) -> Vec<Vec<String>> {
        let mut child = self.child.take().expect("it ends once");
        let mut text = String::new();
        let mut output = child.stdout.take().expect("a pipe");
        let mut piece = [0; 4_096];
        while text.lines().count() < lines {
            let count = output.read(&mut piece).unwrap();
            if count == 0 {
                break;
            }
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        end(&mut child);
        output.read_to_string(&mut text).unwrap();
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }
}

/// The number in a field of a line.
pub fn number(fields: &[String], at: usize) -> u64 {
    fields.get(at).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{fields:?}"))
}

fn is_taken(address: SocketAddr, datagrams: bool) -> bool {
    if datagrams { UdpSocket::bind(address).is_err() } else { TcpListener::bind(address).is_err() }
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ended = child.kill();
    let _waited = child.wait();
}

impl Drop for Theirs {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            end(child);
        }
    }
}
