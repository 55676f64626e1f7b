//! The record of a run: what it says besides what was found, and where it goes.

use std::path::{Path, PathBuf};

use endpoint::resolution::clock_cost;
use endpoint::rtt::Target;
use logbook::document::Form;
use logbook::moment::Moment;
use logbook::record::Record;
use measure::method::{Asked, Method};
use uuid::Uuid;

use crate::command::deliver;
use crate::command::rtt::conclude::{Inquiry, instrument};
use crate::command::spoken::Spoken;
use crate::failure::Failure;

/// The inquiry of a run: towards whom, by which method, over which protocol. `command` is the whole command line.
pub fn inquiry(
    command: &[String],
    asked: &Asked,
    method: &Method,
    target: Target,
    spoken: Spoken,
    started: Moment,
) -> Inquiry {
    Inquiry {
        id: Uuid::now_v7(),
        started,
        command: command.to_vec(),
        asked: asked.clone(),
        method: method.clone(),
        target: Some(target),
        spoken,
        instrument: instrument(&clock_cost()),
    }
}

/// Destination of a record.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    path: Option<PathBuf>,
    json: bool,
}

impl Keeping {
    /// Into this file, and onto standard output in place of the text.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn of(path: Option<&Path>, json: bool) -> Result<Self, Failure> {
        path.map_or(Ok(()), deliver::check_path)?;
        Ok(Self { path: path.map(Path::to_owned), json })
    }

    /// The same for run `n` of several, from 1: `run.json` becomes `run.1.json`.
    pub fn numbered(&self, n: usize) -> Self {
        Self { path: self.path.as_deref().map(|path| numbered(path, n)), json: self.json }
    }

    /// Makes the record, where one is wanted, and writes it into its file. Returns it where it is to be printed.
    ///
    /// # Errors
    /// A file that cannot be written; a record that cannot be made.
    pub fn deliver(&self, record: impl FnOnce() -> Result<Record, Failure>) -> Result<Option<String>, Failure> {
        if self.path.is_none() && !self.json {
            return Ok(None);
        }
        let document = record()?.to_json()?;
        if let Some(path) = &self.path {
            deliver::write(path, &document)?;
        }
        Ok(self.json.then_some(document))
    }
}

fn numbered(path: &Path, n: usize) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    path.with_file_name(format!("{name}.{n}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_of_several_has_a_file() {
        assert_eq!(numbered(Path::new("a/run.json"), 2), Path::new("a/run.2.json"));
        assert_eq!(numbered(Path::new("run"), 1), Path::new("run.1"));
    }
}
