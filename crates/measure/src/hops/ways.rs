//! Ways that differ, and the hop from which on they do.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Walk, answers, farthest, reached};
use crate::outcome::hops::Parting;

/// Probability with which a hop that is balanced packet by packet would look as if flows kept to one address.
const LEFT_OUT: f64 = 0.01;

/// Answers by address.
type Counts = BTreeMap<IpAddr, u32>;

fn counts(walks: &[&Walk], ttl: u8) -> Counts {
    let mut counts = Counts::new();
    for answer in walks.iter().flat_map(|walk| answers(walk, ttl)) {
        *counts.entry(answer.from).or_default() += 1;
    }
    counts
}

fn are_apart(one: &Counts, other: &Counts) -> bool {
    !one.is_empty() && !other.is_empty() && !one.keys().any(|address| other.contains_key(address))
}

/// True where units that each meet one address would do so by chance alone too rarely, if each packet drew its address anew.
fn keep_to_theirs(units: &[Counts]) -> bool {
    let mut all = Counts::new();
    for (address, count) in units.iter().flatten() {
        *all.entry(*address).or_default() += count;
    }
    let whole = f64::from(all.values().sum::<u32>());
    let alone = |unit: &Counts| {
        let count = unit.values().sum::<u32>();
        all.values().map(|share| (f64::from(*share) / whole).powf(f64::from(count))).sum::<f64>()
    };
    let (single, mixed): (Vec<&Counts>, Vec<&Counts>) =
        units.iter().filter(|unit| !unit.is_empty()).partition(|unit| unit.len() == 1);
    mixed.is_empty() && single.into_iter().map(alone).product::<f64>() <= LEFT_OUT
}

/// Ways that were told apart.
pub(super) struct Ways<'a> {
    /// The walks of each, those with most walks first.
    apart: Vec<Vec<&'a Walk>>,
    /// Walks that would fit several.
    unsettled: Vec<&'a Walk>,
    /// TTLs at which flows, or groups of them, keep to their address.
    telling: Vec<u8>,
}

/// Walks of one way each together.
///
/// Two walks are of different ways where no address answers both at a TTL at which flows keep to their address, each by itself or with those
/// of its group: groups were told apart by other means.
pub(super) fn tell_apart<'a>(walks: &'a [Walk], groups: &[&[u32]]) -> Ways<'a> {
    let all: Vec<&Walk> = walks.iter().collect();
    let of_group = |group: &&[u32]| all.iter().copied().filter(|walk| group.contains(&walk.flow)).collect::<Vec<_>>();
    let each: Vec<Vec<&Walk>> = all.iter().map(|walk| vec![*walk]).collect();
    let grouped: Vec<Vec<&Walk>> = groups.iter().map(of_group).collect();
    let keep = |ttl: u8, units: &[Vec<&Walk>]| {
        keep_to_theirs(&units.iter().map(|walks| counts(walks, ttl)).collect::<Vec<_>>())
    };
    let telling: Vec<u8> = (1..=farthest(&all)).filter(|ttl| keep(*ttl, &each) || keep(*ttl, &grouped)).collect();
    let apart =
        |one: &Walk, other: &Walk| telling.iter().any(|ttl| are_apart(&counts(&[one], *ttl), &counts(&[other], *ttl)));
    // Walks that know most come first: one without an answer at a telling TTL resembles many.
    let mut informed = all.clone();
    informed.sort_by_key(|walk| telling.iter().filter(|ttl| answers(walk, **ttl).next().is_none()).count());
    let mut ways: Vec<Vec<&Walk>> = Vec::new();
    for walk in &informed {
        if ways.iter().all(|way| apart(way[0], walk)) {
            ways.push(vec![walk]);
        }
    }
    let firsts: BTreeSet<u32> = ways.iter().map(|way| way[0].flow).collect();
    let mut unsettled = Vec::new();
    for walk in all.into_iter().filter(|walk| !firsts.contains(&walk.flow)) {
        let fitting: Vec<usize> = (0..ways.len()).filter(|place| !apart(ways[*place][0], walk)).collect();
        match fitting[..] {
            [place] => ways[place].push(walk),
            _ => unsettled.push(walk),
        }
    }
    for way in &mut ways {
        way.sort_by_key(|walk| walk.flow);
    }
    ways.sort_by_key(|way| (std::cmp::Reverse(way.len()), way[0].flow));
    Ways { apart: ways, unsettled, telling }
}

impl<'a> Ways<'a> {
    /// The walks of each way with its number, where there are several; those that fit several ways have none.
    pub(super) fn each(&self) -> impl Iterator<Item = (Option<u32>, &[&'a Walk])> {
        let several = self.apart.len() > 1;
        let numbered = self.apart.iter().enumerate();
        let numbered = numbered.map(move |(place, way)| (several.then_some(place as u32), way.as_slice()));
        numbered.chain(std::iter::once((None, self.unsettled.as_slice())))
    }

    /// The parting of the ways of `first` and `other`.
    pub(super) fn parting(&self, first: &[&Walk], other: &[&Walk], peer: IpAddr) -> Parting {
        let ends = |walks: &[&Walk]| walks.iter().filter_map(|walk| reached(walk, peer)).min();
        let last = ends(first).into_iter().chain(ends(other)).min();
        let last = last.unwrap_or_else(|| farthest(first).max(farthest(other)));
        let (mut last_common, mut gaps) = (0, false);
        for ttl in 1..=last {
            let (one, two) = (counts(first, ttl), counts(other, ttl));
            if are_apart(&one, &two) && self.telling.contains(&ttl) {
                return Parting { first_apart: Some(ttl), last_common, gaps };
            }
            if are_apart(&one, &two) || one.is_empty() || two.is_empty() {
                gaps = true;
            } else {
                last_common = ttl;
            }
        }
        Parting { first_apart: None, last_common, gaps }
    }
}
