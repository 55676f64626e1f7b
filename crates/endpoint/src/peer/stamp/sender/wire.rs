//! Packets numbered and timed, and their answers told apart.

use std::sync::Arc;

use measure::clock_offset::FourTimes;
use protocol::native::header::Flags;
use protocol::stamp::sender::Wrong;
use protocol::wire::{Reading, Wire};
use rtrb::Producer;

use super::packets::Packets;
use super::{Exchanged, Fact, Glimpse};
use crate::clock::wall;

/// The packets of one session.
#[derive(Debug)]
pub struct StampWire {
    session: Arc<Packets>,
    /// The number of the engine's first request.
    first: u32,
    /// The engine's latest request.
    latest: u64,
    recording: bool,
    glimpse: Arc<Glimpse>,
    facts: Producer<Fact>,
}

impl StampWire {
    /// A wire whose first request has the number `first`.
    pub fn new(session: Arc<Packets>, first: u32, glimpse: Arc<Glimpse>, facts: Producer<Fact>) -> Self {
        Self { session, first, latest: 0, recording: false, glimpse, facts }
    }

    /// The engine's request of this number: the latest one that can have it. `None`: none has.
    fn request(&self, number: u32) -> Option<u64> {
        let latest = self.first.wrapping_add(self.latest as u32);
        self.latest.checked_sub(u64::from(latest.wrapping_sub(number)))
    }

    /// A full ring drops facts, rather than hold the measurement: fewer exchanges tell of the clocks then.
    fn tell(&mut self, fact: Fact) {
        let _told = self.facts.push(fact);
    }
}

/// The engine that had it is at its end.
impl Drop for StampWire {
    fn drop(&mut self) {
        self.tell(Fact::Ended(self.first.wrapping_add(self.latest as u32)));
    }
}

impl Wire for StampWire {
    fn open(&mut self, message: &mut [u8]) {
        self.session.open(message);
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        let number = self.first.wrapping_add(seq as u32);
        self.latest = seq;
        if !self.recording && !flags.has(Flags::WARM_UP) {
            self.recording = true;
            self.tell(Fact::Began(number));
        }
        self.session.write(message, number, wall());
    }

    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        let seen = self.glimpse.seen();
        let claimed = self.request(self.session.number(reply, true));
        match self.session.read(reply, seen.came) {
            Err(Wrong::Foreign) => Reading::Stray,
            Err(Wrong::Corrupt) => Reading::Corrupt(claimed),
            Ok(answer) => {
                let Some(seq) = claimed else { return Reading::Stray };
                let four = |(received, left)| FourTimes { sent: seen.sent, received, left, came: seen.came };
                self.tell(Fact::Answered(Exchanged {
                    number: answer.number,
                    own_number: answer.own_number,
                    times: answer.times.map(four).filter(|times| times.sent > 0),
                    left_by_kernel: seen.left_by_kernel,
                    came_by_kernel: seen.came_by_kernel,
                    error: answer.error,
                    time_to_live: answer.time_to_live,
                    answer_time_to_live: seen.time_to_live,
                    left: answer.times.map(|(_, left)| left),
                    told: self.session.told(reply, seen.came),
                }));
                if answer.is_last {
                    self.tell(Fact::Closed);
                }
                Reading::Reply(seq)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::stamp::sender::Session;
    use protocol::stamp::time::{ErrorEstimate, Format};
    use rtrb::RingBuffer;

    use super::*;

    #[test]
    fn numbers_go_on_where_32_bits_end() {
        let error = ErrorEstimate::new(false, Format::Ntp, None);
        let session = Session { key: None, session: 5, error, parts: Vec::new(), class: 0 };
        let (producer, mut consumer) = RingBuffer::new(8);
        let mut wire = StampWire::new(Arc::new(Packets::Stamp(session)), u32::MAX - 1, Arc::default(), producer);
        let mut packet = [0; 44];
        wire.open(&mut packet);
        wire.prepare(&mut packet, 0, Flags::WARM_UP);
        assert_eq!(packet[..4], [0xff, 0xff, 0xff, 0xfe]);
        wire.prepare(&mut packet, 3, Flags::NONE);
        assert_eq!(packet[..4], [0, 0, 0, 1]);
        assert!(matches!(consumer.pop(), Ok(Fact::Began(1))));
        assert_eq!(
            [1, 0, u32::MAX, u32::MAX - 1].map(|number| wire.request(number)),
            [Some(3), Some(2), Some(1), Some(0)]
        );
        assert_eq!((wire.request(2), wire.request(u32::MAX - 2)), (None, None), "neither has been sent");
        drop(wire);
        assert!(matches!(consumer.pop(), Ok(Fact::Ended(1))));
    }
}
