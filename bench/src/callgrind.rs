//! Instructions in user space, counted by callgrind: what no noise of the machine moves.
//!
//! A count per exchange is a difference quotient over two runs of different length, so that start-up and end cancel.
//! Valgrind hides the vDSO, so that both sides read the clock by a system call: a few instructions in user space, alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Returns true where valgrind is installed.
pub fn is_here() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Part of a process whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All its threads'.
    Process,
    /// All but its first thread's: those that exchange, without the statistics that the main thread makes of them.
    Threads,
}

/// A fresh folder for the profiles of one run.
#[derive(Debug)]
pub struct Profile {
    folder: PathBuf,
}

impl Profile {
    /// `folder`, emptied.
    pub fn new(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Beginning of the names of the profiles.
    pub fn prefix(&self) -> PathBuf {
        self.folder.join("profile")
    }

    /// Instructions counted. Profiles of single threads end with `-01` for the first, `-02` …
    pub fn instructions(&self, part: Part) -> Result<u64> {
        let mut sum = 0;
        let mut profiles = 0;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if part == Part::Threads && (name.ends_with("-01") || !name.contains('-')) {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            sum += totals(&text).with_context(|| format!("{name} has no totals"))?;
            profiles += 1;
        }
        ensure!(profiles > 0, "callgrind left no profile in {}", self.folder.display());
        Ok(sum)
    }
}

/// The sum a profile ends with.
fn totals(profile: &str) -> Option<u64> {
    profile.lines().rev().find_map(|line| line.strip_prefix("totals: ")).and_then(|number| number.trim().parse().ok())
}

/// Instructions an exchange: `run` gives the instructions of a run of so many exchanges.
pub fn per_exchange(few: u64, many: u64, mut run: impl FnMut(u64) -> Result<u64>) -> Result<f64> {
    ensure!(few < many, "{few} exchanges are not fewer than {many}");
    let (short, long) = (run(few)?, run(many)?);
    ensure!(short < long, "{many} exchanges took {long} instructions, {few} took {short}");
    Ok((long - short) as f64 / (many - few) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_and_end_cancel() {
        assert_eq!(per_exchange(100, 1_100, |n| Ok(5_000_000 + 42 * n)).unwrap(), 42.0);
    }

    #[test]
    fn a_longer_run_that_took_no_more_is_an_error() {
        assert!(per_exchange(100, 1_100, |_| Ok(5_000_000)).is_err());
    }

    #[test]
    fn totals_are_the_last_line_of_that_name() {
        assert_eq!(totals("events: Ir\nfn=(1) main\n3 17\n\ntotals: 2718\n"), Some(2_718));
        assert_eq!(totals("events: Ir\n"), None);
    }
}
