//! Means by which two ends of a measurement know each other.

use serde::{Deserialize, Serialize};

/// Kind of proof by which a session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Authentication {
    /// Both ends have the same secret key: each knows that the other has it too.
    PreShared,
    /// Each end has a key pair of its own, and knew the other's public key.
    Identity,
}
