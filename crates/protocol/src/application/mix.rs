//! Several requests to one program: all are written at the start, and the number of a request decides which of them it is.

use std::sync::Arc;

use measure::method;
use measure::method::mix::{Class, Order, Selection};

use super::http::Expected;
use super::speech::Reply;
use super::tally::Tally;

/// Most requests of a list.
pub const MOST_REQUESTS: usize = 10_000;
/// Most classes that are told apart.
pub const MOST_CLASSES: usize = 64;
/// Statuses of HTTP among the kinds of its replies.
const STATUSES: std::ops::Range<u16> = 100..600;

/// One request of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its octets, with room for its mark.
    pub octets: Vec<u8>,
    /// As often as this it is drawn.
    pub weight: u32,
    /// Its class.
    pub class: u16,
    /// The statuses of HTTP that count as answered; absent where those of the others do.
    pub expected: Option<Expected>,
}

/// The requests of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    order: Order,
    items: Arc<[Item]>,
    names: Arc<[String]>,
}

impl Mix {
    /// A list of requests, of classes with these names. `None` where nothing is ever asked, or a class has no name.
    pub fn new(order: Order, items: Vec<Item>, names: Vec<String>) -> Option<Self> {
        let fits = items.len() <= MOST_REQUESTS && names.len() <= MOST_CLASSES;
        let named = items.iter().all(|item| usize::from(item.class) < names.len());
        let asks = items.iter().any(|item| item.weight > 0);
        (fits && named && asks).then(|| Self { order, items: items.into(), names: names.into() })
    }

    /// As a method and a record have it: the octets are in neither.
    pub fn said(&self) -> method::mix::Mix {
        let class = |(place, name): (usize, &String)| {
            let of = || self.items.iter().filter(move |item| usize::from(item.class) == place);
            let lengths = || of().map(|item| item.octets.len() as u64);
            Class {
                name: name.clone(),
                requests: of().count() as u64,
                weight: of().map(|item| u64::from(item.weight)).sum(),
                shortest_bytes: lengths().min().unwrap_or(0),
                longest_bytes: lengths().max().unwrap_or(0),
            }
        };
        method::mix::Mix { order: self.order, classes: self.names.iter().enumerate().map(class).collect() }
    }

    /// The requests.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The names of the classes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// True where requests say for themselves which statuses count as answered.
    pub fn expects_by_request(&self) -> bool {
        self.items.iter().any(|item| item.expected.is_some())
    }

    /// Octets of the longest request.
    pub fn longest(&self) -> usize {
        self.items.iter().map(|item| item.octets.len()).max().unwrap_or(0)
    }

    /// The choices of a connection, which follow from `seed`.
    pub fn selection(&self, seed: u64, connection: u32, connections: u32) -> Option<Selection> {
        let weights: Vec<u32> = self.items.iter().map(|item| item.weight).collect();
        Selection::new(self.order, &weights, seed, connection, connections)
    }

    /// The requests of a connection by these choices, its replies counted in a tally for each class.
    ///
    /// # Panics
    /// Where there are fewer tallies than classes.
    pub fn turns(&self, selection: Selection, tallies: Vec<Arc<Tally>>) -> Turns {
        assert!(tallies.len() >= self.names.len(), "a tally for each class");
        Turns { mix: self.clone(), selection, tallies, room: Vec::with_capacity(self.longest()) }
    }
}

/// The requests of one connection.
#[derive(Clone, Debug)]
pub struct Turns {
    mix: Mix,
    selection: Selection,
    tallies: Vec<Arc<Tally>>,
    /// The request whose turn it is.
    room: Vec<u8>,
}

impl Turns {
    /// Request `number`, where those from `recorded` on are recorded: the others are of the warm-up, and have a list of their own.
    #[inline]
    pub fn item(&self, number: u64, recorded: u64) -> &Item {
        let number = number.checked_sub(recorded).unwrap_or(number);
        &self.mix.items[self.selection.place(number)]
    }

    /// Makes it the one whose turn it is.
    #[inline]
    pub fn turn_to(&mut self, number: u64, recorded: u64) -> &mut [u8] {
        let number = number.checked_sub(recorded).unwrap_or(number);
        let item = &self.mix.items[self.selection.place(number)];
        self.room.clear();
        // There is room for the longest.
        self.room.extend_from_slice(&item.octets);
        &mut self.room
    }

    /// The one whose turn it is.
    #[inline]
    pub fn written(&self) -> &[u8] {
        &self.room
    }

    /// True where `reply` to this request counts as answered.
    #[inline]
    pub fn is_sound(item: &Item, reply: &Reply) -> bool {
        match &item.expected {
            Some(expected) if STATUSES.contains(&reply.kind.0) => expected.has(reply.kind.0),
            _ => reply.sound,
        }
    }

    /// Counts a reply to a request of this class.
    #[inline]
    pub fn count(&self, class: u16, reply: &Reply, sound: bool, octets: u64) {
        if let Some(tally) = self.tallies.get(usize::from(class)) {
            tally.count(reply.kind, sound, octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::Kind;

    fn item(octets: &[u8], weight: u32, class: u16) -> Item {
        Item { octets: octets.to_vec(), weight, class, expected: None }
    }

    #[test]
    fn a_list_asks_something_and_each_class_has_a_name() {
        let names = || vec!["a".to_owned()];
        assert_eq!(Mix::new(Order::Weights, vec![item(b"x", 0, 0)], names()), None);
        assert_eq!(Mix::new(Order::Weights, vec![item(b"x", 1, 1)], names()), None);
        assert_eq!(Mix::new(Order::Weights, Vec::new(), names()), None);
        assert_eq!(Mix::new(Order::Weights, vec![item(b"x", 1, 0); MOST_REQUESTS + 1], names()), None);
        let mix = Mix::new(Order::Sequence, vec![item(b"x", 1, 0), item(b"xyz", 1, 0)], names()).unwrap();
        let class = Class { name: "a".into(), requests: 2, weight: 2, shortest_bytes: 1, longest_bytes: 3 };
        assert_eq!(mix.said(), method::mix::Mix { order: Order::Sequence, classes: vec![class] });
        assert_eq!(mix.longest(), 3);
    }

    #[test]
    fn the_recording_begins_with_the_first_of_the_list() {
        let items = vec![item(b"first", 1, 0), item(b"second", 1, 0), item(b"third", 1, 0)];
        let mix = Mix::new(Order::Sequence, items, vec!["all".into()]).unwrap();
        let mut turns = mix.turns(mix.selection(1, 0, 1).unwrap(), vec![Arc::default()]);
        // The first two turns are a warm-up.
        assert_eq!(turns.turn_to(1, 2), b"second");
        assert_eq!(turns.turn_to(2, 2), b"first");
        turns.turn_to(4, 2)[0] = b'T';
        assert_eq!(turns.written(), b"Third");
        assert_eq!(turns.item(4, 2).octets, b"third", "a mark is none of the list");
    }

    #[test]
    fn what_counts_as_answered_is_the_word_of_each_request() {
        let reply = |kind, sound| Reply { sound, ..Reply::answered(Kind(kind)) };
        let only = Expected::Only { statuses: vec![404], classes: Vec::new() };
        let expecting = Item { expected: Some(only), ..item(b"x", 1, 0) };
        assert!(Turns::is_sound(&expecting, &reply(404, false)));
        assert!(!Turns::is_sound(&expecting, &reply(200, true)));
        assert!(!Turns::is_sound(&expecting, &reply(u16::MAX, false)), "a stream that is reset has no status");
        assert!(Turns::is_sound(&item(b"x", 1, 0), &reply(200, true)));
    }
}
