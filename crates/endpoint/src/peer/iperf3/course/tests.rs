//! Ends of streams, on ways that follow a script.

use super::*;
use std::cell::Cell;
use test_case::test_case;

/// A way that follows a script, a step a call, with a clock that advances by a tenth of a second each.
struct Told<'a> {
    calls: &'a [Call],
    now: Cell<u64>,
}

impl Bulk for Told<'_> {
    fn now(&self) -> Instant {
        Instant(self.now.get())
    }

    fn call(&mut self) -> Result<Call, Fault> {
        self.now.set(self.now.get() + 100_000_000);
        let Some((first, rest)) = self.calls.split_first() else { return Ok(Call::Nothing) };
        self.calls = rest;
        Ok(*first)
    }

    fn sleep(&self, _: Instant) {}

    fn spin(&self, _: Instant) {}
}

const WHOLE: Call = Call::Moved(1_000);

fn guarded<'a>(course: &'a Course, sends: bool, calls: &'a [Call]) -> Guarded<'a, Told<'a>> {
    let bounds = Bounds { sends, block: 1_000, closes: false, omits: false, patience: Nanos::secs(2) };
    let mut way = Guarded::new(Told { calls, now: Cell::new(0) }, course, bounds);
    way.begin();
    way
}

fn calls(way: &mut Guarded<'_, Told<'_>>) -> Vec<Call> {
    let mut calls = Vec::new();
    while calls.len() < 100 {
        match way.call() {
            Ok(Call::End) => return calls,
            Ok(call) => calls.push(call),
            Err(fault) => panic!("{fault}"),
        }
    }
    calls
}

#[test_case(Limit::Bytes(2_500), 3; "bytes, in whole calls")]
#[test_case(Limit::Bytes(3_000), 3; "bytes that are whole calls")]
#[test_case(Limit::Calls(4), 4; "calls")]
fn senders_share_what_there_is_to_send(limit: Limit, most: usize) {
    let course = Course::new(limit, true);
    let (mut one, mut other) = (guarded(&course, true, &[WHOLE; 9]), guarded(&course, true, &[WHOLE; 9]));
    let mut made = 0;
    for _ in 0..9 {
        for way in [&mut one, &mut other] {
            made += usize::from(way.call() == Ok(WHOLE));
        }
    }
    assert_eq!((made, course.moved()), (most, most as u64 * 1_000));
}

#[test]
fn a_call_in_parts_is_one_call_and_one_that_failed_is_made_again() {
    let course = Course::new(Limit::Calls(2), false);
    let parts = [Call::Failed, Call::Moved(400), Call::Nothing, Call::Moved(600), WHOLE, WHOLE];
    assert_eq!(calls(&mut guarded(&course, true, &parts)), parts[..5]);
}

#[test]
fn what_is_left_out_at_the_start_counts_towards_no_limit() {
    let course = Course::new(Limit::Calls(1), false);
    let bounds = Bounds { sends: true, block: 1_000, closes: false, omits: true, patience: Nanos::secs(2) };
    let mut way = Guarded::new(Told { calls: &[WHOLE; 9], now: Cell::new(0) }, &course, bounds);
    way.begin();
    assert!((0..5).all(|_| way.call() == Ok(WHOLE)));
    way.begin();
    assert_eq!((way.call(), way.call()), (Ok(WHOLE), Ok(Call::End)));
}

#[test]
fn a_receiver_that_has_enough_ends_the_test_for_all() {
    let course = Course::new(Limit::Bytes(2_500), false);
    let mut way = guarded(&course, false, &[WHOLE; 9]);
    for over in [false, false, true] {
        way.call().unwrap();
        assert_eq!(course.is_over(), over);
    }
    assert_eq!(guarded(&course, true, &[WHOLE; 9]).call(), Ok(Call::End));
}

#[test]
fn receivers_take_what_is_still_on_its_way_and_no_more() {
    let course = Course::default();
    let mut way = guarded(&course, false, &[WHOLE, WHOLE, WHOLE, Call::Nothing, WHOLE]);
    way.call().unwrap();
    course.end(Instant(100_000_000));
    assert_eq!(calls(&mut way), [WHOLE; 2], "until nothing comes");
    assert_eq!((way.last(), course.ended_at()), (Some(Instant(300_000_000)), Some(Instant(100_000_000))));
    let course = Course::default();
    course.end(Instant(0));
    assert_eq!(calls(&mut guarded(&course, false, &[WHOLE; 99])).len(), 6, "half a second of it");
}

#[test]
fn silence_ends_the_test_and_traffic_does_not() {
    let course = Course::default();
    let quiet = [Call::Nothing; 19];
    let all = [&quiet[..], &[WHOLE], &quiet].concat();
    let seen = calls(&mut guarded(&course, false, &all));
    assert!(course.is_silent() && course.is_over() && seen.len() >= 40, "{}", seen.len());
}

#[test]
fn a_receiver_waits_for_the_end_of_a_connection_that_the_far_end_closes() {
    let course = Course::default();
    course.end(Instant(0));
    let told = [WHOLE, Call::Nothing, Call::Nothing, WHOLE, Call::End, WHOLE];
    let bounds = Bounds { sends: false, block: 1_000, closes: true, omits: false, patience: Nanos::secs(2) };
    let mut way = Guarded::new(Told { calls: &told, now: Cell::new(0) }, &course, bounds);
    assert_eq!(calls(&mut way), told[..4]);
    let mut way = Guarded::new(Told { calls: &[], now: Cell::new(0) }, &course, bounds);
    assert_eq!(calls(&mut way).len(), 11, "a second of it");
}
