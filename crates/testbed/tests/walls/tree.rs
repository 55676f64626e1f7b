//! The files of the project, as a reader of it has them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's folder.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A file of the project: its path from the root, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn of(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// The crate it belongs to.
    pub fn in_crate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// All text files: those that git knows, or, without git, all but what is built. A file that is no text has no lines to
/// read.
pub fn files() -> Vec<File> {
    let paths = known_to_git().unwrap_or_else(found_on_disk);
    let read = |path: String| Some(File { text: fs::read_to_string(root().join(&path)).ok()?, path });
    let files: Vec<File> = paths.into_iter().filter_map(read).collect();
    assert!(files.iter().any(|file| file.path == "crates/testbed/tests/walls/tree.rs"), "the files are not found");
    files
}

fn known_to_git() -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let listed = String::from_utf8(output.stdout).ok()?;
    Some(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn found_on_disk() -> Vec<String> {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    let built: Vec<PathBuf> =
        ignored.lines().filter_map(|line| line.strip_prefix('/')).map(|path| root().join(path)).collect();
    let mut folders = vec![root().to_owned()];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project").map(|entry| entry.expect("an entry of it"))
        {
            let path = entry.path();
            if entry.file_name() == ".git" || built.contains(&path) {
                continue;
            }
            let kind = entry.file_type().expect("the kind of an entry");
            if kind.is_dir() {
                folders.push(path);
            } else if let Some(path) = path.strip_prefix(root()).ok().and_then(Path::to_str) {
                paths.push(path.to_owned());
            }
        }
    }
    paths
}

#[test]
fn git_and_the_disk_agree_on_the_sources() {
    let Some(known) = known_to_git() else {
        return testbed::skip::aloud("the list of files by git: no git, or no repository");
    };
    let found = found_on_disk();
    let lacking: Vec<&String> =
        known.iter().filter(|path| root().join(path).is_file() && !found.contains(path)).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
