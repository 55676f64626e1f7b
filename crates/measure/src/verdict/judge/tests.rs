//! Each judgement by itself.

use super::machines::{disturbed, one_cpu, power_saving};
use super::pace::rate;
use super::settings::{got_less, no_stamps};
use super::statistics::{clocks, correlated, not_settled, not_steady, too_few};
use super::*;
use crate::environment::Disturbance;
use crate::method::{
    Asked, BatchBy, Direction, Exchange, LoopKind, Pattern, Schedule, Settled, Stop, Traffic, Waiting, Window,
};
use crate::outcome::change::Change;
use crate::outcome::dark::Dark;
use crate::outcome::flows::{Between, FlowGroup, Flows};
use crate::outcome::{Batched, SocketFacts, Split, Standing, Steady};
use crate::recorder::{Recorder, Recording};
use crate::statistics::simulated::{autoregressive, latencies};
use crate::statistics::summary::{Extra, summarise};
use crate::throughput::Sight;
use crate::throughput::meter::Meter;
use crate::unit::{Bytes, Instant, Rate};
use test_case::test_case;

/// A run of 12,000 undisturbed exchanges without stamps: it raises only the warning that it is too short.
pub(super) fn quiet() -> (Outcome, Method) {
    let asked = Asked { stamps: Some(false), ..Asked::default() };
    told(&autoregressive(&mut fastrand::Rng::with_seed(1), 12_000, 0.0), &asked)
}

pub(super) fn told(trips: &[u64], asked: &Asked) -> (Outcome, Method) {
    let method = asked.resolve().unwrap();
    (summarise(&recording(trips), &method, Extra::default()), method)
}

fn recording(trips: &[u64]) -> Recording {
    let mut recorder = Recorder::new(LoopKind::Closed, 100_000);
    let mut now = Instant(0);
    for &trip in trips {
        let sent = now;
        now = now.after(Nanos(trip));
        recorder.answered(sent, now);
    }
    recorder.finish(now)
}

fn verdict(outcome: &Outcome, method: &Method) -> Vec<Warning> {
    let (ours, theirs) = (environment(), environment());
    let theirs = Environment { host: Some("far".into()), ..theirs };
    judge(outcome, method, Some(&ours), Some(&theirs), &Context::default())
}

pub(super) fn environment() -> Environment {
    let disturbance = Disturbance {
        run_queue_share: Some(0.01),
        cpu_pressure_share: Some(0.10),
        steal_share: Some(0.01),
        ..Disturbance::default()
    };
    Environment {
        host: Some("near".into()),
        cpus_allowed: Some(2),
        cpus_online: Some(2),
        governors: vec!["performance".into()],
        disturbance: Some(disturbance),
        ..Environment::default()
    }
}

#[test]
fn a_quiet_run_is_told_only_what_it_is_too_short_for() {
    let (outcome, method) = quiet();
    let rate = outcome.answered_per_s.unwrap();
    let run_for = Nanos((1e5 / rate * 1e9) as u64);
    let few = Warning::TooFewForQuantile { q: 0.999_9, needed: 100_000, seen: 12_000, run_for_ns: Some(run_for) };
    assert_eq!(verdict(&outcome, &method), vec![few]);
}

#[test]
fn a_stream_is_judged_by_its_ends_and_by_what_its_sockets_got() {
    let mut meter = Meter::new(0);
    meter.begin(Instant(0), Sight::default());
    let asked = Asked { pattern: Some(Pattern::Stream), ..Asked::default() };
    let mut method = asked.resolve().unwrap();
    let sockets = vec![SocketFacts { congestion: Some("cubic".into()), ..SocketFacts::default() }];
    let stream = Throughput::of(Direction::Send, &meter.finish(Instant(1), Sight::default()), None, sockets);
    let judged =
        |method: &Method, context: &Context| judge_stream(&stream, method, Some(&environment()), None, context);
    assert_eq!(judged(&method, &Context::default()), []);
    method.socket.congestion = Some("bbr".into());
    let interrupted = Context { interrupted: true, ..Context::default() };
    let less = Warning::GotLess { option: "congestion control".into(), asked: "bbr".into(), got: "cubic".into() };
    assert_eq!(judged(&method, &interrupted), [Warning::Interrupted, less]);
}

#[test]
fn with_enough_answers_nothing_is_too_few() {
    let (mut outcome, method) = quiet();
    outcome.response.quantiles.iter_mut().for_each(|quantile| quantile.standing = Standing::Rough);
    assert_eq!(verdict(&outcome, &method), vec![]);
}

#[test]
fn without_a_rate_no_run_length_is_promised() {
    let (mut outcome, _) = quiet();
    outcome.answered_per_s = Some(0.0);
    let Some(Warning::TooFewForQuantile { run_for_ns, .. }) = too_few(&outcome) else { panic!("too few") };
    assert_eq!(run_for_ns, None);
}

#[test]
fn correlation_is_told_below_half() {
    let trips = autoregressive(&mut fastrand::Rng::with_seed(2), 20_000, 0.9);
    let (mut outcome, method) = told(&trips, &Asked { stamps: Some(false), ..Asked::default() });
    let found = verdict(&outcome, &method);
    assert!(
        found
            .iter()
            .any(|warning| matches!(warning, Warning::Correlated { count: 20_000, effective } if *effective < 2_000.0)),
        "{found:?}"
    );
    outcome.response.effective_sample_size = Some(10_000.0);
    assert_eq!(correlated(&outcome), None);
    outcome.response.effective_sample_size = None;
    assert_eq!(correlated(&outcome), None);
}

pub(super) fn exchange(method: &mut Method) -> &mut Exchange {
    match &mut method.traffic {
        Traffic::Exchange(exchange) => exchange,
        other => panic!("{other} is no exchange"),
    }
}

/// An open loop at 1000/s whose n-th request was sent `late(n)` behind and took `service`.
pub(super) fn open(count: u64, late: impl Fn(u64) -> u64, service: Nanos, cap: u32) -> (Outcome, Method) {
    let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(1_000).unwrap() });
    let stop = Stop { after_ns: Some(Nanos::secs(2)), ..Stop::default() };
    let mut method = Asked { schedule, stop, stamps: Some(false), ..Asked::default() }.resolve().unwrap();
    exchange(&mut method).window = Window::Open { cap };
    let mut recorder = Recorder::new(LoopKind::Open, 100_000);
    for n in 0..count {
        let due = Instant(n * 1_000_000);
        let sent = due.after(Nanos(late(n)));
        recorder.answered_as_scheduled(due, sent, sent.after(service));
    }
    let recording = recorder.finish(Instant(2_000_000_000));
    (summarise(&recording, &method, Extra::default()), method)
}

#[test]
fn a_generator_too_slow_for_its_rate_is_told_as_such() {
    let (outcome, method) = open(1_000, |n| n * 1_000_000, Nanos::micros(50), 100);
    let [
        Warning::RateNotAchieved {
            offered_per_s,
            sent_per_s,
            held_back_by_window,
            held_back_by_socket,
            in_turn: false,
        },
        Warning::BehindSchedule { share },
    ] = rate(&outcome, &method)[..]
    else {
        panic!("{:?}", rate(&outcome, &method))
    };
    assert_eq!((offered_per_s, sent_per_s), (1_000.0, 500.0));
    assert_eq!((held_back_by_window, held_back_by_socket), (false, false));
    assert_eq!(share, 0.998);
}

#[test]
fn a_full_window_is_the_peers_side() {
    // 500/s that take 200 ms each: 100 outstanding, the cap.
    let (outcome, method) = open(1_000, |n| n * 1_000_000, Nanos::millis(200), 100);
    let found = rate(&outcome, &method);
    assert!(matches!(found[..], [Warning::RateNotAchieved { held_back_by_window: true, .. }]), "{found:?}");
}

/// Asserts the warning of a load that held due requests back for these times within two seconds.
#[test_case(Nanos::millis(10), Nanos::millis(20), (false, false); "hardly at all")]
#[test_case(Nanos::millis(900), Nanos::ZERO, (true, false); "by the cap")]
#[test_case(Nanos::ZERO, Nanos::millis(900), (false, true); "by the socket")]
fn a_load_tells_what_held_it_back(by_cap: Nanos, by_socket: Nanos, held: (bool, bool)) {
    // Outstanding by Little's law are 100, the cap: a load has measured it, so that says nothing.
    let (mut outcome, method) = open(1_000, |n| n * 1_000_000, Nanos::millis(200), 100);
    let slip = outcome.slip.as_mut().unwrap();
    (slip.held_by_cap_ns, slip.held_by_socket_ns) = (Some(by_cap), Some(by_socket));
    let found = rate(&outcome, &method);
    let Some(Warning::RateNotAchieved { held_back_by_window, held_back_by_socket, .. }) = found.first() else {
        panic!("{found:?}")
    };
    assert_eq!((*held_back_by_window, *held_back_by_socket), held);
    assert_eq!(found.len() > 1, held == (false, false), "behind schedule by ourselves");
}

#[test_case(20, false; "one in a hundred is not told")]
#[test_case(21, true; "more is")]
fn requests_behind_schedule(behind: u64, told: bool) {
    let (outcome, method) = open(2_000, |n| if n < behind { 1_000_001 } else { 900 }, Nanos::micros(50), 100);
    let share = behind as f64 / 2_000.0;
    assert_eq!(rate(&outcome, &method), if told { vec![Warning::BehindSchedule { share }] } else { vec![] });
}

#[test]
fn an_open_loop_on_time_is_not_told() {
    let (outcome, method) = open(2_000, |_| 900, Nanos::micros(50), 100);
    assert_eq!(rate(&outcome, &method), vec![]);
    let (closed, method) = quiet();
    assert_eq!(rate(&closed, &method), vec![]);
}

#[test]
fn clocks_that_stepped_are_told() {
    let (mut outcome, _) = quiet();
    outcome.split = Some(Split::default());
    assert_eq!(clocks(&outcome).count(), 0);
    outcome.counts.clock_steps = 2;
    outcome.split = Some(Split { clock_stepped: true, ..Split::default() });
    assert_eq!(clocks(&outcome).collect::<Vec<_>>(), [Warning::ClockStepped { count: 2 }, Warning::SystemClockStepped]);
}

#[test]
fn the_machine_of_a_reflector_of_our_own_is_judged_once() {
    let disturbance = Disturbance { steal_share: Some(0.2), ..Disturbance::default() };
    let machine = Environment { disturbance: Some(disturbance), ..environment() };
    let (outcome, method) = quiet();
    let ends = |own_reflector| {
        let context = Context { own_reflector, ..Context::default() };
        let warnings = judge(&outcome, &method, Some(&machine), Some(&machine), &context);
        warnings.iter().filter(|warning| matches!(warning, Warning::Disturbed { .. })).count()
    };
    assert_eq!((ends(true), ends(false)), (1, 2));
}

#[test]
fn disturbance_is_told_beyond_its_thresholds_and_by_its_end() {
    let calm = environment();
    assert_eq!(disturbed("our", &calm, true), None, "at the threshold");
    let with = |disturbance| Environment { disturbance: Some(disturbance), ..environment() };
    let by = |disturbance| match disturbed("the peer's", &with(disturbance), true) {
        Some(Warning::Disturbed { end, by, .. }) if end == "the peer's" => by,
        other => panic!("{other:?}"),
    };
    let none = Disturbance::default();
    assert_eq!(by(Disturbance { run_queue_share: Some(0.042), ..none }), ["run-queue delay 4.2 %"]);
    assert_eq!(by(Disturbance { cpu_pressure_share: Some(0.11), ..none }), ["CPU pressure 11.0 %"]);
    assert_eq!(
        by(Disturbance { steal_share: Some(0.02), run_queue_share: Some(0.5), ..none }),
        ["run-queue delay 50.0 %", "steal 2.0 %"]
    );
    assert_eq!(disturbed("our", &with(none), true), None, "what was not read is not judged");
    assert_eq!(disturbed("our", &Environment::default(), true), None);
}

#[test_case(Steady::Drifting { shift_ns: -5 }, Some(Warning::NotSteady { shift_ns: Some(-5) }); "drifting")]
#[test_case(Steady::NotFound, Some(Warning::NotSteady { shift_ns: None }); "not found")]
#[test_case(Steady::Settled { transient: 40 }, None; "settled")]
#[test_case(Steady::TooShort, None; "too short to tell")]
fn unsteadiness(steady: Steady, warning: impl Into<Option<Warning>>) {
    assert_eq!(not_steady(&steady), warning.into());
}

#[test]
fn a_drifting_run_is_told_from_end_to_end() {
    let mut trips = latencies(&mut fastrand::Rng::with_seed(3), 6_000);
    trips.iter_mut().enumerate().for_each(|(i, trip)| *trip += i as u64 * 3);
    let (outcome, method) = told(&trips, &Asked { stamps: Some(false), ..Asked::default() });
    let found = verdict(&outcome, &method);
    assert!(
        found.iter().any(|warning| matches!(warning, Warning::NotSteady { shift_ns: Some(10_000..15_000) })),
        "{found:?}"
    );
}

#[test_case(0.5, Some(0.5), false; "met")]
#[test_case(0.5, Some(0.000_1), true; "not that narrow")]
#[test_case(0.99, None, false; "printed")]
#[test_case(0.999_99, None, true; "not printed")]
fn until_a_quantile_is_known(quantile: f64, within: Option<f64>, told_so: bool) {
    let stop = Stop { settled: Some(Settled { quantile, within }), ..Stop::default() };
    let trips = latencies(&mut fastrand::Rng::with_seed(4), 5_000);
    let (outcome, method) = told(&trips, &Asked { stop, ..Asked::default() });
    let found = not_settled(&outcome, &method);
    assert_eq!(found.is_some(), told_so, "{found:?}");
    if let Some(Warning::NotSettled { q, reached: Some(reached) }) = found {
        assert!(q == quantile && reached > within.unwrap());
    }
    let (outcome, method) = quiet();
    assert_eq!(not_settled(&outcome, &method), None, "nobody asked");
}

#[test]
fn one_cpu_for_both_ends_is_told() {
    let (_, mut method) = quiet();
    let (near, far) = (environment(), Environment { host: Some("far".into()), ..environment() });
    let own = Context { own_reflector: true, ..Context::default() };
    let none = Context::default();
    let told = |method: &Method, ours: Option<&Environment>, theirs: Option<&Environment>, context: &Context| {
        one_cpu(method, Ends::of(ours, theirs, context))
    };
    assert!(!told(&method, Some(&near), Some(&far), &none));
    assert!(!told(&method, None, None, &own));
    let single = Environment { cpus_allowed: Some(1), ..environment() };
    assert!(told(&method, Some(&single), None, &own));
    assert!(!told(&method, Some(&near), Some(&single), &none), "one at the peer alone is its business");
    assert!(!told(&method, Some(&single), Some(&far), &none), "one here does not wait for a peer elsewhere");
    let confined = |cpu| Environment { only_cpu: Some(cpu), ..near.clone() };
    assert!(told(&method, Some(&confined(1)), Some(&confined(1)), &none), "both processes may run on CPU 1 alone");
    assert!(!told(&method, Some(&confined(1)), Some(&confined(0)), &none));
    assert!(!told(&method, Some(&confined(1)), Some(&near), &none), "the peer has others");
    method.spread.cpus = vec![1];
    assert!(told(&method, Some(&near), Some(&confined(1)), &none), "pinned to the peer's only one");
    method.spread.peer_cpus = vec![1];
    assert!(told(&method, Some(&near), Some(&near), &none));
    assert!(!told(&method, Some(&near), Some(&far), &none), "the same number on two machines");
    let nameless = Environment { host: Some("localhost".into()), ..environment() };
    assert!(!told(&method, Some(&nameless), Some(&nameless), &none), "a name that many have");
    method.spread.peer_cpus = vec![0];
    assert!(!told(&method, Some(&near), Some(&near), &none));
}

#[test]
fn a_governor_that_saves_power_is_told_by_its_end() {
    const DRIVER: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver";
    let (_, mut method) = quiet();
    let mut slow = Environment { governors: vec!["performance".into(), "powersave".into()], ..environment() };
    let told = |method: &Method, end: &Environment| {
        let all = power_saving(method, Ends::of(Some(end), None, &Context::default()));
        all.into_iter().map(|one| matches!(one, Warning::PowerSavingGovernor { lowest: true, .. })).collect::<Vec<_>>()
    };
    assert_eq!(told(&method, &slow), [false]);
    assert_eq!(told(&method, &environment()), [] as [bool; 0]);
    method.waiting = Waiting::Spin;
    assert_eq!(told(&method, &slow), [] as [bool; 0], "no CPU idles at our end");
    slow.settings.insert(DRIVER.into(), "acpi-cpufreq".into());
    assert_eq!(told(&method, &slow), [true], "the lowest frequency whatever runs");
    slow.settings.insert(DRIVER.into(), "intel_pstate".into());
    assert_eq!(told(&method, &slow), [] as [bool; 0]);
}

#[test]
fn what_a_group_keeps_from_running_is_no_disturbance_beside() {
    let disturbance = Disturbance {
        watched_ns: Nanos::secs(1),
        run_queue_share: Some(0.5),
        steal_share: Some(0.02),
        ..Disturbance::default()
    };
    let counters = [("cgroup.throttled_us".to_owned(), 1_001)].into();
    let machine = Environment { disturbance: Some(disturbance), counters, ..environment() };
    let (outcome, method) = quiet();
    let found = judge(&outcome, &method, Some(&machine), None, &Context::default());
    let throttled =
        Warning::Throttled { end: "our".into(), throttled_ns: Nanos(1_001_000), watched_ns: Nanos::secs(1) };
    assert_eq!(
        found[..2],
        [
            throttled,
            Warning::Disturbed {
                end: "our".into(),
                by: vec!["steal 2.0 %".into()],
                waited_share: Some(0.54),
                spoils: vec![]
            }
        ]
    );
}

#[test]
fn what_connections_show_on_a_busy_host_may_be_its_own() {
    let disturbance = Disturbance { watched_ns: Nanos::secs(1), steal_share: Some(0.02), ..Disturbance::default() };
    let machine = Environment { disturbance: Some(disturbance), ..environment() };
    let (mut outcome, method) = quiet();
    let mut spoils = |moved: Vec<u32>, losing: Vec<u32>| {
        outcome.flows = Some(Flows { each: Vec::new(), groups: None, least_ns: 0.0, moved, losing });
        let found = judge(&outcome, &method, Some(&machine), None, &Context::default());
        let of = |warning: Warning| if let Warning::Disturbed { spoils, .. } = warning { Some(spoils) } else { None };
        found.into_iter().find_map(of).unwrap()
    };
    assert_eq!(spoils(vec![], vec![]), [] as [String; 0]);
    assert_eq!(spoils(vec![3], vec![1]), ["losing", "moved"]);
}

/// A step of 10 ms for half of a run takes a host that keeps the measurement waiting for a quarter of it; one of 300 µs takes caches alone.
#[test_case(10_000, 0.042, false; "far more than was waited")]
#[test_case(10_000, 0.3, true; "as much as was waited")]
#[test_case(300, 0.042, true; "as little as any busy host brings about")]
fn a_busy_host_is_named_as_a_cause_only_of_what_it_waited_enough_for(micros: u64, waited: f64, is_named: bool) {
    let disturbance =
        Disturbance { watched_ns: Nanos::secs(1), run_queue_share: Some(waited), ..Disturbance::default() };
    let machine = Environment { disturbance: Some(disturbance), ..environment() };
    let (mut outcome, method) = quiet();
    outcome.elapsed_ns = Nanos::secs(10);
    outcome.counts.answered = 1_000;
    let levels = (Nanos::micros(100), Nanos::micros(100 + micros));
    outcome.change = Some(Change {
        from_ns: Nanos::secs(5),
        to_ns: None,
        stretches: 1,
        before_ns: levels.0,
        within_ns: levels.1,
        of_firsts: false,
    });
    let found = judge(&outcome, &method, Some(&machine), None, &Context::default());
    let of = |warning: &Warning| match warning {
        Warning::Disturbed { spoils, .. } => Some(spoils.iter().any(|kind| kind == "changed")),
        _ => None,
    };
    assert_eq!(found.iter().find_map(of), Some(is_named), "{found:?}");
}

/// Of two groups of connections the slower is later by so much: half of its 500 exchanges of a second have to be.
#[test_case(900, 0.06, false; "far more than was waited")]
#[test_case(900, 0.2, true; "as much as was waited")]
#[test_case(150, 0.042, true; "as little as the interrupts of a busy CPU bring about")]
#[test_case(400, 0.042, false; "more than that, and more than was waited")]
fn a_busy_host_parts_connections_as_far_as_it_waited(micros: u64, waited: f64, is_named: bool) {
    let disturbance =
        Disturbance { watched_ns: Nanos::secs(1), run_queue_share: Some(waited), ..Disturbance::default() };
    let machine = Environment { disturbance: Some(disturbance), ..environment() };
    let (mut outcome, method) = quiet();
    outcome.elapsed_ns = Nanos::secs(1);
    outcome.counts.answered = 1_000;
    let group = |flow, shift: Option<u64>| FlowGroup {
        flows: vec![flow],
        time: None,
        shift: shift.map(|shift| Between { value_ns: (shift * 1_000) as f64, low_ns: None, high_ns: None }),
        scheduled: 500,
        answered: 500,
    };
    let groups = Some(vec![group(0, None), group(1, Some(micros))]);
    outcome.flows = Some(Flows { each: Vec::new(), groups, least_ns: 50_000.0, moved: Vec::new(), losing: Vec::new() });
    let found = judge(&outcome, &method, Some(&machine), None, &Context::default());
    let of = |warning: &Warning| match warning {
        Warning::Disturbed { spoils, .. } => Some(spoils.iter().any(|kind| kind == "groups")),
        _ => None,
    };
    // One that brought about nothing, and lengthened no median, is not told at all.
    assert_eq!(found.iter().find_map(of).unwrap_or(false), is_named, "{found:?}");
}

/// A path that answers nothing for a second makes TCP send again on any host, and a host that waits for a tenth of ten seconds makes one exchange after
/// the other wait for 200 ms ten times at the most, if it is known of half of its threads.
#[test_case(5, true, false; "beside dark time")]
#[test_case(5, false, true; "without")]
#[test_case(10, false, true; "as many as it may be")]
#[test_case(11, false, false; "more than it can be")]
fn what_tcp_sends_again_is_put_down_to_a_busy_host_that_waited_for_as_long(again: u64, is_dark: bool, is_named: bool) {
    let disturbance = Disturbance { watched_ns: Nanos::secs(1), run_queue_share: Some(0.1), ..Disturbance::default() };
    let machine = Environment { disturbance: Some(disturbance), ..environment() };
    let (mut outcome, method) = quiet();
    outcome.elapsed_ns = Nanos::secs(10);
    (outcome.counts.scheduled, outcome.counts.answered) = (100, 100);
    outcome.sockets = vec![SocketFacts { retransmitted: Some(again), ..SocketFacts::default() }];
    outcome.dark = is_dark.then(|| Dark {
        spells: 1,
        total_ns: Nanos::secs(1),
        share: 0.1,
        longest_from_ns: Nanos::secs(3),
        longest_to_ns: Nanos::secs(4),
        to_the_end: false,
        unanswered: 9,
        refused_or_not_sent: 0,
        due: None,
    });
    let found = judge(&outcome, &method, Some(&machine), None, &Context::default());
    assert!(found.iter().any(|warning| warning.kind() == "retransmitted"), "{found:?}");
    let of = |warning: &Warning| match warning {
        Warning::Disturbed { spoils, .. } => Some(spoils.iter().any(|kind| kind == "retransmitted")),
        _ => None,
    };
    assert_eq!(found.iter().find_map(of), Some(is_named), "{found:?}");
}

#[test_case(100, 20, Some(100), Some(40); "a part")]
#[test_case(100, 60, Some(100), None; "more than the whole, of the exchanges that were stamped")]
#[test_case(5, 20, None, Some(40); "too few to print a median")]
fn a_wake_up_is_a_part_of_the_number_that_is_printed(
    count: usize,
    each: u64,
    median: Option<u64>,
    waking: Option<u64>,
) {
    let schedule = Some(Schedule::Every { interval_ns: Nanos::millis(10) });
    let (mut outcome, method) = told(&vec![100_000; count], &Asked { schedule, ..Asked::default() });
    let wake_up = Some(Nanos::micros(each));
    outcome.split = Some(Split { samples: 3, wake_up_ns: wake_up, peer_wake_up_ns: wake_up, ..Split::default() });
    let found = verdict(&outcome, &method).into_iter().find_map(|warning| match warning {
        Warning::IdleBetween { median_ns, waking_ns, .. } => Some((median_ns, waking_ns)),
        _ => None,
    });
    assert_eq!(found, Some((median.map(Nanos::micros), waking.map(Nanos::micros))));
}

#[test]
fn icmp_is_told_and_tcp_is_not() {
    let trips = [20_000; 30];
    let (outcome, method) = told(&trips, &Asked { carrier: Some(Carrier::Icmp), ..Asked::default() });
    assert!(verdict(&outcome, &method).contains(&Warning::IcmpIsNotTheApplication));
    let (outcome, method) = told(&trips, &Asked::default());
    assert!(!verdict(&outcome, &method).contains(&Warning::IcmpIsNotTheApplication));
}

#[test]
fn a_batch_that_was_refused_is_told_once() {
    let (mut outcome, method) = quiet();
    let batched = |got, refused: Option<&str>| SocketFacts {
        batched: Some(Batched {
            asked: BatchBy::Segments,
            got,
            refused: refused.map(str::to_owned),
            calls: 9,
            messages: 90,
            cut_short: 0,
        }),
        ..SocketFacts::default()
    };
    outcome.sockets = vec![SocketFacts::default(), batched(Some(BatchBy::Segments), None)];
    let told = |outcome: &Outcome| {
        let all = verdict(outcome, &method);
        all.into_iter().filter(|warning| matches!(warning, Warning::NotBatched { .. })).collect::<Vec<_>>()
    };
    assert_eq!(told(&outcome), []);
    outcome.sockets.extend([batched(None, Some("too long")), batched(None, Some("too long"))]);
    let wanted = Warning::NotBatched { asked: BatchBy::Segments, reason: "too long".into() };
    assert_eq!(told(&outcome), [wanted]);
}

#[test]
fn what_a_socket_got_less_is_told() {
    let (_, mut method) = quiet();
    let socket = SocketFacts {
        send_buffer_bytes: Some(Bytes(425_984)),
        receive_buffer_bytes: Some(Bytes(131_072)),
        congestion: Some("reno".into()),
        tos: Some(0),
        ..SocketFacts::default()
    };
    let sockets = [socket];
    assert_eq!(got_less(&sockets, &method), vec![], "nothing was asked");
    method.socket.send_buffer_bytes = Some(Bytes(1 << 20));
    method.socket.receive_buffer_bytes = Some(Bytes(65_536));
    method.socket.congestion = Some("cubic".into());
    method.socket.tos = Some(0);
    let less = |option: &str, asked: &str, got: &str| Warning::GotLess {
        option: option.into(),
        asked: asked.into(),
        got: got.into(),
    };
    let wanted = vec![less("send buffer", "1 MiB", "208 KiB"), less("congestion control", "cubic", "reno")];
    assert_eq!(got_less(&sockets, &method), wanted);
    method.socket.tos = Some(16);
    assert!(got_less(&sockets, &method).contains(&less("type of service", "16", "0")));
}

#[test]
fn stamps_that_were_asked_for_and_did_not_come_are_told() {
    let (mut outcome, quiet) = quiet();
    let mut method = Asked::default().resolve().unwrap();
    let reason = |outcome: &Outcome, method: &Method| match no_stamps(outcome, method) {
        Some(Warning::NoStamps { reason }) => Some(reason),
        _ => None,
    };
    assert_eq!(reason(&outcome, &quiet), None, "nobody asked");
    assert_eq!(reason(&outcome, &method).as_deref(), Some("the kernel delivered none"));
    outcome.split = Some(Split { missing: vec!["tx sched".into(), "rx".into()], ..Split::default() });
    assert_eq!(reason(&outcome, &method).as_deref(), Some("tx sched, rx"));
    outcome.split = Some(Split { samples: 12, missing: vec!["tx sched".into()], ..Split::default() });
    assert_eq!(reason(&outcome, &method), None);
    exchange(&mut method).stamps = None;
    assert_eq!(reason(&outcome, &method), None);
}

#[test]
fn what_happened_around_it_is_told_first() {
    let (outcome, method) = quiet();
    let context = Context {
        own_reflector: true,
        interrupted: true,
        peer_lost: Some("connection reset".into()),
        no_report: Some("no answer within 5 s".into()),
        samples_missing: Some((3, Some("no space left".into()))),
        ..Context::default()
    };
    let found = judge(&outcome, &method, None, None, &context);
    let wanted = [
        Warning::OwnReflector,
        Warning::PeerLost { reason: "connection reset".into() },
        Warning::Interrupted,
        Warning::SamplesIncomplete { missing: 3, reason: Some("no space left".into()) },
    ];
    assert_eq!(found[..4], wanted);
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn a_peer_that_did_not_report_is_told_unless_it_is_lost_altogether() {
    let (outcome, method) = quiet();
    let context = Context { no_report: Some("no answer within 5 s".into()), ..Context::default() };
    let found = judge(&outcome, &method, None, None, &context);
    assert_eq!(found[0], Warning::NoReport { reason: "no answer within 5 s".into() });
}
