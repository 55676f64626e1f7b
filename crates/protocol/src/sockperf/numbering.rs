//! Numbers of messages on the wire.
//!
//! A sockperf client counts its messages over all its sockets, which take turns of a burst each: with two sockets and a
//! burst of three, the first sends 1 to 3, the second 4 to 6, the first 7 to 9. An engine counts those of each
//! connection from 0. Seen with sockperf 3.10, a feed file and a burst.

use std::num::NonZeroU32;

/// The numbers of one connection, a lane among the client's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    lane: u64,
    lanes: u64,
    burst: u64,
}

impl Numbering {
    /// Numbering of a client with one connection: 1, 2, 3.
    pub const ONLY: Self = Self { lane: 0, lanes: 1, burst: 1 };

    /// Numbering of connection `lane`, from 0, among `lanes` that send bursts of `burst` messages in turn.
    ///
    /// # Panics
    ///
    /// There must be such a lane.
    pub fn new(lane: u32, lanes: NonZeroU32, burst: NonZeroU32) -> Self {
        assert!(lane < lanes.get(), "lane {lane} of {lanes}");
        Self { lane: lane.into(), lanes: lanes.get().into(), burst: burst.get().into() }
    }

    /// The number on the wire of the connection's message `local`, from 0. Stays at the last there is, where a run were
    /// that long.
    #[inline]
    pub fn global(self, local: u64) -> u64 {
        if self.lanes == 1 {
            return local.saturating_add(1);
        }
        let (turn, at) = (local / self.burst, local % self.burst);
        turn.saturating_mul(self.lanes * self.burst).saturating_add(self.lane * self.burst + at + 1)
    }

    /// Returns the message of this connection that has the number `global` on the wire; `None`: another connection's, or
    /// nobody's.
    #[inline]
    pub fn local(self, global: u64) -> Option<u64> {
        let before = global.checked_sub(1)?;
        if self.lanes == 1 {
            return Some(before);
        }
        let (round, rest) = (before / (self.lanes * self.burst), before % (self.lanes * self.burst));
        (rest / self.burst == self.lane).then(|| round * self.burst + rest % self.burst)
    }

    /// Returns true where message `local` asks for an answer, as every `reply_every`th of the client does.
    #[inline]
    pub fn asks(self, local: u64, reply_every: NonZeroU32) -> bool {
        self.global(local).is_multiple_of(u64::from(reply_every.get()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbering(lane: u32, lanes: u32, burst: u32) -> Numbering {
        let positive = |value| NonZeroU32::new(value).expect("positive");
        Numbering::new(lane, positive(lanes), positive(burst))
    }

    #[test]
    fn sockets_take_turns_of_a_burst_each() {
        let firsts = |lane| (0..7).map(|local| numbering(lane, 2, 3).global(local)).collect::<Vec<_>>();
        assert_eq!(firsts(0), [1, 2, 3, 7, 8, 9, 13]);
        assert_eq!(firsts(1), [4, 5, 6, 10, 11, 12, 16]);
        assert_eq!((0..3).map(|local| Numbering::ONLY.global(local)).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(numbering(0, 1, 8).global(11), 12);
    }

    #[test]
    fn every_third_message_of_the_client_asks() {
        let asks = |lane| {
            let every = NonZeroU32::new(3).expect("positive");
            (0..6).filter(|local| numbering(lane, 4, 1).asks(*local, every)).collect::<Vec<_>>()
        };
        // As captured with four sockets: 3, 6, 9, 12, 15, 18, 21, 24.
        assert_eq!([asks(0), asks(1), asks(2), asks(3)], [vec![2, 5], vec![1, 4], vec![0, 3], vec![2, 5]]);
    }

    #[test]
    fn numbers_at_the_end_of_their_range_are_numbers() {
        for numbering in [Numbering::ONLY, numbering(u32::MAX - 1, u32::MAX, u32::MAX)] {
            assert_eq!(numbering.global(u64::MAX), u64::MAX);
            assert_eq!(numbering.local(0), None);
            assert!(numbering.local(u64::MAX).is_none_or(|local| local < u64::MAX));
        }
    }

    proptest! {
        #[test]
        fn every_number_is_one_messages_of_one_connection(
            lanes in 1..9_u32, burst in 1..9_u32, global in prop_oneof![1..2_000_u64, 1..u64::MAX],
        ) {
            let found: Vec<_> = (0..lanes)
                .map(|lane| numbering(lane, lanes, burst))
                .filter_map(|numbering| numbering.local(global).map(|local| numbering.global(local)))
                .collect();
            prop_assert_eq!(found, [global]);
        }

        #[test]
        fn a_number_is_found_again(
            lane in any::<u32>(), lanes in 1..=u32::MAX, burst in 1..=u32::MAX, local in 0..u64::from(u32::MAX),
        ) {
            let numbering = numbering(lane % lanes, lanes, burst);
            let global = numbering.global(local);
            if global < u64::MAX {
                prop_assert_eq!(numbering.local(global), Some(local));
            }
        }
    }
}
