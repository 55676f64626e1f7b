//! The clocks of both ends are one: the error planted into the peer's is the truth.

use std::net::SocketAddr;

use endpoint::clock::wall;
use endpoint::peer::stamp::reflector::{Pretence, Settings};
use measure::method::{Asked, Schedule};
use measure::unit::Nanos;
use test_case::test_case;

use crate::stamp::{asked, key, measured, sealed, with_reflector};

#[test_case("127.0.0.1", 7_000_000, 0.0; "ahead")]
#[test_case("::1", -3_600_000_000_000, 0.0; "an hour behind, over v6")]
#[test_case("127.0.0.1", 0, 80.0; "fast")]
#[test_case("127.0.0.1", -55_000, -400.0; "behind, and slow")]
#[test_case("127.0.0.1", 0, 0.0; "right")]
fn a_planted_offset_and_drift_are_within_the_bound(listen: &str, offset_ns: i64, ppm: f64) {
    let clock = Pretence { offset_ns, ppm, since: 0 };
    let before = wall();
    with_reflector(
        listen,
        |settings| Settings { clock, ..settings },
        |address| {
            let since = wall();
            let start = wall();
            let finding = measured(&asked(400), address, None);
            let end = wall();
            let both = finding.one_way.expect("both directions");
            assert_eq!(both.exchanges, 400);
            assert!(both.held.is_some_and(|held| held.min_ns > 0), "{both:?}");
            let clock = both.clock.expect("a difference");
            assert!(clock.steps.is_empty() && clock.rate_changes == 0, "{clock:?}");
            let [window] = clock.windows[..] else { panic!("{clock:?}") };
            assert!(window.drift_low_ppm <= ppm && ppm <= window.drift_high_ppm, "{window:?}");
            // The window lies somewhere within the run, and the clock began somewhere before it.
            let middle = (window.end_ns.0 - window.begin_ns.0) / 2;
            let (early, late) = (start + middle - since, end - middle - before);
            let truths = [early, late].map(|at| offset_ns as f64 + at as f64 * ppm / 1e6);
            let (low, high) = (truths[0].min(truths[1]), truths[0].max(truths[1]));
            let (seen, bound) = (window.offset_ns as f64, window.bound_ns.0 as f64 + 2.0);
            assert!(low - bound <= seen && seen <= high + bound, "{seen} ± {bound}, in truth {low} to {high}");
            // An offset that is known puts no delay below zero by more than its bound.
            let (forward, reverse) = (both.forward.expect("there"), both.reverse.expect("back"));
            assert!(forward.min_ns.min(reverse.min_ns) >= -(clock.bound_ns.0 as i64), "{forward:?} {reverse:?}");
        },
    );
}

#[test]
fn authenticated_packets_tell_as_much() {
    let with_key = |settings| Settings { key: Some(key()), ..settings };
    with_reflector("127.0.0.1", with_key, |address| {
        let finding = measured(&sealed(100), address, Some(key()));
        assert_eq!((finding.recording.counts.answered, finding.peer_counts.received), (100, Some(100)));
        let both = finding.one_way.expect("both directions");
        assert_eq!((both.exchanges, both.counts_answers, both.time_to_live), (100, Some(true), Some(64)));
    });
}

#[test]
fn the_wildcard_of_ipv6_answers_from_where_it_was_asked() {
    with_reflector(
        "::",
        |settings| settings,
        |address| {
            for host in ["127.0.0.1", "127.0.0.9", "::1"] {
                let target = SocketAddr::new(host.parse().unwrap(), address.port());
                let finding = measured(&asked(20), target, None);
                let both = finding.one_way.expect("both directions");
                assert_eq!((finding.recording.counts.answered, both.time_to_live), (20, Some(64)), "{host}");
            }
        },
    );
}

#[test]
fn one_at_a_time_and_several_at_once_are_the_same_to_it() {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |address| {
            let back_to_back = Asked { schedule: None, ..asked(300) };
            let rate = Schedule::Every { interval_ns: Nanos::micros(500) };
            let several = Asked { connections: Some(3), schedule: Some(rate), ..asked(300) };
            let window = Asked { window: Some(4), schedule: None, ..asked(300) };
            for asked in [back_to_back, several, window] {
                let finding = measured(&asked, address, None);
                assert_eq!(
                    (finding.recording.counts.answered, finding.peer_counts.received),
                    (300, Some(300)),
                    "{asked:?}"
                );
                assert_eq!(finding.one_way.expect("both directions").exchanges, 300);
            }
        },
    );
}

#[test]
fn without_stamps_of_the_kernel_the_times_are_the_programs() {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |address| {
            let finding = measured(&Asked { stamps: Some(false), ..asked(50) }, address, None);
            let both = finding.one_way.expect("both directions");
            assert_eq!((both.exchanges, both.left_by_kernel, both.came_by_kernel), (50, 0, 0));
            assert!(both.clock.is_some());
        },
    );
}

#[test]
fn a_warm_up_is_not_counted() {
    with_reflector(
        "127.0.0.1",
        |settings| settings,
        |address| {
            let finding = measured(&Asked { warm_up_ns: Some(Nanos::millis(20)), ..asked(50) }, address, None);
            assert_eq!((finding.recording.counts.answered, finding.peer_counts.received), (50, Some(50)));
            assert!(finding.one_way.expect("both directions").exchanges > 50, "but it tells of the clocks");
        },
    );
}
