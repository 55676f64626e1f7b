//! The folder of an agent that stays: where it is, and the files in it but for the spool.
//!
//! Nobody but its owner may look into it: it holds the key by which agents know each other, and the socket by which one is told what to do.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use logbook::monitor::talk::Assignment;
use rustix::fs::{FlockOperation, flock};

use crate::command::lab::place;
use crate::failure::Failure;

/// The name of one where none is given.
const USUAL: &str = "agent";
/// Folder of them for a user without a home.
const SYSTEM: &str = "/run/sonde";
/// The socket's name.
const SOCKET: &str = "agent.sock";
/// The most of an assignment that is read, octets.
const LONGEST: u64 = 8 << 20;
/// A log that is longer is put aside when an agent starts.
const LONGEST_LOG: u64 = 256 << 10;

/// It, opened: the socket is reached through it, however long its path.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    open: File,
}

/// While it lives no other agent has the folder.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "closing it is what lets go")] File);

impl Folder {
    /// The one that was named, or the usual one; made where it is not there. A name without a slash is one below where state is kept.
    ///
    /// # Errors
    /// A folder that cannot be made or is another user's.
    pub fn of(named: Option<&Path>) -> Result<Self, Failure> {
        let path = path_of(named);
        let cannot = |error: io::Error| {
            Failure::usage(format!("{}: cannot be the agent's folder: {error}", path.display()))
                .about(path.display().to_string())
                .hint("name another with --state FOLDER")
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(cannot)?;
        fs::set_permissions(&path, Permissions::from_mode(0o700)).map_err(cannot)?;
        let open = File::open(&path).map_err(cannot)?;
        Ok(Self { path, open })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it for one agent alone.
    ///
    /// # Errors
    /// Another has it.
    pub fn hold(&self) -> Result<Held, Failure> {
        let file =
            owned(OpenOptions::new().create(true).truncate(false).write(true)).open(self.path.join("agent.lock"));
        let held = file.and_then(|file| {
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            Ok(Held(file))
        });
        held.map_err(|error| {
            let what = format!("{}: another agent has this folder: {error}", self.path.display());
            Failure::usage(what)
                .about(self.path.display().to_string())
                .hint("`sonde agent --attach` speaks to it; name another folder with --state FOLDER")
        })
    }

    /// Listens at its socket. One that is left of an agent that is gone is replaced: whoever listens holds the folder.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn listen(&self) -> io::Result<UnixListener> {
        let socket = self.path.join(SOCKET);
        if let Err(error) = fs::remove_file(&socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = UnixListener::bind(self.socket())?;
        fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Connects to whoever listens there.
    ///
    /// # Errors
    /// Nobody does.
    pub fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.socket())
    }

    fn socket(&self) -> PathBuf {
        // A socket's path has at most 107 octets.
        format!("/proc/self/fd/{}/{SOCKET}", self.open.as_raw_fd()).into()
    }

    /// Path of the spool.
    pub fn spool(&self) -> PathBuf {
        self.path.join("spool")
    }

    /// Keeps what is assigned; its key apart.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn keep(&self, assignment: &Assignment) -> io::Result<()> {
        let key = assignment.key.as_deref().unwrap_or_default();
        self.write("key", key.as_bytes())?;
        let without_key = Assignment { key: None, ..assignment.clone() };
        self.write("assignment.json", &serde_json::to_vec(&without_key)?)
    }

    /// The last assignment; `None`: nothing that can be read.
    pub fn assigned(&self) -> Option<Assignment> {
        let read = |name: &str| {
            let mut text = String::new();
            File::open(self.path.join(name)).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
            Some(text)
        };
        let assignment: Assignment = serde_json::from_str(&read("assignment.json")?).ok()?;
        Some(Assignment { key: read("key").filter(|key| !key.is_empty()), ..assignment })
    }

    /// The file for what an agent says that nobody watches.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn log(&self) -> io::Result<File> {
        let path = self.path.join("agent.log");
        if fs::metadata(&path).is_ok_and(|log| log.len() > LONGEST_LOG) {
            fs::rename(&path, self.path.join("agent.log.1"))?;
        }
        owned(OpenOptions::new().create(true).append(true)).open(path)
    }

    /// Removes it with all that is in it.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn purge(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }

    /// Whole, or not at all.
    fn write(&self, name: &str, octets: &[u8]) -> io::Result<()> {
        let (path, new) = (self.path.join(name), self.path.join(format!("{name}.new")));
        let mut file = owned(OpenOptions::new().create(true).truncate(true).write(true)).open(&new)?;
        file.write_all(octets)?;
        fs::rename(new, path)
    }
}

fn owned(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

fn path_of(named: Option<&Path>) -> PathBuf {
    let named = named.unwrap_or_else(|| Path::new(USUAL));
    if named.as_os_str().as_encoded_bytes().contains(&b'/') {
        return named.to_owned();
    }
    place::state().unwrap_or_else(|| SYSTEM.into()).join(named)
}

#[cfg(test)]
mod tests {
    use measure::unit::Nanos;

    use super::*;

    #[test]
    fn what_was_assigned_is_read_again_and_its_key_is_apart() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(Some(&place.path().join("a/b"))).unwrap();
        assert_eq!(folder.assigned(), None);
        let (host, key) = ("a".to_owned(), Some("sonde-key-1:00".to_owned()));
        let assigned = Assignment {
            revision: 7,
            host,
            port: Some(1),
            key,
            timeout_ns: Nanos(5),
            cells: Vec::new(),
            programs: Vec::new(),
        };
        folder.keep(&assigned).unwrap();
        assert_eq!(folder.assigned(), Some(assigned.clone()));
        let text = fs::read_to_string(folder.path().join("assignment.json")).unwrap();
        assert!(!text.contains("sonde-key"), "{text}");
        for (name, mode) in [("key", 0o600), (".", 0o700)] {
            assert_eq!(fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777, mode);
        }
        let unkeyed = Assignment { key: None, ..assigned };
        folder.keep(&unkeyed).unwrap();
        assert_eq!(folder.assigned(), Some(unkeyed));
    }

    #[test]
    fn one_agent_has_a_folder_however_long_its_path() {
        let place = tempfile::tempdir().unwrap();
        let long = place.path().join("x".repeat(200));
        let folder = Folder::of(Some(&long)).unwrap();
        let held = folder.hold().unwrap();
        let listener = folder.listen().unwrap();
        assert!(folder.connect().is_ok());
        assert!(Folder::of(Some(&long)).unwrap().hold().is_err());
        drop((held, listener));
        assert!(folder.connect().is_err() && folder.hold().is_ok() && folder.listen().is_ok());
    }
}
