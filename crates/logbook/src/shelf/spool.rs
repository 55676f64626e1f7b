//! Things that could not be put onto a shelf, as files in a folder beside it until it takes them.
//!
//! A file is there whole or not at all, and goes only when what is in it is on the shelf. Names sort in the order in which things
//! of one run were given. A file that cannot be taken stays, and is told.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::document::{Form, Mark};
use crate::read::{self, ReadError};
use crate::shelf::Shelf;
use crate::shelf::error::ShelfError;
use crate::shelf::item::Item;
use crate::store::{self, StoreError};
use crate::whole;

/// A folder of things that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spool {
    folder: PathBuf,
    /// The number of the next file, where it is known.
    next: Option<u64>,
}

/// A file's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Spooled {
    #[serde(flatten)]
    mark: Mark<Spooled>,
    item: Item,
}

impl Form for Spooled {
    const FORMAT: &'static str = "sonde-spooled";
    const NAME: &'static str = "spooled thing";
}

/// Result of taking files in.
#[derive(Debug, Default)]
pub struct Taken {
    /// Things that are on the shelf now, a count.
    pub taken: u64,
    /// Files that stay, and why.
    pub left: Vec<Left>,
}

/// A file that stays.
#[derive(Debug)]
pub struct Left {
    /// The file.
    pub path: PathBuf,
    /// Reason.
    pub why: Why,
}

/// Reason for which a file stays.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// It cannot be read or removed.
    #[error(transparent)]
    File(#[from] StoreError),
    /// It holds nothing that was spooled.
    #[error(transparent)]
    Content(#[from] ReadError),
    /// The shelf does not take it.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

impl Why {
    /// Next step for the reader.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File(error) => error.hint(),
            Self::Content(error) => error.hint(),
            Self::Shelf(error) => error.hint(),
        }
    }

    /// Returns true where no other file would be taken either.
    fn is_of_store(&self) -> bool {
        matches!(self, Self::Shelf(error) if error.fault.is_of_store())
    }
}

impl Spool {
    /// The spool in `folder`, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), next: None }
    }

    /// The spool of the store in `file`: the folder `FILE.spool`.
    pub fn beside(file: &Path) -> Self {
        let mut name = file.as_os_str().to_owned();
        name.push(".spool");
        Self::new(PathBuf::from(name))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `item` as a file and says which.
    ///
    /// # Errors
    /// Errors of the system, and a number in it that JSON has no word for.
    pub fn add(&mut self, item: &Item) -> Result<PathBuf, StoreError> {
        let text = Spooled { mark: Mark::default(), item: item.clone() }.to_json()?;
        let made = fs::create_dir_all(&self.folder);
        made.map_err(|cause| StoreError::Io { step: store::Step::MakeFolder, path: self.folder.clone(), cause })?;
        let mut number = match self.next {
            Some(next) => next,
            None => self.files()?.iter().filter_map(|file| number(file)).max().map_or(1, |last| last + 1),
        };
        // Another process may spool into the same folder; the process' own number tells its files from ours.
        let name = |number: u64| format!("{number:010}-{}-{}.json", item.owner().simple(), std::process::id());
        let mut path = self.folder.join(name(number));
        while path.exists() {
            number += 1;
            path = self.folder.join(name(number));
        }
        store::write(&path, text)?;
        self.next = Some(number + 1);
        Ok(path)
    }

    /// The files that wait, in the order they are to be taken; none where there is no folder.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let unread = |cause| StoreError::Io { step: store::Step::Read, path: self.folder.clone(), cause };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(cause) => return Err(unread(cause)),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(unread)?.path();
            // A name that begins with a dot is of a file that is being written, or was when its writer was killed.
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if !hidden && path.extension().is_some_and(|ending| ending == "json") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Puts all that waits onto `shelf`, and removes each file that is there. Where the shelf itself is in trouble the rest is left
    /// as it is.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn take_all(&self, shelf: &mut dyn Shelf) -> Result<Taken, StoreError> {
        let mut all = Taken::default();
        for path in self.files()? {
            match take(&path, shelf) {
                Ok(()) => all.taken += 1,
                Err(why) => {
                    let stop = why.is_of_store();
                    all.left.push(Left { path, why });
                    if stop {
                        break;
                    }
                }
            }
        }
        self.tidy();
        Ok(all)
    }

    /// Removes the folder where nothing is in it.
    pub fn tidy(&self) {
        // Only an empty folder can be removed; one that is not stays.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Puts what is in the file at `path` onto `shelf`, and then removes it.
///
/// # Errors
/// A file that cannot be read, that holds something else, or that the shelf does not take: it stays.
pub fn take(path: &Path, shelf: &mut dyn Shelf) -> Result<(), Why> {
    let _alone = alone(path);
    let io = |step, cause| StoreError::Io { step, path: path.to_owned(), cause };
    let text = match whole::text(path, whole::LONGEST) {
        Ok(text) => text,
        // Another process has taken it meanwhile.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(io(store::Step::Read, cause).into()),
    };
    read::document::<Spooled>(&text)?.item.put(shelf)?;
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(io(store::Step::Remove, cause).into()),
        _ => Ok(()),
    }
}

/// Keeps other processes from taking anything of this folder until it is dropped, or its process is killed: one that had read a file
/// before we took it would put what is old over what came behind it. Where the file system has no locks, it goes without.
fn alone(path: &Path) -> Option<fs::File> {
    let folder = fs::File::open(path.parent()?).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

fn number(file: &Path) -> Option<u64> {
    file.file_name()?.to_str()?.split('-').next()?.parse().ok()
}
