//! The server gives up what it needs no more: whoever takes one of its threads over can do next to nothing, and all that it does later
//! works all the same.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use measure::method::Carrier;
use rustix::process::Signal;
use serde_json::Value;
use test_case::test_case;
use testbed::process::{self, LIMIT, Running};
use testbed::{port, skip};

use crate::serve::Reflector;
use crate::{document, printed, sonde_in};

/// Attempts of an intruder, in every thread and, at last, in one.
const ATTEMPTS: [&str; 7] = ["read", "write", "chmod", "trace", "connect", "namespace", "foreign-socket"];
const LAST: &str = "execute";

fn intruder(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/intruder").join(file)
}

/// Keys in a folder of their own, and beside it what is nobody's business.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("keys")).unwrap();
        sonde_in(folder.path(), &["key", "keys/list.toml", "--add", "all"]).assert().success();
        std::fs::write(folder.path().join("secret"), "of the house").unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn serve(&self, words: &[&str]) -> Reflector {
        Reflector::start(self.path(), &[&["--key", "keys/list.toml", "--audit"], words].concat())
    }

    fn measure(&self, reflector: &Reflector) -> Value {
        let words = ["rtt", &reflector.address(), "-q", "--json", "--warm-up", "0", "-c", "10", "--key", "all.key"];
        document(printed(&mut sonde_in(self.path(), &words)).as_bytes())
    }

    /// Each attempt that was made, and what it came to; `None` where no process may be traced.
    fn intrude(&self, reflector: &Reflector) -> Option<BTreeSet<(String, String)>> {
        let address = reflector.address();
        // The one that listens, those that wait for connections and sessions, for signals, and of the audit.
        self.intrude_into(reflector.id(), address.rsplit(':').next().unwrap(), 5)
    }

    /// The same for any process, which serves at this port and has so many threads at least.
    fn intrude_into(&self, process: u32, port: &str, threads: usize) -> Option<BTreeSet<(String, String)>> {
        let at = |name: &str| self.path().join(name);
        let mut command = Command::new("python3");
        command.arg(intruder("intruder.py")).arg(process.to_string());
        command.args([at("secret"), at("new"), at("secret")]);
        let output = command.arg(port).output().unwrap();
        if output.status.code() == Some(77) {
            skip::aloud("the server's sandbox: this user may not trace processes");
            return None;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        assert!(lines.clone().filter(|words| words[1] == "read").count() >= threads, "{text}");
        Some(lines.map(|words| (words[1].to_owned(), words[2].to_owned())).collect())
    }
}

#[test]
fn whoever_takes_a_thread_over_gets_nothing() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip::aloud("the server's sandbox: the intruder is written for x86-64");
    }
    let scene = Scene::new();
    let open = scene.serve(&["--no-sandbox"]);
    let Some(got) = scene.intrude(&open) else { return };
    for attempt in ["read", "write", "chmod", "trace", "connect", "execute"] {
        assert!(got.contains(&(attempt.to_owned(), "done".to_owned())), "{attempt}: {got:?}");
    }
    let mut reflector = scene.serve(&[]);
    let said = reflector.line_that("sonde serve: sandbox: ");
    if said.contains("not limited here") {
        return skip::aloud("the server's sandbox: this kernel or container forbids it");
    }
    scene.measure(&reflector);
    let got = scene.intrude(&reflector).unwrap();
    let tried: BTreeSet<&str> = got.iter().map(|(attempt, _)| &**attempt).collect();
    assert_eq!(tried, ATTEMPTS.into_iter().chain([LAST]).collect());
    for (attempt, result) in &got {
        assert!(["EPERM", "EACCES"].contains(&&**result), "{attempt}: {result}");
    }
    // It was taken over, and serves on.
    scene.measure(&reflector);
}

/// A server of another tool's name, in a folder.
fn started(scene: &Scene, words: &[&str], carrier: Carrier, port: u16, sandbox: &str) -> Running {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sonde"));
    command.args(words).arg(port.to_string()).env("SONDE_SANDBOX", sandbox).current_dir(scene.path());
    let running = process::started(&mut command);
    running.until_listening(carrier, port);
    running
}

/// The answers are compared elsewhere; here the rights, and that it serves behind that.
#[test_case(&["netserver", "-D", "-p"], Carrier::Tcp, &["rtt", "--peer", "netperf", "-c", "5", "-q", "127.0.0.1", "--port"]; "netserver")]
#[test_case(&["iperf3", "-s", "-p"], Carrier::Tcp, &["iperf3", "-c", "127.0.0.1", "-R", "-n", "1M", "-p"]; "iperf3")]
#[test_case(&["iperf", "-s", "-p"], Carrier::Tcp, &["iperf", "-c", "127.0.0.1", "-r", "-L", "OTHER", "-n", "1M", "-p"]; "iperf")]
#[test_case(&["sockperf", "server", "-p"], Carrier::Udp, &["sockperf", "ping-pong", "-i", "127.0.0.1", "-t", "1", "-p"]; "sockperf")]
fn whoever_takes_a_server_of_another_tool_over_gets_nothing(words: &[&str], carrier: Carrier, client: &[&str]) {
    if cfg!(not(target_arch = "x86_64")) {
        return skip::aloud("the server's sandbox: the intruder is written for x86-64");
    }
    let (scene, port) = (Scene::new(), port::free());
    let open = started(&scene, words, carrier, port, "off");
    let Some(got) = scene.intrude_into(open.id(), &port.to_string(), 2) else { return };
    assert!(got.contains(&("read".to_owned(), "done".to_owned())), "{got:?}");
    drop(open);
    if scene.serve(&[]).line_that("sonde serve: sandbox: ").contains("not limited here") {
        return skip::aloud("the server's sandbox: this kernel or container forbids it");
    }
    let server = started(&scene, words, carrier, port, "");
    // A server of iperf connects back there.
    let other = port::free().to_string();
    let client: Vec<String> =
        client.iter().map(|word| word.replace("OTHER", &other)).chain([port.to_string()]).collect();
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let measure = || sonde_in(scene.path(), &client).assert().success();
    measure();
    let got = scene.intrude_into(server.id(), &port.to_string(), 2).unwrap();
    // Some of them listen and connect as their clients ask.
    for (attempt, result) in got.iter().filter(|(attempt, _)| attempt != "connect") {
        assert!(["EPERM", "EACCES"].contains(&&**result), "{attempt}: {result}");
    }
    measure();
    server.signal(Signal::TERM);
    assert!(!server.end(LIMIT).overdue);
}

#[test]
fn no_thread_of_it_has_a_capability() {
    let scene = Scene::new();
    let reflector = scene.serve(&[]);
    scene.measure(&reflector);
    let threads = std::fs::read_dir(format!("/proc/{}/task", reflector.id())).unwrap();
    for thread in threads {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
            assert!(status.contains(line), "{line}: {status}");
        }
    }
}

#[test]
fn the_facts_of_the_host_are_told_as_without_it() {
    let scene = Scene::new();
    let facts = |words: &[&str]| -> BTreeSet<String> {
        let theirs = scene.measure(&scene.serve(words))["theirs"].clone();
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        names(&theirs).into_iter().chain(names(&theirs["settings"])).collect()
    };
    let (mut open, closed) = (facts(&["--no-sandbox"]), facts(&[]));
    assert!(open.len() > 30, "{open:?}");
    // Root alone may ask it of another thread.
    open.remove("/proc/self/timerslack_ns");
    assert_eq!(open, closed);
}

/// Starts a server as `nohup` does, with hangups ignored.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"];

/// As Kubernetes changes a secret: the folder that a link leads to is another.
#[test_case(&[]; "as usual")]
#[test_case(&IGNORING; "by nohup")]
fn keys_that_are_replaced_are_read_again(starter: &[&str]) {
    let scene = Scene::new();
    let keys = scene.path().join("keys");
    let version = |name: &str| {
        std::fs::create_dir(keys.join(name)).unwrap();
        std::fs::copy(keys.join("list.toml"), keys.join(name).join("list")).unwrap();
        symlink(name, keys.join("next")).unwrap();
        std::fs::rename(keys.join("next"), keys.join("now")).unwrap();
    };
    version("first");
    symlink("now/list", keys.join("linked")).unwrap();
    let starter: Vec<&OsStr> = starter.iter().map(OsStr::new).collect();
    let mut reflector = Reflector::start_by(&starter, scene.path(), &["--key", "keys/linked"]);
    reflector.line_that("sonde serve: sandbox: ");
    sonde_in(scene.path(), &["key", "keys/list.toml", "--add", "more"]).assert().success();
    version("second");
    reflector.signal(Signal::HUP);
    reflector.line_that("sonde serve: keys/linked: 2 keys read again");
    scene.measure(&reflector);
}

/// A person who starts it by `nohup` wants it to outlive the terminal.
#[test]
fn a_server_without_keys_that_ignores_hangups_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let reflector = Reflector::start_by(&IGNORING.map(OsStr::new), folder.path(), &[]);
    reflector.signal(Signal::HUP);
    sonde_in(folder.path(), &["rtt", &reflector.address(), "-q", "-c", "10"]).assert().success();
}

#[test]
fn where_the_system_forbids_it_that_is_said_and_it_serves() {
    if cfg!(not(target_arch = "x86_64")) {
        return skip::aloud("a server without a sandbox: the filter that forbids it is written for x86-64");
    }
    let folder = tempfile::tempdir().unwrap();
    let without = intruder("without.py");
    let starter: [&OsStr; 2] = ["python3".as_ref(), without.as_ref()];
    let mut reflector = Reflector::start_by(&starter, folder.path(), &[]);
    let said = reflector.line_that("sonde serve: sandbox: ");
    assert!(said.contains("no capabilities; not limited here: files (no Landlock in this kernel)"), "{said}");
    assert!(said.contains("system calls (Operation not permitted"), "{said}");
    sonde_in(folder.path(), &["rtt", &reflector.address(), "-q", "-c", "10"]).assert().success();
}

/// A key file of another user, a port below 1024, and polling that the server's own options ask for.
#[test]
fn what_is_asked_for_keeps_its_capability() {
    if !rustix::process::geteuid().is_root() {
        return skip::aloud("capabilities that a server keeps: it takes root");
    }
    let folder = tempfile::tempdir().unwrap();
    sonde_in(folder.path(), &["key", "a.key"]).assert().success();
    std::os::unix::fs::chown(folder.path().join("a.key"), Some(65_534), None).unwrap();
    std::fs::set_permissions(folder.path().join("a.key"), PermissionsExt::from_mode(0o600)).unwrap();
    let words = ["--key", "a.key", "--wait", "busy-poll=50us"];
    let mut reflector = Reflector::start(folder.path(), &words);
    let said = reflector.line_that("sonde serve: sandbox: ");
    assert!(said.contains("no capability but CAP_NET_ADMIN and CAP_DAC_READ_SEARCH, "), "{said}");
    let measured = ["rtt", &reflector.address(), "-q", "-c", "10", "--key", "a.key"];
    sonde_in(folder.path(), &measured).assert().success();
    reflector.signal(Signal::HUP);
    reflector.line_that("sonde serve: a.key: 1 key read again");
}
