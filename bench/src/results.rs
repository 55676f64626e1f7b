//! Keeps the latest outputs as they came: the table and the same as JSON, named by time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::table::Report;

/// Outputs that are kept.
const KEPT: usize = 3;

/// Writes `report` into `folder` as `TIME.txt` and `TIME.json`, or as `TIME-FAMILY.…` where it is one family's, and removes the
/// oldest of its kind beyond the three latest. Gives the path of the table.
pub fn keep(report: &Report, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let kind = report.family.map(|family| format!("-{}", family.word())).unwrap_or_default();
    let name = format!("{}{kind}", report.began.strftime("%Y-%m-%dT%H%M%SZ"));
    let table = folder.join(format!("{name}.txt"));
    let mut json = serde_json::to_string_pretty(report)?;
    json.push('\n');
    fs::write(&table, report.table())?;
    fs::write(folder.join(format!("{name}.json")), json)?;
    for ending in ["txt", "json"] {
        prune(folder, &format!("Z{kind}.{ending}"))?;
    }
    Ok(table)
}

/// Removes all files of `ending` but the last of their names, which begin with times.
fn prune(folder: &Path, ending: &str) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ending) {
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
    use crate::row::Family;

    #[test]
    fn the_three_latest_stay() {
        let folder = tempfile::tempdir().unwrap();
        for (second, family) in (1..=5).flat_map(|second| [(second, None), (second, Some(Family::Sockperf))]) {
            let report = Report {
                began: format!("2026-01-02T03:04:0{second}Z").parse().unwrap(),
                machine: Machine::here(Path::new("/nowhere/sonde"), None),
                priority: Priority::Normal,
                pairs: 21,
                seed: 1,
                family,
                rows: Vec::new(),
            };
            keep(&report, folder.path()).unwrap();
        }
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let expected: Vec<String> = (3..=5)
            .flat_map(|s| {
                ["-sockperf.json", "-sockperf.txt", ".json", ".txt"].map(|end| format!("2026-01-02T03040{s}Z{end}"))
            })
            .collect();
        assert_eq!(names, expected);
    }
}
