//! Decides which warnings a result carries. Every threshold stands here, each from method.md's rules on disturbance.

mod fates;

use crate::environment::{Disturbance, Environment};
use crate::method::{Carrier, Method, Window};
use crate::outcome::{Outcome, Quantile, SocketFacts, Standing, Steady};
use crate::statistics::quantile::needed;
use crate::throughput::Throughput;
use crate::unit::{Bytes, Nanos};
use crate::verdict::Warning;
use crate::wire::finding::{Verdict, Wire};

/// More than this share of a run spent waiting for a CPU is a disturbance.
pub const RUN_QUEUE: f64 = 0.01;
/// More than this share of the time under CPU pressure ("some") is a disturbance.
pub const CPU_PRESSURE: f64 = 0.10;
/// More than this share of CPU time given to others by the hypervisor is a disturbance.
pub const STEAL: f64 = 0.01;
/// More than this share of requests behind schedule is told.
pub const BEHIND: f64 = 0.01;
/// An effective sample size below this share of the sample is told.
pub const CORRELATED: f64 = 0.5;
/// What is due being held back for more than this share of a load's time is what kept its rate from being achieved.
const HELD: f64 = 0.1;
/// Outstanding requests from this share of the cap up (by Little's law) mean that the cap held requests back.
const AT_CAP: f64 = 0.9;
/// Governors that slow an idle CPU down.
const POWER_SAVING: [&str; 4] = ["powersave", "conservative", "ondemand", "schedutil"];

/// What happened around a measurement that its outcome does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// Whether the peer was a reflector of this very process.
    pub own_reflector: bool,
    /// Whether the run was ended early by its user.
    pub interrupted: bool,
    /// Why the peer stopped in the middle, where it did.
    pub peer_lost: Option<String>,
    /// Why the peer did not report at the end, where it was to.
    pub no_report: Option<String>,
    /// Samples missing from the file they were asked into, and why where it is known.
    pub samples_missing: Option<(u64, Option<String>)>,
}

/// All that a reader of `outcome` must be told, what weighs most first. `ours` and `theirs` are the ends' environments,
/// as far as they were read; what was not read is not judged.
pub fn judge(
    outcome: &Outcome,
    method: &Method,
    ours: Option<&Environment>,
    theirs: Option<&Environment>,
    context: &Context,
) -> Vec<Warning> {
    // A reflector of our own runs in this very process: its machine is ours, and is judged once.
    let theirs = theirs.filter(|_| !context.own_reflector);
    let mut warnings = Vec::new();
    warnings.extend(around(context));
    warnings.extend(clocks(outcome));
    warnings.extend(fates::fates(outcome, method, ours));
    warnings.extend(fates::lost_on_the_way(outcome, method, theirs.or(ours.filter(|_| context.own_reflector))));
    warnings.extend(rate(outcome, method));
    warnings.extend([("our", ours), ("the peer's", theirs)].into_iter().filter_map(|(end, at)| disturbed(end, at?)));
    warnings.extend(not_steady(&outcome.steady));
    warnings.extend(not_settled(outcome, method));
    warnings.extend(correlated(outcome));
    warnings.extend(too_few(outcome));
    warnings.extend(one_cpu(method, ours, theirs, context).then_some(Warning::OneCpu));
    warnings.extend([("our", ours), ("the peer's", theirs)].into_iter().flat_map(|(end, at)| power_saving(end, at)));
    warnings.extend((method.carrier == Carrier::Icmp).then_some(Warning::IcmpIsNotTheApplication));
    warnings.extend(got_less(&outcome.sockets, method));
    warnings.extend(not_batched(&outcome.sockets));
    warnings.extend(no_stamps(outcome, method));
    warnings
}

/// What a reader of a stream must be told: of the run and both ends, for it has no exchanges to be judged by.
pub fn judge_stream(
    stream: &Throughput,
    method: &Method,
    ours: Option<&Environment>,
    theirs: Option<&Environment>,
    context: &Context,
) -> Vec<Warning> {
    let theirs = theirs.filter(|_| !context.own_reflector);
    let ends = [("our", ours), ("the peer's", theirs)];
    let mut warnings: Vec<Warning> = around(context).collect();
    warnings.extend(ends.into_iter().filter_map(|(end, at)| disturbed(end, at?)));
    warnings.extend(one_cpu(method, ours, theirs, context).then_some(Warning::OneCpu));
    warnings.extend(ends.into_iter().flat_map(|(end, at)| power_saving(end, at)));
    warnings.extend(got_less(&stream.sockets, method));
    warnings
}

/// What the wire contradicts.
pub fn contradictions(wire: &Wire) -> Vec<Warning> {
    let contradicted = wire.checks.iter().filter(|check| check.verdict == Verdict::Contradicted);
    contradicted
        .map(|check| Warning::WireContradicts {
            subject: check.subject,
            counted: check.counted.unwrap_or_default(),
            seen: check.seen.unwrap_or_default(),
            interface: wire.interface.clone(),
            reason: check.reason.clone(),
        })
        .collect()
}

fn around(context: &Context) -> impl Iterator<Item = Warning> {
    let lost = context.peer_lost.clone().map(|reason| Warning::PeerLost { reason });
    // A peer that is lost does not report either: that is said once.
    let silent = context.no_report.clone().filter(|_| lost.is_none()).map(|reason| Warning::NoReport { reason });
    let interrupted = context.interrupted.then_some(Warning::Interrupted);
    let missing = context.samples_missing.clone();
    let incomplete = missing.map(|(missing, reason)| Warning::SamplesIncomplete { missing, reason });
    let own = context.own_reflector.then_some(Warning::OwnReflector);
    [own, lost, silent, interrupted, incomplete].into_iter().flatten()
}

fn clocks(outcome: &Outcome) -> impl Iterator<Item = Warning> {
    let count = outcome.counts.clock_steps;
    let monotonic = (count > 0).then_some(Warning::ClockStepped { count });
    let stepped = outcome.split.as_ref().is_some_and(|split| split.clock_stepped);
    monotonic.into_iter().chain(stepped.then_some(Warning::SystemClockStepped))
}

fn rate(outcome: &Outcome, method: &Method) -> Vec<Warning> {
    let Some(slip) = &outcome.slip else { return Vec::new() };
    let held_back_by_window = held_back(outcome, method);
    let held_back_by_socket = held_for(slip.held_by_socket_ns, outcome);
    let mut warnings = Vec::new();
    if let (false, Some(offered_per_s), Some(sent_per_s)) =
        (slip.rate_achieved, outcome.offered_per_s, outcome.sent_per_s)
    {
        warnings.push(Warning::RateNotAchieved { offered_per_s, sent_per_s, held_back_by_window, held_back_by_socket });
    }
    if slip.behind_share > BEHIND && !held_back_by_window && !held_back_by_socket {
        warnings.push(Warning::BehindSchedule { share: slip.behind_share });
    }
    warnings
}

/// Whether something due was held back for so long that it counts.
fn held_for(span: Option<Nanos>, outcome: &Outcome) -> bool {
    span.is_some_and(|span| span.as_secs_f64() > HELD * outcome.elapsed_ns.as_secs_f64())
}

/// Whether the cap on outstanding requests was reached. A load has measured it; elsewhere their mean number is rate times
/// mean service time (Little).
fn held_back(outcome: &Outcome, method: &Method) -> bool {
    if let Some(span) = outcome.slip.as_ref().and_then(|slip| slip.held_by_cap_ns) {
        return held_for(Some(span), outcome);
    }
    let Window::Open { cap } = method.window else { return false };
    let all = f64::from(cap) * f64::from(method.spread.connections.max(1));
    let service = outcome.service.as_ref().and_then(|service| service.mean_ns);
    let outstanding = outcome.answered_per_s.zip(service).map(|(rate, service_ns)| rate * service_ns / 1e9);
    outstanding.is_some_and(|outstanding| outstanding >= AT_CAP * all)
}

fn disturbed(end: &str, environment: &Environment) -> Option<Warning> {
    let Disturbance { run_queue_share, cpu_pressure_share, steal_share, .. } = environment.disturbance?;
    let judged = [
        ("run-queue delay", run_queue_share, RUN_QUEUE),
        ("CPU pressure", cpu_pressure_share, CPU_PRESSURE),
        ("steal", steal_share, STEAL),
    ];
    let beyond = judged.into_iter().filter_map(|(name, share, limit)| {
        let share = share.filter(|&share| share > limit)?;
        Some(format!("{name} {:.1} %", share * 100.0))
    });
    let by: Vec<String> = beyond.collect();
    (!by.is_empty()).then(|| Warning::Disturbed { end: end.to_owned(), by })
}

fn not_steady(steady: &Steady) -> Option<Warning> {
    match *steady {
        Steady::Drifting { shift_ns } => Some(Warning::NotSteady { shift_ns: Some(shift_ns) }),
        Steady::NotFound => Some(Warning::NotSteady { shift_ns: None }),
        Steady::Settled { .. } | Steady::TooShort => None,
    }
}

fn not_settled(outcome: &Outcome, method: &Method) -> Option<Warning> {
    let asked = method.stop.settled?;
    let found = outcome.response.quantiles.iter().find(|quantile| quantile.q == asked.quantile);
    let reached = found.and_then(half_width);
    let settled = match asked.within {
        Some(within) => reached.is_some_and(|reached| reached <= within),
        None => found.is_some_and(|quantile| quantile.standing != Standing::TooFew),
    };
    (!settled).then_some(Warning::NotSettled { q: asked.quantile, reached })
}

fn half_width(quantile: &Quantile) -> Option<f64> {
    let (Nanos(low), Nanos(value), Nanos(high)) = (quantile.low_ns?, quantile.value_ns?, quantile.high_ns?);
    (value > 0).then(|| high.saturating_sub(low) as f64 / 2.0 / value as f64)
}

fn correlated(outcome: &Outcome) -> Option<Warning> {
    let (effective, count) = (outcome.response.effective_sample_size?, outcome.response.examined?);
    (effective < CORRELATED * count as f64).then_some(Warning::Correlated { count, effective })
}

/// The first quantile that could not be printed: the one that a longer run would show next. Where nothing answers, none
/// would.
fn too_few(outcome: &Outcome) -> Option<Warning> {
    let response = &outcome.response;
    if response.count == 0 {
        return None;
    }
    let first = response.quantiles.iter().find(|quantile| quantile.standing == Standing::TooFew)?;
    let needed = needed(first.q)?;
    let rate = outcome.answered_per_s.filter(|&rate| rate > 0.0);
    let run_for_ns = rate.map(|rate| Nanos((needed as f64 / rate * 1e9) as u64));
    Some(Warning::TooFewForQuantile { q: first.q, needed, seen: response.count, run_for_ns })
}

fn one_cpu(method: &Method, ours: Option<&Environment>, theirs: Option<&Environment>, context: &Context) -> bool {
    let alone = |environment: &Environment| environment.cpus_allowed == Some(1) || environment.cpus_online == Some(1);
    let host = |environment: Option<&Environment>| environment.and_then(|environment| environment.host.clone());
    let one_host = context.own_reflector || host(ours).is_some() && host(ours) == host(theirs);
    let pinned_together = match (&method.spread.cpus[..], &method.spread.peer_cpus[..]) {
        ([our], [their]) => our == their,
        _ => false,
    };
    ours.is_some_and(alone) || one_host && pinned_together
}

fn power_saving(end: &str, environment: Option<&Environment>) -> Vec<Warning> {
    let governors = environment.map(|environment| &environment.governors[..]).unwrap_or_default();
    let saving = governors.iter().filter(|governor| POWER_SAVING.contains(&governor.as_str()));
    saving.map(|governor| Warning::PowerSavingGovernor { governor: governor.clone(), end: end.to_owned() }).collect()
}

/// What was asked of the sockets and not got; each option once, as the connection with the least has it.
fn got_less(sockets: &[SocketFacts], method: &Method) -> Vec<Warning> {
    let asked = &method.socket;
    let least = |got: fn(&SocketFacts) -> Option<Bytes>| sockets.iter().filter_map(got).min();
    let buffers = [
        ("send buffer", asked.send_buffer_bytes, least(|socket| socket.send_buffer_bytes)),
        ("receive buffer", asked.receive_buffer_bytes, least(|socket| socket.receive_buffer_bytes)),
    ];
    let smaller = buffers.into_iter().filter_map(|(option, asked, got)| {
        // Linux doubles what was asked for, to have room for its own bookkeeping, and says so when it is read back.
        let (asked, got) = (asked?, Bytes(got?.0 / 2));
        (got < asked).then(|| Warning::GotLess {
            option: option.to_owned(),
            asked: asked.to_string(),
            got: got.to_string(),
        })
    });
    let congestion = asked.congestion.as_ref().and_then(|asked| {
        let other = sockets.iter().filter_map(|socket| socket.congestion.as_ref()).find(|got| *got != asked)?;
        Some(Warning::GotLess { option: "congestion control".to_owned(), asked: asked.clone(), got: other.clone() })
    });
    let tos = asked.tos.and_then(|asked| {
        let other = sockets.iter().filter_map(|socket| socket.tos).find(|&got| got != asked)?;
        Some(Warning::GotLess {
            option: "type of service".to_owned(),
            asked: asked.to_string(),
            got: other.to_string(),
        })
    });
    smaller.chain(congestion).chain(tos).collect()
}

/// Once, however many sockets were refused.
fn not_batched(sockets: &[SocketFacts]) -> Option<Warning> {
    let batched = sockets.iter().filter_map(|socket| socket.batched.as_ref()).find(|batched| batched.got.is_none())?;
    let reason = batched.refused.clone().unwrap_or_else(|| "it did not say why".to_owned());
    Some(Warning::NotBatched { asked: batched.asked, reason })
}

fn no_stamps(outcome: &Outcome, method: &Method) -> Option<Warning> {
    method.stamps?;
    // There the kernel stamps each exchange, which has no parts.
    if outcome.one_way.as_ref().is_some_and(|both| both.left_by_kernel.min(both.came_by_kernel) > 0) {
        return None;
    }
    let reason = match &outcome.split {
        Some(split) if split.samples > 0 || split.clock_stepped => return None,
        Some(split) if !split.missing.is_empty() => split.missing.join(", "),
        // A run without answers has nothing to stamp.
        _ if outcome.counts.answered == 0 => return None,
        _ => "the kernel delivered none".to_owned(),
    };
    Some(Warning::NoStamps { reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Asked, BatchBy, Direction, LoopKind, Pattern, Schedule, Settled, Stop};
    use crate::outcome::{Batched, Split};
    use crate::recorder::{Recorder, Recording};
    use crate::statistics::simulated::{autoregressive, latencies};
    use crate::statistics::summary::{Extra, summarise};
    use crate::throughput::Sight;
    use crate::throughput::meter::Meter;
    use crate::unit::{Instant, Rate};
    use test_case::test_case;

    /// A run of 12,000 undisturbed exchanges without stamps: nothing to be told but what it is too short for.
    fn quiet() -> (Outcome, Method) {
        let asked = Asked { stamps: Some(false), ..Asked::default() };
        told(&latencies(&mut fastrand::Rng::with_seed(1), 12_000), &asked)
    }

    fn told(trips: &[u64], asked: &Asked) -> (Outcome, Method) {
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

    fn environment() -> Environment {
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
            found.iter().any(
                |warning| matches!(warning, Warning::Correlated { count: 20_000, effective } if *effective < 2_000.0)
            ),
            "{found:?}"
        );
        outcome.response.effective_sample_size = Some(10_000.0);
        assert_eq!(correlated(&outcome), None);
        outcome.response.effective_sample_size = None;
        assert_eq!(correlated(&outcome), None);
    }

    /// An open loop at 1000/s whose n-th request was sent `late(n)` behind and took `service`.
    fn open(count: u64, late: impl Fn(u64) -> u64, service: Nanos, cap: u32) -> (Outcome, Method) {
        let schedule = Some(Schedule::Rate { rate_per_1000s: Rate::per_second(1_000).unwrap() });
        let stop = Stop { after_ns: Some(Nanos::secs(2)), ..Stop::default() };
        let mut method = Asked { schedule, stop, stamps: Some(false), ..Asked::default() }.resolve().unwrap();
        method.window = Window::Open { cap };
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
            Warning::RateNotAchieved { offered_per_s, sent_per_s, held_back_by_window, held_back_by_socket },
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

    /// What is said of a load that was so slow, of which something due was held back for so long in two seconds.
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
        assert_eq!(
            clocks(&outcome).collect::<Vec<_>>(),
            [Warning::ClockStepped { count: 2 }, Warning::SystemClockStepped]
        );
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
        assert_eq!(disturbed("our", &calm), None, "at the threshold");
        let with = |disturbance| Environment { disturbance: Some(disturbance), ..environment() };
        let by = |disturbance| match disturbed("the peer's", &with(disturbance)) {
            Some(Warning::Disturbed { end, by }) if end == "the peer's" => by,
            other => panic!("{other:?}"),
        };
        let none = Disturbance::default();
        assert_eq!(by(Disturbance { run_queue_share: Some(0.042), ..none }), ["run-queue delay 4.2 %"]);
        assert_eq!(by(Disturbance { cpu_pressure_share: Some(0.11), ..none }), ["CPU pressure 11.0 %"]);
        assert_eq!(
            by(Disturbance { steal_share: Some(0.02), run_queue_share: Some(0.5), ..none }),
            ["run-queue delay 50.0 %", "steal 2.0 %"]
        );
        assert_eq!(disturbed("our", &with(none)), None, "what was not read is not judged");
        assert_eq!(disturbed("our", &Environment::default()), None);
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
        assert!(!one_cpu(&method, Some(&near), Some(&far), &none));
        assert!(!one_cpu(&method, None, None, &own));
        let single = Environment { cpus_allowed: Some(1), ..environment() };
        assert!(one_cpu(&method, Some(&single), None, &own));
        assert!(!one_cpu(&method, Some(&near), Some(&single), &none), "one at the peer alone is its business");
        method.spread.cpus = vec![1];
        method.spread.peer_cpus = vec![1];
        assert!(one_cpu(&method, Some(&near), Some(&near), &none));
        assert!(!one_cpu(&method, Some(&near), Some(&far), &none), "the same number on two machines");
        method.spread.peer_cpus = vec![0];
        assert!(!one_cpu(&method, Some(&near), Some(&near), &none));
    }

    #[test]
    fn a_governor_that_saves_power_is_told_by_its_end() {
        let slow = Environment { governors: vec!["performance".into(), "powersave".into()], ..environment() };
        let wanted = Warning::PowerSavingGovernor { governor: "powersave".into(), end: "our".into() };
        assert_eq!(power_saving("our", Some(&slow)), vec![wanted]);
        assert_eq!(power_saving("our", Some(&environment())), vec![]);
        assert_eq!(power_saving("our", None), vec![]);
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
        method.stamps = None;
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
}
