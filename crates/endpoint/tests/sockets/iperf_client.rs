//! Our iperf 2 client against the real server where it is installed, against our own, and against bad ones.

mod bad;
mod bounces;
mod ours;
mod real;
pub(crate) mod relay;
pub(crate) mod theirs;

use std::net::SocketAddr;

use endpoint::peer::iperf::client::{self, Found, Outcome, Test, Told};
use endpoint::peer::iperf::server::event::{Ended, Event as Served};
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::{Asked, Carrier, Direction, Far, Method, Pattern};
use protocol::iperf::wish::{Quantity, Way};

fn method() -> Method {
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        pattern: Some(Pattern::Stream),
        direction: Some(Direction::Send),
        ..Asked::default()
    };
    asked.resolve_towards(Far::Foreign).expect("a sensible method")
}

/// A test of 300 KiB in writes of 32 KiB.
fn by_bytes(server: SocketAddr, way: Way) -> Test {
    Test { way, quantity: Quantity::Bytes(307_200), call_bytes: Some(32 << 10), ..Test::new(server, method()) }
}

/// 60 datagrams of 500 octets in half a second: few enough to fit a socket's buffer, whatever keeps its reader away.
fn flow(server: SocketAddr, way: Way) -> Test {
    Test {
        way,
        datagrams: true,
        quantity: Quantity::Bytes(30_000),
        pace: Some(protocol::iperf::wish::Pace::Bits(480_000)),
        call_bytes: Some(500),
        ..Test::new(server, method())
    }
}

/// Events and result of one test.
struct Made {
    outcome: Outcome,
    /// Octets of the intervals, by lanes.
    intervals: Vec<u64>,
    opened: usize,
    back: Vec<Ended>,
}

impl Made {
    fn by(test: &Test) -> Self {
        let (mut intervals, mut opened, mut back) = (vec![0; test.lanes().len()], 0, Vec::new());
        let mut listen = |told: Told<'_>| match told {
            Told::Open(_) => opened += 1,
            Told::Measured(Event::Carried { thread, interval }) => {
                intervals[thread as usize] += interval.carried.bytes.0;
            }
            Told::Back(Served::Ended(ended)) => back.push(*ended.clone()),
            Told::Measured(_) | Told::Back(_) => {}
        };
        let outcome = client::measure(test, &Stop::default(), &mut listen).unwrap_or_else(|error| panic!("{error}"));
        Self { outcome, intervals, opened, back }
    }

    /// Bytes that the lanes that send, or those that receive, carried.
    fn bytes(&self, sends: bool) -> u64 {
        self.lanes(sends).map(|found| found.count.carried.bytes.0).sum()
    }

    fn lanes(&self, sends: bool) -> impl Iterator<Item = &Found> {
        self.outcome.found.iter().filter(move |found| found.lane.sends == sends)
    }

    /// The series of every lane adds up to what it carried.
    fn assert_series(&self) {
        let carried: Vec<u64> = self.outcome.found.iter().map(|found| found.count.carried.bytes.0).collect();
        assert_eq!(self.intervals, carried);
        assert!(self.opened > 0);
    }
}
