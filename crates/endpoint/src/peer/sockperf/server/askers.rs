//! Who asked how many of its messages arrive, and how many have since. A server of ours alone tells that.

use std::net::SocketAddr;

use protocol::sockperf::count;

/// Senders that are counted apart at once. One more may take the place of another, which then learns that its own are
/// not known.
const PLACES: usize = 256;

/// Those of one thread.
#[derive(Debug, Default)]
pub(super) struct Askers {
    /// Empty until somebody asks, so that nobody else pays for it; a sender's place is that of its port.
    places: Vec<Option<Asker>>,
}

#[derive(Clone, Copy, Debug)]
struct Asker {
    from: SocketAddr,
    /// The number of its first question.
    since: u64,
    arrived: u64,
}

impl Askers {
    /// Whether nobody has asked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// So many messages of `from` have arrived.
    pub fn saw(&mut self, from: SocketAddr, messages: u64) {
        let place = self.places.get_mut(place_of(from)).and_then(Option::as_mut);
        if let Some(asker) = place.filter(|asker| asker.from == from) {
            asker.arrived += messages;
        }
    }

    /// Makes a question of `from` its answer; `false`: it is no question.
    #[cold]
    pub fn answer(&mut self, from: SocketAddr, message: &mut [u8]) -> bool {
        let Some(number) = count::question_in(message) else { return false };
        if self.places.is_empty() {
            self.places.resize(PLACES, None);
        }
        let place = &mut self.places[place_of(from)];
        let known = place.filter(|asker| asker.from == from);
        let asker = *place.insert(known.unwrap_or(Asker { from, since: number, arrived: 0 }));
        count::answer(message, asker.since, asker.arrived);
        true
    }
}

fn place_of(from: SocketAddr) -> usize {
    usize::from(from.port()) % PLACES
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
        let [one, same_port]: [SocketAddr; 2] = ["10.0.0.1:1000", "10.0.0.2:1000"].map(|text| text.parse().unwrap());
        let mut askers = Askers::default();
        assert_eq!(asked(&mut askers, one, 40), (40, 0));
        assert_eq!(asked(&mut askers, same_port, 90), (90, 0));
        askers.saw(one, 3);
        assert_eq!(asked(&mut askers, one, 41), (41, 0), "counted anew, and it says so");
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
