//! Disturbances of a host during a measurement: readings at the start and at the end, and their difference.
//!
//! Between the two nothing runs: no thread, no timer. A measuring thread reads its own [`ThreadFacts`] when it starts
//! and ends and hands the difference to [`Watch::add`]; threads that live through both ends are seen without.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use measure::environment::{Disturbance, Environment};
use measure::unit::{Instant, Nanos};

use super::files::Files;
use super::machine::Machine;
use super::{Reader, Seen, recent};
use crate::clock::Monotonic;
use crate::facts::thread::{ThreadFacts, ThreadSpan};

/// A host under observation, from [`Watch::start`] to [`Watch::finish`].
#[derive(Debug)]
pub struct Watch {
    reader: Reader,
    begun: Instant,
    before: Seen,
    machine: Arc<Machine>,
    start: Sample,
    /// The threads of the process are looked at, where none is handed over.
    with_threads: bool,
    spans: Vec<ThreadSpan>,
}

impl Watch {
    /// Reads all facts, then the counters: what happens from here on is the measurement's.
    pub fn start(reader: Reader) -> Self {
        Self::of(reader, true)
    }

    /// The same, where the measuring threads are those alone that [`Watch::add`] is told of.
    pub fn start_without_threads(reader: Reader) -> Self {
        Self::of(reader, false)
    }

    fn of(reader: Reader, with_threads: bool) -> Self {
        let begun = Monotonic::now();
        let before = reader.look();
        let machine = machine_at_begin(&reader, before.interface());
        let start = Sample::take(&reader.files, with_threads);
        Self { reader, begun, before, machine, start, with_threads, spans: Vec::new() }
    }

    /// Begins anew, after a warm-up: counters count from here, and spans handed over so far are dropped. The facts
    /// stay those of the start.
    pub fn begin(&mut self) {
        self.spans.clear();
        self.machine = machine_at_begin(&self.reader, self.before.interface());
        self.start = Sample::take(&self.reader.files, self.with_threads);
    }

    /// The facts at the start.
    pub fn environment(&self) -> Environment {
        Environment { read_before_ns: self.read_before(), ..self.before.whole(&self.reader.program) }
    }

    /// Lead of the oldest of its readings over its start; `None`: they were begun for this watch.
    fn read_before(&self) -> Option<Nanos> {
        self.begun.since(self.before.at().min(self.machine.at)).filter(|early| *early > Nanos::ZERO)
    }

    /// Hands over what a measuring thread had of the scheduler from its start to its end. Once one is handed over, only
    /// these count as measuring threads; otherwise all threads of the process that lived at both ends do.
    pub fn add(&mut self, span: ThreadSpan) {
        self.spans.push(span);
    }

    /// Reads the counters, then all facts again. The facts are those of the start; what is different now is in
    /// `changed`.
    pub fn finish(self) -> Environment {
        let end = Sample::take(&self.reader.files, self.with_threads);
        let machine = self.machine_at_end(end.at);
        let after = self.reader.look();
        let mut facts = self.environment();
        if !after.is_of_one_reading(&self.before) {
            facts.changed = changes(&facts, &after.whole(&self.reader.program));
        }
        if let Some(machine) = &machine {
            facts.counters = machine.counters.since(&self.machine.counters);
        }
        facts.disturbance = Some(self.disturbance(&end, machine.as_deref(), &mut facts.unread));
        facts
    }

    fn machine_at_end(&self, now: Instant) -> Option<Arc<Machine>> {
        let (files, interface) = (&self.reader.files, self.before.interface());
        if self.reader.shared {
            return recent::machine_at_end(files, interface, self.start.at.min(now));
        }
        Some(Arc::new(Machine::read(files, interface)))
    }

    fn disturbance(&self, end: &Sample, machine: Option<&Machine>, unread: &mut Vec<String>) -> Disturbance {
        let found = of_process(&self.start, end, &self.spans);
        let found = match machine {
            Some(machine) => of_machine(found, &self.machine, machine),
            None => found,
        };
        note_unread(&found, machine.is_some(), unread);
        found
    }
}

/// Looks at this host again and again, as once a second, and tells what happened between two looks. It reads a fraction of what [`Watch`] does.
#[derive(Debug)]
pub struct Glances {
    files: Files,
    sample: Sample,
    machine: Machine,
}

impl Glances {
    /// The first look.
    pub fn begin() -> Self {
        Self::of(Files::host())
    }

    fn of(files: Files) -> Self {
        Self { sample: Sample::take(&files, true), machine: Machine::glance(&files), files }
    }

    /// Disturbance of this host since the look before, and packets that the kernel dropped because a queue was full, by `protocol.counter`.
    pub fn since_last(&mut self) -> (Disturbance, BTreeMap<String, i64>) {
        let before = mem::replace(self, Self::of(self.files.clone()));
        let ours = of_process(&before.sample, &self.sample, &[]);
        (of_machine(ours, &before.machine, &self.machine), self.machine.counters.since(&before.machine.counters))
    }
}

/// Disturbance of this process from `start` to `end`; its threads as they are in `spans`, or those that lived at both.
fn of_process(start: &Sample, end: &Sample, spans: &[ThreadSpan]) -> Disturbance {
    let lived = if spans.is_empty() { spans_of(&start.threads, &end.threads) } else { spans.to_vec() };
    let process = start.process.zip(end.process);
    Disturbance {
        watched_ns: end.at.since(start.at).unwrap_or_default(),
        run_queue_share: lived.iter().filter_map(ThreadSpan::waited_share).max_by(f64::total_cmp),
        involuntary_switches: process.and_then(|(a, b)| b.involuntary.checked_sub(a.involuntary)),
        user_ns: process.and_then(|(a, b)| b.user.0.checked_sub(a.user.0)).map(Nanos),
        system_ns: process.and_then(|(a, b)| b.system.0.checked_sub(a.system.0)).map(Nanos),
        ..Disturbance::default()
    }
}

/// Together with what the whole machine did from `before` to `after`, over that time.
fn of_machine(found: Disturbance, before: &Machine, after: &Machine) -> Disturbance {
    Disturbance {
        watched_ns: after.at.since(before.at).unwrap_or_default(),
        steal_share: before.cpu_time.zip(after.cpu_time).and_then(|(a, b)| b.steal_share_since(a)),
        cpu_pressure_share: before.pressure.zip(after.pressure).and_then(|(a, b)| b.share_since(a)),
        softnet_squeezed: before.squeezed.zip(after.squeezed).and_then(|(a, b)| b.checked_sub(a)),
        ..found
    }
}

fn machine_at_begin(reader: &Reader, interface: Option<&str>) -> Arc<Machine> {
    if reader.shared {
        return recent::machine_at_begin(&reader.files, interface);
    }
    Arc::new(Machine::read(&reader.files, interface))
}

fn note_unread(found: &Disturbance, has_machine: bool, unread: &mut Vec<String>) {
    let mut note = |is_missing: bool, reason: &str| {
        if is_missing {
            unread.push(reason.to_owned());
        }
    };
    note(found.run_queue_share.is_none(), "run-queue delay: no scheduler statistics of a thread that lived throughout");
    if has_machine {
        note(found.steal_share.is_none(), "steal: /proc/stat tells none, or no tick passed");
        note(found.cpu_pressure_share.is_none(), "/proc/pressure/cpu: not there, or off");
        note(found.softnet_squeezed.is_none(), "/proc/net/softnet_stat: not there");
    } else {
        note(true, "counters, steal, CPU pressure: too short for a reading of its own, among many sessions");
    }
    note(found.user_ns.is_none(), "CPU time of the process: not asked for a tree of files");
}

fn spans_of(start: &BTreeMap<u32, ThreadFacts>, end: &BTreeMap<u32, ThreadFacts>) -> Vec<ThreadSpan> {
    end.iter().filter_map(|(tid, facts)| facts.since(start.get(tid)?)).collect()
}

/// Facts of this process, read at both ends.
#[derive(Debug)]
struct Sample {
    at: Instant,
    threads: BTreeMap<u32, ThreadFacts>,
    process: Option<ProcessTime>,
}

impl Sample {
    fn take(files: &Files, with_threads: bool) -> Self {
        Self {
            at: Monotonic::now(),
            threads: if with_threads { threads(files) } else { BTreeMap::new() },
            process: files.is_live().then(ProcessTime::now),
        }
    }
}

fn threads(files: &Files) -> BTreeMap<u32, ThreadFacts> {
    let tids = files.names("/proc/self/task").into_iter().filter_map(|name| name.parse::<u32>().ok());
    tids.filter_map(|tid| {
        let text = files.text(&format!("/proc/self/task/{tid}/schedstat")).ok()?;
        Some((tid, ThreadFacts::parse(&text, Monotonic::now())?))
    })
    .collect()
}

/// CPU time and involuntary switches of the process so far, ended threads included.
#[derive(Clone, Copy, Debug)]
struct ProcessTime {
    user: Nanos,
    system: Nanos,
    involuntary: u64,
}

impl ProcessTime {
    fn now() -> Self {
        // SAFETY: `rusage` is a C structure of integers: all zeroes is a valid value of it.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is writable through the call. With RUSAGE_SELF and a valid pointer it cannot fail.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        let nanos = |time: libc::timeval| Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000);
        Self { user: nanos(usage.ru_utime), system: nanos(usage.ru_stime), involuntary: usage.ru_nivcsw as u64 }
    }
}

/// Facts that change by themselves: their change has no meaning.
const RESTLESS: &[&str] = &["adjtimex.", "/cpufreq/scaling_cur_freq", "neighbour.state"];

/// Differences of two readings, as `name: before -> after`.
fn changes(before: &Environment, after: &Environment) -> Vec<String> {
    // Mostly so, and told at once.
    if before == after {
        return Vec::new();
    }
    let (before, after) = (leaves(before), leaves(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let value =
        |facts: &BTreeMap<String, String>, name: &String| facts.get(name).cloned().unwrap_or("absent".to_owned());
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .filter(|name| !RESTLESS.iter().any(|restless| name.contains(restless)))
        .map(|name| format!("{name}: {} -> {}", value(&before, name), value(&after, name)))
        .collect()
}

/// All facts by name, settings under their own. So a fact that the vocabulary gains later is compared too.
fn leaves(facts: &Environment) -> BTreeMap<String, String> {
    let facts = Environment {
        disturbance: None,
        counters: BTreeMap::new(),
        changed: Vec::new(),
        unread: Vec::new(),
        ..facts.clone()
    };
    let mut found = BTreeMap::new();
    collect("", &serde_json::to_value(facts).unwrap_or_default(), &mut found);
    found
}

fn collect(name: &str, value: &serde_json::Value, into: &mut BTreeMap<String, String>) {
    use serde_json::Value;
    match value {
        Value::Null => {}
        Value::Object(members) => {
            for (key, member) in members {
                let inner = if name.is_empty() || name == "settings" { key.clone() } else { format!("{name}.{key}") };
                collect(&inner, member, into);
            }
        }
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            into.insert(name.to_owned(), items.join(", "));
        }
        Value::String(text) => {
            into.insert(name.to_owned(), text.clone());
        }
        other => {
            into.insert(name.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::planted::Tree;
    use super::*;

    fn tree() -> Tree {
        Tree::of(include_str!("../../tests/fixtures/guest.tree"))
    }

    fn watch(tree: &Tree) -> Watch {
        Watch::start(Reader::tree("sonde 0", tree.root()).through("eth0"))
    }

    #[test]
    fn nothing_that_happened_is_nothing_said() {
        let facts = watch(&tree()).finish();
        assert_eq!(facts.counters, BTreeMap::new());
        assert_eq!(facts.changed, Vec::<String>::new());
        let disturbance = facts.disturbance.unwrap();
        assert_eq!((disturbance.softnet_squeezed, disturbance.cpu_pressure_share), (Some(0), Some(0.0)));
        // No tick passed, so no share of ticks can be told; the kernel was not asked.
        assert_eq!((disturbance.steal_share, disturbance.user_ns), (None, None));
        assert!(facts.unread.iter().any(|line| line.starts_with("steal")), "{:?}", facts.unread);
    }

    #[test]
    fn steal_is_a_share_of_the_ticks_of_our_cpus() {
        let tree = tree();
        let watch = watch(&tree);
        // CPU 2 is not ours (0-1): what is stolen there does not count.
        tree.put(
            "/proc/stat",
            "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 150 0 0 1040 0 0 0 10 0 0\ncpu1 100 0 0 1000 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 999 0 0\n",
        );
        let disturbance = watch.finish().disturbance.unwrap();
        assert_eq!(disturbance.steal_share, Some(0.1));
    }

    #[test]
    fn squeezes_and_pressure_are_differences() {
        let tree = tree();
        let watch = watch(&tree);
        tree.put("/proc/thread-self/net/softnet_stat", "00000018 00000010 00000005 0\n000011c5 00000001 00000001 0\n");
        tree.put("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000\n");
        let disturbance = watch.finish().disturbance.unwrap();
        assert_eq!(disturbance.softnet_squeezed, Some(4));
        // A millisecond more than at the start; of what time, a busy machine decides: the next test has that.
        let share = disturbance.cpu_pressure_share.unwrap();
        assert!(share > 0.0 && share.is_finite(), "{share}");
    }

    #[test]
    fn what_changed_is_named_with_both_values() {
        let tree = tree();
        let watch = watch(&tree);
        tree.put("/proc/sys/net/core/rmem_max", "999\n");
        tree.put("/sys/class/net/eth0/mtu", "9000\n");
        tree.remove("/proc/sys/net/core/busy_poll");
        let facts = watch.finish();
        assert_eq!(
            facts.changed,
            [
                "/proc/sys/net/core/busy_poll: 0 -> absent",
                "/proc/sys/net/core/rmem_max: 212992 -> 999",
                "interface.mtu_bytes: 1400 -> 9000",
            ]
        );
        assert_eq!(facts.interface.unwrap().mtu_bytes, Some(1_400), "the facts are those of the start");
    }

    #[test]
    fn the_worst_thread_handed_over_counts_and_no_other() {
        let mut watch = watch(&tree());
        for waited in [100, 300, 200] {
            watch.add(ThreadSpan { watched_ns: Nanos(1_000), ran_ns: Nanos(500), waited_ns: Nanos(waited) });
        }
        assert_eq!(watch.finish().disturbance.unwrap().run_queue_share, Some(0.3));
    }

    #[test]
    fn a_thread_that_lived_throughout_is_seen_unasked() {
        let tree = tree();
        let watch = watch(&tree);
        tree.put("/proc/self/task/77/schedstat", "1001 1000000000000 9\n");
        tree.put("/proc/self/task/78/schedstat", "1 1 1\n");
        // Thread 77 waited for 1000 s more than at the start, 78 was not there then.
        assert!(watch.finish().disturbance.unwrap().run_queue_share.unwrap() > 1.0);
    }
}
