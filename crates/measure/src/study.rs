//! Several settings measured against each other: in which order, by which numbers, and what moving each axis is worth.
//!
//! A study is made of trials, each a run of its own of one setting. Settings take turns within blocks, in random order, so that
//! what drifts meets all of them. Not here: whether two settings differ ([`crate::comparison`]), and who makes the trials.

pub mod figure;
pub mod lengths;
pub mod moves;
pub mod range;
pub mod spread;
pub mod threshold;

use fastrand::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One trial that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// Which block, from 0.
    pub block: u32,
    /// Which setting, from 0.
    pub setting: u32,
}

/// The trials of `settings` settings in `blocks` blocks: each block has each setting once, in an order of its own that `seed`
/// decides (randomised multiple interleaved trials: Abedi and Brecht, ICPE 2017).
///
/// ```
/// let turns = measure::study::order(3, 2, 7);
/// assert_eq!(turns.len(), 6);
/// assert!(turns[..3].iter().all(|turn| turn.block == 0));
/// ```
pub fn order(settings: u32, blocks: u32, seed: u64) -> Vec<Turn> {
    let mut rng = Rng::with_seed(seed);
    let block = |block| {
        let mut turns: Vec<Turn> = (0..settings).map(|setting| Turn { block, setting }).collect();
        rng.shuffle(&mut turns);
        turns
    };
    (0..blocks).flat_map(block).collect()
}

/// Puts `values` into an order that `seed` decides.
pub fn shuffle(values: &mut [u64], seed: u64) {
    Rng::with_seed(seed).shuffle(values);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_block_has_each_setting_once() {
        for seed in 0..50 {
            let turns = order(5, 4, seed);
            for (block, turns) in turns.chunks(5).enumerate() {
                assert!(turns.iter().all(|turn| turn.block == block as u32));
                let settings: BTreeSet<u32> = turns.iter().map(|turn| turn.setting).collect();
                assert_eq!(settings, (0..5).collect());
            }
            assert_eq!(turns, order(5, 4, seed), "the seed decides");
        }
    }

    #[test]
    fn either_of_two_comes_first_about_as_often() {
        let first = order(2, 2_000, 11).chunks(2).filter(|turns| turns[0].setting == 0).count();
        assert!((900..1_100).contains(&first), "{first}");
    }
}
