//! Incidents in a mesh whose every change is planted, in virtual time: how often they are right, how soon, and how often wrong.
//!
//! Small runs are part of every test; the tables of `docs/explain/noticing.md` are ignored here and made by `make noticing`.

mod network;

use std::collections::BTreeSet;
use std::io::Write;

use measure::lookout::incident::{Change, Direction, Ending, Incident, Kind, Role, Scope, Size};
use measure::lookout::{CellId, Lookout, Settings, State};
use measure::span::{Distribution, Span};
use measure::unit::Nanos;

use crate::network::{Fault, Network, Planted, START, Wander};

const INDEPENDENT: Wander = Wander { rho: 0.0, deviation: 0.05, daily: 0.0 };
const CORRELATED: Wander = Wander { rho: 0.9, deviation: 0.05, daily: 0.0 };
const DAILY: Wander = Wander { rho: 0.9, deviation: 0.05, daily: 0.2 };
/// Breaks the promise: the level wanders by itself as far as a change that is worth telling, and stays there for an hour.
const DRIFTING: Wander = Wander { rho: 0.98, deviation: 0.1, daily: 0.0 };

/// Seconds that are learnt from before anything is planted.
const LEARN: u64 = 1_200;
/// The same of the tables of slower cells: how far a level wanders is not known sooner.
const LEARN_LEVEL: u64 = 3_600;

/// Runs the mesh for so many seconds; what was told, with the second in which it was.
fn run(network: &mut Network, seconds: u64) -> Vec<(u64, Change)> {
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    watch(network, &mut lookout, START, START + seconds)
}

/// Agents report a second one second after its end: so long answers are waited for.
fn watch(network: &mut Network, lookout: &mut Lookout, from: u64, to: u64) -> Vec<(u64, Change)> {
    let mut told = Vec::new();
    for second in from..to {
        for report in network.second(second) {
            let cells: Vec<(CellId, &Span)> = report.cells.iter().map(|(id, span)| (*id, span)).collect();
            lookout.beat(report.host, second, report.own, &cells);
        }
        let now = second + 2;
        told.extend(lookout.step(now).into_iter().map(|change| (now, change)));
    }
    told
}

fn plant(network: &mut Network, from: u64, to: u64, fault: Fault, hits: impl Fn(u32, u32) -> bool + 'static) {
    network.planted.push(Planted { from: START + from, to: START + to, fault, hits: Box::new(hits) });
}

/// Prints a row of a table.
macro_rules! row {
    ($($of:tt)*) => { writeln!(std::io::stderr(), $($of)*).unwrap() };
}

const FOR_EVER: u64 = 1 << 40;

fn begun(told: &[(u64, Change)]) -> Vec<(u64, Incident)> {
    told.iter()
        .filter_map(|(now, change)| match change {
            Change::Began { incident } => Some((*now, incident.clone())),
            _ => None,
        })
        .collect()
}

fn ended(told: &[(u64, Change)], by: Ending) -> Vec<Incident> {
    told.iter()
        .filter_map(|(_, change)| match change {
            Change::Ended { incident, ending, .. } if *ending == by => Some(incident.clone()),
            _ => None,
        })
        .collect()
}

/// Incidents that are open at the end, as they were last.
fn last(told: &[(u64, Change)]) -> Vec<Incident> {
    let mut open: Vec<Incident> = Vec::new();
    for (_, change) in told {
        open.retain(|incident| incident.id != change.incident().id);
        if !matches!(change, Change::Ended { .. }) {
            open.push(change.incident().clone());
        }
    }
    open
}

/// Runs `trial` for each seed, on two processors.
fn each<T: Send>(seeds: u64, trial: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = |odd: u64| (0..seeds).filter(|seed| seed % 2 == odd).map(&trial).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut found = half(0);
        found.extend(other.join().unwrap());
        found
    })
}

/// Delay until a planted change was noticed.
struct Noticed {
    seconds: Option<u64>,
    /// True where the onset was within the reported interval.
    held: bool,
    scope: Option<Scope>,
}

fn noticed(network: &mut Network, at: u64, seconds: u64, kind: Kind) -> Noticed {
    let told = run(network, at + seconds);
    let found = begun(&told).into_iter().find(|(now, incident)| incident.kind == kind && *now >= START + at);
    let held = |incident: &Incident| (incident.onset.earliest..=incident.onset.latest).contains(&(START + at));
    Noticed {
        seconds: found.as_ref().map(|(now, _)| now - START - at),
        held: found.as_ref().is_some_and(|(_, incident)| held(incident)),
        scope: found.map(|found| found.1.scope),
    }
}

/// Changes noticed within a time, the times at 50, 95 % and the longest, and the number whose onset was within its interval.
fn summary(found: &[Noticed], within: u64) -> (usize, [String; 3], usize) {
    let mut times: Vec<u64> = found.iter().map(|found| found.seconds.unwrap_or(u64::MAX)).collect();
    times.sort_unstable();
    let at = |q: f64| match times[((times.len() as f64 * q).ceil() as usize).max(1) - 1] {
        u64::MAX => "never".to_owned(),
        seconds => format!("{seconds} s"),
    };
    let soon = times.iter().filter(|seconds| **seconds <= within).count();
    (soon, [at(0.5), at(0.95), at(1.0)], found.iter().filter(|found| found.held).count())
}

/// One cell of three hosts becomes 30 % slower.
fn slower(seed: u64, wander: Wander, by: f64) -> Noticed {
    slower_at(10, seed, wander, by)
}

/// The same at so many requests a second.
fn slower_at(rate: u64, seed: u64, wander: Wander, by: f64) -> Noticed {
    let mut network = Network::new(3, 1, rate, wander, seed);
    let at = LEARN_LEVEL + seed * 7 % 60;
    plant(&mut network, at, FOR_EVER, Fault::Factor(by), |from, to| (from, to) == (0, 1));
    noticed(&mut network, at, if rate < 10 { 3_600 } else { 900 }, Kind::Slower)
}

/// By the seed, a pair or a host of six is hit.
fn hit(seed: u64, fault: Fault, rate: u64, kind: Kind) -> Noticed {
    let mut network = Network::new(6, 2, rate, CORRELATED, seed);
    let at = LEARN + seed * 7 % 60;
    if fault == Fault::Silent && seed.is_multiple_of(4) {
        plant(&mut network, at, FOR_EVER, fault, |from, to| (from, to) == (0, 1));
    } else {
        plant(&mut network, at, FOR_EVER, fault, |from, to| from == 1 || to == 1);
    }
    noticed(&mut network, at, 600, kind)
}

fn host(name: &str, role: Role) -> Scope {
    Scope::Host { host: name.to_owned(), role }
}

const CULPRITS: [&str; 6] = ["host", "role of a host", "pair", "link of zones", "direction of a pair", "everything"];

/// Plants a fault at one of [`CULPRITS`]; what is to be named.
fn culprit(network: &mut Network, kind: usize, fault: Fault) -> Scope {
    let pair = |both_ways| Scope::Pair { from: "h0".to_owned(), to: "h3".to_owned(), both_ways };
    let zones = Scope::Zones { from: "z0".to_owned(), to: "z1".to_owned(), both_ways: true };
    let (hits, scope): (fn(u32, u32) -> bool, Scope) = match kind {
        0 => (|from, to| from == 2 || to == 2, host("h2", Role::Both)),
        1 => (|from, _| from == 2, host("h2", Role::Client)),
        2 => (|from, to| [(0, 3), (3, 0)].contains(&(from, to)), pair(true)),
        3 => (|from, to| from % 2 != to % 2, zones),
        4 => (|from, to| (from, to) == (0, 3), pair(false)),
        _ => (|_, _| true, Scope::Everything),
    };
    plant(network, LEARN, FOR_EVER, fault, hits);
    scope
}

/// Returns true where ten minutes later exactly the culprit is named, by one incident.
fn is_named(seed: u64, kind: usize, fault: Fault) -> bool {
    let mut network = Network::new(6, 2, 10, CORRELATED, seed);
    let scope = culprit(&mut network, kind, fault);
    let open = last(&run(&mut network, LEARN + 600));
    let is = matches!(open.as_slice(), [incident] if incident.scope == scope);
    let way = match (fault, &open[..]) {
        (Fault::LossOut(_), [incident]) => incident.direction == Some(Direction::Out),
        (Fault::LossBack(_), [incident]) => incident.direction == Some(Direction::Back),
        _ => true,
    };
    is && way
}

/// False alarms, and cell-days, of a mesh in which nothing is planted.
fn false_alarms(wander: Wander, hosts: u32, days: u64, rate: u64, seed: u64) -> (usize, u64) {
    let mut network = Network::new(hosts, 2, rate, wander, seed);
    let told = run(&mut network, days * 86_400);
    (begun(&told).len(), days * network.mesh.cells.len() as u64)
}

#[test]
fn where_nothing_is_planted_nothing_is_told() {
    for (seed, wander) in [(1, INDEPENDENT), (2, CORRELATED), (3, DAILY)] {
        assert_eq!(false_alarms(wander, 4, 1, 1, seed).0, 0, "{wander:?}");
    }
}

#[test]
fn a_slower_cell_is_noticed_within_six_minutes() {
    let found = each(24, |seed| slower(seed, DAILY, 1.3));
    let (soon, times, held) = summary(&found, 360);
    assert!(soon >= 22, "{soon} of 24: {times:?}");
    assert!(held >= 20, "onset within its interval: {held} of 24");
    // With two partners a host's own fault and its path's are the same.
    let named = |found: &Noticed| match &found.scope {
        Some(Scope::HostOrPair { from, to, both_ways, .. }) => {
            (from.as_str(), to.as_str(), *both_ways) == ("h0", "h1", false)
        }
        _ => false,
    };
    let count = found.iter().filter(|found| named(found)).count();
    assert!(count >= 21, "{count} of 24 named");
}

#[test]
fn silence_is_noticed_within_five_seconds() {
    let found = each(12, |seed| hit(seed, Fault::Silent, 10, Kind::Silent));
    let (soon, times, held) = summary(&found, 5);
    assert_eq!((soon, held), (12, 12), "{times:?}");
    let named: BTreeSet<Scope> = found.into_iter().filter_map(|found| found.scope).collect();
    let pair = Scope::Pair { from: "h0".to_owned(), to: "h1".to_owned(), both_ways: false };
    assert_eq!(named, BTreeSet::from([pair, host("h1", Role::Both)]));
}

#[test]
fn one_percent_of_loss_at_a_host_is_noticed_within_a_minute() {
    let found = each(12, |seed| hit(seed, Fault::LossBack(0.01), 10, Kind::Loss));
    let (soon, times, held) = summary(&found, 60);
    assert!(soon >= 11 && held >= 11, "{soon} and {held} of 12: {times:?}");
}

#[test]
fn the_culprit_is_named() {
    for fault in [Fault::Factor(1.3), Fault::LossOut(0.01), Fault::Silent, Fault::Slow] {
        let named =
            each(6, |kind| is_named(kind + 100, kind as usize, fault)).into_iter().filter(|named| *named).count();
        assert!(named >= 5, "{fault:?}: {named} of 6");
    }
}

#[test]
fn loss_of_replies_is_told_as_that() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 5);
    plant(&mut network, LEARN, FOR_EVER, Fault::LossBack(0.05), |_, to| to == 1);
    let open = last(&run(&mut network, LEARN + 300));
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((open[0].scope.clone(), open[0].direction), (host("h1", Role::Server), Some(Direction::Back)));
    let Some(Size::Lost(share)) = open[0].size else { panic!("{open:?}") };
    assert!(share.low < 0.05 && 0.05 < share.high, "{share:?}");
}

#[test]
fn an_overloaded_host_is_told_as_that_and_feeds_no_detector() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 6);
    // Late as one that asks, and as one that answers.
    plant(&mut network, LEARN, LEARN + 600, Fault::Busy, |from, to| from == 2 || to == 2);
    let told = run(&mut network, LEARN + 1_200);
    let kinds: Vec<_> = begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect();
    assert_eq!(kinds, [(Kind::Overloaded, host("h2", Role::Client))]);
    assert_eq!(ended(&told, Ending::Resolved).len(), 1);
}

/// A request in some dozens that leaves late moves no median, and the replies that are late with it are no tail of the network.
#[test]
fn a_tail_of_a_host_that_is_late_itself_is_not_the_network_s() {
    let story = |fault| {
        let mut network = Network::new(4, 1, 10, CORRELATED, 8);
        plant(&mut network, LEARN, LEARN + 600, fault, |from, to| from == 2 || to == 2);
        let told = run(&mut network, LEARN + 900);
        begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect::<Vec<_>>()
    };
    assert_eq!(story(Fault::Stalls), []);
    assert_eq!(story(Fault::Slow), [(Kind::Tail, host("h2", Role::Both))]);
}

/// A level that was usual when a loss began need not be so when it is over.
#[test]
fn a_tail_that_grew_everywhere_during_a_loss_is_no_tail_of_those_that_lost() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 8);
    plant(&mut network, LEARN, LEARN + 900, Fault::LossOut(0.05), |from, to| from == 2 || to == 2);
    plant(&mut network, LEARN, FOR_EVER, Fault::Widens(0.3), |_, _| true);
    let told = run(&mut network, LEARN + 2_400);
    let begun: Vec<_> = begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect();
    assert_eq!(begun, [(Kind::Loss, host("h2", Role::Both))]);
    assert_eq!(ended(&told, Ending::Resolved).len(), 1);
}

#[test]
fn an_overloaded_machine_is_one_incident() {
    let mut network = Network::new(6, 1, 10, CORRELATED, 12);
    network.mesh.hosts.iter_mut().take(4).for_each(|host| host.machine = Some("m1".to_owned()));
    // One of its hosts is late before the others.
    plant(&mut network, LEARN, LEARN + 600, Fault::Busy, |from, _| from == 0);
    plant(&mut network, LEARN + 120, LEARN + 600, Fault::Busy, |from, _| (1..4).contains(&from));
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let mut told = watch(&mut network, &mut lookout, START, START + LEARN + 300);
    let mut lookout = lookout.over(Settings::default(), network.mesh.clone());
    told.extend(watch(&mut network, &mut lookout, START + LEARN + 300, START + LEARN + 1_200));
    let machine = Scope::Machine { machine: "m1".to_owned() };
    let begun: Vec<_> = begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect();
    assert_eq!(begun, [(Kind::Overloaded, host("h0", Role::Client)), (Kind::Overloaded, machine.clone())]);
    let scopes = |by| ended(&told, by).into_iter().map(|incident| incident.scope).collect::<Vec<_>>();
    assert_eq!(scopes(Ending::Merged { into: 2 }), [host("h0", Role::Client)]);
    assert_eq!(scopes(Ending::Resolved), [machine]);
}

/// A host that has hardly a processor answers some and not others, and its agent reports nothing.
#[test]
fn a_host_that_answers_some_is_named_where_its_agent_is_in_trouble() {
    let mut network = Network::new(6, 1, 10, CORRELATED, 9);
    plant(&mut network, LEARN, FOR_EVER, Fault::NoReport, |from, _| from == 2);
    plant(&mut network, LEARN + 30, FOR_EVER, Fault::Silent, |from, to| to == 2 && from != 4 && from != 5);
    let told = run(&mut network, LEARN + 60);
    let kinds: Vec<_> = begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect();
    assert_eq!(kinds, [(Kind::AgentSilent, host("h2", Role::Client)), (Kind::Silent, host("h2", Role::Both))]);
}

#[test]
fn an_agent_that_is_silent_is_not_a_host_that_is() {
    let story = |plant_all: fn(&mut Network)| {
        let mut network = Network::new(4, 1, 10, CORRELATED, 7);
        plant_all(&mut network);
        let told = run(&mut network, LEARN + 120);
        begun(&told).into_iter().map(|(_, incident)| (incident.kind, incident.scope)).collect::<Vec<_>>()
    };
    let agent = story(|network| plant(network, LEARN, FOR_EVER, Fault::NoReport, |from, _| from == 2));
    assert_eq!(agent, [(Kind::AgentSilent, host("h2", Role::Client))]);
    let dead = story(|network| {
        plant(network, LEARN, FOR_EVER, Fault::NoReport, |from, _| from == 2);
        plant(network, LEARN, FOR_EVER, Fault::Silent, |_, to| to == 2);
    });
    assert_eq!(dead, [(Kind::Silent, host("h2", Role::Both))]);
    let all = story(|network| plant(network, LEARN, FOR_EVER, Fault::NoReport, |_, _| true));
    assert_eq!(all, [(Kind::AgentSilent, Scope::Everything)]);
}

#[test]
fn what_is_over_is_told_once_and_what_returns_is_the_same() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 8);
    plant(&mut network, LEARN, LEARN + 900, Fault::Factor(1.5), |from, to| from == 1 || to == 1);
    // A pair that comes and goes every half minute.
    for at in (3_000..3_240).step_by(60) {
        plant(&mut network, at, at + 30, Fault::Silent, |from, to| (from, to) == (2, 3));
    }
    let told = run(&mut network, 4_200);
    let over = ended(&told, Ending::Resolved);
    assert_eq!(last(&told), []);
    let (slower, silent): (Vec<_>, Vec<_>) = over.into_iter().partition(|incident| incident.kind == Kind::Slower);
    assert_eq!(slower.len(), 1, "{slower:?}");
    assert_eq!(slower[0].scope, host("h1", Role::Both));
    let Some(Size::Ratio(ratio)) = slower[0].size else { panic!("{slower:?}") };
    assert!(ratio.low < 1.5 && 1.5 < ratio.high && ratio.high - ratio.low < 0.5, "{ratio:?}");
    let ids: BTreeSet<u64> = silent.iter().map(|incident| incident.id).collect();
    assert_eq!(ids.len(), 1, "{silent:?}");
    assert!(silent.last().unwrap().returned >= 1 && silent.len() <= 3, "{silent:?}");
}

#[test]
fn a_restart_repeats_nothing() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 9);
    plant(&mut network, LEARN, 3_000, Fault::Factor(1.5), |from, to| from == 1 || to == 1);
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let before = watch(&mut network, &mut lookout, START, START + 2_000);
    let open: Vec<Incident> = lookout.open().cloned().collect();
    assert_eq!(open.len(), 1, "{before:?}");
    let text = serde_json::to_string(&lookout).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    let mut lookout = Lookout::restored(Settings::default(), network.mesh.clone(), state);
    // Text may take the last binary digit of a size.
    let same = |incident: &Incident| (incident.id, incident.scope.clone(), incident.onset);
    assert_eq!(lookout.open().map(same).collect::<Vec<_>>(), open.iter().map(same).collect::<Vec<_>>());
    let after = watch(&mut network, &mut lookout, START + 2_000, START + 4_000);
    assert_eq!(begun(&after), []);
    assert_eq!(ended(&after, Ending::Resolved).iter().map(|incident| incident.id).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_a_person_accepts_is_normal_from_then_on() {
    let mut network = Network::new(4, 1, 10, CORRELATED, 10);
    plant(&mut network, LEARN, FOR_EVER, Fault::Factor(1.5), |from, to| from == 1 || to == 1);
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let before = watch(&mut network, &mut lookout, START, START + 2_000);
    let id = last(&before)[0].id;
    let accepted = lookout.accept(id, START + 2_000);
    assert!(matches!(accepted.as_slice(), [Change::Ended { ending: Ending::Accepted, .. }]));
    assert_eq!(watch(&mut network, &mut lookout, START + 2_000, START + 4_000), []);
}

const HOUR: u64 = 3_600;

/// Changes told of a host whose cells creep to `by` times their response time, from the end of the seventh hour to that of the tenth. An hour before had
/// shown what is normal.
fn creeps(seed: u64, by: f64) -> Vec<(u64, Change)> {
    let mut network = Network::new(3, 1, 1, CORRELATED, seed);
    plant(&mut network, 7 * HOUR, FOR_EVER, Fault::Creeps(by), |from, to| from == 1 || to == 1);
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let mut times = vec![Distribution::default(); network.mesh.cells.len()];
    for second in START - HOUR..START {
        for report in network.second(second) {
            report.cells.iter().for_each(|(id, span)| times[*id as usize].add(&span.times));
        }
    }
    for (id, times) in times.iter().enumerate() {
        let hours: Vec<(u8, Nanos)> = (0..168).map(|hour| (hour, Nanos(times.quantile(0.5).unwrap()))).collect();
        lookout.reference(id as u32, &hours);
    }
    watch(&mut network, &mut lookout, START, START + 15 * HOUR)
}

#[test]
fn what_creeps_is_noticed_against_a_reference() {
    let told = creeps(11, 1.6);
    let open = last(&told);
    assert!(!open.is_empty() && open.iter().all(|incident| incident.kind == Kind::Slower), "{open:?}");
    let onset = open[0].onset;
    assert!(onset.earliest < START + 10 * HOUR && onset.latest > START + 7 * HOUR, "{onset:?}");
    // In the first six hours it is learnt how far a level strays by itself.
    assert!(begun(&told).iter().all(|(now, _)| *now > START + 7 * HOUR), "{told:?}");
}

#[test]
#[ignore = "minutes: make noticing"]
fn table_of_false_alarms() {
    let noises = [
        ("rho 0.9, day 20 %", DAILY),
        ("rho 0.9", CORRELATED),
        ("independent", INDEPENDENT),
        ("rho 0.98, 10 %", DRIFTING),
    ];
    // 13 hosts have 156 cells; two meshes of 32 days have 9,984 cell-days.
    for (rate, days) in [(10, 32), (1, 32)] {
        for (name, wander) in noises {
            // Where the promise is broken, fewer days show it.
            let days = if wander.rho > 0.9 { 2 } else { days };
            let found = each(2, |seed| false_alarms(wander, 13, days, rate, seed + 1_000));
            let (alarms, cell_days) = found.iter().fold((0, 0), |sum, found| (sum.0 + found.0, sum.1 + found.1));
            row!("| {name} | {rate} | {cell_days} | {alarms} |");
        }
    }
}

/// A week says what is normal in each of its hours, and nothing changes after that.
#[test]
#[ignore = "minutes: make noticing"]
fn table_of_references() {
    const DAY: u64 = 86_400;
    let cases = [("rho 0.9, day 20 %", DAILY), ("rho 0.98, 10 %", DRIFTING)];
    for ((name, wander), is_known) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
        let found = each(8, |seed| {
            let mut network = Network::new(3, 1, 1, wander, seed + 4_000);
            let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
            let mut weeks = vec![vec![Distribution::default(); 168]; network.mesh.cells.len()];
            for second in START - 7 * DAY..START {
                let hour = ((second / 3_600 + 72) % 168) as usize;
                for report in network.second(second) {
                    report.cells.iter().for_each(|(id, span)| weeks[*id as usize][hour].add(&span.times));
                }
            }
            let mut told = watch(&mut network, &mut lookout, START, START + DAY);
            for (id, week) in weeks.iter().enumerate().filter(|_| is_known) {
                let hours = week.iter().zip(0..).map(|(times, hour)| (hour, Nanos(times.quantile(0.5).unwrap())));
                lookout.reference(id as u32, &hours.collect::<Vec<(u8, Nanos)>>());
            }
            told.extend(watch(&mut network, &mut lookout, START + DAY, START + 10 * DAY));
            begun(&told).len()
        });
        let known = if is_known { "with a reference" } else { "without" };
        row!("| {name}, {known} | 1 | {} | {} |", 8 * 6 * 10, found.iter().sum::<usize>());
    }
    for by in [1.3, 1.6] {
        let hours =
            each(40, |seed| begun(&creeps(seed, by)).first().map(|(now, _)| (now - START) as f64 / HOUR as f64 - 7.0));
        let mut noticed: Vec<f64> = hours.into_iter().flatten().collect();
        noticed.sort_unstable_by(f64::total_cmp);
        let middle = noticed.get(noticed.len() / 2).copied().unwrap_or(f64::NAN);
        row!(
            "| creeps to {by} times in three hours | noticed {} of 40 within 8 hours | median {middle:.1} h |",
            noticed.len()
        );
    }
}

#[test]
#[ignore = "minutes: make noticing"]
fn table_of_delays() {
    let row = |name: &str, found: &[Noticed], within: u64| {
        let (soon, [half, most, longest], held) = summary(found, within);
        row!("| {name} | {half} | {most} | {longest} | {soon} within {within} s | {held} | {} |", found.len());
    };
    for (name, wander) in [("independent", INDEPENDENT), ("rho 0.9", CORRELATED), ("rho 0.9, day 20 %", DAILY)] {
        row(&format!("+30 %, {name}"), &each(200, |seed| slower(seed, wander, 1.3)), 360);
    }
    row("+20 %, rho 0.9", &each(200, |seed| slower(seed, CORRELATED, 1.2)), 360);
    row("+65 %, rho 0.9", &each(200, |seed| slower(seed, CORRELATED, 1.65)), 360);
    for by in [1.3, 1.65] {
        let found = each(200, |seed| slower_at(1, seed, CORRELATED, by));
        row(&format!("+{:.0} %, rho 0.9, 1/s", (by - 1.0) * 100.0), &found, 3_600);
    }
    for rate in [10, 1] {
        row(&format!("silence, {rate}/s"), &each(200, |seed| hit(seed, Fault::Silent, rate, Kind::Silent)), 5);
    }
    for rate in [10, 2] {
        row(
            &format!("1 % lost at a host, {}/s", 10 * rate),
            &each(200, |seed| hit(seed, Fault::LossBack(0.01), rate, Kind::Loss)),
            60,
        );
    }
}

#[test]
#[ignore = "minutes: make noticing"]
fn table_of_culprits() {
    for fault in [Fault::Factor(1.3), Fault::LossOut(0.01), Fault::LossBack(0.01), Fault::Silent, Fault::Slow] {
        for (kind, name) in CULPRITS.iter().enumerate() {
            let named = each(20, |seed| is_named(seed, kind, fault)).into_iter().filter(|named| *named).count();
            row!("| {fault:?} | {name} | {named} of 20 |");
        }
    }
}

/// A month in which a host is silent for ten minutes each day, and the watcher is started anew each night: each silence is told once, and what is
/// known does not grow.
#[test]
#[ignore = "minutes: make noticing"]
fn thirty_days_are_as_the_first_two() {
    const DAYS: u64 = 30;
    const DAY: u64 = 86_400;
    let mut network = Network::new(4, 1, 1, DAILY, 30);
    for day in 0..DAYS {
        let noon = day * DAY + DAY / 2;
        plant(&mut network, noon, noon + 600, Fault::Silent, |from, to| from == 2 || to == 2);
    }
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let (mut told, mut octets) = (Vec::new(), Vec::new());
    for day in 0..DAYS {
        let (from, to) = (START + day * DAY, START + (day + 1) * DAY);
        told.extend(watch(&mut network, &mut lookout, from, to));
        let text = serde_json::to_string(&lookout).unwrap();
        octets.push(text.len());
        lookout = Lookout::restored(Settings::default(), network.mesh.clone(), serde_json::from_str(&text).unwrap());
    }
    let is_silent = |incident: &Incident| incident.kind == Kind::Silent && incident.scope == host("h2", Role::Both);
    let silent: Vec<u64> = begun(&told).iter().filter(|(_, each)| is_silent(each)).map(|(_, each)| each.id).collect();
    let others: Vec<_> = begun(&told).into_iter().filter(|(_, each)| !is_silent(each)).collect();
    row!("| {DAYS} days, 12 cells | {} silences told | {} others | state {octets:?} |", silent.len(), others.len());
    assert_eq!(silent.iter().collect::<BTreeSet<_>>().len(), DAYS as usize);
    assert_eq!((silent.len(), last(&told)), (DAYS as usize, Vec::new()));
    // In 360 cell-days one false alarm or two are no surprise.
    assert!(others.len() <= 2, "{others:?}");
    assert!(octets[DAYS as usize - 1] * 10 <= octets[1] * 11, "{octets:?}");
}

#[test]
#[ignore = "minutes: make noticing"]
#[expect(clippy::disallowed_methods, reason = "a cost is measured by the clock, and nothing is judged by it")]
fn table_of_costs() {
    let mut network = Network::new(127, 4, 1, CORRELATED, 1);
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let cells = network.mesh.cells.len() as u64;
    let (mut took, seconds) = (std::time::Duration::ZERO, 300);
    for second in START..START + seconds {
        let reports = network.second(second);
        let began = std::time::Instant::now();
        for report in &reports {
            let cells: Vec<(CellId, &Span)> = report.cells.iter().map(|(id, span)| (*id, span)).collect();
            lookout.beat(report.host, second, report.own, &cells);
        }
        lookout.step(second + 2);
        took += began.elapsed();
    }
    let each = took.as_nanos() as f64 / (cells * seconds) as f64;
    let state = serde_json::to_string(&lookout).unwrap().len();
    row!("| {cells} cells at 1 Hz | {each:.0} ns a cell and second | state {} kB |", state / 1_000);
}

/// Memory of this process, octets.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[ignore = "minutes: make noticing"]
fn table_of_memory() {
    let mut network = Network::new(60, 4, 1, CORRELATED, 1);
    let cells = network.mesh.cells.len() as u64;
    let before = resident();
    let mut lookout = Lookout::new(Settings::default(), network.mesh.clone());
    let mut from = START;
    for minutes in [0, 2, 66] {
        let upto = START + 60 * minutes;
        watch(&mut network, &mut lookout, from, upto);
        from = upto;
        row!("| {cells} cells at 1 Hz for {minutes} min | {} octets a cell |", (resident() - before) / cells);
    }
}
