//! What stands in the place of a record where there is none: the error document.
//!
//! With `--json` exactly one valid document is printed, also on failure; this is the other one.

use serde::{Deserialize, Serialize};

use crate::record::Record;

/// Version of the error document's form.
pub const VERSION: u32 = 1;

/// A failure as a document of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorDocument {
    /// Always `sonde-error`.
    pub format: Format,
    /// Version of this form, a count from 1.
    pub version: u32,
    /// What failed.
    pub error: Failure,
}

impl ErrorDocument {
    /// `error` as a document.
    pub fn new(error: Failure) -> Self {
        Self { format: Format::Error, version: VERSION, error }
    }

    /// As one JSON document, indented, with a line end. A failure has no number of its own, so this cannot fail; a
    /// partial record that could not be read again is left away rather than the message.
    pub fn to_json(&self) -> String {
        let readable = |record: &&Record| record.to_json().is_ok();
        let partial = self.error.partial.as_deref().filter(readable).cloned().map(Box::new);
        let whole = Self { error: Failure { partial, ..self.error.clone() }, ..self.clone() };
        let mut text = serde_json::to_string_pretty(&whole).expect("strings and a record that was just written");
        text.push('\n');
        text
    }
}

/// The name of the error document's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Format {
    /// An error of sonde.
    #[default]
    #[serde(rename = "sonde-error")]
    Error,
}

/// What failed, towards whom, on whose side, and what to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// What could not be done, and why.
    pub what: String,
    /// The peer, file or option it failed on.
    pub to_whom: Option<String>,
    /// On whose side the cause lies; absent where that is not known.
    pub side: Option<Side>,
    /// What to try.
    pub hint: Option<String>,
    /// What was measured before: a record, as `record.v3.json` describes it; absent where nothing was.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Box<Record>>,
}

/// On whose side a cause lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Our machine, our program, or what was asked.
    Ours,
    /// The peer's machine or program.
    Theirs,
    /// Between the two.
    Path,
}
