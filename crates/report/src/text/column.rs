//! What keeps columns and figures apart.

/// Between the coordinates of a method.
pub const JOINT: &str = " · ";
/// Between figures.
pub const APART: &str = "   ";
/// Where text behind a label starts.
pub const LABEL: usize = 15;
