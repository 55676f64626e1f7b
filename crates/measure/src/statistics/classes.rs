//! Exchanges of a mix by the classes of their requests.

use crate::event::{Exchange, Fate};
use crate::method::LoopKind;
use crate::method::mix::Selection;
use crate::outcome::replies::OfClass;
use crate::recorder::Values;

use super::phase::phase;

/// Exchanges by class, as they are told one by one.
#[derive(Debug)]
pub struct ByClass {
    kind: LoopKind,
    /// The choices of each connection.
    selections: Vec<Selection>,
    /// The class of each request of the list.
    class_of: Vec<u16>,
    books: Vec<(OfClass, Values)>,
}

impl ByClass {
    /// Books of classes with these names, for a loop of this kind. `class_of` has the class of each request of the list.
    pub fn new(kind: LoopKind, selections: Vec<Selection>, class_of: Vec<u16>, names: &[String]) -> Self {
        let book = |name: &String| (OfClass { name: name.clone(), ..OfClass::default() }, Values::new());
        Self { kind, selections, class_of, books: names.iter().map(book).collect() }
    }

    /// One exchange has its end.
    pub fn take(&mut self, exchange: &Exchange) {
        let Some(selection) = self.selections.get(exchange.flow as usize) else { return };
        let class = self.class_of.get(selection.place(exchange.seq)).map(|class| usize::from(*class));
        let Some((book, times)) = class.and_then(|class| self.books.get_mut(class)) else { return };
        book.scheduled += 1;
        match exchange.fate {
            Fate::Answered => book.answered += 1,
            Fate::Late | Fate::Lost => book.unanswered += 1,
            Fate::Refused => book.refused += 1,
            Fate::Corrupt => book.corrupt += 1,
            Fate::SendFailed => book.send_failed += 1,
        }
        let took = exchange.received.zip(exchange.begins(self.kind)).and_then(|(received, from)| received.since(from));
        if let Some(took) = took.filter(|_| exchange.fate == Fate::Answered) {
            times.record(took.0);
        }
    }

    /// The outcome of each class, in the order of their names.
    pub fn told(&self) -> Vec<OfClass> {
        self.books.iter().map(|(book, times)| OfClass { times: phase(times), ..book.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::mix::Order;
    use crate::unit::{Instant, Nanos};

    fn exchange(flow: u32, seq: u64, fate: Fate, took: u64) -> Exchange {
        let received = (fate == Fate::Answered).then_some(Instant(1_000 + took));
        let (intended, sent) = (Some(Instant(900)), Some(Instant(1_000)));
        Exchange { flow, seq, intended, sent, received, fate, details: None }
    }

    fn books(kind: LoopKind) -> ByClass {
        let selection = |flow| Selection::new(Order::Sequence, &[1; 3], 0, flow, 2).unwrap();
        ByClass::new(kind, vec![selection(0), selection(1)], vec![0, 1, 0], &["read".into(), "write".into()])
    }

    #[test]
    fn each_exchange_is_booked_in_its_class() {
        let mut books = books(LoopKind::Closed);
        // Connection 0 asks for places 0, 2, 1 of the list, connection 1 for 1, 0, 2.
        let told = [
            exchange(0, 0, Fate::Answered, 50),
            exchange(0, 1, Fate::Lost, 0),
            exchange(0, 2, Fate::Refused, 0),
            exchange(1, 0, Fate::Answered, 70),
            exchange(1, 1, Fate::Late, 0),
            exchange(1, 2, Fate::SendFailed, 0),
            exchange(9, 0, Fate::Answered, 0),
        ];
        for exchange in &told {
            books.take(exchange);
        }
        let told = books.told();
        let [read, write] = &told[..] else { panic!("{told:?}") };
        assert_eq!((read.scheduled, read.answered, read.unanswered, read.send_failed), (4, 1, 2, 1));
        assert_eq!((write.scheduled, write.answered, write.refused), (2, 1, 1));
        assert_eq!((read.times.max_ns, write.times.max_ns), (Some(Nanos(50)), Some(Nanos(70))));
    }

    #[test]
    fn an_open_loop_counts_from_the_instant_that_was_due() {
        let mut books = books(LoopKind::Open);
        books.take(&exchange(0, 0, Fate::Answered, 50));
        assert_eq!(books.told()[0].times.min_ns, Some(Nanos(150)));
    }
}
