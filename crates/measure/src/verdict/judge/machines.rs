//! Effects of the hosts at both ends on the measurement.

use super::{Context, Ends};
use crate::environment::{Disturbance, Environment};
use crate::method::{Method, Pacing, Waiting};
use crate::outcome::Outcome;
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::threshold::{
    CHOOSES_ITSELF, COARSE, CPU_PRESSURE, FEWEST_DAMAGED, LOWEST, POWER_SAVING, RUN_QUEUE, SLOW_CLOCKS, STEAL,
    THROTTLED,
};

/// Returns the warnings about them, whatever was measured.
pub(super) fn machines(method: &Method, ends: Ends<'_>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = ends.each().filter_map(|(name, end)| throttled(name, end)).collect();
    let alone = !ends.own_reflector && ends.same_host.is_none();
    warnings.extend(ends.each().filter_map(|(name, end)| disturbed(name, end, alone)));
    warnings.extend(damaged(ends));
    warnings.extend(one_cpu(method, ends).then_some(Warning::OneCpu));
    warnings.extend(ends.each().filter_map(|(name, end)| slow_clock(name, end)));
    warnings
}

fn throttled(name: &str, end: &Environment) -> Option<Warning> {
    let watched_ns = end.disturbance?.watched_ns;
    let micros = u64::try_from(*end.counters.get("cgroup.throttled_us")?).ok()?;
    let throttled_ns = Nanos(micros.saturating_mul(1_000));
    (throttled_ns.0 as f64 > THROTTLED * watched_ns.0 as f64).then(|| Warning::Throttled {
        end: name.to_owned(),
        throttled_ns,
        watched_ns,
    })
}

/// Warns where kernels dropped packets for their checksum. The counters hold what others received too, so that one or two show nothing.
fn damaged(ends: Ends<'_>) -> Option<Warning> {
    let counted = |end: &Environment| {
        let is_of_checksums = |name: &str| name.ends_with(".InCsumErrors");
        let counts = end.counters.iter().filter(|(name, _)| is_of_checksums(name)).map(|(_, count)| *count);
        counts.filter_map(|count| u64::try_from(count).ok()).fold(0, u64::saturating_add)
    };
    let here = ends.ours.map_or(0, counted);
    let peer = ends.theirs.filter(|_| !ends.own_reflector && ends.same_host.is_none()).map(counted);
    (here.saturating_add(peer.unwrap_or(0)) >= FEWEST_DAMAGED).then_some(Warning::Damaged { here, peer })
}

/// A wait for a CPU that a control group caused is reported as throttling. `alone` where the other end does not run on this host too: then the waits
/// of its own threads are all that delayed the measurement there.
pub(super) fn disturbed(name: &str, end: &Environment, alone: bool) -> Option<Warning> {
    let Disturbance { run_queue_share, cpu_pressure_share, steal_share, .. } = end.disturbance?;
    let free = throttled(name, end).is_none();
    let judged = [
        ("run-queue delay", run_queue_share.filter(|_| free), RUN_QUEUE),
        ("CPU pressure", cpu_pressure_share.filter(|_| free), CPU_PRESSURE),
        ("steal", steal_share, STEAL),
    ];
    let beyond = judged.into_iter().filter_map(|(name, share, limit)| {
        let share = share.filter(|&share| share > limit)?;
        Some(format!("{name} {:.1} %", share * 100.0))
    });
    let by: Vec<String> = beyond.collect();
    let pressure = cpu_pressure_share.filter(|_| !alone || run_queue_share.is_none());
    // The hypervisor's share is the mean of all CPUs, and it may have taken all of it from one.
    let steal = steal_share.map(|share| share * f64::from(end.cpus_online.unwrap_or(1)));
    let waits = [run_queue_share, pressure, steal].into_iter().flatten();
    let waited_share = waits.reduce(|one, other| one + other).map(|share| share.min(1.0));
    (!by.is_empty()).then(|| Warning::Disturbed { end: name.to_owned(), by, waited_share, spoils: Vec::new() })
}

/// Returns true where both ends run on one CPU of this host.
pub(super) fn one_cpu(method: &Method, ends: Ends<'_>) -> bool {
    let alone = |environment: &Environment| environment.cpus_allowed == Some(1) || environment.cpus_online == Some(1);
    // A name that many hosts have tells no host.
    let host = |end: Option<&Environment>| end.and_then(|end| end.host.clone()).filter(|name| name != "localhost");
    let one_name = host(ends.ours).is_some() && host(ends.ours) == host(ends.theirs);
    // A thread runs where it is pinned, or else where its process may.
    let only = |pinned: &[u32], end: Option<&Environment>| match pinned {
        [] => end.and_then(|end| end.only_cpu),
        [cpu] => Some(*cpu),
        _ => None,
    };
    let (our, their) = (only(&method.spread.cpus, ends.ours), only(&method.spread.peer_cpus, ends.theirs));
    let pinned_together = our.is_some() && our == their;
    let one_host = ends.own_reflector || ends.same_host.is_some();
    one_host && ends.ours.is_some_and(alone) || (one_host || one_name) && pinned_together
}

fn slow_clock(name: &str, end: &Environment) -> Option<Warning> {
    let source = end.clock_source.clone().filter(|source| SLOW_CLOCKS.contains(&source.as_str()))?;
    Some(Warning::SlowClockSource { source, end: name.to_owned() })
}

/// Governors that slow down CPUs that the measurement lets idle, and the one that slows down all.
pub(super) fn power_saving(method: &Method, ends: Ends<'_>) -> Vec<Warning> {
    let exchanges = method.traffic.stream().is_none();
    let ours_idles = exchanges && method.waiting != Waiting::Spin;
    let theirs_idles = exchanges && method.peer_waiting != Some(Waiting::Spin);
    let idles =
        |name: &str| if name == "our" { ours_idles || ends.own_reflector && theirs_idles } else { theirs_idles };
    ends.each().flat_map(|(name, end)| saving_at(name, end, idles(name))).collect()
}

fn saving_at(name: &str, end: &Environment, idles: bool) -> Vec<Warning> {
    let driver = end.settings.get("/sys/devices/system/cpu/cpu*/cpufreq/scaling_driver");
    let chooses_itself = driver.is_none_or(|driver| CHOOSES_ITSELF.contains(&driver.as_str()));
    let lowest = |governor: &str| governor == LOWEST && !chooses_itself;
    let slows = |governor: &&String| lowest(governor) || idles && POWER_SAVING.contains(&governor.as_str());
    let saving = end.governors.iter().filter(slows);
    saving
        .map(|governor| Warning::PowerSavingGovernor {
            governor: governor.clone(),
            end: name.to_owned(),
            lowest: lowest(governor),
        })
        .collect()
}

/// Warns where the clock is coarse for the measured times; a slow source has its own warning.
pub(super) fn coarse_clock(outcome: &Outcome, ends: Ends<'_>, context: &Context) -> Option<Warning> {
    let median_ns = outcome.response.quantiles.first().and_then(|median| median.value_ns)?;
    let (step_ns, read_ns) = (context.clock_step_ns, context.clock_read_ns);
    let twice_read = read_ns.map(|read| read.0.saturating_mul(2));
    let grain = step_ns.map(|step| step.0).into_iter().chain(twice_read).max()?;
    let explained = ends.ours.is_some_and(|ours| slow_clock("our", ours).is_some());
    (outcome.response.count > 0 && grain as f64 > COARSE * median_ns.0 as f64 && !explained)
        .then_some(Warning::CoarseClock { step_ns, read_ns, median_ns })
}

/// Returns true where no thread at either end ever sleeps.
pub(super) fn always_awake(method: &Method) -> bool {
    method.waiting == Waiting::Spin && method.pacing == Pacing::Spin && method.peer_waiting == Some(Waiting::Spin)
}
