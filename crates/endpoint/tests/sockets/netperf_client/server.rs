//! The real netserver as a child of a test, and what a test asks of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::{Command, Stdio};

use endpoint::peer::netperf::client::{Measured, Session, Setup, Test};
use endpoint::stop::Stop;
use measure::method::{Asked, Carrier, Exchange, Far, Method, Pattern, Stop as StopAt, Traffic, Window};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::ask::{self, Ask, Length};
use protocol::netperf::passphrase::Passphrase;
use rustix::process::Signal;
use testbed::port;
use testbed::process::{self, Running};

pub const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// A netserver that ends with the test, and whatever it started for its clients.
pub struct Netserver {
    running: Running,
    pub port: u16,
}

impl Netserver {
    /// One on a free port; `None`, said aloud, where there is none on this machine.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("netserver").arg("-V").stdin(Stdio::null()).output().is_err() {
            testbed::skip::aloud("our netperf client with a real netserver: no netserver on this machine");
            return None;
        }
        let port = port::free();
        let mut command = Command::new("netserver");
        let running = process::started(command.args(["-D", "-N", "-p", &port.to_string()]).args(arguments));
        running.until_listening(Carrier::Tcp, port);
        Some(Self { running, port })
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
        self.running.signal_all(signal);
    }
}

pub fn setup(server: SocketAddr) -> Setup {
    Setup { servers: vec![server], program: "sonde test".into(), ..Setup::default() }
}

pub fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text).expect("short enough")
}

/// Requests and replies until both ends have `count` of them; nothing before that is unrecorded.
pub fn by_count(carrier: Carrier, pattern: Pattern, count: u64) -> Test {
    with_length(carrier, pattern, StopAt { count: Some(count), ..StopAt::default() }, Length::Count(count))
}

/// The same for `seconds` seconds.
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

/// The same with `window` requests in flight.
pub fn in_window(test: Test, window: u32) -> Test {
    let Traffic::Exchange(exchange) = test.method.traffic else { panic!("{}", test.method) };
    let traffic = Traffic::Exchange(Exchange { window: Window::Closed(window), ..exchange });
    Test { method: Method { traffic, ..test.method }, ..test }
}

pub fn measured(session: &mut Session, test: &Test) -> Measured {
    session.measure(test, &Stop::default(), &mut |_| {}).expect("measured")
}
