//! Visits by their source address, and the choice of the one that gives way where another needs the room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub use protocol::source::source;

/// Numbers that were given in order, by source.
#[derive(Debug, Default)]
pub struct Sources {
    of: BTreeMap<IpAddr, BTreeSet<u64>>,
    count: usize,
}

impl Sources {
    /// One more of `source`.
    pub fn add(&mut self, source: IpAddr, number: u64) {
        self.count += usize::from(self.of.entry(source).or_default().insert(number));
    }

    /// It has gone; whether it was there.
    pub fn remove(&mut self, source: IpAddr, number: u64) -> bool {
        let Some(numbers) = self.of.get_mut(&source) else { return false };
        let removed = numbers.remove(&number);
        self.count -= usize::from(removed);
        if numbers.is_empty() {
            self.of.remove(&source);
        }
        removed
    }

    /// Number of visits from all sources.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the oldest visit of the source with most.
    pub fn first_to_go(&self) -> Option<u64> {
        self.most()?.1.first().copied()
    }

    /// Returns the newest visit of the source that has more than `share`, where that is not `source`.
    pub fn beyond(&self, share: usize, source: IpAddr) -> Option<u64> {
        let (of, numbers) = self.most()?;
        (*of != source && numbers.len() > share).then(|| numbers.last().copied()).flatten()
    }

    /// Source with most visits; of several with as many, the one that came first.
    fn most(&self) -> Option<(&IpAddr, &BTreeSet<u64>)> {
        self.of.iter().max_by_key(|(_, numbers)| (numbers.len(), Reverse(numbers.first())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn the_oldest_of_whoever_has_most_goes_first() {
        let mut sources = Sources::default();
        for (number, last) in [1, 2, 2, 3, 2, 1].into_iter().enumerate() {
            sources.add(v4(last), number as u64);
        }
        assert_eq!((sources.count(), sources.first_to_go()), (6, Some(1)));
        assert!(sources.remove(v4(2), 1) && sources.remove(v4(2), 2));
        // Nobody who is not there is counted out.
        assert!(!sources.remove(v4(2), 2) && !sources.remove(v4(9), 4));
        assert_eq!((sources.count(), sources.first_to_go()), (4, Some(0)));
        sources.remove(v4(1), 0);
        assert_eq!(sources.first_to_go(), Some(3), "of those that have one each the oldest");
    }

    #[test]
    fn beyond_a_share_the_newest_goes_for_somebody_else() {
        let mut sources = Sources::default();
        (0..3).for_each(|number| sources.add(v4(1), number));
        sources.add(v4(2), 3);
        assert_eq!(sources.beyond(2, v4(2)), Some(2));
        assert_eq!((sources.beyond(2, v4(1)), sources.beyond(3, v4(2))), (None, None));
    }
}
