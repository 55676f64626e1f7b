//! What the recorded numbers mean and how sure they are.

pub mod correlation;
pub mod paired;
pub mod quantile;

#[cfg(test)]
mod simulated;
