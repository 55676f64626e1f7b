//! Blocks of consecutive rounds: what legs are compared by, instead of single packets.
//!
//! Neighbouring packets resemble each other, and a median of a few of them is not moved by one that was late. A block of one leg
//! belongs to the same block of every other leg, for they were asked in the same rounds.

use super::{Leg, Timed};
use crate::statistics::paired;

/// So many blocks are made of a look, where there are as many rounds: the signed-rank test has room for as many legs as there
/// can be.
const BLOCKS: usize = 10;

/// The rounds of a look, cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The rounds of each block, ascending.
    rounds: Vec<Vec<u64>>,
}

impl Blocks {
    /// The blocks of all rounds that any of `legs` was asked in.
    pub fn of(legs: &[Leg]) -> Self {
        let mut all: Vec<u64> = legs.iter().flat_map(|leg| leg.exchanges.iter().map(|timed| timed.round)).collect();
        all.sort_unstable();
        all.dedup();
        let length = (all.len() / BLOCKS).max(1);
        let mut rounds: Vec<Vec<u64>> = all.chunks(length).map(<[u64]>::to_vec).collect();
        // What is left over belongs to the last.
        if rounds.len() > 1
            && rounds.last().is_some_and(|last| last.len() < length)
            && let Some(rest) = rounds.pop()
            && let Some(last) = rounds.last_mut()
        {
            last.extend(rest);
        }
        Self { rounds }
    }

    /// The median of each block, nanoseconds; absent where less than half of its rounds were answered.
    pub fn medians(&self, exchanges: &[Timed]) -> Vec<Option<f64>> {
        let median = |rounds: &Vec<u64>| {
            let of = |round: &u64| {
                let place = exchanges.binary_search_by_key(round, |timed| timed.round).ok()?;
                exchanges[place].rtt_ns.map(|rtt| rtt.0 as f64)
            };
            let times: Vec<f64> = rounds.iter().filter_map(of).collect();
            paired::median(&times).filter(|_| 2 * times.len() >= rounds.len())
        };
        self.rounds.iter().map(median).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::judge::tests::leg;
    use crate::method::Carrier;
    use crate::unit::Nanos;

    #[test]
    fn fifty_rounds_are_ten_blocks_and_a_rest_joins_the_last() {
        let of = |rounds: u64| Blocks::of(&[leg(Carrier::Icmp, &vec![1_000; rounds as usize])]);
        let lengths = |rounds: u64| of(rounds).rounds.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(50), [5; 10]);
        assert_eq!(lengths(53), [5, 5, 5, 5, 5, 5, 5, 5, 5, 8]);
        assert_eq!(lengths(4), [1; 4]);
        assert_eq!(lengths(0), [0_usize; 0]);
    }

    #[test]
    fn a_block_has_a_median_where_half_of_it_was_answered() {
        let mut leg = leg(Carrier::Tcp, &[10, 20, 90, 40, 50, 60, 70, 80, 90, 100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        for lost in [0, 2, 3, 11] {
            leg.exchanges[lost].rtt_ns = None;
        }
        let medians = Blocks::of(&[leg.clone()]).medians(&leg.exchanges);
        assert_eq!(medians[..3], [Some(20.0), None, Some(55.0)]);
        assert_eq!(medians[5], Some(1.0), "half of two");
        leg.exchanges[0].rtt_ns = Some(Nanos(10));
        assert_eq!(Blocks::of(&[leg.clone()]).medians(&leg.exchanges)[0], Some(15.0));
    }
}
