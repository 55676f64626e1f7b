//! Pairs of a plan's hosts that measure each other, as a list.
//!
//! A pair has two different hosts and is there once, whatever it was asked for by; hosts are named by their place in the
//! plan. A pair that cannot be measured, for want of an address or of a label, is left out and reported, never dropped in
//! silence. Not here: when each pair comes ([`crate::rounds`]).

mod choose;
mod machines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use logbook::host::{Address, Host};
use logbook::plan::{AtOnce, Directions, MOST_HOSTS, Plan};

pub(crate) use choose::nearest;
pub use machines::machines;

/// Most pairs that are measured at once where they may share hosts: each takes a thread here and a process there.
const MOST_AT_ONCE: usize = 1_024;

/// Two hosts that measure each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The place in the plan of the one named first: where one direction is wanted, it measures.
    pub first: usize,
    /// The place of the other.
    pub second: usize,
}

impl Pair {
    /// The same whichever host is named first.
    pub(crate) fn undirected(self) -> (usize, usize) {
        (self.first.min(self.second), self.first.max(self.second))
    }
}

/// Pairs of different hosts, each there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairList {
    hosts: usize,
    pairs: Vec<Pair>,
}

impl PairList {
    /// `pairs` of `hosts` hosts.
    ///
    /// # Errors
    /// A pair of a host with itself or with one that is not there, and a pair that is there twice.
    pub fn of(hosts: usize, pairs: Vec<Pair>) -> Result<Self, NoPairList> {
        let mut seen = BTreeSet::new();
        for &pair in &pairs {
            let (low, high) = pair.undirected();
            if low == high || high >= hosts {
                return Err(NoPairList::NoPair { pair, hosts });
            }
            if !seen.insert((low, high)) {
                return Err(NoPairList::Twice { pair });
            }
        }
        Ok(Self { hosts, pairs })
    }

    /// The pairs, as listed.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Number of hosts that they are chosen of.
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Number of pairs of each host.
    pub fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.hosts];
        for pair in &self.pairs {
            degrees[pair.first] += 1;
            degrees[pair.second] += 1;
        }
        degrees
    }
}

/// Reason for which something is no list of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPairList {
    /// A pair of a host with itself or with one that is not there.
    #[error("hosts {} and {} are not a pair: a pair needs two different hosts of the {hosts}", pair.first, pair.second)]
    NoPair {
        /// The pair.
        pair: Pair,
        /// Number of hosts.
        hosts: usize,
    },
    /// A pair that is there twice.
    #[error("the pair of hosts {} and {} is listed twice", pair.first, pair.second)]
    Twice {
        /// The pair.
        pair: Pair,
    },
}

/// The pairs of a plan, and what had to be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The pairs of which something can be measured.
    pub pairs: PairList,
    /// Wanted measurements that cannot be made.
    pub left_out: Vec<LeftOut>,
}

/// A wanted measurement that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    /// A host to which nothing is measured over this kind of address.
    #[error("{host} has no {} address: no measurement to it uses one", word(*over))]
    NoAddress {
        /// The host's name.
        host: String,
        /// The kind of address it lacks.
        over: Address,
    },
    /// A host without the label by which pairs are chosen.
    #[error("{host} has no label `{label}`: it is not part of any pair")]
    NoLabel {
        /// The host's name.
        host: String,
        /// The label's name.
        label: String,
    },
}

/// Name of a kind of address in a sentence.
pub(crate) fn word(over: Address) -> &'static str {
    match over {
        Address::Internal => "internal",
        Address::External => "external",
    }
}

/// Reason for which a plan has no list of pairs, with the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPairs {
    /// Fewer than two hosts.
    #[error("a plan needs at least two hosts, and this one has {0}: list more under `hosts`, or name an inventory")]
    TooFewHosts(usize),
    /// More hosts than are measured in one run.
    #[error("the plan has {0} hosts; the limit is {MOST_HOSTS}: split it, or choose pairs by label from fewer")]
    TooManyHosts(usize),
    /// Two hosts of one name.
    #[error("two hosts are named `{name}` (the {} and the {} of the plan): give each host its own name", nth(*.first), nth(*.second))]
    HostTwice {
        /// The name.
        name: String,
        /// The place of the first, from 0.
        first: usize,
        /// The place of the second, from 0.
        second: usize,
    },
    /// A name that no host has.
    #[error("no host is named `{name}`{}", nearest.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    UnknownHost {
        /// The name.
        name: String,
        /// The host's name that is most like it.
        nearest: Option<String>,
    },
    /// A pair of a host with itself.
    #[error("`{0}` is paired with itself: a pair needs two hosts; to measure within one host, run `sonde rtt` alone")]
    WithItself(String),
    /// A pair that is listed twice, whichever host comes first.
    #[error(
        "the pair `{0}` and `{1}` is listed twice: list it once; both of its directions are measured unless `directions` says otherwise"
    )]
    ListedTwice(String, String),
    /// The word, which should be `name=value`.
    #[error("`{0}` is not a label: write `name=value`, for example `zone=us-east1-b`")]
    NotALabel(String),
    /// A label that no host has.
    #[error("no host has the label `{label}`{}", has(known))]
    NobodyHas {
        /// The label, as `name` or `name=value`.
        label: String,
        /// Values or names that there are.
        known: Vec<String>,
    },
    /// More pairs at once than one run measures.
    #[error(
        "the plan has {0} pairs to measure at once; the limit is {MOST_AT_ONCE}: choose fewer pairs, or measure in rounds"
    )]
    TooManyAtOnce(usize),
    /// Nothing is left.
    #[error("the plan selects no pair: {0}")]
    None(String),
    /// A host that is on this machine alone, by its address, and one on another.
    #[error(
        "`{host}` has the loopback address {address}, at which `{from}` on another machine would measure itself: give `{host}` the address by which `{from}` reaches it"
    )]
    Loopback {
        /// Host of the address.
        host: String,
        /// The address.
        address: IpAddr,
        /// The host that would measure.
        from: String,
    },
    /// There are pairs, and none has an address of the wanted kind.
    #[error("no pair can be measured: no host has an address of the kind that `addresses` requires ({0})")]
    NoAddresses(String),
}

fn nth(place: usize) -> String {
    let n = place + 1;
    let ending = match (n % 10, n % 100) {
        (1, last) if last != 11 => "st",
        (2, last) if last != 12 => "nd",
        (3, last) if last != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

fn has(known: &[String]) -> String {
    const SHOWN: usize = 8;
    if known.is_empty() {
        return ": give hosts labels under `labels`".to_owned();
    }
    let mut list: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if known.len() > SHOWN {
        list.push(format!("{} more", known.len() - SHOWN));
    }
    format!("; hosts have {}", list.join(", "))
}

/// The pairs of `plan`, whose inventories are already among its hosts.
///
/// # Errors
/// Wishes of the plan that it cannot have.
pub fn of(plan: &Plan) -> Result<Chosen, NoPairs> {
    let hosts = &plan.hosts;
    names(hosts)?;
    let mut left_out = Vec::new();
    let mut pairs = choose::pairs(hosts, &plan.pairs, &mut left_out)?;
    let forward = plan.directions == Directions::Forward;
    let ends = |pair: &Pair| [Some(pair.second), (!forward).then_some(pair.first)];
    let targets: BTreeSet<usize> = pairs.iter().flat_map(ends).flatten().collect();
    let asked = pairs.len();
    pairs.retain(|&pair| measurable(plan, pair));
    if asked > 0 && pairs.is_empty() {
        let kinds: Vec<_> = plan.addresses.each().iter().map(|&over| word(over)).collect();
        return Err(NoPairs::NoAddresses(kinds.join(" or ")));
    }
    pairs.iter().try_for_each(|&pair| apart(plan, pair))?;
    if plan.at_once == AtOnce::All && pairs.len() > MOST_AT_ONCE {
        return Err(NoPairs::TooManyAtOnce(pairs.len()));
    }
    for host in targets.into_iter().map(|place| &hosts[place]) {
        let lacks = plan.addresses.each().iter().filter(|&&over| host.address(over).is_none());
        left_out.extend(lacks.map(|&over| LeftOut::NoAddress { host: host.name.clone(), over }));
    }
    let pairs = PairList { hosts: hosts.len(), pairs };
    Ok(Chosen { pairs, left_out })
}

/// That neither host of a pair would measure itself in the place of the other.
fn apart(plan: &Plan, pair: Pair) -> Result<(), NoPairs> {
    let back = (plan.directions == Directions::Both).then_some((pair.second, pair.first));
    for (from, to) in [Some((pair.first, pair.second)), back].into_iter().flatten() {
        let (from, to) = (&plan.hosts[from], &plan.hosts[to]);
        let wanted = to.loopback().filter(|(over, _)| plan.addresses.each().contains(over));
        if let Some((_, address)) = wanted.filter(|_| from.is_elsewhere()) {
            return Err(NoPairs::Loopback { host: to.name.clone(), address, from: from.name.clone() });
        }
    }
    Ok(())
}

/// Returns true where anything of a pair can be measured.
fn measurable(plan: &Plan, pair: Pair) -> bool {
    let there = |place: usize| plan.addresses.each().iter().any(|&over| plan.hosts[place].address(over).is_some());
    there(pair.second) || (plan.directions == Directions::Both && there(pair.first))
}

/// That there are hosts enough, and no two of one name.
fn names(hosts: &[Host]) -> Result<(), NoPairs> {
    if hosts.len() < 2 {
        return Err(NoPairs::TooFewHosts(hosts.len()));
    }
    if hosts.len() > MOST_HOSTS {
        return Err(NoPairs::TooManyHosts(hosts.len()));
    }
    let mut seen = BTreeMap::new();
    for (place, host) in hosts.iter().enumerate() {
        if let Some(first) = seen.insert(host.name.as_str(), place) {
            return Err(NoPairs::HostTwice { name: host.name.clone(), first, second: place });
        }
    }
    Ok(())
}
