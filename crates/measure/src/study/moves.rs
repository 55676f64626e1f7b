//! Value of moving one axis at a time: the part of the gap between two settings that each axis closes.
//!
//! A corner is a setting in which some of the axes have been moved from the first side to the second; no axis moved is the first
//! side itself, all moved the second. Where axes interact, the part that one closes depends on which were moved before. So every
//! axis is moved at each place that the orders below give it, and its share is the average: Shapley's value, whose sum over the
//! axes is the gap, whatever the interactions (Shapley, "A value for n-person games", 1953).
//!
//! Up to [`ALL_ORDERS`] axes every order is tried, which takes all corners; beyond, one order and its reverse.

use serde::{Deserialize, Serialize};

use crate::comparison::Interval;
use crate::statistics::paired::{self, Estimate};

/// Up to so many axes every corner is measured: 8 settings.
pub const ALL_ORDERS: usize = 3;

/// A corner: bit k is set where axis k has been moved.
pub type Corner = u32;

/// The most axes that are moved apart: more make more settings than anybody waits for.
pub const MOST: usize = 8;

/// The orders in which so many axes are moved, each a permutation of their numbers.
pub fn orders(axes: usize) -> Vec<Vec<usize>> {
    let straight: Vec<usize> = (0..axes).collect();
    if axes > ALL_ORDERS {
        return vec![straight.clone(), straight.into_iter().rev().collect()];
    }
    let mut all = vec![Vec::new()];
    for axis in straight {
        all = all
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, axis);
                    longer
                })
            })
            .collect();
    }
    all
}

/// The corners that these orders pass, ascending: the first is no axis moved, the last is all.
pub fn corners(axes: usize) -> Vec<Corner> {
    let mut passed = vec![0];
    for order in orders(axes) {
        let mut corner = 0;
        passed.extend(order.into_iter().map(|axis| {
            corner |= 1 << axis;
            corner
        }));
    }
    passed.sort_unstable();
    passed.dedup();
    passed
}

/// Value of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worth {
    /// The part of the gap that it closes, in the unit of the figure: from medians over the blocks, so that those of
    /// all axes add up to the gap. The interval is the signed-rank one over the blocks, each of which gives a value.
    pub closes: Interval,
    /// The same as a share of the gap between the medians; absent where there is no gap.
    pub share: Option<Interval>,
    /// The part that it closes when it is moved before every other axis, in the unit of the figure.
    pub first: f64,
    /// The part that it closes when it is moved after every other, in the unit of the figure.
    pub last: f64,
    /// True where the two differ by more than the blocks do among themselves, with 95 % confidence: then the axes interact.
    pub interacts: bool,
}

/// Returns the value of each of `axes` axes; `blocks` has for each block the figure at every corner of [`corners`], in that
/// order. Blocks that lack a corner are left out. `None` where none is whole.
pub fn worth(axes: usize, blocks: &[Vec<Option<f64>>]) -> Option<Vec<Worth>> {
    let corners = corners(axes);
    let whole: Vec<Vec<f64>> = blocks
        .iter()
        .filter(|block| block.len() == corners.len())
        .filter_map(|block| block.iter().copied().collect::<Option<Vec<f64>>>())
        .collect();
    let medians: Vec<f64> = (0..corners.len())
        .map(|at| paired::median(&whole.iter().map(|block| block[at]).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    let gap = medians.last()? - medians.first()?;
    let orders = orders(axes);
    let of = |axis: usize| {
        let step = |values: &[f64], order: &[usize]| step(values, &corners, order, axis);
        let mean = |values: &[f64]| orders.iter().map(|order| step(values, order)).sum::<f64>() / orders.len() as f64;
        let ends = |values: &[f64]| {
            let at = |place: usize| orders.iter().find(|order| order[place] == axis).map(|order| step(values, order));
            (at(0).unwrap_or_else(|| mean(values)), at(axes - 1).unwrap_or_else(|| mean(values)))
        };
        let (first, last) = ends(&medians);
        let value = mean(&medians);
        let seen: Vec<f64> = whole.iter().map(|block| mean(block)).collect();
        let apart: Vec<f64> = whole.iter().map(|block| ends(block)).map(|(first, last)| first - last).collect();
        let closes = around(value, paired::hodges_lehmann(&seen));
        let share = |closes: f64| closes / gap;
        let shares = Interval { value: share(value), low: closes.low.map(share), high: closes.high.map(share) };
        Worth {
            closes,
            share: (gap != 0.0).then(|| ordered(shares)),
            first,
            last,
            interacts: paired::hodges_lehmann(&apart).is_some_and(|apart| excludes_nothing(&apart)),
        }
    };
    Some((0..axes).map(of).collect())
}

/// Returns the change of the figure from moving `axis` at its place in `order`.
fn step(values: &[f64], corners: &[Corner], order: &[usize], axis: usize) -> f64 {
    let before: Corner = order.iter().take_while(|other| **other != axis).map(|other| 1 << other).sum();
    let at = |corner: Corner| corners.binary_search(&corner).map_or(f64::NAN, |at| values[at]);
    at(before | 1 << axis) - at(before)
}

/// The value in the interval of `estimate`, which is widened where the value of the medians lies outside it.
fn around(value: f64, estimate: Option<Estimate>) -> Interval {
    let (low, high) = estimate.map_or((None, None), |estimate| (estimate.low, estimate.high));
    Interval { value, low: low.map(|low| low.min(value)), high: high.map(|high| high.max(value)) }
}

/// With its ends the right way round: a share of a gap below zero turns them.
fn ordered(interval: Interval) -> Interval {
    match (interval.low, interval.high) {
        (Some(low), Some(high)) if low > high => Interval { low: Some(high), high: Some(low), ..interval },
        _ => interval,
    }
}

/// Returns true where 0 lies outside its interval.
fn excludes_nothing(estimate: &Estimate) -> bool {
    estimate.low.is_some_and(|low| low > 0.0) || estimate.high.is_some_and(|high| high < 0.0)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use test_case::test_case;

    use super::*;
    use crate::statistics::simulated::normal;

    #[test_case(1, 1, 2)]
    #[test_case(2, 2, 4)]
    #[test_case(3, 6, 8)]
    #[test_case(4, 2, 8)]
    #[test_case(6, 2, 12)]
    fn orders_pass_corners(axes: usize, orders_of: usize, corners_of: usize) {
        let (orders, corners) = (orders(axes), corners(axes));
        assert_eq!((orders.len(), corners.len()), (orders_of, corners_of));
        assert_eq!((corners[0], corners[corners.len() - 1]), (0, (1 << axes) - 1));
        for order in orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..axes).collect::<Vec<_>>());
        }
    }

    /// Blocks in which corner values are `value`, with a deviation of `noise` of their own.
    fn blocks(axes: usize, noise: f64, seed: u64, value: impl Fn(Corner) -> f64) -> Vec<Vec<Option<f64>>> {
        let mut rng = Rng::with_seed(seed);
        let corners = corners(axes);
        (0..9).map(|_| corners.iter().map(|&corner| Some(value(corner) + noise * normal(&mut rng))).collect()).collect()
    }

    #[test_case(1)]
    #[test_case(2)]
    #[test_case(3)]
    #[test_case(5)]
    fn what_the_axes_close_adds_up_to_the_gap(axes: usize) {
        let value = |corner: Corner| 10.0 + f64::from(corner) * 3.0 + f64::from(corner.count_ones().pow(2));
        let blocks = blocks(axes, 0.5, 3, value);
        let worth = worth(axes, &blocks).unwrap();
        let at = |corner: usize| paired::median(&blocks.iter().map(|block| block[corner].unwrap()).collect::<Vec<_>>());
        let gap = at(corners(axes).len() - 1).unwrap() - at(0).unwrap();
        let sum: f64 = worth.iter().map(|axis| axis.closes.value).sum();
        assert!((sum - gap).abs() < 1e-9, "{sum} {gap}");
        let shares: f64 = worth.iter().map(|axis| axis.share.unwrap().value).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }

    #[test]
    fn axes_that_do_not_interact_are_worth_what_they_add() {
        let value = |corner: Corner| 100.0 - 60.0 * f64::from(corner & 1) - 20.0 * f64::from(corner >> 1 & 1);
        let worth = worth(3, &blocks(3, 0.0, 1, value)).unwrap();
        let closes: Vec<f64> = worth.iter().map(|axis| axis.closes.value).collect();
        for (closes, expected) in closes.iter().zip([-60.0, -20.0, 0.0]) {
            assert!((closes - expected).abs() < 1e-9, "{closes} {expected}");
        }
        assert!(worth.iter().all(|axis| !axis.interacts));
        let share = worth[0].share.unwrap();
        assert!((share.value - 0.75).abs() < 1e-9 && share.low <= Some(share.value) && share.high >= Some(share.value));
    }

    #[test]
    fn axes_that_close_the_gap_only_together_share_it() {
        let value = |corner: Corner| if corner == 3 { 50.0 } else { 100.0 };
        let worth = worth(2, &blocks(2, 0.1, 5, value)).unwrap();
        for axis in worth {
            assert!((axis.closes.value + 25.0).abs() < 0.5 && axis.interacts, "{axis:?}");
            assert!(axis.first.abs() < 0.5 && (axis.last + 50.0).abs() < 0.5, "{axis:?}");
        }
    }

    #[test]
    fn the_interval_of_an_axis_holds_its_worth() {
        let value = |corner: Corner| 100.0 - 10.0 * f64::from(corner & 1);
        let inside = (0..400)
            .filter(|&seed| {
                let axis = worth(2, &blocks(2, 1.0, seed, value)).unwrap()[0];
                axis.closes.low.unwrap() <= -10.0 && axis.closes.high.unwrap() >= -10.0
            })
            .count();
        assert!(inside >= 375, "{inside} of 400");
    }

    #[test]
    fn a_block_without_a_corner_is_left_out() {
        let mut blocks = blocks(1, 0.0, 1, |corner| f64::from(corner) * 7.0);
        blocks[0][1] = None;
        blocks[1].pop();
        assert_eq!(worth(1, &blocks).unwrap()[0].closes.value, 7.0);
        assert_eq!(worth(1, &[vec![None, None]]), None);
        assert_eq!(worth(1, &[]), None);
    }
}
