//! Groups of flows whose times are alike: each group differs from the next by more than chance and by enough to matter.
//!
//! All flows are asked once in each round, in any order. What disturbs a round disturbs all of it, so within a round only ranks count.
//! A set of flows is cut in two where the mean ranks of the parts lie farthest apart, if labels dealt anew within the rounds hardly ever
//! lie so far apart (a permutation test, with the error rate shared among the sets so far), and if the parts differ by [`Least`] at
//! least. Where there are rounds enough the cut comes from the first two thirds and its size from the rest, so the size is not one that was
//! picked for being large. Each part is then looked at in the same way.
//!
//! The cut is that of one-dimensional optimal partition (Fisher 1958); many cuts at once, by an information criterion, would have no error
//! rate of their own.

#[cfg(test)]
mod tests;

use fastrand::Rng;

use super::paired::{Estimate, hodges_lehmann, median};

/// Probability that flows which do not differ are cut, all sets together.
const LEFT_OUT: f64 = 0.01;
/// Deals of labels that a test takes at the most.
const DEALS: u32 = 1_999;
/// Fewest rounds that can show a difference of a stated size.
pub const FEWEST_ROUNDS: usize = 6;
/// From so many rounds on a third of them is kept for the size of a cut.
const ROUNDS_TO_CONFIRM: usize = 3 * FEWEST_ROUNDS;
/// No difference below both of these is told, however sure it is: queues and processors differ anyway.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least {
    /// A time, nanoseconds.
    pub time_ns: f64,
    /// A share of the median time, from 0.
    pub share: f64,
}

/// The flows on both sides of a cut, the quicker ones first.
type Parts = (Vec<u32>, Vec<u32>);

/// The times of one round by flow, nanoseconds; absent where there was no answer in time. As long as there are flows.
pub type Round = Vec<Option<f64>>;

/// Flows whose times are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Which, numbers from 0, ascending.
    pub flows: Vec<u32>,
    /// Median over the rounds of the median time in each, with its 95 % interval, nanoseconds. Absent where nothing was answered.
    pub time: Option<Estimate>,
    /// Its times less those of the first group, nanoseconds; absent for the first.
    pub shift: Option<Estimate>,
}

/// The groups of some flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// From the quickest to the slowest; one where no difference was shown, none where there are no flows.
    pub groups: Vec<Group>,
    /// No smaller difference is told, nanoseconds.
    pub least_ns: f64,
}

/// The groups that `rounds` show and that differ by `least`; `seed` decides how labels are dealt.
pub fn groups(rounds: &[Round], least: Least, seed: u64) -> Groups {
    let flows = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let all: Vec<u32> =
        (0..flows as u32).filter(|flow| rounds.iter().any(|round| at(round, *flow).is_some())).collect();
    let least_ns = median(&medians(rounds, &all)).map_or(least.time_ns, |time| least.time_ns.max(least.share * time));
    let mut rng = Rng::with_seed(seed);
    let mut settled: Vec<Vec<u32>> = Vec::new();
    let mut open: Vec<Vec<u32>> = if all.is_empty() { Vec::new() } else { vec![all] };
    while let Some(set) = open.pop() {
        let sets = (settled.len() + open.len() + 1) as f64;
        match cut(rounds, &set, LEFT_OUT / sets, least_ns, &mut rng) {
            Some((quick, slow)) => open.extend([quick, slow]),
            None => settled.push(set),
        }
    }
    Groups { groups: told(rounds, settled), least_ns }
}

fn told(rounds: &[Round], sets: Vec<Vec<u32>>) -> Vec<Group> {
    let mut groups: Vec<Group> = sets
        .into_iter()
        .map(|mut flows| {
            flows.sort_unstable();
            let time = hodges_lehmann(&medians(rounds, &flows));
            Group { flows, time, shift: None }
        })
        .collect();
    let value = |group: &Group| group.time.map_or(f64::INFINITY, |time| time.value);
    groups.sort_by(|one, other| value(one).total_cmp(&value(other)));
    if let Some((first, others)) = groups.split_first_mut() {
        for group in others {
            group.shift = hodges_lehmann(&differences(rounds, &first.flows, &group.flows));
        }
    }
    groups
}

fn at(round: &Round, flow: u32) -> Option<f64> {
    round.get(flow as usize).copied().flatten()
}

/// The median time of `flows` in each round that has one.
fn medians(rounds: &[Round], flows: &[u32]) -> Vec<f64> {
    rounds.iter().filter_map(|round| median_of(round, flows)).collect()
}

fn median_of(round: &Round, flows: &[u32]) -> Option<f64> {
    let times: Vec<f64> = flows.iter().filter_map(|flow| at(round, *flow)).collect();
    median(&times)
}

/// By how much `slow` take longer than `quick`, in each round that has both.
fn differences(rounds: &[Round], quick: &[u32], slow: &[u32]) -> Vec<f64> {
    let difference = |round: &Round| Some(median_of(round, slow)? - median_of(round, quick)?);
    rounds.iter().filter_map(difference).collect()
}

/// The two parts of `set`, where they differ by more than chance, which is `left_out` at the most, and by `least_ns`.
fn cut(rounds: &[Round], set: &[u32], left_out: f64, least_ns: f64, rng: &mut Rng) -> Option<Parts> {
    let kept = if rounds.len() < ROUNDS_TO_CONFIRM { 0 } else { rounds.len() / 3 };
    let (first, rest) = rounds.split_at(rounds.len() - kept);
    let mut ranks = Ranks::of(first, set);
    let (found, parts) = ranks.widest(set)?;
    let allowed = (left_out * f64::from(DEALS + 1)).floor() as u32;
    let mut as_wide = 1;
    for _ in 0..DEALS {
        if as_wide > allowed {
            return None;
        }
        ranks.deal(rng);
        as_wide += u32::from(ranks.widest(set).is_some_and(|(wide, _)| wide >= found));
    }
    let (quick, slow) = parts;
    let size = hodges_lehmann(&differences(if kept > 0 { rest } else { first }, &quick, &slow))?;
    (as_wide <= allowed && size.low? >= least_ns).then_some((quick, slow))
}

/// The ranks of a set's flows within each round, about their middle: from −½ to ½. Those without an answer are left out.
struct Ranks {
    rounds: Vec<Vec<(usize, f64)>>,
    flows: usize,
}

impl Ranks {
    fn of(rounds: &[Round], set: &[u32]) -> Self {
        let of_round = |round: &Round| {
            let times: Vec<(usize, f64)> =
                set.iter().enumerate().filter_map(|(place, flow)| Some((place, at(round, *flow)?))).collect();
            ranked(times)
        };
        Self { rounds: rounds.iter().map(of_round).filter(|ranks| ranks.len() > 1).collect(), flows: set.len() }
    }

    /// Deals the ranks of each round out anew.
    fn deal(&mut self, rng: &mut Rng) {
        for round in &mut self.rounds {
            for last in (1..round.len()).rev() {
                let other = rng.usize(..=last);
                (round[last].1, round[other].1) = (round[other].1, round[last].1);
            }
        }
    }

    /// The cut between whose parts the mean ranks differ most: by how much (sum of squares between them), and the parts. `None` where
    /// there is nothing to cut.
    fn widest(&self, set: &[u32]) -> Option<(f64, Parts)> {
        let mut sums = vec![(0.0, 0.0); self.flows];
        for (place, rank) in self.rounds.iter().flatten() {
            sums[*place].0 += rank;
            sums[*place].1 += 1.0;
        }
        let mut order: Vec<usize> = (0..self.flows).filter(|place| sums[*place].1 > 0.0).collect();
        let mean = |place: usize| sums[place].0 / sums[place].1;
        order.sort_by(|one, other| mean(*one).total_cmp(&mean(*other)));
        let total = order.iter().fold((0.0, 0.0), |sum, place| (sum.0 + sums[*place].0, sum.1 + sums[*place].1));
        let mut low = (0.0, 0.0);
        let mut widest: Option<(f64, usize)> = None;
        for at in 1..order.len() {
            let place = order[at - 1];
            low = (low.0 + sums[place].0, low.1 + sums[place].1);
            let high: (f64, f64) = (total.0 - low.0, total.1 - low.1);
            let between = low.0 * low.0 / low.1 + high.0 * high.0 / high.1 - total.0 * total.0 / total.1;
            if widest.is_none_or(|(most, _)| between > most) {
                widest = Some((between, at));
            }
        }
        let (between, at) = widest?;
        let part = |places: &[usize]| places.iter().map(|place| set[*place]).collect();
        Some((between, (part(&order[..at]), part(&order[at..]))))
    }
}

/// Ranks in place of times; equal times share theirs.
fn ranked(mut times: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    times.sort_by(|one, other| one.1.total_cmp(&other.1));
    let count = times.len() as f64;
    let mut from = 0;
    while from < times.len() {
        let alike = times[from..].iter().take_while(|time| time.1 == times[from].1).count();
        let rank = (from as f64 + (alike as f64 - 1.0) / 2.0 + 0.5) / count - 0.5;
        times[from..from + alike].iter_mut().for_each(|time| time.1 = rank);
        from += alike;
    }
    times
}
