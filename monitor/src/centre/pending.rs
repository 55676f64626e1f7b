//! Beats that no store has yet: gathered by start of an agent and by minute, handed over when the minute is over, and held
//! until they are kept.

use std::collections::HashMap;

use logbook::monitor::talk::Over;
use measure::span::Span;
use uuid::Uuid;

use crate::store::{Cell, Level, Part};

/// Parts that may wait for the store: ten minutes of a thousand agents. Beyond it nothing more is gathered: agents have it still.
const MOST: usize = 10_000;

/// Result of taking a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is new, and gathered.
    Gathered,
    /// It is new, and there is no room: the agent has to tell it again.
    NoRoom,
    /// It was here already.
    Again,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Pending {
    open: HashMap<Uuid, Open>,
    ready: Vec<Part>,
    /// Parts that are with the store.
    away: usize,
    /// True where beats were left with their agents for want of room.
    pub left_some: bool,
}

#[derive(Debug, Default)]
struct Open {
    /// The last beat that came.
    seen: u64,
    /// The minute that is gathered, and what of it.
    minute: u64,
    first: u64,
    last: u64,
    /// In order, and as it is handed over: so nothing of it is there twice.
    minutes: Vec<(Cell, u64, Span)>,
    /// Something was left out: what follows must not be gathered, or it would stand for what was left out.
    broken: bool,
}

impl Pending {
    /// Begins a start of an agent, of which the store has the beats up to `kept`.
    pub fn begin(&mut self, instance: Uuid, kept: u64) {
        let open = self.open.entry(instance).or_default();
        open.seen = open.seen.max(kept);
        if open.broken {
            *open = Open { seen: kept, ..Open::default() };
        }
    }

    /// Takes a beat: the number, its second by the centre's clock, the host that asks, and what of whom it carries.
    pub fn take<'a>(
        &mut self,
        instance: Uuid,
        (seq, at): (u64, u64),
        from: &str,
        cells: impl Iterator<Item = (&'a str, Over, &'a Span)>,
    ) -> Taken {
        let is_full = self.ready.len() + self.away >= MOST;
        let open = self.open.entry(instance).or_default();
        if seq <= open.seen {
            return Taken::Again;
        }
        open.seen = seq;
        if open.broken || is_full {
            open.broken = true;
            self.left_some = true;
            return Taken::NoRoom;
        }
        let minute = Level::Minute.start(at);
        if open.last > 0 && minute != open.minute {
            self.ready.extend(open.close(instance));
        }
        if open.first == 0 {
            open.first = seq;
        }
        (open.last, open.minute) = (seq, minute);
        open.add(from, cells);
        Taken::Gathered
    }

    /// Has what was gathered of all that told nothing since `before` handed over, whole minutes or not; of all where that is `u64::MAX`.
    pub fn close_before(&mut self, before: u64) {
        for (instance, open) in &mut self.open {
            if open.last > 0 && open.minute.saturating_add(Level::Minute.seconds()) < before {
                self.ready.extend(open.close(*instance));
            }
        }
    }

    /// Parts that are ready to be kept. They count until [`Pending::settled`].
    pub fn hand_over(&mut self) -> Vec<Part> {
        let parts = std::mem::take(&mut self.ready);
        self.away += parts.len();
        parts
    }

    /// So many parts that were handed over are kept, or are not to be kept.
    pub fn settled(&mut self, parts: usize) {
        self.away = self.away.saturating_sub(parts);
    }

    /// Forgets what was gathered of a start of an agent, whose beats will be told anew from after `kept`.
    pub fn forget(&mut self, instance: Uuid, kept: u64) {
        self.ready.retain(|part| part.instance != instance);
        self.open.insert(instance, Open { seen: kept, ..Open::default() });
    }
}

impl Open {
    fn add<'a>(&mut self, from: &str, cells: impl Iterator<Item = (&'a str, Over, &'a Span)>) {
        let mut new = Vec::new();
        for (to, over, span) in cells {
            let order = |(cell, ..): &(Cell, u64, Span)| (cell.to.as_str(), cell.over).cmp(&(to, over));
            if let Ok(place) = self.minutes.binary_search_by(order) {
                self.minutes[place].2.add(span);
            } else {
                new.push((Cell { from: from.to_owned(), to: to.to_owned(), over }, self.minute, span.clone()));
            }
        }
        // Mostly all of them come in a minute's first second, and none later.
        if !new.is_empty() {
            self.minutes.reserve_exact(new.len());
            self.minutes.append(&mut new);
            self.minutes.sort_by(|(one, ..), (other, ..)| one.cmp(other));
            self.minutes.dedup_by(|(next, _, span), (kept, _, sum)| {
                let is_same = next == kept;
                if is_same {
                    sum.add(span);
                }
                is_same
            });
        }
    }

    fn close(&mut self, instance: Uuid) -> Option<Part> {
        let minutes = std::mem::take(&mut self.minutes);
        let (first, last) = (std::mem::take(&mut self.first), std::mem::take(&mut self.last));
        (last > 0).then_some(Part { instance, first, last, minutes })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::unit::Nanos;

    use super::*;

    fn beat(pending: &mut Pending, seq: u64, at: u64) -> Taken {
        let mut span = Span::default();
        span.answer(Nanos(1_000 + seq));
        pending.take(Uuid::nil(), (seq, at), "a", [("b", Over::Udp, &span)].into_iter())
    }

    #[test]
    fn each_cell_has_its_own_minute_in_whatever_order_it_is_told() {
        let mut pending = Pending::default();
        let orders = [vec!["b", "c", "d"], vec!["b", "d"], vec!["d", "c", "e", "e"], vec!["a"], vec![], vec!["e", "b"]];
        for (seq, told) in (1..).zip(orders) {
            let spans = told.iter().map(|to| Span { disturbed: u64::from(to.as_bytes()[0]), ..Span::default() });
            let spans: Vec<Span> = spans.collect();
            let cells = told.iter().zip(&spans).map(|(to, span)| (*to, Over::Udp, span));
            assert_eq!(pending.take(Uuid::nil(), (seq, 60 + seq), "x", cells), Taken::Gathered);
        }
        pending.close_before(u64::MAX);
        let part = pending.hand_over().remove(0);
        let found: BTreeMap<&str, u64> =
            part.minutes.iter().map(|(cell, _, span)| (cell.to.as_str(), span.disturbed)).collect();
        let times = |to: u8, count: u64| u64::from(to) * count;
        let wanted = [("a", 1), ("b", 3), ("c", 2), ("d", 3), ("e", 3)];
        assert_eq!(found, wanted.map(|(to, count)| (to, times(to.as_bytes()[0], count))).into());
        assert!(part.minutes.len() == 5 && part.minutes.iter().all(|(cell, at, _)| cell.from == "x" && *at == 60));
    }

    #[test]
    fn a_minute_is_handed_over_when_the_next_begins_and_each_beat_is_in_one_part() {
        let mut pending = Pending::default();
        (1..=125).for_each(|seq| assert_eq!(beat(&mut pending, seq, 59 + seq), Taken::Gathered));
        let parts = pending.hand_over();
        assert_eq!(parts.iter().map(|part| (part.first, part.last)).collect::<Vec<_>>(), [(1, 60), (61, 120)]);
        assert_eq!(parts[0].minutes[0].2.counts.answered, 60);
        pending.close_before(u64::MAX);
        assert_eq!(pending.hand_over()[0].first, 121);
        assert!(pending.hand_over().is_empty());
    }

    #[test]
    fn what_is_told_again_is_not_gathered_again() {
        let mut pending = Pending::default();
        pending.begin(Uuid::nil(), 2);
        assert_eq!(
            [1, 2, 3, 3, 4].map(|seq| beat(&mut pending, seq, 60)),
            [Taken::Again, Taken::Again, Taken::Gathered, Taken::Again, Taken::Gathered]
        );
    }

    #[test]
    fn without_room_what_follows_waits_with_the_agent_too() {
        let mut pending = Pending { away: MOST, ..Pending::default() };
        assert_eq!(beat(&mut pending, 1, 60), Taken::NoRoom);
        pending.settled(MOST);
        assert_eq!(beat(&mut pending, 2, 61), Taken::NoRoom, "beat 1 would be taken for kept");
        pending.begin(Uuid::nil(), 0);
        assert_eq!(beat(&mut pending, 1, 60), Taken::Gathered, "told anew");
    }
}
