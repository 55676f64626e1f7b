//! Disks that are full and files that cannot be written: told, and the measurement is not lost with them.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ended, count, rtt, sonde};

/// A file of this name on a disk that is full.
fn full(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    symlink("/dev/full", &path).unwrap();
    path.display().to_string()
}

/// A reflector of our own, over loopback: no far side is needed here.
fn brief(more: &[&str]) -> Ended {
    Ended::of(&mut sonde(&[&["rtt", "--json", "-c", "2000", "--warm-up", "0"], more].concat()))
}

#[test]
fn samples_that_cannot_be_begun_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let ended = brief(&["--samples", &full(&folder, "all.csv")]);
    assert_eq!((ended.code, ended.document()["error"]["side"].as_str()), (Some(2), Some("ours")));
    assert!(
        ended.stderr.contains("No space left on device") && ended.stderr.contains("the disk is full"),
        "{}",
        ended.stderr
    );
}

#[test]
fn samples_that_cannot_be_ended_are_counted_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    // Parquet is held back and written at the end: only then is the disk found full.
    let ended = brief(&["--samples", &full(&folder, "all.parquet")]);
    let record = ended.record();
    assert_eq!((ended.code, count(&record, "answered")), (Some(2), 2_000));
    assert!(ended.stderr.contains("2 000 exchanges are missing there"), "{}", ended.stderr);
    assert_eq!(missing(&record).unwrap()["missing"], 2_000);
}

fn missing(record: &Value) -> Option<&Value> {
    record["warnings"].as_array().unwrap().iter().find(|warning| warning["kind"] == "samples-incomplete")
}

/// Runs words in a mount namespace of its own, with 32 KiB of disk at `disk`. `None`: this system grants none.
fn on_a_small_disk(disk: &Path, words: &str) -> Option<Ended> {
    let script = format!("mount -t tmpfs -o size=32k none '{}' && {words}", disk.display());
    let granted = Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success());
    granted.then(|| Ended::of(Command::new("unshare").args(["-rm", "sh", "-c", &script])))
}

#[test]
fn a_disk_that_fills_up_in_the_middle_ends_no_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let program = sonde(&[""; 0]).get_program().to_string_lossy().into_owned();
    // The samples that were written stand: they are read back before the disk goes with its namespace.
    let words = format!(
        "'{program}' rtt --json -c 20000 --warm-up 0 --samples '{disk}/all.csv'; code=$?; wc -l < '{disk}/all.csv' >&2; exit $code",
        disk = folder.path().display()
    );
    let Some(ended) = on_a_small_disk(folder.path(), &words) else {
        return testbed::skip::aloud("a disk that fills up: no mount namespace is granted here");
    };
    let record = ended.record();
    assert_eq!((ended.code, count(&record, "answered")), (Some(2), 20_000), "{}", ended.stderr);
    let warning = missing(&record).unwrap();
    let left_out = warning["missing"].as_u64().unwrap();
    assert!(0 < left_out && left_out < 20_000, "{warning}");
    assert!(warning["reason"].as_str().unwrap().contains("No space left on device"), "{warning}");
    let lines: u64 = ended.stderr.trim().lines().last().unwrap().trim().parse().unwrap();
    assert_eq!(left_out + lines - 1, 20_000, "each but the head is in the file or missing");
}

#[test]
fn a_record_that_cannot_be_written_is_printed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let ended = brief(&["-o", &full(&folder, "record.json")]);
    assert_eq!((ended.code, count(&ended.record(), "answered")), (Some(2), 2_000));
    assert!(ended.stderr.contains("cannot write the record: No space left on device"), "{}", ended.stderr);
}

#[test]
fn events_end_with_the_record_although_it_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["rtt", "--json-lines", "-c", "2000", "--warm-up", "0", "-o", &full(&folder, "record.json")];
    let ended = Ended::of(&mut sonde(&words));
    let events: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((named("start"), named("end"), named("error")), (1, 1, 0));
    let last = events.last().unwrap();
    assert_eq!((&last["event"], count(&last["data"], "answered")), (&"end".into(), 2_000));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("cannot write the record: No space left on device"), "{}", ended.stderr);
}

#[test]
fn a_folder_that_is_not_there_is_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/there/record.json").display().to_string();
    let ended = brief(&["-o", &path]);
    assert_eq!((ended.code, ended.document()["error"]["to_whom"].as_str()), (Some(2), Some(path.as_str())));
    assert!(ended.stderr.contains("its folder is not there"), "{}", ended.stderr);
}

#[test]
fn a_folder_that_may_not_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o555)).unwrap();
    if std::fs::write(folder.path().join("probe"), "").is_ok() {
        return testbed::skip::aloud("a folder without permission: this user may write everywhere");
    }
    let path = folder.path().join("record.json").display().to_string();
    let ended = brief(&["-o", &path]);
    assert_eq!((ended.code, count(&ended.record(), "answered")), (Some(2), 2_000));
    assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
}

#[test]
fn a_full_standard_output_is_told() {
    let mut command = sonde(&["rtt", "--json", "-c", "5", "--warm-up", "0"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard output: cannot write the result: No space left on device"), "{said}");
}

#[test]
fn icmp_without_permission_says_what_would_give_it() {
    let program = sonde(&[""; 0]).get_program().to_owned();
    // A user namespace without a mapping: no capability is left, and its network lets nobody ping.
    let granted = Command::new("unshare").args(["-Un", "true"]).status().is_ok_and(|status| status.success());
    if !granted {
        return testbed::skip::aloud("ICMP without permission: no user namespace is granted here");
    }
    let mut command = Command::new("unshare");
    command.args(["-Un"]).arg(program).args(["rtt", "--icmp", "127.0.0.1", "-c", "3", "--json"]);
    let ended = Ended::of(&mut command);
    let error = &ended.document()["error"];
    assert_eq!((ended.code, error["side"].as_str()), (Some(2), Some("ours")), "{error:#}");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("ping_group_range") && hint.contains("cap_net_raw"), "{hint}");
}

#[test]
fn a_key_that_cannot_be_read_is_our_side() {
    let ended = rtt("127.0.0.1:9", &["--key", "/no/such/key"]);
    assert_eq!((ended.code, ended.document()["error"]["side"].as_str()), (Some(2), Some("ours")));
}
