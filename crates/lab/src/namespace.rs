//! Two hosts made out of one machine: network namespaces joined by a virtual cable, removed when dropped.
//!
//! All is done by `ip` (iproute2), so nothing here needs `unsafe` or a privilege of this process. Root makes the
//! namespaces directly; anybody else inside a user namespace of their own, which a child process holds open and which
//! vanishes with it. The machine's own network is never touched: interfaces, addresses and routes lie inside.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// First part of the name of every namespace made here; the process id and a count follow.
const PREFIX: &str = "sonde-";

/// Two network namespaces, `near` and `far`, with an address of each family, joined by a pair of `veth` interfaces.
///
/// A process that still runs inside when this is dropped keeps its namespace alive, without a name and without the cable:
/// end your processes first.
#[derive(Debug)]
pub struct Pair {
    near: Namespace,
    far: Namespace,
}

/// One network namespace, with its end of the cable.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    interface: &'static str,
    v4: Ipv4Addr,
    v6: Ipv6Addr,
    entry: Arc<Entry>,
}

/// Way in which this process may work on namespaces.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Directly, being root.
    Direct,
    /// Inside a user namespace that this child holds open: it ends when its standard input does, so also when this
    /// process is killed.
    Held(Child),
}

/// Reason for which no namespaces can be had.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// A program that makes them is not installed.
    #[error("cannot run `{program}`: {cause}; install {package}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The Debian package it comes in.
        package: &'static str,
        /// Error of the system.
        cause: io::Error,
    },
    /// Neither directly nor inside a user namespace.
    #[error(
        "not permitted to make network namespaces, neither directly ({direct}) nor in a user namespace ({held}); run as root"
    )]
    NotPermitted {
        /// Error of the direct way.
        direct: String,
        /// Error of the other way.
        held: String,
    },
    /// One of the steps failed.
    #[error("`{command}` failed: {said}")]
    Step {
        /// The command.
        command: String,
        /// Its standard error.
        said: String,
    },
}

/// The first 24 bits of the IPv4 addresses; the last octet is 1 near and 2 far.
const NETWORK_V4: [u8; 3] = [10, 181, 7];

impl Pair {
    /// Makes both namespaces and the cable between them; addresses are usable when this returns. Takes away what
    /// processes that were killed have left behind.
    pub fn new() -> Result<Self, NamespaceError> {
        let entry = Arc::new(Entry::open()?);
        entry.sweep();
        let names = names();
        let namespace = |end, host| Namespace::new(&entry, names(end), end, host);
        let pair = Self { near: namespace("near", 1)?, far: namespace("far", 2)? };
        let (near, far) = (&pair.near, &pair.far);
        near.ip(&["link", "add", near.interface, "type", "veth", "peer", "name", far.interface, "netns", &far.name])?;
        // Both before any address: one that is given to an interface without a carrier works only when the kernel has
        // noticed the carrier, which takes IPv6 a second.
        near.plug()?;
        far.plug()?;
        near.configure()?;
        far.configure()?;
        Ok(pair)
    }

    /// The end a measurement is made from.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// The end it is made to.
    pub fn far(&self) -> &Namespace {
        &self.far
    }
}

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Names for the namespaces of one arrangement, by their ends.
pub(crate) fn names() -> impl Fn(&str) -> String {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    move |end| format!("{PREFIX}{}-{count}-{end}", std::process::id())
}

impl Namespace {
    fn new(entry: &Arc<Entry>, name: String, interface: &'static str, host: u8) -> Result<Self, NamespaceError> {
        let [a, b, c] = NETWORK_V4;
        let v6 = Ipv6Addr::new(0xfd00, 0x50de, 0, 0, 0, 0, 0, host.into());
        Self::at(entry, name, interface, Ipv4Addr::new(a, b, c, host), v6)
    }

    /// One with these addresses, which it gets when it is configured.
    pub(crate) fn at(
        entry: &Arc<Entry>,
        name: String,
        interface: &'static str,
        v4: Ipv4Addr,
        v6: Ipv6Addr,
    ) -> Result<Self, NamespaceError> {
        run(entry.command("ip").args(["netns", "add", &name]))?;
        Ok(Self { name, interface, v4, v6, entry: Arc::clone(entry) })
    }

    /// Its name, as `ip netns` lists it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its end of the cable.
    pub fn interface(&self) -> &str {
        self.interface
    }

    /// Its IPv4 address on the cable.
    pub fn v4(&self) -> Ipv4Addr {
        self.v4
    }

    /// Its IPv6 address on the cable.
    pub fn v6(&self) -> Ipv6Addr {
        self.v6
    }

    /// A command that will run `program` inside, as root of the namespace. It ends when the program does and passes
    /// its streams, signals and exit code on.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.entry.command("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// The same in the network namespace alone: with the host's `/sys`, where its control groups are, and which `ip netns exec`
    /// hides behind one that shows this namespace's interfaces.
    pub fn command_with_host_sys(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.entry.command("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg(program);
        command
    }

    pub(crate) fn plug(&self) -> Result<(), NamespaceError> {
        // No link-local address: its making sends packets of its own for seconds, into what may be a measurement.
        self.ip(&["link", "set", self.interface, "addrgenmode", "none", "up"])?;
        self.ip(&["link", "set", "lo", "up"])
    }

    pub(crate) fn configure(&self) -> Result<(), NamespaceError> {
        self.add_address(self.v4.into(), 24)?;
        self.add_address(self.v6.into(), 64)
    }

    /// Gives one of its interfaces another address.
    pub(crate) fn add_address_to(&self, interface: &str, address: IpAddr, bits: u8) -> Result<(), NamespaceError> {
        self.ip(&["address", "add", &format!("{address}/{bits}"), "dev", interface, "nodad"])
    }

    fn add_address(&self, address: IpAddr, bits: u8) -> Result<(), NamespaceError> {
        // Without detection of duplicates, an IPv6 address is usable at once and not a second later.
        self.add_address_to(self.interface, address, bits)
    }

    pub(crate) fn ip(&self, arguments: &[&str]) -> Result<(), NamespaceError> {
        run(self.entry.command("ip").args(["-n", &self.name]).args(arguments))
    }
}

impl Drop for Namespace {
    /// Removes it, the cable first, since a process left inside would keep that. There is nobody to tell of a failure;
    /// the next [`Pair::new`] of another process tries again.
    fn drop(&mut self) {
        let _ = self.ip(&["link", "delete", self.interface]);
        let _ = run(self.entry.command("ip").args(["netns", "delete", &self.name]));
    }
}

/// A command that will run `program` inside `namespace`: see [`Namespace::command`].
pub fn command_in(namespace: &Namespace, program: impl AsRef<OsStr>) -> Command {
    namespace.command(program)
}

impl Entry {
    /// Finds a way that works, by making and removing a namespace.
    pub(crate) fn open() -> Result<Self, NamespaceError> {
        let refused = |result: Result<(), NamespaceError>| match result {
            Ok(()) => Ok(None),
            Err(NamespaceError::Step { said, .. }) => Ok(Some(said)),
            Err(other) => Err(other),
        };
        let Some(direct) = refused(Self::Direct.probe())? else { return Ok(Self::Direct) };
        let not_permitted = |held| NamespaceError::NotPermitted { direct: direct.clone(), held };
        let held = Self::hold().map_err(|error| not_permitted(error.to_string()))?;
        match refused(held.probe())? {
            None => Ok(held),
            Some(said) => Err(not_permitted(said)),
        }
    }

    fn probe(&self) -> Result<(), NamespaceError> {
        let name = format!("{PREFIX}{}-{}-probe", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        run(self.command("ip").args(["netns", "add", &name]))?;
        run(self.command("ip").args(["netns", "delete", &name]))
    }

    /// A user namespace in which we are root, with a /run of its own for the names of network namespaces.
    fn hold() -> Result<Self, NamespaceError> {
        const SCRIPT: &str = "mount -t tmpfs tmpfs /run && mkdir /run/netns && echo ready && exec cat";
        let mut child = Command::new("unshare")
            .args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| NamespaceError::NoProgram { program: "unshare", package: "util-linux", cause })?;
        let mut said = String::new();
        let heard = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut said));
        if matches!(heard, Some(Ok(_))) && said == "ready\n" {
            return Ok(Self::Held(child));
        }
        drop(child.stdin.take());
        let said = child.wait_with_output().map(|output| String::from_utf8_lossy(&output.stderr).trim().to_owned());
        Err(NamespaceError::Step {
            command: "unshare --user --map-root-user --net --mount".into(),
            said: said.unwrap_or_else(|error| error.to_string()),
        })
    }

    /// A command that will run `program` where the namespaces are.
    fn command(&self, program: &str) -> Command {
        match self {
            Self::Direct => Command::new(program),
            Self::Held(child) => {
                let mut command = Command::new("nsenter");
                command.args([
                    "--target",
                    &child.id().to_string(),
                    "--user",
                    "--net",
                    "--mount",
                    "--preserve-credentials",
                ]);
                command.arg(program);
                command
            }
        }
    }

    /// Removes the namespaces of processes that are no more. A namespace that cannot be removed stays: it does no harm.
    pub(crate) fn sweep(&self) {
        let Ok(listed) = self.command("ip").args(["netns", "list"]).output() else { return };
        for name in abandoned(&String::from_utf8_lossy(&listed.stdout), process_lives) {
            let _ = run(self.command("ip").args(["netns", "delete", name]));
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Self::Held(child) = self {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Names of ours in a list by `ip netns`, whose process does not live any more.
fn abandoned(listed: &str, lives: impl Fn(u32) -> bool) -> Vec<&str> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| owner(name).is_some_and(|process| !lives(process))).collect()
}

/// The process that made the namespace of this name; `None`: not one of ours.
fn owner(name: &str) -> Option<u32> {
    let (process, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    process.parse().ok()
}

fn process_lives(process: u32) -> bool {
    std::path::Path::new("/proc").join(process.to_string()).exists()
}

fn run(command: &mut Command) -> Result<(), NamespaceError> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|cause| NamespaceError::NoProgram { program: "ip", package: "iproute2", cause })?;
    if output.status.success() {
        return Ok(());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    Err(NamespaceError::Step {
        command: words.join(" "),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair, or a skip said aloud.
    fn pair() -> Option<Pair> {
        match Pair::new() {
            Ok(pair) => Some(pair),
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                testbed::skip::aloud(&format!("network namespaces: {error}"));
                None
            }
        }
    }

    fn said(command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn exists(entry: &Entry, name: &str) -> bool {
        said(entry.command("ip").args(["netns", "list"])).lines().any(|line| line.split(' ').next() == Some(name))
    }

    #[test]
    fn both_ends_have_their_addresses_at_once_and_a_way_to_each_other() {
        let Some(pair) = pair() else { return };
        for (from, to) in [(pair.near(), pair.far()), (pair.far(), pair.near())] {
            let addresses = said(from.command("ip").args(["-o", "address", "show", "dev", from.interface()]));
            assert!(addresses.contains(&from.v4().to_string()), "{addresses}");
            assert!(addresses.contains(&from.v6().to_string()), "{addresses}");
            assert!(!addresses.contains("tentative"), "{addresses}");
            for target in [IpAddr::from(to.v4()), IpAddr::from(to.v6())] {
                let route = said(from.command("ip").args(["route", "get", &target.to_string()]));
                assert!(route.contains(from.interface()), "{route}");
            }
        }
    }

    #[test]
    fn the_first_datagram_crosses_the_cable_at_once() {
        let Some(pair) = pair() else { return };
        if Command::new("ping").arg("-V").output().is_err() {
            return testbed::skip::aloud("ping between namespaces: no ping (iputils-ping)");
        }
        for target in [IpAddr::from(pair.far().v4()), IpAddr::from(pair.far().v6())] {
            let output = said(command_in(pair.near(), "ping").args(["-c", "1", "-W", "0.5", &target.to_string()]));
            assert!(output.contains("1 received"), "{output}");
        }
    }

    #[test]
    fn pairs_are_apart_from_each_other_and_from_the_machine() {
        let Some(one) = pair() else { return };
        let Some(two) = pair() else { return };
        assert_ne!(one.near().name(), two.near().name());
        let inside = |namespace: &Namespace| said(namespace.command("readlink").arg("/proc/self/ns/net"));
        let machine = said(Command::new("readlink").arg("/proc/self/ns/net"));
        let mut all = [inside(one.near()), inside(one.far()), inside(two.near()), inside(two.far()), machine];
        all.sort();
        assert!(all.is_sorted_by(|a, b| a < b), "five namespaces: {all:?}");
    }

    #[test]
    fn a_dropped_pair_is_gone_also_after_a_panic() {
        let Some(pair) = pair() else { return };
        let entry = Arc::clone(&pair.near.entry);
        let names = [pair.near.name.clone(), pair.far.name.clone()];
        assert!(names.iter().all(|name| exists(&entry, name)));
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _pair = pair;
            std::panic::resume_unwind(Box::new("a test fails"));
        }));
        assert!(unwound.is_err());
        assert!(!names.iter().any(|name| exists(&entry, name)));
    }

    #[test]
    fn an_exit_code_comes_through() {
        let Some(pair) = pair() else { return };
        let status = pair.near().command("sh").args(["-c", "exit 7"]).status().unwrap();
        assert_eq!(status.code(), Some(7));
        let status = pair.near().command_with_host_sys("sh").args(["-c", "exit 8"]).status().unwrap();
        assert_eq!(status.code(), Some(8));
    }

    #[test]
    fn the_network_alone_is_entered_with_the_hosts_sys() {
        let Some(pair) = pair() else { return };
        let inside = |mut command: Command| said(command.args(["-c", "readlink /proc/self/ns/net; ls /sys/fs/cgroup"]));
        let (network, groups) =
            inside(pair.near().command("sh")).split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert!(groups.is_empty(), "hidden: {groups}");
        let with_sys = inside(pair.near().command_with_host_sys("sh"));
        assert_eq!(with_sys.lines().next(), Some(&*network));
        let ours = said(Command::new("ls").arg("/sys/fs/cgroup"));
        assert!(with_sys.ends_with(&ours), "{with_sys}");
    }

    #[test]
    fn only_names_of_ours_whose_process_is_gone_are_abandoned() {
        let listed = "sonde-12-0-near (id: 3)\nsonde-13-0-far\nsonde-x-0-far\nvpn\nsonde-12\n";
        assert_eq!(abandoned(listed, |process| process == 13), ["sonde-12-0-near"]);
    }

    #[test]
    fn a_failed_step_says_the_command_and_what_it_said() {
        let error = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 1"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no such thing >&2; exit 1` failed: no such thing");
    }
}
