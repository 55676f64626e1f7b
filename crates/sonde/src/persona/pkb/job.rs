//! From flags to jobs: each a plan, and the samples that are to be made of it.

use std::collections::BTreeMap;

use logbook::host::Host;
use logbook::plan::{Addresses, AtOnce, Directions, MOST_REPEATS, Order, Pairs, Plan};
use logbook::run::Stage;
use serde_json::{Map, Value};

use crate::persona::answer::Answer;
use crate::persona::pkb::ask::Ask;
use crate::persona::pkb::benchmark::{Benchmark, Wanted};
use crate::persona::pkb::flags::{Flags, ReadFile, complain};
use crate::persona::pkb::{config, provision, stages, static_file};

/// One benchmark to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Its name among those of this run: `netperf0`.
    pub uid: String,
    /// Plan of the measurements, and of the machines that are made for them where the hosts are not there already.
    pub plan: Plan,
    /// Samples that are made of it.
    pub ask: Ask,
    /// Notes for the reader, a line each.
    pub notes: Vec<String>,
    /// Least duration of its measurements, seconds.
    pub seconds: u64,
    /// Flags that a file of settings said for it.
    pub settings: Map<String, Value>,
}

/// Everything that the flags ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The name of the run.
    pub run_uri: String,
    /// Its stages.
    pub stages: Vec<Stage>,
    /// Its benchmarks, in order.
    pub jobs: Vec<Job>,
}

/// Values that flags leave open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// A name for the run where none was said.
    pub run_uri: String,
    /// User who runs it.
    pub owner: String,
}

/// Letters and digits of a run's name at most.
const LONGEST_URI: usize = 12;

/// Session that the flags ask for.
///
/// # Errors
/// A wish that cannot be had or makes no sense, by the flag's name.
pub fn session(flags: &Flags, given: &Given, read: ReadFile<'_>) -> Result<Session, Answer> {
    let stages = stages::read(flags.list("run_stage"))?;
    let run_uri = run_uri(flags, given, &stages)?;
    let owner = flags.text("owner").unwrap_or(&given.owner).to_owned();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut jobs = Vec::new();
    for (benchmark, flags) in config::runs(flags, read)? {
        let count = counts.entry(benchmark.name()).or_default();
        let uid = format!("{}{count}", benchmark.name());
        *count += 1;
        jobs.push(job(benchmark, uid, &flags, &run_uri, &owner, read)?);
    }
    Ok(Session { run_uri, stages, jobs })
}

fn run_uri(flags: &Flags, given: &Given, stages: &[Stage]) -> Result<String, Answer> {
    match flags.text("run_uri") {
        Some(said)
            if said.is_empty()
                || said.len() > LONGEST_URI
                || !said.chars().all(|letter| letter.is_ascii_alphanumeric()) =>
        {
            Err(complain(&format!("--run_uri={said}: is no name of a run: 1 to {LONGEST_URI} letters and digits")))
        }
        Some(said) => Ok(said.to_owned()),
        None if stages.contains(&Stage::Provision) => Ok(given.run_uri.clone()),
        None => Err(complain("--run_stage without provision goes on with a run: say which by --run_uri")),
    }
}

fn job(
    benchmark: Benchmark,
    uid: String,
    flags: &Flags,
    run_uri: &str,
    owner: &str,
    read: ReadFile<'_>,
) -> Result<Job, Answer> {
    let wanted = benchmark.wanted(flags)?;
    let which = Which::of(flags);
    let mut notes = wanted.notes.clone();
    let mut plan = Plan { name: Some(format!("pkb {run_uri} {uid}")), order: Order::Listed, ..Plan::default() };
    plan.directions = wanted.directions;
    plan.addresses = which.addresses;
    plan.methods = wanted.tests.iter().map(|test| test.planned.clone()).collect();
    if let Some(word) = flags.text("os_type").filter(|word| word.to_ascii_lowercase().starts_with("windows")) {
        return Err(complain(&format!("--os_type={word}: hosts run Linux")));
    }
    if let Some(path) = flags.text("static_vm_file") {
        plan.hosts = static_hosts(path, flags, wanted.hosts, which, read)?;
        notes.extend(static_notes(flags));
    } else {
        let (machines, more) = provision::machines(flags, benchmark.name(), wanted.hosts, owner, which.external())?;
        notes.extend(more);
        plan.machines.push(machines);
    }
    if !wanted.fan.is_empty() {
        let names: Vec<String> = match plan.machines.first() {
            Some(machines) => provision::names(machines),
            None => plan.hosts.iter().map(|host| host.name.clone()).collect(),
        };
        plan.pairs = fan(&names, &wanted.fan);
        plan.at_once = AtOnce::All;
    }
    let (runs, seconds) = runs(flags, &wanted, which)?;
    if which.reachable && plan.hosts.iter().all(|host| host.internal.is_none()) && !plan.hosts.is_empty() {
        plan.addresses = Addresses::External;
    }
    plan.repeats = wanted.repeats.saturating_mul(runs);
    if plan.repeats > MOST_REPEATS {
        return Err(complain(&format!("{uid}: {} repeats of each test: {MOST_REPEATS} at most", plan.repeats)));
    }
    notes.extend(flags.notes.iter().cloned());
    let ask = ask(&uid, benchmark, flags, run_uri, owner, &wanted, which)?;
    Ok(Job { benchmark, uid, plan, ask, notes, seconds, settings: flags.settings.clone() })
}

/// The first host with each other; whichever sends is the first of its pair.
fn fan(names: &[String], sends: &[bool]) -> Pairs {
    let Some((first, others)) = names.split_first() else { return Pairs::default() };
    let pair = |(other, sends): (&String, &bool)| {
        if *sends { (first.clone(), other.clone()) } else { (other.clone(), first.clone()) }
    };
    Pairs::Listed(others.iter().zip(sends).map(pair).collect())
}

/// Addresses that carry the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Which {
    addresses: Addresses,
    /// Internal ones only where they answer.
    reachable: bool,
}

impl Which {
    fn of(flags: &Flags) -> Self {
        let (addresses, reachable) = match flags.text("ip_addresses") {
            Some("EXTERNAL") => (Addresses::External, false),
            Some("BOTH") => (Addresses::Both, false),
            Some("REACHABLE") => (Addresses::Both, true),
            _ => (Addresses::Internal, false),
        };
        Self { addresses, reachable }
    }

    fn external(self) -> bool {
        self.addresses != Addresses::Internal
    }

    /// Returns true where a host without an internal address cannot be measured as was asked.
    fn needs_internal(self) -> bool {
        self.addresses != Addresses::External && !self.reachable
    }
}

/// The first so many hosts of the file.
fn static_hosts(path: &str, flags: &Flags, count: u32, which: Which, read: ReadFile<'_>) -> Result<Vec<Host>, Answer> {
    let text = read(path).map_err(|why| complain(&format!("--static_vm_file={path}: {why}")))?;
    let mut hosts = static_file::read(path, &text, flags.list("static_vm_tags"))?;
    if hosts.len() < count as usize {
        let there = hosts.len();
        return Err(complain(&format!(
            "--static_vm_file={path}: lists {there} machines, and {count} are needed: none of a cloud is put beside them"
        )));
    }
    hosts.truncate(count as usize);
    let lacking = hosts.iter().find(|host| host.internal.is_none()).filter(|_| which.needs_internal());
    match lacking {
        Some(host) => Err(complain(&format!(
            "--static_vm_file={path}: {} has no `internal_ip`: put it there, or say --ip_addresses=EXTERNAL",
            host.name
        ))),
        None => Ok(hosts),
    }
}

/// Flags of machines to be made, where none are made.
fn static_notes(flags: &Flags) -> Vec<String> {
    let idle = [
        "cloud",
        "zone",
        "zones",
        "extra_zones",
        "machine_type",
        "placement_group_style",
        "image",
        "os_type",
        "project",
    ];
    let said: Vec<String> = idle.iter().filter(|name| flags.is_said(name)).map(|name| format!("--{name}")).collect();
    if said.is_empty() {
        return Vec::new();
    }
    vec![format!("{}: not heeded: with --static_vm_file no machine is made", said.join(", "))]
}

/// Repeats of the run stage, and least duration of all of it, seconds.
fn runs(flags: &Flags, wanted: &Wanted, which: Which) -> Result<(u32, u64), Answer> {
    let iterations = flags.count("run_stage_iterations").unwrap_or(1);
    let least = flags.count("run_stage_time").unwrap_or(0);
    if iterations > 1 && least > 0 {
        return Err(complain("--run_stage_iterations and --run_stage_time: one of the two"));
    }
    let tests: u64 = wanted.tests.iter().map(|test| test.seconds).sum();
    // In a mesh, half of the hosts measure the other half at once at best.
    let rounds = if wanted.fan.is_empty() { u64::from(wanted.hosts.max(2) - 1) } else { 1 };
    let ways = if wanted.directions == Directions::Both { 2 } else { 1 };
    // With internal addresses only where they answer, external ones are sure.
    let kinds = if which.reachable { 1 } else { which.addresses.each().len() as u64 };
    let once = (tests * rounds * ways * kinds * u64::from(wanted.repeats)).max(1);
    let runs = if least > 0 { u64::from(least).div_ceil(once) } else { u64::from(iterations) };
    let runs = u32::try_from(runs).unwrap_or(u32::MAX);
    Ok((runs, once.saturating_mul(u64::from(runs))))
}

fn ask(
    uid: &str,
    benchmark: Benchmark,
    flags: &Flags,
    run_uri: &str,
    owner: &str,
    wanted: &Wanted,
    which: Which,
) -> Result<Ask, Answer> {
    Ok(Ask {
        test: benchmark.name().to_owned(),
        uid: uid.to_owned(),
        run_uri: run_uri.to_owned(),
        owner: owner.to_owned(),
        product_name: flags.text("product_name").unwrap_or("PerfKitBenchmarker").to_owned(),
        official: flags.switch("official", false),
        metadata: metadata(flags)?,
        collapse_labels: flags.switch("collapse_labels", true),
        repeats_of_a_run: wanted.repeats,
        internal_where_reachable: which.reachable,
        measurements: wanted.tests.iter().map(|test| test.asked.clone()).collect(),
    })
}

/// `key:value`, several with commas between them.
fn metadata(flags: &Flags) -> Result<BTreeMap<String, String>, Answer> {
    let mut metadata = BTreeMap::new();
    let pairs = flags.list("metadata").iter().flat_map(|said| said.split(',')).map(str::trim);
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        match pair.split_once(':') {
            Some((key, value)) if !key.trim().is_empty() && !pair.contains('|') => {
                metadata.insert(key.trim().to_owned(), value.trim().to_owned());
            }
            _ => {
                return Err(complain(&format!(
                    "--metadata={pair}: is no key:value, or holds a `|`, which parts labels"
                )));
            }
        }
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests;
