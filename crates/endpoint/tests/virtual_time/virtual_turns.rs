//! Several connections of one thread that take turns: each has its share, and each path's behaviour is reported of its
//! connection.

use endpoint::engine::{self, Flow, Outlet, Run, Told};
use endpoint::stop::Stop;
use measure::event::{Event, Exchange, INTERVAL};
use measure::method::{Asked, Carrier, Method, Pacing, Schedule, Stop as StopAt};
use measure::outcome::flows::Flows;
use measure::statistics::flows::flows;
use measure::unit::{Instant, Nanos};
use protocol::native::header::{Native, Token};
use rtrb::RingBuffer;
use testbed::clock::VirtualClock;
use testbed::link::Network;
use testbed::path::Path;
use testbed::peer::Peer;

const FLOWS: u32 = 16;

fn asked(stop: StopAt) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        connections: Some(FLOWS),
        in_turn: true,
        stop,
        timeout_ns: Some(Nanos::millis(100)),
        warm_up_ns: Some(Nanos::millis(1)),
        stamps: Some(false),
        seed: Some(3),
        ..Asked::default()
    }
}

fn method(stop: StopAt) -> Method {
    asked(stop).resolve().expect("a sensible method")
}

/// A run over the path that `path` gives each connection.
fn run(method: &Method, path: impl Fn(u32) -> Path) -> Run {
    seen(method, path).0
}

/// As [`run`], with each exchange.
fn seen(method: &Method, path: impl Fn(u32) -> Path) -> (Run, Vec<Exchange>) {
    let network = Network::new(&VirtualClock::new());
    let flow = |index: u32| Flow {
        link: network.link(path(index), Peer::native()),
        wire: Native::new(Token([9; 16]), index as u16, 64),
        index,
        request: vec![0; 64],
        reply: vec![0; 65],
        expected: Some(64),
    };
    let (producer, mut consumer) = RingBuffer::new(1 << 16);
    let (stop, settled) = (Stop::default(), Stop::default());
    let told = Told {
        method,
        trace: None,
        stop: &stop,
        settled: &settled,
        thread: 0,
        threads: 1,
        samples: true,
        interval: INTERVAL,
    };
    let run = engine::exchanges::run((0..FLOWS).map(flow).collect(), told, Outlet::new(producer));
    let events = std::iter::from_fn(|| consumer.pop().ok());
    (
        run,
        events.filter_map(|event| if let Event::Exchange(exchange) = event { Some(exchange) } else { None }).collect(),
    )
}

fn told(run: &Run) -> Flows {
    flows(&run.recording, 1).expect("several connections are told apart")
}

fn for_a_second() -> StopAt {
    StopAt { after_ns: Some(Nanos::secs(1)), ..StopAt::default() }
}

#[test]
fn each_has_its_share_and_the_sums_are_right() {
    let run = run(&method(for_a_second()), |_| Path::seeded(1).delay(Nanos::micros(20)));
    let (counts, each) = (run.recording.counts, told(&run).each);
    assert_eq!(each.iter().map(|flow| flow.scheduled).sum::<u64>(), counts.scheduled);
    assert_eq!(each.iter().map(|flow| flow.answered).sum::<u64>(), counts.answered);
    let usual = counts.answered / u64::from(FLOWS);
    assert!(each.iter().all(|flow| flow.answered.abs_diff(usual) < usual / 4), "{each:?}");
    assert!(each.iter().all(|flow| flow.p50_ns == Some(Nanos::micros(40))));
}

#[test]
fn connections_of_a_longer_path_are_found_exactly() {
    let longer = |flow: u32| flow % 3 == 1;
    let path = |flow: u32| {
        let delay = if longer(flow) { 35 } else { 20 };
        Path::seeded(u64::from(flow)).delay(Nanos::micros(delay)).jitter(Nanos::micros(10))
    };
    let found = told(&run(&method(for_a_second()), path));
    let groups = found.groups.expect("enough rounds");
    let expected = [false, true].map(|slow| (0..FLOWS).filter(|flow| longer(*flow) == slow).collect::<Vec<_>>());
    assert_eq!(groups.iter().map(|group| group.flows.clone()).collect::<Vec<_>>(), expected);
    let shift = groups[1].shift.expect("two groups");
    assert!((shift.value_ns - 30_000.0).abs() < 2_000.0, "{shift:?}");
    assert_eq!(found.losing, [0; 0]);
}

#[test]
fn connections_of_a_losing_path_are_found() {
    let stop = StopAt { count: Some(40_000), ..StopAt::default() };
    let path = |flow: u32| {
        let path = Path::seeded(u64::from(flow)).delay(Nanos::micros(20));
        if flow < 4 { path.lose_at_random(0.02) } else { path }
    };
    let run = run(&method(stop), path);
    assert_eq!(told(&run).losing, [0, 1, 2, 3]);
    let lost = run.recording.counts.lost;
    assert!(lost > 0 && told(&run).each[4..].iter().all(|flow| flow.scheduled == flow.answered));
}

/// Each loss costs a hundred milliseconds, in which nothing is sent: who lost early has sent less, and differs in nothing else.
#[test]
fn connections_of_one_path_that_loses_are_alike() {
    let alike = (0..40_u64).filter(|seed| {
        let path =
            |flow: u32| Path::seeded(seed * 100 + u64::from(flow)).delay(Nanos::micros(20)).lose_at_random(0.002);
        let run = run(&method(for_a_second()), path);
        assert!(run.recording.counts.lost > 3);
        told(&run).losing.is_empty()
    });
    assert!(alike.count() >= 38);
}

#[test]
fn a_reply_that_comes_after_all_is_that_of_its_own_connection() {
    let stop = StopAt { count: Some(4_000), ..StopAt::default() };
    // At least one of these numbers is its own; their replies come long after the timeout, when others have had their
    // turns.
    let held = 1_000..1_000 + 2 * u64::from(FLOWS);
    let path = |flow: u32| {
        let path = Path::seeded(1).delay(Nanos::micros(20));
        let late = |path: Path, request: u64| path.hold(request, Nanos::millis(130));
        if flow == 5 { held.clone().fold(path, late) } else { path }
    };
    let run = run(&method(stop), path);
    let counts = run.recording.counts;
    assert!(counts.late >= 1, "{counts:?}");
    assert_eq!((counts.lost, counts.strays, counts.duplicated), (0, 0, 0), "{counts:?}");
    let missing: Vec<u64> = told(&run).each.iter().map(|flow| flow.scheduled - flow.answered).collect();
    assert!(
        missing.iter().zip(0..).all(|(missing, flow)| *missing == if flow == 5 { counts.late } else { 0 }),
        "{missing:?}"
    );
}

/// A port that was just closed is not used again at once: the peer's kernel may still have its socket.
#[test]
fn no_handshake_follows_another_one_from_its_port() {
    let asked = Asked { carrier: Some(Carrier::TcpConnect), ..asked(for_a_second()) };
    let method = asked.resolve().expect("a sensible method");
    let (_, exchanges) = seen(&method, |_| Path::seeded(1).delay(Nanos::micros(20)));
    assert!(exchanges.len() > 10_000, "{}", exchanges.len());
    assert_eq!(exchanges.windows(2).filter(|pair| pair[0].flow == pair[1].flow).count(), 0);
}

/// Stalls of this host, of which each holds up a request of most connections.
const STALLS: u64 = 60;

/// Exchanges of connections that share an interval, in the order in which they left, of a host that stands still for most of a turn again and again.
fn held_up(in_turn: bool) -> Vec<(Instant, Instant, u32)> {
    let asked = Asked {
        schedule: Some(Schedule::Every { interval_ns: Nanos::millis(2) }),
        pacing: Some(Pacing::Sleep),
        in_turn,
        ..asked(StopAt { after_ns: Some(Nanos::millis(100 * (STALLS + 1))), ..StopAt::default() })
    };
    let path = |_| {
        let path = Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(3));
        (1..=STALLS).fold(path, |path, stall| path.full(Nanos::millis(100 * stall), Nanos::millis(31)))
    };
    let (_, exchanges) = seen(&asked.resolve().expect("a sensible method"), path);
    let mut left: Vec<_> = exchanges.iter().filter_map(|of| Some((of.sent?, of.intended?, of.flow))).collect();
    left.sort_unstable();
    left
}

#[test]
fn what_a_stall_holds_up_leaves_in_the_order_in_which_it_was_due() {
    let left = held_up(false);
    let out_of_order = left.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    assert_eq!(out_of_order, 0, "of {}", left.len());
}

/// A policer drops the last of what leaves at once: which connection that is must be chance where their order is.
#[test]
fn no_connection_is_always_the_last_of_those_that_a_stall_holds_up() {
    let left = held_up(true);
    let late = |one: &&[(Instant, Instant, u32)]| one[0].0 > one[0].1.after(Nanos::millis(1));
    let mut last = [0_u64; FLOWS as usize];
    // The last of a stall is followed by one that leaves in time.
    for pair in left.windows(2).filter(late).filter(|pair| pair[1].0 <= pair[1].1.after(Nanos::millis(1))) {
        last[pair[0].2 as usize] += 1;
    }
    assert!(last.iter().sum::<u64>() >= STALLS / 2 && last.iter().all(|count| *count <= STALLS / 4), "{last:?}");
}
