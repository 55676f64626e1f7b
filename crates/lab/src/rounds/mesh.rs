//! The circle method: all sit at a round table but one in its middle; after each round those at the table move one seat on.

use std::collections::BTreeSet;

use super::Round;
use crate::pairs::{Pair, PairList};

/// The rounds of `pairs`, where these are each with each of the hosts that they have.
pub(super) fn rounds(pairs: &PairList) -> Option<Vec<Round>> {
    let among: BTreeSet<usize> = pairs.pairs().iter().flat_map(|pair| [pair.first, pair.second]).collect();
    let members: Vec<usize> = among.into_iter().collect();
    // Each pair is there once, so as many as there can be are all.
    let mesh = pairs.pairs().len() == members.len() * members.len().saturating_sub(1) / 2;
    if !mesh || members.is_empty() {
        return None;
    }
    let backwards: BTreeSet<Pair> = pairs.pairs().iter().filter(|pair| pair.first > pair.second).copied().collect();
    let as_listed = |pair: Pair| {
        let turned = Pair { first: pair.second, second: pair.first };
        if backwards.contains(&turned) { turned } else { pair }
    };
    Some(circle(&members).map(|round| round.into_iter().map(as_listed).collect()).collect())
}

fn circle(members: &[usize]) -> impl Iterator<Item = Round> {
    // With an odd number of them somebody sits a round out: the one across from an empty seat.
    let seats = members.len().next_multiple_of(2);
    let table = seats - 1;
    let meet = |one: usize, other: usize| {
        let (low, high) = (one.min(other), one.max(other));
        members.get(high).map(|&second| Pair { first: members[low], second })
    };
    (0..table).map(move |turn| {
        let middle = meet(turn, table);
        let across = (1..seats / 2).map(|step| ((turn + step) % table, (turn + table - step) % table));
        middle.into_iter().chain(across.filter_map(|(one, other)| meet(one, other))).collect()
    })
}
