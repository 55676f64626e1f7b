//! The text, from plain values: nothing here knows a socket or a clock.

pub mod complaint;
pub mod failure;
pub mod header;
pub mod hops;
pub mod line;
pub mod summary;

use std::fmt::{self, Display};

/// Microseconds as milliseconds with three decimals.
#[derive(Clone, Copy, Debug)]
pub struct Millis(pub u64);

impl Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests;
