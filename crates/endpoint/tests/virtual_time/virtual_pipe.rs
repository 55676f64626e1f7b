//! The bulk engine over a virtual pipe: the payload carried and its times are known beforehand.

use std::cell::Cell;

use endpoint::engine::stream::{self, Halt, Plan, Streamed};
use endpoint::engine::{Ended, Outlet};
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::{Pacing, Schedule};
use measure::throughput::{Carried, Interval, Sight};
use measure::unit::{Bytes, Instant, Nanos, Rate};
use protocol::bulk::{Bulk, Call};
use protocol::link::Fault;
use rtrb::RingBuffer;
use testbed::bulk::VirtualPipe;
use testbed::clock::VirtualClock;

const CALL: usize = 10_000;

fn pipe() -> VirtualPipe {
    VirtualPipe::new(&VirtualClock::new(), CALL, Nanos::millis(1))
}

fn run(pipe: VirtualPipe, plan: &Plan<'_>) -> Streamed<VirtualPipe> {
    stream::run(pipe, plan, None)
}

/// Runs the engine, and returns its events with its result.
fn told(pipe: VirtualPipe, plan: &Plan<'_>) -> (Streamed<VirtualPipe>, Vec<Event>) {
    let (producer, mut consumer) = RingBuffer::new(1_000);
    let streamed = stream::run(pipe, plan, Some(Outlet::new(producer)));
    (streamed, std::iter::from_fn(|| consumer.pop().ok()).collect())
}

fn intervals(events: &[Event]) -> Vec<Interval> {
    let carried = |event: &Event| if let Event::Carried { interval, .. } = event { Some(**interval) } else { None };
    events.iter().filter_map(carried).collect()
}

fn carried(calls: u64) -> Carried {
    Carried { bytes: Bytes(calls * CALL as u64), calls, failed_calls: 0 }
}

#[test]
fn a_stream_ends_by_time_with_the_call_that_reaches_it() {
    let stop = Stop::default();
    let streamed = run(pipe(), &Plan { after: Some(Nanos::secs(2)), ..Plan::unbounded(&stop) });
    assert_eq!((streamed.ended, streamed.metered.carried), (Ended::Complete, carried(2_000)));
    assert_eq!(streamed.metered.elapsed(), Nanos::secs(2));
    assert!(streamed.metered.calls.is_none());
}

#[test]
fn a_coarse_clock_ends_it_a_step_later_and_the_time_told_is_the_real_one() {
    let stop = Stop::default();
    let plan = Plan { after: Some(Nanos::millis(1_001)), ..Plan::unbounded(&stop) };
    let metered = run(pipe().coarse(Nanos::millis(4)), &plan).metered;
    assert_eq!((metered.carried, metered.elapsed()), (carried(1_004), Nanos::millis(1_004)));
}

#[test]
fn a_stream_ends_by_bytes_with_the_call_that_reaches_them() {
    let stop = Stop::default();
    let streamed = run(pipe(), &Plan { bytes: Some(95_001), ..Plan::unbounded(&stop) });
    assert_eq!((streamed.ended, streamed.metered.carried), (Ended::Complete, carried(10)));
}

#[test]
fn a_stream_that_the_sender_ends_is_complete() {
    let stop = Stop::default();
    let streamed = run(pipe().end_at(7).cut(3, 1), &Plan::unbounded(&stop));
    let whole = Carried { bytes: Bytes(6 * CALL as u64 + 1), calls: 7, failed_calls: 0 };
    assert_eq!((streamed.ended, streamed.metered.carried), (Ended::Complete, whole));
}

#[test]
fn a_broken_way_keeps_what_went_through_before() {
    let stop = Stop::default();
    let streamed = run(pipe().break_at(5, Fault::Closed), &Plan::unbounded(&stop));
    assert_eq!((streamed.ended, streamed.metered.carried), (Ended::Broken(Fault::Closed), carried(5)));
}

#[test]
fn what_found_no_buffer_is_counted_apart_and_the_stream_goes_on() {
    let stop = Stop::default();
    let refused = pipe().fail([3, 4]).break_at(8, Fault::Refused(111));
    let metered = run(refused, &Plan { after: Some(Nanos::millis(20)), ..Plan::unbounded(&stop) }).metered;
    assert_eq!((metered.carried.calls, metered.carried.failed_calls), (18, 3), "a refusal takes no time");
}

#[test]
fn somebody_who_asks_it_to_stop_is_heard_within_a_glance() {
    let stop = Stop::default();
    stop.request();
    let streamed = run(pipe(), &Plan::unbounded(&stop));
    assert_eq!((streamed.ended, streamed.metered.elapsed()), (Ended::Stopped, Nanos::millis(100)));
}

#[test]
fn whoever_started_it_is_asked_every_glance_whether_to_go_on() {
    let stop = Stop::default();
    let asked = Cell::new(0);
    let halt = |carried: &Carried| {
        asked.set(asked.get() + 1);
        carried.calls >= 250
    };
    let streamed = run(pipe(), &Plan { halt: Some(Halt(&halt)), interval: Nanos::millis(7), ..Plan::unbounded(&stop) });
    assert_eq!((streamed.ended, streamed.metered.carried, asked.get()), (Ended::Stopped, carried(300), 3));
}

#[test]
fn the_series_has_the_interval_asked_for_and_adds_up() {
    let stop = Stop::default();
    let plan =
        Plan { after: Some(Nanos::millis(500)), interval: Nanos::millis(200), thread: 3, ..Plan::unbounded(&stop) };
    let (streamed, events) = told(pipe(), &plan);
    assert!(matches!(events[0], Event::Started { thread: 3, .. }));
    let intervals = intervals(&events);
    let shape: Vec<(u64, u64, u64)> =
        intervals.iter().map(|i| (i.at_ns.0 / 1_000_000, i.length_ns.0 / 1_000_000, i.carried.calls)).collect();
    assert_eq!(shape, [(0, 200, 200), (200, 200, 200), (400, 100, 100)]);
    assert_eq!(streamed.metered.streams[0].intervals, intervals);
}

#[test]
fn a_stall_is_one_long_interval() {
    let stop = Stop::default();
    let plan = Plan { after: Some(Nanos::secs(4)), ..Plan::unbounded(&stop) };
    let stalled = pipe().stall(Nanos::millis(500), Nanos::millis(2_050));
    let (streamed, events) = told(stalled, &plan);
    let calls: Vec<u64> = intervals(&events).iter().map(|interval| interval.carried.calls).collect();
    assert_eq!(calls, [500, 0, 450, 1_000]);
    assert_eq!(streamed.metered.elapsed(), Nanos::secs(4));
}

#[test]
fn durations_are_those_of_the_calls_where_they_are_kept() {
    let stop = Stop::default();
    let plan = Plan { keeps: 1_000, bytes: Some(50 * CALL as u64), ..Plan::unbounded(&stop) };
    let streamed = run(pipe().fail([2]), &plan);
    let (calls, milli) = (streamed.metered.calls.unwrap(), Some(Nanos::millis(1)));
    assert_eq!((calls.response.count(), calls.response.min(), calls.response.max()), (50, milli, milli));
}

#[test]
fn what_goes_through_in_the_warm_up_is_not_counted() {
    let stop = Stop::default();
    let plan = Plan { warm_up: Nanos::secs(1), after: Some(Nanos::secs(2)), ..Plan::unbounded(&stop) };
    let (streamed, events) = told(pipe(), &plan);
    assert_eq!((streamed.metered.carried, streamed.metered.elapsed()), (carried(2_000), Nanos::secs(2)));
    let told: Vec<(bool, Nanos, u64)> =
        intervals(&events).iter().map(|i| (i.omitted, i.at_ns, i.carried.calls)).collect();
    let second = Nanos::secs(1);
    assert_eq!(told, [(true, Nanos::ZERO, 1_000), (false, Nanos::ZERO, 1_000), (false, second, 1_000)]);
    assert!(matches!(events[1], Event::Started { .. }), "between the warm-up and what counts");
    assert_eq!(streamed.metered.streams[0].omitted, carried(1_000));
    let by_bytes = Plan { bytes: Some(5 * CALL as u64), ..plan };
    assert_eq!(run(pipe(), &by_bytes).metered.carried, carried(5));
}

fn paced(schedule: Schedule, stop: &Stop) -> Plan<'_> {
    Plan { schedule, pacing: Pacing::Sleep, ..Plan::unbounded(stop) }
}

#[test]
fn calls_leave_in_bursts_where_that_was_asked_for() {
    let stop = Stop::default();
    let bursts = Schedule::Bursts { count: 3, interval_ns: Nanos::millis(10) };
    let streamed = run(pipe(), &Plan { bytes: Some(7 * CALL as u64), ..paced(bursts, &stop) });
    let at: Vec<u64> = streamed.way.departures.iter().map(|at| at.0 / 1_000_000).collect();
    assert_eq!(at, [0, 1, 2, 10, 11, 12, 20]);
}

#[test]
fn a_schedule_does_not_slip_by_late_wake_ups_or_a_stall() {
    let stop = Stop::default();
    let rate = Schedule::Rate { rate_per_1000s: Rate::per_second(100).unwrap() };
    let late = pipe().oversleeping(Nanos::micros(300)).stall(Nanos::millis(305), Nanos::millis(200));
    let streamed = run(late, &Plan { after: Some(Nanos::secs(10)), ..paced(rate, &stop) });
    assert_eq!(streamed.metered.carried.calls, 1_000);
    let at: Vec<u64> = streamed.way.departures.iter().map(|at| at.0 / 1_000_000).collect();
    assert_eq!((at[100], at[999]), (1_000, 9_990));
}

#[test]
fn a_long_interval_does_not_keep_it_from_ending() {
    let stop = Stop::default();
    let hourly = Schedule::Bursts { count: 1, interval_ns: Nanos::secs(3_600) };
    let streamed = run(pipe(), &Plan { after: Some(Nanos::secs(2)), ..paced(hourly, &stop) });
    assert_eq!((streamed.metered.carried, streamed.metered.elapsed()), (carried(1), Nanos::secs(2)));
}

/// A pipe whose thread does not run for a second after the start.
struct Late(VirtualPipe, VirtualClock);

impl Bulk for Late {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn recently(&self) -> Instant {
        self.0.recently()
    }

    fn begin(&mut self) -> Sight {
        self.1.pass(Nanos::secs(1));
        self.0.begin()
    }

    fn call(&mut self) -> Result<Call, Fault> {
        self.0.call()
    }

    fn sleep(&self, until: Instant) {
        self.0.sleep(until);
    }

    fn spin(&self, until: Instant) {
        self.0.spin(until);
    }
}

#[test]
fn what_is_due_at_the_start_goes_out_even_behind_the_end() {
    let stop = Stop::default();
    let rate = Schedule::Rate { rate_per_1000s: Rate::per_second(100).unwrap() };
    let plan = Plan { after: Some(Nanos::millis(100)), ..paced(rate, &stop) };
    let clock = VirtualClock::new();
    let late = Late(VirtualPipe::new(&clock, CALL, Nanos::millis(1)), clock);
    let streamed = stream::run(late, &plan, None);
    assert_eq!((streamed.metered.carried, streamed.ended), (carried(1), Ended::Complete));
    // Not where the end was requested.
    stop.request();
    let clock = VirtualClock::new();
    let late = Late(VirtualPipe::new(&clock, CALL, Nanos::millis(1)), clock);
    let streamed = stream::run(late, &Plan { after: Some(Nanos::secs(10)), ..plan }, None);
    assert_eq!((streamed.metered.carried, streamed.ended), (carried(0), Ended::Stopped));
}
