//! A page of what was measured so far: `sonde report` of the records of all ways, which the measuring processes give at their end.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A page that is being made.
#[derive(Debug)]
pub struct Saving {
    /// Ways whose processes have not ended yet, by their numbers.
    waiting: BTreeSet<usize>,
    /// Records that are on disk.
    files: Vec<PathBuf>,
    /// Folder of the pages that nobody wants to keep; it is removed.
    scratch: Option<PathBuf>,
    page: PathBuf,
}

impl Saving {
    /// Page of the records in `files`, and of those that the ways in `waiting` are about to give.
    pub fn new(waiting: BTreeSet<usize>, files: Vec<PathBuf>, page: PathBuf) -> Self {
        Self { waiting, files, scratch: None, page }
    }

    /// Takes in a record that is kept in `file`.
    pub fn kept(&mut self, file: PathBuf) {
        self.files.push(file);
    }

    /// Takes in a record that nobody keeps.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record(&mut self, name: &str, text: &str) -> Result<()> {
        let file = self.scratch()?.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        self.files.push(file);
        Ok(())
    }

    /// The folder of records that nobody keeps, which is made for the first of them.
    fn scratch(&mut self) -> Result<&Path> {
        if self.scratch.is_none() {
            let folder = std::env::temp_dir().join(format!("sonde-watch-{}", std::process::id()));
            // One that is there already may be somebody else's.
            let made = fs::DirBuilder::new().mode(0o700).create(&folder);
            made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
            self.scratch = Some(folder);
        }
        Ok(self.scratch.as_deref().expect("it was made"))
    }

    /// The process of way `number` has ended. Returns true where it was the last.
    pub fn ended(&mut self, number: usize) -> bool {
        self.waiting.remove(&number);
        self.waiting.is_empty()
    }

    /// Makes the page; where it lies.
    ///
    /// # Errors
    /// There is no record; `sonde` cannot be run, or says why it does not.
    pub fn write(self, sonde: &Path) -> Result<PathBuf> {
        if self.files.is_empty() {
            bail!("no page: no way was measured yet");
        }
        let mut command = Command::new(sonde);
        command.arg("report").args(&self.files).arg("-o").arg(&self.page).arg("--quiet").stdin(Stdio::null());
        let output = command.output().with_context(|| format!("cannot run {}", sonde.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "no page: {}",
                said.trim().trim_start_matches("error: ").lines().next().unwrap_or("sonde report failed")
            );
        }
        Ok(self.page.clone())
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        if let Some(folder) = &self.scratch {
            let _left = fs::remove_dir_all(folder);
        }
    }
}
