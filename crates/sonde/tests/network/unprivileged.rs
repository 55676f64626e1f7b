//! A user without privileges: TCP and UDP need none, ICMP needs the system's leave, and where that is missing the error
//! says how to give it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use rustix::process::geteuid;
use tempfile::TempDir;
use testbed::process::copy_program;

use crate::scene::{Scene, counts, document, installed, let_ping, run};

/// The number of `nobody` on every Linux system.
const NOBODY: &str = "65534";

/// The program where anybody may run it: the folder it was built in may be closed to others.
pub fn program() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("sonde");
    copy_program(assert_cmd::cargo::cargo_bin!("sonde"), &copy);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    folder
}

fn as_nobody(scene: &Scene, program: &TempDir, words: &[&str]) -> Output {
    let rtt = ["rtt", "--json", "-q", "-c", "20", "--warm-up", "0"];
    start_as_nobody(scene, program, &[&rtt[..], words].concat())
}

/// Runs the program with these words and without any privilege.
pub fn start_as_nobody(scene: &Scene, program: &TempDir, words: &[&str]) -> Output {
    let mut command = scene.near().command("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set", "-all"]);
    command.arg(program.path().join("sonde")).args(words);
    command.current_dir("/").stdin(Stdio::null()).output().expect("started")
}

fn scene(what: &str) -> Option<Scene> {
    if !installed("setpriv", "util-linux", what) {
        return None;
    }
    if !geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: only root can be somebody else"));
        return None;
    }
    Scene::beside(what)
}

#[test]
fn tcp_and_udp_need_no_privilege() {
    let Some(scene) = scene("measurements without privileges") else { return };
    let _reflector = scene.reflector(&[]);
    let program = program();
    for carrier in ["--tcp", "--udp", "--crr", "--connect"] {
        let output = as_nobody(&scene, &program, &[&scene.target(false), carrier]);
        assert!(output.status.success(), "{carrier}: {}", String::from_utf8_lossy(&output.stderr));
        let record = document(&output);
        assert_eq!(counts(&record).answered, 20);
        assert_eq!(record["ours"]["settings"]["process.capabilities"], "0000000000000000");
    }
}

#[test]
fn icmp_needs_leave_and_the_error_says_how_to_give_it() {
    let Some(scene) = scene("ICMP without privileges") else { return };
    let program = program();
    for six in [false, true] {
        let_ping(scene.near(), "1 0");
        let output = as_nobody(&scene, &program, &[&scene.target(six), "--icmp"]);
        assert_eq!(output.status.code(), Some(2), "a permission is missing");
        let error = &document(&output)["error"];
        assert_eq!(error["side"], "ours", "{error}");
        let hint = error["hint"].as_str().expect("a hint");
        assert!(hint.contains("setcap cap_net_raw+ep"), "{hint}");
        // The remedy named is taken by its word, and it helps.
        let remedy = hint.lines().find(|line| line.contains("sysctl -w ")).expect("a remedy");
        let (key, value) = remedy.trim().trim_start_matches("sysctl -w ").split_once('=').expect("a setting");
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        run(scene.near(), &["sh", "-c", &format!("echo {value} > {file}")]);
        let output = as_nobody(&scene, &program, &[&scene.target(six), "--icmp"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let record = document(&output);
        assert_eq!(counts(&record).answered, 20);
        assert_eq!(record["outcome"]["sockets"][0]["icmp_socket"], "ping");
    }
}

#[test]
fn a_look_goes_on_without_icmp_and_says_why() {
    let Some(scene) = scene("a look without privileges") else { return };
    let _reflector = scene.reflector(&[]);
    let program = program();
    let output = start_as_nobody(&scene, &program, &["look", &scene.target(false), "-t", "1", "--json", "-q"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let look = &document(&output)["look"];
    let echo = &look["legs"][0];
    assert_eq!((&echo["carrier"], &echo["sums"]["due"]), (&"icmp".into(), &0.into()));
    let why = echo["trouble"].as_str().expect("why");
    assert!(why.contains("ping_group_range") && why.contains("CAP_NET_RAW"), "{why}");
    assert_eq!(look["judgement"]["believed"]["stands"], "application");
    let findings = look["judgement"]["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| finding["cause"] != "filtered"), "our own side may not ask: {findings:?}");
}
