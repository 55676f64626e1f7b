//! Why a command cannot do what it was asked, and what to try.

use crate::store::error::StoreError;

/// What is wrong, to whom, and what to try.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// What is wrong.
    pub text: String,
    /// What to try.
    pub hint: String,
}

impl Failure {
    /// What is wrong with what was typed.
    pub fn new(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { text: text.into(), hint: hint.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string(), error.hint())
    }
}
