//! Error document: stands in the place of a record where there is none.
//!
//! With `--json` exactly one valid document is printed, also on failure; this is the other one.

use serde::{Deserialize, Serialize};

use crate::document::{Form, Mark};
use crate::record::Record;

/// A failure as a document of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorDocument {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<ErrorDocument>,
    /// The failure.
    pub error: Failure,
}

impl Form for ErrorDocument {
    const FORMAT: &'static str = "sonde-error";
    const NAME: &'static str = "error";
}

impl ErrorDocument {
    /// `error` as a document.
    pub fn new(error: Failure) -> Self {
        Self { mark: Mark::default(), error }
    }

    /// As one JSON document, indented, with a line end. A failure has no number of its own, so this cannot fail; a partial
    /// record that could not be read again is left away rather than the message.
    pub fn to_text(&self) -> String {
        let without = || Self::new(Failure { partial: None, ..self.error.clone() });
        self.to_json().or_else(|_| without().to_json()).expect("strings alone")
    }
}

/// A failure: the action that failed, the peer, the side on which it failed, and the next step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Action that failed, with the reason.
    pub what: String,
    /// The peer, file or option it failed on.
    pub to_whom: Option<String>,
    /// Side of the cause; absent where that is not known.
    pub side: Option<Side>,
    /// Next step for the reader; absent where nothing helps.
    pub hint: Option<String>,
    /// Measurement up to the failure: a record, as `record.v1.json` describes it; absent where nothing was measured.
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Box<Record>>,
}

/// Side of a cause.
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
