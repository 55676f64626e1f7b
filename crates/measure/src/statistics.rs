//! What the recorded numbers mean and how sure they are.

pub mod payload;
pub mod quantile;
