//! Times at which messages leave, and their lengths.

use measure::method::{Asked, Draws, Pacing, Schedule, Share, Sizes, Stop};
use measure::recorder::Values;
use measure::trace::{Departure, Trace};
use measure::unit::{Bytes, Instant, Nanos, Rate};
use test_case::test_case;
use testbed::clock::VirtualClock;
use testbed::path::Path;

use crate::virtual_load::harness::{MS, every, load, response, run, run_at, run_by};

#[test]
fn slip_is_that_of_every_message_and_delays_the_response_alone() {
    // Bursts of four, each call takes 300 us: the fourth, which asks, leaves 900 us late.
    let bursts = Schedule::Bursts { count: 4, interval_ns: Nanos::millis(10) };
    let seen = run(&load(400, 4, bursts), Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(300)));
    let recording = &seen.run.recording;
    let (slip, service) = (recording.slip.as_ref().expect("scheduled"), recording.service.as_ref().expect("scheduled"));
    assert_eq!((slip.count(), slip.sum()), (400, 100 * 1_800_000));
    assert_eq!((service.min(), service.max()), (Some(Nanos::micros(340)), Some(Nanos::micros(340))));
    assert!(seen.told.iter().all(|exchange| response(exchange) == Some(1_240_000)));
}

#[test]
fn instants_never_move_with_a_late_send() {
    let asked = Asked { stop: Stop { after_ns: Some(Nanos::secs(1)), ..Stop::default() }, ..load(1, 5, every(MS)) };
    let asked = Asked { stop: Stop { count: None, ..asked.stop.clone() }, ..asked };
    let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(700)));
    let left = seen.left();
    assert_eq!(left.len(), 1_000);
    assert!(left.windows(2).all(|pair| pair[1] - pair[0] == MS.0), "each within its interval");
}

#[test]
fn a_rate_with_poisson_gaps_offers_what_it_says() {
    let rate_per_1000s = Rate::per_second(1_000).expect("above 0");
    let seen = run(&load(20_000, 10, Schedule::Poisson { rate_per_1000s }), Path::seeded(1).delay(Nanos::micros(50)));
    let left = seen.left();
    let rate = 19_999.0 / Nanos(left[19_999] - left[0]).as_secs_f64();
    // The standard error of 20 000 exponential gaps is 0.7 %: five of them.
    assert!((rate - 1_000.0).abs() < 35.0, "{rate}");
    assert_eq!(seen.run.recording.counts.answered, 2_000);
}

#[test]
fn sizes_are_drawn_by_the_seed_and_replies_are_of_one_size() {
    let shares = [(64, 7), (576, 4), (1_500, 1)].map(|(bytes, weight)| Share { bytes: Bytes(bytes), weight });
    for sizes in [Sizes::Mix(shares.to_vec()), Sizes::Uniform { smallest: Bytes(64), largest: Bytes(1_400) }] {
        let asked = Asked { sizes: sizes.clone(), seed: Some(42), ..load(1_000, 3, every(MS)) };
        let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(50)));
        let mut draws = Draws::new(&sizes, 0, 42);
        let expected: Vec<usize> = (0..1_000).filter_map(|_| draws.draw()).map(|bytes| bytes.0 as usize).collect();
        assert_eq!(seen.passages().iter().map(|passage| passage.bytes).collect::<Vec<_>>(), expected);
        assert_eq!((seen.run.recording.counts.answered, seen.run.recording.counts.corrupt), (333, 0));
    }
}

fn trace() -> Trace {
    // 2000 messages with gaps of a nanosecond, of nothing and of seconds, and sizes of their own.
    let gap = |k: u64| [1, 0, 999_999, 3_000_000_007, 17, 250_000][(k * k % 6) as usize];
    let mut at = 5;
    let departures = (0..2_000_u64).map(|k| {
        at += gap(k);
        Departure { at: Nanos(at), bytes: 32 + (k * 37 % 1_000) as u32 }
    });
    Trace::new(departures.collect()).expect("in order")
}

#[test]
fn a_trace_is_replayed_to_the_nanosecond() {
    let trace = trace();
    let asked = Asked { stop: Stop::default(), ..load(1, 10, trace.schedule()) };
    for connections in [1, 3] {
        let asked = Asked { connections: Some(connections), threads: Some(1), ..asked.clone() };
        let paths = (0..connections).map(|_| Path::seeded(1).delay(Nanos::micros(30))).collect();
        let seen = run_by(&asked.resolve().expect("a sensible method"), Some(&trace), paths);
        let mut passed: Vec<(u64, u32)> =
            seen.left().into_iter().zip(seen.passages().iter().map(|passage| passage.bytes as u32)).collect();
        let mut expected: Vec<(u64, u32)> = trace.departures().iter().map(|d| (d.at.0, d.bytes)).collect();
        // Messages that several connections send at one instant leave in any order.
        passed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(passed, expected);
        assert_eq!(seen.run.recording.counts.messages(), 2_000);
        assert_eq!(seen.run.recording.slip.as_ref().and_then(Values::max), Some(Nanos::ZERO));
    }
}

#[test]
fn a_trace_is_cut_short_by_a_count_or_a_time() {
    let trace = trace();
    let messages = |stop: Stop| {
        let method = Asked { stop, ..load(1, 10, trace.schedule()) }.resolve().expect("a sensible method");
        run_by(&method, Some(&trace), vec![Path::seeded(1)]).run.recording.counts.messages()
    };
    assert_eq!(messages(Stop { count: Some(123), ..Stop::default() }), 123);
    let end = trace.departures()[777].at;
    let before = trace.departures().iter().filter(|departure| departure.at < end).count() as u64;
    assert_eq!(messages(Stop { after_ns: Some(end), ..Stop::default() }), before);
}

#[test]
fn as_fast_as_it_can_nothing_is_waited_for_and_a_reply_waits_for_four_calls_at_the_most() {
    let call = Nanos::micros(2);
    for reply_every in [1, 3, 100] {
        let path = Path::seeded(1).delay(Nanos(7_300)).send_takes(call);
        let seen = run(&load(10_000, reply_every, Schedule::BackToBack), path);
        let recording = &seen.run.recording;
        assert_eq!(recording.counts.messages(), 10_000);
        assert_eq!(recording.counts.answered, 10_000 / u64::from(reply_every));
        let left = seen.left();
        assert!(left.windows(2).all(|pair| pair[1] - pair[0] == call.0), "call after call");
        assert!(recording.slip.is_none(), "nothing is behind where nothing is scheduled");
        let (least, most) = (2 * 7_300 + call.0, 2 * 7_300 + call.0 + 4 * call.0);
        let (min, max) = (recording.response.min().expect("answered").0, recording.response.max().expect("answered").0);
        assert!(least <= min && max <= most, "{least} <= {min}, {max} <= {most}");
    }
}

#[test]
fn behind_schedule_too_a_reply_waits_for_four_calls_at_the_most() {
    // Calls of 2 us where one is due each microsecond.
    let path = Path::seeded(1).delay(Nanos(7_300)).send_takes(Nanos::micros(2));
    let seen = run(&load(10_000, 10, every(Nanos::micros(1))), path);
    let service = seen.run.recording.service.as_ref().expect("scheduled");
    let most = 2 * 7_300 + 5 * 2_000;
    assert!(service.max().expect("answered").0 <= most, "{:?}", service.max());
    let slip = seen.run.recording.slip.as_ref().expect("scheduled").max().expect("sent").0;
    assert!((9_998_000..=10_000_000).contains(&slip), "the last is 10 ms behind: {slip}");
}

#[test_case(Pacing::Hybrid, Nanos::micros(3); "hybrid, hardly longer than a call")]
#[test_case(Pacing::Spin, Nanos::micros(3); "spin, hardly longer than a call")]
#[test_case(Pacing::Hybrid, Nanos::micros(10); "hybrid, some calls long")]
#[test_case(Pacing::Hybrid, MS; "hybrid, far apart")]
fn the_reading_of_the_clock_that_ends_the_wait_is_the_last_thing_before_the_call(pacing: Pacing, interval: Nanos) {
    let tick = Nanos(25);
    let asked = Asked { pacing: Some(pacing), ..load(2_000, 10, every(interval)) };
    let path = Path::seeded(1).delay(Nanos(7_300)).send_takes(Nanos::micros(2)).poll_takes(Nanos(300));
    let method = asked.resolve().expect("a sensible method");
    let seen = run_at(&VirtualClock::new().ticking(tick), &method, None, vec![path]);
    let recording = &seen.run.recording;
    assert_eq!((recording.counts.messages(), recording.counts.answered), (2_000, 200));
    let late = seen.told.iter().filter_map(|exchange| exchange.sent?.since(exchange.intended?)).max();
    assert!(late.expect("sent") < tick, "{late:?}");
    // The first is due as the recording starts, which takes a few readings.
    let slip = recording.slip.as_ref().expect("scheduled");
    let most = 1_999 * (tick.0 - 1) + slip.max().expect("sent").0;
    assert!(slip.sum() <= u128::from(most), "{} <= {most}", slip.sum());
}

#[test]
fn connections_share_a_rate_and_each_asks_by_its_own_count() {
    let asked = Asked { connections: Some(3), threads: Some(1), ..load(300, 10, every(MS)) };
    let paths = (0..3).map(|flow| Path::seeded(flow).delay(Nanos::micros(100))).collect();
    let seen = run_by(&asked.resolve().expect("a sensible method"), None, paths);
    for flow in 0..3 {
        let seqs: Vec<u64> = seen.told.iter().filter(|e| e.flow == flow).map(|e| e.seq).collect();
        assert_eq!(seqs, (0..10).map(|k| 10 * k + 9).collect::<Vec<_>>());
    }
    assert!(seen.left().windows(2).all(|pair| pair[1] - pair[0] == MS.0));
}

/// Connection of each message, in order.
fn turns(schedule: Schedule, messages: u64) -> Vec<usize> {
    let asked = Asked { connections: Some(3), threads: Some(1), ..load(messages, 4, schedule) };
    // Each call takes longer than the time between two due messages: all but the first are late.
    let paths = (0..3).map(|_| Path::seeded(1).delay(MS).send_takes(Nanos::micros(300)));
    let seen = run_by(&asked.resolve().expect("a sensible method"), None, paths.collect());
    let mut all: Vec<(Instant, usize)> = seen.passages().iter().map(|one| (one.left, one.flow)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, flow)| flow).collect()
}

#[test]
fn connections_take_turns_however_late_they_are() {
    let expected: Vec<usize> = (0..30).map(|message| message % 3).collect();
    assert_eq!(turns(Schedule::BackToBack, 30), expected);
    let rate = Schedule::Rate { rate_per_1000s: Rate::per_second(10_000).expect("positive") };
    assert_eq!(turns(rate, 30), expected);
}

#[test]
fn a_burst_is_one_connections() {
    let bursts = Schedule::Bursts { count: 2, interval_ns: Nanos::micros(200) };
    assert_eq!(turns(bursts, 30), (0..30).map(|message| message / 2 % 3).collect::<Vec<_>>());
}
