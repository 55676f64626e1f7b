//! For each kind of warning a case that provokes it and one, as near to it as may be, that must not.

mod case;

use std::collections::BTreeSet;

use case::{
    Case, again, asking, batched, busy, check, dark, datagrams, detour, each_second, every, half_stalled, held,
    loopback, mean, nagle, on_one_host, rate_changed, resets, restart, silent, socket, stream, throttle, traffic,
    unanswered, until, waits, window,
};

use super::tests::{exchange, open, quiet, told};
use super::*;
use crate::method::{Asked, BatchBy, Carrier, Pattern, Schedule, Stop, default};
use crate::outcome::Rhythm;
use crate::outcome::{SocketFacts, Split, Steady};
use crate::statistics::simulated::autoregressive;
use crate::unit::Rate;
use crate::verdict::kind::tests::kinds;

/// A change that provokes a kind, and one near to it that must not.
type Pair = (&'static str, fn(&mut Case), fn(&mut Case));

const CASES: &[Pair] = &[
    ("own-reflector", |case| case.context.own_reflector = true, |_| {}),
    (
        "same-host",
        on_one_host,
        // A reflector of our own is on this host too: that is told.
        |case| {
            on_one_host(case);
            case.context.own_reflector = true;
        },
    ),
    ("carried-on", |case| case.ours.interface = Some(loopback()), on_one_host),
    ("resets-timed", |case| case.probes = resets(5, 5), |case| case.probes = resets(4, 5)),
    (
        "icmp-is-not-the-application",
        |case| exchange(&mut case.method).carrier = Carrier::Icmp,
        |case| {
            exchange(&mut case.method).carrier = Carrier::Icmp;
            case.outcome.counts.answered = 0;
        },
    ),
    (
        "handshake-is-not-the-application",
        |case| case.method.traffic = traffic(Carrier::TcpConnect, Pattern::Exchange),
        |case| {
            exchange(&mut case.method).carrier = Carrier::TcpSyn;
            case.probes = resets(9, 0);
        },
    ),
    ("peer-lost", |case| case.context.peer_lost = Some("reset".into()), |_| {}),
    (
        "no-report",
        |case| case.context.no_report = Some("silent".into()),
        |case| (case.context.no_report, case.context.peer_lost) = (Some("silent".into()), Some("reset".into())),
    ),
    ("server-limited", |case| case.context.server_limited = Some(Nanos::secs(1)), |_| {}),
    ("interrupted", |case| case.context.interrupted = true, |_| {}),
    ("samples-incomplete", |case| case.context.samples_missing = Some((1, None)), |_| {}),
    (
        "wire-contradicts",
        |case| case.wire.checks = vec![check(Verdict::Contradicted)],
        |case| {
            case.wire.checks = vec![check(Verdict::NotEstablished)];
        },
    ),
    ("clock-stepped", |case| case.outcome.counts.clock_steps = 1, |_| {}),
    (
        "system-clock-stepped",
        |case| case.outcome.split = Some(Split { clock_stepped: true, ..Split::default() }),
        |case| case.outcome.split = Some(Split { samples: 9, ..Split::default() }),
    ),
    ("dark", |case| case.outcome.dark = Some(dark()), |case| case.outcome.loss.longest_period = 9),
    ("send-failed", |case| case.outcome.counts.send_failed = 1, |_| {}),
    ("refused", |case| case.outcome.counts.refused = 1, |case| case.outcome.counts.corrupt = 1),
    ("corrupt", |case| case.outcome.counts.corrupt = 1, |case| case.outcome.counts.refused = 1),
    (
        "unasked",
        |case| (case.method.traffic, case.outcome.counts.strays) = (asking(), 1),
        |case| case.outcome.counts.strays = 1,
    ),
    ("retransmitted", |case| again(case, 2), |case| again(case, 1)),
    ("size-unanswered", |case| unanswered(case, 509), |case| unanswered(case, 508)),
    ("lost", |case| case.outcome.counts.late = 1, |case| case.outcome.counts.duplicated = 1),
    (
        "altered",
        |case| (case.outcome.counts.lost, case.outcome.counts.strays) = (2, 1),
        |case| (case.outcome.counts.lost, case.outcome.counts.strays) = (3, 1),
    ),
    (
        "lost-on-the-way",
        |case| (case.method.traffic, case.outcome.loss.forward) = (traffic(Carrier::Udp, Pattern::Load), Some(1)),
        |case| (case.method.traffic, case.outcome.loss.forward) = (traffic(Carrier::Udp, Pattern::Load), Some(-1)),
    ),
    (
        "damaged",
        |case| case.theirs.counters = [("Udp.InCsumErrors".to_owned(), 3)].into(),
        |case| case.theirs.counters = [("Udp.InCsumErrors".to_owned(), 2), ("Udp.RcvbufErrors".to_owned(), 9)].into(),
    ),
    ("rebound", |case| case.outcome.loss.peer_elsewhere = Some(1), |case| case.outcome.loss.forward = Some(1)),
    ("ticks-missed", |case| case.outcome.counts.ticks_missed = 1, |_| {}),
    (
        "rate-not-achieved",
        |case| (case.outcome, case.method) = open(1_000, |n| n * 1_000_000, Nanos::micros(50), 100),
        |case| (case.outcome, case.method) = open(2_000, |_| 900, Nanos::micros(50), 100),
    ),
    (
        "behind-schedule",
        |case| {
            (case.outcome, case.method) = open(2_000, |n| if n < 21 { 1_000_001 } else { 0 }, Nanos::micros(50), 100);
        },
        // A rate that was not achieved implies lateness: one warning is enough.
        |case| (case.outcome, case.method) = open(1_000, |n| n * 1_000_000, Nanos::micros(50), 100),
    ),
    ("throttled", |case| throttle(case, 1_001), |case| throttle(case, 1_000)),
    (
        "disturbed",
        |case| case.theirs.disturbance = Some(waits(0.011)),
        |case| case.theirs.disturbance = Some(waits(0.01)),
    ),
    (
        "one-cpu",
        |case| {
            on_one_host(case);
            case.ours.cpus_online = Some(1);
        },
        |case| case.ours.cpus_online = Some(1),
    ),
    (
        "power-saving-governor",
        |case| case.theirs.governors = vec!["schedutil".into()],
        |case| {
            (case.theirs.governors, case.streams) = (vec!["schedutil".into()], true);
            case.method.traffic = traffic(Carrier::Tcp, Pattern::Stream);
        },
    ),
    (
        "slow-clock-source",
        |case| case.theirs.clock_source = Some("hpet".into()),
        |case| case.theirs.clock_source = Some("kvm-clock".into()),
    ),
    (
        "idle-between",
        |case| case.method.schedule = every(Nanos(1_000_001)),
        |case| case.method.schedule = every(Nanos::millis(1)),
    ),
    ("rate-is-not-round-trip", |case| window(case, 2), |case| window(case, 1)),
    (
        "half-round-trip",
        |case| case.halves = true,
        |case| {
            (case.halves, case.outcome.response.count) = (true, 0);
        },
    ),
    ("mean-misleads", |case| mean(case, 1.5), |case| mean(case, 1.49)),
    ("stalled", |case| case.outcome.stalls = Some(half_stalled()), |case| case.outcome.stalls = None),
    (
        "rhythm",
        |case| {
            case.method.schedule = every(Nanos::micros(200));
            case.outcome.rhythm = Some(Rhythm { lag: 5, correlation: 0.79 });
        },
        |case| case.method.schedule = every(Nanos::micros(200)),
    ),
    ("changed", |case| case.outcome.change = Some(detour()), |case| case.outcome.change = None),
    ("periodic", |case| case.outcome.periodic = Some(each_second()), |case| case.outcome.periodic = None),
    ("one-stream-one-cpu", |case| busy(case, 0.9), |case| busy(case, 0.89)),
    (
        "start-included",
        |case| stream(case, &[200, 900, 1_000, 1_000, 1_000, 1_000, 1_000, 900]),
        |case| stream(case, &[800, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 900]),
    ),
    ("silent", |case| silent(case, 0.01), |case| silent(case, 0.009)),
    (
        "overtaken",
        |case| {
            (case.outcome, case.method) = open(2_000, |_| 0, Nanos::micros(50), 100);
            (case.outcome.steady, case.outcome.counts.late) = (Steady::Drifting { shift_ns: 9 }, 3);
            case.outcome.answered_per_s = Some(940.0);
        },
        |case| {
            (case.outcome, case.method) = open(2_000, |_| 0, Nanos::micros(50), 100);
            (case.outcome.steady, case.outcome.counts.late) = (Steady::Drifting { shift_ns: 9 }, 3);
            case.outcome.answered_per_s = Some(960.0);
        },
    ),
    ("rate-changed", |case| rate_changed(case, true), |case| rate_changed(case, false)),
    (
        "not-steady",
        |case| case.outcome.steady = Steady::Drifting { shift_ns: 9 },
        |case| case.outcome.steady = Steady::TooShort,
    ),
    ("not-settled", |case| until(case, 0.000_1), |case| until(case, 0.5)),
    (
        "correlated",
        |case| case.outcome.response.effective_sample_size = Some(5_999.0),
        |case| case.outcome.response.effective_sample_size = Some(6_000.0),
    ),
    ("too-few-for-quantile", |case| case.outcome = quiet().0, |_| {}),
    ("too-short", |case| stream(case, &[1_000; 5]), |case| stream(case, &[1_000; 6])),
    (
        "coarse-clock",
        |case| case.context.clock_step_ns = Some(Nanos::micros(6)),
        |case| {
            case.context.clock_step_ns = Some(Nanos::micros(6));
            case.ours.clock_source = Some("jiffies".into());
        },
    ),
    ("held-replies", |case| held(case, 5), |case| held(case, 4)),
    ("nagle", |case| nagle(case, 2), |case| nagle(case, 1)),
    ("fragmented", |case| datagrams(case, 1_473), |case| datagrams(case, 1_472)),
    ("idle-restart", |case| restart(case, 14_481, "1"), |case| restart(case, 14_480, "1")),
    (
        "got-less",
        |case| case.method.socket.congestion = Some("bbr".into()),
        |case| case.method.socket.congestion = None,
    ),
    (
        "not-batched",
        |case| case.outcome.sockets = vec![batched(None)],
        |case| case.outcome.sockets = vec![batched(Some(BatchBy::Segments))],
    ),
    ("no-stamps", |case| exchange(&mut case.method).stamps = Some(default::STAMPS), |_| {}),
];

#[test]
fn each_kind_has_a_case_that_provokes_it_and_one_that_must_not() {
    let all = kinds();
    let cases: BTreeSet<String> = CASES.iter().map(|(kind, ..)| (*kind).to_owned()).collect();
    assert_eq!(cases, all);
    assert_eq!(CASES.len(), all.len(), "each once");
    assert_eq!(Case::new().kinds(), [] as [&str; 0], "the case they are made of tells nothing");
    for (kind, provoke, silent) in CASES {
        let of = |change: &fn(&mut Case)| {
            let mut case = Case::new();
            case.outcome.sockets = vec![SocketFacts { congestion: Some("cubic".into()), ..socket() }];
            change(&mut case);
            case.kinds()
        };
        assert!(of(provoke).contains(kind), "{kind} is not told: {:?}", of(provoke));
        assert!(!of(silent).contains(kind), "{kind} is told: {:?}", of(silent));
    }
}

#[test]
fn a_stream_alone_has_nothing_told() {
    let mut case = Case::new();
    case.streams = true;
    assert_eq!(case.kinds(), [] as [&str; 0]);
}

/// Near the thresholds that have more than one side.
#[test]
fn what_else_keeps_a_kind_from_being_told() {
    let kinds = |change: &dyn Fn(&mut Case)| {
        let mut case = Case::new();
        change(&mut case);
        case.kinds()
    };
    let none = [] as [&str; 0];
    // More streams, a group that may not run more, one CPU, and a stream each way.
    assert_eq!(
        kinds(&|case| {
            busy(case, 1.0);
            case.method.spread.connections = 2;
        }),
        none
    );
    assert_eq!(
        kinds(&|case| {
            busy(case, 1.0);
            case.ours.cpus_allowed = Some(1);
        }),
        none
    );
    assert_eq!(
        kinds(&|case| {
            busy(case, 1.0);
            case.stream.detail.as_mut().unwrap().sender.throttled_share = Some(0.1);
            throttle(case, 100_000);
        }),
        none,
        "what limits says it"
    );
    // Only its own end.
    assert_eq!(kinds(&|case| restart(case, 20_000, "0")), ["idle-between"]);
    assert_eq!(
        kinds(&|case| {
            restart(case, 20_000, "1");
            case.method.traffic = traffic(Carrier::Tcp, Pattern::ConnectExchange);
        }),
        ["idle-between"]
    );
    // A long path hides the wake-up; a rate that is not known is nothing.
    assert_eq!(
        kinds(&|case| {
            case.method.schedule = every(Nanos::secs(1));
            case.outcome.response.quantiles[0].value_ns = Some(Nanos(1_000_001));
            case.outcome.response.mean_ns = Some(1_000_001.0);
        }),
        none
    );
    assert_eq!(
        kinds(&|case| {
            window(case, 8);
            case.outcome.answered_per_s = None;
        }),
        none
    );
    // IPv6 has a longer head, and an address that is not known none.
    let six = |case: &mut Case| case.context.target = Some("2001:db8::2".parse().unwrap());
    assert_eq!(
        kinds(&|case| {
            datagrams(case, 1_453);
            six(case);
        }),
        ["fragmented"]
    );
    assert_eq!(
        kinds(&|case| {
            datagrams(case, 1_452);
            six(case);
        }),
        none
    );
    assert_eq!(
        kinds(&|case| {
            datagrams(case, 9_000);
            case.context.target = None;
        }),
        none
    );
    // Lost handshakes have no latency.
    assert_eq!(kinds(&|case| (case.ours.interface, case.context.target) = (Some(loopback()), None)), none);
}

#[test]
fn drift_explains_correlation_and_disturbance_the_mean() {
    let mut case = Case::new();
    mean(&mut case, 2.0);
    case.outcome.response.effective_sample_size = Some(10.0);
    case.outcome.steady = Steady::NotFound;
    case.ours.disturbance = Some(waits(0.3));
    assert_eq!(case.kinds(), ["disturbed", "not-steady"]);
}

#[test]
fn a_stream_that_never_was_steady_is_told() {
    let mut case = Case::new();
    stream(&mut case, &[1_000, 10, 1_000, 10, 1_000, 10, 1_000, 10]);
    assert_eq!(case.kinds(), ["not-steady"]);
    stream(&mut case, &[0; 8]);
    assert_eq!(case.kinds(), [] as [&str; 0], "nothing went");
    case.stream.intervals.clear();
    case.stream.ours.failed_calls = 3;
    assert_eq!(case.kinds(), ["send-failed"]);
}

#[test]
fn a_whole_run_is_judged_by_what_its_times_are() {
    let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(500).unwrap() });
    let stop = Stop { count: Some(2_000), ..Stop::default() };
    let asked = Asked { schedule, stop, stamps: Some(false), ..Asked::default() };
    let mut trips = autoregressive(&mut fastrand::Rng::with_seed(5), 2_000, 0.0);
    trips.iter_mut().step_by(4).for_each(|trip| *trip += 90_000);
    let (outcome, method) = told(&trips, &asked);
    let found = judge(&outcome, &method, None, None, &Context::default());
    let rhythm = found.iter().find(|warning| matches!(warning, Warning::Rhythm { lag: 4, .. }));
    assert!(matches!(rhythm, Some(Warning::Rhythm { period_ns: Nanos(8_000_000), .. })), "{found:?}");
}
