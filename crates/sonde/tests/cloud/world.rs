//! A cloud whose machines are machines: each a network namespace with an sshd, behind a bridge in a namespace that is the world.
//!
//! The world sees a machine by its external address alone, which it translates; between themselves machines have both.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use testbed::process::{self, Ended, LIMIT, Running};

use crate::scene::{CLOUDS, Scene};

/// The run's name in PKB's words.
pub const URI: &str = "f1";

/// Addresses are translated, and those within are not to be had from here.
const RULES: &str = "
table ip cloud {
  map inside { type ipv4_addr : ipv4_addr; elements = { 198.51.100.2 : 10.64.0.2, 198.51.100.3 : 10.64.0.3 } }
  map outside { type ipv4_addr : ipv4_addr; elements = { 10.64.0.2 : 198.51.100.2, 10.64.0.3 : 198.51.100.3 } }
  chain arriving { type nat hook prerouting priority dstnat; dnat to ip daddr map @inside; }
  chain from_here { type nat hook output priority -100; dnat to ip daddr map @inside; }
  chain leaving { type nat hook postrouting priority srcnat; ct status dnat snat to ip saddr map @outside; }
  chain sent { type filter hook output priority filter; ip daddr 10.64.0.0/16 ct status & dnat == 0 drop; }
}
";

static COUNT: AtomicU32 = AtomicU32::new(0);
/// True once the first world has been; while it is, no other is begun. A program as large as a debug build takes ten seconds and more to
/// compress: the first test does that for all, and no two do it at once.
static FIRST: Mutex<bool> = Mutex::new(false);

/// A world and the cloud in it.
pub struct World {
    pub scene: Scene,
    space: String,
    /// Held by the first.
    first: Option<MutexGuard<'static, bool>>,
}

impl World {
    /// An empty one of this vendor. `None`: there can be none here, which was said aloud.
    pub fn of(what: &str, cloud: usize) -> Option<Self> {
        if let Some(why) = missing() {
            testbed::skip::aloud(&format!("{what}: {why}"));
            return None;
        }
        let space = format!("sondecloud-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let has_been = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        let first = (!*has_been).then_some(has_been);
        let world = Self { scene: Scene::of(CLOUDS[cloud]), space, first };
        world.build();
        Some(world)
    }

    fn build(&self) {
        let Self { scene, space, .. } = self;
        // Users of the machines pass through it to their homes.
        fs::set_permissions(scene.path(""), fs::Permissions::from_mode(0o711)).unwrap();
        fs::write(scene.path("cloud/world"), format!("{space}\n")).unwrap();
        for file in ["key", "key.pub"] {
            fs::remove_file(scene.path(file)).unwrap();
        }
        let key = scene.path("key");
        done(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f"]).arg(&key));
        fs::write(scene.path("rules"), RULES).unwrap();
        done(Command::new("ip").args(["netns", "add", space]));
        for words in [
            "ip link set lo up",
            "ip link add cloud type bridge",
            "ip address add 10.64.0.1/16 dev cloud",
            "ip address add 198.51.100.1/24 dev cloud",
            "ip link set cloud up",
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.cloud.send_redirects=0",
        ] {
            done(self.inside().args(words.split(' ')));
        }
        done(self.inside().args(["nft", "-f"]).arg(scene.path("rules")));
    }

    /// Command that leads into the world.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.space));
        command
    }

    /// `sonde` with these words, in it.
    pub fn sonde(&self, words: &[&str]) -> Command {
        let mut command = self.inside();
        command.arg(program()).args(words);
        self.scene.around(&mut command);
        command.env("XDG_RUNTIME_DIR", self.scene.path(""));
        // The program as it is sent is compressed by the first test that sends it, and lies there for the others, as for whoever
        // sends it twice.
        command.env("XDG_CACHE_HOME", kept());
        command
    }

    /// `sonde pkb` with these flags, and with those of every test: whose key, the run's name, and where its folder lies.
    pub fn pkb(&self, flags: &[&str]) -> Command {
        let usual = ["pkb", "--ssh_public_key=key.pub", "--run_uri=f1", "--temp_dir=pkb", "--ssh_from=198.51.100.1/32"];
        self.sonde(&[&usual[..], flags].concat())
    }

    /// Runs `sonde pkb` with these flags to its end.
    pub fn whole(&self, flags: &[&str]) -> Ended {
        process::ended(&mut self.pkb(flags), LIMIT)
    }

    /// Begins to.
    pub fn begin(&self, flags: &[&str]) -> Running {
        process::started(&mut self.pkb(flags))
    }

    /// The processes of a machine; `None`: there is no such machine.
    pub fn on(&self, number: usize) -> Option<Vec<String>> {
        // Tests look many times until a process is there: a program that looks for them would take more than what they wait for.
        let one = |path: &Path| fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
        let space = one(&Path::new("/run/netns").join(self.machine(number)))?;
        let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        let all = all.filter(|name| name.bytes().all(|letter| letter.is_ascii_digit()));
        let own = all.filter(|pid| one(&Path::new("/proc").join(pid).join("ns/net")) == Some(space));
        let words = |pid: String| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
        };
        Some(own.map(words).collect())
    }

    /// A counter of a machine's kernel, by its name in `/proc/net/snmp`'s group.
    pub fn counter(&self, number: usize, group: &str, name: &str) -> u64 {
        let path = format!("--net=/run/netns/{}", self.machine(number));
        let output = Command::new("nsenter").args([&path, "cat", "/proc/net/snmp"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with(&format!("{group}: ")));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split(' ').position(|one| one == name).unwrap();
        values.split(' ').nth(at).unwrap().parse().unwrap()
    }

    /// A machine's power fails.
    pub fn power_off(&self, number: usize) {
        for process in self.on(number).unwrap() {
            let pid = process.split(' ').next().unwrap();
            // One may have ended in this moment.
            let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
        }
        let path = format!("--net=/run/netns/{}", self.machine(number));
        done(Command::new("nsenter").args([&path, "ip", "link", "set", "eth0", "down"]));
    }

    fn machine(&self, number: usize) -> String {
        format!("{}-{number}", self.space)
    }

    /// The samples of the run, as they were written.
    pub fn samples(&self) -> Vec<Sample> {
        let file = self.scene.path("pkb/runs").join(URI).join("perfkitbenchmarker_results.json");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        text.lines().map(Sample::read).collect()
    }

    /// Returns true while a machine measures: our program does, told to by its agent.
    pub fn measures(&self, number: usize, option: &str) -> bool {
        let all = self.on(number).unwrap_or_default();
        all.iter().any(|words| words.contains(" sonde rtt ") && words.contains(option))
    }

    /// Result of `sonde lab cloud` with these words.
    pub fn cloud(&self, words: &[&str]) -> Ended {
        process::ended(&mut self.sonde(&[&["lab", "cloud"], words].concat()), LIMIT)
    }

    /// No machine, no process of one, nothing the cloud remembers, no ledger and no file of one.
    pub fn assert_nothing_left(&self, ended: &Ended) {
        let told = || format!("{}\n{}", ended.told(), self.scene.calls());
        assert_eq!(self.scene.things(), [""; 0], "{}", told());
        assert_eq!((self.on(0), self.on(1)), (None, None), "{}", told());
        let kept = fs::read_dir(self.scene.path("state/sonde/cloud")).into_iter().flatten();
        let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
        assert!(kept.is_empty(), "{kept:?}\n{}", told());
        let sockets = fs::read_dir(self.scene.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let sockets: Vec<_> = sockets.filter(|name| name.to_string_lossy().starts_with("sonde")).collect();
        assert!(sockets.is_empty(), "{sockets:?}\n{}", told());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(has_been) = &mut self.first {
            **has_been = true;
        }
        // Processes may be left by a test that failed; one that passed has left the world alone.
        for number in 0..2 {
            for process in self.on(number).unwrap_or_default() {
                let pid = process.split(' ').next().unwrap_or_default();
                let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
            }
            let _ = Command::new("ip").args(["netns", "delete", &self.machine(number)]).stderr(Stdio::null()).status();
        }
        let _ = Command::new("ip").args(["netns", "delete", &self.space]).status();
    }
}

/// A sample as PKB reads one.
#[derive(Clone, Debug)]
pub struct Sample {
    pub test: String,
    pub metric: String,
    pub value: f64,
    pub unit: String,
    pub labels: BTreeMap<String, String>,
}

/// The keys of a sample, in PKB's order.
const KEYS: [&str; 11] = [
    "metric",
    "value",
    "unit",
    "timestamp",
    "test",
    "product_name",
    "official",
    "owner",
    "run_uri",
    "sample_uri",
    "labels",
];

impl Sample {
    fn read(line: &str) -> Self {
        let whole: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let at: Vec<usize> = KEYS.iter().map(|key| line.find(&format!("\"{key}\": ")).expect("each key")).collect();
        assert!(at.is_sorted() && whole.as_object().unwrap().len() == KEYS.len(), "other keys than PKB's: {line}");
        assert!(whole["run_uri"].as_str().unwrap().starts_with(&format!("{URI}-")), "{line}");
        let text = |key: &str| whole[key].as_str().unwrap_or_else(|| panic!("no {key}: {line}")).to_owned();
        // As a reader of PKB's splits them.
        let labels = text("labels");
        let pairs = labels.trim_matches('|').split("|,|").map(|pair| pair.split_once(':').expect("key:value"));
        let labels = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let value = whole["value"].as_f64().unwrap();
        Self { test: text("test"), metric: text("metric"), value, unit: text("unit"), labels }
    }

    /// One of its labels, or nothing.
    pub fn label(&self, key: &str) -> &str {
        self.labels.get(key).map_or("", String::as_str)
    }
}

/// Folder, beside what was built, of what outlives a test.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cloud")
}

/// This program without what a debugger wants of it, for it goes to each machine; it is kept beside what was built. Where there is
/// no `strip` it goes whole.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let whole = cargo_bin("sonde");
        let folder = kept();
        let small = folder.join("sonde");
        let new = |file: &Path| fs::metadata(file).and_then(|facts| facts.modified()).ok();
        if new(&small) < new(&whole) {
            fs::create_dir_all(&folder).unwrap();
            let made = folder.join(format!("sonde-{}", std::process::id()));
            let stripped = Command::new("strip").arg("-o").args([&made, &whole]).status();
            if !stripped.is_ok_and(|status| status.success()) {
                return whole;
            }
            fs::rename(made, &small).unwrap();
        }
        small
    })
}

/// Lack of this host for machines that are machines; `None`: nothing lacks.
fn missing() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return Some("machines of stand-ins are namespaces: as root");
    }
    if !Path::new("/usr/sbin/sshd").exists() {
        return Some("no sshd (openssh-server)");
    }
    let there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    let all = [("ssh", "no ssh (openssh-client)"), ("ip", "no ip (iproute2)"), ("nft", "no nft (nftables)")];
    let missing = all.iter().find(|(program, _)| !there(program)).map(|(_, why)| *why);
    missing.or_else(|| (!there("nsenter")).then_some("no nsenter (util-linux)"))
}

fn done(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
