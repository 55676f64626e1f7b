//! `sonde self`: short looks, for what is told and not for the numbers.

use std::process::Command;

use predicates::str::contains;
use rustix::process::Signal;
use testbed::process::{self, LIMIT};
use testbed::wait;

use crate::{document, printed, sonde, sonde_in};

#[test]
fn a_look_tells_every_part() {
    let text = printed(&mut sonde(&["self", "-t", "0.5"]));
    for part in ["clock ", "recorder ", "pauses ", "schedule lag by pacing", "hybrid", "loopback", "tcp block"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_look_is_one_document_in_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = printed(&mut sonde_in(folder.path(), &["self", "-t", "0.5", "-J", "-o", "a.json", "-o", "b.txt"]));
    let found = document(stdout.as_bytes());
    assert_eq!((&found["format"], &found["version"]), (&"sonde-self".into(), &1.into()));
    jsonschema::validate(&logbook::schema::self_schema(), &found).unwrap();
    let resolution: measure::resolution::Resolution = serde_json::from_value(found["resolution"].clone()).unwrap();
    assert!(resolution.clock.read_ns > Some(0.0) && !resolution.lateness.is_empty());
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("a.json"), stdout);
    assert!(read("b.txt").contains("schedule lag by pacing"));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_look() {
    sonde(&["self", "-t", "1h", "-o", "/nowhere/a.json"]).assert().code(2).stdout("").stderr(contains("folder"));
}

/// The numbers of signals that a process's first thread blocks, as bits from 0 on.
fn blocked(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[test]
fn an_interrupt_is_told_by_what_has_nothing_to_end_in_order() {
    let running = process::started(Command::new(assert_cmd::cargo::cargo_bin!("sonde")).args(["self", "-t", "1h"]));
    wait::until("signals to be taken", || blocked(running.id()) & 1 << (Signal::INT.as_raw() - 1) != 0);
    running.signal(Signal::INT);
    let ended = running.end(LIMIT);
    assert!(
        ended.code.is_none() && !ended.overdue && ended.stderr.contains("interrupted by SIGINT"),
        "{}",
        ended.told()
    );
}
