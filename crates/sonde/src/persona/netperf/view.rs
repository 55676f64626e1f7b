//! Options and facts side by side, with the figures made of them: what a value of the output is taken from.

use crate::persona::netperf::facts::{End, Facts, Iteration};
use crate::persona::netperf::figures::Figures;
use crate::persona::netperf::options::Options;

/// What a value of the output is taken from.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// What was found.
    pub facts: &'a Facts,
    /// What follows from it.
    pub figures: Figures,
    /// The last iteration: counters are told of it alone.
    pub last: &'a Iteration,
}

impl<'a> View<'a> {
    /// Of a run that has an iteration; `None` where there is none to tell of.
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
