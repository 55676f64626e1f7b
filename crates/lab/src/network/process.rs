//! Processes of a lab, and their end: by the facts of `/proc`, and never by a number alone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use endpoint::clock::Monotonic;
use endpoint::pace;
use measure::unit::Nanos;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::network::layout;
use crate::network::state::{Process, State};

/// The variable that is in the environment of every process that is started for a lab.
pub(super) const MARK: &str = "SONDE_LAB";
/// Longest wait for processes to end in order before they are killed, and to be gone when they were.
const GRACE: Nanos = Nanos::secs(2);
/// Searches for processes that are to end: one may start another while it ends.
const ROUNDS: u32 = 6;

/// The running kernel's name of itself; empty where it tells none.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The name of this machine.
pub(super) fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Start of a process, in ticks of the kernel since the machine started; `None`: there is none of this number, or it has
/// ended and waits to be reaped.
pub(super) fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // The 22nd field; the state is the third.
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18)?.parse().ok()).flatten()
}

impl Process {
    /// The process of this number, which was just started.
    pub(super) fn of(pid: u32, what: impl Into<String>) -> Self {
        // One that has ended already started at no time that another could have.
        Self { pid, started: started(pid).unwrap_or(u64::MAX), what: what.into() }
    }

    /// Returns true while it is still there.
    pub(super) fn lives(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Names below `root`'s list of network namespaces that begin so.
pub(super) fn listed(root: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(root.join("run/netns")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort();
    names
}

/// Ends all processes of a lab; those that could not be ended.
pub(super) fn end_all(state: &State) -> Vec<u32> {
    let networks = networks(state);
    for round in 0..ROUNDS {
        let found = found(state, &networks);
        if found.is_empty() {
            return Vec::new();
        }
        let signal = if round == 0 { Signal::TERM } else { Signal::KILL };
        for process in &found {
            send(process, signal);
        }
        let asked = Monotonic::now();
        while found.iter().any(Process::lives) && Monotonic::now().since(asked) < Some(GRACE) {
            pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
        }
    }
    found(state, &networks).into_iter().map(|process| process.pid).collect()
}

/// Names a network namespace to the kernel.
type Network = (u64, u64);

fn network(path: impl AsRef<Path>) -> Option<Network> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// The lab's namespaces that are there.
fn networks(state: &State) -> BTreeSet<Network> {
    let holder = state.holder.as_ref().filter(|holder| holder.lives());
    let root = holder.map_or_else(|| "/".into(), |holder| Path::new("/proc").join(holder.pid.to_string()).join("root"));
    let names = listed(&root, &layout::prefix(&state.id));
    let ours = network("/proc/self/ns/net");
    // A name whose namespace was never mounted is a mere file: no process is in that.
    names.iter().filter_map(|name| network(root.join("run/netns").join(name))).filter(|it| Some(*it) != ours).collect()
}

fn found(state: &State, networks: &BTreeSet<Network>) -> Vec<Process> {
    let noted = state.processes.iter().chain(&state.holder);
    let noted: BTreeSet<(u32, u64)> = noted.map(|process| (process.pid, process.started)).collect();
    let mark = format!("{MARK}={}", state.token);
    let ours = |pid: u32, started: u64| {
        let folder = Path::new("/proc").join(pid.to_string());
        noted.contains(&(pid, started))
            || network(folder.join("ns/net")).is_some_and(|it| networks.contains(&it))
            || !state.token.is_empty()
                && fs::read(folder.join("environ"))
                    .is_ok_and(|all| all.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
    };
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    numbers
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(|pid| started(pid).map(|started| (pid, started)))
        .filter(|(pid, started)| ours(*pid, *started))
        .map(|(pid, started)| Process { pid, started, what: String::new() })
        .collect()
}

/// Sends a signal to this process and to no other that may have got its number.
fn send(process: &Process, signal: Signal) {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return };
    if let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) {
        // Whoever has the number now keeps it for us; so it is looked at once more.
        if process.lives() {
            let _ = pidfd_send_signal(held, signal);
        }
    } else if process.lives() {
        // A kernel without such descriptors: between the look and the signal lies a moment.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::network::state::Phase;
    use logbook::document::Mark;

    fn state(token: &str, processes: Vec<Process>) -> State {
        State {
            mark: Mark::default(),
            id: "none".into(),
            made_ns: 0,
            machine: machine(),
            boot: boot(),
            token: token.into(),
            phase: Phase::Ready,
            namespaces: Vec::new(),
            holder: None,
            processes,
            hosts: Vec::new(),
        }
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        let this = Process::of(std::process::id(), "this");
        assert!(this.lives());
        assert!(!Process { started: this.started + 1, ..this }.lives());
        assert_eq!(started(4_194_305), None);
    }

    #[test]
    fn the_marked_and_the_noted_end_and_nobody_else() {
        let sleeper = |variable: Option<&str>| {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null());
            if let Some(value) = variable {
                command.env(MARK, value);
            }
            command.spawn().unwrap()
        };
        let token = Path::new("/proc/sys/kernel/random/uuid");
        let token = fs::read_to_string(token).unwrap().trim().to_owned();
        let [mut marked, mut noted, mut other, mut stranger] =
            [sleeper(Some(&token)), sleeper(None), sleeper(Some("another")), sleeper(None)];
        // The marks are to be read of what was started, not of what starts it.
        for child in [&marked, &noted, &other, &stranger] {
            while fs::read(format!("/proc/{}/cmdline", child.id())).unwrap() != b"sleep\x00600\x00" {}
        }
        let reused = Process { started: 1, ..Process::of(stranger.id(), "one before") };
        let state = state(&token, vec![Process::of(noted.id(), "noted"), reused]);
        assert_eq!(end_all(&state), [0; 0]);
        assert!(marked.try_wait().unwrap().is_some() && noted.try_wait().unwrap().is_some());
        for child in [&mut other, &mut stranger] {
            assert!(child.try_wait().unwrap().is_none());
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
