//! The file of `--pidfile`, as long as the process lives.

use std::path::{Path, PathBuf};

use protocol::iperf3::code::Code;

use crate::persona::answer::Answer;
use crate::persona::iperf3::output::failure;
use crate::persona::process::said;

/// A file with the number of this process, which goes with it.
#[derive(Debug)]
pub struct Pidfile(PathBuf);

impl Pidfile {
    /// Writes it, where one is asked for.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(path: Option<&Path>) -> Result<Option<Self>, Answer> {
        let Some(path) = path else { return Ok(None) };
        std::fs::write(path, format!("{}\n", std::process::id()))
            .map_err(|cause| Answer::complaint(failure::line(&failure::text(Code(135), Some(&said(&cause))))))?;
        Ok(Some(Self(path.to_owned())))
    }
}

impl Drop for Pidfile {
    fn drop(&mut self) {
        // Whoever removed it before us did no harm.
        let _removed = std::fs::remove_file(&self.0);
    }
}
