//! PKB's benchmarks as methods of ours.

mod bidirectional;
mod iperf;
mod mesh;
mod netperf;
mod ping;

use logbook::plan::{Directions, PlannedMethod};

use crate::persona::answer::Answer;
use crate::persona::pkb::ask::{Measurement, Metrics};
use crate::persona::pkb::flags::{Flags, complain};

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benchmark {
    /// Echoes each second.
    Ping,
    /// Round trips and streams.
    Netperf,
    /// Streams.
    Iperf,
    /// Every host with every other.
    Mesh,
    /// One host with several at once, streams to some and from others.
    Bidirectional,
}

/// A test of a benchmark: a method and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The method, its command in our words.
    pub planned: PlannedMethod,
    /// Samples that are asked for.
    pub asked: Measurement,
    /// Its duration, seconds, with its warm-up.
    pub seconds: u64,
}

/// A benchmark as its flags want it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Hosts it takes, a count.
    pub hosts: u32,
    /// Directions in which each pair is measured.
    pub directions: Directions,
    /// Directions where the first host is measured with each other at once, in the hosts' order: true where it sends to that
    /// one. Empty: each pair of hosts in rounds.
    pub fan: Vec<bool>,
    /// Repeats of each test in one run of the run stage.
    pub repeats: u32,
    /// Its tests, in order.
    pub tests: Vec<Test>,
    /// Differences from PKB's, a line each.
    pub notes: Vec<String>,
}

/// Benchmarks of networks that PKB has and this program does not play, and why.
const NOT_HAD: [(&str, &str); 12] = [
    (
        "netperf_aggregate",
        "it is a script of netperf's that starts netperfs one after the other: run it on `sonde install-names` as it is. \
         The load of several hosts at once: --benchmarks=bidirectional_network",
    ),
    (
        "container_netperf",
        "no containers are started: list their hosts by --static_vm_file, and say --benchmarks=netperf",
    ),
    ("fio_netperf", "there is no disk's load beside it here"),
    ("netperf_hammerdbcli", "there is no database beside it here"),
    ("iperf3", "it is of Windows hosts alone: --benchmarks=iperf asks the same of Linux"),
    ("nuttcp", "it is of Windows hosts alone: --benchmarks=iperf --iperf_benchmarks=UDP asks the same of Linux"),
    ("ntttcp", "it is of Windows hosts alone: --benchmarks=iperf asks the same of Linux"),
    ("psping", "it is of Windows hosts alone: --benchmarks=netperf --netperf_benchmarks=TCP_RR asks the same of Linux"),
    ("cloudharmony_iperf", "its wrapper is not spoken: --benchmarks=iperf asks the same"),
    ("cloudharmony_network", "web endpoints are not measured: `sonde check` looks at one"),
    ("gpu_pingpong", "there are no GPUs here"),
    ("standard_set", "sets hold benchmarks of other kinds: name those of networks"),
];

impl Benchmark {
    /// All that are played.
    pub const ALL: [Self; 5] = [Self::Ping, Self::Netperf, Self::Iperf, Self::Mesh, Self::Bidirectional];

    /// Its name in PKB.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Netperf => "netperf",
            Self::Iperf => "iperf",
            Self::Mesh => "mesh_network",
            Self::Bidirectional => "bidirectional_network",
        }
    }

    /// The benchmark of a name.
    ///
    /// # Errors
    /// One that is not had, and why.
    pub fn named(name: &str) -> Result<Self, Answer> {
        if let Some(found) = Self::ALL.into_iter().find(|one| one.name() == name) {
            return Ok(found);
        }
        let names = Self::ALL.map(Self::name).join(", ");
        let why = NOT_HAD.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
        Err(complain(&match why {
            Some(why) => format!("--benchmarks={name}: {why}"),
            None => format!("--benchmarks={name}: is none of those that are played here: {names}"),
        }))
    }

    /// Tests and hosts that its flags ask for.
    ///
    /// # Errors
    /// A test that is not had, a value that makes no sense.
    pub fn wanted(self, flags: &Flags) -> Result<Wanted, Answer> {
        match self {
            Self::Ping => Ok(ping::wanted()),
            Self::Netperf => netperf::wanted(flags),
            Self::Iperf => iperf::wanted(flags),
            Self::Mesh => Ok(mesh::wanted(flags)),
            Self::Bidirectional => bidirectional::wanted(flags),
        }
    }
}

/// A test of these words.
fn test(name: &str, command: String, metrics: Metrics, metadata: &[(&str, String)], seconds: u64) -> Test {
    let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Test {
        planned: PlannedMethod { name: name.to_owned(), command },
        asked: Measurement { method: name.to_owned(), metrics, metadata },
        seconds,
    }
}

/// The name of a test, with the number of its streams where there are several numbers.
fn named(test: &str, streams: u32, of: &[u32]) -> String {
    if of.len() > 1 { format!("{test}_{streams}streams") } else { test.to_owned() }
}

/// The numbers of streams that were said, each once.
///
/// # Errors
/// None, 0, or more than an end holds.
fn streams(flags: &Flags, name: &str) -> Result<Vec<u32>, Answer> {
    /// Connections of one end that a run takes.
    const MOST: u32 = 1_000;
    let mut all = Vec::new();
    for count in flags.integers(name).unwrap_or(&[1]) {
        if !(1..=MOST).contains(count) {
            return Err(complain(&format!("--{name}: {count} streams: 1 to {MOST}")));
        }
        if !all.contains(count) {
            all.push(*count);
        }
    }
    Ok(all)
}

/// The tests that a list names, each once; `usual` where none was named.
///
/// # Errors
/// One that is not among `known`.
fn chosen<'a>(flags: &'a Flags, name: &str, usual: &[&'a str], known: &[&str]) -> Result<Vec<&'a str>, Answer> {
    let said: Vec<&str> = flags.list(name).iter().map(String::as_str).collect();
    if flags.is_said(name) && said.is_empty() {
        return Err(complain(&format!("--{name}=: names no test: there are {}", known.join(", "))));
    }
    let mut all = Vec::new();
    for test in if said.is_empty() { usual } else { &said } {
        if !known.contains(test) {
            return Err(complain(&format!("--{name}={test}: is no test: there are {}", known.join(", "))));
        }
        if !all.contains(test) {
            all.push(*test);
        }
    }
    Ok(all)
}
