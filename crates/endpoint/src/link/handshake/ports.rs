//! Explicit local ports for connections made one after the other.

use std::ops::RangeInclusive;

/// A range of local ports, taken in turn and again from its start.
///
/// The end that closes a connection second has its port free at once, so a range serves any number of connections, at
/// most one of them at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    range: RangeInclusive<u16>,
    next: u16,
    /// The peer's port: over loopback a connection from there to there would be one with itself.
    skipped: Option<u16>,
}

impl Ports {
    /// Ports of `range` from `first` on, which is held to the range. `None` where the range is empty.
    pub fn from(range: RangeInclusive<u16>, first: u16) -> Option<Self> {
        let next = first.clamp(*range.start(), (*range.end()).max(*range.start()));
        (!range.is_empty()).then_some(Self { range, next, skipped: None })
    }

    /// The same without `port`.
    pub fn without(mut self, port: u16) -> Self {
        self.skipped = Some(port);
        if self.next == port && !self.is_empty() {
            self.take();
        }
        self
    }

    /// The port that is taken next.
    pub fn peek(&self) -> u16 {
        self.next
    }

    /// Number of ports to choose from.
    pub fn len(&self) -> usize {
        let skipped = self.skipped.is_some_and(|port| self.range.contains(&port));
        self.range.len() - usize::from(skipped)
    }

    /// Returns true where there is no port to choose.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next port.
    pub fn take(&mut self) -> u16 {
        let taken = self.next;
        self.next = self.after(taken);
        if self.skipped == Some(self.next) {
            self.next = self.after(self.next);
        }
        taken
    }

    fn after(&self, port: u16) -> u16 {
        if port >= *self.range.end() { *self.range.start() } else { port + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_in_turn_and_the_peers_is_left_out() {
        let mut ports = Ports::from(5_000..=5_003, 5_002).unwrap().without(5_003);
        let taken: Vec<u16> = (0..5).map(|_| ports.take()).collect();
        assert_eq!(taken, [5_002, 5_000, 5_001, 5_002, 5_000]);
        assert_eq!((ports.len(), ports.is_empty()), (3, false));
    }

    #[test]
    fn the_first_is_held_to_the_range_and_is_not_the_peers() {
        assert_eq!(Ports::from(5_000..=5_001, 80).unwrap().peek(), 5_000);
        assert_eq!(Ports::from(u16::MAX - 1..=u16::MAX, 7).unwrap().without(u16::MAX - 1).peek(), u16::MAX);
    }

    #[test]
    fn the_last_port_there_is_does_not_overflow() {
        let mut ports = Ports::from(u16::MAX..=u16::MAX, u16::MAX).unwrap();
        assert_eq!((ports.take(), ports.take()), (u16::MAX, u16::MAX));
    }

    #[test]
    fn there_may_be_none() {
        let (low, high) = (8, 9);
        assert_eq!(Ports::from(high..=low, 9), None);
        assert!(Ports::from(9..=9, 9).unwrap().without(9).is_empty());
    }
}
