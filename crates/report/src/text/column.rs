//! Where columns and labels stand.

/// Between figures of one line.
pub const JOINT: &str = " · ";
/// Between figures that stand apart.
pub const APART: &str = "   ";
/// Where text behind a label of the evidence starts.
pub const LABEL: usize = 10;
/// Where text behind a label of the details starts.
pub const DETAIL: usize = 15;
