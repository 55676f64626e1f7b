//! Chooses the ordered pairs of hosts that a mesh probes, and computes the load of that choice.
//!
//! The choice depends on a seed, an epoch and the hosts alone, so that everyone with the same list gets the same pairs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::lookout::{Host, HostId, Settings, delay};
use crate::unit::Nanos;

/// Hosts of a zone up to which all of its pairs are probed.
pub const WHOLE_ZONE: usize = 32;
/// Length of an epoch, seconds. Rotation has its own: see [`Topology::epoch_seconds`].
const EPOCH: u64 = 3_600;
/// Time in which rotation comes round, seconds.
const DAY: u64 = 86_400;

/// Rule by which pairs are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// All ordered pairs.
    All,
    /// All pairs of a zone of at most [`WHOLE_ZONE`] hosts, otherwise `within` partners a host; between zones, representatives and `across`
    /// further partners a host.
    Zones {
        /// Partners a host within a large zone, a count.
        within: usize,
        /// Representatives a zone, a count: with fewer than 3, one bad host looks like a bad zone.
        representatives: usize,
        /// Partners a host in other zones, a count.
        across: usize,
    },
    /// A number of partners for each host: half of them stay, the others change with each epoch until all pairs had their turn.
    Random {
        /// Partners a host, a count.
        partners: usize,
    },
    /// One partner a host at a time; all pairs have their turn within a day.
    Rotation,
}

impl Topology {
    /// Zones as proposed for a mesh without further facts.
    pub const ZONES: Self = Self::Zones { within: 8, representatives: 3, across: 4 };

    /// The ordered pairs of an epoch, ascending. Indices are those of `hosts`.
    pub fn pairs(self, hosts: &[Host], seed: u64, epoch: u64) -> Vec<(HostId, HostId)> {
        let all: Vec<HostId> = (0..hosts.len() as HostId).collect();
        let draw = Draw { hosts, seed, epoch };
        let found: BTreeSet<_> = match self {
            Self::All => complete(&all).collect(),
            Self::Random { partners } => draw.random(&all, partners),
            Self::Rotation => draw.shifted(&all, |_| 1, &BTreeSet::new()),
            Self::Zones { within, representatives, across } => draw.zones(&all, within, representatives, across),
        };
        found.into_iter().collect()
    }

    /// Length of an epoch, seconds.
    pub fn epoch_seconds(self, hosts: usize) -> u64 {
        match self {
            Self::Rotation => (DAY / hosts.saturating_sub(1).max(1) as u64).max(1),
            _ => EPOCH,
        }
    }

    /// Epochs until every ordered pair had its turn; `None` where the rule leaves pairs out for ever.
    pub fn epochs_to_cover(self, hosts: usize) -> Option<u64> {
        let others = hosts.saturating_sub(1);
        match self {
            Self::All => Some(1),
            Self::Rotation => Some(others.max(1) as u64),
            Self::Random { partners } if partners >= others => Some(1),
            Self::Zones { .. } | Self::Random { partners: 0 } => None,
            Self::Random { partners } => Some(others.div_ceil(partners - partners / 2) as u64),
        }
    }
}

/// Load that a topology causes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// Cells at a time, a count.
    pub cells: u64,
    /// Requests a second of the whole mesh.
    pub per_second: f64,
    /// Requests a second that the busiest host sends.
    pub most_sent_per_second: f64,
    /// Requests a second that the busiest host answers.
    pub most_answered_per_second: f64,
    /// Hosts that no other probes, a count.
    pub unprobed: u64,
    /// Share of all ordered pairs that are probed at a time, 0 to 1; absent where there are none.
    pub covered: Option<f64>,
    /// Seconds until every ordered pair had its turn; absent: some never have.
    pub cover_seconds: Option<u64>,
    /// Expected seconds until a silent host, or a silent pair that is probed, is noticed.
    pub silence_seconds: f64,
    /// Expected seconds until 1 % loss of all cells of the least probed host is noticed; absent: it is not expected to be.
    pub loss_seconds: Option<f64>,
}

impl Outlook {
    /// For hosts whose every pair of the epoch 0 is asked in `ways` ways, each every `every`, with a `timeout`.
    pub fn of(topology: Topology, hosts: &[Host], seed: u64, ways: u32, every: Nanos, timeout: Nanos) -> Self {
        let pairs = topology.pairs(hosts, seed, 0);
        let per_pair = f64::from(ways) / every.as_secs_f64().max(1e-9);
        let (mut sent, mut answered) = (vec![0_u64; hosts.len()], vec![0_u64; hosts.len()]);
        for (from, to) in &pairs {
            sent[*from as usize] += 1;
            answered[*to as usize] += 1;
        }
        let all = hosts.len() * hosts.len().saturating_sub(1);
        let most = |counts: &[u64]| counts.iter().max().copied().unwrap_or(0) as f64 * per_pair;
        let fewest = sent.iter().zip(&answered).map(|(sent, answered)| sent + answered).min().unwrap_or(0) as f64;
        let cells = pairs.len() * ways as usize;
        Self {
            cells: cells as u64,
            per_second: pairs.len() as f64 * per_pair,
            most_sent_per_second: most(&sent),
            most_answered_per_second: most(&answered),
            unprobed: answered.iter().filter(|count| **count == 0).count() as u64,
            covered: (all > 0).then(|| pairs.len() as f64 / all as f64),
            cover_seconds: topology
                .epochs_to_cover(hosts.len())
                .map(|epochs| epochs * topology.epoch_seconds(hosts.len())),
            silence_seconds: delay::of_silence(every, timeout),
            loss_seconds: delay::of_loss(&Settings::default(), cells, fewest * per_pair, 0.01),
        }
    }
}

fn complete(hosts: &[HostId]) -> impl Iterator<Item = (HostId, HostId)> {
    hosts.iter().flat_map(move |from| hosts.iter().filter(move |to| *to != from).map(move |to| (*from, *to)))
}

struct Draw<'a> {
    hosts: &'a [Host],
    seed: u64,
    epoch: u64,
}

impl Draw<'_> {
    fn random(&self, members: &[HostId], partners: usize) -> BTreeSet<(HostId, HostId)> {
        if partners + 1 >= members.len() {
            return complete(members).collect();
        }
        let stay = self.staying(members, partners / 2, |_, _| true);
        let degree = partners - partners / 2;
        let fresh = self.shifted(members, |_| degree, &stay);
        stay.into_iter().chain(fresh).collect()
    }

    /// Each host's successors on circles, one circle a partner, on which hosts stand by their hash: who leaves is missed by its predecessors alone. A
    /// successor that is already a partner, or not wanted, is passed over.
    fn staying(
        &self,
        members: &[HostId],
        partners: usize,
        wanted: impl Fn(HostId, HostId) -> bool,
    ) -> BTreeSet<(HostId, HostId)> {
        let mut found = BTreeSet::new();
        for circle in 0..partners {
            let order = self.ordered(members, circle as u64);
            for (at, from) in order.iter().enumerate() {
                let mut next = (1..order.len()).map(|step| (*from, order[(at + step) % order.len()]));
                found.extend(next.find(|pair| wanted(pair.0, pair.1) && !found.contains(pair)));
            }
        }
        found
    }

    /// Hosts on one circle, each asks those that stand so many places further; the distances of an epoch follow those of the one before.
    /// A pair that is there already is made up for by the distance after.
    fn shifted(
        &self,
        members: &[HostId],
        degree: impl Fn(HostId) -> usize,
        there: &BTreeSet<(HostId, HostId)>,
    ) -> BTreeSet<(HostId, HostId)> {
        let order = self.ordered(members, u64::MAX);
        let others = order.len().saturating_sub(1);
        let mut found = BTreeSet::new();
        for (at, from) in order.iter().enumerate() {
            let degree = degree(*from).min(others);
            let first = (u128::from(self.epoch) * degree as u128 % others.max(1) as u128) as usize;
            let distances = (0..others).map(|step| 1 + (first + step) % others);
            let pairs = distances.map(|distance| (*from, order[(at + distance) % order.len()]));
            found.extend(pairs.filter(|pair| !there.contains(pair)).take(degree));
        }
        found
    }

    fn zones(
        &self,
        all: &[HostId],
        within: usize,
        representatives: usize,
        across: usize,
    ) -> BTreeSet<(HostId, HostId)> {
        let zone = |host: HostId| self.hosts[host as usize].zone.as_deref();
        let names: BTreeSet<_> = all.iter().map(|host| zone(*host)).collect();
        let zones: Vec<Vec<HostId>> = names
            .iter()
            .map(|name| {
                let members: Vec<_> = all.iter().copied().filter(|host| zone(*host) == *name).collect();
                self.ordered(&members, u64::MAX - 1)
            })
            .collect();
        let mut found = self.staying(all, across, |from, to| zone(from) != zone(to));
        for members in &zones {
            found.extend(if members.len() <= WHOLE_ZONE {
                complete(members).collect()
            } else {
                self.random(members, within)
            });
        }
        for (one, other) in complete_indices(zones.len()) {
            let (one, other) = (&zones[one], &zones[other]);
            let several = representatives.min(one.len().max(other.len()));
            found.extend((0..several).map(|index| (one[index % one.len()], other[index % other.len()])));
        }
        found
    }

    fn ordered(&self, members: &[HostId], salt: u64) -> Vec<HostId> {
        let mut order = members.to_vec();
        order.sort_by_cached_key(|host| {
            let name = &self.hosts[*host as usize].name;
            (hash(self.seed, salt, name), name.clone())
        });
        order
    }
}

fn complete_indices(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |one| (0..count).filter(move |other| *other != one).map(move |other| (one, other)))
}

/// FNV-1a over the octets, then the finaliser of `SplitMix64`: FNV alone leaves names that differ in their last letter near each other.
fn hash(seed: u64, salt: u64, name: &str) -> u64 {
    let octets = seed.to_le_bytes().into_iter().chain(salt.to_le_bytes()).chain(name.bytes());
    let mut state = octets
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, octet| (state ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3));
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests;
