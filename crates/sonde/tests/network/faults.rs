//! Faults in the middle of a measurement, at either end, for every kind of program: each ends in bounded time, keeps and prints what
//! it measured, says by its status that it is not whole, and blames nobody falsely.
//!
//! A fifth of them is tried with all other tests, each program and each fault at least once; `SONDE_FAULTS=all` tries all of them and
//! prints a table.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use endpoint::clock::Monotonic;
use endpoint::pace;
use lab::namespace::{Namespace, Pair};
use measure::unit::Nanos;
use rustix::process::Signal;
use testbed::process::{self, Ended, Running};
use testbed::wait;

use crate::scene::{Scene, as_a_stranger, installed, run, tell};

/// No patience of the program is as long, and without one it would wait for ever.
const BOUND: Duration = Duration::from_secs(90);
/// Time for which a program that is stopped stands still.
const STILL: Nanos = Nanos::secs(1);
/// Trials at the same time: they wait most of their time.
const WORKERS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The process ends without a word.
    Kill,
    /// The process stands still; ours goes on after a while.
    Stop,
    /// The interface goes down.
    LinkDown,
    /// Nothing is let in any more.
    DropIn,
    /// Nothing is let out any more.
    DropOut,
}

const FAULTS: [Fault; 5] = [Fault::Kill, Fault::Stop, Fault::LinkDown, Fault::DropIn, Fault::DropOut];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The end that measures.
    Near,
    /// The end that answers.
    Far,
}

/// A program, how it is run, and after how many packets from the far side the fault comes.
struct Program {
    name: &'static str,
    /// `TARGET` stands for the far side's address.
    words: &'static [&'static str],
    packets: u64,
}

const PROGRAMS: [Program; 14] = [
    of("rtt tcp", &["rtt", "TARGET", "--tcp", "--every", "5ms", "-t", "3", "--warm-up", "0"]),
    of("rtt udp", &["rtt", "TARGET", "--udp", "--every", "5ms", "-t", "3", "--warm-up", "0"]),
    of("rtt --connect", &["rtt", "TARGET", "--connect", "--every", "10ms", "-t", "3", "--warm-up", "0"]),
    of("rtt --crr", &["rtt", "TARGET", "--crr", "--every", "10ms", "-t", "3", "--warm-up", "0"]),
    of("load", &["load", "TARGET", "--rate", "200", "-t", "3", "--warm-up", "0"]),
    of("throughput", &["throughput", "TARGET", "-t", "3", "--no-test"]),
    of(
        "compare",
        &[
            "compare",
            "rtt --tcp",
            "rtt --udp",
            "--with",
            "TARGET -t 300ms --every 5ms --warm-up 0",
            "--runs",
            "6",
            "--no-moves",
        ],
    ),
    of(
        "sweep",
        &["sweep", "TARGET", "--over", "interval=5ms,10ms", "--blocks", "2", "--", "-t", "1", "--warm-up", "0"],
    ),
    of("why", &["why", "TARGET", "--blocks", "1", "--budget", "20s"]),
    // Two seconds without an answer are a silence that it tells: a fault may come a while after its packet, where this machine is busy.
    of("look", &["TARGET", "-t", "10"]),
    of("ping", &["ping", "-i", "0.01", "-c", "300", "-W", "1", "TARGET"]),
    of("netperf", &["netperf", "-H", "TARGET", "-t", "TCP_RR", "-l", "3"]),
    of("iperf3", &["iperf3", "-c", "TARGET", "-t", "3"]),
    of("sockperf", &["sockperf", "ping-pong", "-i", "TARGET", "-t", "3"]),
];

const fn of(name: &'static str, words: &'static [&'static str]) -> Program {
    Program { name, words, packets: 80 }
}

struct Trial {
    program: &'static Program,
    fault: Fault,
    end: End,
}

/// All that make sense: an echo is answered by the kernel, whatever becomes of a server.
fn all() -> Vec<Trial> {
    let each = PROGRAMS.iter().flat_map(|program| {
        FAULTS.into_iter().flat_map(move |fault| [End::Far, End::Near].map(|end| Trial { program, fault, end }))
    });
    let of_server = |trial: &Trial| trial.end == End::Far && matches!(trial.fault, Fault::Kill | Fault::Stop);
    let makes_sense = |trial: &Trial| trial.program.name != "ping" || !of_server(trial);
    each.filter(makes_sense).collect()
}

/// A sonde in `namespace`, not started.
fn sonde(namespace: &Namespace, words: &[&str]) -> Command {
    let mut command = namespace.command(assert_cmd::cargo::cargo_bin!("sonde"));
    as_a_stranger(&mut command);
    command.args(words);
    command
}

/// A server of every protocol.
fn server(pair: &Pair) -> Running {
    let words = ["serve", "--open", "--netperf", "--iperf3", "--sockperf"];
    let running = process::started(sonde(pair.far(), &words).stdin(Stdio::null()));
    wait::until("it listens", || running.stderr().lines().count() >= 4);
    running
}

/// Packets that the near interface has received.
fn received(pair: &Pair) -> u64 {
    let near = pair.near();
    let text = run(near, &["cat", "/proc/net/dev"]);
    let line = text.lines().find_map(|line| line.trim().strip_prefix(near.interface())?.strip_prefix(':'));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok()).expect("a count")
}

impl Trial {
    fn name(&self) -> String {
        format!("{}, {:?} {:?}", self.program.name, self.fault, self.end)
    }

    fn run(&self) -> Result<Ended, String> {
        let pair = Pair::new().map_err(|error| error.to_string())?;
        let server = server(&pair);
        let target = pair.far().v4().to_string();
        let words: Vec<String> = self.program.words.iter().map(|word| word.replace("TARGET", &target)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let before = received(&pair);
        let client = process::started(&mut sonde(pair.near(), &words));
        wait::until("it measures", || client.has_ended() || received(&pair) >= before + self.program.packets);
        self.strike(&pair, &client, &server);
        let ended = client.end(BOUND);
        server.signal(Signal::CONT);
        server.signal(Signal::KILL);
        drop(server.end(BOUND));
        Ok(ended)
    }

    /// Returns true where trials that come later cannot be made.
    fn cuts_a_study(&self) -> bool {
        matches!(self.program.name, "compare" | "sweep") && self.fault != Fault::Stop
    }

    /// Returns true where nothing is heard any more until the end: the peer stands still, or nothing leaves or arrives.
    /// Handshakes wait for one another, and may be too few to show it. sockperf's datagrams are counted as the original
    /// counts them, and the status says that some were answered.
    fn cuts(&self) -> bool {
        let stands = self.fault == Fault::Stop;
        match self.program.name {
            "rtt tcp" | "rtt udp" | "load" | "netperf" | "iperf3" | "throughput" => !stands || self.end == End::Far,
            "look" => matches!(self.fault, Fault::LinkDown | Fault::DropIn | Fault::DropOut),
            _ => false,
        }
    }

    /// Faults of its end.
    fn faults(&self, ended: &Ended) -> Vec<&'static str> {
        // Words for a peer that ended or a firewall that refuses.
        const BLAME: [&str; 5] = [
            "TCP reset",
            "closed the connection",
            "connection was closed",
            "connection refused",
            "program still listens",
        ];
        let killed = self.fault == Fault::Kill;
        let checks = [
            (ended.overdue, "it hangs"),
            (ended.said("panicked"), "it panics"),
            ((self.fault, self.end) == (Fault::Kill, End::Near), ""),
            (ended.code.is_none(), "a signal ended it"),
            (self.cuts_a_study() && ended.code == Some(0), "its status says that it is whole"),
            (self.cuts() && ended.code == Some(0), "its status says that it is whole"),
            (ended.stdout.trim().is_empty(), "nothing of what was measured is printed"),
            (!killed && BLAME.iter().any(|blame| ended.said(blame)), "it blames somebody falsely"),
        ];
        let until = checks.iter().position(|(found, what)| *found && what.is_empty()).unwrap_or(checks.len());
        checks[..until].iter().filter(|(found, _)| *found).map(|(_, what)| *what).collect()
    }

    fn strike(&self, pair: &Pair, client: &Running, server: &Running) {
        let (namespace, process) = match self.end {
            End::Near => (pair.near(), client),
            End::Far => (pair.far(), server),
        };
        let drop_all = |hook: &str| {
            let rules =
                format!("table inet fault {{ chain c {{ type filter hook {hook} priority 0; policy drop; }}; }}");
            run(namespace, &["nft", &rules]);
        };
        match self.fault {
            Fault::Kill => process.signal(Signal::KILL),
            Fault::Stop => {
                process.signal(Signal::STOP);
                if self.end == End::Near {
                    pace::sleep_until(Monotonic::now().after(STILL));
                    process.signal(Signal::CONT);
                }
            }
            Fault::LinkDown => drop(run(namespace, &["ip", "link", "set", namespace.interface(), "down"])),
            Fault::DropIn => drop_all("input"),
            Fault::DropOut => drop_all("output"),
        }
    }
}

/// Every one of `trials`, several at a time; each with its outcome.
fn tried(trials: &[Trial], asked: bool) -> Vec<(Trial, Result<Ended, String>)> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = trial.run();
                    if asked && let Ok(ended) = &ended {
                        tell(&format!("#### {}: {}\n", trial.name(), ended.told()));
                    }
                    let place = Trial { ..*trial };
                    found.lock().unwrap_or_else(PoisonError::into_inner).push((place, ended));
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a test is told by its environment how much to try")]
fn asked() -> Option<String> {
    std::env::var("SONDE_FAULTS").ok()
}

#[test]
fn a_fault_in_the_middle_keeps_what_was_measured_and_blames_nobody_falsely() {
    let what = "faults in the middle of measurements";
    if !installed("nft", "nftables", what) {
        return;
    }
    let Some(_scene) = Scene::beside(what) else { return };
    let asked = asked();
    if asked.is_none() {
        testbed::skip::aloud("every fault for every program: `make faults`; here a fifth of them");
    }
    let trials: Vec<Trial> = match asked.as_deref() {
        // Two of every ten, so that each program and each fault has its turn.
        None => all()
            .into_iter()
            .enumerate()
            .filter(|(place, _)| place % 5 == place / 10 % 5)
            .map(|(_, trial)| trial)
            .collect(),
        Some("all") => all(),
        Some(name) => all().into_iter().filter(|trial| trial.name().contains(name)).collect(),
    };
    let mut wrong = Vec::new();
    for (trial, ended) in tried(&trials, asked.is_some()) {
        let ended = ended.unwrap_or_else(|error| panic!("{}: {error}", trial.name()));
        let said = trial.faults(&ended);
        if !said.is_empty() {
            wrong.push(format!("{}: {}: {}", trial.name(), said.join("; "), ended.told()));
        }
    }
    assert!(wrong.is_empty(), "{} trials:\n{}", wrong.len(), wrong.join("\n"));
}
