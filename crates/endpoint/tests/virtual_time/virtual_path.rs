//! The real engines on a virtual path: the recorder has exactly the path's behaviour, to the nanosecond.

use endpoint::engine::{self, Ended, Flow, Outlet, Run, Told};
use endpoint::stop::Stop;
use measure::clock::Clock;
use measure::event::{Event, Exchange, Fate, INTERVAL, Second};
use measure::method::{Asked, Carrier, Method, Pacing, Pattern, Schedule, Stop as StopAt};
use measure::statistics::summary::{Extra, summarise};
use measure::unit::{Bytes, Instant, Nanos, Rate};
use protocol::native::header::{Native, Token};
use protocol::wire::{Bare, Unnumbered, Wire};
use rtrb::RingBuffer;
use test_case::test_case;
use testbed::clock::VirtualClock;
use testbed::link::{Network, VirtualLink};
use testbed::path::{Parts, Path};
use testbed::peer::Peer;

const TOKEN: Token = Token([9; 16]);
const MS: Nanos = Nanos::millis(1);

/// Result of a run over one virtual path.
struct Seen {
    run: Run,
    told: Vec<Exchange>,
    network: Network,
}

impl Seen {
    fn fate(&self, fate: Fate) -> Vec<u64> {
        self.told.iter().filter(|exchange| exchange.fate == fate).map(|exchange| exchange.seq).collect()
    }

    fn responses(&self) -> Vec<u64> {
        self.run.recording.series.iter().flat_map(|series| series.samples.iter().map(|kept| kept.response)).collect()
    }
}

fn count(requests: u64) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        stop: StopAt { count: Some(requests), ..StopAt::default() },
        timeout_ns: Some(Nanos::millis(500)),
        warm_up_ns: Some(Nanos::ZERO),
        stamps: Some(false),
        ..Asked::default()
    }
}

fn every(interval: Nanos, asked: Asked) -> Asked {
    // Asleep until the instant: virtual time passes only in waits.
    Asked { schedule: Some(Schedule::Every { interval_ns: interval }), pacing: Some(Pacing::Sleep), ..asked }
}

fn run(asked: &Asked, path: Path) -> Seen {
    run_at(&VirtualClock::new(), asked, path)
}

fn run_at(clock: &VirtualClock, asked: &Asked, path: Path) -> Seen {
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(clock);
    let link = network.link(path, Peer::native());
    let size = method.traffic.request_bytes().0 as usize;
    let wire = Native::new(TOKEN, 0, size as u32);
    let flow = Flow { link, wire, index: 0, request: vec![0; size], reply: vec![0; size + 1], expected: Some(size) };
    drive(vec![flow], &method, network)
}

/// The series of a run by `asked`, at this interval.
fn series(asked: &Asked, interval: Nanos) -> Vec<Second> {
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let link = network.link(Path::seeded(7).delay(Nanos::millis(5)), Peer::native());
    let wire = Native::new(TOKEN, 0, 64);
    let flow = Flow { link, wire, index: 0, request: vec![0; 64], reply: vec![0; 65], expected: Some(64) };
    let (producer, mut consumer) = RingBuffer::new(1 << 10);
    let (stop, settled) = (Stop::default(), Stop::default());
    let told = Told {
        method: &method,
        trace: None,
        stop: &stop,
        settled: &settled,
        thread: 0,
        threads: 1,
        samples: false,
        interval,
    };
    engine::exchanges::run(vec![flow], told, Outlet::new(producer));
    let seconds = std::iter::from_fn(|| consumer.pop().ok());
    seconds.filter_map(|event| if let Event::Second { second, .. } = event { Some(second) } else { None }).collect()
}

#[test]
fn the_series_has_the_interval_that_was_asked_for() {
    let seconds = series(&count(100), Nanos::millis(200));
    let lengths: Vec<Nanos> = seconds.iter().map(|second| second.length_ns).collect();
    assert_eq!(lengths, [Nanos::millis(200); 5]);
    assert!(seconds.iter().all(|second| second.counts.answered == 20), "a round trip of 10 ms: {seconds:?}");
    assert_eq!(
        series(&count(150), INTERVAL).iter().map(|second| second.counts.answered).collect::<Vec<_>>(),
        [100, 50]
    );
}

fn drive<W: Wire>(flows: Vec<Flow<VirtualLink, W>>, method: &Method, network: Network) -> Seen {
    let (producer, mut consumer) = RingBuffer::new(1 << 18);
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
    let run = engine::exchanges::run(flows, told, Outlet::new(producer));
    let mut told = Vec::new();
    while let Ok(event) = consumer.pop() {
        if let Event::Exchange(exchange) = event {
            told.push(exchange);
        }
    }
    assert!(run.recording.counts.balance(), "{:?}", run.recording.counts);
    assert_eq!(told.len() as u64, run.recording.counts.scheduled, "each scheduled request is told once");
    Seen { run, told, network }
}

/// A connection over which nothing is acknowledged any more takes no more: that this host sends less is no doing of its own.
#[test]
fn what_a_full_socket_holds_back_is_not_our_own_doing() {
    let asked = Asked { carrier: Some(Carrier::Tcp), ..every(Nanos::millis(10), count(200)) };
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let link = network
        .link(Path::seeded(3).delay(MS).lose(90..1_000), Peer::native())
        .full_from(network.clock().now().after(Nanos::secs(1)));
    let stop = StopAt { after_ns: Some(Nanos::secs(2)), ..StopAt::default() };
    let method = Method { stop, ..method };
    let wire = Native::new(TOKEN, 0, 64);
    let flow = Flow { link, wire, index: 0, request: vec![0; 64], reply: vec![0; 65], expected: Some(64) };
    let seen = drive(vec![flow], &method, network);
    let outcome = summarise(&seen.run.recording, &method, Extra::default());
    let slip = outcome.slip.unwrap();
    let held = slip.held_by_socket_ns.unwrap();
    let dark = outcome.dark.map(|dark| (dark.to_the_end, dark.longest_from_ns.0 / 1_000_000, dark.unanswered));
    assert!(matches!(dark, Some((true, 890..=899, 11))), "nothing came back since the 90th: {dark:?}");
    assert!(!slip.rate_achieved && (Nanos::millis(880)..=Nanos::secs(1)).contains(&held), "{slip:?}");
}

/// A connection makes one handshake after the other: while one waits for its timeout, those that are due are held back. Their
/// number is in no count, so the rate says it, and the time is not shorter by them.
#[test]
fn handshakes_that_were_due_and_never_left_are_a_rate_that_was_not_reached() {
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        pattern: Some(Pattern::ConnectExchange),
        stop: StopAt { after_ns: Some(Nanos::secs(3)), ..StopAt::default() },
        timeout_ns: Some(Nanos::secs(1)),
        ..every(Nanos::millis(10), count(1))
    };
    let method = asked.resolve().unwrap();
    let seen = run(&asked, Path::seeded(7).delay(Nanos::millis(2)).lose(100..1_000));
    let outcome = summarise(&seen.run.recording, &method, Extra::default());
    assert_eq!((outcome.counts.answered, outcome.counts.lost), (100, 2), "one at 1 s, one at 2 s");
    assert_eq!((outcome.offered_per_s, outcome.sent_per_s), (Some(100.0), Some(34.0)));
    let slip = outcome.slip.unwrap();
    assert!(!slip.rate_achieved, "{slip:?}");
    let held = slip.held_by_cap_ns.unwrap();
    assert!(held >= Nanos::millis(1_900) && held <= Nanos::secs(2), "{held}");
    let kept =
        summarise(&run(&asked, Path::seeded(7).delay(Nanos::millis(2))).run.recording, &method, Extra::default());
    let slip = kept.slip.unwrap();
    assert!(slip.rate_achieved && slip.held_by_cap_ns == Some(Nanos::ZERO), "{slip:?}");
}

#[test]
fn in_lockstep_what_the_path_did_is_what_the_recorder_says() {
    let path = Path::seeded(7)
        .delay(Nanos::millis(5))
        .lose([3])
        .lose_replies([4])
        .duplicate([6])
        .hold(8, Nanos::millis(900))
        .corrupt([12])
        .refuse([14])
        .send_fail([16]);
    let seen = run(&count(100), path);
    let counts = seen.run.recording.counts;
    assert_eq!(seen.fate(Fate::Lost), [3, 4, 8], "8 comes after its timeout");
    assert_eq!((counts.lost, counts.late), (2, 1));
    assert_eq!(seen.fate(Fate::Corrupt), [12]);
    assert_eq!(seen.fate(Fate::Refused), [14]);
    assert_eq!(seen.fate(Fate::SendFailed), [16]);
    assert_eq!((counts.duplicated, counts.strays, counts.answered), (1, 0, 94));
    assert!(
        seen.responses().iter().all(|rtt| *rtt == 10 * MS.0),
        "5 ms each way, to the nanosecond: {:?}",
        seen.responses()
    );
    assert_eq!((seen.run.recording.loss_periods.periods, seen.run.recording.loss_periods.longest), (2, 2));
}

#[test]
fn in_an_open_loop_what_the_path_did_is_what_the_recorder_says() {
    let path = Path::seeded(7)
        .delay(Nanos::millis(5))
        .lose([30, 31, 32])
        .duplicate([40, 41])
        .hold(50, Nanos::millis(900))
        .reorder(60, 3)
        .corrupt([70])
        .send_fail([80]);
    let seen = run(&every(Nanos::millis(10), count(200)), path);
    let counts = seen.run.recording.counts;
    assert_eq!(seen.fate(Fate::Lost), [30, 31, 32, 50]);
    assert_eq!((counts.lost, counts.late), (3, 1));
    assert_eq!(seen.fate(Fate::Corrupt), [70]);
    assert_eq!(seen.fate(Fate::SendFailed), [80]);
    assert_eq!((counts.duplicated, counts.reordered), (2, 1));
    assert_eq!(seen.run.recording.extents[1], 1, "behind three: the class of 2 and 3");
    let slow: Vec<&Exchange> = seen
        .told
        .iter()
        .filter(|exchange| response(exchange) != Some(10 * MS.0) && exchange.fate == Fate::Answered)
        .collect();
    assert_eq!(
        slow.iter().map(|exchange| exchange.seq).collect::<Vec<_>>(),
        [60],
        "only the one that was overtaken took longer"
    );
}

fn response(exchange: &Exchange) -> Option<u64> {
    exchange.received?.since(exchange.intended?).map(|span| span.0)
}

#[test]
fn an_open_loop_sees_a_stall_in_every_request_it_delays_and_a_closed_one_in_one() {
    let stall = |path: Path| path.delay(Nanos::micros(20)).stall(Nanos::millis(500), Nanos::millis(100));
    let open = run(&every(MS, count(1_000)), stall(Path::seeded(1)));
    let delayed = open.responses().iter().filter(|rtt| **rtt > MS.0).count();
    assert!((98..=100).contains(&delayed), "one a millisecond for 100 ms: {delayed}");
    let longest = open.responses().into_iter().max().unwrap_or_default();
    assert!((99 * MS.0..=100 * MS.0 + 40_000).contains(&longest), "{longest}");
    let closed = run(&Asked { window: Some(1), ..every(MS, count(900)) }, stall(Path::seeded(1)));
    assert_eq!(closed.responses().iter().filter(|rtt| **rtt > MS.0).count(), 1);
    assert!((98..=100).contains(&closed.run.recording.counts.ticks_missed), "{:?}", closed.run.recording.counts);
}

#[test_case(Pacing::Hybrid)]
#[test_case(Pacing::Spin)]
fn the_reading_of_the_clock_that_ends_the_wait_is_the_send_stamp(pacing: Pacing) {
    let tick = Nanos(25);
    let asked = Asked { pacing: Some(pacing), ..every(MS, count(100)) };
    // Answers are out while the next departure is waited for, and are not.
    for delay in [Nanos::micros(20), Nanos::micros(1_300)] {
        let path = Path::seeded(1).delay(delay).poll_takes(Nanos(300));
        let seen = run_at(&VirtualClock::new().ticking(tick), &asked, path);
        assert_eq!(seen.run.recording.counts.answered, 100);
        let slip = seen.run.recording.slip.expect("open");
        // The first is due as the recording starts, which takes a few readings.
        let late = seen.told[1..].iter().filter_map(|e| e.sent?.since(e.intended?)).max();
        assert!(late.expect("sent") < tick, "{late:?} of {:?}", slip.max());
    }
}

#[test]
fn a_late_sender_shows_as_slip_and_in_the_response_but_not_in_the_service_time() {
    let asked = Asked { pacing: Some(Pacing::Sleep), ..every(MS, count(200)) };
    let seen =
        run(&asked, Path::seeded(1).delay(Nanos::micros(20)).oversleep(Nanos::micros(30)).coarse(Nanos::micros(30)));
    let recording = &seen.run.recording;
    let (service, slip) = (recording.service.as_ref().expect("open"), recording.slip.as_ref().expect("open"));
    assert_eq!((service.min(), service.max()), (Some(Nanos::micros(40)), Some(Nanos::micros(40))));
    assert_eq!(recording.response.sum(), service.sum() + slip.sum());
    assert!(slip.max().expect("sent") <= Nanos::micros(30));
}

#[test]
fn instants_never_move_with_a_late_send() {
    let seen = run(&every(MS, count(50)), Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(300)));
    let intended: Vec<Instant> = seen.told.iter().filter_map(|exchange| exchange.intended).collect();
    assert!(intended.windows(2).all(|pair| pair[1].since(pair[0]) == Some(MS)));
}

#[test]
fn requests_beyond_the_peers_rate_queue_and_are_counted_from_their_instants() {
    // 1 ms of work each, 2 a millisecond: the k-th waits for k/2 ms more.
    let asked = Asked { timeout_ns: Some(Nanos::secs(60)), ..every(Nanos::micros(500), count(100)) };
    let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(10)).serve_in(MS));
    let last = *seen.responses().last().expect("answered");
    let first = seen.responses()[0];
    assert_eq!(last - first, 99 * 500_000);
}

#[test]
fn a_rate_with_poisson_gaps_offers_what_it_says() {
    let poisson = Schedule::Poisson { rate_per_1000s: Rate::per_second(1_000).expect("above 0") };
    let seen = run(
        &Asked { schedule: Some(poisson), pacing: Some(Pacing::Sleep), ..count(5_000) },
        Path::seeded(1).delay(Nanos::micros(50)),
    );
    let first = seen.told.first().and_then(|e| e.intended).expect("scheduled");
    let last = seen.told.last().and_then(|e| e.intended).expect("scheduled");
    let rate = 4_999.0 / last.since(first).expect("in order").as_secs_f64();
    // The standard error of 5000 exponential gaps is 1.4 %.
    assert!((rate - 1_000.0).abs() < 70.0, "{rate}");
    assert_eq!(seen.run.recording.counts.answered, 5_000);
}

#[test]
fn a_window_keeps_so_many_on_the_way() {
    let asked = Asked { window: Some(8), ..count(800) };
    let seen = run(&asked, Path::seeded(1).delay(MS));
    // 8 each round trip of 2 ms: 100 round trips.
    let elapsed = seen.network.clock().elapsed();
    assert_eq!(elapsed.0 / (2 * MS.0), 100, "{elapsed}");
    assert!(seen.responses().iter().all(|rtt| *rtt == 2 * MS.0));
}

/// A receive may return up to a tenth of a second after the requested time, with messages that came until then.
#[test_case(1, None; "one at a time")]
#[test_case(8, None; "a window")]
#[test_case(1, Some(Nanos::secs(1)); "one at a time, each second")]
#[test_case(0, Some(Nanos::secs(1)); "an open loop")]
fn a_reply_after_its_timeout_is_late_however_coarse_the_wait(window: u32, interval: Option<Nanos>) {
    let asked = Asked { window: Some(window), ..count(40) };
    let asked = interval.map_or(asked.clone(), |interval| every(interval, asked));
    let held = u64::from(window.max(1));
    let path = Path::seeded(1).delay(MS).coarse(Nanos::millis(80));
    let seen = run(&asked, (16..16 + held).fold(path, |path, request| path.hold(request, Nanos::millis(520))));
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.late, counts.lost), (40 - held, held, 0));
    assert_eq!(seen.run.recording.response.max(), Some(Nanos(2 * MS.0)));
}

#[test_case(&Asked { window: Some(1), ..count(1_006) }, [1_000..=1_006, 0..=0], (true, 6); "one at a time")]
#[test_case(&Asked { window: Some(4), ..count(4_024) }, [4_000..=4_024, 0..=0], (true, 24); "four at a time")]
#[test_case(&every(MS, count(5_000)), [2_000..=5_000, 0..=0], (true, 2_999); "whatever the replies do")]
#[test_case(&every(MS, count(7_000)), [2_000..=4_999, 6_000..=6_000], (false, 2_999); "and back again")]
fn a_path_that_goes_dark_for_three_seconds_is_told_so(
    asked: &Asked,
    [dark, lost]: [std::ops::RangeInclusive<u64>; 2],
    (to_the_end, unanswered): (bool, u64),
) {
    let losses = dark.chain(lost).filter(|number| *number > 0);
    let seen = run(asked, Path::seeded(5).delay(MS).lose(losses));
    let found = measure::statistics::dark::dark(&seen.run.recording).expect("dark");
    let seconds = |time: Nanos| (time.0 as f64 / 1e8).round() / 10.0;
    let until = seconds(found.longest_to_ns);
    assert!(seconds(found.longest_from_ns) == 2.0 && (5.0..=5.3).contains(&until), "{found:?}");
    // The first that an open loop loses left before the last reply came.
    assert_eq!((found.spells, found.to_the_end, found.unanswered), (1, to_the_end, unanswered));
}

#[test_case(&Asked { window: Some(1), ..every(MS, count(5_000)) }; "one at a time")]
#[test_case(&every(MS, count(5_000)); "whatever the replies do")]
fn an_end_that_can_send_no_more_is_told_to_be_dark_to_the_end(asked: &Asked) {
    for path in [Path::seeded(5).send_fail(2_000..=5_000), Path::seeded(5).refuse(2_000..=5_000)] {
        let seen = run(asked, path.delay(Nanos(MS.0 / 4)));
        let found = measure::statistics::dark::dark(&seen.run.recording).expect("dark");
        assert!(found.to_the_end && found.spells == 1, "{found:?}");
        let counted = (found.unanswered, found.refused_or_not_sent);
        assert!(counted.0 == 0 && (2_999..=3_000).contains(&counted.1), "{found:?}");
        assert!(found.longest_from_ns.0.abs_diff(2_000_000_000) < 10_000_000, "{found:?}");
    }
}

#[test_case(&Asked { window: Some(1), ..count(200) }; "one after the other")]
#[test_case(&Asked { window: Some(1), ..every(MS, count(200)) }; "on a schedule")]
#[test_case(&every(MS, count(200)); "whatever the replies do")]
fn each_other_refused_is_no_dark_time(asked: &Asked) {
    let seen = run(asked, Path::seeded(5).delay(Nanos(MS.0 / 4)).refuse((0..100).map(|n| 2 * n + 1)));
    let recording = &seen.run.recording;
    assert_eq!((recording.counts.refused, measure::statistics::dark::dark(recording)), (100, None));
}

#[test]
fn each_tenth_lost_is_no_dark_time() {
    let seen =
        run(&Asked { window: Some(1), ..count(200) }, Path::seeded(5).delay(MS).lose((1..=20).map(|n| n * 10 - 1)));
    let recording = &seen.run.recording;
    assert_eq!((recording.counts.lost, measure::statistics::dark::dark(recording)), (20, None));
    let gaps = recording.gaps.iter().flatten();
    assert!(gaps.clone().count() >= 19 && gaps.clone().all(|gap| gap.asked.count <= 1), "{:?}", recording.gaps);
}

#[test]
fn a_peer_that_stands_still_is_dark_though_all_its_replies_come() {
    let seen = run(
        &Asked { window: Some(1), ..count(2_000) },
        Path::seeded(5).delay(MS).stall(Nanos::secs(2), Nanos::secs(2)),
    );
    let (counts, found) = (seen.run.recording.counts, measure::statistics::dark::dark(&seen.run.recording));
    let found = found.expect("dark");
    assert_eq!((counts.lost, found.spells, found.to_the_end), (0, 1, false), "{counts:?}");
    assert!(counts.late >= 3 && found.total_ns.0.abs_diff(2_000_000_000) < 10_000_000, "{counts:?} {found:?}");
}

#[test]
fn losses_in_a_window_are_found_one_by_one() {
    let asked = Asked { window: Some(8), ..count(400) };
    let seen = run(&asked, Path::seeded(3).delay(MS).lose([0, 17, 18, 399]).duplicate([5]).reorder(100, 2));
    assert_eq!(seen.fate(Fate::Lost), [0, 17, 18, 399]);
    let counts = seen.run.recording.counts;
    assert_eq!((counts.duplicated, counts.reordered, counts.answered), (1, 1, 396));
}

#[test]
fn random_losses_are_counted_exactly() {
    let seen = run(
        &every(MS, count(5_000)),
        Path::seeded(11).delay(Nanos::micros(100)).jitter(Nanos::micros(900)).lose_at_random(0.1),
    );
    let injected = seen.network.passages().iter().filter(|passage| passage.back.is_empty()).count() as u64;
    assert!(injected > 400);
    assert_eq!(seen.run.recording.counts.lost, injected);
}

#[test]
fn a_peer_that_closes_ends_the_run_and_keeps_what_was_measured() {
    let seen = run(&count(100), Path::seeded(1).delay(MS).close_at(40));
    assert!(matches!(seen.run.ended, Ended::Broken(_)), "{:?}", seen.run.ended);
    assert_eq!(seen.run.recording.counts.answered, 40);
}

#[test]
fn a_monotonic_clock_that_steps_back_is_counted_and_spoils_no_distribution() {
    let clock = VirtualClock::new().stepping_back(Nanos::millis(1_005), Nanos::millis(300));
    let seen = run_at(&clock, &count(200), Path::seeded(1).delay(Nanos::millis(5)));
    let counts = seen.run.recording.counts;
    assert_eq!((counts.clock_steps, counts.answered), (1, 200));
    assert!(seen.responses().iter().all(|rtt| *rtt == 10 * MS.0));
}

#[test]
fn warm_up_is_not_recorded_but_its_first_exchange_is_told_apart() {
    let asked = Asked { warm_up_ns: Some(Nanos::millis(400)), ..count(10) };
    let seen = run(&asked, Path::seeded(1).delay(MS).duplicate([2]));
    assert_eq!(seen.run.recording.first, Some(Nanos::millis(2)));
    let warm_ups = seen.network.passages().iter().filter(|passage| passage.warm_up).count();
    assert!(warm_ups >= 200, "400 ms of 2 ms each: {warm_ups}");
    assert_eq!((seen.run.recording.counts.answered, seen.run.recording.counts.duplicated), (10, 1));
    assert_eq!(seen.told.iter().map(|exchange| exchange.seq).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_silent_peer_is_not_warmed_up_for_ever() {
    let asked = Asked { warm_up_ns: Some(Nanos::millis(400)), ..count(3) };
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let link = network.link(Path::seeded(1).delay(MS), Peer::answering(|_| None));
    let wire = Native::new(TOKEN, 0, 64);
    let seen = drive(
        vec![Flow { link, wire, index: 0, request: vec![0; 64], reply: vec![0; 65], expected: Some(64) }],
        &method,
        network,
    );
    assert_eq!((seen.run.recording.counts.lost, seen.run.recording.first), (3, None));
}

#[test]
fn seconds_add_up_to_the_whole() {
    let seen = run(&every(MS, count(3_500)), Path::seeded(5).delay(Nanos::micros(50)).lose_at_random(0.05));
    let seconds = &seen.run.recording.seconds[0];
    assert!(seconds.len() >= 4, "3.5 s and the last timeouts: {}", seconds.len());
    let answered: u64 = seconds.iter().map(|second| second.counts.answered).sum();
    assert_eq!(answered, seen.run.recording.counts.answered);
}

#[test]
fn stamped_exchanges_are_split_as_the_path_was_set() {
    let parts = Parts::default();
    let asked =
        Asked { stamps: Some(true), stop: StopAt { after_ns: Some(Nanos::secs(2)), ..StopAt::default() }, ..count(1) };
    let asked = Asked { stop: StopAt { count: None, ..asked.stop.clone() }, ..asked };
    for window in [1, 4] {
        let asked = Asked { window: Some(window), ..asked.clone() };
        let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(40)).stamped(parts));
        let answered = seen.run.recording.counts.answered;
        let split = seen.run.splits.finish(None, false).expect("stamped");
        assert!(split.samples > 100 && split.samples < answered / 2, "{} of {answered}", split.samples);
        assert_eq!(split.path_ns, Some(Nanos::micros(80)), "window {window}: {split:?}");
        assert!(split.missing.is_empty(), "{:?}", split.missing);
    }
}

#[test]
fn stamps_nobody_asked_for_come_in_spells_far_apart() {
    let stop = StopAt { after_ns: Some(Nanos::secs(2)), ..StopAt::default() };
    for window in [1, 4] {
        let asked = Asked { stamps: None, window: Some(window), stop: stop.clone(), ..count(1) };
        let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(40)).stamped(Parts::default()));
        let answered = seen.run.recording.counts.answered;
        let split = seen.run.splits.finish(None, false).expect("stamped");
        // Two seconds have room for the one at the start and six more, 300 ms apart, of 16 each.
        assert_eq!(split.samples, 7 * 16, "window {window}, of {answered}");
        assert_eq!(split.path_ns, Some(Nanos::micros(80)), "window {window}: {split:?}");
    }
}

#[test]
fn stamps_of_a_slow_schedule_are_one_in_four() {
    let asked = Asked { stamps: None, ..every(Nanos::millis(10), count(1_000)) };
    let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(40)).stamped(Parts::default()));
    let split = seen.run.splits.finish(None, false).expect("stamped");
    assert!((200..=250).contains(&split.samples), "{} of 1,000", split.samples);
}

#[test]
fn messages_without_numbers_are_told_apart_by_their_order() {
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        request_bytes: Some(Bytes(1)),
        response_bytes: Some(Bytes(1)),
        ..count(50)
    };
    for window in [1, 4] {
        let method = Asked { window: Some(window), ..asked.clone() }.resolve().expect("a sensible method");
        let network = Network::new(&VirtualClock::new());
        let link = network.link(Path::seeded(1).delay(MS).hold(20, Nanos::millis(700)), Peer::plain(1));
        let flow = Flow { link, wire: Bare, index: 0, request: vec![0; 1], reply: vec![0; 1], expected: Some(1) };
        let seen = drive(vec![flow], &method, network);
        let counts = seen.run.recording.counts;
        assert_eq!(counts.answered + counts.lost + counts.late, 50, "window {window}: {counts:?}");
        assert!(counts.lost + counts.late >= 1, "the one held beyond its timeout: {counts:?}");
        assert_eq!(counts.strays, 0);
    }
}

/// Datagrams without numbers over one virtual path.
fn run_unnumbered(window: u32, path: Path) -> Seen {
    let method = Asked { window: Some(window), ..count(100) }.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let link = network.link(path.delay(MS), Peer::plain(64));
    let (request, reply) = (vec![0; 64], vec![0; 65]);
    drive(vec![Flow { link, wire: Unnumbered, index: 0, request, reply, expected: Some(64) }], &method, network)
}

#[test]
fn a_lost_datagram_without_a_number_ends_by_its_timeout_and_the_next_is_answered() {
    let seen = run_unnumbered(1, Path::seeded(1).lose([3, 4]).lose_replies([50]));
    assert_eq!(seen.fate(Fate::Lost), [3, 4, 50]);
    assert_eq!(seen.run.recording.counts.answered, 97);
    assert!(seen.responses().iter().all(|rtt| *rtt == 2 * MS.0), "{:?}", seen.responses());
    assert_eq!(seen.run.ended, Ended::Complete);
}

#[test]
fn of_several_outstanding_datagrams_without_numbers_the_lost_are_counted_if_late() {
    let seen = run_unnumbered(4, Path::seeded(1).lose([3]).lose_replies([50]));
    let counts = seen.run.recording.counts;
    assert_eq!((counts.scheduled, counts.answered, counts.lost), (100, 98, 2), "{counts:?}");
    assert_eq!(seen.run.ended, Ended::Complete);
}

#[test]
fn all_outstanding_datagrams_lost_begin_anew() {
    let seen = run_unnumbered(4, Path::seeded(1).lose(20..28));
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.lost), (92, 8), "{counts:?}");
}

#[test]
fn a_late_reply_to_the_warm_up_is_not_taken_for_the_first_recorded_one() {
    let asked = Asked {
        carrier: Some(Carrier::Tcp),
        request_bytes: Some(Bytes(1)),
        response_bytes: Some(Bytes(1)),
        warm_up_ns: Some(MS),
        ..count(50)
    };
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    // The first request of the warm-up is answered 100 ms after its timeout.
    let link = network.link(Path::seeded(1).delay(MS).stall(Nanos::ZERO, Nanos::millis(600)), Peer::plain(1));
    let flow = Flow { link, wire: Bare, index: 0, request: vec![0; 1], reply: vec![0; 1], expected: Some(1) };
    let seen = drive(vec![flow], &method, network);
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.duplicated, counts.strays), (50, 0, 0), "{counts:?}");
    assert!(seen.responses()[1..].iter().all(|rtt| *rtt == 2 * MS.0), "{:?}", seen.responses());
}

#[test]
fn flows_on_one_thread_share_a_rate_and_lose_their_own() {
    let asked = Asked { connections: Some(3), threads: Some(1), ..every(MS, count(300)) };
    let method = asked.resolve().expect("a sensible method");
    let network = Network::new(&VirtualClock::new());
    let flows = (0..3_u16)
        .map(|index| {
            let path = Path::seeded(u64::from(index))
                .delay(Nanos::micros(100 * (1 + u64::from(index))))
                .lose([u64::from(index)]);
            let link = network.link(path, Peer::native());
            Flow {
                link,
                wire: Native::new(TOKEN, index, 64),
                index: u32::from(index),
                request: vec![0; 64],
                reply: vec![0; 65],
                expected: Some(64),
            }
        })
        .collect();
    let seen = drive(flows, &method, network);
    assert_eq!(seen.run.recording.counts.lost, 3);
    let mut lost: Vec<(u32, u64)> =
        seen.told.iter().filter(|e| e.fate == Fate::Lost).map(|e| (e.flow, e.seq)).collect();
    lost.sort_unstable();
    assert_eq!(lost, [(0, 0), (1, 1), (2, 2)]);
    for index in 0..3 {
        let rtts: Vec<_> = seen.told.iter().filter(|e| e.flow == index).filter_map(response).collect();
        assert!(rtts.iter().all(|rtt| *rtt == 200_000 * (1 + u64::from(index))), "{rtts:?}");
        assert_eq!(rtts.len(), 99);
    }
}

#[test]
fn nothing_here_took_real_time() {
    let clock = VirtualClock::new();
    let before = clock.now();
    let seen = run_at(&clock, &every(Nanos::secs(1), count(100)), Path::seeded(1).delay(MS));
    assert_eq!(seen.run.recording.counts.answered, 100);
    assert!(clock.now().since(before).expect("forward") > Nanos::secs(98));
}
