//! What is noticed of a mesh whose every change is planted, in virtual time: how often it is right, how soon, and how often it is wrong.
//!
//! The small tables run with every test; those of the page `docs/explain/noticing.md` are ignored here and made by `make noticing`.

mod network;

use measure::lookout::incident::{Change, Direction, Incident, Kind, Role, Scope, Size};
use measure::lookout::{CellId, Lookout, Settings};
use measure::span::Span;

use crate::network::{Fault, Network, Planted, START, Wander};

const INDEPENDENT: Wander = Wander { rho: 0.0, deviation: 0.05, daily: 0.0 };
const CORRELATED: Wander = Wander { rho: 0.9, deviation: 0.05, daily: 0.0 };
const DAILY: Wander = Wander { rho: 0.9, deviation: 0.05, daily: 0.2 };
const DRIFTING: Wander = Wander { rho: 0.98, deviation: 0.1, daily: 0.0 };

/// Seconds that are learnt from before anything is planted.
const LEARN: u64 = 1_200;

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
            lookout.beat(report.host, second, report.disturbed, &cells);
        }
        let now = second + 2;
        told.extend(lookout.step(now).into_iter().map(|change| (now, change)));
    }
    told
}

fn plant(network: &mut Network, at: u64, fault: Fault, hits: impl Fn(u32, u32) -> bool + 'static) {
    network.planted.push(Planted { from: START + at, to: u64::MAX, fault, hits: Box::new(hits) });
}

fn begun(told: &[(u64, Change)]) -> Vec<(u64, Incident)> {
    told.iter()
        .filter_map(|(now, change)| match change {
            Change::Began { incident } => Some((*now, incident.clone())),
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

/// Runs `trial` for each seed on both processors, and counts where it holds.
fn count(seeds: u64, trial: impl Fn(u64) -> bool + Sync) -> u64 {
    let half = |odd: u64| (0..seeds).filter(|seed| seed % 2 == odd).filter(|seed| trial(*seed)).count() as u64;
    std::thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        half(0) + other.join().unwrap()
    })
}

/// False alarms in some cell-days of a mesh in which nothing is planted.
fn false_alarms(wander: Wander, hosts: u32, days: f64, rate: u64, seed: u64) -> (usize, f64) {
    let mut network = Network::new(hosts, 2, rate, wander, seed);
    let told = run(&mut network, (days * 86_400.0) as u64);
    for (now, incident) in begun(&told) {
        eprintln!("false at {}: {:?} {:?} {:?}", now - START, incident.kind, incident.scope, incident.size);
    }
    (begun(&told).len(), days * network.mesh.cells.len() as f64)
}

/// Seconds from a planted change to its being noticed, and whether its onset was within the interval told.
fn noticed(network: &mut Network, at: u64, seconds: u64, kind: Kind) -> Option<(u64, bool, Incident)> {
    let told = run(network, at + seconds);
    let (now, incident) =
        begun(&told).into_iter().find(|(now, incident)| incident.kind == kind && *now >= START + at)?;
    let held = incident.onset.earliest <= START + at && START + at <= incident.onset.latest;
    Some((now - START - at, held, incident))
}

fn thirty_percent(seed: u64, wander: Wander) -> Option<(u64, bool, Incident)> {
    let mut network = Network::new(3, 1, 10, wander, seed);
    let at = LEARN + seed * 7 % 60;
    plant(&mut network, at, Fault::Factor(1.3), |from, to| (from, to) == (0, 1));
    noticed(&mut network, at, 420, Kind::Slower)
}

#[test]
#[ignore]
fn look() {
    for wander in [INDEPENDENT, CORRELATED, DAILY] {
        eprintln!("{wander:?}: {:?}", false_alarms(wander, 4, 2.0, 10, 3));
    }
    for seed in 0..12 {
        eprintln!("{:?}", thirty_percent(seed, CORRELATED).map(|(t, held, i)| (t, held, i.scope, i.size, i.onset)));
    }
}
