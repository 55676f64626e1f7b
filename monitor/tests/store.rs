//! A store whose writer is killed at any time, and the program that reads it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testbed::process::{Ended, ended, started};

const LIMIT: Duration = Duration::from_mins(3);

fn monitor(words: &[&str], store: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde-monitor"));
    command.args(words).arg("--store").arg(store).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command
}

fn run(words: &[&str], store: &Path) -> Ended {
    ended(&mut monitor(words, store), LIMIT)
}

#[test]
fn whatever_instant_its_writer_is_killed_at_each_beat_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let store: PathBuf = folder.path().join("monitor.db");
    // 130 minutes of six hosts, each minute in three batches; hours are made on the way.
    let words = ["generate", "--hosts", "6", "--cells", "3", "--minutes", "130", "--batches", "3", "--lines"];
    for kept in [2, 30, 61, 100] {
        let writer = started(&mut monitor(&words, &store));
        let line = format!("kept {kept}\n");
        writer.until("a minute is kept", |said| said.contains(&line));
        writer.signal(Signal::KILL);
        let ended = writer.end(LIMIT);
        // One that came to its end before the signal shows as well that it goes on where it was.
        assert!(ended.code.is_none() || ended.code == Some(0), "{}", ended.told());
    }
    let last = run(&words, &store);
    assert_eq!(last.code, Some(0), "{}", last.told());
    for (from, to) in [("host0000", "host0001"), ("host0005", "host0002")] {
        for by in ["minute", "hour", "day"] {
            let words = ["history", from, to, "--since", "2024-10-04", "--until", "2024-10-05", "--by", by, "--json"];
            let told = run(&words, &store);
            assert_eq!(told.code, Some(0), "{}", told.told());
            let json: Value = serde_json::from_str(&told.stdout).unwrap();
            assert_eq!(json["cells"][0]["whole"]["counts"]["scheduled"], 130 * 60, "{from} {to} by {by}");
        }
    }
}

#[test]
fn errors_say_what_to_try_and_end_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("monitor.db");
    let told = run(&["history"], &store);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("monitor.db: no monitor store exists here yet\ntry:   "), "{}", told.told());
    let filled = run(&["generate", "--hosts", "3", "--cells", "1", "--minutes", "2"], &store);
    assert_eq!(filled.code, Some(0), "{}", filled.told());
    let told =
        run(&["history", "host0000", "host0001", "--since", "2024-10-04", "--until", "2024-10-04T01:00"], &store);
    assert_eq!(told.code, Some(0), "{}", told.told());
    assert!(told.stdout.starts_with("host0000 to host0001 over udp: p50 "), "{}", told.told());
    let none = run(&["history", "host0000", "host0001", "--since", "2023-10-04", "--until", "2023-10-05"], &store);
    assert_eq!((none.code, none.stdout.contains("no data from")), (Some(1), true), "{}", none.told());
}
