//! The real netserver as a child of a test, and what a test asks of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::netperf::client::{Measured, Session, Setup, Test};
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier, Far, Method, Pattern, Stop as StopAt, Window};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::ask::{self, Ask, Length};
use protocol::netperf::passphrase::Passphrase;
use rustix::process::{Pid, Signal, kill_process_group};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// A netserver that ends with the test, and whatever it started for its clients.
pub struct Netserver {
    child: Child,
    pub port: u16,
}

impl Netserver {
    /// One on a free port; `None`, said aloud, where there is none on this machine.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        for _ in 0..10 {
            let port = free_port();
            let mut command = Command::new("netserver");
            command.args(["-D", "-N", "-p", &port.to_string()]).args(arguments);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            let Ok(mut child) = command.spawn() else {
                testbed::skip::aloud("our netperf client with a real netserver: no netserver on this machine");
                return None;
            };
            if listens(port, &mut child) {
                return Some(Self { child, port });
            }
            child.kill().expect("ours");
            child.wait().expect("ours");
        }
        panic!("no netserver came up on ten ports");
    }

    pub fn at(&self, host: IpAddr) -> SocketAddr {
        SocketAddr::new(host, self.port)
    }

    /// A control connection to it.
    pub fn session(&self, host: IpAddr) -> Session {
        Session::open(setup(self.at(host)), &Stop::default()).expect("a control connection")
    }

    /// The netserver and whatever it started.
    pub fn signal(&self, signal: Signal) {
        let group = Pid::from_child(&self.child);
        kill_process_group(group, signal).expect("a group of our own");
    }
}

impl Drop for Netserver {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _status = self.child.wait();
    }
}

pub fn setup(server: SocketAddr) -> Setup {
    Setup { servers: vec![server], program: "sonde test".into(), ..Setup::default() }
}

pub fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text).expect("short enough")
}

pub fn free_port() -> u16 {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("a port").local_addr().expect("bound").port()
}

fn listens(port: u16, child: &mut Child) -> bool {
    let give_up = Monotonic::now().after(Nanos::secs(20));
    while Monotonic::now() < give_up && child.try_wait().expect("ours").is_none() {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return true;
        }
        pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
    }
    false
}

/// Requests and replies until both ends have `count` of them; nothing before that is unrecorded.
pub fn by_count(carrier: Carrier, pattern: Pattern, count: u64) -> Test {
    with_length(carrier, pattern, StopAt { count: Some(count), ..StopAt::default() }, Length::Count(count))
}

/// The same for so many seconds.
pub fn by_time(carrier: Carrier, pattern: Pattern, seconds: u32) -> Test {
    let stop = StopAt { after_ns: Some(Nanos::secs(u64::from(seconds))), ..StopAt::default() };
    with_length(carrier, pattern, stop, Length::Seconds(seconds))
}

pub fn with_length(carrier: Carrier, pattern: Pattern, stop: StopAt, length: Length) -> Test {
    let size = (pattern != Pattern::ConnectClose).then_some(Bytes(1));
    let asked = Asked {
        carrier: Some(carrier),
        pattern: Some(pattern),
        request_bytes: size,
        response_bytes: size,
        stop,
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..Asked::default()
    };
    let method = asked.resolve_towards(Far::Foreign).expect("a sensible method");
    let its = if carrier == Carrier::Udp { ask::Carrier::Udp } else { ask::Carrier::Tcp };
    let both = pattern != Pattern::ConnectClose;
    let ask = Ask {
        per_connection: pattern != Pattern::Exchange,
        request_bytes: both.then_some(1),
        response_bytes: both.then_some(1),
        ..Ask::omni(its, both, both, length)
    };
    Test::new(method, ask)
}

/// The same with so many requests outstanding.
pub fn in_window(test: Test, window: u32) -> Test {
    let method = Method { window: Window::Closed(window), ..test.method };
    Test { method, ..test }
}

pub fn measured(session: &mut Session, test: &Test) -> Measured {
    session.measure(test, &Stop::default(), &mut |_| {}).expect("measured")
}
