//! Statistics of the recorded numbers, each with its uncertainty.

pub mod change;
pub mod classes;
pub mod connections;
pub mod correlation;
pub mod dark;
pub mod flows;
pub mod groups;
pub mod jitter;
pub mod joint;
pub mod loss;
pub mod moments;
pub mod paired;
pub mod payload;
pub mod periodic;
pub mod phase;
pub mod quantile;
pub mod rhythm;
pub mod series;
pub mod settled;
pub mod shift;
pub mod sides;
pub mod split;
pub mod steady;
pub mod strata;
pub mod summary;
pub mod width;

#[cfg(test)]
pub(crate) mod simulated;
