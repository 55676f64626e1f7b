//! Counters of the servers, printed whenever SIGUSR1 asks for it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endpoint::serve::book::Books;

use crate::output::Output;

/// Counters, and the places that they are written to.
pub struct Counters {
    /// Books in which they are kept.
    pub books: Books,
    /// File that they are written to for Prometheus besides.
    pub file: Option<PathBuf>,
    /// Output that they are told on.
    pub output: Arc<Output>,
}

impl Counters {
    /// Tells it.
    pub fn tell(&self) {
        let served = self.books.served();
        if let Some(path) = &self.file
            && let Err(error) = replace(path, &report::served::prometheus(&served))
        {
            let place = path.display();
            self.output.aside(&format!("sonde serve: cannot write the counters to {place}: {error}\n"));
        }
        self.output.aside(&report::served::text(&served));
    }
}

/// In the place of the file: whole, or not at all.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.to_owned().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // One that was left there is in the way: never is another's file written to.
    let _none = fs::remove_file(&beside);
    File::create_new(&beside)?.write_all(text.as_bytes())?;
    fs::rename(&beside, path)
}
