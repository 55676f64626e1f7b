//! Folders of the notes on a user's labs, and of sockets, by the XDG base directory specification.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lab::network::state::Folder;

use crate::exit::Exit;
use crate::failure::Failure;

/// A failure of the lab as one of this program.
pub fn failed(told: logbook::failure::Failure) -> Failure {
    Failure { exit: Exit::Usage, usage: None, told }
}

/// Folder of the notes on labs: `$XDG_STATE_HOME/sonde/lab`, or below `~/.local/state`.
///
/// # Errors
/// An environment without a home.
pub fn folder() -> Result<Folder, Failure> {
    labs().map(Folder::new).ok_or_else(|| {
        Failure::usage("labs are noted below the home folder, and there is none")
            .hint("let HOME or XDG_STATE_HOME name a folder")
    })
}

/// The same as a path; `None`: an environment without a home.
pub fn labs() -> Option<PathBuf> {
    state().map(|state| state.join("lab"))
}

/// Folder of this program's notes on its work: `$XDG_STATE_HOME/sonde`, or below `~/.local/state`; `None`: an environment
/// without a home.
pub fn state() -> Option<PathBuf> {
    below("XDG_STATE_HOME", ".local/state").map(|state| state.join("sonde"))
}

/// Folder of programs as they are sent: `$XDG_CACHE_HOME/sonde-sent`, or below `~/.cache`; `None`: an environment without a home. Another one than
/// `sonde`, where this host, as a host of a plan, is sent the program.
pub fn sent() -> Option<PathBuf> {
    below("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("sonde-sent"))
}

fn below(variable: &str, usual: &str) -> Option<PathBuf> {
    let folder = absolute(std::env::var_os(variable));
    folder.or_else(|| absolute(std::env::var_os("HOME")).map(|home| home.join(usual)))
}

/// Folder for sockets: `$XDG_RUNTIME_DIR`, or `/tmp`.
pub fn runtime() -> PathBuf {
    absolute(std::env::var_os("XDG_RUNTIME_DIR")).unwrap_or_else(|| "/tmp".into())
}

/// The specification says of relative paths that they are to be taken for none.
fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| Path::is_absolute(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_none() {
        assert_eq!(absolute(Some("a/b".into())), None);
        assert_eq!(absolute(Some(OsString::new())), None);
        assert_eq!(absolute(Some("/a".into())), Some("/a".into()));
    }
}
