//! Names the part that worse comparisons have in common: a host, or a group of hosts such as a zone.
//!
//! Each host and each group takes part in some rows. The one that agrees best with the worse rows is named; a group
//! only where no host agrees as well. It is named where any host or group would agree as well by chance in at most one
//! of twenty cases: where as many links, drawn by lot, were worse. Both directions of a link count once there, for one
//! cause makes both worse. So hosts of a mesh are named from five on: of four, three links that are worse meet at one
//! host in one case of five. A host or group of a single link is not named, for that link may be the cause as well. The
//! other rows are then searched again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use statrs::distribution::{DiscreteCDF, Hypergeometric};

/// Fewer rows than these have nothing in common that could be told from chance.
const FEWEST: usize = 3;
/// Fewer links than these tell a host from no link of its.
const FEWEST_LINKS: usize = 2;
/// Probability of a name where there is nothing to be named, at most.
const ALARMS: f64 = 0.05;

/// Comparison of the measurements between two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The host that measured.
    pub from: &'a str,
    /// The host that answered.
    pub to: &'a str,
    /// True where it is significantly worse.
    pub is_worse: bool,
}

/// The labels of each host, by its name: each label's name with its value.
pub type Labels<'a> = BTreeMap<&'a str, &'a BTreeMap<String, String>>;

/// Part that rows have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Common {
    /// One end is this host.
    Host {
        /// Its name.
        host: String,
    },
    /// One end at least has this value of a label.
    Group {
        /// The label's name, as `zone`.
        label: String,
        /// Its value.
        value: String,
    },
    /// Both ends have this value of a label.
    Inside {
        /// The label's name.
        label: String,
        /// Its value.
        value: String,
    },
    /// One end has the first value of a label and the other the second.
    Between {
        /// The label's name.
        label: String,
        /// Both values, in order.
        values: [String; 2],
    },
    /// One end has this value of a label, and the other has not.
    Border {
        /// The label's name.
        label: String,
        /// Its value.
        value: String,
    },
}

/// Something that rows which are worse have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shared {
    /// The part.
    pub common: Common,
    /// Rows that are worse and have it, a count.
    pub worse: u32,
    /// All worse rows, a count: without those of a part named before.
    pub of_worse: u32,
    /// Rows that have it, worse or not, a count.
    pub rows: u32,
    /// All rows, a count: without those of a part named before.
    pub of_rows: u32,
}

/// Returns the parts that worse rows of `rows` have in common, the most telling first; empty where chance explains them.
/// Hosts without a label are in no group of it.
pub fn common(rows: &[Row<'_>], labels: &Labels<'_>) -> Vec<Shared> {
    let mut left: Vec<Row<'_>> = rows.to_vec();
    let mut found = Vec::new();
    while let Some(shared) = best(&left, labels) {
        left.retain(|row| !commons(row, labels).contains(&shared.common));
        found.push(shared);
    }
    found
}

/// Returns the host or group that agrees best with the worse rows, where it may be named.
fn best(rows: &[Row<'_>], labels: &Labels<'_>) -> Option<Shared> {
    let worse = rows.iter().filter(|row| row.is_worse).count();
    if worse < FEWEST {
        return None;
    }
    let mut members: BTreeMap<Common, BTreeSet<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        for common in commons(row, labels) {
            members.entry(common).or_default().insert(place);
        }
    }
    // A part of all rows distinguishes none. Among several parts with the same rows the first is named: a host before a group.
    let mut candidates: Vec<(Common, BTreeSet<usize>)> = Vec::new();
    for (common, own) in members {
        let links = links(own.iter().map(|place| &rows[*place])).len();
        let told_apart = own.len() < rows.len() && own.len() >= FEWEST && links >= FEWEST_LINKS;
        if told_apart && !candidates.iter().any(|(_, other)| *other == own) {
            candidates.push((common, own));
        }
    }
    let agreement = |own: &BTreeSet<usize>| {
        let hit = own.iter().filter(|place| rows[**place].is_worse).count();
        (hit, hit as f64 / (own.len() + worse - hit) as f64)
    };
    let scored: Vec<(usize, f64)> = candidates.iter().map(|(_, own)| agreement(own)).collect();
    let most = scored.iter().map(|(_, agreed)| *agreed).fold(0.0, f64::max);
    let equal: Vec<usize> = (0..candidates.len()).filter(|place| scored[*place].1 >= most).collect();
    let hosts: Vec<usize> =
        equal.iter().copied().filter(|place| matches!(candidates[*place].0, Common::Host { .. })).collect();
    // Where two agree equally well, neither is named.
    let [place] = if hosts.is_empty() { equal } else { hosts }.try_into().ok()?;
    let ((common, own), (hit, _)) = (&candidates[place], scored[place]);
    let is_told = 2 * hit > worse && chance(rows, &candidates, own) <= ALARMS;
    (hit >= FEWEST && is_told).then(|| Shared {
        common: common.clone(),
        worse: hit as u32,
        of_worse: worse as u32,
        rows: own.len() as u32,
        of_rows: rows.len() as u32,
    })
}

/// A link: the names of its hosts, in order.
type Link<'a> = [&'a str; 2];

/// At most how probable it is, 0 to 1 or more, that any of `candidates` agrees as well as `own` with as many links that are worse,
/// drawn by lot.
fn chance(rows: &[Row<'_>], candidates: &[(Common, BTreeSet<usize>)], own: &BTreeSet<usize>) -> f64 {
    let all = links(rows);
    let worse = links(rows.iter().filter(|row| row.is_worse));
    let of = |own: &BTreeSet<usize>| links(own.iter().map(|place| &rows[*place]));
    let own = of(own);
    let hit = own.intersection(&worse).count();
    let either = own.union(&worse).count();
    candidates.iter().map(|(_, other)| agrees(of(other).len(), worse.len(), all.len(), (hit, either))).sum()
}

/// The links of these rows: both directions are one.
fn links<'a>(rows: impl IntoIterator<Item = &'a Row<'a>>) -> BTreeSet<Link<'a>> {
    rows.into_iter().map(|row| sorted([row.from, row.to])).collect()
}

/// Returns the probability that so many links that are worse, drawn from `all`, share with `inside` of them `hit` of
/// `either` or more.
fn agrees(inside: usize, worse: usize, all: usize, (hit, either): (usize, usize)) -> f64 {
    let as_well = |shared: &usize| shared * either >= hit * (inside + worse - shared);
    let Some(fewest) = (0..=inside.min(worse)).find(as_well) else { return 0.0 };
    Hypergeometric::new(all as u64, inside as u64, worse as u64)
        .map_or(1.0, |drawn| (fewest as u64).checked_sub(1).map_or(1.0, |fewer| drawn.sf(fewer)))
}

/// All that a row could have in common with others.
fn commons(row: &Row<'_>, labels: &Labels<'_>) -> Vec<Common> {
    let mut all: Vec<Common> = [row.from, row.to].map(|host| Common::Host { host: host.to_owned() }).to_vec();
    let (from, to) = (labels.get(row.from), labels.get(row.to));
    let names: BTreeSet<&String> = from.iter().chain(&to).flat_map(|labels| labels.keys()).collect();
    for label in names {
        let value = |labels: Option<&&BTreeMap<String, String>>| labels.and_then(|labels| labels.get(label)).cloned();
        let label = || label.clone();
        match (value(from), value(to)) {
            (Some(value), Some(other)) if value == other => {
                all.push(Common::Group { label: label(), value: value.clone() });
                all.push(Common::Inside { label: label(), value });
            }
            (from, to) => {
                for value in from.iter().chain(&to) {
                    all.push(Common::Group { label: label(), value: value.clone() });
                    all.push(Common::Border { label: label(), value: value.clone() });
                }
                if let (Some(from), Some(to)) = (from, to) {
                    all.push(Common::Between { label: label(), values: sorted([from, to]) });
                }
            }
        }
    }
    all
}

fn sorted<T: Ord>(mut pair: [T; 2]) -> [T; 2] {
    pair.sort();
    pair
}

#[cfg(test)]
mod tests;
