//! Meaning of a plan's choice of pairs.

use std::collections::{BTreeMap, BTreeSet};

use logbook::host::Host;
use logbook::plan::Pairs;

use super::{LeftOut, NoPairs, Pair};

/// The pairs that `choice` means, whether or not they have addresses.
pub(super) fn pairs(hosts: &[Host], choice: &Pairs, left_out: &mut Vec<LeftOut>) -> Result<Vec<Pair>, NoPairs> {
    match choice {
        Pairs::All => Ok(each_with_each(hosts.len())),
        Pairs::OneToAll(name) => {
            let first = place(hosts, name)?;
            Ok((0..hosts.len()).filter(|&second| second != first).map(|second| Pair { first, second }).collect())
        }
        Pairs::Between(label) => by_label(hosts, label, false, left_out),
        Pairs::Within(label) => by_label(hosts, label, true, left_out),
        Pairs::Labels(one, other) => labelled(hosts, one, other),
        Pairs::Listed(listed) => named(hosts, listed),
    }
}

fn each_with_each(hosts: usize) -> Vec<Pair> {
    (0..hosts).flat_map(|first| (first + 1..hosts).map(move |second| Pair { first, second })).collect()
}

/// The pairs that agree (or differ) in `label`.
fn by_label(hosts: &[Host], label: &str, agree: bool, left_out: &mut Vec<LeftOut>) -> Result<Vec<Pair>, NoPairs> {
    let values: Vec<Option<&str>> = hosts.iter().map(|host| host.label(label)).collect();
    if values.iter().all(Option::is_none) {
        return Err(NoPairs::NobodyHas { label: label.to_owned(), known: label_names(hosts) });
    }
    let wanted = |pair: &Pair| match (values[pair.first], values[pair.second]) {
        (Some(one), Some(other)) => (one == other) == agree,
        _ => false,
    };
    let pairs: Vec<Pair> = each_with_each(hosts.len()).into_iter().filter(wanted).collect();
    if pairs.is_empty() {
        let why = if agree { "no two hosts agree" } else { "no two hosts differ" };
        return Err(NoPairs::None(format!("{why} in the label `{label}`")));
    }
    let without = hosts.iter().zip(&values).filter(|(_, value)| value.is_none());
    left_out.extend(without.map(|(host, _)| LeftOut::NoLabel { host: host.name.clone(), label: label.to_owned() }));
    Ok(pairs)
}

/// The pairs of which one host has label `one` and the other label `other`.
fn labelled(hosts: &[Host], one: &str, other: &str) -> Result<Vec<Pair>, NoPairs> {
    let (ones, others) = (having(hosts, one)?, having(hosts, other)?);
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for pair in ones.iter().flat_map(|&first| others.iter().map(move |&second| Pair { first, second })) {
        if pair.first != pair.second && seen.insert(pair.undirected()) {
            pairs.push(pair);
        }
    }
    if pairs.is_empty() {
        return Err(NoPairs::None(format!("the one host that has `{one}` is the one that has `{other}`")));
    }
    Ok(pairs)
}

/// The hosts that have the label `wanted`, as `name=value`.
fn having(hosts: &[Host], wanted: &str) -> Result<Vec<usize>, NoPairs> {
    let (name, value) = wanted
        .split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| NoPairs::NotALabel(wanted.to_owned()))?;
    let places: Vec<usize> = (0..hosts.len()).filter(|&place| hosts[place].label(name) == Some(value)).collect();
    if places.is_empty() {
        let values: BTreeSet<&str> = hosts.iter().filter_map(|host| host.label(name)).collect();
        let known = values.into_iter().map(|value| format!("{name}={value}")).collect::<Vec<_>>();
        let known = if known.is_empty() { label_names(hosts) } else { known };
        return Err(NoPairs::NobodyHas { label: wanted.to_owned(), known });
    }
    Ok(places)
}

fn label_names(hosts: &[Host]) -> Vec<String> {
    let names: BTreeSet<&String> = hosts.iter().flat_map(|host| host.labels.keys()).collect();
    names.into_iter().cloned().collect()
}

fn named(hosts: &[Host], listed: &[(String, String)]) -> Result<Vec<Pair>, NoPairs> {
    if listed.is_empty() {
        return Err(NoPairs::None("its list of pairs is empty".to_owned()));
    }
    let places: BTreeMap<&str, usize> = hosts.iter().enumerate().map(|(at, host)| (host.name.as_str(), at)).collect();
    let find = |name: &str| places.get(name).copied().map_or_else(|| place(hosts, name), Ok);
    let mut seen = BTreeSet::new();
    let mut pairs = Vec::new();
    for (one, other) in listed {
        let pair = Pair { first: find(one)?, second: find(other)? };
        if pair.first == pair.second {
            return Err(NoPairs::WithItself(one.clone()));
        }
        if !seen.insert(pair.undirected()) {
            return Err(NoPairs::ListedTwice(one.clone(), other.clone()));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

fn place(hosts: &[Host], name: &str) -> Result<usize, NoPairs> {
    hosts.iter().position(|host| host.name == name).ok_or_else(|| NoPairs::UnknownHost {
        name: name.to_owned(),
        nearest: nearest(hosts.iter().map(|host| host.name.as_str()), name).map(str::to_owned),
    })
}

/// The one of `names` that takes the fewest changes of a letter to become `name`, where that is at most a third of its letters.
pub(crate) fn nearest<'a>(names: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    // Beyond this a name is not one that was mistyped, and the table would be large.
    const LONGEST: usize = 64;
    let letters: Vec<char> = name.chars().take(LONGEST + 1).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let near = names.filter(|other| other.len() <= LONGEST).map(|other| (changes(&letters, other), other));
    near.min().filter(|(changes, other)| *changes * 3 <= other.chars().count()).map(|(_, other)| other)
}

/// Letters that must be put in, left out or replaced (Levenshtein's distance).
fn changes(letters: &[char], other: &str) -> usize {
    let mut row: Vec<usize> = (0..=letters.len()).collect();
    for (at, there) in other.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (column, &here) in letters.iter().enumerate() {
            let replaced = corner + usize::from(here != there);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row[letters.len()]
}
