//! Silence of a cell: so many requests in a row unanswered that loss as usual cannot be the reason.

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// Logarithm of the odds against a run of losses by chance: once in 800 million requests.
const ODDS: f64 = 20.5;
/// Requests in a row, at least.
pub const FEWEST: u64 = 3;
/// Whole seconds without an answer, at least.
pub const SECONDS: u64 = 2;
/// Weight of the latest second in the loss of the last minute.
const RECENT: f64 = 1.0 / 30.0;
/// Seconds without a report after which a cell is not active.
const ACTIVE: u64 = 8;

/// The answers and losses of a cell, as they follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Last second with a request.
    last: Option<u64>,
    /// Last second with an answer.
    pub answered: Option<u64>,
    /// First second without answers since.
    pub since: Option<u64>,
    /// Requests lost in a row.
    run: u64,
    /// Loss of the last minute or so, before the run.
    recent: f64,
}

impl Silence {
    /// Takes a second, and returns true where it only continues a silence.
    pub fn take(&mut self, second: u64, span: &Span, usual: f64) -> bool {
        let sent = span.counts.messages_sent();
        if sent == 0 {
            return false;
        }
        self.last = Some(second);
        if span.counts.answered > 0 {
            let lost = (sent - span.counts.answered.min(sent)) as f64 / sent as f64;
            self.recent += (lost - self.recent) * RECENT;
            // A run that chance explains is loss like other.
            if self.run > 0 && !self.is_silent(usual) {
                let seconds = self.since.map_or(0, |since| second.saturating_sub(since)).min(60) as f64;
                self.recent += (1.0 - self.recent) * (seconds * RECENT).min(1.0);
            }
            (self.answered, self.since, self.run) = (Some(second), None, 0);
            return false;
        }
        let goes_on = self.since.is_some();
        self.since.get_or_insert(second);
        self.run += sent;
        goes_on
    }

    /// Returns true where it is silent; `usual` is its highest normal rate of loss.
    pub fn is_silent(&self, usual: f64) -> bool {
        let rate = usual.max(self.recent).clamp(1e-3, 0.99);
        let seconds = self.since.zip(self.last).map_or(0, |(since, last)| last + 1 - since);
        self.run >= FEWEST.max((ODDS / -rate.ln()).ceil() as u64) && seconds >= SECONDS
    }

    /// Returns true where its last requests are unanswered.
    pub fn is_suspect(&self) -> bool {
        self.since.is_some()
    }

    /// Returns true where it was asked lately.
    pub fn is_active(&self, now: u64) -> bool {
        self.last.is_some_and(|last| last + ACTIVE >= now)
    }
}
