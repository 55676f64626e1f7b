//! Rounds in which no machine appears in two pairs: what has no place in its round goes to the first that has one, or to a new one.

use std::collections::BTreeMap;

use super::Round;
use crate::pairs::Pair;

/// `rounds` such that no machine appears in two pairs of one.
pub(super) fn split(rounds: Vec<Round>, hosts: usize, machines: &[usize]) -> Vec<Round> {
    let mut numbers = BTreeMap::new();
    let mut own = |host: usize| {
        // A machine that a number is not told of is the host's own.
        let key = machines.get(host).map_or((1, host), |&machine| (0, machine));
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    };
    let machine: Vec<usize> = (0..hosts).map(&mut own).collect();
    if numbers.len() == hosts {
        return rounds;
    }
    let mut table = Table { machine, taken: vec![Taken::default(); numbers.len()], rounds: Vec::new() };
    let mut rest = Vec::new();
    for (number, round) in rounds.into_iter().enumerate() {
        table.rounds.push(Vec::new());
        rest.extend(round.into_iter().filter(|&pair| !table.place(pair, number)));
    }
    for pair in rest {
        let number = table.first_free(pair);
        if number == table.rounds.len() {
            table.rounds.push(Vec::new());
        }
        let placed = table.place(pair, number);
        debug_assert!(placed, "a round that is free takes the pair");
    }
    table.rounds.retain(|round| !round.is_empty());
    table.rounds
}

/// Machines of each round.
struct Table {
    /// The machine of each host.
    machine: Vec<usize>,
    taken: Vec<Taken>,
    rounds: Vec<Round>,
}

impl Table {
    fn ends(&self, pair: Pair) -> (usize, usize) {
        (self.machine[pair.first], self.machine[pair.second])
    }

    /// Puts `pair` into a round, where neither of its machines is in it.
    fn place(&mut self, pair: Pair, number: usize) -> bool {
        let (one, other) = self.ends(pair);
        let free = !self.taken[one].has(number) && !self.taken[other].has(number);
        if free {
            self.taken[one].take(number);
            self.taken[other].take(number);
            self.rounds[number].push(pair);
        }
        free
    }

    /// The first round that neither machine of `pair` is in; one beyond the last where there is none.
    fn first_free(&self, pair: Pair) -> usize {
        let (one, other) = self.ends(pair);
        let (one, other) = (&self.taken[one], &self.taken[other]);
        let from = one.full.max(other.full);
        let beyond = one.words.len().max(other.words.len());
        let word = (from..beyond).find(|&word| one.word(word) | other.word(word) != u64::MAX).unwrap_or(beyond);
        let free = word * 64 + (one.word(word) | other.word(word)).trailing_ones() as usize;
        free.min(self.rounds.len())
    }
}

/// The rounds that a machine is in, a bit for each.
#[derive(Clone, Debug, Default)]
struct Taken {
    words: Vec<u64>,
    /// Words at the beginning that are full: nothing is free there any more.
    full: usize,
}

impl Taken {
    fn word(&self, word: usize) -> u64 {
        self.words.get(word).copied().unwrap_or(0)
    }

    fn has(&self, number: usize) -> bool {
        self.word(number / 64) >> (number % 64) & 1 == 1
    }

    fn take(&mut self, number: usize) {
        if self.words.len() <= number / 64 {
            self.words.resize(number / 64 + 1, 0);
        }
        self.words[number / 64] |= 1 << (number % 64);
        while self.word(self.full) == u64::MAX {
            self.full += 1;
        }
    }
}
