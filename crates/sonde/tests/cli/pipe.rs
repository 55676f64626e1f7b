//! Standard output that goes away, or is full.

use std::fs::OpenOptions;
use std::io::Read;
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
