//! Connections that take turns: the order of the turns, and the results of each connection's requests.

use std::collections::VecDeque;

use measure::event::Counts;
use measure::recorder::FlowCounts;
use measure::schedule;
use measure::unit::Nanos;

use super::Flow;

/// Connections of which one is in use: the order is drawn anew for each round, so that none always follows the same other one.
#[derive(Debug)]
pub struct Turns<L, W> {
    /// Length of a turn; without meaning where there is one connection.
    pub length: Nanos,
    /// Those that are not in use.
    resting: Vec<Resting<L, W>>,
    /// Numbers of those whose turn in this round is still to come, the next one last.
    order: Vec<u32>,
    seed: u64,
    round: u64,
    each: Vec<FlowCounts>,
    /// The counts of all at the begin of this turn.
    before: Counts,
    in_use: u32,
}

/// A connection that waits for its turn.
#[derive(Debug)]
struct Resting<L, W> {
    flow: Flow<L, W>,
    lost: VecDeque<u64>,
}

impl<L, W> Turns<L, W> {
    /// Turns of `length` between the connection in use and `others`; `seed` decides their order.
    pub fn new(in_use: u32, others: Vec<Flow<L, W>>, length: Option<Nanos>, seed: u64) -> Self {
        let all = std::iter::once(in_use).chain(others.iter().map(|flow| flow.index));
        let each = all.map(|flow| FlowCounts { flow, ..FlowCounts::default() }).collect();
        let resting = others.into_iter().map(|flow| Resting { flow, lost: VecDeque::new() }).collect();
        let length = length.unwrap_or(Nanos(u64::MAX));
        let (order, round, before) = (Vec::new(), 0, Counts::default());
        Self { length, resting, order, seed, round, each, before, in_use }
    }

    /// Puts the next connection, and its requests that were lost, in the place of the one in use; `counts` are those of all so far.
    pub fn next(&mut self, flow: &mut Flow<L, W>, lost: &mut VecDeque<u64>, counts: &Counts) {
        if self.resting.is_empty() {
            return;
        }
        self.settle(counts);
        while self.order.last().is_none_or(|next| *next == self.in_use) {
            if self.order.pop().is_none() {
                let places = schedule::turns(self.each.len() as u32, self.seed, self.round);
                self.order = places.into_iter().map(|place| self.each[place as usize].flow).collect();
                self.round += 1;
            }
        }
        let next = self.order.pop();
        let place = self.resting.iter_mut().find(|resting| Some(resting.flow.index) == next);
        if let Some(place) = place {
            std::mem::swap(&mut place.flow, flow);
            std::mem::swap(&mut place.lost, lost);
        }
        self.in_use = flow.index;
    }

    /// Requests of each connection, due and answered; `counts` are those of all.
    pub fn counts(&mut self, counts: &Counts) -> Vec<FlowCounts> {
        self.settle(counts);
        std::mem::take(&mut self.each)
    }

    fn settle(&mut self, counts: &Counts) {
        let since = counts.since(&self.before);
        if let Some(each) = self.each.iter_mut().find(|each| each.flow == self.in_use) {
            each.scheduled += since.scheduled;
            each.answered += since.answered;
            each.turns += u64::from(since.scheduled > 0);
        }
        self.before = *counts;
    }
}
