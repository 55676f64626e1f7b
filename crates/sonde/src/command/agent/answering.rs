//! The reflector by which an agent that stays answers the others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread::{self, JoinHandle};

use endpoint::clock::Monotonic;
use endpoint::error::EndpointError;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::{Reflector, Settings, bind};
use endpoint::stop::Stop;
use measure::method::Pattern;
use measure::unit::{Bytes, Nanos};
use protocol::native::key::Key;
use protocol::native::limits::Limits;

use crate::program::PROGRAM;

/// Time after which listening that failed is tried again.
const AGAIN: Nanos = Nanos::secs(10);

/// A reflector, until it is dropped.
#[derive(Debug)]
pub struct Answering {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
    port: u16,
    key: Option<String>,
}

impl Answering {
    /// Answers at `port` whoever has `key`; without one, this host alone. `tell` hears what does not work, and that it does.
    pub fn start(port: u16, key: Option<&str>, tell: impl Fn(Option<String>) + Send + 'static) -> Self {
        let stop = Stop::default();
        let (ending, key) = (stop.clone(), key.map(str::to_owned));
        let secret = key.clone();
        let body = move || answer(port, secret.as_deref(), &ending, &tell);
        // Where no thread is granted nobody is answered, which the others tell.
        let thread = thread::Builder::new().name("answering".into()).spawn(body).ok();
        Self { stop, thread, port, key }
    }

    /// Returns true where it answers at this port with this key.
    pub fn is(&self, port: u16, key: Option<&str>) -> bool {
        self.port == port && self.key.as_deref() == key
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.stop.request();
        // One that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(port: u16, key: Option<&str>, stop: &Stop, tell: &impl Fn(Option<String>)) {
    while !stop.requested() {
        let ended = open(port, key).and_then(|reflector| {
            tell(None);
            reflector.run(stop).map_err(|error| error.to_string())
        });
        match ended {
            Ok(()) => return,
            Err(error) => tell(Some(error)),
        }
        stop.wait(Monotonic::now().after(AGAIN));
    }
}

fn open(port: u16, key: Option<&str>) -> Result<Reflector, String> {
    let permit = permit();
    let permits = match key {
        Some(text) => Permits::keyed(vec![(Key::parse(text).map_err(|error| error.to_string())?, permit)]),
        None => Permits::open(permit),
    };
    let at = |address: IpAddr| SocketAddr::new(address, port);
    // The wildcard of IPv6 takes IPv4 in as well.
    let (listen, otherwise) = if key.is_some() {
        (vec![at(Ipv6Addr::UNSPECIFIED.into())], at(Ipv4Addr::UNSPECIFIED.into()))
    } else {
        (vec![at(Ipv4Addr::LOCALHOST.into()), at(Ipv6Addr::LOCALHOST.into())], at(Ipv4Addr::LOCALHOST.into()))
    };
    let settings = Settings { listen, permits, limits: limits(), ..Settings::at(otherwise, PROGRAM) };
    let bound = match bind(settings.clone()) {
        Err(error) if error.lacks_ipv6() => bind(Settings { listen: vec![otherwise], ..settings }),
        bound => bound,
    };
    bound.map_err(|error: EndpointError| error.to_string())
}

/// Rights of the other agents: exchanges of small messages, and nothing that would make this host busy.
fn permit() -> Permit {
    Permit {
        patterns: Some(vec![Pattern::Exchange]),
        spin: false,
        pin: false,
        facts: false,
        ..Permit::within(limits())
    }
}

fn limits() -> Limits {
    let largest = Bytes(2_048);
    Limits {
        sessions: 8_192,
        flows_per_session: 4,
        memory_bytes: Bytes(1 << 20),
        largest_request: largest,
        largest_response: largest,
        ..Limits::default()
    }
}
