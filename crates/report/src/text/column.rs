//! Columns of text and labels.

/// Between figures of one line.
pub const JOINT: &str = " · ";
/// Between figures that stand apart.
pub const APART: &str = "   ";
/// Column at which text behind a label of the evidence starts.
pub const LABEL: usize = 10;
/// Column at which text behind a label of the details starts.
pub const DETAIL: usize = 15;
