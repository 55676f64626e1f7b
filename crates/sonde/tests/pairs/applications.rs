//! Programs at work, asked in their own protocols: the real ones where they are installed, and played ones that do what real ones only
//! do on bad days.

mod at_once;
mod guarded;
mod httping;
mod loaded;
mod looked;
mod mixed;
mod over_quic;
mod oversized;
mod played;
mod real;
mod redis_cli;
mod secured;
mod written;

use std::time::Duration;

use serde_json::Value;
use testbed::process;

/// The patience with a measurement of a few hundred requests on a machine that has other things to do.
const LIMIT: Duration = process::LIMIT;

/// The record of `sonde rtt` with these words, and its exit status.
fn measured(words: &[&str]) -> (Value, Option<i32>) {
    measured_by("rtt", words)
}

/// The same of another command.
fn measured_by(name: &str, words: &[&str]) -> (Value, Option<i32>) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.arg(name).args(words).arg("--json");
    let ended = process::ended(&mut command, LIMIT);
    let record = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    (record, ended.code)
}

/// The words of a `sonde rtt` that measures nothing.
fn refused(words: &[&str]) -> String {
    refused_by("rtt", words)
}

/// The same of another command.
fn refused_by(name: &str, words: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.arg(name).args(words);
    let ended = process::ended(&mut command, LIMIT);
    assert_ne!(ended.code, Some(0), "{}", ended.told());
    ended.stderr
}

/// The count of replies of this kind.
fn kind(record: &Value, name: &str) -> u64 {
    record["outcome"]["replies"]["kinds"][name]["count"].as_u64().unwrap_or(0)
}

fn count(record: &Value, name: &str) -> u64 {
    record["outcome"]["counts"][name].as_u64().unwrap_or_else(|| panic!("no count of {name}: {record}"))
}

/// The part of a record that a failed assertion shows: its end and its counts, and not all that is known of this host.
fn brief(record: &Value) -> String {
    format!("{} {} {}", record["ended"], record["outcome"]["counts"], record["outcome"]["replies"])
}
