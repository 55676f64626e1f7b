//! The wish to stop, as a flag that measuring threads look at between exchanges.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks everything that holds a copy to come to an end in order. Engines look at least every tenth of a second.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
