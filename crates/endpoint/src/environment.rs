//! What this host is, read from the kernel as it stands: an [`Environment`] before a measurement, what changed in it by
//! its end, and what disturbed it meanwhile ([`watch::Watch`]).
//!
//! Read-only and without privileges. What cannot be read is named with its reason in `unread`; nothing is guessed.
//! Never read: serial numbers, product UUIDs, hardware addresses, user names, keys; of the kernel's command line only
//! the words that bear on time. `docs/facts.md` lists every source. Not here: judging the facts (`measure::verdict`),
//! facts of single sockets and threads ([`crate::facts`]).

mod cgroup;
mod counters;
mod cpu;
mod ethtool;
mod files;
mod interface;
mod kept;
mod netlink;
mod settings;
mod timekeeping;
pub mod watch;
pub mod way;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use measure::environment::Environment;
use measure::unit::{Instant, Nanos};

use crate::clock::Monotonic;
use files::{Files, Notes};
pub use interface::Towards;
pub use timekeeping::clock_state;

/// How old facts of this host may be where many ask for them.
const RECENT: Nanos = Nanos::millis(100);

/// The latest reading of this host for many, and when it was begun.
static LATEST: Mutex<Option<(Instant, Arc<Environment>)>> = Mutex::new(None);

/// Reads the facts of a host.
#[derive(Clone, Debug)]
pub struct Reader {
    files: Files,
    program: String,
    peer: Option<IpAddr>,
    interface: Option<String>,
    shared: bool,
}

impl Reader {
    /// Of the host this runs on, for a program that calls itself `program` (name and version).
    pub fn host(program: impl Into<String>) -> Self {
        Self { files: Files::host(), program: program.into(), peer: None, interface: None, shared: false }
    }

    /// Of the files below `root`, laid out as `/proc` and `/sys` are: a copy of another host's, or a test's. The kernel
    /// is not asked; what only it could tell is unread.
    pub fn tree(program: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self { files: Files::tree(root.into()), program: program.into(), peer: None, interface: None, shared: false }
    }

    /// Also of the interface by which `peer` is reached.
    pub fn towards(self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Also of the interface `name`, whatever the route says: that the socket is bound to.
    pub fn through(self, name: impl Into<String>) -> Self {
        Self { interface: Some(name.into()), ..self }
    }

    /// For one of many that ask at the same time: facts of this host, but for those of the interface, are read again only where
    /// the latest reading is older than 100 ms. Counters are read each time.
    pub fn shared(self) -> Self {
        Self { shared: self.files.is_live(), ..self }
    }

    /// Reads all facts: some hundred small files, a millisecond or a few. Disturbance, counters and changes are
    /// left empty: they take a [`watch::Watch`].
    pub fn read(&self) -> Environment {
        let host = if self.shared { Arc::unwrap_or_clone(self.recent_host()) } else { self.host_alone() };
        let mut facts = Environment { program: self.program.clone(), ..host };
        let mut notes =
            Notes { settings: std::mem::take(&mut facts.settings), unread: std::mem::take(&mut facts.unread) };
        facts.interface = interface::read(&self.files, self.interface.as_deref(), self.peer, &mut notes);
        facts.settings = notes.settings;
        facts.unread = notes.unread;
        facts
    }

    /// The latest reading for many, or a new one. Who comes while it is read waits for it.
    fn recent_host(&self) -> Arc<Environment> {
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Monotonic::now();
        let recent = latest.as_ref().filter(|(at, _)| now.since(*at).is_some_and(|age| age <= RECENT));
        let host = recent.map_or_else(|| Arc::new(self.host_alone()), |(_, host)| Arc::clone(host));
        if recent.is_none() {
            *latest = Some((now, Arc::clone(&host)));
        }
        host
    }

    /// Facts of the host that are the same whoever its peer is.
    fn host_alone(&self) -> Environment {
        let mut notes = Notes::default();
        let files = &self.files;
        let mut facts = Environment {
            host: notes.fact(files, "/proc/sys/kernel/hostname"),
            kernel: kernel(files, &mut notes),
            clock_source: notes.fact(files, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock_synchronised: timekeeping::synchronised(files, &mut notes),
            congestion_control: notes.fact(files, "/proc/sys/net/ipv4/tcp_congestion_control"),
            default_qdisc: notes.fact(files, "/proc/sys/net/core/default_qdisc"),
            ..Environment::default()
        };
        cpu::read(files, &mut facts, &mut notes);
        settings::read(files, &mut notes);
        cgroup::read(files, &mut notes);
        facts.settings = notes.settings;
        facts.unread = notes.unread;
        facts
    }
}

impl Reader {
    /// CPUs of this host that share a core with `cpu`, itself among them; empty where the kernel does not tell.
    pub fn siblings(cpu: u32) -> Vec<u32> {
        let at = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        Files::host().text(&at).ok().and_then(|list| cpu::parse_list(&list)).unwrap_or_default()
    }
}

/// Release and build, as `uname -r` and `uname -v` say them.
fn kernel(files: &Files, notes: &mut Notes) -> Option<String> {
    let release = notes.fact(files, "/proc/sys/kernel/osrelease")?;
    let build = notes.fact(files, "/proc/sys/kernel/version");
    Some(build.map_or_else(|| release.clone(), |build| format!("{release} {build}")))
}

#[cfg(test)]
mod tests;
