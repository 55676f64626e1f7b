//! The runs that are kept, as a document of its own: `sonde runs --json`.

use serde::{Deserialize, Serialize};

use crate::document::{Form, Mark};
use crate::shelf::RunSummary;

/// Runs, the latest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunListDocument {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<RunListDocument>,
    /// The store they are in.
    pub store: String,
    /// The runs.
    pub runs: Vec<RunSummary>,
}

impl Form for RunListDocument {
    const FORMAT: &'static str = "sonde-runs";
    const NAME: &'static str = "list of runs";
}

impl RunListDocument {
    /// `runs` of `store`, as a document.
    pub fn new(store: String, runs: Vec<RunSummary>) -> Self {
        Self { mark: Mark::default(), store, runs }
    }
}
