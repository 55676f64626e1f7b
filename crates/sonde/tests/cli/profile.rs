//! Profiles of the configuration file: what they put into a command line, and what is wrong with them.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

use crate::{document, sonde};

const CONFIG: &str = "\
[profile.short]
protocol = \"udp\"
count = 5
every = \"1ms\"
warm-up = \"0s\"
json = true
streams = 2

[profile.wrong]
time = \"10x\"

[profile.mistyped]
contu = 5
";

/// A command of a user whose configuration this is.
fn with_config(folder: &Path, words: &[&str]) -> Command {
    std::fs::create_dir_all(folder.join("sonde")).unwrap();
    std::fs::write(folder.join("sonde/config.toml"), CONFIG).unwrap();
    let mut command = sonde(words);
    command.env("XDG_CONFIG_HOME", folder);
    command
}

#[test]
fn a_profile_measures_as_its_options_do_and_the_command_line_wins() {
    let folder = tempfile::tempdir().unwrap();
    let record = |words: &[&str]| {
        let assert = with_config(folder.path(), &[&["rtt", "--profile", "short"], words].concat()).assert().success();
        let output = assert.get_output().clone();
        assert!(String::from_utf8_lossy(&output.stderr).contains("note: profile short: rtt has no --streams"));
        document(&output.stdout)
    };
    let found = record(&[]);
    assert_eq!(
        (&found["method"]["carrier"], &found["outcome"]["counts"]["scheduled"]),
        (&"udp".into(), &5.into()),
        "{found}"
    );
    let words: Vec<&str> = found["command"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    assert!(words.contains(&"--protocol=udp") && !words.contains(&"--profile"), "{words:?}");
    let found = record(&["--tcp", "-c", "3"]);
    assert_eq!(
        (&found["method"]["carrier"], &found["outcome"]["counts"]["scheduled"]),
        (&"tcp".into(), &3.into()),
        "{found}"
    );
}

#[test]
fn what_is_wrong_with_a_profile_is_named_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |profile: &str, said: &[&str]| {
        let assert = with_config(folder.path(), &["rtt", "--profile", profile, "-c", "1"]).assert().code(2).stdout("");
        said.iter().fold(assert, |assert, said| assert.stderr(contains(*said)));
    };
    refused("mistyped", &["config.toml, line 13, column 1: unknown key `contu`", "write `count`"]);
    refused("wrong", &["10x", "profile wrong of ", "--time=10x"]);
    refused("shrot", &["there is no profile `shrot`", "--profile short"]);
    let mut nowhere = sonde(&["rtt", "--profile", "short"]);
    nowhere.env("XDG_CONFIG_HOME", folder.path().join("nowhere"));
    nowhere.assert().code(2).stderr(contains("cannot read").and(contains("sonde help profiles")));
}

#[test]
fn nothing_is_applied_where_no_profile_is_named_and_none_to_a_side_or_another_tool() {
    let folder = tempfile::tempdir().unwrap();
    let plain = with_config(folder.path(), &["rtt", "-c", "2", "--warm-up", "0", "--json"]).assert().success();
    assert_eq!(document(&plain.get_output().stdout)["method"]["carrier"], "tcp");
    let side = with_config(folder.path(), &["compare", "db1 --profile short", "db2"]).assert().code(2);
    side.stderr(contains("--profile does not work in a study"));
    with_config(folder.path(), &["ping", "--profile", "short"])
        .assert()
        .failure()
        .stderr(contains("config.toml").not());
}
