//! Senders that asked for the number of their messages that arrive, and the counts since. Only a server of ours reports
//! that.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use protocol::sockperf::count;

use crate::serve::sources::source;

/// Senders that are counted apart at once. A further one takes the place of the sender with the oldest question, of the
/// source with most; that sender then learns that its count is not known.
const PLACES: usize = 256;

/// Those of one thread.
#[derive(Debug, Default)]
pub(super) struct Askers {
    /// Senders by address. Empty until one asks, so that all others are not slowed down.
    known: HashMap<SocketAddr, Asker>,
    /// Questions so far.
    questions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Asker {
    /// The number of its first question.
    since: u64,
    arrived: u64,
    /// Number of its last question among all questions.
    asked: u64,
}

impl Askers {
    /// Returns true where no sender has asked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Counts messages of `from` that arrived.
    pub fn saw(&mut self, from: SocketAddr, messages: u64) {
        if let Some(asker) = self.known.get_mut(&from) {
            asker.arrived += messages;
        }
    }

    /// Makes a question of `from` its answer; `false`: it is no question.
    #[cold]
    pub fn answer(&mut self, from: SocketAddr, message: &mut [u8]) -> bool {
        let Some(number) = count::question_in(message) else { return false };
        if self.known.len() >= PLACES && !self.known.contains_key(&from) {
            self.make_room();
        }
        self.questions += 1;
        let asker = self.known.entry(from).or_insert(Asker { since: number, arrived: 0, asked: 0 });
        asker.asked = self.questions;
        count::answer(message, asker.since, asker.arrived);
        true
    }

    fn make_room(&mut self) {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        self.known.keys().for_each(|from| *counts.entry(source(from.ip())).or_default() += 1);
        let first_to_go =
            self.known.iter().max_by_key(|(from, asker)| (counts[&source(from.ip())], Reverse(asker.asked)));
        if let Some(gone) = first_to_go.map(|(from, _)| *from) {
            self.known.remove(&gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(askers: &mut Askers, from: SocketAddr, number: u64) -> (u64, u64) {
        let mut message = count::question(number);
        assert!(askers.answer(from, &mut message));
        let told = count::told(&message).unwrap();
        assert_eq!(told.number, number);
        (told.since, told.arrived)
    }

    #[test]
    fn each_is_told_of_its_own_since_it_asked() {
        let [one, other, third]: [SocketAddr; 3] =
            ["10.0.0.1:1000", "10.0.0.1:1001", "[::1]:1002"].map(|address| address.parse().unwrap());
        let mut askers = Askers::default();
        askers.saw(one, 7);
        assert!(askers.is_empty());
        assert_eq!(asked(&mut askers, one, 40), (40, 0));
        assert_eq!(asked(&mut askers, other, 50), (50, 0));
        for from in [one, other, third, one] {
            askers.saw(from, 3);
        }
        assert_eq!(asked(&mut askers, one, 41), (40, 6));
        assert_eq!(asked(&mut askers, other, 51), (50, 3));
        assert_eq!(asked(&mut askers, third, 60), (60, 0));
    }

    #[test]
    fn whose_place_was_taken_is_not_told_a_count_that_is_not_its_own() {
        let one = "10.0.0.1:1000".parse().unwrap();
        let mut askers = Askers::default();
        assert_eq!(asked(&mut askers, one, 40), (40, 0));
        for last in 1..=PLACES as u32 {
            let other = SocketAddr::new(IpAddr::from((0x0a01_0000 + last).to_be_bytes()), 1_000);
            assert_eq!(asked(&mut askers, other, 90), (90, 0));
        }
        askers.saw(one, 3);
        assert_eq!(asked(&mut askers, one, 41), (41, 0), "counted anew, and it says so");
        assert_eq!(askers.known.len(), PLACES);
    }

    #[test]
    fn a_source_that_asks_from_every_port_takes_no_place_of_another() {
        let one = "10.0.0.1:1000".parse().unwrap();
        let mut askers = Askers::default();
        assert_eq!(asked(&mut askers, one, 40), (40, 0));
        for number in 0..4 * PLACES as u64 {
            let address: IpAddr = format!("2001:db8::{number:x}").parse().unwrap();
            asked(&mut askers, SocketAddr::new(address, 1_000 + number as u16), number);
            askers.saw(one, 1);
        }
        assert_eq!(asked(&mut askers, one, 41), (40, 4 * PLACES as u64));
    }

    #[test]
    fn what_is_no_question_is_left_alone() {
        let mut askers = Askers::default();
        let mut message = count::question(1);
        message[20] ^= 1;
        let before = message;
        assert!(!askers.answer("10.0.0.1:1".parse().unwrap(), &mut message));
        assert!(askers.is_empty() && message == before);
    }
}
