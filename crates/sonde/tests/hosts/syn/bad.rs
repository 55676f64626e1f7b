//! Faults of a target, a host, a path or a permission: named, and never taken for an answer.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use rustix::process::geteuid;
use test_case::test_case;
use testbed::process::copy_program;

use crate::syn::scene::{OPEN, Scene, counts, document, run, sonde_in};

#[test]
fn without_the_capability_it_is_named_with_what_still_works() {
    let what = "probes without privileges";
    if !crate::syn::scene::installed("setpriv", "util-linux", what) {
        return;
    }
    if !geteuid().is_root() {
        return testbed::skip::aloud(&format!("{what}: only root can be somebody else"));
    }
    let Some(scene) = Scene::new(what) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("sonde");
    copy_program(assert_cmd::cargo::cargo_bin!("sonde"), &program);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    let as_nobody = |words: &[&str]| -> Output {
        let mut command = scene.near().command("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set", "-all"]);
        command.arg(&program).args(words).current_dir("/").stdin(Stdio::null()).output().expect("started")
    };
    let target = scene.target(false, OPEN);
    let output = as_nobody(&["syn", "--json", "-q", &target, "-c", "3"]);
    assert_eq!(output.status.code(), Some(2), "a permission is missing");
    let error = &document(&output)["error"];
    assert_eq!(error["side"], "ours", "{error}");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("CAP_NET_RAW") && hint.contains("--connect"), "{hint}");
    let output = as_nobody(&["hping3", "-S", "-c", "1", "-p", "80", &scene.far().v4().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("CAP_NET_RAW"), "{said}");
    // The measurement that the hint names does work.
    let output = as_nobody(&["rtt", "--json", "-q", &target, "--connect", "-c", "3", "--warm-up", "0"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test_case("224.0.0.1:80", "multicast"; "a group")]
#[test_case("255.255.255.255:80", "broadcast"; "everybody")]
#[test_case("[ff02::1]:80", "multicast"; "a group of IPv6")]
#[test_case("10.181.8.255:80", "broadcast address"; "everybody on a network")]
#[test_case("10.181.8.1:0", "from 1 to 65535"; "port 0")]
#[test_case("10.181.8.1:65536", "from 1 to 65535"; "a port too large")]
#[test_case("10.181.8.1", "no port to probe"; "no port")]
fn what_is_no_target_is_refused(target: &str, why: &str) {
    let Some(scene) = Scene::new("probes of what is no host") else { return };
    let output = sonde_in(scene.near()).args(["syn", target, "-c", "1"]).output().expect("started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains(why), "{:?}: {said}", output.status);
}

#[test]
fn an_answer_from_another_address_is_none() {
    let rules = "table ip box { chain forward { type filter hook forward priority 0; tcp sport 7663 ip saddr set 10.181.9.77; }; }";
    let Some(scene) = Scene::with_rules("answers from elsewhere", Scene::middle, rules) else { return };
    let record = scene.record(&[&scene.target(false, OPEN), "-c", "5", "--every", "5ms", "--timeout", "2s"]);
    let fates = counts(&record);
    assert_eq!((fates.lost, fates.answered, fates.corrupt), (5, 0, 0), "{fates:?}");
}

#[test]
fn nobody_at_the_address_answers_nothing_or_is_told_by_the_hop() {
    let Some(scene) = Scene::new("probes of nobody") else { return };
    let record = scene.record(&["10.181.9.99:80", "-c", "3", "--every", "5ms", "--timeout", "10s"]);
    let fates = counts(&record);
    assert_eq!((fates.answered, fates.refused + fates.lost), (0, 3), "{fates:?}");
}

/// The interface goes when three answers were printed. The rest of the packets do not leave, and the run comes to its
/// end all the same.
#[test]
fn an_interface_that_goes_down_in_the_middle_costs_what_was_not_sent() {
    let Some(scene) = Scene::new("an interface that goes down") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let mut command = sonde_in(scene.near());
    command.args(["hping3", "-S", "-c", "20", "-i", "u100000", "-p", &OPEN.to_string(), "--record"]).arg(&file);
    let child = command.arg(scene.far().v4().to_string()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("started");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    for _ in 0..4 {
        line.clear();
        stdout.read_line(&mut line).expect("a line");
    }
    assert!(line.contains("flags=SA seq=2"), "{line}");
    run(scene.near(), &["ip", "link", "set", scene.near().interface(), "down"]);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    let status = child.wait().expect("ended");
    assert!(status.success(), "{status}: {rest}");
    let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).expect("a record")).expect("JSON");
    let fates = counts(&record);
    assert_eq!((fates.scheduled, record["ended"]["how"].as_str()), (20, Some("complete")), "{}", record["ended"]);
    assert!(fates.answered >= 3 && fates.send_failed > 0, "{fates:?}");
}
