//! Comparison of several settings: the order of trials, the figures, and the value of moving each axis.
//!
//! A study is made of trials, each a run of its own of one setting. Settings take turns within blocks, in random order, and every second block has
//! the order of the one before turned round, so that drift meets all of them alike. Not here: the comparison of two
//! settings ([`crate::comparison`]), and the making of trials.

pub mod figure;
pub mod lengths;
pub mod moves;
pub mod range;
pub mod spread;
pub mod threshold;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// One trial that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// Number of its block, from 0.
    pub block: u32,
    /// Number of its setting, from 0.
    pub setting: u32,
}

/// The trials of `settings` settings in `blocks` blocks: each block has each setting once, in an order of its own that `seed`
/// decides (randomised multiple interleaved trials: Abedi and Brecht, ICPE 2017), or that of the block before turned round: of seven drawn orders
/// of two settings one in eight has the same one first in six of them, which then has all of a warm-up.
///
/// ```
/// let turns = measure::study::order(3, 2, 7);
/// assert_eq!(turns.len(), 6);
/// assert!(turns[..3].iter().all(|turn| turn.block == 0));
/// ```
pub fn order(settings: u32, blocks: u32, seed: u64) -> Vec<Turn> {
    stretched(settings, blocks, 1, seed)
}

/// [`order`] where so many blocks, a stretch, have one random order together: within it a run of any setting may be at any place.
///
/// ```
/// let turns = measure::study::stretched(2, 6, 3, 7);
/// assert!(turns[..6].iter().all(|turn| turn.block < 3));
/// ```
pub fn stretched(settings: u32, blocks: u32, stretch: u32, seed: u64) -> Vec<Turn> {
    let mut rng = Rng::with_seed(seed);
    let mut turns = Vec::with_capacity((settings * blocks) as usize);
    let mut order: Vec<u32> = Vec::new();
    for (number, from) in (0..blocks).step_by(stretch as usize).enumerate() {
        let upto = blocks.min(from + stretch);
        let length = (settings * (upto - from)) as usize;
        if number % 2 == 1 && order.len() == length {
            order.reverse();
        } else {
            order = (from..upto).flat_map(|_| 0..settings).collect();
            rng.shuffle(&mut order);
        }
        let mut next = vec![from; settings as usize];
        turns.extend(order.iter().map(|setting| {
            let block = next[*setting as usize];
            next[*setting as usize] += 1;
            Turn { block, setting: *setting }
        }));
    }
    turns
}

/// Puts `values` into an order that `seed` decides.
pub fn shuffle(values: &mut [u64], seed: u64) {
    Rng::with_seed(seed).shuffle(values);
}

/// One draw after the other, as a seed and a number of the part decide: parts of one seed have nothing in common, and each can be
/// drawn without those before it.
#[derive(Clone, Debug)]
pub struct Draws(Rng);

impl Draws {
    /// Those of part `part` of `seed`.
    ///
    /// ```
    /// let drawn = |part| { let mut all = [0, 1, 2, 3, 4, 5, 6]; measure::study::Draws::of(7, part).shuffle(&mut all); all };
    /// assert_eq!(drawn(3), drawn(3));
    /// assert_ne!(drawn(3), drawn(4));
    /// ```
    pub fn of(seed: u64, part: u64) -> Self {
        // Neighbouring seeds would begin alike: either is drawn from once before the two meet.
        let (seed, part) = (Rng::with_seed(seed).u64(..), Rng::with_seed(part).u64(..));
        Self(Rng::with_seed(seed.rotate_left(32) ^ part))
    }

    /// Puts `values` into a drawn order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        self.0.shuffle(values);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use test_case::test_case;

    use super::*;
    use crate::comparison::{Design, Runs, Word, compare};

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

    /// One setting twice, on a host that warms up or slows down in that time.
    #[test_case(|place| 100.0 + 3_000.0 * (-0.35 * place).exp(); "a warm-up")]
    #[test_case(|place| 100.0 + 10.0 * place; "a slow-down")]
    fn what_drifts_is_no_difference_between_settings(level: fn(f64) -> f64) {
        let mut rng = Rng::with_seed(3);
        let mut differs = |blocks: u32, seed: u64| {
            let mut runs = [Vec::new(), Vec::new()];
            for (place, turn) in order(2, blocks, seed).into_iter().enumerate() {
                runs[turn.setting as usize].push(Some(level(place as f64) * (1.0 + 0.02 * rng.f64())));
            }
            let [first, second] = runs;
            matches!(compare(&[Runs { first, second }], Design::Paired)[0].word, Word::More | Word::Less)
        };
        let told = (0..1_000).filter(|seed| differs(6 + (seed % 5) as u32, *seed)).count();
        assert!(told <= 10, "{told} of 1,000");
    }

    #[test]
    fn a_stretch_has_each_setting_as_often_as_it_has_blocks() {
        for turns in [stretched(3, 8, 3, 5), stretched(3, 6, 3, 6)] {
            for (stretch, turns) in turns.chunks(9).enumerate() {
                let mut made: Vec<(u32, u32)> = turns.iter().map(|turn| (turn.setting, turn.block)).collect();
                made.sort_by_key(|(setting, _)| *setting);
                let blocks = stretch as u32 * 3..stretch as u32 * 3 + turns.len() as u32 / 3;
                assert_eq!(
                    made,
                    (0..3).flat_map(|setting| blocks.clone().map(move |block| (setting, block))).collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn parts_of_a_seed_and_seeds_of_a_part_differ() {
        let drawn = |seed, part| {
            let mut values: Vec<u32> = (0..40).collect();
            Draws::of(seed, part).shuffle(&mut values);
            values
        };
        let all: BTreeSet<Vec<u32>> = (0..20).flat_map(|seed| (0..20).map(move |part| drawn(seed, part))).collect();
        assert_eq!(all.len(), 400);
        assert_eq!(drawn(3, 5), drawn(3, 5));
    }

    #[test]
    fn either_of_two_comes_first_about_as_often() {
        let first = order(2, 2_000, 11).chunks(2).filter(|turns| turns[0].setting == 0).count();
        assert!((900..1_100).contains(&first), "{first}");
    }
}
