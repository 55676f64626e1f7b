//! The binary, driven as users drive it: each test in a folder of its own, without the environment of whoever runs it.

mod agent;
mod argv;
mod audit;
mod check;
mod churn;
mod claims;
mod compare;
mod completions;
mod documents;
mod find;
mod help;
mod identities;
mod idle;
mod key;
mod keys;
mod load;
mod machine;
mod netserver;
mod persona;
mod pipe;
mod pkb;
mod profile;
mod referee;
mod replay;
mod report;
mod rerun;
mod rtt;
mod runs;
mod sandbox;
mod serve;
mod staying;
mod sweep;
mod terminal;
mod tutorial;

use std::path::Path;

use assert_cmd::Command;

/// `sonde` with these words, where nothing of the caller's environment decides about colours, widths or keys.
fn sonde(words: &[&str]) -> Command {
    let mut command = assert_cmd::cargo::cargo_bin_cmd!("sonde");
    let colours = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "SONDE_COLOR"];
    let others = ["SONDE_KEY_FILE", "SONDE_STORE", "NOTIFY_SOCKET", "LC_ALL", "LC_CTYPE", "LANG"];
    for name in colours.iter().chain(&others) {
        command.env_remove(name);
    }
    // Nobody's runs are looked into.
    command.env("XDG_DATA_HOME", "/nonexistent/data").env("COLUMNS", "100").args(words);
    command
}

/// The same in a folder.
fn sonde_in(folder: &Path, words: &[&str]) -> Command {
    let mut command = sonde(words);
    command.current_dir(folder);
    command
}

/// Standard output of a command, which must be text.
fn printed(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

/// The one JSON document on standard output.
fn document(stdout: &[u8]) -> serde_json::Value {
    serde_json::from_slice(stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(stdout)))
}
