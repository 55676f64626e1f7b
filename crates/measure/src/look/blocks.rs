//! Blocks of consecutive rounds, by which legs are compared instead of by single packets.
//!
//! Neighbouring packets resemble each other, and a disturbance makes one longer, never shorter: so a block counts by
//! its lower quartile, which does not move while half of its packets are late. A block of one leg belongs to the same
//! block of every other leg, for they were asked in the same rounds.

use super::{Leg, Timed};
use crate::statistics::quantile::Ranked;

/// Blocks of a survey, or a few more, where there are as many rounds: the signed-rank test has room for as many legs as
/// there can be, and for a block or two that a leg has not.
const BLOCKS: usize = 12;

/// Quantile that represents a block, or a run of exchanges back to back.
pub const QUARTILE: f64 = 0.25;

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
        // A remainder belongs to the last block.
        if rounds.len() > 1
            && rounds.last().is_some_and(|last| last.len() < length)
            && let Some(rest) = rounds.pop()
            && let Some(last) = rounds.last_mut()
        {
            last.extend(rest);
        }
        Self { rounds }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.rounds.len()
    }

    /// Blocks that end with `round` or before it.
    pub fn until(&self, round: u64) -> usize {
        self.rounds.iter().take_while(|rounds| rounds.last().is_some_and(|last| *last <= round)).count()
    }

    /// The lower quartile of each block, nanoseconds; absent where less than half of its rounds were answered.
    pub fn quartiles(&self, exchanges: &[Timed]) -> Vec<Option<f64>> {
        let quartile = |rounds: &Vec<u64>| {
            let of = |round: &u64| {
                let place = exchanges.binary_search_by_key(round, |timed| timed.round).ok()?;
                exchanges[place].rtt_ns.map(|rtt| rtt.0)
            };
            let times: Vec<u64> = rounds.iter().filter_map(of).collect();
            let enough = 2 * times.len() >= rounds.len();
            Ranked::exact(times).quantile(QUARTILE).filter(|_| enough).map(|time| time as f64)
        };
        self.rounds.iter().map(quartile).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::judge::tests::leg;
    use crate::method::Carrier;
    use crate::unit::Nanos;

    #[test]
    fn fifty_rounds_are_twelve_blocks_and_a_rest_joins_the_last() {
        let of = |rounds: u64| Blocks::of(&[leg(Carrier::Icmp, &vec![1_000; rounds as usize])]);
        let lengths = |rounds: u64| of(rounds).rounds.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(48), [4; 12]);
        assert_eq!(lengths(50), [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 6]);
        assert_eq!(lengths(4), [1; 4]);
        assert_eq!(lengths(0), [0_usize; 0]);
    }

    #[test]
    fn a_block_has_a_quartile_where_half_of_it_was_answered() {
        let mut leg = leg(
            Carrier::Tcp,
            &[10, 20, 90, 40, 50, 60, 70, 80, 90, 100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        );
        for lost in [0, 2, 3, 11] {
            leg.exchanges[lost].rtt_ns = None;
        }
        let quartiles = |leg: &Leg| Blocks::of(std::slice::from_ref(leg)).quartiles(&leg.exchanges);
        let found = quartiles(&leg);
        assert_eq!(found[..3], [Some(20.0), None, Some(50.0)]);
        assert_eq!(found[5], Some(1.0), "half of two");
        leg.exchanges[0].rtt_ns = Some(Nanos(10));
        assert_eq!(quartiles(&leg)[0], Some(10.0));
    }
}
