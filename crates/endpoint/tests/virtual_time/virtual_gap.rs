//! Schedules of ping over virtual paths: requests sent ahead, requests that leave although no reply came, and the wait
//! for the last replies.

use endpoint::engine::{self, Flow, Outlet, Run, Told};
use endpoint::stop::Stop;
use measure::event::INTERVAL;
use measure::method::{Asked, Carrier, Far, Pacing, Schedule, Stop as StopAt};
use measure::unit::Nanos;
use protocol::native::header::{Native, Token};
use rtrb::RingBuffer;
use testbed::clock::VirtualClock;
use testbed::link::Network;
use testbed::path::Path;
use testbed::peer::Peer;

/// A run and when each message left, in milliseconds since the start.
struct Seen {
    run: Run,
    left: Vec<u64>,
    lasted_ms: u64,
}

fn asked(schedule: Schedule, count: u64) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        window: Some(u32::from(!schedule.has_instants())),
        schedule: Some(schedule),
        pacing: schedule.has_instants().then_some(Pacing::Sleep),
        stop: StopAt { count: Some(count), ..StopAt::default() },
        timeout_ns: Some(Nanos::secs(1)),
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..Asked::default()
    }
}

fn run(asked: &Asked, path: Path) -> Seen {
    let method = asked.resolve_towards(Far::Foreign).expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let size = method.traffic.request_bytes().0 as usize;
    let flow = Flow {
        link: network.link(path, Peer::native()),
        wire: Native::new(Token([9; 16]), 0, method.traffic.response_bytes().0 as u32),
        index: 0,
        request: vec![0; size],
        reply: vec![0; size + 1],
        expected: None,
    };
    let (producer, _consumer) = RingBuffer::new(1 << 12);
    let (stop, settled) = (&Stop::default(), &Stop::default());
    let told =
        Told { method: &method, trace: None, stop, settled, thread: 0, threads: 1, samples: false, interval: INTERVAL };
    let run = engine::exchanges::run(vec![flow], told, Outlet::new(producer));
    assert!(run.recording.counts.balance(), "{:?}", run.recording.counts);
    let start = network.clock().start();
    let since = |at: measure::unit::Instant| at.since(start).expect("after the start").0 / 1_000_000;
    let left = network.passages().iter().map(|passage| since(passage.left)).collect();
    Seen { run, left, lasted_ms: since(network.clock().true_now()) }
}

/// A round trip takes `2 * each_way_ms`.
fn path(each_way_ms: u64) -> Path {
    Path::seeded(7).delay(Nanos::millis(each_way_ms))
}

fn at_latest(gap_ms: u64, adapts: bool) -> Schedule {
    Schedule::AtLatest { gap_ns: Nanos::millis(gap_ms), adapts }
}

#[test]
fn the_next_leaves_with_the_reply_and_after_a_loss_with_the_gap() {
    let mut asked = asked(at_latest(10, false), 5);
    asked.stop.linger_answered_ns = Some(Nanos::millis(20));
    let seen = run(&asked, path(1).lose([2]));
    assert_eq!(seen.left, [0, 2, 4, 14, 16]);
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.lost), (4, 1));
    // Not the second that a request may take, but what the linger says behind the last departure.
    assert!((36..100).contains(&seen.lasted_ms), "{}", seen.lasted_ms);
}

#[test]
fn a_round_trip_longer_than_the_gap_loses_nothing() {
    let seen = run(&asked(at_latest(10, false), 4), path(20));
    assert_eq!(seen.left, [0, 10, 20, 30]);
    assert_eq!(seen.run.recording.counts.answered, 4);
}

#[test]
fn a_gap_that_adapts_becomes_the_round_trip() {
    let seen = run(&asked(at_latest(1_000, true), 5), path(20).lose([1]));
    assert_eq!(seen.left, [0, 40, 80, 120, 160]);
    assert_eq!(seen.run.recording.counts.lost, 1);
}

#[test]
fn what_cannot_be_sent_is_not_tried_again_at_once() {
    let seen = run(&asked(at_latest(10, false), 3), path(1).send_fail([0]));
    assert_eq!(seen.run.recording.counts.send_failed, 1);
    assert_eq!(seen.left.last(), Some(&12), "{:?}", seen.left);
}

#[test]
fn what_is_preloaded_leaves_at_once() {
    let preloaded = Schedule::Preloaded { count: 3, interval_ns: Nanos::millis(10) };
    let seen = run(&asked(preloaded, 5), path(1));
    assert_eq!(seen.left, [0, 0, 0, 10, 20]);
}

#[test]
fn what_is_never_answered_is_waited_for_as_long_as_was_said() {
    let mut asked = asked(Schedule::Preloaded { count: 1, interval_ns: Nanos::millis(10) }, 2);
    asked.stop.linger_ns = Some(Nanos::millis(300));
    asked.stop.linger_answered_ns = Some(Nanos::millis(20));
    let silent = run(&asked, path(1).lose([0, 1]));
    assert!((310..500).contains(&silent.lasted_ms), "{}", silent.lasted_ms);
    let answered = run(&asked, path(1).lose([1]));
    assert!((30..150).contains(&answered.lasted_ms), "{}", answered.lasted_ms);
}
