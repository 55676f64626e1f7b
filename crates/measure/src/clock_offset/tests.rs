//! The analysis against exchanges whose clocks and path were made up, many times over.

use fastrand::Rng;
use test_case::test_case;

use super::simulated::{BEGIN, Scene};
use super::*;

fn found(scene: &Scene, seed: u64) -> ClockDifference {
    analyse(scene.play(seed).0, None).clock.expect("a difference")
}

/// In each window the truth is within the bound, at its ends and in its middle, and so is the drift: of lines, without
/// exception.
#[track_caller]
fn assert_true(scene: &Scene, clock: &ClockDifference, seed: u64) {
    for window in &clock.windows {
        let middle = u64::midpoint(window.begin_ns.0, window.end_ns.0);
        for at in [window.begin_ns.0, middle, window.end_ns.0] {
            let estimate = window.offset_ns as f64 + (at as f64 - middle as f64) * window.drift_ppm / 1e6;
            let off = (estimate - scene.ahead(BEGIN + at)).abs();
            assert!(off <= window.bound_ns.0 as f64 + 2.0, "seed {seed}: off by {off} in {window:?} of {scene:?}");
        }
        assert!(window.bound_ns <= clock.bound_ns);
    }
}

#[test]
fn a_planted_offset_and_drift_are_within_the_bound_every_time() {
    for seed in 0..300 {
        let mut rng = Rng::with_seed(10_000 + seed);
        let ppm = f64::from(rng.i32(-200..=200)) / 2.0;
        let scene = Scene {
            offset: rng.i64(-100_000_000_000..100_000_000_000),
            drifts: vec![(0, ppm)],
            forward: vec![(0, rng.u64(5_000..30_000_000))],
            reverse: rng.u64(5_000..30_000_000),
            queue: rng.f64() * 2_000_000.0,
            interval: rng.u64(1_000_000..100_000_000),
            count: rng.u64(20..800),
            ..Scene::usual()
        };
        let clock = found(&scene, seed);
        assert!(clock.steps.is_empty() && clock.rate_changes == 0, "seed {seed}: {clock:?}");
        assert_true(&scene, &clock, seed);
        for window in &clock.windows {
            assert!(
                window.drift_low_ppm <= ppm && ppm <= window.drift_high_ppm,
                "seed {seed}: {ppm} not in {window:?}"
            );
        }
    }
}

#[test]
fn the_bound_is_about_half_the_shortest_round_trip_and_the_drift_is_seen() {
    let scene = Scene { offset: 1_000_000, drifts: vec![(0, 50.0)], count: 3_000, ..Scene::usual() };
    for seed in 0..20 {
        let clock = found(&scene, seed);
        let [window] = clock.windows[..] else { panic!("{clock:?}") };
        // 500 us both ways: half of it, and the error of the drift at the ends.
        assert!((250_000..600_000).contains(&window.bound_ns.0), "{window:?}");
        assert!((window.drift_ppm - 50.0).abs() < 5.0, "{window:?}");
    }
}

#[test]
fn delays_of_each_direction_are_within_the_bound() {
    let scene = Scene { offset: -3_600_000_000_000, drifts: vec![(0, -30.0)], ..Scene::usual() };
    let (gathered, forwards) = scene.play(3);
    let found = analyse(gathered, None);
    let bound = found.clock.unwrap().bound_ns.0;
    let truth = Spread::of(forwards.iter().map(|forward| *forward as i64)).unwrap();
    let forward = found.forward.unwrap();
    for (seen, truth) in [(forward.min_ns, truth.min_ns), (forward.p50_ns.unwrap(), truth.p50_ns.unwrap())] {
        assert!(seen.abs_diff(truth) <= bound, "{seen} for {truth} within {bound}");
    }
    // The time that the far side held a request is no part of the clocks' difference.
    assert!(found.held.unwrap().p50_ns.unwrap().abs_diff(4_000) <= 2);
    let path = found.path.unwrap();
    assert!(path.min_ns >= 500_000 && path.min_ns < 540_000, "{path:?}");
}

#[test_case(2_000_000; "ahead")]
#[test_case(-2_000_000; "back")]
#[test_case(-40_000_000_000; "far back")]
#[test_case(700_000; "by little more than the round trip")]
fn a_clock_that_was_set_is_found(by: i64) {
    for seed in 0..20 {
        let scene = Scene {
            offset: 5_000_000_000,
            drifts: vec![(0, 20.0)],
            steps: vec![(4_321_000_000, by)],
            queue: 30_000.0,
            ..Scene::usual()
        };
        let clock = found(&scene, seed);
        let [step] = clock.steps[..] else { panic!("seed {seed}: {clock:?}") };
        assert!(step.by_ns.abs_diff(by) <= step.bound_ns.0, "seed {seed}: {step:?}");
        assert!(step.after_ns.0 <= 4_321_000_000 && 4_321_000_000 <= step.before_ns.0, "seed {seed}: {step:?}");
        assert_eq!(clock.windows.len(), 2, "seed {seed}: {clock:?}");
        assert_true(&scene, &clock, seed);
    }
}

#[test]
fn each_of_several_steps_is_found() {
    let steps = vec![(2_000_000_000, 3_000_000), (5_000_000_000, -8_000_000), (8_000_000_000, 1_500_000)];
    let scene = Scene { steps: steps.clone(), queue: 30_000.0, ..Scene::usual() };
    for seed in 0..20 {
        let clock = found(&scene, seed);
        assert_eq!(clock.steps.len(), 3, "seed {seed}: {clock:?}");
        for (found, (_, by)) in clock.steps.iter().zip(&steps) {
            assert!(found.by_ns.abs_diff(*by) <= found.bound_ns.0, "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn a_path_that_changes_is_no_clock_that_was_set() {
    let forward = vec![(0, 200_000), (3_000_000_000, 9_000_000), (7_000_000_000, 100_000)];
    for seed in 0..100 {
        let scene = Scene { forward: forward.clone(), queue: 3_000_000.0, drifts: vec![(0, -80.0)], ..Scene::usual() };
        let clock = found(&scene, seed);
        assert!(clock.steps.is_empty() && clock.rate_changes == 0, "seed {seed}: {clock:?}");
        assert_true(&scene, &clock, seed);
    }
}

#[test]
fn a_rate_that_changes_is_no_step() {
    for seed in 0..20 {
        let scene = Scene { drifts: vec![(0, 0.0), (5_000_000_000, 500.0)], queue: 30_000.0, ..Scene::usual() };
        let clock = found(&scene, seed);
        assert!(clock.steps.is_empty(), "seed {seed}: {clock:?}");
        assert!(clock.rate_changes >= 1, "seed {seed}: {clock:?}");
        let last = clock.windows.last().unwrap();
        assert!(last.drift_low_ppm <= 500.0 && 500.0 <= last.drift_high_ppm, "seed {seed}: {last:?}");
    }
}

#[test]
fn a_long_run_is_looked_at_minute_by_minute() {
    let scene = Scene { interval: 100_000_000, count: 3_000, drifts: vec![(0, 12.5)], ..Scene::usual() };
    let clock = found(&scene, 1);
    assert_eq!(clock.windows.len(), 5);
    assert_true(&scene, &clock, 1);
}

#[test_case(1_000, 1_000; "microseconds")]
#[test_case(1_000_000, 1_000_000; "milliseconds")]
#[test_case(1, 50; "nanoseconds")]
fn times_that_were_cut_off_forbid_nothing_that_is_true(grain: u64, told: u64) {
    for seed in 0..20 {
        let scene = Scene { grain, drifts: vec![(0, 10.0)], offset: 123_456_789, ..Scene::usual() };
        let clock = found(&scene, seed);
        assert_eq!((clock.grain_ns, clock.steps.len(), clock.rate_changes), (Nanos(told), 0, 0), "seed {seed}");
        assert_true(&scene, &clock, seed);
    }
}

#[test]
fn of_one_exchange_the_bound_is_half_its_round_trip() {
    let scene = Scene { offset: 777_777, count: 1, queue: 0.0, ..Scene::usual() };
    let found = analyse(scene.play(0).0, None);
    let clock = found.clock.unwrap();
    // The rest is the drift allowed over its half millisecond: a thousandth.
    assert!((250_000..251_500).contains(&clock.bound_ns.0), "{clock:?}");
    assert_true(&scene, &clock, 0);
    assert_eq!(found.forward.unwrap().p50_ns, None);
}

/// 5 ms more there than back: from the packets alone half of it is each way's.
#[test_case(0, true; "one clock")]
#[test_case(900, true; "two that differ by less than was said")]
#[test_case(1_000_000, false; "two that differ by more than the shortest way back")]
#[test_case(-6_000_000, false; "and the other way about")]
fn clocks_that_agree_show_a_path_that_is_slower_one_way(offset: i64, holds: bool) {
    let within = Some(Nanos::micros(1));
    let scene = Scene { offset, forward: vec![(0, 5_200_000)], ..Scene::usual() };
    let found = analyse(scene.play(7).0, within);
    let estimated = analyse(scene.play(7).0, None);
    assert_eq!(found.agreement, Some(Agreement { within_ns: Nanos::micros(1), holds }));
    let (clock, forward) = (found.clock.expect("known"), found.forward.expect("known"));
    if holds {
        assert_eq!((clock.bound_ns.0, clock.windows.len(), clock.steps.len()), (1_050, 1, 0));
        assert!((5_200_000 - 1_050..5_210_000).contains(&forward.min_ns), "{forward:?}");
        assert!((300_000 - 1_050..310_000).contains(&found.reverse.expect("known").min_ns));
    } else {
        assert_eq!((Some(clock), Some(forward)), (estimated.clock, estimated.forward), "as if nothing had been said");
    }
}

#[test]
fn of_none_nothing_is_said() {
    let found = analyse(Gathered::default(), None);
    assert_eq!((found.clock, found.path, found.forward), (None, None, None));
}

#[test]
fn any_numbers_are_looked_at_to_an_end() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..50 {
        let mut gathered = Gathered::default();
        for _ in 0..200 {
            let wild = |rng: &mut Rng| if rng.bool() { rng.u64(..) } else { BEGIN + rng.u64(0..1_000_000_000) };
            let (sent, received) = (wild(&mut rng), wild(&mut rng));
            let (left, came) = (wild(&mut rng), wild(&mut rng));
            gathered.add(FourTimes { sent, received, left, came });
        }
        let _found = analyse(gathered, None);
    }
}
