//! Store of a command, and the way into it.

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy, Xdg};

use super::error::{Fault, StoreError};
use super::postgres::{self, PostgresStore};
use super::sqlite::SqliteStore;
use super::{Purpose, Store};

/// Opens the store that `named` names: a file, or a database by its address (`postgres://…`); the one of `sonde monitor` where nothing is named.
///
/// # Errors
/// There is no home to find the default in; what the store itself says.
pub fn open(named: Option<&str>, purpose: Purpose) -> Result<Box<dyn Store>, StoreError> {
    if let Some(address) = named.filter(|named| postgres::is_address(named)) {
        return Ok(Box::new(PostgresStore::open(address, purpose)?));
    }
    let path = match named.filter(|named| !named.is_empty()) {
        Some(named) => PathBuf::from(named),
        None => default_path()?,
    };
    Ok(Box::new(SqliteStore::open(&path, purpose)?))
}

/// Store of a monitor where nobody named another: `sonde/monitor.db` in `$XDG_STATE_HOME` or `~/.local/state`.
///
/// # Errors
/// There is no home.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let none = || StoreError {
        place: "--store".to_owned(),
        fault: Fault::Unclear("there is no home directory to keep the monitor's store in".to_owned()),
    };
    let folders = Xdg::new().map_err(|_| none())?;
    Ok(folders.state_dir().ok_or_else(none)?.join("sonde/monitor.db"))
}
