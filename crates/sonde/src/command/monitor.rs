//! Commands of the other program, `sonde-monitor`: it shows hosts live and what was kept of them, so that what measures stays small. Each is started by
//! becoming that program.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::failure::Failure;

/// The program.
const PROGRAM: &str = "sonde-monitor";

/// Its commands, and whether each is told where this program is, which it runs to measure.
const COMMANDS: [(&str, bool); 5] =
    [("watch", true), ("monitor", true), ("history", false), ("accept", false), ("compare", false)];

/// Words for that program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct MonitorOptions {
    /// Hosts and options: `sonde watch --help` and `sonde history --help` print them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "HOST")]
    pub words: Vec<OsString>,
}

/// The command and the words behind it, where they are for the other program alone, `--help` among them.
pub fn asked(argv: &[OsString]) -> Option<(&'static str, &[OsString])> {
    let (word, words) = (argv.get(1)?, &argv[2..]);
    // Measuring commands are compared here, what was kept of cells there.
    let is_there = |name: &str| name != "compare" || words.iter().filter(|word| is_cell(word)).count() > 1;
    COMMANDS.iter().find(|(name, _)| word == name && is_there(name)).map(|(name, _)| (*name, words))
}

/// True where a word is a cell with its time, as `a>b@mon`.
fn is_cell(word: &OsString) -> bool {
    word.to_str().and_then(|word| word.split_once('@')).is_some_and(|(cell, _)| cell.contains('>'))
}

/// Becomes that program. It comes back only where it cannot be started.
pub fn become_it(name: &str, words: &[OsString]) -> Failure {
    let here = std::env::current_exe().ok();
    let beside = here.as_ref().map(|here| here.with_file_name(PROGRAM)).filter(|beside| beside.exists());
    let mut command = Command::new(beside.unwrap_or_else(|| PathBuf::from(PROGRAM)));
    command.arg(name).args(words);
    if let Some(here) = here.filter(|_| COMMANDS.contains(&(name, true))) {
        command.arg("--sonde").arg(here);
    }
    let error = command.exec();
    let failure = Failure::usage(format!("cannot start {PROGRAM}, which does this: {error}"));
    match error.kind() {
        io::ErrorKind::NotFound => failure.hint(format!(
            "install {PROGRAM} beside sonde or on the PATH (in the sources: cargo build --release --package {PROGRAM})"
        )),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&["sonde", "watch", "--help"], Some(("watch", &["--help"])))]
    #[test_case(&["sonde", "watch"], Some(("watch", &[])))]
    #[test_case(&["sonde", "history", "a", "b"], Some(("history", &["a", "b"])))]
    #[test_case(&["sonde", "compare", "a>b@mon", "--json", "a>b@tue"], Some(("compare", &["a>b@mon", "--json", "a>b@tue"])); "cells")]
    #[test_case(&["sonde", "compare", "rtt db1", "rtt user@db1"], None; "measuring commands")]
    #[test_case(&["sonde", "rtt", "watch"], None; "a host of that name")]
    #[test_case(&["sonde"], None)]
    fn its_words_are_for_the_other_program(argv: &[&str], expected: Option<(&str, &[&str])>) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let found = asked(&argv).map(|(name, words)| (name, words.iter().filter_map(|word| word.to_str()).collect()));
        assert_eq!(found, expected.map(|(name, words)| (name, words.to_vec())));
    }
}
