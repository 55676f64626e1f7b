//! A file that is written piece by piece, and takes its place when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Step, StoreError};

/// A file that is being written: an older one at its place stays as it was until this is whole and on the disk. Dropped before, it
/// leaves nothing.
///
/// A path that is no regular file (a pipe, a terminal, `/dev/null`) is written to directly.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    out: BufWriter<File>,
    /// Its name while it is written, and its name at the end; `None`: it is written to directly, or has its place.
    part: Option<(PathBuf, PathBuf)>,
}

impl Draft {
    /// Begins a file at `path`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn begin(path: &Path) -> Result<Self, StoreError> {
        let begun = match fs::metadata(path) {
            Ok(there) if !there.is_file() && !there.is_dir() => {
                OpenOptions::new().write(true).open(path).map(|file| (file, None))
            }
            // A link is followed, so that what it points to is replaced and not the link.
            _ => beside(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
        };
        let (file, part) = begun.map_err(|cause| StoreError::io(Step::Write, path, cause))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file), part })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// Errors of the system: then nothing of it is left.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.end().map_err(|cause| StoreError::io(Step::Write, &self.path, cause))
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.flush()?;
        if let Some((part, target)) = &self.part {
            self.out.get_ref().sync_all()?;
            fs::rename(part, target)?;
            let target = target.clone();
            self.part = None;
            sync_folder(&target)?;
        }
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((part, _)) = &self.part {
            // The earlier failure is the one that was reported; a part that cannot be removed has a name that shows it is
            // one.
            let _ = fs::remove_file(part);
        }
    }
}

/// A new hidden file beside `target`: in the same folder, for only there can it be renamed in one step.
fn beside(target: PathBuf) -> io::Result<(File, Option<(PathBuf, PathBuf)>)> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_string_lossy();
    // File systems take names of 255 octets: one that is as long has to have room for what is added.
    let name = &name[..name.floor_char_boundary(200)];
    let part = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
    Ok((file, Some((part, target))))
}

/// Makes the new name itself durable. Some file systems cannot; the file's content is safe all the same.
fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(cause) if cause.kind() == io::ErrorKind::StorageFull => Err(cause),
        _ => Ok(()),
    }
}
