//! Requests of several classes: the choices of each connection, and the books of each class.

use std::sync::Arc;

use measure::event::Event;
use measure::method::Method;
use measure::method::mix::Selection;
use measure::outcome::replies::{Classes, OfClass, Replies};
use measure::statistics::classes::ByClass;
use protocol::application::Kind;
use protocol::application::mix::{Mix, Turns};
use protocol::application::tally::Tally;

/// The requests of a measurement over all its connections.
pub struct Mixing<'a> {
    mix: &'a Mix,
    method: &'a Method,
    selections: Vec<Selection>,
    /// Replies of each connection by class.
    tallies: Vec<Vec<Arc<Tally>>>,
}

/// Exchanges by class, taken from what the threads tell of each.
pub struct Books {
    by_class: ByClass,
    untold: u64,
}

impl<'a> Mixing<'a> {
    /// The requests of `mix`, drawn as `method` has it.
    pub fn new(mix: &'a Mix, method: &'a Method) -> Self {
        let connections = method.spread.connections;
        let selections = (0..connections).filter_map(|flow| mix.selection(method.seed, flow, connections)).collect();
        let tally = || mix.names().iter().map(|_| Arc::default()).collect();
        Self { mix, method, selections, tallies: (0..connections).map(|_| tally()).collect() }
    }

    /// The requests of connection `flow`.
    pub fn turns(&self, flow: u32) -> Option<Turns> {
        let place = flow as usize;
        Some(self.mix.turns(self.selections.get(place)?.clone(), self.tallies.get(place)?.clone()))
    }

    /// Empty books.
    pub fn books(&self) -> Books {
        let class_of = self.mix.items().iter().map(|item| item.class).collect();
        let by_class = ByClass::new(self.method.loop_kind(), self.selections.clone(), class_of, self.mix.names());
        Books { by_class, untold: 0 }
    }

    /// The books as a record has them; `name` names kinds of replies.
    pub fn told(&self, books: &Books, name: impl Fn(Kind, bool) -> String) -> Classes {
        let kinds = |place: usize| self.tallies.iter().filter_map(move |tallies| tallies.get(place));
        let with_kinds = |(place, class): (usize, OfClass)| {
            let mut all = Replies::default();
            for (kind, sound, count) in kinds(place).flat_map(|tally| tally.kinds()) {
                all.add(name(kind, sound), sound, count);
            }
            OfClass { kinds: all.kinds, ..class }
        };
        let each = books.by_class.told().into_iter().enumerate().map(with_kinds).collect();
        Classes { each, untold: books.untold }
    }
}

impl Books {
    /// Takes in an event of a thread; returns true for events about single exchanges alone.
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Exchange(exchange) => self.by_class.take(exchange),
            Event::SamplesDropped { count } => self.untold += count,
            Event::Split(_) => {}
            _ => return false,
        }
        true
    }
}
