//! Folder of the sockets of shared connections: a short one of this process's own, gone with it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use endpoint::stop::Stop;
use measure::unit::Nanos;
use rustix::fs::{FlockOperation, flock};

use crate::child;

/// First part of a folder's name; the process id and a count follow.
const PREFIX: &str = "sonde-ssh-";
/// A socket's path has 108 bytes at most; a tag, a hash, and what `ssh` adds while it makes one take 66.
const LONGEST: usize = 108 - 66 - 24;
/// Names that are tried.
const TRIES: u32 = 1_000;
/// Longest wait for `ssh` to close a connection.
const CLOSE: Nanos = Nanos::secs(2);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder that only its user can look into.
#[derive(Debug)]
pub struct Sockets {
    folder: PathBuf,
    /// Says that its process lives, also to those who do not see that: in containers that share a folder.
    _lock: File,
}

impl Sockets {
    /// A new one below `runtime`, or below `/tmp` where that is too long a path for a socket.
    ///
    /// # Errors
    /// Errors of the system where no folder can be made.
    pub fn below(runtime: &Path) -> io::Result<Self> {
        let fits = runtime.as_os_str().len() <= LONGEST && runtime.is_dir();
        let runtime = if fits { runtime } else { Path::new("/tmp") };
        sweep(runtime);
        for _ in 0..TRIES {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let folder = runtime.join(format!("{PREFIX}{}-{count}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    let lock = File::open(&folder)?;
                    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                    return Ok(Self { folder, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes what processes of this user that are no more left below `runtime`.
pub fn sweep(runtime: &Path) {
    let Ok(entries) = fs::read_dir(runtime) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
        let gone = owner.is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists());
        let facts = fs::symlink_metadata(entry.path());
        let mine = facts.is_ok_and(|facts| facts.is_dir() && facts.uid() == rustix::process::getuid().as_raw());
        let free = |lock: File| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if gone && mine && File::open(entry.path()).is_ok_and(free) {
            remove(&entry.path());
        }
    }
}

/// Removes a folder, and the connections whose sockets are in it.
fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = format!("ControlPath={}", entry.path().display());
        let mut ssh = Command::new("ssh");
        // The socket says which connection is meant; the name is there because one has to be.
        ssh.args(["-F", "none", "-o", &path, "-O", "exit", "--", "any"]);
        let _ = child::run(&mut ssh, Stdio::null(), CLOSE, &Stop::default());
    }
    // A folder that cannot be removed stays: it does no harm, and the next process tries again.
    let _ = fs::remove_dir_all(folder);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_goes_with_its_value() {
        let runtime = tempfile::tempdir_in("/tmp").unwrap();
        let [one, two] = [(); 2].map(|()| Sockets::below(runtime.path()).unwrap());
        assert_ne!(one.folder(), two.folder());
        assert_eq!(fs::metadata(one.folder()).unwrap().mode() & 0o777, 0o700);
        let folder = one.folder().to_owned();
        drop(one);
        assert!(!folder.exists() && two.folder().exists());
    }

    #[test]
    fn a_long_path_is_not_taken() {
        let runtime = tempfile::tempdir_in("/tmp").unwrap();
        let long = runtime.path().join("a".repeat(100));
        fs::create_dir(&long).unwrap();
        let sockets = Sockets::below(&long).unwrap();
        assert_eq!(sockets.folder().parent(), Some(Path::new("/tmp")));
    }

    #[test]
    fn those_of_dead_processes_are_swept() {
        let runtime = tempfile::tempdir_in("/tmp").unwrap();
        // No process has this number: it is beyond the largest there is.
        let [dead, unseen, other] =
            ["4194305-0", "4194305-1", "x-0"].map(|name| runtime.path().join(format!("{PREFIX}{name}")));
        for folder in [&dead, &unseen, &other] {
            fs::create_dir(folder).unwrap();
        }
        // As one that lives where its number is another.
        let lock = File::open(&unseen).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let ours = Sockets::below(runtime.path()).unwrap();
        assert_eq!([&dead, &unseen, &other].map(|folder| folder.exists()), [false, true, true]);
        assert!(ours.folder().exists());
    }
}
