//! Volleys over virtual paths: messages that leave together, the order of turns, and the effect of a lost or doubled
//! reply.

use endpoint::engine::{self, Flow, Outlet, Run, Told};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, Fate, INTERVAL};
use measure::method::{Asked, Carrier, Far, Method, Pacing, Schedule, Sizes, Stop as StopAt};
use measure::unit::{Bytes, Nanos, Rate};
use protocol::native::header::{Native, Token};
use rtrb::RingBuffer;
use testbed::clock::VirtualClock;
use testbed::link::Network;
use testbed::path::Path;
use testbed::peer::Peer;

const MS: Nanos = Nanos::millis(1);

struct Seen {
    run: Run,
    told: Vec<Exchange>,
    network: Network,
}

impl Seen {
    fn with(&self, fate: Fate) -> Vec<u64> {
        self.told.iter().filter(|exchange| exchange.fate == fate).map(|exchange| exchange.seq).collect()
    }

    /// Departure and connection of each message, in milliseconds since the start.
    fn left(&self) -> Vec<(u64, usize)> {
        let start = self.network.clock().start();
        let since = |passage: &testbed::link::Passage| passage.left.since(start).expect("after the start").0 / MS.0;
        self.network.passages().iter().map(|passage| (since(passage), passage.flow)).collect()
    }

    /// Duration of the run, in milliseconds.
    fn lasted(&self) -> u64 {
        let clock = self.network.clock();
        clock.true_now().since(clock.start()).expect("forwards").0 / MS.0
    }
}

/// Volleys of `size`, `messages` in all, back to back.
fn volleys(size: u32, messages: u64) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        volley: Some(size),
        stop: StopAt { count: Some(messages), ..StopAt::default() },
        timeout_ns: Some(Nanos::millis(50)),
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..Asked::default()
    }
}

fn on(schedule: Schedule, asked: Asked) -> Asked {
    Asked { schedule: Some(schedule), pacing: Some(Pacing::Sleep), ..asked }
}

fn method(asked: &Asked) -> Method {
    asked.resolve_towards(Far::Foreign).expect("a sensible method")
}

/// Runs over a path for each connection, on one thread.
fn run(asked: &Asked, paths: Vec<Path>) -> Seen {
    let asked = Asked { connections: Some(paths.len() as u32), threads: Some(1), ..asked.clone() };
    let method = method(&asked);
    let network = Network::new(&VirtualClock::new());
    let size = method.traffic.request_bytes().0 as usize;
    let flows = (0..).zip(paths).map(|(index, path)| Flow {
        link: network.link(path, Peer::native()),
        wire: Native::new(Token([9; 16]), index, method.traffic.response_bytes().0 as u32),
        index: u32::from(index),
        request: vec![0; size],
        reply: vec![0; size + 1],
        expected: None,
    });
    let (producer, mut consumer) = RingBuffer::new(1 << 12);
    let (stop, settled) = (Stop::default(), Stop::default());
    let (stop, settled) = (&stop, &settled);
    let told =
        Told { method: &method, trace: None, stop, settled, thread: 0, threads: 1, samples: true, interval: INTERVAL };
    let run = engine::exchanges::run(flows.collect(), told, Outlet::new(producer));
    let events = std::iter::from_fn(|| consumer.pop().ok());
    let told: Vec<Exchange> =
        events.filter_map(|event| if let Event::Exchange(exchange) = event { Some(exchange) } else { None }).collect();
    assert!(run.recording.counts.balance(), "{:?}", run.recording.counts);
    assert_eq!(told.len() as u64, run.recording.counts.scheduled, "each request is told once");
    Seen { run, told, network }
}

fn path() -> Path {
    Path::seeded(7).delay(Nanos::millis(5))
}

#[test]
fn the_next_leave_when_all_former_have_ended() {
    let seen = run(&volleys(3, 12), vec![path().lose([4]).hold(7, Nanos::millis(7))]);
    let at = |ms: u64| [(ms, 0); 3];
    // 4 is given up 50 ms after its departure at 10 ms; 7 comes 7 ms later than the others.
    assert_eq!(seen.left(), [at(0), at(10), at(60), at(77)].concat());
    assert_eq!((seen.with(Fate::Lost), seen.run.recording.counts.answered), (vec![4], 11));
}

#[test]
fn a_doubled_reply_shifts_nothing() {
    let seen = run(&volleys(2, 8), vec![path().duplicate(0..8)]);
    assert_eq!(seen.left().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 0, 10, 10, 20, 20, 30, 30]);
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.strays), (8, 0));
    // The copy of the last comes when no receive waits any more.
    assert!((6..=7).contains(&counts.duplicated), "{counts:?}");
}

#[test]
fn connections_take_turns() {
    let paths = vec![path(), path().lose([1]), path()];
    let seen = run(&volleys(2, 10), paths);
    // The second of the second connection's first volley is lost: its turn ends 50 ms after it began.
    let expected = [(0, 0), (0, 0), (10, 1), (10, 1), (60, 2), (60, 2), (70, 0), (70, 0), (80, 1), (80, 1)];
    assert_eq!(seen.left(), expected);
    assert_eq!(seen.run.recording.counts.lost, 1);
}

#[test]
fn a_schedule_is_kept_and_caught_up_with() {
    let rate = Schedule::Rate { rate_per_1000s: Rate::per_second(50).unwrap() };
    let seen = run(&on(rate, volleys(1, 8)), vec![path().hold(2, Nanos::millis(35))]);
    // Due every 20 ms; the third, of 40 ms, is answered at 85 ms, and what waited for it follows.
    assert_eq!(seen.left().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 20, 40, 85, 95, 105, 120, 140]);
    assert_eq!(seen.run.recording.counts.ticks_missed, 0);
    assert!(seen.run.recording.slip.is_none(), "a closed loop tells of no waits");
}

#[test]
fn connections_share_the_bursts_of_a_schedule() {
    let bursts = Schedule::Bursts { count: 2, interval_ns: Nanos::millis(30) };
    let seen = run(&on(bursts, volleys(2, 10)), vec![path(), path()]);
    let expected = [(0, 0), (0, 0), (30, 1), (30, 1), (60, 0), (60, 0), (90, 1), (90, 1), (120, 0), (120, 0)];
    assert_eq!(seen.left(), expected);
}

#[test]
fn messages_of_a_volley_differ_in_size_where_they_are_drawn() {
    let sizes = Sizes::Uniform { smallest: Bytes(40), largest: Bytes(44) };
    let seen = run(&Asked { sizes, ..volleys(5, 200) }, vec![path()]);
    let sizes: std::collections::BTreeSet<usize> = seen.network.passages().iter().map(|one| one.bytes).collect();
    assert_eq!(sizes, (40..=44).collect());
}

/// Replies are waited for behind the last departure for as long as was asked for, and no longer.
fn cut_short(asked: Asked) -> Seen {
    let stop = StopAt { after_ns: Some(Nanos::millis(95)), linger_ns: Some(Nanos::millis(20)), ..StopAt::default() };
    let asked = Asked { stop, timeout_ns: Some(Nanos::secs(9)), ..asked };
    run(&asked, vec![path().lose([9])])
}

#[test]
fn what_is_not_answered_behind_the_end_is_lost() {
    for asked in [volleys(1, 0), Asked { volley: None, window: Some(1), ..volleys(1, 0) }] {
        let seen = cut_short(asked);
        assert_eq!(seen.with(Fate::Lost), [9], "left at 90 ms");
        assert_eq!((seen.run.recording.counts.answered, seen.lasted()), (9, 115));
    }
}
