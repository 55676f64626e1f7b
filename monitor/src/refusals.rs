//! Replies of a program at work that refused their requests, as in `503` or `LOADING`: of the latest seconds, and of all.

use std::collections::{BTreeMap, VecDeque};

use measure::outcome::replies::Kind;

use crate::view::NOW;

/// Kinds that are told apart: a server that makes one up for each reply takes no more room.
const MOST: usize = 32;
/// Its name for those beyond.
const OTHER: &str = "other";

/// Counts by kind.
type Counts = BTreeMap<String, u64>;

/// The refusals of one way.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    latest: VecDeque<(u64, Counts)>,
    all: Counts,
}

impl Refusals {
    /// Takes in the replies of second `at`.
    pub fn push(&mut self, at: u64, replies: &BTreeMap<String, Kind>) {
        let refused = replies.iter().filter(|(_, kind)| !kind.answers && kind.count > 0);
        let counts: Counts = refused.take(MOST).map(|(name, kind)| (name.clone(), kind.count)).collect();
        for (name, count) in &counts {
            let is_known = self.all.len() < MOST || self.all.contains_key(name);
            let name = if is_known { name } else { OTHER };
            *self.all.entry(name.to_owned()).or_default() += count;
        }
        if !counts.is_empty() {
            self.latest.push_back((at, counts));
        }
        while self.latest.front().is_some_and(|(first, _)| first + 2 * NOW < at) {
            self.latest.pop_front();
        }
    }

    /// Those of the seconds from `from` to before `to`: `503 (12), 429 (1)`; absent where there were none.
    pub fn between(&self, from: u64, to: u64) -> Option<String> {
        let mut sum = Counts::new();
        let wanted = self.latest.iter().filter(|(at, _)| (from..to).contains(at));
        for (name, count) in wanted.flat_map(|(_, counts)| counts) {
            *sum.entry(name.clone()).or_default() += count;
        }
        told(&sum)
    }

    /// Those of the whole watch, likewise.
    pub fn whole(&self) -> Option<String> {
        told(&self.all)
    }
}

/// The most frequent first. A server chose the names.
fn told(counts: &Counts) -> Option<String> {
    let mut ranked: Vec<_> = counts.iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let each = ranked.iter().map(|(name, count)| format!("{} ({count})", report::markup::visible(name)));
    (!ranked.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_kind_now_and_in_all() {
        let mut refusals = Refusals::default();
        let said = |name: &str, count, answers| (name.to_owned(), Kind { count, answers });
        refusals.push(0, &BTreeMap::from([said("200", 9, true), said("503", 1, false)]));
        assert_eq!(refusals.between(0, 10).as_deref(), Some("503 (1)"));
        refusals.push(30, &BTreeMap::from([said("429", 2, false), said("\u{1b}[2J", 1, false)]));
        assert_eq!(refusals.between(21, 31).as_deref(), Some("429 (2), ␛[2J (1)"));
        assert_eq!(refusals.between(31, 41), None);
        assert!(refusals.whole().unwrap().starts_with("429 (2), "));
        for kind in 0..1_000 {
            refusals.push(40, &BTreeMap::from([said(&format!("X{kind}"), 1, false)]));
        }
        assert!(refusals.all.len() <= MOST + 1, "{}", refusals.all.len());
        assert_eq!(refusals.all.values().sum::<u64>(), 1_004);
    }
}
