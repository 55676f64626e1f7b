//! `sonde watch`: starts the program that shows hosts live, which is one of its own (`sonde-monitor`), so that what measures stays small.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::failure::Failure;

/// The program that draws.
const PROGRAM: &str = "sonde-monitor";

/// Words for that program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct WatchOptions {
    /// Hosts and options: `sonde watch --help` prints them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "HOST")]
    pub words: Vec<OsString>,
}

/// The words behind `sonde watch`, where that is asked for: they are for the other program alone, `--help` among them.
pub fn asked(argv: &[OsString]) -> Option<&[OsString]> {
    argv.get(1).filter(|word| *word == "watch").map(|_| &argv[2..])
}

/// Becomes the program that draws. It comes back only where that cannot be started.
pub fn become_it(words: &[OsString]) -> Failure {
    let here = std::env::current_exe().ok();
    let beside = here.as_ref().map(|here| here.with_file_name(PROGRAM)).filter(|beside| beside.exists());
    let mut command = Command::new(beside.unwrap_or_else(|| PathBuf::from(PROGRAM)));
    command.arg("watch").args(words);
    if let Some(here) = &here {
        command.arg("--sonde").arg(here);
    }
    let error = command.exec();
    let failure = Failure::usage(format!("cannot start {PROGRAM}, which draws: {error}"));
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

    #[test_case(&["sonde", "watch", "--help"], Some(&["--help"]))]
    #[test_case(&["sonde", "watch"], Some(&[]))]
    #[test_case(&["sonde", "rtt", "watch"], None; "a host of that name")]
    #[test_case(&["sonde"], None)]
    fn its_words_are_for_the_other_program(argv: &[&str], words: Option<&[&str]>) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let words = words.map(|words| words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(asked(&argv), words.as_deref());
    }
}
