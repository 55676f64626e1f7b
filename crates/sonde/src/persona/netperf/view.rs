//! Options and facts side by side, with the figures made of them: what a value of the output is taken from.

use crate::persona::netperf::facts::{End, Facts, Iteration};
use crate::persona::netperf::figures::Figures;
use crate::persona::netperf::options::Options;

/// Source of the output's values.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The options.
    pub options: &'a Options,
    /// The results.
    pub facts: &'a Facts,
    /// Figures that follow from them.
    pub figures: Figures,
    /// The last iteration: counters are told of it alone.
    pub last: &'a Iteration,
}

impl<'a> View<'a> {
    /// View of a run that has an iteration; `None` where it has none.
    pub fn of(options: &'a Options, facts: &'a Facts) -> Option<Self> {
        let last = facts.iterations.last()?;
        Some(Self { options, facts, figures: Figures::of(options, &facts.iterations), last })
    }

    /// Our end in the last iteration.
    pub fn local(&self) -> &'a End {
        &self.last.local
    }

    /// The server's.
    pub fn remote(&self) -> &'a End {
        &self.last.remote
    }
}
