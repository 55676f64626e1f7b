//! Failures of commands: the fault, and the next step.

use crate::store::error::StoreError;

/// A fault, with its place, and the next step.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The fault.
    pub text: String,
    /// Next step for the reader.
    pub hint: String,
}

impl Failure {
    /// Makes a failure of typed words.
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { text: text.into(), hint: hint.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}
