//! STAMP over real sockets on loopback: planted faults are found as planted, and malformed packets do no harm.

mod bad;
mod clocks;
mod controlled;
mod irtt;
mod irtt_server;
mod losses;
mod parts;
mod relay;

use std::net::SocketAddr;
use std::thread;

use endpoint::peer::stamp::reflector::{self, Settings};
use endpoint::rtt::{self, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::INTERVAL;
use measure::method::{Asked, Carrier, Far, Schedule, Stop as StopAt};
use measure::unit::{Bytes, Nanos};
use protocol::stamp::key::Key;

use crate::served::Ends;

/// Settings of a measurement: `count` packets, one each millisecond whether or not answers come, all of them recorded.
/// The timeout is so long that only lost packets reach it.
fn asked(count: u64) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        schedule: Some(Schedule::Every { interval_ns: Nanos::millis(1) }),
        request_bytes: Some(Bytes(44)),
        response_bytes: Some(Bytes(44)),
        stop: StopAt { count: Some(count), ..StopAt::default() },
        warm_up_ns: Some(Nanos::ZERO),
        timeout_ns: Some(Nanos::secs(3)),
        ..Asked::default()
    }
}

/// The same with authenticated packets.
fn sealed(count: u64) -> Asked {
    Asked { request_bytes: Some(Bytes(112)), response_bytes: Some(Bytes(112)), ..asked(count) }
}

fn key() -> Key {
    Key::new(b"a key for tests alone")
}

fn task(asked: &Asked, address: SocketAddr, key: Option<Key>) -> Task {
    Task {
        trace: None,
        method: asked.resolve_towards(Far::Foreign).expect("a sensible method"),
        target: Some(Target { host: address.ip().to_string(), address }),
        protocol: Protocol::Stamp { key, clocks_agree: None, parts: Vec::new() },
        key: None,
        one_will_do: false,
        samples: false,
        interval: INTERVAL,
        program: "sonde test".into(),
        verify: None,
    }
}

fn measured(asked: &Asked, address: SocketAddr, key: Option<Key>) -> Finding {
    rtt::run(&task(asked, address, key), &Stop::default(), &mut |_| {}).expect("measured")
}

/// Runs `body` with a session-reflector at `listen`, with these settings.
fn with_reflector<T>(listen: &str, change: impl FnOnce(Settings) -> Settings, body: impl FnOnce(SocketAddr) -> T) -> T {
    let settings = change(Settings::at(vec![SocketAddr::new(listen.parse().unwrap(), 0)]));
    let reflector = reflector::bind(settings).expect("bound");
    let address = reflector.addresses()[0];
    let stop = Stop::default();
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || reflector.run(stop).expect("served"));
        let _ends = Ends(stop);
        body(address)
    })
}
