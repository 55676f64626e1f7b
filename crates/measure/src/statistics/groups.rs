//! Groups of flows whose times are alike: each group differs from the next by more than chance and by enough to matter.
//!
//! All flows are asked once in each round, in any order. A disturbance of a round meets all of it, so within a round
//! only ranks count. A set of flows is cut in two where the mean ranks of the parts lie farthest apart, if labels dealt
//! anew within the rounds hardly ever lie so far apart (a permutation test, with the error rate shared among the sets
//! so far), and if the parts differ by [`Least`] at least. How far they differ in each third of the rounds is asked of
//! the parts that the two other thirds make (cross-fitting), so the size is not one that was picked for being large, and
//! all rounds speak of it. Each part is then looked at in the same way.
//!
//! Sizes are medians over the rounds: a host that stands still for some of them moves a mean of pairs far from what most rounds show.
//!
//! The cut is that of one-dimensional optimal partition (Fisher 1958); many cuts at once, by an information criterion, would have no error
//! rate of their own.

#[cfg(test)]
mod tests;

use fastrand::Rng;

use super::paired::{Estimate, median};
use super::quantile::interval_ranks;

/// Probability that flows which do not differ are cut, all sets together.
pub const LEFT_OUT: f64 = 0.01;
/// Deals of labels that a test takes at the least, and as many as let so few be wider by chance.
const DEALS: u32 = 1_999;
const WIDER: f64 = 5.0;
/// Fewest rounds that can show a difference of a stated size.
pub const FEWEST_ROUNDS: usize = 6;
/// A flow has moved where its mean place among the others, from 0 to 1, differs by this much before and after a round …
const MOVES: f64 = 0.15;
/// … and by so many standard deviations of the rank sum: three rounds are looked at, and of many flows.
const SURELY: f64 = 4.2;
/// Into so many parts the rounds are divided for the size of a cut: each is measured between what the others part.
const FOLDS: usize = 3;
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

/// The times of one round by flow, nanoseconds; absent where there was no answer in time. Its length is the number of flows.
pub type Round = Vec<Option<f64>>;

/// Flows whose times are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Numbers of its flows, from 0, ascending.
    pub flows: Vec<u32>,
    /// Median over the rounds of the median time in each, with its 95 % interval, nanoseconds. Absent where nothing was answered.
    pub time: Option<Estimate>,
    /// Median over the rounds of its times less those of the first group, nanoseconds; absent for the first.
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

/// The groups that `rounds` show and that differ by `least`, where flows that do not differ are cut with a probability of `left_out` at the most;
/// `seed` decides how labels are dealt.
///
/// `typical` is a flow's median over all of its exchanges, nanoseconds, where that is known. It must differ between both parts of a cut by half of its
/// size: a longer way is longer for most exchanges, and a round in which a host stood still has few of them.
pub fn groups(
    rounds: &[Round],
    least: Least,
    left_out: f64,
    seed: u64,
    typical: impl Fn(u32) -> Option<f64>,
) -> Groups {
    let flows = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let all: Vec<u32> =
        (0..flows as u32).filter(|flow| rounds.iter().any(|round| at(round, *flow).is_some())).collect();
    let least_ns = median(&medians(rounds, &all)).map_or(least.time_ns, |time| least.time_ns.max(least.share * time));
    let deals = DEALS.max((WIDER / left_out) as u32 - 1);
    let middle = |flows: &[u32]| median(&flows.iter().filter_map(|flow| typical(*flow)).collect::<Vec<_>>());
    let is_typical = |quick: &[u32], slow: &[u32], size: f64| {
        middle(quick).zip(middle(slow)).is_none_or(|(quick, slow)| slow - quick >= size / 2.0)
    };
    let mut rng = Rng::with_seed(seed);
    let mut settled: Vec<Vec<u32>> = Vec::new();
    let mut open: Vec<Vec<u32>> = if all.is_empty() { Vec::new() } else { vec![all] };
    while let Some(set) = open.pop() {
        let sets = (settled.len() + open.len() + 1) as f64;
        match cut(rounds, &set, (left_out / sets, deals), least_ns, &mut rng) {
            Some(((quick, slow), size)) if is_typical(&quick, &slow, size) => open.extend([quick, slow]),
            _ => settled.push(set),
        }
    }
    Groups { groups: told(rounds, joined(rounds, placed(rounds, &settled), least_ns)), least_ns }
}

/// Quantiles of a flow's times by which flows are placed, each with the passes of [`polished`]. A host only ever adds to a time: where it does so to
/// most exchanges the low ones still stand, as they came. Where all times of a round are longer together, the passes take that away; and the middle
/// tells ways apart that are longer at most times, and not at all.
const PLACED_BY: [(f64, usize); 4] = [(0.1, 1), (0.25, 1), (0.25, POLISHED), (0.5, POLISHED)];

/// The flows of `sets` by the nearest of the sets' centres, which are the medians of their flows, from the quickest to the slowest; a set that all
/// flows leave is left out. A cut in two may fall through flows that lie half way between both its parts, and the next cut of a part is too unsure of
/// one flow to bring it back: the cuts tell how many sets there are, and the distances whose each flow is. Of the quantiles of [`PLACED_BY`] the
/// one that parts them most clearly decides.
fn placed(rounds: &[Round], sets: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let all = sets.concat();
    let by_quantile = |(q, passes): (f64, usize)| {
        let times = polished(rounds, &all, q, passes);
        let of = |flow: u32| times.get(flow as usize).copied().flatten();
        let mut flows: Vec<(f64, u32)> = all.iter().filter_map(|flow| Some((of(*flow)?, *flow))).collect();
        flows.sort_by(|one, other| one.0.total_cmp(&other.0));
        let of_set = |set: &Vec<u32>| median(&set.iter().filter_map(|flow| of(*flow)).collect::<Vec<_>>());
        settled_by_nearest(&flows, sets.iter().filter_map(of_set).collect())
    };
    let (_, placed) = PLACED_BY
        .map(by_quantile)
        .into_iter()
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .expect("there are quantiles to place by");
    placed
}

/// The flows, which ascend by their first number, by the nearest of `centres`, each of which moves to the middle of its flows until none does, and
/// how unclear that is: the mean distance of flows from their centres as a share of the smallest one between neighbouring centres.
fn settled_by_nearest(flows: &[(f64, u32)], mut centres: Vec<f64>) -> (f64, Vec<Vec<u32>>) {
    let middle = |set: &[(f64, u32)]| median(&set.iter().map(|(time, _)| *time).collect::<Vec<_>>()).unwrap_or(0.0);
    centres.sort_by(f64::total_cmp);
    // Each step brings flows nearer to their centres, so it ends; the bound is for times that are equal but for rounding.
    for _ in 0..flows.len() {
        let moved: Vec<f64> = by_nearest(flows, &centres).iter().map(|set| middle(set)).collect();
        if moved == centres {
            break;
        }
        centres = moved;
    }
    let sets = by_nearest(flows, &centres);
    let away = sets.iter().flat_map(|set| {
        let centre = middle(set);
        set.iter().map(move |(time, _)| (time - centre).abs())
    });
    let scatter = away.sum::<f64>() / flows.len().max(1) as f64;
    let apart = centres.windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min);
    let names = |set: Vec<(f64, u32)>| set.into_iter().map(|(_, flow)| flow).collect();
    (scatter / apart, sets.into_iter().map(names).collect())
}

/// Passes after which what another would change is far below what is told.
const POLISHED: usize = 3;

/// The `q`-th quantile of the times of each of `flows`, by its number, where each round is as much longer or shorter for all as its flows are on the
/// whole (median polish, Tukey 1977, chapter 11), nanoseconds; after so many passes, of which the first takes all rounds for alike. The median of all
/// flows in a round would not do as the round's: among groups it leaps from one to the next with few flows.
fn polished(rounds: &[Round], flows: &[u32], q: f64, passes: usize) -> Round {
    let mut times = vec![None; rounds.iter().map(Vec::len).max().unwrap_or(0)];
    let mut shared = vec![0.0; rounds.len()];
    for _ in 0..passes {
        for &flow in flows {
            let of_round = |(round, shared): (&Round, &f64)| Some(at(round, flow)? - shared);
            let mut seen: Vec<f64> = rounds.iter().zip(&shared).filter_map(of_round).collect();
            seen.sort_unstable_by(f64::total_cmp);
            times[flow as usize] = seen.get((q * seen.len() as f64) as usize).copied();
        }
        for (round, shared) in rounds.iter().zip(&mut shared) {
            let of_flow = |flow: &u32| Some(at(round, *flow)? - at(&times, *flow)?);
            *shared = median(&flows.iter().filter_map(of_flow).collect::<Vec<_>>()).unwrap_or(0.0);
        }
    }
    times
}

/// The flows, which ascend by their first number, by the nearest of `centres`, which ascend too; those without any are left out.
fn by_nearest(flows: &[(f64, u32)], centres: &[f64]) -> Vec<Vec<(f64, u32)>> {
    let nearest = |time: f64| centres.windows(2).filter(|two| time - two[0] > two[1] - time).count();
    flows.chunk_by(|one, next| nearest(one.0) == nearest(next.0)).map(<[_]>::to_vec).collect()
}

/// The sets, which ascend by their times, where each that is not above the one before by `least_ns` for certain is joined to it: two cuts may part
/// neighbours that no cut has compared.
fn joined(rounds: &[Round], sets: Vec<Vec<u32>>, least_ns: f64) -> Vec<Vec<u32>> {
    let mut joined: Vec<Vec<u32>> = Vec::new();
    for set in sets {
        let is_apart = |last: &Vec<u32>| {
            centre(&differences(rounds, last, &set)).and_then(|by| by.low).is_some_and(|low| low >= least_ns)
        };
        match joined.last_mut() {
            Some(last) if !is_apart(last) => last.extend(set),
            _ => joined.push(set),
        }
    }
    joined
}

/// Flows that take another place among the others before a quarter, a half or three quarters of `rounds` than after it, by `least_ns` at least: as
/// where a router chooses paths anew. To a test that takes rounds for independent, a temporary change looks like a group of its own.
pub fn moved(rounds: &[Round], least_ns: f64) -> Vec<u32> {
    let flows = rounds.iter().map(Vec::len).max().unwrap_or(0);
    // Of each flow, with the number of the round: its place among those that were answered, and its time beyond the shortest of all. Where
    // most flows move, the middle one of all moves with them.
    let mut seen: Vec<Vec<(usize, (f64, f64))>> = vec![Vec::new(); flows];
    for (number, round) in rounds.iter().enumerate() {
        let times: Vec<f64> = round.iter().flatten().copied().collect();
        let Some(shortest) = times.iter().copied().reduce(f64::min).filter(|_| times.len() > 1) else { continue };
        let all: Vec<(usize, f64)> = (0..).zip(round).filter_map(|(flow, time)| Some((flow, (*time)?))).collect();
        for (flow, place) in ranked(all) {
            let beyond = round[flow].unwrap_or(shortest) - shortest;
            seen[flow].push((number, (place, beyond)));
        }
    }
    let moves_at = |of: &[(usize, (f64, f64))], round: usize| {
        let (before, after) = of.split_at(of.partition_point(|(number, _)| *number < round));
        let [before, after]: [Vec<(f64, f64)>; 2] =
            [before, after].map(|part| part.iter().map(|(_, seen)| *seen).collect());
        let places = |half: &[(f64, f64)]| half.iter().map(|(place, _)| place).sum::<f64>() / half.len().max(1) as f64;
        let beyond = |half: &[(f64, f64)]| median(&half.iter().map(|(_, beyond)| *beyond).collect::<Vec<_>>());
        let by = beyond(&before).zip(beyond(&after)).map_or(0.0, |(before, after)| (after - before).abs());
        by >= least_ns && (places(&before) - places(&after)).abs() >= MOVES && rank_sum(&before, &after) >= SURELY
    };
    let is_moved = |of: &[(usize, (f64, f64))]| (1..4).any(|quarter| moves_at(of, rounds.len() * quarter / 4));
    (0..).zip(&seen).filter(|(_, of)| is_moved(of)).map(|(flow, _)| flow).collect()
}

/// Returns the distance of the rank sum of places in one half from that of no difference, in its standard deviations
/// (Mann and Whitney 1947).
fn rank_sum(one: &[(f64, f64)], other: &[(f64, f64)]) -> f64 {
    let above = |place: f64| {
        other.iter().map(move |(with, _)| if *with < place { 1.0 } else { f64::from(u8::from(*with == place)) / 2.0 })
    };
    let sum: f64 = one.iter().flat_map(|(place, _)| above(*place)).sum();
    let (n, m) = (one.len() as f64, other.len() as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    if deviation > 0.0 { (sum - n * m / 2.0).abs() / deviation } else { 0.0 }
}

fn told(rounds: &[Round], sets: Vec<Vec<u32>>) -> Vec<Group> {
    let mut groups: Vec<Group> = sets
        .into_iter()
        .map(|mut flows| {
            flows.sort_unstable();
            let time = centre(&medians(rounds, &flows));
            Group { flows, time, shift: None }
        })
        .collect();
    let value = |group: &Group| group.time.map_or(f64::INFINITY, |time| time.value);
    groups.sort_by(|one, other| value(one).total_cmp(&value(other)));
    if let Some((first, others)) = groups.split_first_mut() {
        for group in others {
            group.shift = centre(&differences(rounds, &first.flows, &group.flows));
        }
    }
    groups
}

/// The median of one number a round, with the 95 % interval that ranks give it; absent below six.
fn centre(values: &[f64]) -> Option<Estimate> {
    let value = median(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ranks = interval_ranks(0.5, sorted.len() as u64, sorted.len() as f64);
    let at = |rank: Option<u64>| rank.map(|rank| sorted[rank as usize - 1]);
    Some(Estimate { value, low: at(ranks.low), high: at(ranks.high) })
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

/// Returns the excess of `slow` over `quick` in each round that has both: the median of the differences of all pairs (Hodges and Lehmann 1963), which
/// of a few flows leaps less than the difference of both medians.
fn differences(rounds: &[Round], quick: &[u32], slow: &[u32]) -> Vec<f64> {
    let difference = |round: &Round| {
        let of = |flows: &[u32]| flows.iter().filter_map(|flow| at(round, *flow)).collect::<Vec<f64>>();
        let (quick, slow) = (of(quick), of(slow));
        median(&slow.iter().flat_map(|slow| quick.iter().map(move |quick| slow - quick)).collect::<Vec<_>>())
    };
    rounds.iter().filter_map(difference).collect()
}

/// The two parts of `set` and by how much they differ, where that is more than chance, which is `left_out` at the most, and `least_ns`.
fn cut(
    rounds: &[Round],
    set: &[u32],
    (left_out, deals): (f64, u32),
    least_ns: f64,
    rng: &mut Rng,
) -> Option<(Parts, f64)> {
    let mut ranks = Ranks::of(rounds, set);
    let (found, parts) = ranks.widest(set)?;
    let allowed = (left_out * f64::from(deals + 1)).floor() as u32;
    let mut as_wide = 1;
    for _ in 0..deals {
        if as_wide > allowed {
            return None;
        }
        ranks.deal(rng);
        as_wide += u32::from(ranks.widest(set).is_some_and(|(wide, _)| wide >= found));
    }
    let (quick, slow) = parts;
    let size = (as_wide <= allowed).then(|| centre(&unpicked(rounds, set))).flatten()?;
    (size.low? >= least_ns).then_some(((quick, slow), size.value))
}

/// The differences of each round between the two parts of `set` that the rounds of the other folds make. A round that had a say in its own parts
/// would tell of a larger one than there is.
fn unpicked(rounds: &[Round], set: &[u32]) -> Vec<f64> {
    let at = |fold: usize| fold * rounds.len() / FOLDS;
    let of_fold = |fold: usize| {
        let (from, to) = (at(fold), at(fold + 1));
        let parts = Ranks::of(rounds[..from].iter().chain(&rounds[to..]), set).widest(set);
        parts.map_or_else(Vec::new, |(_, (quick, slow))| differences(&rounds[from..to], &quick, &slow))
    };
    (0..FOLDS).flat_map(of_fold).collect()
}

/// The ranks of a set's flows within each round, about their middle: from −½ to ½. Those without an answer are left out.
struct Ranks {
    rounds: Vec<Vec<(usize, f64)>>,
    flows: usize,
}

impl Ranks {
    fn of<'a>(rounds: impl IntoIterator<Item = &'a Round>, set: &[u32]) -> Self {
        let of_round = |round: &Round| {
            let times: Vec<(usize, f64)> =
                set.iter().enumerate().filter_map(|(place, flow)| Some((place, at(round, *flow)?))).collect();
            ranked(times)
        };
        Self { rounds: rounds.into_iter().map(of_round).filter(|ranks| ranks.len() > 1).collect(), flows: set.len() }
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
