//! Two sides compared by blocks of runs: the Mann–Whitney test within each block, summed over the blocks.
//!
//! Runs of one block were made in random order, so that within it a run of either side could have been any of its runs; a
//! drift from block to block is in no difference. With three runs of each side in a block, two blocks have 400 ways to deal
//! the runs out, where six pairs have 64. Not here: groups that were made apart (`sides`), blocks of one pair (`paired`).
//!
//! Sources: van Elteren 1960; Hodges and Lehmann 1963.

use super::paired::{Estimate, middle};
use super::sides::{Sides, dealt, doubled_ranks};

/// The runs of one block: the first side's and the second's.
pub type Block = (Vec<f64>, Vec<f64>);

/// The comparison by the differences within each block: the shift, its interval that leaves out `left_out` (a probability,
/// both sides together), and the exact two-sided probability. A block that lacks a side says nothing. The ends of the interval are
/// absent where so few runs cannot reach it.
///
/// `None` where no block has both sides, or a number is not finite.
///
/// ```
/// use measure::statistics::strata::compared_within;
/// let blocks = [(vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0]), (vec![11.0, 12.0, 13.0], vec![14.0, 15.0, 16.0])];
/// let found = compared_within(&blocks, 0.016).unwrap();
/// assert_eq!((found.shift.value, found.shift.low), (3.0, Some(1.0)));
/// assert!((found.p - 2.0 / 400.0).abs() < 1e-12);
/// ```
pub fn compared_within(blocks: &[Block], left_out: f64) -> Option<Sides> {
    let blocks: Vec<&Block> = blocks.iter().filter(|(first, second)| !first.is_empty() && !second.is_empty()).collect();
    let mut values = blocks.iter().flat_map(|(first, second)| first.iter().chain(second));
    if blocks.is_empty() || !values.all(|value| value.is_finite()) {
        return None;
    }
    let within = |(first, second): &&Block| -> Vec<f64> {
        second.iter().flat_map(|b| first.iter().map(move |a| b - a)).collect()
    };
    let mut differences: Vec<f64> = blocks.iter().flat_map(within).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let below = differences.iter().filter(|difference| **difference < 0.0).count();
    let above = differences.iter().filter(|difference| **difference > 0.0).count();
    let rank = lower_rank(&blocks, left_out / 2.0);
    Some(Sides {
        shift: Estimate {
            value: middle(&differences),
            low: rank.map(|rank| differences[rank - 1]),
            high: rank.map(|rank| differences[differences.len() - rank]),
        },
        p: probability(&blocks),
        delta: (above as f64 - below as f64) / differences.len() as f64,
    })
}

/// [`compared_within`] of the logarithms, its shift taken back, so that 1.05 is 5 % more. `None` also where a number is not
/// above 0.
pub fn ratio_within(blocks: &[Block], left_out: f64) -> Option<Sides> {
    let logarithms =
        |side: &[f64]| side.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect::<Option<Vec<_>>>();
    let logarithms = |(first, second): &Block| Some((logarithms(first)?, logarithms(second)?));
    let found = compared_within(&blocks.iter().map(logarithms).collect::<Option<Vec<_>>>()?, left_out)?;
    let Estimate { value, low, high } = found.shift;
    let shift = Estimate { value: value.exp(), low: low.map(f64::exp), high: high.map(f64::exp) };
    Some(Sides { shift, ..found })
}

/// The two-sided probability of the ranks that the first side has within the blocks, ties included.
fn probability(blocks: &[&Block]) -> f64 {
    let mut sum = 0;
    let each = blocks.iter().map(|(first, second)| {
        let ranks = doubled_ranks(first, second);
        sum += ranks[..first.len()].iter().sum::<usize>();
        dealt(&ranks, first.len())
    });
    let ways = each.fold(vec![1.0], |all, ways| together(&all, &ways));
    let whole: f64 = ways.iter().sum();
    let (upto, from) = (ways[..=sum].iter().sum::<f64>(), ways[sum..].iter().sum::<f64>());
    (2.0 * upto.min(from) / whole).min(1.0)
}

/// Rank, from 1, of the lower end of the interval among the differences: the largest c with P(U < c) <= `tail` for the sum U of the
/// Mann–Whitney statistics of blocks so large. `None` where not even c = 1 is so.
fn lower_rank(blocks: &[&Block], tail: f64) -> Option<usize> {
    let of_block = |(first, second): &&Block| {
        let ranks: Vec<usize> = (1..=first.len() + second.len()).collect();
        dealt(&ranks, first.len())[first.len() * (first.len() + 1) / 2..].to_vec()
    };
    let ways = blocks.iter().map(of_block).fold(vec![1.0], |all, ways| together(&all, &ways));
    let whole: f64 = ways.iter().sum();
    let mut below = 0.0;
    let beyond = |ways: &f64| {
        below += ways / whole;
        below > tail
    };
    ways.iter().position(beyond).filter(|rank| *rank > 0)
}

/// In how many ways the sum of two comes about, of the ways for each.
fn together(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut ways = vec![0.0; one.len() + other.len() - 1];
    // Every other sum of doubled ranks is none, where no values are equal.
    for (at, count) in one.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        for (ways, times) in ways[at..].iter_mut().zip(other) {
            *ways += count * times;
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use proptest::prelude::*;

    use super::*;
    use crate::statistics::sides;

    #[test]
    fn one_block_is_the_test_of_two_groups() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..200 {
            let mut draw = || (0..rng.usize(2..7)).map(|_| f64::from(rng.u8(1..9))).collect::<Vec<_>>();
            let (first, second) = (draw(), draw());
            let plain = sides::compared_within(&first, &second, 0.05).unwrap();
            let found = compared_within(&[(first.clone(), second.clone()), (vec![1.0], vec![])], 0.05).unwrap();
            assert_eq!((found.shift, found.delta), (plain.shift, plain.delta));
            assert!((found.p - plain.p).abs() < 1e-12);
        }
    }

    #[test]
    fn with_ties_the_probability_is_that_of_every_way_to_deal_the_runs_out() {
        let mut rng = Rng::with_seed(2);
        let chosen: Vec<u32> = (0..64_u32).filter(|chosen| chosen.count_ones() == 3).collect();
        for _ in 0..100 {
            let blocks: Vec<[f64; 6]> = (0..2).map(|_| std::array::from_fn(|_| f64::from(rng.u8(0..5)))).collect();
            let split = |values: &[f64; 6]| (values[..3].to_vec(), values[3..].to_vec());
            let found = compared_within(&blocks.iter().map(split).collect::<Vec<_>>(), 0.05).unwrap();
            // Pairs in which the chosen value is below another, minus those in which it is above.
            let lead = |values: &[f64; 6], chosen: u32| -> i32 {
                let side = |wanted: u32| (0..6).filter(move |k| chosen >> k & 1 == wanted).map(|k| values[k]);
                side(1).flat_map(|a| side(0).map(move |b| i32::from(a < b) - i32::from(a > b))).sum()
            };
            let seen = lead(&blocks[0], 0b111) + lead(&blocks[1], 0b111);
            let all: Vec<i32> = chosen
                .iter()
                .flat_map(|one| chosen.iter().map(|other| lead(&blocks[0], *one) + lead(&blocks[1], *other)))
                .collect();
            let share = |of: &dyn Fn(i32) -> bool| all.iter().filter(|lead| of(**lead)).count() as f64 / 400.0;
            let counted = (2.0 * share(&|lead| lead <= seen).min(share(&|lead| lead >= seen))).min(1.0);
            assert!((found.p - counted).abs() < 1e-12, "{} and {counted}", found.p);
        }
    }

    #[test]
    fn what_is_no_number_gives_no_answer() {
        assert_eq!(compared_within(&[], 0.05), None);
        assert_eq!(compared_within(&[(vec![1.0], vec![])], 0.05), None);
        assert_eq!(compared_within(&[(vec![1.0], vec![f64::NAN])], 0.05), None);
        assert_eq!(ratio_within(&[(vec![1.0], vec![0.0])], 0.05), None);
    }

    proptest! {
        #[test]
        fn the_interval_excludes_nothing_exactly_where_the_test_finds_something(
            blocks in prop::collection::vec((prop::collection::vec(-9.0_f64..9.0, 3), prop::collection::vec(-9.0_f64..9.0, 3)), 2..5),
            by in -9.0_f64..9.0,
        ) {
            let blocks: Vec<Block> = blocks.into_iter().map(|(a, b)| (a, b.iter().map(|b| b + by).collect())).collect();
            let found = compared_within(&blocks, 0.016).unwrap();
            let (low, high) = (found.shift.low.unwrap(), found.shift.high.unwrap());
            prop_assert!(low <= found.shift.value && found.shift.value <= high);
            prop_assert_eq!(found.p <= 0.016, low > 0.0 || high < 0.0);
        }
    }
}
