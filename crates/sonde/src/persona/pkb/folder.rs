//! The folder of a run: its plans, its samples, and which of our runs are which benchmarks of it, so that later stages find them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The samples' file where none was named, as PKB calls it.
const SAMPLES: &str = "perfkitbenchmarker_results.json";
/// The file of the runs' names.
const RUNS: &str = "sonde-runs.json";
/// File of each benchmark's end, as PKB calls it.
const STATUSES: &str = "completion_statuses.json";

/// The folder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// That of the run `run_uri` under `base`, or under the system's folder for what is temporary. It is made where it is not there,
    /// for this user alone.
    ///
    /// # Errors
    /// Errors of the system; a folder that is another user's.
    pub fn open(base: Option<&str>, run_uri: &str) -> io::Result<Self> {
        let base = base.map_or_else(|| std::env::temp_dir().join("perfkitbenchmarker"), PathBuf::from);
        // Whole, so that whoever reads a file of it from another folder finds the same.
        let path = std::path::absolute(base)?.join("runs").join(run_uri);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        let about = fs::symlink_metadata(&path)?;
        if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() {
            let why = format!("{}: is another user's: say --temp_dir", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self { path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The samples' file: the one that was named, or the run's own; `None`: none was wanted.
    pub fn samples(&self, named: Option<&str>) -> Option<PathBuf> {
        match named {
            None => Some(self.path.join(SAMPLES)),
            Some("") => None,
            Some(named) => Some(PathBuf::from(named)),
        }
    }

    /// Writes the plan of a benchmark, as it will be run; where it lies.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write_plan(&self, uid: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path.join(format!("{uid}.plan.toml"));
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Writes how each benchmark ended, a line each, over what an earlier stage wrote.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write_statuses(&self, lines: &str) -> io::Result<()> {
        fs::write(self.path.join(STATUSES), lines)
    }

    /// Our runs of earlier stages, by the benchmarks' names; none where there were none.
    ///
    /// # Errors
    /// Errors of the system; a file that is not as we write it.
    pub fn runs(&self) -> io::Result<BTreeMap<String, Uuid>> {
        match fs::read_to_string(self.path.join(RUNS)) {
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        }
    }

    /// Writes them: the old file stays whole until the new one is.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write_runs(&self, runs: &BTreeMap<String, Uuid>) -> io::Result<()> {
        let (new, path) = (self.path.join("sonde-runs.new"), self.path.join(RUNS));
        let mut file = fs::File::create(&new)?;
        file.write_all(serde_json::to_string_pretty(runs).map_err(io::Error::from)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_again() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().to_str().unwrap();
        let folder = Folder::open(Some(base), "abc12").unwrap();
        assert_eq!(folder.runs().unwrap(), BTreeMap::new());
        let runs = BTreeMap::from([("netperf0".to_owned(), Uuid::now_v7())]);
        folder.write_runs(&runs).unwrap();
        assert_eq!(Folder::open(Some(base), "abc12").unwrap().runs().unwrap(), runs);
        assert_eq!(Folder::open(Some(base), "other").unwrap().runs().unwrap(), BTreeMap::new());
    }

    #[test]
    fn samples_go_where_they_were_sent() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::open(base.path().to_str(), "abc12").unwrap();
        assert!(folder.samples(None).unwrap().ends_with("runs/abc12/perfkitbenchmarker_results.json"));
        assert_eq!((folder.samples(Some("")), folder.samples(Some("/x"))), (None, Some("/x".into())));
    }

    #[test]
    fn rubbish_in_the_folder_is_told() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::open(base.path().to_str(), "abc12").unwrap();
        fs::write(folder.path().join(RUNS), "[3").unwrap();
        assert!(folder.runs().is_err());
        fs::write(base.path().join("file"), "").unwrap();
        assert!(Folder::open(base.path().join("file").to_str(), "abc12").is_err());
    }
}
