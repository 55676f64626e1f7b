//! This very program, run again.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// File in which the kernel keeps the program that a process runs, whatever became of its file since: another host with the
/// same home may have put its own copy in the file's place, and so may an upgrade.
pub const PROGRAM: &str = "/proc/self/exe";
/// Its name in lists of processes.
pub const NAME: &str = "sonde";

/// Starts this program again, called by its name.
pub fn command() -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg0(NAME);
    command
}
