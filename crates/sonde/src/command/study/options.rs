//! The options that every study has: how often, how long at most, in which order.

use std::hash::{BuildHasher, RandomState};

use clap::Args;
use measure::unit::Nanos;

use crate::command::value;

/// The options of a study's trials.
#[derive(Clone, Copy, Debug, Args)]
pub struct TrialOptions {
    /// Trials of each setting, one per block; a 95 % interval takes at least 6
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub blocks: Option<u32>,
    /// Maximum total time: trials are shortened to fit, and `compare` and `study` make more where it has room [default: as printed at the start]
    #[arg(long, value_name = "TIME", value_parser = value::run_length)]
    pub budget: Option<Nanos>,
    /// Seed of the order of trials, to repeat it [default: random, stored in the result]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
}

impl TrialOptions {
    /// The seed that was given, or one that nobody can guess.
    pub fn seeded(&self) -> u64 {
        self.seed.unwrap_or_else(|| RandomState::new().hash_one("order"))
    }
}
