//! Judgement of probes with a growing TTL: the hops that answer, the forks of the path, and the losses.
//!
//! A hop owes nobody an answer: it limits its errors, or sends none. Its silence is no loss, its time is that of a slow path, and the
//! difference of two hops' times is no link's. Not here: sockets; the record (`outcome::hops`).

mod loss;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::outcome::hops::{Answering, Hop, Hops, Probing, Returns, Side, TracedFlow};
use crate::unit::Nanos;

/// Flows of each group that are traced, where there are several.
const OF_EACH: usize = 4;
/// Flows that are traced, where there is one group.
const OF_ONE: usize = 8;
/// Groups that are traced; of more the first ones.
const GROUPS: usize = 8;

/// The manner of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Protocol of the probes.
    pub protocol: Probing,
    /// Times that each hop of each flow was asked at the most; a count.
    pub rounds: u32,
    /// The largest TTL.
    pub max_hops: u8,
    /// The wait for an answer.
    pub timeout: Nanos,
}

/// The probes of one flow, in the order in which they left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The number of its connection from 0.
    pub flow: u32,
    /// Its probes.
    pub probes: Vec<Probe>,
    /// The reason why no more of them left this host.
    pub failed: Option<String>,
}

/// One probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its TTL, from 1.
    pub ttl: u8,
    /// The answer that came back in time.
    pub answer: Option<Answer>,
}

/// An answer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Sender of the answer.
    pub from: IpAddr,
    /// Its meaning.
    pub says: Says,
    /// From the send to its arrival.
    pub time: Nanos,
    /// True where the kernel timed it.
    pub stamped: bool,
    /// Its TTL on arrival.
    pub ttl: Option<u8>,
}

/// Meaning of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// The probe's TTL ended here.
    Passed,
    /// The peer answered by the probe's own protocol.
    Reached,
    /// An ICMP error ends the way, by type and code: the peer's, or that of somebody who keeps probes from it.
    Unreachable(u8, u8),
}

/// The flows to trace, of connections whose times fall into `groups`: a few of each group; of one group, or none, a few of `all`.
pub fn choose(groups: &[&[u32]], all: u32) -> Vec<u32> {
    let spread = |flows: &[u32], most: usize| -> Vec<u32> {
        let count = flows.len().min(most);
        (0..count).map(|place| flows[place * flows.len() / count]).collect()
    };
    if groups.len() > 1 {
        groups.iter().take(GROUPS).flat_map(|group| spread(group, OF_EACH)).collect()
    } else {
        spread(&(0..all).collect::<Vec<_>>(), OF_ONE)
    }
}

/// The judgement of `walks` towards `peer`, of connections whose times fall into `groups`.
pub fn judge(mut walks: Vec<Walk>, groups: &[&[u32]], peer: IpAddr, manner: Manner) -> Hops {
    for walk in &mut walks {
        end_at(walk, peer);
    }
    let ways = ways::tell_apart(&walks, groups);
    let groups: Vec<(Option<u32>, Option<&[u32]>)> = match groups {
        [] | [_] => vec![(None, None)],
        several => several.iter().enumerate().map(|(place, group)| (Some(place as u32), Some(*group))).collect(),
    };
    let mut members: Vec<(Option<u32>, Option<u32>, Vec<&Walk>)> = Vec::new();
    for (number, group) in groups {
        for (way, walks) in ways.each() {
            let of_group = walks.iter().filter(|walk| group.is_none_or(|group| group.contains(&walk.flow)));
            members.push((number, way, of_group.copied().collect()));
        }
    }
    members.retain(|(_, _, walks)| !walks.is_empty());
    let sides = members.iter().enumerate().map(|(place, (group, way, walks))| Side {
        group: *group,
        way: *way,
        flows: walks.iter().map(|walk| walk.flow).collect(),
        hops: loss::told(hops(walks, peer), walks),
        parting: (place > 0).then(|| ways.parting(&members[0].2, walks, peer)),
    });
    Hops {
        protocol: manner.protocol,
        rounds: manner.rounds,
        max_hops: manner.max_hops,
        timeout_ns: manner.timeout,
        sides: sides.collect(),
        each: walks.iter().map(|walk| traced(walk, peer)).collect(),
        mtu: Vec::new(),
        returns: returns(&walks),
    }
}

/// The hops of `walks` towards `peer`, all together, while they go on: with the time of the last answer to the last of the walks.
pub fn so_far(walks: &[&Walk], peer: IpAddr) -> Vec<(Hop, Option<Nanos>)> {
    let mut walks: Vec<Walk> = walks.iter().map(|walk| (*walk).clone()).collect();
    for walk in &mut walks {
        end_at(walk, peer);
    }
    let walks: Vec<&Walk> = walks.iter().collect();
    let last = |hop: &Hop| walks.iter().rev().find_map(|walk| answers(walk, hop.ttl).last()).map(|answer| answer.time);
    loss::told(hops(&walks, peer), &walks).into_iter().map(|hop| (hop.clone(), last(&hop))).collect()
}

/// Without the probes that went farther than the peer: they left only because an answer of the peer's was missing.
fn end_at(walk: &mut Walk, peer: IpAddr) {
    if let Some(end) = reached(walk, peer) {
        walk.probes.retain(|probe| probe.ttl <= end);
    }
}

fn traced(walk: &Walk, peer: IpAddr) -> TracedFlow {
    let reached = reached(walk, peer);
    TracedFlow {
        flow: walk.flow,
        hops: hops(&[walk], peer),
        reached,
        circles: circles(walk),
        failed: walk.failed.clone(),
    }
}

/// True where `answer` is the peer's own. A hop before it may answer by its address (a balancer, a translator): that is a hop.
fn is_peers(answer: &Answer, peer: IpAddr) -> bool {
    match answer.says {
        Says::Passed => false,
        Says::Reached => true,
        Says::Unreachable(..) => answer.from == peer,
    }
}

fn reached(walk: &Walk, peer: IpAddr) -> Option<u8> {
    let answered = |probe: &&Probe| probe.answer.is_some_and(|answer| is_peers(&answer, peer));
    walk.probes.iter().filter(answered).map(|probe| probe.ttl).min()
}

/// The answers at `ttl`, in the order of their probes.
fn answers(walk: &Walk, ttl: u8) -> impl Iterator<Item = &Answer> {
    walk.probes.iter().filter(move |probe| probe.ttl == ttl).filter_map(|probe| probe.answer.as_ref())
}

fn farthest(walks: &[&Walk]) -> u8 {
    walks.iter().flat_map(|walk| &walk.probes).map(|probe| probe.ttl).max().unwrap_or(0)
}

/// The hops of these walks, all together.
fn hops(walks: &[&Walk], peer: IpAddr) -> Vec<Hop> {
    (1..=farthest(walks)).map(|ttl| hop(walks, peer, ttl)).collect()
}

fn hop(walks: &[&Walk], peer: IpAddr, ttl: u8) -> Hop {
    let all = || walks.iter().flat_map(|walk| answers(walk, ttl).map(|answer| (walk.flow, answer)));
    let mut times: Vec<Nanos> = all().map(|(_, answer)| answer.time).collect();
    times.sort_unstable();
    Hop {
        ttl,
        sent: walks.iter().flat_map(|walk| &walk.probes).filter(|probe| probe.ttl == ttl).count() as u64,
        answered: times.len() as u64,
        addresses: addresses(all()),
        min_ns: times.first().copied(),
        p50_ns: times.get(times.len().saturating_sub(1) / 2).copied(),
        max_ns: times.last().copied(),
        stamped: all().filter(|(_, answer)| answer.stamped).count() as u64,
        peer: all().any(|(_, answer)| is_peers(answer, peer)),
        per_packet: walks.iter().any(|walk| comes_back(answers(walk, ttl).map(|answer| answer.from))),
        lost: None,
    }
}

fn addresses<'a>(all: impl Iterator<Item = (u32, &'a Answer)>) -> Vec<Answering> {
    let mut by_address: BTreeMap<IpAddr, Vec<(u32, &Answer)>> = BTreeMap::new();
    for (flow, answer) in all {
        by_address.entry(answer.from).or_default().push((flow, answer));
    }
    let one = |(address, answers): (IpAddr, Vec<(u32, &Answer)>)| Answering {
        address,
        answers: answers.len() as u64,
        flows: answers.iter().map(|(flow, _)| flow).collect::<BTreeSet<_>>().len() as u64,
        reply_ttls: answers.iter().filter_map(|(_, answer)| answer.ttl).collect::<BTreeSet<_>>().into_iter().collect(),
        unreachable: answers.iter().find_map(|(_, answer)| match answer.says {
            Says::Unreachable(kind, code) => Some((kind, code)),
            Says::Passed | Says::Reached => None,
        }),
    };
    let mut told: Vec<Answering> = by_address.into_iter().map(one).collect();
    told.sort_by_key(|answering| std::cmp::Reverse(answering.answers));
    told
}

/// True where something comes again behind something else.
fn comes_back(addresses: impl Iterator<Item = IpAddr>) -> bool {
    let mut seen: Vec<IpAddr> = Vec::new();
    for address in addresses {
        if seen.last() != Some(&address) {
            if seen.contains(&address) {
                return true;
            }
            seen.push(address);
        }
    }
    false
}

/// True where an address that ended a TTL did so again behind another one.
fn circles(walk: &Walk) -> bool {
    let passed = |ttl: u8| answers(walk, ttl).find(|answer| answer.says == Says::Passed).map(|answer| answer.from);
    comes_back((1..=farthest(&[walk])).filter_map(passed))
}

/// Addresses whose answers at one TTL came back with different TTLs.
fn returns(walks: &[Walk]) -> Vec<Returns> {
    let mut left: BTreeMap<(IpAddr, u8), BTreeSet<u8>> = BTreeMap::new();
    for probe in walks.iter().flat_map(|walk| &walk.probes) {
        if let Some(answer) = probe.answer.filter(|answer| answer.says == Says::Passed) {
            left.entry((answer.from, probe.ttl)).or_default().extend(answer.ttl);
        }
    }
    let several = left.into_iter().filter(|(_, ttls)| ttls.len() > 1);
    several.map(|((address, _), ttls)| Returns { address, reply_ttls: ttls.into_iter().collect() }).collect()
}

#[cfg(test)]
mod tests;
