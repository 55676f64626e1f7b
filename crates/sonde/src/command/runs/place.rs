//! Store of a command, and the way into it.

use std::path::{Path, PathBuf};

use clap::Args;
use etcetera::base_strategy::{BaseStrategy, Xdg};
use logbook::shelf::error::ShelfError;
use logbook::shelf::keeper::{Keeper, Kept, Lost, Opening, PATIENCE};
use logbook::shelf::spool::{Spool, Taken};
use logbook::shelf::sqlite::SqliteShelf;

use crate::failure::Failure;
use crate::output::Output;

/// Which store.
#[derive(Debug, Clone, Default, Args)]
pub struct StoreOptions {
    /// Store of runs [default: sonde/runs.db in `$XDG_DATA_HOME` or ~/.local/share]
    #[arg(long, value_name = "FILE", env = "SONDE_STORE")]
    pub store: Option<PathBuf>,
}

impl StoreOptions {
    /// Its file, which need not be there.
    ///
    /// # Errors
    /// Nobody says where, and there is no home.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        if let Some(path) = self.store.as_ref().filter(|path| !path.as_os_str().is_empty()) {
            return Ok(path.clone());
        }
        let none = |_| Failure::usage("no home directory for the store of runs").hint("--store FILE");
        Ok(Xdg::new().map_err(none)?.data_dir().join("sonde/runs.db"))
    }

    /// True where there is anything to look into.
    pub fn is_there(&self) -> bool {
        self.path().is_ok_and(|path| path.is_file() || waits(&path))
    }

    /// The store for those who read. The things that wait beside it are taken in first.
    ///
    /// # Errors
    /// Where there is none, and what opening it says.
    pub fn open(&self, output: &Output) -> Result<SqliteShelf, Failure> {
        let path = self.path()?;
        if !waits(&path) {
            return Ok(SqliteShelf::open_existing(&path)?);
        }
        let mut shelf = SqliteShelf::open(&path, PATIENCE)?;
        let taken = Spool::beside(&path).take_all(&mut shelf);
        tell_taken(&taken.unwrap_or_default(), &path, output);
        Ok(shelf)
    }

    /// The store for those who write: what goes wrong is told, and what cannot be stored is spooled.
    ///
    /// # Errors
    /// Nobody says where, and there is no home.
    pub fn keeper(&self, output: &Output) -> Result<Keeper, Failure> {
        let path = self.path()?;
        let (keeper, Opening { spooled, spool, shelf }) = Keeper::at(&path);
        tell_taken(&spooled, &path, output);
        if let Some(error) = spool {
            output.complain(&Failure::from(error));
        }
        if let Some(error) = shelf {
            let beside = Spool::beside(&path).folder().display().to_string();
            output.complain(&Failure::from(error));
            output.aside(&format!("note:  results are kept in {beside} until then\n"));
        }
        Ok(keeper)
    }
}

/// Tells where something is, where that is not the store.
///
/// # Errors
/// Where it could not be kept at all: the caller has it still.
pub fn tell(kept: Result<Kept, Box<Lost>>, output: &Output) -> Result<(), Box<Lost>> {
    match kept? {
        Kept::Stored { caught_up: 0 } | Kept::Spooled { first: false, .. } => {}
        Kept::Stored { caught_up } => output.note(&format!("note:  {} in the store now\n", things(caught_up))),
        Kept::Spooled { path, why, .. } => {
            let folder = path.parent().unwrap_or(&path).display().to_string();
            output.complain(&Failure::from(why));
            output.aside(&format!("note:  results are kept in {folder} until then\n"));
        }
    }
    Ok(())
}

fn waits(path: &Path) -> bool {
    Spool::beside(path).files().is_ok_and(|files| !files.is_empty())
}

/// Tells what became of a spool.
pub fn tell_taken(taken: &Taken, path: &Path, output: &Output) {
    if taken.taken > 0 {
        output.note(&format!("note:  {}: {} had waited beside it\n", path.display(), things(taken.taken)));
    }
    tell_left(taken, output);
}

/// Tells what stays in a spool, and why.
pub fn tell_left(taken: &Taken, output: &Output) {
    for left in &taken.left {
        output.aside(&format!("error: {} stays: {}\ntry:   {}\n", left.path.display(), left.why, left.why.hint()));
    }
}

fn things(count: u64) -> String {
    report::number::count(count, "thing that was measured", "things that were measured")
}

impl From<ShelfError> for Failure {
    fn from(error: ShelfError) -> Self {
        Self::usage(error.to_string()).hint(error.hint()).about(error.place)
    }
}
