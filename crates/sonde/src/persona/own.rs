//! Options of our own that several tools take, which the originals have none of.

use measure::method::Pacing;

/// Words for the values of `--pacing`.
pub const PACINGS: &str = "takes sleep, spin or hybrid";

/// The pacing of a word.
pub fn pacing(word: &str) -> Option<Pacing> {
    [Pacing::Sleep, Pacing::Hybrid, Pacing::Spin].into_iter().find(|pacing| pacing.to_string() == word)
}
