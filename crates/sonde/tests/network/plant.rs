//! Limiters on real paths and processes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use lab::namespace::Namespace;

use crate::scene::{Reflector, Scene, as_a_stranger, run};

/// A control group that may run a tenth of the time of one CPU, and has that before others.
pub struct Quota {
    group: PathBuf,
}

static GROUPS: AtomicU32 = AtomicU32::new(0);

impl Quota {
    /// `None`: there are no such groups to be had here, which was said aloud.
    pub fn tenth(what: &str) -> Option<Self> {
        let name = format!("sonde-{}-{}", std::process::id(), GROUPS.fetch_add(1, Ordering::Relaxed));
        Self::make(&name).map_err(|reason| testbed::skip::aloud(&format!("{what}: no control group: {reason}"))).ok()
    }

    fn make(name: &str) -> Result<Self, String> {
        let first = PathBuf::from("/sys/fs/cgroup/cpu");
        let (root, files): (_, &[(&str, &str)]) = if first.is_dir() {
            (first, &[("cpu.cfs_period_us", "20000"), ("cpu.cfs_quota_us", "2000"), ("cpu.shares", "262144")])
        } else {
            (PathBuf::from("/sys/fs/cgroup"), &[("cpu.max", "2000 20000"), ("cpu.weight", "10000")])
        };
        let told = |file: PathBuf| move |error: std::io::Error| format!("{}: {error}", file.display());
        let made = Self { group: root.join(name) };
        fs::create_dir(&made.group).map_err(told(made.group.clone()))?;
        for (file, value) in files {
            let file = made.group.join(file);
            fs::write(&file, value).map_err(told(file))?;
        }
        Ok(made)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Whoever was in it has ended, and been waited for.
        let _ = fs::remove_dir(&self.group);
    }
}

/// Standing of the program with the scheduler.
#[derive(Clone, Copy)]
pub enum Standing<'a> {
    /// As users run it, beside whatever else the machine does.
    Plain,
    /// Before that, at the lowest of the real-time priorities, where the user may have it: what else runs here is no limiter that
    /// was planted.
    Ahead,
    /// Under a quota, from before its start.
    Within(&'a Quota),
}

/// The program in `namespace`, where it sees its control group.
pub fn sonde_of(namespace: &Namespace, standing: Standing<'_>) -> Command {
    let program = assert_cmd::cargo::cargo_bin!("sonde");
    let mut command = match standing {
        Standing::Ahead if may_be_ahead() => {
            let mut command = namespace.command_with_host_sys("chrt");
            command.args(["--fifo", "1"]).arg(program);
            command
        }
        Standing::Plain | Standing::Ahead => namespace.command_with_host_sys(program),
        Standing::Within(quota) => {
            let mut command = namespace.command_with_host_sys("sh");
            command.args(["-c", "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"", "sh"]);
            command.arg(&quota.group).arg(program);
            command
        }
    };
    as_a_stranger(&mut command);
    command
}

fn may_be_ahead() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    let tried = || Command::new("chrt").args(["--fifo", "1", "true"]).output();
    *MAY.get_or_init(|| tried().is_ok_and(|output| output.status.success()))
}

/// The far side's address over a [`Forward`].
pub const FORWARDED: &str = "10.181.8.2";

/// A worse link between the two hosts of a scene, beside their cable.
pub struct Forward {
    _running: Reflector,
}

impl Forward {
    /// Starts it with the impairments of `link`.
    pub fn start(scene: &Scene, link: &[&str]) -> Self {
        let mut command = sonde_of(scene.near(), Standing::Ahead);
        command.args(["forward", "-", scene.far().name(), "--addresses", "10.181.8.1,10.181.8.2"]).args(link);
        Self { _running: Reflector::started(command, "forwarding") }
    }
}

/// Drops what comes in by `interface` beyond a rate in kB/s. Linux lets such a rule save up what comes in a second, and a `burst` in kB.
pub fn policer_of_rules(scene: &Scene, interface: &str, rate: u32, burst: u32) {
    let limit = format!("limit rate over {rate} kbytes/second burst {burst} kbytes drop");
    let rules = format!(
        "table inet policer {{ chain input {{ type filter hook prerouting priority 0; iifname \"{interface}\" {limit}; }}; }}"
    );
    run(scene.far(), &["nft", &rules]);
}

/// Lets 100 Mbit/s come in over the cable: bursts of 100 kB, and a queue of two packets, 0.24 ms.
pub fn policer_of_buckets(scene: &Scene) {
    bucket(scene, "100mbit", "100000", "3028");
}

/// A token bucket at the near side's own interface.
pub fn own_bucket(scene: &Scene, rate: &str, burst: &str, limit: &str) {
    let near = scene.near();
    as_on_a_wire(scene);
    let tbf = ["qdisc", "add", "dev", near.interface(), "root", "tbf", "rate", rate, "burst", burst, "limit", limit];
    run(near, &[&["tc"][..], &tbf].concat());
}

/// Packets as a wire has them: a bucket takes none that is greater than its burst.
fn as_on_a_wire(scene: &Scene) {
    let near = scene.near();
    run(near, &["ip", "link", "set", near.interface(), "gso_max_segs", "1"]);
}

/// A token bucket behind the wire, before the far side.
pub fn bucket(scene: &Scene, rate: &str, burst: &str, limit: &str) {
    let far = scene.far();
    as_on_a_wire(scene);
    let interface = far.interface();
    run(far, &["ip", "link", "add", "middle", "type", "ifb"]);
    run(far, &["ip", "link", "set", "middle", "up"]);
    run(far, &["tc", "qdisc", "add", "dev", interface, "handle", "ffff:", "ingress"]);
    let filter = ["tc", "filter", "add", "dev", interface, "parent", "ffff:", "protocol", "ip", "u32"];
    run(
        far,
        &[&filter[..], &["match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", "middle"]].concat(),
    );
    let tbf = ["tc", "qdisc", "add", "dev", "middle", "root", "tbf", "rate", rate, "burst", burst, "limit", limit];
    run(far, &tbf);
}
