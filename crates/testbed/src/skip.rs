//! A test that cannot run says so aloud: a skipped test that looks like a passed one is a lie.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells that something was not tested, and why: on standard error, and in the file that `SONDE_SKIPS` names, from
/// which `make test` prints its closing list. The caller returns from its test afterwards.
///
/// # Panics
/// Where the file cannot be written: then the list would be silently incomplete.
#[expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "the one room where a test talks to who runs it"
)]
pub fn aloud(reason: &str) {
    eprintln!("not tested: {reason}");
    if let Ok(file) = std::env::var("SONDE_SKIPS") {
        append(Path::new(&file), reason);
    }
}

/// Returns true where a program is installed; where not, that is said aloud.
pub fn installed(program: &str, package: &str, what: &str) -> bool {
    let there = Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        aloud(&format!("{what}: {program} is not installed ({package})"));
    }
    there
}

fn append(file: &Path, reason: &str) {
    // One write of one line: appends of tests that run at the same time do not mix.
    let line = format!("{}\n", reason.replace('\n', " "));
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{}: cannot note a skipped test: {error}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skips");
        append(&file, "no such program:\nip");
        append(&file, "no permission");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "no such program: ip\nno permission\n");
    }
}
