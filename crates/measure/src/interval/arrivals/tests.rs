//! Arrivals against a list that remembers every number, and jitter against the RFC's own formula.

use std::collections::HashSet;

use proptest::prelude::*;
use test_case::test_case;

use super::*;

fn after(numbers: impl IntoIterator<Item = u64>) -> Datagrams {
    let mut arrivals = Arrivals::new(false);
    for number in numbers {
        arrivals.arrived(number, 0);
    }
    arrivals.total()
}

/// Expected, received, lost, out of order, duplicates.
fn counts(datagrams: &Datagrams) -> (u64, u64, i64, u64, u64) {
    (datagrams.expected, datagrams.received, datagrams.lost, datagrams.out_of_order, datagrams.duplicates)
}

#[test_case(&[], (0, 0, 0, 0, 0); "nothing")]
#[test_case(&[1, 2, 3], (3, 3, 0, 0, 0); "in order")]
#[test_case(&[3], (3, 1, 2, 0, 0); "the first two lost")]
#[test_case(&[1, 3, 2], (3, 3, 0, 1, 0); "two changed places")]
#[test_case(&[1, 1, 3, 3, 3], (3, 2, 1, 0, 3); "copies hide no loss")]
#[test_case(&[1, 3, 2, 2], (3, 3, 0, 1, 1); "a copy of a late one")]
#[test_case(&[0, 1], (1, 1, 0, 0, 0); "no number 0")]
fn numbers_are_counted(numbers: &[u64], expected: (u64, u64, i64, u64, u64)) {
    assert_eq!(counts(&after(numbers.iter().copied())), expected);
}

#[test]
fn what_the_sender_says_it_sent_counts_the_end_too() {
    let mut arrivals = Arrivals::new(false);
    (1..=90).for_each(|number| assert!(arrivals.arrived(number, 0)));
    arrivals.last(100);
    arrivals.last(40);
    assert_eq!(counts(&arrivals.total()), (100, 90, 10, 0, 0));
    arrivals.arrived(95, 0);
    assert_eq!(counts(&arrivals.total()), (100, 91, 9, 1, 0));
}

#[test]
fn a_round_of_the_memory_later_nothing_is_mistaken() {
    let all = 3 * WINDOW + 7;
    assert_eq!(counts(&after(1..=all)), (all, all, 0, 0, 0));
    assert_eq!(counts(&after((1..=all).step_by(2))), (all, all / 2 + 1, (all / 2).cast_signed(), 0, 0));
    let far = after([1, 10 * WINDOW, 10 * WINDOW - 1, 10 * WINDOW - WINDOW / 2]);
    assert_eq!(counts(&far), (10 * WINDOW, 4, 10 * WINDOW as i64 - 4, 2, 0));
}

#[test]
fn what_is_older_than_the_memory_is_a_copy_only_where_nothing_is_missing() {
    let whole = after((1..=2 * WINDOW).chain([5]));
    assert_eq!(counts(&whole), (2 * WINDOW, 2 * WINDOW, 0, 0, 1));
    let holed = after((2..=2 * WINDOW).chain([1]));
    assert_eq!(counts(&holed), (2 * WINDOW, 2 * WINDOW, 0, 1, 0));
}

#[test]
fn jitter_is_the_rfcs_estimator() {
    let transits = [1_000_i64, 17_000, 1_000, 1_000];
    let mut arrivals = Arrivals::new(false);
    for (transit, number) in transits.iter().zip(1..) {
        arrivals.arrived(number, *transit);
    }
    // 16000/16 = 1000; + (16000 - 1000)/16 = 1937.5; - 1937.5/16.
    assert_eq!(arrivals.total().jitter_ns, Some(1_937.5 - 1_937.5 / 16.0));
    arrivals.begin();
    assert_eq!(arrivals.total().jitter_ns, None);
}

#[test]
fn an_interval_has_its_own_transit_times_and_the_whole_has_all() {
    let mut arrivals = Arrivals::new(true);
    for (transit, number) in [5_i64, 7].into_iter().zip(1..) {
        arrivals.arrived(number, transit);
    }
    let first = arrivals.sight().transit.unwrap();
    assert_eq!(
        (first.count, first.min_ns, first.max_ns, first.mean_ns, first.deviation()),
        (2, 5, 7, 6.0, Some(2_f64.sqrt()))
    );
    arrivals.arrived(3, -3);
    let second = arrivals.sight().transit.unwrap();
    assert_eq!((second.count, second.min_ns, second.mean_ns, second.deviation()), (1, -3, -3.0, None));
    assert_eq!(arrivals.sight().transit, None);
    let (all, both) = (arrivals.total().transit.unwrap(), first.and(&second));
    assert_eq!((all.count, all.min_ns, all.max_ns, all.mean_ns), (3, -3, 7, 3.0));
    assert_eq!((both.count, both.min_ns, both.max_ns), (3, -3, 7));
    assert!((both.mean_ns - all.mean_ns).abs() < 1e-9 && (both.squares - all.squares).abs() < 1e-9);
}

#[test]
fn intervals_are_differences_and_may_owe_a_loss() {
    let mut arrivals = Arrivals::new(false);
    for number in [1, 2, 5] {
        arrivals.arrived(number, 0);
    }
    let first = arrivals.sight();
    for number in [3, 4, 6] {
        arrivals.arrived(number, 0);
    }
    let second = arrivals.sight().since(&first);
    assert_eq!(counts(&second), (1, 3, -2, 2, 0));
    assert_eq!(counts(&first.and(&second)), counts(&arrivals.total()));
}

proptest! {
    #[test]
    fn within_the_memory_every_number_is_known(numbers in prop::collection::vec(1_u64..600, 0..400)) {
        let found = after(numbers.iter().copied());
        let (mut seen, mut highest, mut late, mut twice) = (HashSet::new(), 0, 0, 0);
        for number in numbers {
            if !seen.insert(number) {
                twice += 1;
            } else if number < highest {
                late += 1;
            }
            highest = highest.max(number);
        }
        let received = seen.len() as u64;
        prop_assert_eq!(counts(&found), (highest, received, (highest - received).cast_signed(), late, twice));
    }
}

#[test]
fn a_mark_that_takes_a_faster_way_may_overtake_all_by_so_long() {
    let mut arrivals = Arrivals::new(false);
    assert_eq!(arrivals.overtaken(5), Nanos::ZERO, "nothing is on its way that is known of");
    for (number, transit) in [(1, 30_000_000), (2, 30_200_000)] {
        arrivals.arrived(number, transit);
    }
    assert_eq!(arrivals.overtaken(30_100_000), Nanos::micros(200), "by what the stream itself varies");
    assert_eq!(arrivals.overtaken(100_000), Nanos::micros(30_100), "by what the mark gains on it");
}

#[test]
fn copies_and_numbers_that_are_none_are_not_new() {
    let mut arrivals = Arrivals::new(false);
    let new = [1, 2, 2, 5, 4, 4, 0, 6].map(|number| arrivals.arrived(number, 0));
    assert_eq!(new, [true, true, false, true, true, false, false, true]);
}
