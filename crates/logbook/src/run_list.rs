//! The runs that are kept, as a document of its own: `sonde runs --json`.

use serde::{Deserialize, Serialize};

use crate::shelf::RunSummary;

/// Version of the document's form.
pub const VERSION: u32 = 1;

/// Runs, the latest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunListDocument {
    /// Always `sonde-runs`.
    pub format: Format,
    /// Version of this form, a count from 1.
    pub version: u32,
    /// The store they are in.
    pub store: String,
    /// The runs.
    pub runs: Vec<RunSummary>,
}

impl RunListDocument {
    /// `runs` of `store`, as a document.
    pub fn new(store: String, runs: Vec<RunSummary>) -> Self {
        Self { format: Format::Runs, version: VERSION, store, runs }
    }

    /// As one JSON document, indented, with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("our types have string keys alone");
        text.push('\n');
        text
    }
}

/// The name of the document's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Format {
    /// Runs of sonde.
    #[default]
    #[serde(rename = "sonde-runs")]
    Runs,
}
