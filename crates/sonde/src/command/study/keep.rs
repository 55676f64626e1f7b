//! Keeps a study on disk while it goes on, so that not even a kill loses more than the last few seconds.

use std::path::PathBuf;

use endpoint::clock::Monotonic;
use logbook::document::Form;
use logbook::study::StudyDocument;
use measure::unit::{Instant, Nanos};

use crate::command::deliver;
use crate::command::result_options::ResultOptions;
use crate::command::value::Format;

/// The most that is lost, as long as writing is quick.
const EACH: Nanos = Nanos::secs(2);
/// A document grows with its trials: writing it may take this share of the time.
const SHARE: u64 = 20;

/// Writes a study's files from time to time, between trials.
#[derive(Debug)]
pub struct Keeper {
    files: Vec<PathBuf>,
    due: Instant,
}

impl Keeper {
    /// For the files that hold the whole document.
    pub fn of(options: &ResultOptions) -> Self {
        let whole = options.output.iter().filter(|destination| destination.format == Format::Json);
        Self { files: whole.map(|destination| destination.path.clone()).collect(), due: Monotonic::now().after(EACH) }
    }

    /// Writes what there is, where it is time to. A document that cannot be written now is tried again, and the fault is
    /// reported at the end.
    pub fn keep(&mut self, document: &dyn Fn() -> StudyDocument) {
        let started = Monotonic::now();
        if self.files.is_empty() || started < self.due {
            return;
        }
        if let Ok(text) = document().to_json() {
            for file in &self.files {
                let _ = deliver::write(file, &text);
            }
        }
        let now = Monotonic::now();
        let took = now.since(started).unwrap_or_default();
        self.due = now.after(EACH.max(Nanos(took.0.saturating_mul(SHARE))));
    }
}
