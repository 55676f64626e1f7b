//! Facts of this host, read from the kernel: an [`Environment`] before a measurement, its changes by the end, and
//! disturbances during it ([`watch::Watch`]).
//!
//! Read-only and without privileges. A fact that cannot be read is named with its reason in `unread`; nothing is
//! guessed. Never read: serial numbers, product UUIDs, hardware addresses, user names, keys; of the kernel's command
//! line only the words that bear on time. `docs/facts.md` lists every source. Not here: judging the facts
//! (`measure::verdict`), facts of single sockets and threads ([`crate::facts`]).

mod cgroup;
mod counters;
mod cpu;
mod ethtool;
mod files;
mod interface;
mod kept;
mod machine;
mod netlink;
mod recent;
mod settings;
mod timekeeping;
pub mod watch;
pub mod way;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use measure::environment::Environment;
use measure::unit::Instant;

use crate::clock::Monotonic;
use files::{Files, Notes};
use interface::Link;
pub use interface::Towards;
use kept::Facts;
use recent::Dated;
pub use timekeeping::clock_state;

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
    /// A reader of the host this runs on, for a program that calls itself `program` (name and version).
    pub fn host(program: impl Into<String>) -> Self {
        Self { files: Files::host(), program: program.into(), peer: None, interface: None, shared: false }
    }

    /// A reader of the files below `root`, laid out as `/proc` and `/sys` are: a copy of another host's, or a test's.
    /// The kernel is not asked; facts that only it could report are unread.
    pub fn tree(program: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self { files: Files::tree(root.into()), program: program.into(), peer: None, interface: None, shared: false }
    }

    /// Reads the interface by which `peer` is reached as well.
    pub fn towards(self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Reads the interface `name` as well, whatever the route says: the socket is bound to it.
    pub fn through(self, name: impl Into<String>) -> Self {
        Self { interface: Some(name.into()), ..self }
    }

    /// Shares readings with others that ask at the same time: facts read for another within the last 100 ms are not
    /// read again. For counters that holds where they would be read often, and for the start of a watch.
    pub fn shared(self) -> Self {
        Self { shared: self.files.is_live(), ..self }
    }

    /// Reads all facts: some hundred small files, a millisecond or a few. Disturbance, counters and changes are
    /// left empty: they take a [`watch::Watch`].
    pub fn read(&self) -> Environment {
        self.look().whole(&self.program)
    }

    fn look(&self) -> Seen {
        let (name, peer) = (self.interface.as_deref(), self.peer);
        let of_host = || Facts::keep(self.host_alone());
        let of_link = || Link::read(&self.files, name, peer);
        if self.shared {
            return Seen { host: recent::host(of_host), link: recent::link(name, peer, of_link) };
        }
        let now = Monotonic::now();
        Seen { host: (now, Arc::new(of_host())), link: (now, Arc::new(of_link())) }
    }

    /// Reads the facts of the host that do not depend on its peer.
    fn host_alone(&self) -> Environment {
        let files = &self.files;
        let (mut facts, mut notes) = lasting(files);
        facts.host = notes.fact(files, "/proc/sys/kernel/hostname");
        facts.clock_source = notes.fact(files, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
        facts.clock_synchronised = timekeeping::synchronised(files, &mut notes);
        facts.congestion_control = notes.fact(files, "/proc/sys/net/ipv4/tcp_congestion_control");
        facts.default_qdisc = notes.fact(files, "/proc/sys/net/core/default_qdisc");
        cpu::read(files, &mut facts, &mut notes);
        settings::read(files, &mut notes);
        cgroup::read(files, &mut notes);
        facts.settings = notes.settings;
        facts.unread = notes.unread;
        facts
    }
}

/// Facts that cannot change while the host runs: a process reads them once.
fn lasting(files: &Files) -> (Environment, Notes) {
    static LASTING: OnceLock<(Environment, Notes)> = OnceLock::new();
    let read = || {
        let mut notes = Notes::default();
        let mut facts = Environment { kernel: kernel(files, &mut notes), ..Environment::default() };
        cpu::read_lasting(files, &mut facts, &mut notes);
        settings::read_lasting(files, &mut notes);
        (facts, notes)
    };
    if files.is_live() { LASTING.get_or_init(read).clone() } else { read() }
}

/// Facts of a host, as read for one way to a peer.
#[derive(Clone, Debug)]
struct Seen {
    host: Dated<Facts>,
    link: Dated<Link>,
}

impl Seen {
    fn whole(&self, program: &str) -> Environment {
        let Link { interface, notes } = &*self.link.1;
        let mut facts =
            Environment { program: program.to_owned(), interface: interface.clone(), ..self.host.1.whole() };
        facts.settings.extend(notes.settings.clone());
        facts.unread.extend_from_slice(&notes.unread);
        facts
    }

    /// True where both are the same reading.
    fn is_of_one_reading(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.host.1, &other.host.1) && Arc::ptr_eq(&self.link.1, &other.link.1)
    }

    /// Time at which the reading of its older part began.
    fn at(&self) -> Instant {
        self.host.0.min(self.link.0)
    }

    /// The name of the interface that the host was looked at through.
    fn interface(&self) -> Option<&str> {
        self.link.1.interface.as_ref().map(|interface| interface.name.as_str())
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
