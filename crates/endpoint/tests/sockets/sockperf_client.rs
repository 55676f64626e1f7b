//! Our sockperf client, with scripted servers, good and bad, and with sockperf's own where it is installed.

mod arrivals;
mod connections;
mod groups;
mod real;
mod replies;
mod rogue;
mod sending;

use std::net::SocketAddr;

use endpoint::engine::Ended;
use endpoint::peer::sockperf::client::{self, LINGER, Measured, Place, Test};
use endpoint::stop::Stop;
use measure::event::{Counts, Event, Exchange, Fate};
use measure::method::{Asked, Carrier, Far, Pattern, Stop as StopAt};
use measure::unit::{Bytes, Nanos};

/// Datagrams of 20 bytes there and back, `count` of them. However busy the host is, an answer over loopback does not take as
/// long as the timeout; where one is waited for in vain, that is still short.
fn ping_pong(count: u64) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        pattern: Some(Pattern::Exchange),
        request_bytes: Some(Bytes(20)),
        response_bytes: Some(Bytes(20)),
        stop: StopAt { count: Some(count), linger_ns: Some(LINGER), ..StopAt::default() },
        timeout_ns: Some(Nanos::secs(3)),
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..Asked::default()
    }
}

/// `count` messages one way, of which every `reply_every`-th asks; as fast as they go.
fn load(count: u64, reply_every: u32) -> Asked {
    Asked { pattern: Some(Pattern::Load), response_bytes: None, reply_every: Some(reply_every), ..ping_pong(count) }
}

fn over_tcp(asked: Asked) -> Asked {
    Asked { carrier: Some(Carrier::Tcp), timeout_ns: Some(Nanos::secs(20)), ..asked }
}

/// A test of `asked` with sockets to all of `places`.
fn test_with(asked: &Asked, places: Vec<Place>) -> Test {
    let asked = Asked { connections: Some(places.len() as u32), threads: Some(1), ..asked.clone() };
    let method = asked.resolve_towards(Far::Foreign).expect("a sensible method");
    Test { samples: true, program: "sonde test".to_owned(), ..Test::new(method, places) }
}

fn test(asked: &Asked, address: SocketAddr) -> Test {
    test_with(asked, vec![place(asked.carrier.expect("said"), address)])
}

fn place(carrier: Carrier, address: SocketAddr) -> Place {
    Place { address, carrier, source: None }
}

/// Result of a run.
struct Seen {
    measured: Measured,
    told: Vec<Exchange>,
}

impl Seen {
    fn counts(&self) -> Counts {
        self.measured.gathered.recording.counts
    }

    fn ended(&self) -> Ended {
        self.measured.gathered.ended
    }

    fn with(&self, fate: Fate) -> Vec<u64> {
        self.told.iter().filter(|exchange| exchange.fate == fate).map(|exchange| exchange.seq).collect()
    }
}

fn run(test: &Test) -> Seen {
    let stop = Stop::default();
    let session = client::prepare(test).expect("sockets").connect(test, &stop).expect("connected");
    session.warm_up(test);
    let mut told = Vec::new();
    let hear = &mut |event| {
        if let Event::Exchange(exchange) = event {
            told.push(exchange);
        }
    };
    let measured = session.measure(test, &stop, hear).expect("measured");
    let seen = Seen { measured, told };
    assert!(seen.counts().balance(), "{:?}", seen.counts());
    seen
}
