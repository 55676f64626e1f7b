//! Standard output that goes away, or is full.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::sonde;

fn program() -> String {
    sonde(&[]).get_program().to_string_lossy().into_owned()
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child =
        Command::new(program()).args(["rtt", "--help"]).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaints.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_told_and_is_no_success() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(program()).arg("--help").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(complaints.starts_with("error: standard output: cannot write the result: "), "{complaints}");
}

/// Status and standard error of `sonde rtt --json-lines` where its events cannot be written from the first on.
fn unread(stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let mut command = Command::new(program());
    command.args(["rtt", "--json-lines", "-t", "1h", "--warm-up", "0"]).stdout(stdout).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn events_that_cannot_be_written_are_told_as_that() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, complaints) = unread(full);
    let lines: Vec<&str> = complaints.lines().collect();
    let [what, hint] = lines[..] else { panic!("{complaints}") };
    assert!(what.starts_with("error: standard output: cannot write the result: No space left"), "{complaints}");
    assert!(hint.starts_with("try:   make room"), "{complaints}");
    assert_eq!(code, Some(2), "nothing was measured");
}

#[test]
fn events_that_nobody_reads_from_the_first_on_end_it_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(unread(writer), (Some(1), String::new()));
}

#[test]
fn a_measurement_whose_events_nobody_reads_ends() {
    let mut child = Command::new(program())
        .args(["rtt", "--json-lines", "-t", "1h", "--warm-up", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with(r#"{"event":"start""#), "{first}");
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaints.as_str()), (Some(0), ""));
}
