//! A world as it stands: three hosts in a row, what was laid between them, and what goes on meanwhile.

use std::process::{Child, Command, Stdio};

use lab::chain::Chain;
use lab::namespace::{Namespace, NamespaceError};
use rustix::process::{Pid, Signal, kill_process_group};

use super::rows::{Host, World};
use crate::scene::{Reflector, as_a_stranger, sonde_in};

/// The ends of a link beside the row, where a world has one.
const BESIDE: &str = "10.181.10.1,10.181.10.2";

/// A script that goes on until this is dropped, and all that it has started.
struct Background(Child);

impl Background {
    fn start(mut command: Command) -> Self {
        use std::os::unix::process::CommandExt;
        let child = command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("started"))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for signal in [Signal::CONT, Signal::KILL] {
            // It may have ended by itself.
            let _ = kill_process_group(Pid::from_child(&self.0), signal);
        }
        let _ = self.0.wait();
    }
}

/// A world that was laid. Fields are dropped in this order: programs before their hosts.
pub struct Place {
    background: Vec<Background>,
    servers: Vec<Reflector>,
    chain: Chain,
}

impl Place {
    /// Lays `world`; `None`: there are no namespaces here, which was said aloud.
    pub fn lay(world: &World) -> Option<Self> {
        let chain = match Chain::new() {
            Ok(chain) => chain,
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                testbed::skip::aloud(&format!("worlds between namespaces: {error}"));
                return None;
            }
        };
        let mut place = Self { background: Vec::new(), servers: Vec::new(), chain };
        for host in place.hosts() {
            place.script(host, "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0");
        }
        if !world.beside.is_empty() {
            let mut command = sonde_in(place.chain.near());
            command.args(["forward", "-", place.chain.far().name(), "--addresses", BESIDE]).args(world.beside);
            place.servers.push(Reflector::started(command, "forwarding"));
        }
        let mut command = place.shell(place.chain.far(), &format!("{} exec \"$0\" serve --open", world.server), true);
        as_a_stranger(&mut command);
        place.servers.push(Reflector::started(command, "listening on"));
        for (host, script) in world.lay {
            place.script(place.of(*host), script);
        }
        for (host, script) in world.goes_on {
            place.background.push(Background::start(place.shell(place.of(*host), script, false)));
        }
        Some(place)
    }

    fn hosts(&self) -> impl Iterator<Item = &Namespace> {
        [self.chain.near(), self.chain.middle(), self.chain.far()].into_iter()
    }

    fn of(&self, host: Host) -> &Namespace {
        match host {
            Host::Near => self.chain.near(),
            Host::Middle => self.chain.middle(),
            Host::Far => self.chain.far(),
        }
    }

    /// A shell in `host` with this script, whose `$0` is the program, and the names of the three namespaces in its environment. With the host's
    /// control groups where it is to see them.
    fn shell(&self, host: &Namespace, script: &str, groups: bool) -> Command {
        let mut command = if groups { host.command_with_host_sys("sh") } else { host.command("sh") };
        command.args(["-c", script]).arg(assert_cmd::cargo::cargo_bin!("sonde"));
        let names = ["near", "middle", "far"].into_iter().zip(self.hosts());
        command.envs(names.map(|(name, host)| (name, host.name())));
        command
    }

    fn script(&self, host: &Namespace, script: &str) {
        let output = self.shell(host, script, true).stdin(Stdio::null()).output().expect("started");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Begins what is to happen while a command runs.
    pub fn begin(&self, events: &[(Host, &str)]) -> impl Drop + use<> {
        let of = |(host, script): &(Host, &str)| Background::start(self.shell(self.of(*host), script, false));
        Begun(events.iter().map(of).collect())
    }

    /// The program with these words in the near host, below `before`, a shell's beginning.
    pub fn ask(&self, before: &str, words: &str) -> Command {
        let mut command = self.shell(self.chain.near(), &format!("{before} exec \"$0\" {words} --json -q"), true);
        as_a_stranger(&mut command);
        command
    }
}

/// A program beside a command, ended with it.
struct Begun(Vec<Background>);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.clear();
    }
}
