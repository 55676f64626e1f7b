//! Order of the rounds, and of the measurements of each pair within them: drawn anew for each repeat from one seed, so that
//! what drifts meets all of them, and a run that is resumed goes on in the order it was begun in.

use logbook::host::Address;
use logbook::plan::{Directions, Order, Plan};
use measure::study::Draws;

use super::Round;
use crate::pairs::Pair;

/// One thing that is to be measured. Hosts and methods are named by their place in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// The host that measures.
    pub from: usize,
    /// The host that answers.
    pub to: usize,
    /// Kind of its address; it has one of this kind.
    pub over: Address,
    /// Place of the method in the plan, from 0.
    pub method: usize,
}

/// All measurements of a pair in its round, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The pair.
    pub pair: Pair,
    /// Measurements of the pair.
    pub tasks: Vec<Task>,
}

/// The rounds of one repeat in their order, each with what is measured in it. `repeat` counts from 0. Rounds are made as they are
/// asked for: a mesh of a thousand hosts has millions of tasks.
pub fn repeat<'a>(plan: &'a Plan, rounds: &'a [Round], seed: u64, repeat: u32) -> impl Iterator<Item = Vec<Turn>> + 'a {
    let part = move |round: usize| u64::from(repeat) << 32 | round as u64;
    let random = plan.order == Order::Random;
    let mut places: Vec<usize> = (0..rounds.len()).collect();
    if random {
        Draws::of(seed, part(0)).shuffle(&mut places);
    }
    places.into_iter().map(move |place| {
        let mut turns: Vec<Turn> = rounds[place].iter().map(|&pair| Turn { pair, tasks: tasks(plan, pair) }).collect();
        if random {
            let mut draws = Draws::of(seed, part(place + 1));
            draws.shuffle(&mut turns);
            for turn in &mut turns {
                draws.shuffle(&mut turn.tasks);
            }
        }
        turns
    })
}

/// Measurements of a pair, as listed: method by method, over each address, from its first host and then from its second.
fn tasks(plan: &Plan, pair: Pair) -> Vec<Task> {
    let ends = match plan.directions {
        Directions::Both => vec![(pair.first, pair.second), (pair.second, pair.first)],
        Directions::Forward => vec![(pair.first, pair.second)],
    };
    let mut tasks = Vec::new();
    for method in 0..plan.methods.len() {
        for &over in plan.addresses.each() {
            let there = ends.iter().filter(|(_, to)| plan.hosts[*to].address(over).is_some());
            tasks.extend(there.map(|&(from, to)| Task { from, to, over, method }));
        }
    }
    tasks
}
