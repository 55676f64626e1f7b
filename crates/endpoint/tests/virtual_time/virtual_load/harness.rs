//! Runs a load over virtual paths and keeps its events.

use endpoint::engine::{self, Flow, Outlet, Run, Told};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, INTERVAL};
use measure::method::{Asked, Method, Pacing, Pattern, Schedule, Stop as StopAt};
use measure::trace::Trace;
use measure::unit::{Instant, Nanos};
use protocol::native::header::{Native, Token};
use rtrb::RingBuffer;
use testbed::clock::VirtualClock;
use testbed::link::{Network, Passage};
use testbed::path::Path;
use testbed::peer::Peer;

pub const MS: Nanos = Nanos::millis(1);

/// Result of a run.
pub struct Seen {
    pub run: Run,
    pub told: Vec<Exchange>,
    pub network: Network,
}

impl Seen {
    pub fn fate(&self, fate: Fate) -> Vec<u64> {
        self.told.iter().filter(|exchange| exchange.fate == fate).map(|exchange| exchange.seq).collect()
    }

    /// Recorded messages, whether they asked for a reply or not.
    pub fn passages(&self) -> Vec<Passage> {
        self.network.passages().into_iter().filter(|passage| !passage.warm_up).collect()
    }

    /// Departure of each message, nanoseconds from the clock's start.
    pub fn left(&self) -> Vec<u64> {
        let start = self.network.clock().start();
        self.passages().iter().map(|passage| passage.left.since(start).expect("after the start").0).collect()
    }
}

/// From its intended instant to the arrival of its reply.
pub fn response(exchange: &Exchange) -> Option<u64> {
    exchange.received?.since(exchange.intended?).map(|span| span.0)
}

/// A load of `messages` messages, every `reply_every`-th of which asks, asleep between them: virtual time passes only
/// in waits.
pub fn load(messages: u64, reply_every: u32, schedule: Schedule) -> Asked {
    Asked {
        pattern: Some(Pattern::Load),
        reply_every: Some(reply_every),
        schedule: Some(schedule),
        pacing: (schedule != Schedule::BackToBack).then_some(Pacing::Sleep),
        stop: StopAt { count: Some(messages), ..StopAt::default() },
        timeout_ns: Some(Nanos::millis(500)),
        warm_up_ns: Some(Nanos::ZERO),
        ..Asked::default()
    }
}

pub fn every(interval: Nanos) -> Schedule {
    Schedule::Every { interval_ns: interval }
}

pub fn run(asked: &Asked, path: Path) -> Seen {
    run_by(&asked.resolve().expect("a sensible method"), None, vec![path])
}

/// Runs by `method`, over a path for each connection, all on one thread.
pub fn run_by(method: &Method, trace: Option<&Trace>, paths: Vec<Path>) -> Seen {
    run_at(&VirtualClock::new(), method, trace, paths)
}

/// The same, in the time of `clock`.
pub fn run_at(clock: &VirtualClock, method: &Method, trace: Option<&Trace>, paths: Vec<Path>) -> Seen {
    let network = Network::new(clock);
    let (request, reply) = (method.traffic.request_bytes().0 as usize, method.traffic.response_bytes().0 as usize);
    let flows = (0..).zip(paths).map(|(index, path)| Flow {
        link: network.link(path, Peer::native()),
        wire: Native::new(Token([9; 16]), index, reply as u32),
        index: u32::from(index),
        request: vec![0; request],
        reply: vec![0; reply + 1],
        expected: Some(reply),
    });
    let (producer, mut consumer) = RingBuffer::new(1 << 18);
    let (stop, settled) = (Stop::default(), Stop::default());
    let (stop, settled) = (&stop, &settled);
    let told = Told { method, trace, stop, settled, thread: 0, threads: 1, samples: true, interval: INTERVAL };
    let run = engine::exchanges::run(flows.collect(), told, Outlet::new(producer));
    let events = std::iter::from_fn(|| consumer.pop().ok());
    let told: Vec<Exchange> =
        events.filter_map(|event| if let Event::Exchange(exchange) = event { Some(exchange) } else { None }).collect();
    let counts = run.recording.counts;
    assert!(counts.balance(), "{counts:?}");
    assert_eq!(told.len() as u64, counts.scheduled, "each request is told once, and no one-way message");
    Seen { run, told, network }
}

/// The instant `since` after the start of the clock, where recording starts without a warm-up.
pub fn at(seen: &Seen, since: Nanos) -> Instant {
    seen.network.clock().start().after(since)
}
