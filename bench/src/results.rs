//! Keeps the latest outputs as they came: the table and the same as JSON, named by time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::table::Report;

/// Outputs that are kept.
const KEPT: usize = 3;

/// Writes `report` into `folder` as `TIME.txt` and `TIME.json`, and removes the oldest beyond the three latest.
/// Gives the path of the table.
pub fn keep(report: &Report, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let name = report.began.strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let table = folder.join(format!("{name}.txt"));
    let mut json = serde_json::to_string_pretty(report)?;
    json.push('\n');
    fs::write(&table, report.table())?;
    fs::write(folder.join(format!("{name}.json")), json)?;
    for ending in ["txt", "json"] {
        prune(folder, ending)?;
    }
    Ok(table)
}

/// Removes all files of `ending` but the last of their names, which are times.
fn prune(folder: &Path, ending: &str) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == ending) {
            files.push(path);
        }
    }
    files.sort();
    for old in files.iter().rev().skip(KEPT) {
        fs::remove_file(old)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::process::Priority;

    #[test]
    fn the_three_latest_stay() {
        let folder = tempfile::tempdir().unwrap();
        for second in 1..=5 {
            let report = Report {
                began: format!("2026-01-02T03:04:0{second}Z").parse().unwrap(),
                machine: Machine::here(None),
                priority: Priority::Normal,
                pairs: 21,
                seed: 1,
                rows: Vec::new(),
            };
            keep(&report, folder.path()).unwrap();
        }
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let expected: Vec<String> =
            (3..=5).flat_map(|s| [format!("2026-01-02T03040{s}Z.json"), format!("2026-01-02T03040{s}Z.txt")]).collect();
        assert_eq!(names, expected);
    }
}
