//! Periods found in runs whose stops are known, through the recorder.

use fastrand::Rng;
use test_case::test_case;

use super::counted::Counted;
use super::either;
use crate::event::Fate;
use crate::method::{Asked, LoopKind, Method, Schedule, Stop};
use crate::outcome::periodic::Periodic;
use crate::recorder::{Recorder, Sequence};
use crate::statistics::simulated::normal;
use crate::statistics::summary::{Extra, summarise};
use crate::unit::{Instant, Nanos, Rate};

const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;

/// From when to when nothing is answered, nanoseconds.
type Span = (u64, u64);

/// Stops of `length` once in `period`, from a start that is drawn; each comes and lasts longer or shorter by up to `jitter` of it.
fn stops(rng: &mut Rng, seconds: u64, period: u64, length: u64, jitter: f64) -> Vec<Span> {
    let start = rng.u64(0..period);
    let off = |of: u64, rng: &mut Rng| (of as f64 * jitter * (2.0 * rng.f64() - 1.0)) as i64;
    (0..seconds * SECOND / period)
        .map(|n| {
            let from = (start + n * period).saturating_add_signed(off(period, rng));
            (from, from + length.saturating_add_signed(off(length, rng)))
        })
        .collect()
}

/// A usual round trip: a floor, and an exponential spread.
fn usual(rng: &mut Rng) -> u64 {
    20_000 + (-(1.0 - rng.f64()).ln() * 3_000.0) as u64
}

fn answered(at: u64, stops: &[Span]) -> u64 {
    // Stops may overlap, and one may begin where another one ends.
    let mut at = at;
    while let Some((_, until)) = stops.iter().find(|(from, until)| (*from..*until).contains(&at)) {
        at = *until;
    }
    at
}

/// Returns the period of a closed loop that asks `every` so often, or when it can; each exchange takes `trip`, and the
/// rest of a stop it meets.
fn closed(seconds: u64, every: u64, keep: usize, stops: &[Span], mut trip: impl FnMut(u64) -> u64) -> Option<Periodic> {
    let mut recorder = Recorder::new(LoopKind::Closed, keep);
    recorder.begin(Instant(0), None);
    let (mut now, mut second) = (0, SECOND);
    while now < seconds * SECOND {
        let until = answered(now + trip(now), stops);
        recorder.answered(Instant(now), Instant(until));
        if until >= second {
            recorder.second(Instant(until));
            second = (until + 1).next_multiple_of(SECOND);
        }
        now = until.max((now + 1).next_multiple_of(every.max(1)));
    }
    let schedule = (every > 0).then_some(Schedule::Every { interval_ns: Nanos(every) });
    found(recorder, now, &Asked { schedule, ..Asked::default() })
}

/// The same of an open loop.
fn open(seconds: u64, per_second: u64, stops: &[Span], mut trip: impl FnMut(u64) -> u64) -> Option<Periodic> {
    let mut recorder = Recorder::new(LoopKind::Open, 1_000_000);
    recorder.begin(Instant(0), None);
    let mut last = 0;
    let mut second = SECOND;
    for n in 0..seconds * per_second {
        let due = n * SECOND / per_second;
        last = answered(due + trip(due), stops).max(last);
        recorder.answered_as_scheduled(Instant(due), Instant(due), Instant(last));
        if last >= second {
            recorder.second(Instant(last));
            second = (last + 1).next_multiple_of(SECOND);
        }
    }
    let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(per_second).unwrap() });
    let stop = Stop { after_ns: Some(Nanos::secs(seconds)), ..Stop::default() };
    found(recorder, last, &Asked { schedule, stop, ..Asked::default() })
}

fn found(recorder: Recorder, end: u64, asked: &Asked) -> Option<Periodic> {
    let method: Method = asked.resolve().unwrap();
    summarise(&recorder.finish(Instant(end)), &method, Extra::default()).periodic
}

/// The number of `trials` that tell a period within 2 % of this one.
fn right(trials: u64, period: u64, mut run: impl FnMut(&mut Rng) -> Option<Periodic>) -> u64 {
    let is = |found: Periodic| (found.period_ns.0 as f64 / period as f64 - 1.0).abs() < 0.02;
    (0..trials).filter(|seed| run(&mut Rng::with_seed(*seed)).is_some_and(is)).count() as u64
}

#[test_case(100, 1_000, 10, 0, 0.01; "stopped for a tenth of each second, back to back")]
#[test_case(100, 1_000, 10, 10_000, 0.01; "asked a hundred times a second")]
#[test_case(5, 1_000, 10, 0, 0.01; "spikes of 5 ms once a second")]
#[test_case(100, 1_000, 30, 200, 0.01; "for half a minute")]
#[test_case(100, 1_000, 6, 0, 0.000_5; "for six seconds, by a timer")]
#[test_case(2, 100, 10, 0, 0.01; "ten times a second")]
fn what_comes_back_at_even_distances_is_found(length: u64, period: u64, seconds: u64, every: u64, jitter: f64) {
    let right = right(20, period * MILLI, |rng| {
        let mut stops = stops(rng, seconds, period * MILLI, length * MILLI, jitter);
        // Shorter ones by chance lie beside.
        let others = (0..3).map(|_| rng.u64(0..seconds * SECOND)).map(|from| (from, from + length * MILLI / 4));
        stops.extend(others.collect::<Vec<_>>());
        closed(seconds, every * 1_000, 1_000_000, &stops, |_| usual(rng))
    });
    assert!(right >= 19, "{right} of 20");
}

/// Each fiftieth reply is altered by a box that counts packets: the loop waits for it in vain, and what slept meanwhile is woken by the next.
/// The waits are as even as the losses, and the loop's own; the same pauses without a loss would be somebody else's.
#[test_case(true, false; "of its own")]
#[test_case(false, true; "of others")]
fn a_closed_loop_that_waits_for_what_is_lost_has_no_period(is_lost: bool, is_told: bool) {
    let rng = &mut Rng::with_seed(3);
    let mut recorder = Recorder::new(LoopKind::Closed, 1_000_000);
    recorder.begin(Instant(0), None);
    let (mut now, mut second, mut sequence) = (0, SECOND, Sequence::default());
    for n in 0..2_000_u64 {
        if n % 50 == 49 {
            if is_lost {
                recorder.ended(Fate::Lost, &mut sequence, n, None);
            }
            now += SECOND;
        } else {
            let until = now + usual(rng) + if n % 50 == 0 { 110_000 + rng.u64(0..10_000) } else { 0 };
            recorder.answered(Instant(now), Instant(until));
            now = until;
        }
        if now >= second {
            recorder.second(Instant(now));
            second = (now + 1).next_multiple_of(SECOND);
        }
    }
    assert_eq!(found(recorder, now, &Asked::default()).is_some(), is_told);
}

#[test]
fn an_open_loop_finds_it_too() {
    let right = right(40, SECOND, |rng| {
        let stops = stops(rng, 10, SECOND, 100 * MILLI, 0.01);
        open(10, 1_000, &stops, |_| usual(rng))
    });
    assert!(right >= 38, "{right} of 40");
}

/// A machine that is busy now and then: then each trip takes four times as long.
#[test]
fn where_the_pace_changes_too() {
    let right = right(40, SECOND, |rng| {
        let stops = stops(rng, 8, SECOND, 100 * MILLI, 0.002);
        let busy = [(); 64].map(|()| rng.bool());
        closed(8, 0, 1_000_000, &stops, |at| usual(rng) * if busy[(at / 130_000_000) as usize % 64] { 4 } else { 1 })
    });
    assert!(right >= 38, "{right} of 40");
}

#[test]
fn over_a_wide_path_too() {
    let right = right(40, SECOND, |rng| {
        let stops = stops(rng, 10, SECOND, 100 * MILLI, 0.01);
        closed(10, 0, 1_000_000, &stops, |_| 20 * MILLI + usual(rng) * 10)
    });
    assert!(right >= 38, "{right} of 40");
}

#[test]
fn a_period_is_told_with_its_length_and_count() {
    let mut rng = Rng::with_seed(7);
    let stops = stops(&mut rng, 10, SECOND, 100 * MILLI, 0.0);
    let found = closed(10, 0, 1_000_000, &stops, |_| usual(&mut rng)).expect("a period");
    assert!(found.period_ns.0.abs_diff(SECOND) < MILLI, "{found:?}");
    assert!(found.longer_ns.0.abs_diff(100 * MILLI) < MILLI, "{found:?}");
    assert!((9..=10).contains(&found.count), "{found:?}");
}

/// A server that takes `longer` for each `every`-th request, and for the others what `trip` says.
fn counting(every: u64, longer: u64, mut trip: impl FnMut() -> u64) -> impl FnMut(u64) -> u64 {
    let mut asked = 0;
    move |_| {
        asked += 1;
        trip() + if asked % every == 0 { longer } else { 0 }
    }
}

/// Counts of the trials that tell no count of requests, this one and a time, and this one alone.
fn told(requests: u64, run: impl Fn(&mut Rng) -> Option<Periodic>) -> [u64; 3] {
    let mut told = [0; 3];
    for found in (0..20).filter_map(|seed| run(&mut Rng::with_seed(seed))) {
        let alone = found.by_requests_alone;
        match found.requests {
            None => told[0] += u64::from(!alone),
            Some(found) if found == requests => told[if alone { 2 } else { 1 }] += 1,
            Some(_) => {}
        }
    }
    told
}

/// A trip that differs much from one to the next.
fn uneven(rng: &mut Rng) -> u64 {
    10_000 + (-(1.0 - rng.f64()).ln() * 60_000.0) as u64
}

/// Requests at random instants, to a server that answers one after the other.
fn at_random(
    rng: &mut Rng,
    seconds: u64,
    per_second: u64,
    stops: &[Span],
    mut trip: impl FnMut(u64) -> u64,
) -> Option<Periodic> {
    let mut recorder = Recorder::new(LoopKind::Open, 1_000_000);
    recorder.begin(Instant(0), None);
    let (mut due, mut last, mut second) = (0, 0, SECOND);
    while due < seconds * SECOND {
        last = answered(due.max(last) + trip(due), stops);
        recorder.answered_as_scheduled(Instant(due), Instant(due), Instant(last));
        if last >= second {
            recorder.second(Instant(last));
            second = (last + 1).next_multiple_of(SECOND);
        }
        due += (-(1.0 - rng.f64()).ln() * (SECOND / per_second) as f64) as u64;
    }
    let schedule = Some(Schedule::Poisson { rate_per_1000s: Rate::per_second(per_second).unwrap() });
    let stop = Stop { after_ns: Some(Nanos::secs(seconds)), ..Stop::default() };
    found(recorder, last, &Asked { schedule, stop, ..Asked::default() })
}

/// At a constant rate a distance in requests is one in time: which of the two it is nobody can tell then.
#[test]
fn at_a_constant_rate_a_count_of_requests_is_told_beside_the_time() {
    let counted = told(100, |rng| closed(10, 10 * MILLI, 1_000_000, &[], counting(100, 8 * MILLI, || usual(rng))));
    assert_eq!(counted, [0, 20, 0]);
    let counted = told(100, |rng| open(10, 100, &[], counting(100, 50 * MILLI, || usual(rng))));
    assert_eq!(counted, [0, 20, 0]);
    let timed = told(100, |rng| {
        let stops = stops(rng, 10, SECOND, 50 * MILLI, 0.0);
        open(10, 100, &stops, |_| usual(rng))
    });
    assert_eq!(timed, [0, 20, 0]);
}

#[test]
fn where_the_pace_differs_the_one_that_holds_is_told_alone() {
    let counted = told(500, |rng| closed(3, 0, 1_000_000, &[], counting(500, 20 * MILLI, || uneven(rng))));
    assert_eq!(counted, [0, 0, 20], "by count, back to back");
    let timed = told(500, |rng| {
        let stops = stops(rng, 3, 200 * MILLI, 20 * MILLI, 0.001);
        closed(3, 0, 1_000_000, &stops, |_| uneven(rng))
    });
    assert!(timed[0] >= 19 && timed[1] + timed[2] == 0, "by time, back to back: {timed:?}");
    let counted = told(100, |rng| {
        let mut trips = Rng::with_seed(rng.u64(..));
        at_random(rng, 10, 1_000, &[], counting(100, 5 * MILLI, move || usual(&mut trips)))
    });
    assert_eq!(counted, [0, 0, 20], "by count, at random instants");
    // Within a second the requests are laid out evenly, so that not each period in time is found.
    let timed = told(500, |rng| {
        let stops = stops(rng, 10, SECOND, 50 * MILLI, 0.0);
        let mut trips = Rng::with_seed(rng.u64(..));
        at_random(rng, 10, 1_000, &stops, move |_| usual(&mut trips))
    });
    assert!(timed[0] >= 15 && timed[1] + timed[2] == 0, "by time, at random instants: {timed:?}");
}

/// Stops by chance, as many as come to `count`: their lengths are drawn by `length`.
fn by_chance(rng: &mut Rng, seconds: u64, count: usize, mut length: impl FnMut(&mut Rng) -> u64) -> Vec<Span> {
    let mut stops: Vec<Span> = (0..count)
        .map(|_| {
            let from = rng.u64(0..seconds * SECOND);
            (from, from + length(rng))
        })
        .collect();
    stops.sort_unstable();
    stops
}

fn heavy(rng: &mut Rng) -> u64 {
    1 << rng.u32(17..26)
}

type World = fn(&mut Rng) -> Option<Periodic>;

/// Worlds without a period. None of them may be told to have one in more than one of two thousand runs.
const WORLDS: [(&str, World); 12] = [
    ("quiet", |rng| closed(10, 10 * MILLI, 100_000, &[], |_| usual(rng))),
    ("eight of one length", |rng| {
        let stops = by_chance(rng, 10, 8, |_| 20 * MILLI);
        closed(10, 10 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("five in five seconds", |rng| {
        let stops = by_chance(rng, 5, 5, |_| 50 * MILLI);
        closed(5, 5 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("thirty of many lengths", |rng| {
        let stops = by_chance(rng, 10, 30, heavy);
        closed(10, 10 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("hundreds", |rng| {
        let stops = by_chance(rng, 10, 300, heavy);
        closed(10, 5 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("a heavy tail", |rng| {
        let stops = by_chance(rng, 10, 20, |rng| (MILLI as f64 / (1.0 - rng.f64())) as u64);
        closed(10, 10 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("every trip log-normal", |rng| {
        closed(10, 10 * MILLI, 100_000, &[], |_| (50_000.0 * (1.5 * normal(rng)).exp()) as u64)
    }),
    ("bursts of stops", |rng| {
        let centres: Vec<u64> = (0..6).map(|_| rng.u64(0..10 * SECOND)).collect();
        let stops: Vec<Span> = centres
            .iter()
            .flat_map(|centre| (0..8).map(|_| centre + rng.u64(0..200 * MILLI)).collect::<Vec<_>>())
            .map(|from| (from, from + 8 * MILLI))
            .collect();
        closed(10, 5 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("ever more of them", |rng| {
        let stops: Vec<Span> = (0..30)
            .map(|_| (10.0 * SECOND as f64 * rng.f64().sqrt().sqrt()) as u64)
            .map(|from| (from, from + 10 * MILLI))
            .collect();
        closed(10, 5 * MILLI, 100_000, &stops, |_| usual(rng))
    }),
    ("a step to ten times the time", |rng| {
        let step = rng.u64(2..9) * SECOND;
        closed(10, 10 * MILLI, 100_000, &[], |at| if at > step { 10 * usual(rng) } else { usual(rng) })
    }),
    ("a retransmission's timeout now and then", |rng| {
        closed(10, 0, 100_000, &[], |_| if rng.u32(0..40) == 0 { 200 * MILLI } else { 5 * MILLI + usual(rng) })
    }),
    ("one by one each tenth of a second", |rng| {
        closed(20, 100 * MILLI, 100_000, &[], |_| if rng.u32(0..8) == 0 { 5 * MILLI } else { usual(rng) })
    }),
];

#[test]
fn what_comes_by_chance_has_no_period() {
    let trials = 100;
    let wrong = |world: World| (0..trials).filter(|seed| world(&mut Rng::with_seed(*seed)).is_some()).count();
    let found: Vec<(&str, usize)> = WORLDS.iter().map(|(name, world)| (*name, wrong(*world))).collect();
    assert!(found.iter().all(|(_, wrong)| *wrong == 0), "{found:?}");
}

/// A small cycle that comes ten times as often is shown more clearly by chance alone; the stop takes far more of the time.
#[test]
fn a_long_stop_is_told_beside_a_small_cycle() {
    let right = right(20, SECOND, |rng| {
        let mut both = stops(rng, 8, SECOND, 100 * MILLI, 0.002);
        both.extend(stops(rng, 8, 100 * MILLI, MILLI / 4, 0.000_1));
        closed(8, 0, 1_000_000, &both, |_| usual(rng))
    });
    assert!(right >= 19, "{right} of 20");
}

/// A count that fits says nothing against time, unless the instants do. Of how many events a period in time is shown, if it is.
#[test_case(Some(18), (false, false), (false, 18); "both are shown")]
#[test_case(None, (false, false), (false, 20); "time is too weak to be shown, and even")]
#[test_case(None, (true, false), (true, 20); "uneven in time")]
#[test_case(Some(18), (true, false), (true, 20); "shown, and uneven")]
#[test_case(Some(18), (false, true), (true, 20); "requests at random instants")]
fn a_count_alone_is_told_where_time_is_ruled_out(
    shown: Option<u64>,
    (is_uneven, at_random): (bool, bool),
    expected: (bool, u64),
) {
    let found = Periodic { period_ns: Nanos::millis(100), requests: Some(500), count: 20, ..Periodic::default() };
    let timed = shown.map(|count| Periodic { requests: None, count, ..found });
    let told = either(timed, &Counted { found, is_uneven_in_time: is_uneven }, at_random);
    assert_eq!((told.requests, told.by_requests_alone, told.count), (Some(500), expected.0, expected.1));
}
