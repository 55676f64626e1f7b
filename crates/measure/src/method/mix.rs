//! Several requests to a program in one measurement, and the order in which they are asked.
//!
//! The choice follows from the seed, the connection and the number of a request alone, so that anyone with these can
//! compute the class of any request, in whatever order replies come.

use serde::{Deserialize, Serialize};

/// Requests of several classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mix {
    /// The choice of the next request.
    pub order: Order,
    /// The classes, in the order of the file.
    pub classes: Vec<Class>,
}

/// The choice of the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// By chance, each as often as its weight has it; the draws follow from the seed of the method.
    #[default]
    Weights,
    /// The list from its begin to its end, again and again: of n connections number k asks for the k-th, then for each n-th.
    Sequence,
}

/// Requests that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Requests of the list that are of it.
    pub requests: u64,
    /// The sum of the weights of these requests; in a sequence each has 1.
    pub weight: u64,
    /// The shortest request, bytes.
    pub shortest_bytes: u64,
    /// The longest.
    pub longest_bytes: u64,
}

/// Keeps the draws of requests apart from those of gaps and sizes, which have the same seed.
const REQUESTS: u64 = 0x3c6e_f372_fe94_f82b;
/// The step of `SplitMix64` (Steele, Lea, Flood 2014), whose draws can be had by their numbers.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The requests of one connection, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    order: Order,
    /// The sum of the weights up to each request of the list, that one included.
    up_to: Vec<u64>,
    seed: u64,
    connection: u64,
    connections: u64,
}

impl Selection {
    /// The choices of a connection among requests of these weights, which follow from `seed`. `None` where nothing has a weight.
    pub fn new(order: Order, weights: &[u32], seed: u64, connection: u32, connections: u32) -> Option<Self> {
        let mut sum = 0_u64;
        let up_to: Vec<u64> = weights
            .iter()
            .map(|weight| {
                sum += u64::from(*weight);
                sum
            })
            .collect();
        let (connection, connections) = (u64::from(connection), u64::from(connections.max(1)));
        (sum > 0).then_some(Self { order, up_to, seed, connection, connections })
    }

    /// The place in the list of request `number` of this connection, which are counted from 0 without the warm-up.
    #[inline]
    pub fn place(&self, number: u64) -> usize {
        let length = self.up_to.len();
        match self.order {
            Order::Sequence => {
                let turn = number.wrapping_mul(self.connections).wrapping_add(self.connection);
                (turn % length as u64) as usize
            }
            Order::Weights => {
                let total = self.up_to.last().copied().unwrap_or(1);
                let drawn = (u128::from(self.draw(number)) * u128::from(total)) >> 64;
                self.up_to.partition_point(|sum| u128::from(*sum) <= drawn).min(length - 1)
            }
        }
    }

    fn draw(&self, number: u64) -> u64 {
        let start = scattered(self.seed ^ REQUESTS ^ (self.connection << 32));
        scattered(start.wrapping_add(number.wrapping_add(1).wrapping_mul(STEP)))
    }
}

/// The finaliser of `SplitMix64`.
fn scattered(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(weights: &[u32], seed: u64, connection: u32, count: u64) -> Vec<usize> {
        let selection = Selection::new(Order::Weights, weights, seed, connection, 2).unwrap();
        (0..count).map(|number| selection.place(number)).collect()
    }

    #[test]
    fn each_is_asked_as_often_as_its_weight_has_it() {
        let places = drawn(&[80, 0, 15, 5], 7, 0, 100_000);
        let count = |wanted: usize| places.iter().filter(|place| **place == wanted).count();
        assert_eq!(count(1), 0, "what has no weight is never asked");
        for (place, share) in [(0, 80_000_usize), (2, 15_000), (3, 5_000)] {
            // Six standard deviations of a binomial of 100,000 are at most 950.
            assert!(count(place).abs_diff(share) < 950, "{place}: {}", count(place));
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_and_each_connection_its_own() {
        let weights = [1, 1];
        assert_eq!(drawn(&weights, 7, 0, 200), drawn(&weights, 7, 0, 200));
        assert_ne!(drawn(&weights, 7, 0, 200), drawn(&weights, 7, 1, 200));
        assert_ne!(drawn(&weights, 7, 0, 200), drawn(&weights, 8, 0, 200));
    }

    #[test]
    fn a_sequence_is_shared_out_in_its_order() {
        let of = |connection| Selection::new(Order::Sequence, &[1; 5], 0, connection, 2).unwrap();
        let places = |connection| (0..6).map(|number| of(connection).place(number)).collect::<Vec<_>>();
        assert_eq!(places(0), [0, 2, 4, 1, 3, 0]);
        assert_eq!(places(1), [1, 3, 0, 2, 4, 1]);
        assert!(of(0).place(u64::MAX) < 5);
    }

    #[test]
    fn nothing_is_chosen_from_nothing() {
        assert_eq!(Selection::new(Order::Weights, &[], 0, 0, 1), None);
        assert_eq!(Selection::new(Order::Weights, &[0, 0], 0, 0, 1), None);
        assert_eq!(Selection::new(Order::Weights, &[0, u32::MAX], 3, 0, 1).unwrap().place(9), 1);
    }
}
