//! Our redis-cli beside the original, before the same Redis: both print figures of one form.

use std::path::Path;
use std::process::Command;

use test_case::test_case;
use testbed::{port, process, skip};

use super::LIMIT;
use super::real::redis;

const ORIGINAL: &str = "/usr/bin/redis-cli";

/// Standard output, standard error and exit status of one of both.
fn said(program: &str, ours: bool, port: u16, words: &[&str]) -> (String, String, Option<i32>) {
    let mut command = Command::new(program);
    command.args(ours.then_some("redis-cli")).args(["-p", &port.to_string()]).args(words);
    let ended = process::ended(&mut command, LIMIT);
    (ended.stdout, ended.stderr, ended.code)
}

/// The text with one `N` for each number.
fn form(text: &str) -> String {
    let marked: String = text.chars().map(|c| if c.is_ascii_digit() { 'N' } else { c }).collect();
    marked
        .split_inclusive(|c| c != 'N')
        .map(|part| if part.starts_with("NN") { format!("N{}", part.trim_start_matches('N')) } else { part.to_owned() })
        .collect()
}

fn both(port: u16, words: &[&str]) -> Option<[(String, String, Option<i32>); 2]> {
    if !Path::new(ORIGINAL).exists() {
        skip::aloud("redis-cli is not installed: our redis-cli was not held against it");
        return None;
    }
    Some([said(env!("CARGO_BIN_EXE_sonde"), true, port, words), said(ORIGINAL, false, port, words)])
}

#[test_case(&["--latency"], "N N N.N N\n"; "numbers")]
#[test_case(&["--latency", "--raw", "-i", "0.2"], "N N N.N N\n"; "numbers of a shorter time")]
#[test_case(&["--latency", "--csv"], "N,N,N.N,N\n"; "between commas")]
fn both_print_one_line_of_one_form(words: &[&str], expected: &str) {
    let Some(server) = redis(&[]) else { return };
    let Some([ours, original]) = both(server.port, words) else { return };
    for (stdout, stderr, code) in [ours, original] {
        assert_eq!((form(&stdout).as_str(), stderr.as_str(), code), (expected, "", Some(0)), "{stdout}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_in_the_same_words() {
    let nobody = port::free();
    let Some([ours, original]) = both(nobody, &["--latency"]) else { return };
    assert_eq!(ours, original);
    assert!(ours.1.ends_with("Connection refused\n") && ours.2 == Some(1), "{ours:?}");
}
