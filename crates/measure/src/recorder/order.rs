//! Order of replies, and runs of consecutive losses.

use std::collections::VecDeque;

/// Places where numbers were left out that one connection remembers: a reply that comes after so many more gaps has an
/// extent of at least what lies behind the oldest of them.
const GAPS: usize = 64;

/// Where the numbers of one connection stand. Order and runs of losses have a meaning within a connection alone, so each
/// has one of these, also where several share a recorder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Next expected number (RFC 4737): an arrival below it is reordered.
    next_expected: u64,
    /// First copies that have arrived so far.
    arrivals: u64,
    /// Arrivals that left out the numbers just below them, oldest first; empty in a run without loss and reordering.
    gaps: VecDeque<Gap>,
    /// The present run of losses.
    run: u64,
    last_lost: Option<u64>,
}

/// An arrival that left numbers out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    /// Its number.
    seq: u64,
    /// Its place among the arrivals.
    arrival: u64,
}

impl Sequence {
    /// The first copy of number `seq` has arrived. `Some`: it was overtaken, and this is its extent by RFC 4737 section
    /// 4.2: how many arrivals before it the earliest one with a larger number came, from 1.
    #[inline]
    pub(super) fn arrived(&mut self, seq: u64) -> Option<u64> {
        let arrival = self.arrivals;
        self.arrivals += 1;
        if seq == self.next_expected {
            self.next_expected = seq + 1;
            return None;
        }
        self.out_of_step(seq, arrival)
    }

    #[cold]
    fn out_of_step(&mut self, seq: u64, arrival: u64) -> Option<u64> {
        if seq > self.next_expected {
            self.next_expected = seq + 1;
            if self.gaps.len() == GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back(Gap { seq, arrival });
            return None;
        }
        // All between two gaps came in step, so the first arrival with a larger number is one that left numbers out.
        let first = self.gaps.iter().find(|gap| gap.seq > seq)?;
        Some(arrival - first.arrival)
    }
}

/// Order of arrival, all connections together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Reordered arrivals by their extent, in powers of two from 1.
    pub extents: [u64; 16],
    /// Longest run of consecutive losses, and how many runs there were (RFC 3357 loss periods).
    pub loss_periods: LossPeriods,
}

/// Runs of consecutive losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossPeriods {
    /// Runs of consecutive losses, a count.
    pub periods: u64,
    /// The longest of them.
    pub longest: u64,
}

impl LossPeriods {
    /// Number `seq` of a connection is lost. Its numbers come in ascending order.
    pub fn lost(&mut self, of: &mut Sequence, seq: u64) {
        let goes_on = seq > 0 && of.last_lost == Some(seq - 1);
        of.run = if goes_on { of.run + 1 } else { 1 };
        of.last_lost = Some(seq);
        self.periods += u64::from(!goes_on);
        self.longest = self.longest.max(of.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition itself: of each arrival the earliest before it with a larger number.
    fn by_definition(seqs: &[u64]) -> Vec<Option<u64>> {
        let before = |i: usize| (0..i).find(|&j| seqs[j] > seqs[i]);
        (0..seqs.len()).map(|i| before(i).map(|j| (i - j) as u64)).collect()
    }

    fn found(seqs: &[u64]) -> Vec<Option<u64>> {
        let mut sequence = Sequence::default();
        seqs.iter().map(|&seq| sequence.arrived(seq)).collect()
    }

    #[test]
    fn an_extent_counts_arrivals_and_not_numbers() {
        assert_eq!(found(&[0, 2, 1, 7, 3]), [None, None, Some(1), None, Some(1)]);
        assert_eq!(found(&[0, 5, 6, 7, 1]), [None, None, None, None, Some(3)]);
    }

    #[test]
    fn what_comes_after_more_gaps_than_are_remembered_has_at_least_what_is_known() {
        let mut seqs: Vec<u64> = (1..=100).map(|k| 2 * k).collect();
        seqs.push(1);
        assert_eq!(found(&seqs).last(), Some(&Some(GAPS as u64)));
    }

    proptest! {
        #[test]
        fn extents_are_those_of_the_definition(mut keys in prop::collection::vec((0_u64..12, 0_u64..50), 1..60)) {
            // Numbers from 0 up, some left out, each delayed by some places: no number twice.
            let mut seq = 0;
            let mut sent: Vec<(u64, u64)> = Vec::new();
            for (place, (delay, skip)) in keys.drain(..).enumerate() {
                seq += if skip == 0 { 3 } else { 1 };
                sent.push((place as u64 + delay, seq));
            }
            sent.sort_by_key(|(at, _)| *at);
            let seqs: Vec<u64> = sent.into_iter().map(|(_, seq)| seq).collect();
            prop_assert_eq!(found(&seqs), by_definition(&seqs));
        }
    }
}
