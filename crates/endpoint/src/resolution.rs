//! Measures the resolution of this machine: clock, recorder, timers, wake-ups, loopback, and pauses, in a few seconds.
//!
//! Each part runs on threads of its own, pinned, one part after the other, so that none disturbs another and the
//! caller's thread keeps its CPUs. Not here: what the numbers mean (`measure::resolution`), and their rendering.

mod cost;
mod hiccup;
mod lateness;
mod loopback;
mod wake_up;

use std::io;
use std::thread;

use measure::environment::Environment;
use measure::resolution::{ClockCost, FloorCarrier, Keeping, Placement, Resolution};
use measure::unit::Nanos;

use crate::clock::Monotonic;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::thread::pin;

/// Duration of each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Lateness of each pacing, at each interval.
    pub lateness_ns: Nanos,
    /// Wake-ups, each placement.
    pub wake_up_ns: Nanos,
    /// Loopback, each protocol and wait mode.
    pub loopback_ns: Nanos,
    /// Search for pauses.
    pub calm_ns: Nanos,
}

impl Effort {
    /// Spends `total`, give or take a tenth, on all parts together. A longer time shows more of the tails: a 99th
    /// percentile at 10 ms takes 10 s for each pacing, 3 minutes in all.
    pub fn within(total: Nanos) -> Self {
        let part = |per_mille: u64| Nanos(total.0 / 1_000 * per_mille);
        Self { lateness_ns: part(50), wake_up_ns: part(40), loopback_ns: part(40), calm_ns: part(140) }
    }
}

impl Default for Effort {
    /// 5.5 s: the median at 10 ms, and the 99th percentile at 100 us.
    fn default() -> Self {
        Self::within(Nanos::millis(5_500))
    }
}

/// Intervals at which instants are kept.
pub const INTERVALS: [Nanos; 3] = [Nanos::micros(100), Nanos::millis(1), Nanos::millis(10)];

const KEEPINGS: [Keeping; 4] = [Keeping::SleepWithSlack, Keeping::Sleep, Keeping::Hybrid, Keeping::Spin];

/// Measures the resolution of this machine, for a program that calls itself `program`. `tell` hears the name of each
/// part as it begins. A part that cannot be measured is named in `failed` with its reason.
pub fn resolve(program: &str, effort: Effort, mut tell: impl FnMut(&str)) -> Resolution {
    let start = Monotonic::now();
    let mut watch = Watch::start(Reader::host(program));
    let mut found = Resolution { optimised_build: !cfg!(debug_assertions), ..Resolution::default() };
    let cpus = match Cpus::ours() {
        Ok(cpus) => cpus,
        Err(error) => {
            found.failed.push(format!("CPUs to run on: {error}"));
            return found;
        }
    };
    tell("clock and recorder");
    costs(cpus, &mut found);
    tell("pauses");
    let pressure = calm(program, cpus, effort, &mut watch, &mut found);
    tell("timers");
    keep_instants(cpus, effort, &mut found);
    tell("wake-ups");
    wake(cpus, effort, &mut found);
    tell("loopback");
    exchange(cpus, effort, &mut found);

    found.environment = watch.finish();
    if let Some(disturbance) = &mut found.environment.disturbance {
        disturbance.cpu_pressure_share = pressure;
    }
    found.spoilers = found.judge();
    found.took_ns = Monotonic::now().since(start).unwrap_or_default();
    found
}

/// Cost and step of the clock alone, which takes a few milliseconds: what every record says of its instrument.
pub fn clock_cost() -> ClockCost {
    cost::clock()
}

/// CPUs for one thread and, where there is a second, for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cpus {
    one: u32,
    two: Option<u32>,
}

impl Cpus {
    /// The first CPU we may run on, and the first that shares no core with it, or any other where all do.
    fn ours() -> io::Result<Self> {
        let set = rustix::thread::sched_getaffinity(None)?;
        let ours: Vec<u32> =
            (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect();
        let &one = ours.first().ok_or_else(|| io::Error::other("none is allowed"))?;
        let siblings = Reader::siblings(one);
        let others = || ours.iter().skip(1).copied();
        Ok(Self { one, two: others().find(|cpu| !siblings.contains(cpu)).or_else(|| others().next()) })
    }

    fn placements(self) -> Vec<(Placement, u32)> {
        let two = self.two.map(|cpu| (Placement::TwoCpus, cpu));
        two.into_iter().chain([(Placement::OneCpu, self.one)]).collect()
    }
}

/// Runs `part` on a separate thread, pinned to `cpu`.
fn on<T: Send>(cpu: u32, part: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let pinned = scope.spawn(move || {
            pin(cpu)?;
            part()
        });
        pinned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Keeps what a part found, or why it found nothing.
fn keep<T>(failed: &mut Vec<String>, what: &str, part: io::Result<T>) -> Option<T> {
    part.map_err(|error| failed.push(format!("{what}: {error}"))).ok()
}

fn costs(cpus: Cpus, found: &mut Resolution) {
    let costs = on(cpus.one, || Ok((cost::clock(), cost::record())));
    if let Some((clock, record)) = keep(&mut found.failed, "clock and recorder", costs) {
        found.clock = clock;
        found.record_ns = record;
    }
}

/// The calm part: one thread that reads the clock. Its run-queue delay goes to `watch`; returned is the CPU pressure,
/// which in the other parts our own threads make.
fn calm(program: &str, cpus: Cpus, effort: Effort, watch: &mut Watch, found: &mut Resolution) -> Option<f64> {
    let pressure = Watch::start(Reader::host(program));
    let seen = on(cpus.one, || Ok(hiccup::watch(effort.calm_ns)));
    let facts: Environment = pressure.finish();
    let (hiccups, span) = keep(&mut found.failed, "pauses", seen)?;
    found.hiccups = Some(hiccups);
    if let Some(span) = span {
        watch.add(span);
    }
    facts.disturbance?.cpu_pressure_share
}

fn keep_instants(cpus: Cpus, effort: Effort, found: &mut Resolution) {
    for interval in INTERVALS {
        for keeping in KEEPINGS {
            let part = on(cpus.one, || lateness::measure(keeping, interval, effort.lateness_ns));
            found.lateness.extend(keep(&mut found.failed, &format!("{keeping} every {interval}"), part));
        }
    }
}

fn wake(cpus: Cpus, effort: Effort, found: &mut Resolution) {
    for (placement, other) in cpus.placements() {
        let part = wake_up::measure(placement, cpus.one, other, effort.wake_up_ns);
        found.wake_up.extend(keep(&mut found.failed, &format!("wake-up on {placement}"), part));
    }
}

fn exchange(cpus: Cpus, effort: Effort, found: &mut Resolution) {
    let (placement, other) = cpus.placements()[0];
    for carrier in [FloorCarrier::Tcp, FloorCarrier::Udp] {
        for spinning in [false, true] {
            // Two threads that spin on one CPU would measure the scheduler's slices.
            if spinning && placement == Placement::OneCpu {
                continue;
            }
            let set = loopback::Setting { carrier, spinning, placement, cpus: [cpus.one, other] };
            let part = loopback::measure(set, effort.loopback_ns);
            found.loopback.extend(keep(&mut found.failed, &format!("{carrier} over loopback"), part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_report_in_their_time() {
        let mut told = Vec::new();
        let total = Nanos::millis(800);
        let found = resolve("sonde 0", Effort::within(total), |part| told.push(part.to_owned()));
        assert_eq!(found.failed, Vec::<String>::new());
        assert_eq!(told, ["clock and recorder", "pauses", "timers", "wake-ups", "loopback"]);
        assert_eq!(found.lateness.len(), INTERVALS.len() * KEEPINGS.len());
        let two = found.environment.cpus_allowed.unwrap() > 1;
        assert_eq!((found.wake_up.len(), found.loopback.len()), if two { (2, 4) } else { (1, 2) });
        assert!(found.clock.read_ns.unwrap() > 0.0 && found.record_ns.unwrap() > 0.0);
        assert!(found.clock.smallest_step_ns.unwrap() > Nanos::ZERO);
        assert!(found.environment.kernel.is_some() && found.environment.disturbance.is_some());
        assert!(found.took_ns > Nanos::millis(500), "it measured: {}", found.took_ns);
        assert!(found.lateness.iter().all(|lateness| lateness.late.count > 0));
        assert!(found.loopback.iter().all(|floor| floor.round_trip.min_ns > Some(Nanos::ZERO)));
    }

    #[test]
    fn a_second_cpu_is_another_one_or_none() {
        let cpus = Cpus::ours().unwrap();
        assert_ne!(Some(cpus.one), cpus.two);
        let alone = on(cpus.one, Cpus::ours).unwrap();
        assert_eq!(alone, Cpus { one: cpus.one, two: None });
        assert_eq!(alone.placements(), [(Placement::OneCpu, cpus.one)]);
    }

    #[test]
    fn the_effort_adds_up() {
        let total = Nanos::secs(10);
        let effort = Effort::within(total);
        let parts = 12 * effort.lateness_ns.0 + 2 * effort.wake_up_ns.0 + 4 * effort.loopback_ns.0 + effort.calm_ns.0;
        assert!((0.9..=1.0).contains(&(parts as f64 / total.0 as f64)), "{parts}");
    }
}
