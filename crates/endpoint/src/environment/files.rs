//! The files facts are read from, below a root that is `/` or a test's, and the notes taken while reading.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A tree of files that looks like `/`, and whether it is this host's own: only then may the kernel be asked too.
#[derive(Clone, Debug)]
pub(super) struct Files {
    root: PathBuf,
    live: bool,
}

impl Files {
    pub(super) fn host() -> Self {
        Self { root: PathBuf::from("/"), live: true }
    }

    pub(super) fn tree(root: PathBuf) -> Self {
        Self { root, live: false }
    }

    /// Returns true for the running host, which system calls describe too.
    pub(super) fn is_live(&self) -> bool {
        self.live
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of the file at the absolute `path`, without space at its ends.
    pub(super) fn text(&self, path: &str) -> Result<String, Unreadable> {
        // Some facts are not UTF-8 (DMI strings are whatever the maker wrote): shown with marks rather than dropped.
        let bytes = fs::read(self.at(path)).map_err(|error| Unreadable::from(&error))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number in the file at `path`; `None` where it is absent, unreadable or no such number.
    pub(super) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.text(path).ok()?.parse().ok()
    }

    /// Names in the folder at `path`, sorted; none where it is not there.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.at(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The last part of where the symbolic link at `path` leads.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.at(path)).ok()?;
        Some(Path::new(&target).file_name()?.to_string_lossy().into_owned())
    }
}

/// Reason for which a file could not be read, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable(String);

impl From<&io::Error> for Unreadable {
    fn from(error: &io::Error) -> Self {
        Self(match error.kind() {
            io::ErrorKind::NotFound => "not there".to_owned(),
            io::ErrorKind::PermissionDenied => "not permitted".to_owned(),
            _ => error.to_string(),
        })
    }
}

impl Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Notes taken while facts are read: settings by name, and facts that could not be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notes {
    pub(super) settings: BTreeMap<String, String>,
    pub(super) unread: Vec<String>,
}

impl Notes {
    /// The text at `path` for a field of its own; noted as unread where there is none.
    pub(super) fn fact(&mut self, files: &Files, path: &str) -> Option<String> {
        match files.text(path) {
            Ok(text) => Some(text),
            Err(reason) => {
                self.unread(path, reason);
                None
            }
        }
    }

    /// The text at `path` as a setting under that path; noted as unread where there is none.
    pub(super) fn setting(&mut self, files: &Files, path: &str) {
        if let Some(text) = self.fact(files, path) {
            self.settings.insert(path.to_owned(), text);
        }
    }

    /// A setting by name.
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Display) {
        self.settings.insert(name.into(), value.to_string());
    }

    /// Notes that `what` could not be read, and why.
    pub(super) fn unread(&mut self, what: &str, reason: impl Display) {
        self.unread.push(format!("{what}: {reason}"));
    }
}

/// A tree of files written from one text: `== PATH` opens a file, `=> TARGET` makes it a link, the rest is its content.
#[cfg(test)]
pub(super) mod planted {
    use super::{Files, fs};

    /// A folder that holds the files of `text` and is removed with this.
    pub struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        pub fn of(text: &str) -> Self {
            let tree = Self { folder: tempfile::tempdir().expect("a folder for files") };
            for file in text.split("\n== ").map(|file| file.trim_start_matches("== ")) {
                let (path, content) = file.split_once('\n').unwrap_or((file, ""));
                tree.put(path, content);
            }
            tree
        }

        pub fn put(&self, path: &str, content: &str) {
            let at = self.folder.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(at.parent().expect("a file has a folder")).expect("a folder");
            match content.trim_end().strip_prefix("=> ") {
                Some(target) => std::os::unix::fs::symlink(target, at).expect("a link"),
                None => fs::write(at, content).expect("a file"),
            }
        }

        pub fn remove(&self, path: &str) {
            fs::remove_file(self.folder.path().join(path.trim_start_matches('/'))).expect("it was there");
        }

        pub fn root(&self) -> &std::path::Path {
            self.folder.path()
        }

        pub fn files(&self) -> Files {
            Files::tree(self.root().to_owned())
        }
    }
}
