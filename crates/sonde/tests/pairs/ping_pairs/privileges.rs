//! A user without privileges: a ping socket where the system lets them have one, else a sentence that says what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::ping_pairs::scene::Scene;
use testbed::process::{Ended, LIMIT, copy_program, ended};

/// The number of `nobody` on every Linux system.
const NOBODY: &str = "65534";

/// The program where anybody may run it.
fn program() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("ping");
    copy_program(assert_cmd::cargo::cargo_bin!("sonde"), &copy);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    folder
}

fn as_nobody(scene: &Scene, program: &TempDir, line: &str) -> Ended {
    let mut command = scene.near().command("setpriv");
    command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set", "-all"]);
    command.arg(program.path().join("ping")).args(scene.words(line)).current_dir("/");
    ended(&mut command, LIMIT)
}

/// Lets the groups of `range` have ping sockets.
fn let_ping(scene: &Scene, range: &str) {
    let words = format!("echo '{range}' > /proc/sys/net/ipv4/ping_group_range");
    let status = scene.near().command("sh").args(["-c", &words]).status().expect("started");
    assert!(status.success(), "{words}");
}

fn scene(what: &str) -> Option<Scene> {
    if !geteuid().is_root() {
        testbed::skip::aloud(&format!("{what}: only root can be somebody else"));
        return None;
    }
    Scene::new(what, &[("setpriv", "util-linux")])
}

#[test]
fn without_a_capability_a_ping_socket_serves() {
    let Some(scene) = scene("ping without privileges") else { return };
    let program = program();
    let_ping(&scene, "0 2147483647");
    for line in ["-c 3 -i 0.1 D", "-c 3 -i 0.1 D6", "-f -c 20 D", "-s 0 -c 2 -i 0.1 D", "-R -c 1 D", "-e 99 -c 1 D"] {
        let ended = as_nobody(&scene, &program, line);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}: {}", ended.told());
        assert!(ended.stdout.contains(" 0% packet loss"), "{line}: {}", ended.told());
        assert!(line.starts_with("-f") || ended.stdout.contains(" ttl=64"), "{line}: {}", ended.told());
    }
    let ended = as_nobody(&scene, &program, "-c 1 N");
    assert!(ended.stdout.contains("icmp_seq=1 Destination Host Unreachable\n"), "{}", ended.told());
}

#[test]
fn without_either_the_error_names_the_capability() {
    let Some(scene) = scene("ping without leave") else { return };
    let_ping(&scene, "1 0");
    let ended = as_nobody(&scene, &program(), "-c 1 D");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{}", ended.told());
    assert!(ended.stderr.starts_with("ping: socket: Operation not permitted\n"), "{}", ended.told());
    assert!(ended.stderr.contains("cap_net_raw") && ended.stderr.contains("ping_group_range"), "{}", ended.told());
}
