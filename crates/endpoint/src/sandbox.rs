//! A server's last step before it answers: it gives up all that it does not need from there on, so that an attacker who
//! took it over would have little. Capabilities, files and connections, system calls: each by itself, and each refusal
//! of the system is handed back.
//!
//! All of it holds for the calling thread and for those that it starts afterwards.

mod calls;
mod capabilities;
mod files;

use std::io;
use std::path::PathBuf;

use rustix::thread::set_no_new_privs;

/// Resources that a server still needs once it listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Files, and folders with all below them, that are read again.
    pub read: Vec<PathBuf>,
    /// Folders below which files are made, written and removed.
    pub write: Vec<PathBuf>,
    /// True where it opens TCP connections and listens at further TCP ports.
    pub connections: bool,
    /// Capabilities, where it has them.
    pub capabilities: Vec<Capability>,
}

/// A capability that a server may need once it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// To bind at ports below 1024.
    NetBindService,
    /// To have the kernel poll a card longer than its setting says.
    NetAdmin,
    /// To read files of other users.
    DacReadSearch,
    /// To remove files from folders of other users.
    DacOverride,
}

/// Restrictions in force; an error: the reason for which one is not.
#[derive(Debug)]
pub struct Sandbox {
    /// The capabilities that are left.
    pub capabilities: io::Result<Vec<Capability>>,
    /// Files and connections are bounded, by Landlock.
    pub files: Result<Extent, Missing>,
    /// System calls that no server needs fail, by seccomp.
    pub calls: io::Result<()>,
}

/// Extent of the file restrictions that the kernel knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Opening files, but not all else: the kernel is older.
    Part,
}

/// Reason for which files are not restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The kernel was built without it.
    Absent,
    /// The kernel has it, and was started without it.
    Disabled,
    /// In the system's words.
    Refused(String),
}

/// Gives up all but `needs`. Call it once the sockets are open, and before any other thread is started.
pub fn enter(needs: &Needs) -> Sandbox {
    let files = files::bound(needs);
    // Without it neither of the others holds behind the start of another program; Landlock sets it too, where it is there.
    let alone = set_no_new_privs(true).map_err(io::Error::from);
    Sandbox {
        files,
        capabilities: capabilities::keep(&needs.capabilities),
        calls: alone.and_then(|()| calls::filter()),
    }
}
