//! What the recorded numbers mean and how sure they are.

pub mod paired;
pub mod quantile;
